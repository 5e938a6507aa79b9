/** What the engine runs. Every form that authors write compiles to this. */
import type { Duration } from '../base/duration.ts'
import type { Schema } from '../base/schema.ts'
import type { Budget, Durability, Effect, ErrorPolicy, OnDeadline, Usage } from '../journal/events.ts'

export interface WorkflowOptions<Input = unknown, Output = unknown> {
  readonly description?: string
  /** Checks (and may convert) the input before a run starts. */
  readonly input?: Schema<Input>
  /** Checks (and may convert) what the function returns. */
  readonly output?: Schema<Output>
  /** Default parameters; `params` of a run are laid over them. */
  readonly params?: Readonly<Record<string, unknown>>
  readonly budget?: Budget
  /** What one failed step means for the rest: `stop` (default), `skip` what depends on it, or `continue`. */
  readonly errorPolicy?: ErrorPolicy
  readonly durability?: Durability
}

export interface Definition<Input = unknown, Output = unknown> {
  readonly kind: 'workflow'
  readonly name: string
  readonly options: WorkflowOptions<Input, Output>
  readonly run: (ctx: Context<Input>, input: Input) => Promise<Output> | Output
}

/** A definition of any input and output, for places that hold many. */
// oxlint-disable-next-line no-explicit-any -- Input is used both ways, so no other type accepts every definition.
export type AnyDefinition = Definition<any, any>

/** What the functions that `step` runs receive. */
export interface StepCall {
  /** The same for every attempt of this step in this run: hand it to services that accept an idempotency key. */
  readonly key: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** True when an earlier process had begun this attempt: a `resumable` function goes on from what that one did. */
  readonly resumed: boolean
  /** Aborts on cancel, interrupt, timeout, a lost race or a spent budget. */
  readonly signal: AbortSignal
  readonly path: string
  /** Adds to what this attempt has spent. Charged once, when the attempt ends, also when it fails. */
  readonly usage: (spent: Usage) => void
  /** Sets aside what the next call may cost; refuses when the budget does not have it. */
  readonly reserve: (wanted: Usage) => void
  /** Sends a live part to watchers. Not durable. */
  readonly emit: (type: string, data?: unknown) => void
}

export interface Backoff {
  /** The wait after the first failure (default 1s). */
  readonly initial?: Duration
  /** What each further wait is multiplied by (default 2). */
  readonly factor?: number
  /** The longest wait (default 1m). */
  readonly max?: Duration
  /** The share of the wait that is random, 0 to 1 (default 0.2). */
  readonly jitter?: number
}

export type OnError<Output> =
  | 'fail'
  | { readonly skip: Output }
  | { readonly fallback: (call: StepCall) => Promise<Output> | Output }

export interface StepOptions<Output = unknown> {
  /** How often it is tried in all (default 1). */
  readonly attempts?: number
  readonly backoff?: Backoff | Duration
  /** For each attempt. */
  readonly timeout?: Duration
  readonly onError?: OnError<Output>
  /** `repeatable` (default) may run again after a crash, `once` asks a person, `resumable` is told that it resumes. */
  readonly effect?: Effect
  /** What the step's result depends on. When it differs on resume, the step is not silently kept. */
  readonly input?: unknown
  /** What an attempt may spend at most; set aside before it starts. */
  readonly reserve?: Usage
}

export interface AskOptions<Choice extends string = string, Answer = Choice> {
  readonly choices?: readonly Choice[]
  /** Checks (and may convert) a free answer. */
  readonly schema?: Schema<Answer>
  readonly deadline?: Duration
  readonly onDeadline?: OnDeadline
  readonly label?: string
  /** More for the person to read: anything that JSON can hold. */
  readonly detail?: unknown
}

export interface WaitOptions<Value = unknown> {
  readonly deadline?: Duration
  readonly schema?: Schema<Value>
  readonly label?: string
}

export interface MapOptions<Item> {
  readonly concurrency?: number
  /** Names each item for ever: an item that moves in the list keeps its result. Default: its index. */
  readonly key?: (item: Item, index: number) => string
  readonly label?: string
}

export interface ScopeOptions {
  readonly label?: string
}

export interface ChildOptions {
  readonly label?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly budget?: Budget
}

/** The durable primitives. Nothing else in a workflow is durable. */
export interface Context<Input = unknown> {
  readonly input: Input
  readonly params: Readonly<Record<string, unknown>>
  readonly runId: string
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal
  step<Output>(
    label: string,
    run: (call: StepCall) => Promise<Output> | Output,
    options?: StepOptions<Output>,
  ): Promise<Output>
  ask<const Choice extends string = string, Answer = Choice>(
    prompt: string,
    options?: AskOptions<Choice, Answer>,
  ): Promise<Answer>
  gate<const Choice extends string = 'approve' | 'reject'>(
    prompt: string,
    options?: AskOptions<Choice, Choice>,
  ): Promise<Choice>
  waitFor<Value = unknown>(name: string, options?: WaitOptions<Value>): Promise<Value>
  sleep(duration: Duration, options?: ScopeOptions): Promise<void>
  now(): number
  random(): number
  uuid(): string
  emit(name: string, data?: unknown): void
  all<const Branches extends readonly (() => unknown)[]>(
    branches: Branches,
    options?: ScopeOptions,
  ): Promise<{ -readonly [Key in keyof Branches]: Awaited<ReturnType<Branches[Key]>> }>
  map<Item, Output>(
    items: readonly Item[],
    run: (item: Item, index: number) => Promise<Output> | Output,
    options?: MapOptions<Item>,
  ): Promise<Output[]>
  race<Output>(branches: readonly (() => Promise<Output> | Output)[], options?: ScopeOptions): Promise<Output>
  child<ChildInput, Output>(
    definition: Definition<ChildInput, Output>,
    input: NoInfer<ChildInput>,
    options?: ChildOptions,
  ): Promise<Output>
  /** Takes the messages sent to this run since it last took them (signals named `message`). */
  messages(): Promise<unknown[]>
  /** What this run and its children have spent, and what they may still spend. */
  usage(): RunUsage
  /** Marks a named place to fork from or come back to, with data for people to see. */
  checkpoint(name: string, data?: unknown): Promise<void>
}

export interface RunUsage {
  readonly spent: Required<Usage>
  readonly left: Budget
}
