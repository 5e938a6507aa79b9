/** A state graph that can run: a definition, with ways to look at its runs through a host. */
import { NerveError } from '../../base/nerve-error.ts'
import type { Schema } from '../../base/schema.ts'
import type { AnyRunnable, Context, Definition, Names, Outline, WorkflowOptions } from '../../engine/definition.ts'
import { checkLimit } from '../control/control.ts'
import { forkNodes } from '../../engine/fork-nodes.ts'
import { mermaid, outlineText } from '../outline.ts'
import { initialState, mergeUpdates, updateProblem, type Values } from './channel.ts'
import { positionFrom, type Saver } from './checkpoint.ts'
import { checkPlan, outlinePlan } from './look.ts'
import { runnablesIn, type Plan } from './plan.ts'
import { toldBy } from './position.ts'
import { runPlan, type Observed, type RunSettings } from './run.ts'
import type { Saving } from './saving.ts'
import {
  historyOf,
  invokeGraph,
  resumeGraph,
  streamStates,
  updateGraph,
  type RunOf,
  type StateHost,
  type StateRunHandle,
  type StateStep,
  type UpdateStateOptions,
} from './session.ts'

export interface CompileOptions<State, Output> extends Omit<WorkflowOptions, 'input' | 'output' | 'errorPolicy'> {
  /** Checks (and may convert) the input, after its channels were checked. */
  readonly input?: Schema
  /** How many steps it may take (default 100). */
  readonly maxSteps?: number
  /** What reaching that means: the run fails (default), or it ends with the state as it is. The journal says so. */
  readonly onLimit?: 'fail' | 'stop'
  /** How many nodes, or items of nodes, may run at a time (default: as many as there are). */
  readonly maxParallel?: number
  /** From which share of a context window on there is a `context_window_warning` (default 0.6). */
  readonly windowWarning?: number
  /** Where a checkpoint is kept after every step. */
  readonly saver?: Saver
  /** What a saver that fails means: it is reported and the run goes on (default), or the run fails. */
  readonly onSaverError?: 'report' | 'fail'
  /** What a run gives, instead of the whole state. It must be pure. */
  readonly returns?: (state: State) => Output
}

export interface CompiledStateGraph<Input, State, Output = State> extends Definition<Input, Output> {
  readonly kind: 'state-graph'
  check(names: Names): readonly string[]
  outline(): Outline
  inner(): readonly (AnyRunnable | string)[]
  fork(name: string): CompiledStateGraph<Input, State, Output>
  explain(): string
  mermaid(): string
  /** Starts a run and waits for its end. */
  invoke(host: StateHost, input: Input): Promise<Output>
  /** Starts a run and gives the state before the first step and after each. */
  stream(host: StateHost, input: Input): AsyncGenerator<StateStep<State>, void>
  /** The state of a run, whether it works, waits or has ended. */
  getState(host: StateHost, run: string): Promise<StateStep<State>>
  /** The state before the first step and after each. */
  history(host: StateHost, run: string): Promise<readonly StateStep<State>[]>
  /** A new run that shares what this one did, with another state from some step on. */
  updateState<One extends StateRunHandle>(
    host: StateHost<One>,
    run: string,
    update: Partial<Input>,
    options?: UpdateStateOptions,
  ): Promise<RunOf<One, Output>>
  /** A new run that goes on from a checkpoint. */
  resumeFrom<One extends StateRunHandle>(
    host: StateHost<One>,
    saver: Saver,
    run: string,
    id?: string,
  ): Promise<RunOf<One, Output>>
}

const DEFAULTS = { maxSteps: 100, maxParallel: Infinity, window: 0.6 }

/** Checks everything that was said, and makes a definition of it. */
export function compilePlan(
  plan: Plan,
  options: CompileOptions<never, unknown>,
  found: readonly string[],
): CompiledStateGraph<unknown, Values, unknown> {
  const problems = [...new Set([...found, ...optionProblems(options)])]
  if (problems.length > 0)
    throw new NerveError('bad-definition', `State graph '${plan.name}': ${problems.join(' ')}`, { data: { problems } })
  return new CompiledGraph(plan, options) as never
}

function optionProblems(options: CompileOptions<never, unknown>): string[] {
  const { maxSteps = 1, maxParallel = 1, windowWarning = 1, saver, returns } = options
  return [
    ...(maxSteps === Infinity ? [] : checkLimit(maxSteps, 'maxSteps')),
    ...(maxParallel >= 1 ? [] : [`maxParallel is ${maxParallel}; give a number from 1.`]),
    ...(windowWarning > 0 && windowWarning <= 1
      ? []
      : [`windowWarning is ${windowWarning}; give a share above 0 and up to 1.`]),
    ...(saver === undefined || typeof saver.save === 'function' ? [] : ['saver is not a saver.']),
    ...(returns === undefined || typeof returns === 'function' ? [] : ['returns is not a function of the state.']),
  ]
}

/** How a variant of a graph differs from it. The name is the same, so that it can replay the graph's runs. */
export interface Variation {
  readonly observe?: (seen: Observed) => void
  /** Told when the run has ended in this process. */
  readonly ended?: () => void
  /** It goes on from a checkpoint, and is given no input. */
  readonly withoutInput?: boolean
}

export class CompiledGraph {
  readonly kind = 'state-graph'
  readonly name: string
  readonly options: WorkflowOptions
  readonly plan: Plan
  readonly #own: CompileOptions<never, unknown>
  readonly #swap: RunSettings['swap']
  readonly #variation: Variation

  constructor(
    plan: Plan,
    own: CompileOptions<never, unknown>,
    more: { readonly swap?: RunSettings['swap']; readonly variation?: Variation } = {},
  ) {
    const { swap, variation = {} } = more
    const { description, params, budget, durability } = own
    this.name = plan.name
    this.plan = plan
    this.options = {
      ...(description === undefined ? {} : { description }),
      ...(params === undefined ? {} : { params }),
      ...(budget === undefined ? {} : { budget }),
      ...(durability === undefined ? {} : { durability }),
      ...(variation.withoutInput === true ? {} : { input: inputSchema(plan, own.input) }),
    }
    this.#own = own
    this.#swap = swap
    this.#variation = variation
  }

  readonly run = async (ctx: Context, input: unknown): Promise<unknown> => {
    const { from, edits = [] } = toldBy(ctx.params)
    const start = (): Values =>
      mergeUpdates(this.plan.channels, initialState(this.plan.channels), [(input ?? {}) as Values])
    const begin = from === undefined ? { state: start() } : { position: positionFrom(this.plan, from) }
    const state = await runPlan(ctx, this.plan, begin, this.#settings(edits))
    this.#variation.ended?.()
    const { returns } = this.#own
    return returns === undefined ? state : (returns as (state: Values) => unknown)(state)
  }

  #settings(edits: RunSettings['edits']): RunSettings {
    const { maxSteps, maxParallel, windowWarning, onLimit = 'fail', saver, onSaverError = 'report' } = this.#own
    const saving: Saving | undefined = saver === undefined ? undefined : { saver, onSaverError }
    return {
      maxSteps: maxSteps ?? DEFAULTS.maxSteps,
      maxParallel: maxParallel ?? DEFAULTS.maxParallel,
      window: windowWarning ?? DEFAULTS.window,
      onLimit,
      saving,
      swap: this.#swap,
      edits,
      observe: this.#variation.observe,
    }
  }

  /** The same graph, looked at. */
  varied(variation: Variation): CompiledGraph {
    return new CompiledGraph(this.plan, this.#own, { swap: this.#swap, variation })
  }

  readonly check = (names: Names): readonly string[] => checkPlan(this.plan, names)

  readonly outline = (): Outline => outlinePlan(this.plan)

  readonly inner = (): readonly (AnyRunnable | string)[] =>
    runnablesIn(this.plan).map((node) => this.#swap?.get(node) ?? node)

  readonly fork = (name: string): CompiledGraph => {
    const copies = forkNodes(this.inner(), name)
    const swap = new Map(
      runnablesIn(this.plan).flatMap((node) => {
        const now = this.#swap?.get(node) ?? node
        const copy = copies.get(now) ?? (typeof now === 'string' ? undefined : now)
        return copy === undefined ? [] : [[node, copy] as const]
      }),
    )
    return new CompiledGraph({ ...this.plan, name }, this.#own, { swap })
  }

  explain(): string {
    return outlineText(this.outline())
  }

  mermaid(): string {
    return mermaid(this.outline())
  }

  invoke(host: StateHost, input: unknown): Promise<unknown> {
    return invokeGraph(this, host, input)
  }

  stream(host: StateHost, input: unknown): AsyncGenerator<StateStep, void> {
    return streamStates(this, host, input)
  }

  async getState(host: StateHost, run: string): Promise<StateStep> {
    return (await historyOf(this, host, run)).at(-1) as StateStep
  }

  history(host: StateHost, run: string): Promise<readonly StateStep[]> {
    return historyOf(this, host, run)
  }

  updateState(host: StateHost, run: string, update: Values, options: UpdateStateOptions = {}): Promise<StateRunHandle> {
    return updateGraph(this, host, run, { ...options, update })
  }

  resumeFrom(host: StateHost, saver: Saver, run: string, id?: string): Promise<StateRunHandle> {
    return resumeGraph(this, host, { saver, run, id })
  }
}

/** The input names channels, and gives them what they take. */
function inputSchema(plan: Plan, own: Schema | undefined): Schema {
  return {
    '~standard': {
      version: 1,
      vendor: 'nerve',
      validate(value) {
        const given = value ?? {}
        if (typeof given !== 'object' || Array.isArray(given))
          return { issues: [{ message: `give an object with the channels: ${[...plan.channels.keys()].join(', ')}.` }] }
        const problem = updateProblem(plan.channels, given as Values)
        if (problem !== undefined) return { issues: [{ message: problem }] }
        return own === undefined ? { value: given } : own['~standard'].validate(given)
      },
    },
  }
}
