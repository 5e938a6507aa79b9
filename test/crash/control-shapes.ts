/** Shapes of control nodes, nested graphs and steps that are added on the way, for the crash matrix. */
import { setTimeout as delay } from 'node:timers/promises'
import { defineNode, workflow, type Node } from 'nerve'
import {
  Branch,
  Fork,
  Gate,
  Loop,
  Map as MapNode,
  Parallel,
  Race,
  Reduce,
  Subgraph,
  Switch,
  While,
} from 'nerve/control'
import { graph, withSteps } from 'nerve/graph'
import { witnessEffect } from '../../src/testing/crash-harness.ts'
import { answering, chain, work, type Shape } from './shape.ts'

/** A node that says what it does. */
function job<Input, Output>(id: string, make: (input: Input) => Output, ms = 1): Node<Input, Output> {
  return defineNode(id, async (input: Input, call) => {
    witnessEffect(call)
    await delay(ms, undefined, { signal: call.signal })
    return make(input)
  })
}

/** The same as a definition; it says too what it was told. */
const grow = workflow('grow', (ctx, n: number) => work(ctx, 'grow', n * 2))
const next = job('next', (n: number) => n + 1)
const odd = job('odd', (n: number): number => {
  if (n % 2 === 1) throw new Error(`${n} is odd`)
  return n * 10
})
const endless = job('endless', (n: number) => n, 60_000)
const busy = workflow('busy', async (ctx, n: number) => (await chain(ctx, 'busy', 60)) + (await ctx.run(endless, n)))
const waits = workflow('waits', async (ctx, _: number) => {
  await ctx.gate('Never answered?')
  return 0
})

/** Two steps beside each other and one after them. */
const pair = graph<number>('pair')
  .step('a', grow, { inputFn: (_, { input }) => input })
  .step('b', next, { inputFn: (_, { input }) => input })
  .step(
    'sum',
    job('sum', ({ a, b }: { a: number; b: number }) => a + b),
    { after: ['a', 'b'], inputFn: (both) => both },
  )
  .returns(({ sum }) => sum)

const whiles = graph<number>('whiles')
  .step('loop', While({ condition: ({ value }) => value < 30, body: pair }), { inputFn: (_, { input }) => input })
  .step('cut', While({ id: 'cut', condition: () => true, body: next, maxIterations: 3 }), {
    after: ['loop'],
    inputFn: ({ loop }) => loop.value,
  })

const loops = Loop({
  id: 'loops',
  times: 9,
  accumulate: true,
  body: Subgraph({ id: 'inner', body: Loop({ body: grow, times: 2 }), output: ({ value }) => value + 1 }),
  until: ({ value }) => value > 50,
})

const choices = workflow('choices', async (ctx) => {
  const told: unknown[] = []
  for (const n of [1, 2, 3, 4])
    told.push(
      await ctx.run(Branch({ condition: (one) => one % 2 === 0, then: grow, else: next }), n),
      await ctx.run(Switch({ key: (one) => `n${one}`, cases: { n1: next, n2: pair }, default: grow }), n),
    )
  return told
})

const maps = graph<readonly number[]>('maps')
  .step('all', MapNode({ body: pair, concurrency: 2, key: (n) => `n${n}` }), { inputFn: (_, { input }) => input })
  .step('each', MapNode({ body: odd, concurrency: 3, onError: 'collect' }), { inputFn: (_, { input }) => input })
  .step('some', MapNode({ body: odd, onError: 'skip' }), { after: ['each'], inputFn: (_, { input }) => input })

const reduces = Reduce({
  id: 'reduces',
  body: Subgraph({
    id: 'one',
    body: grow,
    input: ({ accumulator, item }: { accumulator: number; item: number }) => accumulator + item,
  }),
  initial: 1,
})

/** Every mode, then a gate, before which the run must be at rest. */
const parallels = workflow('parallels', async (ctx) => [
  await ctx.run(Parallel({ id: 'all', branches: { grow, pair }, merge: (found) => found.grow + found.pair }), 3),
  await ctx.run(Parallel({ id: 'settle', branches: [odd, next], mode: 'settle' }), 3),
  await ctx.run(Parallel({ id: 'any', branches: { odd, pair, endless, waits }, mode: 'any' }), 3),
  await ctx.run(Parallel({ id: 'first', branches: { next, busy, waits }, mode: 'first' }), 3),
  await ctx.run(Gate({ prompt: 'Go on?' })),
])

const races = workflow('races', async (ctx) => [
  await ctx.run(Race({ branches: { short: job('short', (n: number) => n, 12), busy, waits } }), 7),
  await ctx.run(Gate({ prompt: 'Go on?' })),
  await ctx.run(next, 7),
])

const ask = Gate({ id: 'ask', prompt: (n: number) => `Is ${n} enough?`, choices: ['approve', 'more'] })
const late = Gate({
  id: 'late',
  prompt: 'Never answered?',
  choices: ['now', 'later'],
  deadline: 10,
  onDeadline: { default: 'later' },
})
const gates = graph<number>('gates')
  .step('rounds', Loop({ body: Subgraph({ body: ask, output: (_, { input }) => input + 1 }), times: 3 }), {
    inputFn: (_, { input }) => input,
  })
  .step('late', late, { after: ['rounds'] })
  .step('last', next, { after: ['late'], inputFn: () => 1 })

/** What it keeps is in its id alone: a copy is the same after a crash. */
function keeper(id: string): Node<number, string> {
  return defineNode(
    id,
    async (n: number, call) => {
      witnessEffect(call)
      await delay(1)
      return `${id.replace(/-.*/u, '-copy')} ${n}`
    },
    { persistent: true, fork: keeper },
  )
}
const kept = keeper('keeper')
const forks = graph('forks')
  .step('before', kept, { input: 1 })
  .step('copy', Fork({ from: kept, to: 'keeper-{run_id}-{timestamp}' }), { after: ['before'] })
  .step('own', kept, { after: ['copy'], input: 2 })
  .ref('other', 'keeper-{run_id}-{timestamp}', { after: ['copy'], input: 3 })
  .returns(({ before, own, other }) => [before, own, other])

const subgraphs = Subgraph({
  id: 'subgraphs',
  input: (order: { amount: number }) => order.amount,
  body: workflow('spender', async (ctx, n: number) => n + (await chain(ctx, 'spend', 3)) + (await ctx.run(pair, n))),
  output: (amount, { input }) => ({ was: input.amount, amount }),
  budget: { steps: 50 },
})

const outer = graph<number>('outer', { errorPolicy: 'skip', maxParallel: 2 })
  .step('deep', graph<number>('middle').step('inside', pair, { inputFn: (_, { input }) => input }), {
    inputFn: (_, { input }) => input,
  })
  .step('beside', grow, { inputFn: (_, { input }) => input })
  .step('bad', odd, { input: 1 })
  .step('never', next, { after: ['bad'], input: 1 })
  .step('wanted', next, { after: ['deep'], when: ({ deep }) => deep.inside > 0, inputFn: ({ deep }) => deep.inside })
  .step('unwanted', next, { after: ['deep'], when: ({ deep }) => deep.inside < 0, input: 1 })
const graphs = workflow('graphs', (ctx) => ctx.map([1, 2], (n) => ctx.run(outer, n), { concurrency: 1 }))

/** One step plans others as data; another adds them through ctx. */
const plan = job('plan', (count: number) =>
  withSteps(
    count,
    Array.from({ length: count }, (_, n) => ({ id: `planned-${n}`, node: 'next', input: n })),
  ),
)
const controller = workflow('controller', async (ctx, n: number) => {
  const seen = await work(ctx, 'look', n)
  ctx.graph?.add('first', grow, { input: seen })
  ctx.graph?.add('second', 'next', { after: ['first'], inputFn: ({ first }) => first })
  const again = await work(ctx, 'look-again', seen + 1)
  ctx.graph?.add('third', pair, { after: ['second'], inputFn: () => again })
  return again
})
const grows = graph<number>('grows')
  .step('plan', plan, { inputFn: (_, { input }) => input })
  .step('controller', controller, { inputFn: (_, { input }) => input })
  // Which of them were added first depends on who was faster.
  .returns((results) => Object.entries(results).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const APPROVE = answering({ gate: 'approve' }, true)

export const CONTROL_SHAPES: Readonly<Record<string, Shape>> = {
  while: {
    definitions: [whiles],
    input: 1,
    expected: {
      loop: { value: 40, iterations: 3, ended: 'condition' },
      cut: { value: 43, iterations: 3, ended: 'limit' },
    },
  },
  'loop-node': { definitions: [loops], input: 1, expected: { value: [5, 21, 85], iterations: 3, ended: 'condition' } },
  choices: { definitions: [choices], expected: [2, 2, 4, 7, 4, 6, 8, 8] },
  'map-node': {
    definitions: [maps],
    input: [1, 2, 4],
    expected: {
      all: [4, 7, 13],
      each: [
        { status: 'failed', error: { name: 'Error', message: '1 is odd' } },
        { status: 'done', value: 20 },
        { status: 'done', value: 40 },
      ],
      some: [null, 20, 40],
    },
  },
  reduce: { definitions: [reduces], input: [1, 2, 3], expected: 30 },
  'parallel-node': {
    definitions: [parallels],
    expected: [
      16,
      [
        { status: 'failed', error: { name: 'Error', message: '3 is odd' } },
        { status: 'done', value: 4 },
      ],
      10,
      4,
      'approve',
    ],
    act: APPROVE,
  },
  'race-node': { definitions: [races], expected: [{ winner: 'short', value: 7 }, 'approve', 8], act: APPROVE },
  gate: {
    definitions: [gates],
    input: 1,
    expected: { rounds: { value: 4, iterations: 3, ended: 'times' }, late: 'later', last: 2 },
    act: answering({ gate: 'approve' }),
    maxResident: 0,
  },
  'fork-node': { definitions: [forks], expected: ['keeper 1', 'keeper 2', 'keeper-copy 3'] },
  subgraph: { definitions: [subgraphs], input: { amount: 1 }, expected: { was: 1, amount: 11 } },
  'nested-graph': {
    definitions: [graphs],
    expected: [
      { deep: { inside: 4 }, beside: 2, wanted: 5 },
      { deep: { inside: 7 }, beside: 4, wanted: 8 },
    ],
  },
  'dynamic-steps': {
    definitions: [grows, next],
    input: 2,
    expected: Object.entries({
      controller: 3,
      first: 4,
      plan: 2,
      'planned-0': 1,
      'planned-1': 2,
      second: 5,
      third: 10,
    }),
  },
}
