/** The graph form: nodes, and edges between them. */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, AskOptions } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import { ChainBuilder, type Chain } from './chain.ts'
import type { AnyChannel, Channels, StartOf } from './channel.ts'
import { compilePlan, type CompiledStateGraph, type CompileOptions } from './compiled.ts'
import { Draft, channelMap, type GivenNode, type GivenWait } from './draft.ts'
import type { Exit, Plan, Route } from './plan.ts'
import { END, START, isSend, type Send } from './result.ts'
import type {
  Fresh,
  IdIn,
  Mapped,
  NewId,
  Plain,
  PlainIn,
  Returned,
  SendIn,
  Shape,
  StateFunction,
  StateIn,
  StateNodeOptions,
  SubjectFunction,
  Whole,
  With,
} from './shape.ts'

/** What a router may return: one or several of its ways, or items for nodes that take items. */
type Routed<Known extends Shape, Way> = Way | SendIn<Known> | readonly (Way | SendIn<Known>)[]

/** How a question is asked, and what its answer changes. */
export interface WaitNodeOptions<Known extends Shape, Choice extends string, Answer, Given> extends Omit<
  AskOptions<Choice, Answer>,
  'label'
> {
  /** What the answer changes. It must be pure. Without it, the graph only waits. */
  readonly into?: (answer: Answer, state: StateIn<Known>) => Given
}

export interface StateGraph<Known extends Shape> {
  /** A node: a function of the state that returns what changes. */
  node<const Id extends string, Given extends Returned<Known>>(
    id: NewId<Known, Id>,
    run: StateFunction<Known, Given>,
    options?: StateNodeOptions<Known>,
  ): StateGraph<With<Known, Id, Plain, Given>>
  /** A node that runs a node, or a definition with a state of its own. */
  node<const Id extends string, One extends AnyRunnable | string, Given extends Returned<Known>>(
    id: NewId<Known, Id>,
    node: One,
    options: Mapped<Known, One, Given>,
  ): StateGraph<With<Known, Id, Plain, Given>>
  /** A node that runs once for each item that is sent to it in a step. */
  each<const Id extends string, Item, Given extends Returned<Known>>(
    id: NewId<Known, Id>,
    run: SubjectFunction<Known, Item, Given>,
    options?: StateNodeOptions<Known>,
  ): StateGraph<With<Known, Id, Item, Given>>
  each<const Id extends string, One extends AnyRunnable, Given extends Returned<Known>>(
    id: NewId<Known, Id>,
    node: One,
    options: Omit<Mapped<Known, One, Given>, 'input'>,
  ): StateGraph<With<Known, Id, InputOfNode<One>, Given>>
  /** A node that asks a person, and waits for the answer for as long as it takes. */
  wait<
    const Id extends string,
    const Choice extends string = string,
    Answer = Choice,
    Given extends Returned<Known> = undefined,
  >(
    id: NewId<Known, Id>,
    prompt: string | ((state: StateIn<Known>) => string),
    options?: WaitNodeOptions<Known, Choice, Answer, Given>,
  ): StateGraph<With<Known, Id, Plain, Given>>
  /** What comes next. From a list of nodes: when all of them have been there. */
  edge(
    from: IdIn<Known> | typeof START | readonly [IdIn<Known>, IdIn<Known>, ...IdIn<Known>[]],
    to: PlainIn<Known> | typeof END,
  ): StateGraph<Known>
  /** What comes next, decided by a function of the state. Targets may be named, for those who look at the graph. */
  edges<const Way extends string>(
    from: IdIn<Known> | typeof START,
    router: (state: StateIn<Known>) => Routed<Known, NoInfer<Way>> | Promise<Routed<Known, NoInfer<Way>>>,
    targets: readonly (Way & (IdIn<Known> | typeof END))[] | Readonly<Record<Way, PlainIn<Known> | typeof END>>,
  ): StateGraph<Known>
  /** The fluent form instead: what comes next is what is written next. */
  start(): Chain<Fresh<Known>>
  compile<Output = StateIn<Known>>(
    this: Whole<Known>,
    options?: CompileOptions<StateIn<Known>, Output>,
  ): CompiledStateGraph<StartOf<Known['channels']>, StateIn<Known>, Output>
}

type InputOfNode<One> = One extends { execute(input: infer Input, ...more: never[]): unknown }
  ? Input
  : One extends { readonly run: (ctx: never, input: infer Input) => unknown }
    ? Input
    : unknown

/**
 * A graph whose nodes share a typed state.
 *
 * ```ts
 * import { END, START, channel, stateGraph } from 'nerve/state'
 *
 * export default stateGraph('count', { count: channel({ default: () => 0 }) })
 *   .node('add', ({ count }) => ({ count: count + 1 }))
 *   .edge(START, 'add')
 *   .edges('add', ({ count }) => (count < 3 ? 'add' : END), ['add', END])
 *   .compile()
 * ```
 */
export function stateGraph<All extends Channels>(
  name: string,
  channels: All,
): StateGraph<{ readonly channels: All; readonly nodes: {}; readonly wanted: never }> {
  if (!isLabel(name))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(name)} is not a name for a state graph. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  return new StateGraphBuilder(name, channelMap(name, channels)) as never
}

type Choose = (state: never) => unknown
type Targets = readonly string[] | Readonly<Record<string, string>>

interface GivenRouter {
  readonly from: string
  readonly router: Choose
  readonly targets: Targets
}

/** A plan while its ways are being added. */
interface Growing {
  readonly nodes: ReadonlyMap<string, { readonly exits: Exit[] }>
  readonly entry: Exit[]
}

class StateGraphBuilder {
  readonly #name: string
  readonly #channels: ReadonlyMap<string, AnyChannel>
  readonly #draft = new Draft()
  readonly #edges: { readonly from: string | readonly string[]; readonly to: string }[] = []
  readonly #routers: GivenRouter[] = []

  constructor(name: string, channels: ReadonlyMap<string, AnyChannel>) {
    this.#name = name
    this.#channels = channels
  }

  node(id: string, run: unknown, options?: GivenNode['options']): this {
    this.#draft.add({ id, takes: 'nothing', run, ...(options === undefined ? {} : { options }) })
    return this
  }

  each(id: string, run: unknown, options?: GivenNode['options']): this {
    this.#draft.add({ id, takes: 'item', run, ...(options === undefined ? {} : { options }) })
    return this
  }

  wait(id: string, prompt: unknown, options: GivenWait = {}): this {
    this.#draft.wait(id, prompt, options)
    return this
  }

  edge(from: string | readonly string[], to: string): this {
    this.#edges.push({ from, to })
    return this
  }

  edges(from: string, router: Choose, targets: Targets): this {
    this.#routers.push({ from, router, targets })
    return this
  }

  start(): ChainBuilder {
    if (this.#draft.nodes.size > 0)
      throw new NerveError(
        'bad-definition',
        `State graph '${this.#name}' has nodes already. Use either the graph form or start().then(…).`,
      )
    return new ChainBuilder(this.#name, this.#channels)
  }

  compile(options: CompileOptions<never, unknown> = {}): unknown {
    return compilePlan(this.#plan(), options, this.#draft.problems)
  }

  #plan(): Plan {
    const { problems } = this.#draft
    // A copy: what is added to the builder later does not change what was compiled.
    const nodes = new Map([...this.#draft.nodes].map(([id, node]) => [id, { ...node, exits: [] }]))
    const plan = { name: this.#name, channels: this.#channels, nodes, entry: [] as Exit[] }
    if (nodes.size === 0) problems.push('it has no nodes. Add one: node(id, (state) => update).')
    for (const { from, to } of this.#edges) this.#addEdge(plan, from, to)
    const taken = new Set(nodes.keys())
    for (const given of this.#routers) this.#addRouter(plan, given, taken)
    if (plan.entry.length === 0)
      problems.push(`nothing comes first. Say what: edge(START, '${[...nodes.keys()][0] ?? 'id'}').`)
    return plan
  }

  #addEdge(plan: Growing, from: string | readonly string[], to: string): void {
    const what = `the edge to '${to}'`
    this.#checkTarget(what, to)
    if (typeof from === 'string') {
      this.#exitsOf(plan, from, what).push({ type: 'to', node: to })
      return
    }
    const list = [...new Set(from)]
    const join = { id: `${list.join('+')}>${to}`, from: list, to }
    for (const one of list) {
      const exits = this.#exitsOf(plan, one, what)
      // Said twice, it is one: a second one would remember who came too late for it.
      if (!exits.some((exit) => exit.type === 'join' && exit.join.id === join.id))
        exits.push({ type: 'join', from: one, join })
    }
  }

  #addRouter(plan: Growing, { from, router, targets }: GivenRouter, taken: Set<string>): void {
    const { problems } = this.#draft
    const what = `the choice behind '${from}'`
    if (typeof router !== 'function') problems.push(`${what}: the router is not a function of the state.`)
    const ways = new Map(
      Array.isArray(targets) ? targets.map((id: string) => [id, id] as const) : Object.entries(targets ?? {}),
    )
    if (ways.size === 0) problems.push(`${what}: no targets are given. List them: edges(from, router, ['a', END]).`)
    for (const to of ways.values()) if (!this.#takesItems(to)) this.#checkTarget(what, to)
    const id = taken.has(`${from}?`) ? this.#draft.freeId(from, (one) => taken.has(one)) : from
    taken.add(`${from}?`).add(id)
    const isList = Array.isArray(targets)
    const route: Route = {
      id,
      choose: router as Route['choose'],
      exits: (chosen) => routed(this.#name, from, { chosen, ways, takesItems: (id) => this.#takesItems(id) }),
      ways: [...ways].map(([label, to]) => ({ label: isList ? 'chosen' : label, exits: [{ type: 'to', node: to }] })),
      shown: false,
    }
    this.#exitsOf(plan, from, what).push({ type: 'route', route })
  }

  #takesItems(id: string): boolean {
    return this.#draft.nodes.get(id)?.takes === 'item'
  }

  #checkTarget(what: string, to: string): void {
    const { nodes, problems } = this.#draft
    if (to === END) return
    if (!nodes.has(to)) problems.push(`${what} leads to '${to}', which is not a node.`)
    else if (this.#takesItems(to))
      problems.push(`${what} leads to '${to}', which runs once for each item: send it some instead.`)
  }

  #exitsOf({ nodes, entry }: Growing, from: string, what: string): Exit[] {
    if (from === START) return entry
    const node = nodes.get(from)
    if (node === undefined) this.#draft.problems.push(`${what} comes from '${from}', which is not a node.`)
    return node?.exits ?? []
  }
}

interface Decided {
  readonly chosen: unknown
  readonly ways: ReadonlyMap<string, string>
  readonly takesItems: (id: string) => boolean
}

function routed(name: string, from: string, { chosen, ways, takesItems }: Decided): readonly Exit[] {
  const list = (Array.isArray(chosen) ? chosen : [chosen]) as readonly (string | Send)[]
  return list.map((one): Exit => {
    const id = isSend(one) ? one['nerve:send'] : one
    const to = ways.get(id)
    if (to === undefined || isSend(one) !== takesItems(to))
      throw new NerveError(
        'bad-output',
        `State graph '${name}': the router from '${from}' chose ${JSON.stringify(one) ?? 'nothing'}. ` +
          `It can choose: ${[...ways].map(([way, node]) => (takesItems(node) ? `send('${way}', item)` : way)).join(', ')}.`,
      )
    return isSend(one) ? { type: 'send', node: to, item: one.item } : { type: 'to', node: to }
  })
}
