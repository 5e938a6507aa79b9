/** A graph: steps with dependencies. It is a definition, and so a step of other graphs. */
import { checkKnown } from '../base/check-known.ts'
import { NerveError } from '../base/nerve-error.ts'
import type {
  AnyRunnable,
  Definition,
  InputOf,
  Names,
  Outline,
  OutputOf,
  Policy,
  WorkflowOptions,
} from '../engine/definition.ts'
import { isLabel } from '../engine/scope.ts'
import type { ErrorPolicy } from '../journal/events.ts'
import { forkNodes } from '../engine/fork-nodes.ts'
import { recursionIn } from '../engine/recursion.ts'
import { runGraph } from './graph-run.ts'
import { checkSteps, layOut, sortSteps, unconditional, type GraphStep, type StepFacts } from './graph-steps.ts'
import { streamGraph, type StepEvent, type StreamHost } from './graph-stream.ts'
import { mermaid, outlineOf, outlineText } from './outline.ts'
import { expansionOf } from './expansion.ts'
import { WORKFLOW_OPTIONS } from './workflow.ts'

export interface GraphOptions<Input = unknown> extends Omit<WorkflowOptions<Input>, 'errorPolicy'> {
  /** How many steps may run at a time (default: as many as are ready). */
  readonly maxParallel?: number
  /** What one failed step means: `stop` everything (default), `skip` what comes after it, or `continue` without it. */
  readonly errorPolicy?: ErrorPolicy
}

interface Common<Input, Before, One> {
  /** Runs also when a step before it failed; that one's result is undefined and its error is in `facts.errors`. */
  readonly handles?: boolean
  /** A fixed input. Give this or inputFn. */
  readonly input?: InputOf<One>
  /** The input, made of the results of the steps it comes after. */
  readonly inputFn?: (upstream: Before, facts: StepFacts<Input>) => InputOf<One>
}

export interface GraphStepOptions<Input, Before, One, After, Output> extends Common<Input, Before, One> {
  /** The steps that must have ended before. */
  readonly after?: readonly After[]
  /** When false, the step is skipped, and so is what only comes after skipped steps. */
  readonly when?: (upstream: Before, facts: StepFacts<Input>) => boolean | Promise<boolean>
  /** Makes the step's result of what the node returned. */
  readonly parser?: (output: OutputOf<One>) => Output
  /** How it is run: attempts, backoff, timeout, onError, effect. What onError gives is the result as it is, without the parser. */
  readonly policy?: Policy<NoInfer<Output>>
}

/** The seeds' spelling of the same. */
export interface AddStepOptions<Input, Before, One, After, Output> extends Common<Input, Before, One> {
  readonly dependsOn?: readonly After[]
  readonly parser?: (output: OutputOf<One>) => Output
  readonly policy?: Policy<NoInfer<Output>>
}

type Merge<Results, Id extends string, Output> = Results & { readonly [Key in Id]: Output }
type Before<Results, After extends keyof Results> = { readonly [Key in After]: Results[Key] }
type Options<Input, Results, One, After extends keyof Results, Output> = GraphStepOptions<
  Input,
  Before<Results, After>,
  One,
  After,
  Output
>

/** A graph without steps has no results. */
type Empty = {}

export interface Graph<Input = unknown, Results = Empty, Output = Results> extends Definition<Input, Output> {
  readonly kind: 'graph'
  step<
    Id extends string,
    One extends AnyRunnable | string,
    After extends keyof Results & string = never,
    Parsed = OutputOf<One>,
  >(
    id: Id,
    node: One,
    options: Options<Input, Results, One, After, Parsed> & { readonly when: NonNullable<unknown> },
  ): Graph<Input, Merge<Results, Id, Parsed | undefined>>
  step<
    Id extends string,
    One extends AnyRunnable | string,
    After extends keyof Results & string = never,
    Parsed = OutputOf<One>,
  >(
    id: Id,
    node: One,
    options?: Options<Input, Results, One, After, Parsed> & { readonly when?: undefined },
  ): Graph<Input, Merge<Results, Id, Parsed>>
  /** A step whose node is found by its name when the graph runs. */
  ref<Result = unknown, Id extends string = string, After extends keyof Results & string = never>(
    id: Id,
    name: string,
    options?: Options<Input, Results, string, After, Result>,
  ): Graph<Input, Merge<Results, Id, Result>>
  /** Each of these steps comes after the one before. */
  chain(...ids: readonly (keyof Results & string)[]): Graph<Input, Results, Output>
  /** What the graph returns instead of the results of its steps. */
  returns<Value>(make: (results: Results, facts: StepFacts<Input>) => Value): Graph<Input, Results, Value>
  /** Every problem, or an empty list. With names, references by name are checked too. */
  validate(names?: Names): readonly string[]
  /** The ids in an order in which each comes after what it depends on. */
  order(): readonly string[]
  steps(): readonly GraphStep[]
  explain(): string
  mermaid(): string
  outline(): Outline
  check(names: Names): readonly string[]
  inner(): readonly (AnyRunnable | string)[]
  fork(name: string): Graph<Input, Results, Output>
  /** What it was made with, besides its steps. */
  made(): { readonly options: GraphOptions<Input>; readonly returns?: (...given: never[]) => unknown }
  /** Starts a run and tells what its steps do as they do it. */
  stream(host: StreamHost, input?: Input): AsyncIterable<StepEvent>
  addStep<
    One extends AnyRunnable,
    Id extends string,
    After extends keyof Results & string = never,
    Parsed = OutputOf<One>,
  >(
    node: One,
    id: Id,
    options?: AddStepOptions<Input, Before<Results, After>, One, After, Parsed>,
  ): Graph<Input, Merge<Results, Id, Parsed>>
  addStepRef<Id extends string, After extends keyof Results & string = never>(
    name: string,
    id: Id,
    options?: AddStepOptions<Input, Before<Results, After>, string, After, unknown>,
  ): Graph<Input, Merge<Results, Id, unknown>>
  executionOrder(): readonly string[]
  getStep(id: string): GraphStep | undefined
  listSteps(): readonly string[]
}

/**
 * A graph of steps.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { graph } from 'nerve/graph'
 *
 * const fetch = defineNode('fetch', (topic: string) => [topic, topic])
 * const count = defineNode('count', (found: string[]) => found.length)
 *
 * export default graph<string>('research')
 *   .step('notes', fetch, { inputFn: (_, { input }) => input })
 *   .step('size', count, { after: ['notes'], inputFn: ({ notes }) => notes })
 * ```
 */
export function graph<Input = unknown>(name: string, options: GraphOptions<Input> = {}): Graph<Input> {
  if (!isLabel(name))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(name)} is not a name for a graph. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  checkKnown(`Graph '${name}'`, options, [...WORKFLOW_OPTIONS, 'maxParallel'])
  checkMaxParallel(`Graph '${name}'`, options.maxParallel)
  return new GraphBuilder(name, options, []) as unknown as Graph<Input>
}

/** A number that is not whole would let one more run than it says. */
export function checkMaxParallel(what: string, most = Infinity): void {
  if (most === Infinity || (Number.isInteger(most) && most >= 1)) return
  throw new NerveError('bad-definition', `${what}: maxParallel is ${most}; give a whole number from 1.`)
}

const STEP = ['after', 'input', 'inputFn', 'when', 'policy', 'parser', 'handles']

type Returns = (results: Record<string, unknown>, facts: StepFacts) => unknown
type Given = Omit<GraphStep, 'id' | 'node' | 'after'> & { readonly after?: readonly string[] }

class GraphBuilder {
  readonly kind = 'graph'
  readonly name: string
  readonly options: WorkflowOptions
  readonly errorPolicy: ErrorPolicy
  readonly #own: GraphOptions
  readonly #steps: GraphStep[]
  #returns: Returns | undefined
  #validated = false
  /** True while its parts are looked at: whoever finds it among them then finds it in itself. */
  #inside = false

  constructor(name: string, options: GraphOptions, steps: readonly GraphStep[], returns?: Returns) {
    const { maxParallel: _most, errorPolicy = 'stop', ...rest } = options
    this.name = name
    // What a failed step means for the others the graph decides itself: to its own code it is an error, wherever it runs.
    this.options = { ...rest, errorPolicy: 'stop' }
    this.errorPolicy = errorPolicy
    this.#own = options
    this.#steps = [...steps]
    this.#returns = returns
  }

  readonly run = async (ctx: Parameters<Definition['run']>[0], input: unknown): Promise<unknown> => {
    const { errorPolicy } = this
    const { maxParallel = Infinity } = this.#own
    if (!this.#validated) this.#insist()
    const plan = { name: this.name, steps: this.#steps, maxParallel, errorPolicy, expand: expansionOf }
    const results = await runGraph(ctx, input, plan)
    return this.#returns === undefined ? results : this.#returns(results, { input, params: ctx.params, errors: {} })
  }

  step(id: string, node: AnyRunnable | string, options: Given = {}): this {
    const { written: _written, ...given } = options
    checkKnown(`Step '${id}'`, given, STEP)
    const { after = NONE } = given
    if (!Array.isArray(after))
      throw new NerveError('bad-option', `Step '${id}': after is ${JSON.stringify(after)}; give a list of ids.`)
    this.#steps.push({ ...options, id, node, after })
    this.#validated = false
    return this
  }

  ref(id: string, name: string, options?: Given): this {
    return this.step(id, name, options)
  }

  chain(...ids: readonly string[]): this {
    const { position } = layOut(this.#steps)
    for (const [index, id] of ids.entries()) {
      const at = position.get(id) ?? -1
      const step = this.#steps[at]
      if (step === undefined)
        throw new NerveError('bad-definition', `Graph '${this.name}': chain names '${id}', which is not a step yet.`)
      const before = ids[index - 1]
      if (before !== undefined) this.#steps[at] = { ...step, after: [...new Set([...step.after, before])] }
    }
    this.#validated = false
    return this
  }

  returns(make: Returns): this {
    this.#returns = make
    return this
  }

  readonly check = (names?: Names): readonly string[] => {
    if (this.#inside) return ['it contains itself. Refer to it by its name, in a step with a condition.']
    this.#inside = true
    try {
      const problems = checkSteps(this.#steps, names)
      this.#validated = problems.length === 0
      return problems
    } finally {
      this.#inside = false
    }
  }

  validate(names?: Names): readonly string[] {
    return [...this.check(names), ...recursionIn(this, names)]
  }

  order(): readonly string[] {
    this.#insist()
    return sortSteps(layOut(this.#steps)).map((at) => (this.#steps[at] as GraphStep).id)
  }

  steps(): readonly GraphStep[] {
    return [...this.#steps]
  }

  readonly outline = (): Outline => {
    const own = { id: this.name, kind: this.kind }
    if (this.#inside) return { ...own, note: 'itself' }
    this.#inside = true
    try {
      return { ...own, parts: this.#steps.map(outlineStep) }
    } finally {
      this.#inside = false
    }
  }

  explain(): string {
    return outlineText(this.outline())
  }

  mermaid(): string {
    return mermaid(this.outline())
  }

  readonly inner = (): readonly (AnyRunnable | string)[] => [...new Set(this.#steps.map(({ node }) => node))]

  readonly always = (): readonly (AnyRunnable | string)[] => unconditional(this.#steps)

  readonly fork = (name: string): GraphBuilder => {
    const copies = forkNodes(this.inner(), name)
    const steps = this.#steps.map((step) => ({ ...step, node: copies.get(step.node) ?? step.node }))
    return new GraphBuilder(name, this.#own, steps, this.#returns)
  }

  made(): { readonly options: GraphOptions; readonly returns?: Returns } {
    return { options: this.#own, ...(this.#returns === undefined ? {} : { returns: this.#returns }) }
  }

  stream(host: StreamHost, input?: unknown): AsyncIterable<StepEvent> {
    return streamGraph(host, this, input)
  }

  addStep(
    node: AnyRunnable | string,
    id: string,
    options: Given & { readonly dependsOn?: readonly string[] } = {},
  ): this {
    const { dependsOn, ...rest } = options
    return this.step(id, node, { ...rest, ...(dependsOn === undefined ? {} : { after: dependsOn }) })
  }

  addStepRef(name: string, id: string, options?: Given & { readonly dependsOn?: readonly string[] }): this {
    return this.addStep(name, id, options)
  }

  executionOrder(): readonly string[] {
    return this.order()
  }

  getStep(id: string): GraphStep | undefined {
    return this.#steps.find((step) => step.id === id)
  }

  listSteps(): readonly string[] {
    return this.#steps.map(({ id }) => id)
  }

  #insist(): void {
    const problems = this.check()
    if (problems.length > 0)
      throw new NerveError('bad-definition', `Graph '${this.name}': ${problems.join(' ')}`, { data: { problems } })
  }
}

const NONE: readonly string[] = []

function outlineStep({ id, node, after, when }: GraphStep): Outline {
  const inside = outlineOf(node)
  const note = [inside.note, when === undefined ? undefined : 'conditional'].filter((text) => text !== undefined)
  return {
    ...inside,
    id,
    ...(after.length === 0 ? {} : { after }),
    ...(note.length === 0 ? {} : { note: note.join(', ') }),
  }
}

/** True for a graph made by `graph()`. */
export function isGraph(value: unknown): value is Graph {
  return value instanceof GraphBuilder
}
