/** Random state graphs, and what they should do according to a few lines that know nothing of the engine. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { defineNode, workflow } from 'nerve'
import { END, START, channel, goto, send, stateGraph, type StateOf } from 'nerve/state'

const MOST_STEPS = 12
const FUEL = 16

export const channels = {
  log: channel.concat<string>(),
  sum: channel<number>({ default: () => 0, reducer: (a, b) => a + b }),
  visits: channel.merge<Record<string, number>>({ default: () => ({}) }),
  last: channel<string>({ default: () => '' }),
  things: channel.mergeById<{ readonly id: string; readonly by: string }>('id'),
}
export type State = StateOf<typeof channels>

type Act = { readonly along: true } | { readonly to: readonly number[]; readonly items: readonly number[] }

interface NodeSpec {
  readonly kind: 'function' | 'node' | 'definition' | 'wait'
  readonly items: boolean
  /** How many turns of the event loop it takes: what ends first differs. */
  readonly turns: number
  readonly fails: boolean
  readonly acts: readonly Act[]
}

export interface GraphSpec {
  readonly nodes: readonly NodeSpec[]
  readonly entry: readonly number[]
  readonly edges: readonly (readonly [number, number])[]
  readonly joins: readonly { readonly from: readonly number[]; readonly to: number }[]
  readonly routers: readonly { readonly from: number; readonly to: readonly number[] }[]
  readonly maxParallel: number
}

const COUNT = 5
const index = fc.nat(COUNT - 1)

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ along: true } as const) },
  {
    weight: 1,
    arbitrary: fc.record({ to: fc.array(index, { maxLength: 2 }), items: fc.array(index, { maxLength: 3 }) }),
  },
)

const node: fc.Arbitrary<NodeSpec> = fc.record({
  kind: fc.constantFrom('function', 'function', 'node', 'definition', 'wait'),
  items: fc.boolean(),
  turns: fc.nat(3),
  fails: fc.boolean(),
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
})

export const graphs: fc.Arbitrary<GraphSpec> = fc.record({
  // The first nodes take no items, so that edges have somewhere to lead.
  nodes: fc
    .array(node, { minLength: COUNT, maxLength: COUNT })
    .map((all) => all.map((one, at) => (at < 3 || one.kind === 'wait' ? { ...one, items: false } : one))),
  entry: fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 }),
  edges: fc.array(fc.tuple(index, fc.nat(2)), { maxLength: 5 }),
  joins: fc.array(fc.record({ from: fc.uniqueArray(index, { minLength: 2, maxLength: 3 }), to: fc.nat(2) }), {
    maxLength: 2,
  }),
  routers: fc.array(fc.record({ from: index, to: fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }) }), {
    maxLength: 2,
  }),
  maxParallel: fc.constantFrom(1, 2, Infinity),
})

interface Result {
  readonly update: Partial<Record<keyof State, unknown>>
  /** Where it goes; undefined: along its edges. */
  readonly to?: readonly string[]
  readonly items?: readonly { readonly node: string; readonly item: number }[]
}

const idOf = (at: number): string => `n${at}`

/** What a node does, given the state and perhaps an item. */
function resultOf(spec: GraphSpec, at: number, state: State, item: number): Result {
  const id = idOf(at)
  const { acts } = spec.nodes[at] as NodeSpec
  const visit = state.visits[id] ?? 0
  const update = {
    log: [`${id} ${visit} ${item}`],
    sum: 1,
    visits: { [id]: visit + 1 },
    last: `${id} ${item}`,
    things: [{ id: `t${(visit + item) % 3}`, by: `${id} ${item}` }],
  }
  if (state.sum >= FUEL) return { update, to: [END] }
  const one = acts[visit % acts.length] as Act
  if ('along' in one) return { update }
  const to = one.to.filter((target) => !(spec.nodes[target] as NodeSpec).items).map(idOf)
  const items = one.items
    .filter((target) => (spec.nodes[target] as NodeSpec).items)
    .map((target, place) => ({ node: idOf(target), item: place }))
  return to.length + items.length === 0 ? { update } : { update, to, items }
}

/** The target of a router, by what the state has come to. */
function chosen(to: readonly number[], state: State): string {
  const target = to[state.sum % to.length] as number
  return state.sum >= FUEL ? END : idOf(target)
}

const echo = workflow('echo', async (ctx, input: number) => {
  const first = await ctx.step('first', () => input)
  await ctx.step('second', () => turn())
  return first
})

interface Loose {
  node(id: string, run: unknown, options?: object): Loose
  each(id: string, run: unknown, options?: object): Loose
  wait(id: string, prompt: string, options: object): Loose
  edge(from: string | readonly string[], to: string): Loose
  edges(from: string, router: (state: State) => string, targets: readonly string[]): Loose
  compile(options: object): ReturnType<typeof typed>
}

function typed() {
  return stateGraph('random-state', channels)
    .node('any', () => ({}))
    .compile()
}

export function build(spec: GraphSpec): ReturnType<typeof typed> {
  const built = stateGraph('random-state', channels) as unknown as Loose
  for (const at of spec.nodes.keys()) addNode(built, spec, at)
  for (const at of spec.entry) built.edge(START, idOf(at))
  for (const [from, to] of spec.edges) built.edge(idOf(from), idOf(to))
  for (const { from, to } of spec.joins) built.edge(from.map(idOf), idOf(to))
  for (const { from, to } of spec.routers) built.edges(idOf(from), (state) => chosen(to, state), [...to.map(idOf), END])
  return built.compile({ maxSteps: MOST_STEPS, onLimit: 'stop', maxParallel: spec.maxParallel })
}

function addNode(built: Loose, spec: GraphSpec, at: number): void {
  const { kind, items, turns, fails } = spec.nodes[at] as NodeSpec
  const id = idOf(at)
  const give = (state: State, item: number): unknown => {
    const { update, to, items: sent = [] } = resultOf(spec, at, state, item)
    if (to === undefined) return update
    return goto([...to, ...sent.map((one) => send(one.node, one.item))], update)
  }
  const pass = async (call: { readonly attempt: number }): Promise<void> => {
    for (let left = turns; left > 0; left -= 1) await turn()
    if (fails && call.attempt === 1) throw new Error('the first attempt fails')
  }
  const policy = { attempts: 2, backoff: 1 }
  const update = (output: number, state: State): unknown => give(state, output)
  if (kind === 'wait') {
    built.wait(id, JSON.stringify(at), { into: (_answer: unknown, state: State) => give(state, 0) })
  } else if (kind === 'function') {
    const run = async (item: number, state: State, call: { readonly attempt: number }): Promise<unknown> => {
      await pass(call)
      return give(state, item)
    }
    if (items) built.each(id, run, { policy })
    else built.node(id, (state: State, call: { readonly attempt: number }) => run(0, state, call), { policy })
  } else {
    const leaf = defineNode(`leaf-${at}`, async (input: number, call) => {
      await pass(call)
      return input
    })
    const used = kind === 'node' ? leaf : echo
    if (items) built.each(id, used, { update, policy })
    else built.node(id, used, { input: () => 0, update, policy })
  }
}

/** The states after each step, from a plain reading of the rules. */
export function expectedStates(spec: GraphSpec): readonly State[] {
  let state: State = { log: [], sum: 0, visits: {}, last: '', things: [] }
  const states = [state]
  const joined = spec.joins.map(() => new Set<number>())
  let active = new Map<number, number[]>(spec.entry.map((at) => [at, [0]]))
  for (let step = 0; step < MOST_STEPS && active.size > 0; step += 1) {
    const before = state
    const next = new Map<number, number[]>()
    const along: number[] = []
    const order = [...active.keys()].toSorted((a, b) => a - b)
    for (const at of order) {
      let follows = false
      for (const item of active.get(at) ?? []) {
        const { update, to, items = [] } = resultOf(spec, at, before, item)
        state = applied(state, update)
        if (to === undefined) follows = true
        for (const target of to ?? []) if (target !== END) next.set(Number(target.slice(1)), [0])
        for (const sent of items) {
          const target = Number(sent.node.slice(1))
          next.set(target, [...(next.get(target) ?? []), sent.item])
        }
      }
      if (follows) along.push(at)
    }
    for (const at of along) leave(spec, at, { state, next, joined })
    states.push(state)
    active = next
  }
  return states
}

interface Leaving {
  readonly state: State
  readonly next: Map<number, number[]>
  readonly joined: readonly Set<number>[]
}

function leave(spec: GraphSpec, at: number, { state, next, joined }: Leaving): void {
  for (const [from, to] of spec.edges) if (from === at) next.set(to, [0])
  for (const [place, { from, to }] of spec.joins.entries()) {
    // Two joins of the same nodes to the same node are one.
    const first = spec.joins.findIndex((one) => one.to === to && one.from.join() === from.join())
    if (!from.includes(at) || first !== place) continue
    const seen = joined[place] as Set<number>
    seen.add(at)
    if (seen.size < from.length) continue
    seen.clear()
    next.set(to, [0])
  }
  for (const { from, to } of spec.routers) {
    const target = from === at ? chosen(to, state) : END
    if (target !== END) next.set(Number(target.slice(1)), [0])
  }
}

function applied(state: State, update: Result['update']): State {
  const { log, sum, visits, last, things } = update as {
    log: string[]
    sum: number
    visits: Record<string, number>
    last: string
    things: State['things']
  }
  const kept = [...state.things]
  for (const thing of things) {
    const at = kept.findIndex(({ id }) => id === thing.id)
    if (at === -1) kept.push(thing)
    else kept[at] = thing
  }
  return {
    log: [...state.log, ...log],
    sum: state.sum + sum,
    visits: { ...state.visits, ...visits },
    last,
    things: kept,
  }
}
