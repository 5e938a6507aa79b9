// Graphs and state graphs on Nerve. Apart from nerve.ts, so that the cold start there loads nothing of it.
import type { Definition, Host } from 'nerve'
import type { Setup } from '../harness/contract.ts'
import { edgesBefore, expectEqual, sumBelow, textsOf } from '../harness/measure.ts'
import { defineNode, door } from './nerve-entry.ts'

const { graph } = (await import(door('graph'))) as typeof import('nerve/graph')
const { END, START, channel, send, stateGraph } = (await import(door('state'))) as typeof import('nerve/state')

type Open = (setup: Setup) => Promise<Host>
interface AnyGraph extends Definition {
  step(id: string, node: unknown, options?: unknown): AnyGraph
  validate(): readonly string[]
}

const add = (value: number): number => value + 1

function buildDag(n: number): AnyGraph {
  const node = defineNode('add', add)
  const made = graph('dag') as unknown as AnyGraph
  for (let i = 0; i < n; i++) {
    const after = edgesBefore(i).map((j) => `s${j}`)
    const [first = ''] = after
    made.step(`s${i}`, node, {
      after,
      inputFn: (upstream: Record<string, number>) => upstream[first] ?? 0,
    })
  }
  return made
}

export async function dag(setup: Setup, open: Open) {
  const host = await open(setup)
  return {
    steps: setup.n,
    run: async () => {
      const made = buildDag(setup.n)
      expectEqual(made.validate().length, 0, 'problems')
      return (await host.start(made)).result() as Promise<Record<string, number>>
    },
    verify: (results: Record<string, number>) => expectEqual(Object.keys(results).length, setup.n, 'steps'),
    close: () => host.close(),
  }
}

export function check(setup: Setup) {
  const made = buildDag(setup.n)
  return {
    steps: setup.n,
    run: async () => made.validate().length,
    verify: (problems: number) => expectEqual(problems, 0, 'problems'),
  }
}

export async function nested(setup: Setup, open: Open) {
  const host = await open(setup)
  const node = defineNode('add', add)
  let made = (graph('g0') as unknown as AnyGraph).step('s', node, { input: 1 })
  for (let i = 1; i < setup.n; i++) made = (graph(`g${i}`) as unknown as AnyGraph).step('s', made)
  return {
    steps: setup.n,
    run: async () => (await host.start(made)).result(),
    verify: (results: unknown) => {
      let inner: unknown = results
      for (let i = 0; i < setup.n; i++) inner = (inner as { s: unknown }).s
      expectEqual(inner, 2, 'value')
    },
    close: () => host.close(),
  }
}

export async function reduce(setup: Setup, open: Open) {
  const host = await open(setup)
  const sum = channel({ default: () => 0, reducer: (a: number, b: number) => a + b })
  const fan = stateGraph('reduce', { sum })
    .node('split', () => ({}))
    .each('worker', (i: number) => ({ sum: i }))
    .node('join', () => ({}))
    .edge(START, 'split')
    .edges('split', () => Array.from({ length: setup.n }, (_, i) => send('worker', i)), ['worker'])
    .edge('worker', 'join')
    .edge('join', END)
    .compile()
  return {
    steps: setup.n,
    run: () => fan.invoke(host, {}),
    verify: (state: { readonly sum: number }) => expectEqual(state.sum, sumBelow(setup.n), 'sum'),
    close: () => host.close(),
  }
}

export async function bigState(setup: Setup, open: Open) {
  const host = await open(setup)
  const big = textsOf(setup.messageBytes, 1000)
  const updates = textsOf(setup.messageBytes, setup.n)
  const most = setup.n + big.length
  const growing = stateGraph('big-state', { notes: channel.concat<string>() })
    .node('turn', ({ notes }) => ({ notes: [updates[notes.length - big.length] ?? ''] }))
    .edge(START, 'turn')
    .edges('turn', ({ notes }) => (notes.length < most ? 'turn' : END), ['turn', END])
    .compile({ maxSteps: setup.n + 10 })
  return {
    steps: setup.n,
    run: () => growing.invoke(host, { notes: big }),
    verify: (state: { readonly notes: readonly string[] }) => expectEqual(state.notes.length, most, 'notes'),
    close: () => host.close(),
  }
}
