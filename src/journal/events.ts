/**
 * The closed union of what can have happened in a run. Past tense: it is on disk. Adding a type or an optional field
 * keeps FORMAT; changing the meaning of one raises it, and every older journal must still replay.
 */
import type { JsonSchema } from '../base/json-schema.ts'
import type { ErrorData } from '../base/nerve-error.ts'

export const FORMAT = 1

/** What a run tree may spend. A missing field is without limit. */
export interface Budget {
  readonly usd?: number
  readonly tokens?: number
  readonly calls?: number
  readonly steps?: number
  readonly seconds?: number
  /** How deep child runs may nest: 0 allows none. */
  readonly depth?: number
}

export type Dimension = Exclude<keyof Budget, 'depth'>

/** What was spent. `window` is the largest share of a context window in use, between 0 and 1. */
export interface Usage {
  readonly usd?: number
  readonly tokens?: number
  readonly calls?: number
  readonly steps?: number
  readonly seconds?: number
  readonly window?: number
}

export type Durability = 'process' | 'power'
export type ErrorPolicy = 'stop' | 'skip' | 'continue'
export type Effect = 'repeatable' | 'resumable' | 'once'
export type ScopeKind = 'all' | 'map' | 'race' | 'node'
export type QuestionKind = 'ask' | 'gate' | 'permission' | 'recovery' | 'review'
export type OnDeadline = 'fail' | 'cancel' | { readonly default: unknown }

/** Who did it and through which surface. */
export interface Actor {
  readonly by?: string
  readonly via?: string
}

/** Runs that a person or a program started say who; a child run is started by its parent. */
export interface RunCreated extends Actor {
  readonly type: 'run-created'
  readonly format: number
  readonly definition: string
  /** Where the definition can be loaded from again, when it came from a file. */
  readonly source?: string
  readonly input?: unknown
  readonly params?: Readonly<Record<string, unknown>>
  readonly budget?: Budget
  readonly durability?: Durability
  readonly errorPolicy?: ErrorPolicy
  readonly parent?: { readonly run: string; readonly path: string }
  readonly root: string
  readonly depth: number
  /** `kept` is how many events after this one were taken over from that run. */
  readonly forkedFrom?: { readonly run: string; readonly seq: number; readonly path?: string; readonly kept?: number }
}

/** Fields every event about a place in the run has. `after` is the path that had to end first. */
interface Placed {
  readonly path: string
  readonly after?: string
}

/** Fields of an attempt that ended. `active` is the time, in ms, in which the run worked since the event before. */
interface Spent {
  readonly started: number
  readonly usage?: Usage
  readonly active?: number
}

export interface ScopeOpened extends Placed {
  readonly type: 'scope-opened'
  readonly kind: ScopeKind
  readonly size: number
  /** For `node`: the kind of definition that runs in it. */
  readonly node?: string
}
export interface RaceDecided extends Placed {
  readonly type: 'race-decided'
  readonly winner: number
}
export interface StepStarted extends Placed {
  readonly type: 'step-started'
  readonly attempt: number
  readonly effect?: Effect
  /** `fallback`: the step's other function runs. */
  readonly kind?: 'fallback'
  /** Of a first attempt with `recordInput`: the node that runs, and what it was given, without secrets. */
  readonly node?: { readonly id: string; readonly kind: string }
  readonly input?: unknown
}
export interface StepCompleted extends Placed, Spent {
  readonly type: 'step-completed'
  readonly attempt: number
  readonly output?: unknown
  readonly fingerprint?: string
  /** `item`: the result of a whole item of a map. */
  readonly kind?: 'item'
}
export interface StepFailed extends Placed, Spent {
  readonly type: 'step-failed'
  readonly attempt: number
  readonly error: ErrorData
  /** True when no attempt is left. */
  readonly final: boolean
  readonly retryAt?: number
  readonly fingerprint?: string
  /** What the step's own policy does about it: then it does not count as a failure of the run. */
  readonly handled?: 'skip' | 'fallback'
}
export interface StepSkipped extends Placed {
  readonly type: 'step-skipped'
  readonly value?: unknown
  readonly error: ErrorData
}
/** The attempt was stopped through no fault of its own (a lost race, a spent budget, a quota, a question). */
export interface StepStopped extends Placed {
  readonly type: 'step-stopped'
  readonly attempt: number
  readonly reason: 'scope' | 'budget' | 'quota' | 'question' | 'cancel'
  readonly usage?: Usage
  readonly active?: number
  /** For a quota: when to try again. */
  readonly until?: number
  readonly error?: ErrorData
  /** For a question: its path. The step goes on when it is answered. */
  readonly question?: string
  /** `fallback`: it was the step's fallback that was stopped. */
  readonly kind?: 'fallback'
}
/** The function of a step kept something for whoever goes on with it. */
export interface StepKept extends Placed {
  readonly type: 'step-kept'
  readonly attempt: number
  readonly value?: unknown
}
export interface ValueRecorded extends Placed {
  readonly type: 'value-recorded'
  readonly value?: unknown
}
export interface TimerSet extends Placed {
  readonly type: 'timer-set'
  readonly until: number
}
export interface TimerFired extends Placed {
  readonly type: 'timer-fired'
}
export interface QuestionAsked extends Placed {
  readonly type: 'question-asked'
  readonly id: string
  readonly kind: QuestionKind
  readonly prompt: string
  readonly choices?: readonly string[]
  /** True when a free answer must fit a schema that only the running definition knows. */
  readonly schema?: boolean
  /** What is taken beside the choices, as a JSON Schema. */
  readonly free?: JsonSchema
  readonly deadline?: number
  readonly onDeadline?: OnDeadline
  /** The attempt of the step that asked, for questions asked by a step. */
  readonly attempt?: number
  readonly detail?: unknown
}
export interface QuestionAnswered extends Placed, Actor {
  readonly type: 'question-answered'
  readonly id: string
  readonly value?: unknown
}
export interface QuestionExpired extends Placed {
  readonly type: 'question-expired'
  readonly id: string
  readonly action: 'fail' | 'cancel'
}
export interface QuestionWithdrawn extends Placed {
  readonly type: 'question-withdrawn'
  readonly id: string
}
export interface SignalReceived extends Actor {
  readonly type: 'signal-received'
  readonly name: string
  readonly value?: unknown
}
export interface WaitStarted extends Placed {
  readonly type: 'wait-started'
  readonly name: string
  readonly deadline?: number
}
/** A wait took a signal: `signal` is the sequence number of the signal it took. */
export interface SignalTaken extends Placed {
  readonly type: 'signal-taken'
  readonly name: string
  readonly signal: number
  readonly value?: unknown
}
export interface WaitExpired extends Placed {
  readonly type: 'wait-expired'
}
export interface WaitWithdrawn extends Placed {
  readonly type: 'wait-withdrawn'
}
export interface MessagesTaken extends Placed {
  readonly type: 'messages-taken'
  readonly signals: readonly number[]
  readonly value?: unknown
}
export interface ChildStarted extends Placed {
  readonly type: 'child-started'
  /** The child's run; not called `run`, which is whose journal an event is in. */
  readonly child: string
  readonly definition: string
}
export interface ChildEnded extends Placed {
  readonly type: 'child-ended'
  readonly child: string
  readonly status: EndStatus
  readonly output?: unknown
  readonly error?: ErrorData
  readonly usage?: Usage
  readonly unawaited?: true
}
export interface Emitted extends Placed {
  readonly type: 'emitted'
  readonly name: string
  readonly data?: unknown
}
export interface CheckpointRecorded extends Placed {
  readonly type: 'checkpoint-recorded'
  readonly name: string
  readonly data?: unknown
}
export interface BudgetWarned {
  readonly type: 'budget-warned'
  readonly dimension: Dimension
  readonly used: number
  readonly limit: number
}
export interface BudgetExhausted {
  readonly type: 'budget-exhausted'
  readonly dimension: Dimension
  readonly used: number
  readonly limit: number
  /** The run whose limit it was, when it is not this one. */
  readonly of?: string
  readonly path?: string
}
export interface BudgetRaised extends Actor {
  readonly type: 'budget-raised'
  readonly budget: Budget
}
export interface RunRecovered {
  readonly type: 'run-recovered'
  readonly owner: string
  readonly epoch: number
}
export interface RunPaused extends Actor {
  readonly type: 'run-paused'
  readonly reason?: 'asked' | 'diverged'
  readonly plan?: ResumePlan
}
export interface RunResumed extends Actor {
  readonly type: 'run-resumed'
}
export interface InterruptRequested extends Actor {
  readonly type: 'interrupt-requested'
  readonly path?: string
}
export interface CancelRequested extends Actor {
  readonly type: 'cancel-requested'
  readonly reason?: string
}
/** A person accepted a resume plan: these recorded outcomes no longer count. */
export interface PlanAccepted extends Actor {
  readonly type: 'plan-accepted'
  readonly forget: readonly string[]
  /** Recorded paths that the current code does not reach; kept, and no longer asked about. */
  readonly ignore: readonly string[]
}
export interface RunCompleted {
  readonly type: 'run-completed'
  readonly output?: unknown
  /** How many steps ended as failed. */
  readonly failures: number
}
export interface RunFailed {
  readonly type: 'run-failed'
  readonly error: ErrorData
}
export interface RunCancelled {
  readonly type: 'run-cancelled'
  readonly reason?: string
}

export type JournalEvent =
  | RunCreated
  | ScopeOpened
  | RaceDecided
  | StepStarted
  | StepCompleted
  | StepFailed
  | StepSkipped
  | StepStopped
  | StepKept
  | ValueRecorded
  | TimerSet
  | TimerFired
  | QuestionAsked
  | QuestionAnswered
  | QuestionExpired
  | QuestionWithdrawn
  | SignalReceived
  | WaitStarted
  | SignalTaken
  | WaitExpired
  | WaitWithdrawn
  | MessagesTaken
  | ChildStarted
  | ChildEnded
  | Emitted
  | CheckpointRecorded
  | BudgetWarned
  | BudgetExhausted
  | BudgetRaised
  | RunRecovered
  | RunPaused
  | RunResumed
  | InterruptRequested
  | CancelRequested
  | PlanAccepted
  | RunCompleted
  | RunFailed
  | RunCancelled

export type EventType = JournalEvent['type']

/** One event at its place in the journal of one run. */
export interface Entry {
  readonly run: string
  readonly seq: number
  readonly time: number
  readonly event: JournalEvent
}

export type EndStatus = 'completed' | 'completed-with-failures' | 'failed' | 'cancelled'
/** What a journal alone can say; `crashed` is added by whoever knows that the owner is gone. */
export type RunStatus = 'queued' | 'running' | 'waiting' | 'paused' | 'exhausted' | EndStatus
export type ShownStatus = RunStatus | 'crashed'

const END_STATUSES: readonly EndStatus[] = ['completed', 'completed-with-failures', 'failed', 'cancelled']

export function isEnded(status: ShownStatus): status is EndStatus {
  return (END_STATUSES as readonly string[]).includes(status)
}

/** What resuming over changed code would do. */
export interface ResumePlan {
  readonly keep: number
  readonly rerun: readonly string[]
  readonly unknown: readonly string[]
}
