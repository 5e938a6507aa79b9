/** What the engine runs. Every form that authors write compiles to this. */
import type { Duration } from '../base/duration.ts'
import type { JsonSchema } from '../base/json-schema.ts'
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

/** What an author wrote: something that runs steps. Every form (workflow, graph, state graph, control node, spec) is one. */
export interface Definition<Input = unknown, Output = unknown> {
  /** The form: `workflow`, `graph`, `while`, … */
  readonly kind: string
  readonly name: string
  readonly options: WorkflowOptions<Input, Output>
  readonly run: (ctx: Context<Input>, input: Input) => Promise<Output> | Output
  /** What one failed step in it means, for forms that decide that by themselves. */
  readonly errorPolicy?: ErrorPolicy
  /** Everything that is wrong with it, found without running it. `names` are the nodes that can be referred to by name. */
  readonly check?: (names: Names) => readonly string[]
  /** Its parts, for people to see before it runs. */
  readonly outline?: () => Outline
  /** What it runs, directly: nodes, definitions and names of them. */
  readonly inner?: () => readonly (AnyRunnable | string)[]
  /** What of that it runs each time, because no condition decides about it. */
  readonly always?: () => readonly (AnyRunnable | string)[]
  /** A copy under another name, with copies of the persistent nodes in it. */
  readonly fork?: (name: string) => AnyDefinition
  /** What it makes known by name while it runs, for whatever comes after it: stand-ins, for checks. */
  readonly makes?: () => ReadonlyMap<string, AnyRunnable>
}

/** A definition of any input and output, for places that hold many. */
// oxlint-disable-next-line no-explicit-any -- Input is used both ways, so no other type accepts every definition.
export type AnyDefinition = Definition<any, any>

/** Something that a step can execute as a whole: a function, and later a shell, a terminal, a model, an agent. */
export interface Node<Input = unknown, Output = unknown> {
  readonly id: string
  readonly kind: string
  /** True when it keeps state between executions. Such a node does one thing at a time. */
  readonly persistent: boolean
  /** How its steps are run, unless the step says otherwise. */
  readonly policy?: Policy<Output>
  /** What it checks its input with, when it can say so. */
  readonly input?: Schema<Input>
  /** What its steps make of its output, unless the step has a parser. For nodes made as data: types do not know of it. */
  parser?(output: Output): unknown
  execute(input: Input, call: StepCall): Promise<Output> | Output
  start?(): Promise<void> | void
  stop?(): Promise<void> | void
  reset?(): Promise<void> | void
  interrupt?(): Promise<void> | void
  /** Told, when a run goes on in another process, what an earlier step of it gave: a session goes on, for example. */
  recall?(output: Output): void
  /** A copy with its own state from here on. */
  fork?(id: string): AnyNode
  info(): NodeInfo
}

export interface NodeInfo {
  readonly id: string
  readonly kind: string
  readonly persistent: boolean
  readonly description?: string
  /** The optional methods it has. */
  readonly abilities: readonly string[]
  readonly forkedFrom?: string
}

// oxlint-disable-next-line no-explicit-any -- Input is used both ways, so no other type accepts every node.
export type AnyNode = Node<any, any>

/** What `ctx.run`, steps of graphs and control nodes can run. */
export type Runnable<Input = unknown, Output = unknown> = Node<Input, Output> | Definition<Input, Output>
export type AnyRunnable = AnyNode | AnyDefinition

export type InputOf<One> = One extends Runnable<infer Input, infer _Output> ? Input : unknown
export type OutputOf<One> = One extends Runnable<infer _Input, infer Output> ? Output : unknown

/** What can be referred to by name. A run keeps the names that it started with. */
export interface Names {
  get(name: string): AnyRunnable | undefined
  keys(): Iterable<string>
}

/** A definition as data: what `explain` and Mermaid show. */
export interface Outline {
  /** The step's id, or the definition's name. */
  readonly id: string
  readonly kind: string
  /** More to show: the name of a node, a condition, a limit. */
  readonly note?: string
  /** The ids, beside this one, that come before it. */
  readonly after?: readonly string[]
  /** Arrows between the parts that are not `after`: labelled, or going back. */
  readonly edges?: readonly OutlineEdge[]
  readonly parts?: readonly Outline[]
}

export interface OutlineEdge {
  readonly from: string
  readonly to: string
  readonly label?: string
}

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
  /**
   * Keeps a value for whoever goes on with this step: the next attempt, or this one after a crash. It is durable when the
   * promise resolves; a later one takes its place. It is forgotten when the step has its outcome.
   */
  readonly keep: (value: unknown) => Promise<void>
  /** What was kept last in this step. */
  readonly kept: unknown
  /**
   * Ends this call and asks a person: let what it throws through. Nothing is held until the answer comes, for weeks if it must
   * be; then the function is called again, in the same attempt, with `resumed` and the answer.
   */
  readonly park: (prompt: string, options?: ParkOptions) => never
  /** The last answer to a question that this step parked with. It is forgotten when the step has its outcome. */
  readonly answer: unknown
  /**
   * Asks a person while the function goes on. The question belongs to this attempt: it leaves the inbox when the attempt
   * ends, and a later attempt asks again. The time until the answer is not spent.
   */
  readonly ask: <const Choice extends string = string, Answer = Choice>(
    prompt: string,
    options?: StepAskOptions<Choice, Answer>,
  ) => Promise<Answer>
}

export interface StepAskOptions<Choice extends string = string, Answer = Choice> extends Omit<
  AskOptions<Choice, Answer>,
  'label'
> {
  /** What is asked for (default `ask`). */
  readonly kind?: 'ask' | 'permission' | 'review'
  /**
   * What is taken beside the choices, as a JSON Schema. Unlike a `schema` it is data in the journal: whoever answers sees it, and
   * every process can check an answer. Its `description` is told to whoever gives one that does not fit.
   */
  readonly free?: JsonSchema
  /** Takes the question back: it was answered in another way. */
  readonly signal?: AbortSignal
}

export interface ParkOptions extends Omit<StepAskOptions, 'signal' | 'schema' | 'onDeadline'> {
  /** Kept as by `keep`, in the same commit: whoever gets the answer knows what it is about. */
  readonly keep?: unknown
  readonly onDeadline?: Exclude<OnDeadline, 'fail'>
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

/** What happens after the last attempt. A step that says `fail` throws also in a run with the policy `continue`. */
export type OnError<Output> =
  | 'fail'
  | { readonly skip: Output }
  | {
      /** Gets what the last attempt threw; after a crash in the fallback itself it is not told again. */
      readonly fallback: (call: StepCall, error?: unknown) => Promise<Output> | Output
    }

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
  /** The journal keeps the input, without secrets, for whoever looks at the run (default: only its fingerprint). */
  readonly recordInput?: boolean
  /** What an attempt may spend at most; set aside before it starts. */
  readonly reserve?: Usage
}

/** How a step is run: everything of its options but what its result depends on. */
export type Policy<Output = unknown> = Omit<StepOptions<Output>, 'input'>

export interface RunOptions<Output = unknown> extends Policy<Output> {
  readonly label?: string
  /** Makes something else of the output, as a part of the step: what it returns is the step's result. */
  readonly parser?: (output: never) => Output
  /** Laid over the params, for a definition. */
  readonly params?: Readonly<Record<string, unknown>>
}

export interface RaceOptions extends ScopeOptions {
  /** What ends the race: the first branch to end (default), or the first to succeed. */
  readonly until?: 'settled' | 'success'
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

/** The graph that a definition runs in, while it runs. */
export interface RunningGraph {
  has(id: string): boolean
  /** Adds a step. It starts when what it comes after has ended; the graph waits for it. */
  add(id: string, node: AnyRunnable | string, options?: AddedStep): void
}

export interface AddedStep {
  readonly after?: readonly string[]
  readonly input?: unknown
  readonly inputFn?: (upstream: Readonly<Record<string, unknown>>) => unknown
  readonly policy?: Policy
}

/** The durable primitives. Nothing else in a workflow is durable. */
export interface Context<Input = unknown> {
  readonly input: Input
  readonly params: Readonly<Record<string, unknown>>
  readonly runId: string
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal
  /** In a definition that runs as a step of a graph: that graph. */
  readonly graph?: RunningGraph
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
  race<const Branches extends readonly (() => unknown)[]>(
    branches: Branches,
    options?: RaceOptions,
  ): Promise<Awaited<ReturnType<Branches[number]>>>
  race<Output>(branches: readonly (() => Promise<Output> | Output)[], options?: RaceOptions): Promise<Output>
  /** A part of the run in which labels are counted on their own. When it throws, what still runs in it is stopped. */
  scope<Output>(label: string, run: () => Promise<Output> | Output): Promise<Output>
  /** Runs a node as a step, or a definition in a scope of this run. By name: what the host knows under it. */
  run<One extends AnyRunnable>(
    node: One,
    input?: NoInfer<InputOf<One>>,
    options?: RunOptions<OutputOf<One>>,
  ): Promise<OutputOf<One>>
  run<Output = unknown>(name: string, input?: unknown, options?: RunOptions<Output>): Promise<Output>
  child<ChildInput, Output>(
    definition: Definition<ChildInput, Output>,
    input: NoInfer<ChildInput>,
    options?: ChildOptions,
  ): Promise<Output>
  /** Takes the messages sent to this run since it last took them: signals of that name (default `message`). */
  messages(name?: string): Promise<unknown[]>
  /** What this run and its children have spent, and what they may still spend. */
  usage(): RunUsage
  /** Marks a named place to fork from or come back to, with data for people to see. */
  checkpoint(name: string, data?: unknown): Promise<void>
}

export interface RunUsage {
  readonly spent: Required<Usage>
  readonly left: Budget
}
