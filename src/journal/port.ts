/**
 * The journal port: what a store must do. Few methods, one conformance suite (testing/store-conformance.ts).
 *
 * Invariants a store keeps:
 *  1. append is atomic per run and durable when it resolves; sequence numbers of a run have no gaps.
 *  2. append with an epoch other than the run's current one is refused (fenced) and writes nothing for that run.
 *  3. claim gives a run tree to one host at a time and raises the epoch of every run in it.
 */
import type { Row } from './codec.ts'
import type { Budget, Durability, QuestionAsked, RunStatus, Usage } from './events.ts'

/** The row about a run that lists are made of: a projection of its journal, kept by the store beside it. */
export interface RunHead {
  readonly run: string
  readonly root: string
  readonly parent?: string
  readonly definition: string
  readonly source?: string
  readonly status: RunStatus
  readonly created: number
  readonly updated: number
  readonly ended?: number
  /** When the run wants to be woken, for runs that wait for a time. */
  readonly wake?: number
  readonly questions: readonly OpenQuestion[]
  /** Names of the signals the run waits for. */
  readonly signals: readonly string[]
  readonly usage: Usage
  readonly budget?: Budget
  readonly failures: number
  readonly steps: number
  readonly forkedFrom?: string
  readonly error?: string
}

export type OpenQuestion = Omit<QuestionAsked, 'type' | 'after'> & { readonly asked: number }

export interface Owner {
  readonly host: string
  readonly epoch: number
}

/** A head as it is stored, with who owns the run now. */
export interface OwnedHead {
  readonly head: RunHead
  readonly owner: Owner | undefined
}

export interface Append {
  readonly run: string
  readonly epoch: number
  readonly rows: readonly Row[]
  /** Present when what lists show has changed. */
  readonly head?: RunHead | undefined
  /** Present for the first append of a run: who owns it. */
  readonly create?: { readonly host: string } | undefined
  /** Commands that these rows answer, settled in the same commit. */
  readonly settle?: readonly { readonly command: number; readonly result: string }[] | undefined
}

export type AppendResult = 'ok' | 'fenced'

export interface HeadFilter {
  readonly root?: string
  readonly status?: readonly RunStatus[]
  readonly definition?: string
  /** Only runs with open questions. */
  readonly asking?: boolean
  /** Only runs that want to be woken at or before this time. */
  readonly dueBy?: number
  readonly updatedBefore?: number
  /** Only runs whose last event is of this time or later. What lists show may be older than that. */
  readonly movedSince?: number
  /** Only runs that no run started. */
  readonly roots?: boolean
  /** Only runs that some host owns. */
  readonly owned?: boolean
  readonly limit?: number
}

export interface HostRecord {
  readonly host: string
  readonly pid: number
  readonly machine: string
  /** Distinguishes this process from a later one with the same pid. */
  readonly birth: string
  readonly beat: number
}

/** Something asked of a run by a process that does not own it. */
export interface Command {
  readonly id: number
  readonly root: string
  readonly run: string
  readonly body: string
}

export interface JournalStore {
  /** Returns at once where the store can write at once; a refusal is always a rejection. */
  append(batch: readonly Append[], durability: Durability): readonly AppendResult[] | Promise<readonly AppendResult[]>
  read(run: string, after: number, limit: number): Promise<readonly Row[]>
  heads(filter: HeadFilter): Promise<readonly OwnedHead[]>
  /** The run with this id, or the only one whose id starts with it. */
  find(id: string): Promise<OwnedHead | undefined>
  /** Takes a run tree for a host when `mayTake` agrees with its present owner. Returns the new epoch. */
  claim(root: string, host: string, mayTake: (owner: string | undefined) => boolean): Promise<number | undefined>
  release(root: string, host: string): Promise<void>
  beat(record: HostRecord): Promise<void>
  hosts(): Promise<readonly HostRecord[]>
  forgetHost(host: string): Promise<void>
  post(command: Omit<Command, 'id'>): Promise<number>
  /** Unsettled commands to run trees of this host, oldest first; without a host, to trees that nobody owns. */
  commands(host: string | undefined): Promise<readonly Command[]>
  settle(command: number, result: string): Promise<void>
  /** Takes an unsettled command back, unless its run tree has another owner by now, who may be performing it. */
  withdraw(command: number, owner: string | undefined): Promise<boolean>
  result(command: number): Promise<string | undefined>
  /** A number that changes when another process has written. */
  version(): number
  /** The earliest time at which an unowned run wants to be woken. */
  nextWake(): Promise<number | undefined>
  remove(runs: readonly string[]): Promise<void>
  close(): Promise<void>
}
