// Plain promise libraries: p-queue, p-map (fan-out only), p-graph. No state, no store, no events: shown, not a bar.
import type { Series, Setup } from '../harness/contract.ts'
import { expectEqual, sumBelow } from '../harness/measure.ts'
import { type Untyped, use, versionsOf } from './untyped.ts'

let library: Untyped

export async function load(variant: string | null): Promise<Series> {
  const name = variant ?? 'p-map'
  library = await use(name)
  const versions = versionsOf(name)
  if (name === 'p-queue') return { versions, chain: queueChain, fanOut: queueFanOut }
  if (name === 'p-graph') return { versions, chain: graphChain, fanOut: graphFanOut }
  return { versions, fanOut: mapFanOut }
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
const rightSum = (n: number) => (sum: number) => expectEqual(sum, sumBelow(n), 'sum')
const rightCount = (n: number) => (count: number) => expectEqual(count, n, 'count')

const queueChain = ({ n }: Setup) => ({
  steps: n,
  verify: rightCount(n),
  run: async () => {
    const queue = new library.default({ concurrency: 1 })
    let count = 0
    for (let i = 0; i < n; i++) {
      void queue.add(async () => {
        count += 1
      })
    }
    await queue.onIdle()
    return count
  },
})

const queueFanOut = ({ n }: Setup) => ({
  steps: n,
  verify: rightSum(n),
  run: async () => {
    const queue = new library.default({ concurrency: n })
    return total(await queue.addAll(Array.from({ length: n }, (_, i) => async () => i)))
  },
})

const mapFanOut = ({ n }: Setup) => ({
  steps: n,
  verify: rightSum(n),
  run: async () => {
    const items = Array.from({ length: n }, (_, i) => i)
    return total(await library.default(items, async (i: number) => i, { concurrency: n }))
  },
})

type Nodes = Map<string, { run: () => Promise<void> }>

function nodes(n: number, visit: (i: number) => void): Nodes {
  const made: Nodes = new Map()
  for (let i = 0; i < n; i++) made.set(`n${i}`, { run: async () => visit(i) })
  return made
}

const graphChain = ({ n }: Setup) => ({
  steps: n,
  verify: rightCount(n),
  run: async () => {
    let count = 0
    const edges = Array.from({ length: n - 1 }, (_, i) => [`n${i}`, `n${i + 1}`])
    await new library.PGraph(
      nodes(n, () => {
        count += 1
      }),
      edges,
    ).run()
    return count
  },
})

const graphFanOut = ({ n }: Setup) => ({
  steps: n,
  verify: rightSum(n),
  run: async () => {
    let sum = 0
    const all = nodes(n, (i) => {
      sum += i
    })
    all.set('join', { run: async () => {} })
    await new library.PGraph(
      all,
      Array.from({ length: n }, (_, i) => [`n${i}`, 'join']),
    ).run({ concurrency: n })
    return sum
  },
})
