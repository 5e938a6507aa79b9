// The model gateway against the provider that it passes calls to. Pure data, a part of the matrix.
import type { Workload } from './matrix.ts'

const SERIES = ['raw:provider', 'nerve:gateway', 'nerve:translating']

export const GATEWAYS: readonly Workload[] = [
  {
    id: 'W20',
    title: 'a call of a model',
    mode: 'called',
    sizes: [1],
    quickSizes: [1],
    series: SERIES,
    reference: 'raw:provider',
    per: 'run',
    durable: false,
  },
  {
    id: 'W21',
    title: 'a reply of n tokens, streamed',
    mode: 'streamed',
    sizes: [1_000],
    quickSizes: [200],
    series: SERIES,
    reference: 'raw:provider',
    per: 'run',
    durable: false,
  },
]
