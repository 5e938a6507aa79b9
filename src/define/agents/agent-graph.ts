/** An agent graph: agents with names, and which comes after which. It compiles to the steps of a graph. */
import { NerveError } from '../../base/nerve-error.ts'
import type {
  AnyRunnable,
  Context,
  Definition,
  Names,
  Outline,
  Policy,
  Runnable,
  WorkflowOptions,
} from '../../engine/definition.ts'
import { isDefinition, isNode, pathHere, stopWatch } from '../../engine/run-node.ts'
import { isLabel } from '../../engine/scope.ts'
import type { ErrorPolicy } from '../../journal/events.ts'
import { forkNodes } from '../../engine/fork-nodes.ts'
import { checkMaxParallel, type GraphOptions } from '../graph.ts'
import { runGraph } from '../graph-run.ts'
import { layOut, sortSteps, type GraphStep, type StepFacts } from '../graph-steps.ts'
import { mermaid, outlineText } from '../outline.ts'
import { agentDefinition, isAgentCancelled, type AgentGiven, type AgentTask } from './agent.ts'
import type { OnBlocked } from './blocked.ts'
import { checkAgents, type AgentOrder } from './check-agents.ts'
import { AGENTS_STARTED, AGENTS_STOPPED } from './inbox.ts'
import type { CodingAgent } from './told.ts'

type Upstream = Readonly<Record<string, unknown>>

export interface AgentOptions<Input, Target, Output> {
  /** What the agent is: a node, a definition, or the name of one. Coding agents are nodes. */
  readonly bundle: Runnable<AgentTask<Target>, Output> | CodingAgent<Output> | string
  /** What it works on, handed to it as `task.target`. Give this or targetFn. */
  readonly target?: NoInfer<Target>
  /** The target, made of the results of the agents that it comes after. */
  readonly targetFn?: (upstream: Upstream, facts: StepFacts<Input>) => NoInfer<Target>
  /** What runs it, when the bundle is only a name for what it does. */
  readonly node?: Runnable<AgentTask<Target>, Output> | CodingAgent<Output> | string
  /** For coding agents: what it is told of its task (default: the target, and what the agents before it have done). */
  readonly prompt?: (task: AgentTask<NoInfer<Target>>) => string
  /** How its turns are run: attempts, backoff, timeout, onError, effect. */
  readonly policy?: Policy<NoInfer<Output>>
}

export type AgentGraphOptions<Input = unknown> = GraphOptions<Input>

/** What follows `after(…)`. */
export interface AgentsAfter<Whole, Name extends string> {
  run(...names: readonly Name[]): Whole
  /** The same, and they must not be in an order. */
  runParallel(...names: readonly Name[]): Whole
  /** One after the other. */
  runSequential(...names: readonly Name[]): Whole
}

export interface AgentGraph<Input = unknown, Results = {}> extends Definition<Input, Results> {
  readonly kind: 'agent-graph'
  agent<Name extends string, Target = unknown, Output = unknown>(
    name: Name,
    options: AgentOptions<Input, Target, Output>,
  ): AgentGraph<Input, Results & { readonly [Key in Name]: Output }>
  /** What runs when these agents have ended: `after('lint').run('fix', 'report')`. */
  after(
    names: (keyof Results & string) | readonly (keyof Results & string)[],
  ): AgentsAfter<AgentGraph<Input, Results>, keyof Results & string>
  /** Says that these agents are in no order among each other. They would run in parallel anyway: this is checked. */
  runParallel(...names: readonly (keyof Results & string)[]): AgentGraph<Input, Results>
  /** Each of these agents comes after the one before. */
  runSequential(...names: readonly (keyof Results & string)[]): AgentGraph<Input, Results>
  /** Who decides about an agent that is blocked: a person (`ask`, the default), or a function. */
  onBlocked(decides: OnBlocked): AgentGraph<Input, Results>
  /** Every problem, or an empty list. With names, bundles by name are checked too. */
  validate(names?: Names): readonly string[]
  /** The agents in an order in which each comes after those that it waits for. */
  order(): readonly string[]
  /** The agents as steps of a graph. */
  steps(): readonly GraphStep[]
  explain(): string
  mermaid(): string
  outline(): Outline
  check(names: Names): readonly string[]
  inner(): readonly (AnyRunnable | string)[]
  fork(name: string): AgentGraph<Input, Results>
}

/**
 * A graph of agents.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { agentGraph, type AgentTask } from 'nerve/agents'
 *
 * const lint = defineNode('lint', ({ target }: AgentTask<string>) => target.trim())
 * const report = defineNode('report', ({ upstream }: AgentTask) => Object.keys(upstream).length)
 *
 * export default agentGraph('review', { maxParallel: 2, errorPolicy: 'skip' })
 *   .agent('lint', { bundle: lint, target: ' let a ' })
 *   .agent('report', { bundle: report })
 *   .after('lint').run('report')
 * ```
 */
export function agentGraph<Input = unknown>(name: string, options: AgentGraphOptions<Input> = {}): AgentGraph<Input> {
  if (!isLabel(name))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(name)} is not a name for an agent graph. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  checkMaxParallel(`Agent graph '${name}'`, options.maxParallel)
  return new AgentGraphBuilder(name, options) as unknown as AgentGraph<Input>
}

interface Agent {
  readonly name: string
  readonly options: AgentOptions<unknown, unknown, unknown>
}

class AgentGraphBuilder {
  readonly kind = 'agent-graph'
  readonly name: string
  readonly options: WorkflowOptions
  readonly errorPolicy: ErrorPolicy
  readonly #own: AgentGraphOptions
  readonly #agents: Agent[] = []
  readonly #orders: AgentOrder[] = []
  readonly #apart: (readonly string[])[] = []
  #onBlocked: OnBlocked = 'ask'

  constructor(name: string, options: AgentGraphOptions) {
    const { maxParallel: _most, errorPolicy = 'stop', ...rest } = options
    this.name = name
    // What a failed agent means for the others the graph decides itself: to its own code it is an error, wherever it runs.
    this.options = { ...rest, errorPolicy: 'stop' }
    this.errorPolicy = errorPolicy
    this.#own = options
  }

  readonly run = async (ctx: Context, input: unknown): Promise<unknown> => {
    this.#insist()
    const { errorPolicy } = this
    const { maxParallel = Infinity } = this.#own
    const isStopped = stopWatch(ctx)
    const at = pathHere()
    const agents = this.#agents.map(({ name }) => (at === '' ? name : `${at}/${name}`))
    // In a scope of its own, so that no name of an agent is taken.
    const tell = (name: string): Promise<void> => ctx.scope('+', () => ctx.emit(name, { agents }))
    await tell(AGENTS_STARTED)
    const plan = { name: this.name, steps: this.#compiled(), maxParallel, errorPolicy, takenOut: isAgentCancelled }
    try {
      return await runGraph(ctx, input, plan)
    } catch (error) {
      if (!isStopped()) await tell(AGENTS_STOPPED)
      throw error
    }
  }

  agent(name: string, options: AgentOptions<unknown, unknown, unknown>): this {
    this.#agents.push({ name, options })
    return this
  }

  after(names: string | readonly string[]): AgentsAfter<this, string> {
    const before = typeof names === 'string' ? [names] : names
    const said = `after(${before.map((name) => `'${name}'`).join(', ')})`
    const run = (...then: readonly string[]): this => {
      for (const one of then) for (const from of before) this.#orders.push({ before: from, then: one, said })
      return this
    }
    return {
      run,
      runParallel: (...then) => run(...then).runParallel(...then),
      runSequential: (...then) => run(...then.slice(0, 1)).runSequential(...then),
    }
  }

  runParallel(...names: readonly string[]): this {
    this.#apart.push(names)
    return this
  }

  runSequential(...names: readonly string[]): this {
    for (const [index, then] of names.entries()) {
      const before = names[index - 1]
      if (before !== undefined) this.#orders.push({ before, then, said: 'runSequential' })
    }
    return this
  }

  onBlocked(decides: OnBlocked): this {
    if (decides !== 'ask' && typeof decides !== 'function')
      throw new NerveError('bad-definition', `Agent graph '${this.name}': onBlocked takes 'ask' or a function.`)
    this.#onBlocked = decides
    return this
  }

  readonly check = (names?: Names): readonly string[] =>
    checkAgents({ steps: this.steps(), orders: this.#orders, apart: this.#apart }, names)

  validate(names?: Names): readonly string[] {
    return this.check(names)
  }

  order(): readonly string[] {
    this.#insist()
    const steps = this.steps()
    return sortSteps(layOut(steps)).map((at) => (steps[at] as GraphStep).id)
  }

  /** Each agent as a step whose node is what the agent runs. */
  steps(): readonly GraphStep[] {
    const before = this.#before()
    return this.#agents.map(({ name, options }) => ({
      id: name,
      node: runsOf(options),
      after: [...(before.get(name) ?? [])],
      ...(options.target === undefined ? {} : { input: options.target }),
      ...(options.targetFn === undefined ? {} : { inputFn: options.targetFn }),
    }))
  }

  readonly outline = (): Outline => ({
    id: this.name,
    kind: this.kind,
    parts: this.#compiled().map(({ id, node, after }) => ({
      ...(node as Definition).outline?.(),
      id,
      kind: 'agent',
      ...(after.length === 0 ? {} : { after }),
    })),
  })

  explain(): string {
    return outlineText(this.outline())
  }

  mermaid(): string {
    return mermaid(this.outline())
  }

  readonly inner = (): readonly (AnyRunnable | string)[] => [...new Set(this.steps().map(({ node }) => node))]

  readonly fork = (name: string): AgentGraphBuilder => {
    const copies = forkNodes(this.inner(), name)
    const made = new AgentGraphBuilder(name, this.#own).onBlocked(this.#onBlocked)
    for (const { name: agent, options } of this.#agents) {
      const node = copies.get(runsOf(options))
      made.agent(agent, node === undefined ? options : { ...options, bundle: bundleName(options), node })
    }
    made.#orders.push(...this.#orders)
    made.#apart.push(...this.#apart)
    return made
  }

  /** The agents that each one comes after. */
  #before(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>()
    for (const { before, then } of this.#orders) {
      const known = found.get(then)
      if (known === undefined) found.set(then, new Set([before]))
      else known.add(before)
    }
    return found
  }

  #compiled(): readonly GraphStep[] {
    return this.steps().map(({ id, after, node }, at) => {
      const { options } = this.#agents[at] as Agent
      return { id, after, node: this.#definition(id, node, options), inputFn: givenOf(options) }
    })
  }

  #definition(name: string, runs: AnyRunnable | string, options: Given): Definition<AgentGiven> {
    const { policy, prompt } = options
    const onBlocked = (): OnBlocked => this.#onBlocked
    return agentDefinition({ name, bundle: bundleName(options), runs, policy, prompt, onBlocked })
  }

  #insist(): void {
    const problems = this.check()
    if (problems.length > 0)
      throw new NerveError('bad-definition', `Agent graph '${this.name}': ${problems.join(' ')}`, {
        data: { problems },
      })
  }
}

type Given = AgentOptions<unknown, unknown, unknown>

function runsOf({ bundle, node }: Given): AnyRunnable | string {
  return (node ?? bundle) as AnyRunnable | string
}

function givenOf({ target, targetFn }: Given): (upstream: Upstream, facts: StepFacts) => AgentGiven {
  return (upstream, facts) => ({
    target: targetFn === undefined ? target : targetFn(upstream, facts),
    upstream: { ...upstream },
  })
}

function bundleName({ bundle, node }: Given): string {
  if (typeof bundle === 'string') return bundle
  const one = bundle ?? node
  return isNode(one) ? one.id : isDefinition(one) ? one.name : ''
}
