// The floor without persistence: a plain awaited loop. Shown as the reference of the workloads in memory.
import type { Series } from '../harness/contract.ts'
import { edgesBefore, expectEqual, sumBelow, textsOf } from '../harness/measure.ts'

interface State {
  count: number
  other?: number
}

const increment = async (state: State): Promise<State> => ({ ...state, count: state.count + 1 })
const observe = async (state: State): Promise<State> => ({ ...state, other: state.count })
const echo = async (given: string): Promise<string> => given
const nest = async (depth: number, value: number): Promise<number> =>
  depth === 0 ? value + 1 : await nest(depth - 1, value)
const identity = async (value: number): Promise<number> => value

const GRAPHS: Omit<Series, 'versions'> = {
  dag: ({ n }) => ({
    steps: n,
    run: async () => {
      const values: number[] = []
      for (let i = 0; i < n; i++) values.push(await identity((values[edgesBefore(i)[0] ?? -1] ?? 0) + 1))
      return values.length
    },
    verify: (count: number) => expectEqual(count, n, 'steps'),
  }),
  check: ({ n }) => {
    const edges = Array.from({ length: n }, (_, i) => ({ id: `s${i}`, after: edgesBefore(i).map((j) => `s${j}`) }))
    return {
      steps: n,
      run: async () => {
        const known = new Map<string, number>()
        let found = 0
        for (const { id, after } of edges) {
          known.set(id, known.size)
          for (const one of after) if (known.has(one)) found += 1
        }
        return found
      },
      verify: (found: number) => expectEqual(found, Math.max(0, n - 10) * 2, 'edges'),
    }
  },
  reduce: ({ n }) => ({
    steps: n,
    run: async () => {
      let sum = 0
      for (const value of await Promise.all(Array.from({ length: n }, (_, i) => identity(i)))) sum += value
      return sum
    },
    verify: (sum: number) => expectEqual(sum, sumBelow(n), 'sum'),
  }),
  bigState: ({ n, messageBytes }) => {
    const big = textsOf(messageBytes, 1000)
    const updates = textsOf(messageBytes, n)
    return {
      steps: n,
      run: async () => {
        const notes: string[] = []
        for (let i = 0; i < n; i++) notes.push(await echo(updates[i] ?? ''))
        return notes.length + big.length
      },
      verify: (length: number) => expectEqual(length, n + 1000, 'length'),
    }
  },
  nested: ({ n }) => ({
    steps: n,
    run: () => nest(n, 1),
    verify: (value: number) => expectEqual(value, 2, 'value'),
  }),
}

export async function load(): Promise<Series> {
  return {
    versions: { node: process.versions.node },
    chain: ({ n }) => ({
      steps: n,
      run: async () => {
        let state: State = { count: 0 }
        for (let i = 0; i < n; i++) state = await increment(state)
        return state
      },
      verify: (state: State) => expectEqual(state.count, n, 'count'),
    }),
    loop: ({ n }) => ({
      steps: 2 * n,
      run: async () => {
        let state: State = { count: 0 }
        while (state.count < n) state = await observe(await increment(state))
        return state
      },
      verify: (state: State) => expectEqual(state.other, n, 'other'),
    }),
    fanOut: ({ n }) => ({
      steps: n,
      run: async () => {
        const values = await Promise.all(Array.from({ length: n }, (_, i) => identity(i)))
        return values.reduce((sum, value) => sum + value, 0)
      },
      verify: (sum: number) => expectEqual(sum, sumBelow(n), 'sum'),
    }),
    ...GRAPHS,
    liveParts: ({ n, subscribers }) => ({
      steps: n,
      run: async () => {
        let delivered = 0
        const listeners = Array.from({ length: subscribers }, () => (part: { one: number }) => {
          delivered += part.one
        })
        for (let i = 0; i < n; i++) {
          const part = { one: 1, i }
          for (const listener of listeners) listener(part)
        }
        return delivered
      },
      verify: (delivered: number) => expectEqual(delivered, n * subscribers, 'delivered'),
    }),
  }
}
