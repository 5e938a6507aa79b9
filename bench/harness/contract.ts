// What a series offers and what the harness passes around. A series is one engine in one configuration ("langgraph:sqlite");
// an adapter is a file in series/ or peers/ whose `load(variant)` returns the workloads that this engine can do.
// Invariant: a workload that an engine cannot do is absent, and the tables then say so; it is never faked.

/** The shape of a run that is killed half way: how its steps follow each other. */
export type Shape = 'chain' | 'loop' | 'fanOut'

export interface Setup {
  readonly n: number
  readonly variant: string | null
  readonly dir: string
  /** A small instance that only warms the JIT; it gets a folder of its own. */
  readonly warm: boolean
  readonly subscribers: number
  readonly messageBytes: number
  readonly shape: Shape
}

export interface Prepared<Value = unknown> {
  /** Steps done by one `run`, by which its time is divided. */
  readonly steps: number
  run(ordinal: number): Promise<Value>
  /** Throws when the result is wrong: a wrong result is a failure, not a number. */
  verify(value: Value): void
  close?(): unknown
}

/** Milliseconds until a run waits for a person, and from the answer to the result. */
export interface AskTimes {
  readonly pauseMs: number
  readonly answerMs: number
}

export interface MemoryAdded {
  readonly runs: number
  readonly totalRssMb: number
  readonly rssMb: number
  readonly heapMb: number
  readonly reopenedRssMb: number
  readonly reopenMs: number
  readonly startMs: number
}

type Prepare<Value = unknown> = (setup: Setup) => Prepared<Value> | Promise<Prepared<Value>>

export interface Series {
  /** npm package to version, shown under the tables. */
  readonly versions: Readonly<Record<string, string>>
  readonly chain?: Prepare
  readonly loop?: Prepare
  readonly fanOut?: Prepare
  readonly grow?: Prepare
  readonly liveParts?: Prepare
  /** n steps, each after two earlier ones: built, checked and run, every time. */
  readonly dag?: Prepare
  /** The same graph, only checked. */
  readonly check?: Prepare
  /** Fan-out to n branches whose results are added into one state by a reducer. */
  readonly reduce?: Prepare
  /** A state of 1 MB, to which each of n steps adds 1 KB. */
  readonly bigState?: Prepare
  /** One step inside n graphs, each inside the next. */
  readonly nested?: Prepare
  readonly ask?: Prepare<AskTimes>
  /** n MB of lines printed in a terminal. */
  readonly printed?: Prepare
  /** `echo` at the prompt of a shell that is there already: the answer is its output. */
  readonly echoed?: Prepare<AskTimes>
  /** Ctrl-C at n MB of a flood: the answer is the prompt. */
  readonly halted?: Prepare<AskTimes>
  /** `echo` as a command of its own. */
  readonly command?: Prepare
  /** One call of a model that is answered at once. */
  readonly called?: Prepare
  /** One call of a model whose n tokens are streamed. */
  readonly streamed?: Prepare
  /** One query over HTTP. */
  readonly asked?: Prepare
  /** The events of a run of n steps, to many who listen over HTTP. */
  readonly subscribed?: Prepare
  /** Runs until the step after the n-th, which kills its own process. Never returns. */
  readonly seed?: (setup: Setup) => Promise<unknown>
  /** Before `resume` or `read` is timed: loads what is loaded on first use, on an empty store. */
  readonly ready?: (setup: Setup) => Promise<void>
  /** In a new process: finishes what `seed` left. Returns the number of finished steps. */
  readonly resume?: (setup: Setup) => Promise<number>
  /** Only reads what `seed` left behind. Returns the number of rows. */
  readonly read?: (setup: Setup) => Promise<number>
  readonly park?: (setup: Setup) => Promise<MemoryAdded>
}

/** Workloads that run again and again in one process. */
export type Repeated =
  | 'chain'
  | 'loop'
  | 'fanOut'
  | 'grow'
  | 'liveParts'
  | 'dag'
  | 'check'
  | 'reduce'
  | 'bigState'
  | 'nested'
  | 'printed'
  | 'command'
  | 'called'
  | 'streamed'
  | 'asked'
  | 'subscribed'
export type Mode = Repeated | 'ask' | 'echoed' | 'halted' | 'cold' | 'seed' | 'resume' | 'read' | 'park'

/** One cell of one round: everything the child process needs to know. */
export interface Job {
  readonly workload: string
  readonly series: string
  readonly mode: Mode
  readonly size: number
  readonly setup: Setup
  readonly warmMs: number
  readonly budgetMs: number
  readonly maxSamples: number
  /** The built package to measure instead of the sources. */
  readonly entry?: string
}

/** What a child process reports about its cell. Times are milliseconds per run. */
export interface Measurement {
  readonly ok: true
  readonly samples: readonly number[]
  readonly cpu: readonly number[]
  readonly steps: number
  /** Bytes handed to write calls, per run; null where the system does not tell. */
  readonly writtenBytes: number | null
  /** Bytes on disk after closing, per run. */
  readonly diskBytes: number
  readonly rssMb: number
  readonly importMs: number
  readonly firstRunMs?: number
  readonly pauseMs?: number
  /** Steps that had finished before the kill and ran again after it. */
  readonly repeated?: number
  readonly memory?: MemoryAdded
  readonly versions: Readonly<Record<string, string>>
}

export interface Failure {
  readonly ok: false
  readonly error: string
}

export type Outcome = Measurement | Failure

export interface Cell {
  readonly workload: string
  readonly series: string
  readonly size: number
  readonly round: number
  readonly seconds: number
  readonly outcome: Outcome
}

/** Marks the line in which a child process reports. */
export const RESULT_MARK = '@@nerve-bench@@'
