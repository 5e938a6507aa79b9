// The server against what it is made of: a request that only asks, and events for many who listen. Pure data, a part of the matrix.
import type { Workload } from './matrix.ts'

export const SERVERS: readonly Workload[] = [
  {
    id: 'W22',
    title: 'a query over HTTP',
    mode: 'asked',
    sizes: [1],
    quickSizes: [1],
    series: ['raw:http', 'hono', 'nerve:http'],
    reference: 'raw:http',
    per: 'run',
    durable: false,
  },
  {
    id: 'W23',
    title: 'the events of a run of n steps, to 1,000 who listen over HTTP',
    mode: 'subscribed',
    sizes: [100],
    quickSizes: [10],
    series: ['raw:http', 'nerve:http'],
    reference: 'raw:http',
    per: 'delivery',
    durable: false,
    subscribers: 1_000,
  },
]
