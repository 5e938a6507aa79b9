// The floor without persistence: a plain awaited loop. Shown as the reference of the workloads in memory.
import type { Series } from '../harness/contract.ts'
import { expectEqual, sumBelow } from '../harness/measure.ts'

interface State {
  count: number
  other?: number
}

const increment = async (state: State): Promise<State> => ({ ...state, count: state.count + 1 })
const observe = async (state: State): Promise<State> => ({ ...state, other: state.count })
const identity = async (value: number): Promise<number> => value

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
