// What is measured, for whom, at which sizes. Pure data. To add an engine: write its adapter, then name it here.
import type { Mode, Shape } from './contract.ts'
import { GATEWAYS } from './gateway-workloads.ts'
import { SERVERS } from './server-workloads.ts'
import { SHELLS } from './shell-workloads.ts'

export interface Workload {
  readonly id: string
  readonly title: string
  readonly mode: Mode
  readonly sizes: readonly number[]
  readonly quickSizes: readonly number[]
  readonly series: readonly string[]
  readonly reference: string
  /** What the time of a run is divided by: its steps, its deliveries (steps times subscribers), or nothing. */
  readonly per: 'step' | 'delivery' | 'run'
  readonly durable: boolean
  readonly subscribers?: number
  readonly shape?: (series: string) => Shape
  /** Largest size tried, for series known not to get further in reasonable time; printed under the table. */
  readonly largest?: Readonly<Record<string, number>>
}

export const MESSAGE_BYTES = 1024

const IN_MEMORY = [
  'langgraph',
  'langgraph:memory',
  'mastra',
  'mastra:memory',
  'voltagent',
  'voltagent:memory',
  'xstate',
  'llamaindex',
]
const DURABLE = [
  'langgraph:sqlite',
  'mastra:libsql',
  'voltagent:libsql',
  'xstate:sqlite',
  'openworkflow:sqlite',
  'openworkflow:sqlite-normal',
]
const PROMISES = ['promises:p-queue', 'promises:p-map', 'promises:p-graph']
const OURS_DURABLE = ['nerve:sqlite', 'nerve:power']
const RAW = ['raw:single', 'raw:grouped', 'raw:power', 'raw:power-grouped']

/** What --quick measures: the floors, ourselves, and one peer of each kind that starts fast enough. */
export const QUICK_SERIES = [
  'bare',
  'raw:single',
  'raw:grouped',
  'raw:read',
  'nerve:memory',
  'nerve:sqlite',
  'nerve:power',
  'langgraph',
  'langgraph:sqlite',
  'xstate',
  'xstate:sqlite',
  'promises:p-map',
  ...[...SHELLS, ...GATEWAYS, ...SERVERS].flatMap((workload) => workload.series),
]

/**
 * Series that keep nothing per item in these workloads, as the kill probe (W11) shows: after a kill they begin again from
 * before the loop or the fan-out. `probeSurprises` in bars.ts compares this list with the probe. Shown and labelled, but not counted as durable peers there.
 */
export const NOT_DURABLE_PER_ITEM: Readonly<Record<string, readonly string[]>> = {
  W4b: ['voltagent:libsql'],
  W4c: ['voltagent:libsql', 'mastra:libsql'],
  W4e: ['voltagent:libsql'],
}

/**
 * Engines without a store of their own: what is kept, and when, is code of their user. The adapter keeps as little as it can, one row
 * that is overwritten, with nothing for others to see. Where the time is that of the writing itself (W5), it is shown and no bar.
 */
export const DURABLE_BY_USER_CODE: readonly string[] = ['xstate:sqlite']

/** Plain promise libraries are shown, and are no bar: they have no state, no store, no events. */
export const isPromiseLibrary = (series: string): boolean => series.startsWith('promises:')

const seedShape = (series: string): Shape => (series === 'voltagent:libsql' ? 'chain' : 'loop')
const killable = DURABLE.filter((series) => series !== 'openworkflow:sqlite-normal')
const GROWS_QUADRATICALLY = { 'mastra:libsql': 1000, 'voltagent:libsql': 1000 }

const throughput: readonly Workload[] = [
  {
    id: 'W1',
    title: 'chain of n steps, in memory',
    mode: 'chain',
    sizes: [10, 100, 1000, 10_000],
    quickSizes: [10, 100],
    series: ['bare', 'nerve:memory', ...IN_MEMORY, 'promises:p-queue', 'promises:p-graph'],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W2',
    title: 'loop of n iterations over two steps, in memory',
    mode: 'loop',
    sizes: [100, 1000, 10_000],
    quickSizes: [100],
    series: ['bare', 'nerve:memory', ...IN_MEMORY],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W3',
    title: 'fan-out to n branches and back, in memory',
    mode: 'fanOut',
    sizes: [10, 1000, 10_000],
    quickSizes: [10, 1000],
    series: ['bare', 'nerve:memory', ...IN_MEMORY, ...PROMISES],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W4a',
    title: 'chain of n steps, durable',
    mode: 'chain',
    sizes: [10, 100, 1000, 10_000],
    quickSizes: [10, 100],
    series: ['raw:single', 'raw:power', ...OURS_DURABLE, ...DURABLE],
    reference: 'raw:single',
    per: 'step',
    durable: true,
    largest: GROWS_QUADRATICALLY,
  },
  {
    id: 'W4b',
    title: 'loop of n iterations over two steps, durable',
    mode: 'loop',
    sizes: [100, 1000, 10_000],
    quickSizes: [100],
    series: ['raw:single', 'raw:power', ...OURS_DURABLE, ...DURABLE],
    reference: 'raw:single',
    per: 'step',
    durable: true,
  },
  {
    id: 'W4c',
    title: 'fan-out to n branches and back, durable',
    mode: 'fanOut',
    sizes: [10, 1000, 10_000],
    quickSizes: [10, 1000],
    series: [...RAW, ...OURS_DURABLE, ...DURABLE],
    reference: 'raw:grouped',
    per: 'step',
    durable: true,
    largest: { 'raw:power': 1000 },
  },
  {
    id: 'W4e',
    title: 'state growing by 1 KB a step for n steps, durable',
    mode: 'grow',
    sizes: [1000],
    quickSizes: [100],
    series: ['raw:single', ...OURS_DURABLE, ...DURABLE],
    reference: 'raw:single',
    per: 'step',
    durable: true,
  },
]

const waiting: readonly Workload[] = [
  {
    id: 'W5',
    title: 'answer to result, after n finished steps, durable',
    mode: 'ask',
    sizes: [10, 900],
    quickSizes: [10],
    series: ['raw:single', ...OURS_DURABLE, ...DURABLE],
    reference: 'raw:single',
    per: 'run',
    durable: true,
  },
  {
    id: 'W6a',
    title: 'n live parts from inside a step to 1 subscriber',
    mode: 'liveParts',
    sizes: [1000, 10_000],
    quickSizes: [1000],
    series: ['bare', 'nerve:memory', 'langgraph', 'mastra', 'voltagent', 'xstate', 'llamaindex'],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W6b',
    title: 'n live parts from inside a step to 100 subscribers',
    mode: 'liveParts',
    sizes: [1000],
    quickSizes: [1000],
    series: ['bare', 'nerve:memory', 'mastra', 'xstate', 'llamaindex'],
    reference: 'bare',
    per: 'delivery',
    durable: false,
    subscribers: 100,
  },
  {
    id: 'W7',
    title: 'import and first run of a chain of ten',
    mode: 'cold',
    sizes: [10],
    quickSizes: [10],
    series: [
      'bare',
      'nerve:memory',
      'nerve:sqlite',
      ...IN_MEMORY.filter((name) => !name.endsWith(':memory')),
      ...DURABLE,
    ],
    reference: 'bare',
    per: 'run',
    durable: false,
  },
  {
    id: 'W9',
    title: 'resume after SIGKILL with n finished steps, in a new process',
    mode: 'resume',
    sizes: [1000, 10_000],
    quickSizes: [1000],
    series: ['raw:read', 'raw:single', 'nerve:sqlite', ...killable],
    reference: 'raw:read',
    per: 'run',
    durable: true,
    shape: seedShape,
    largest: { 'voltagent:libsql': 1000 },
  },
  {
    id: 'W10',
    title: 'n runs that wait for a person: memory added',
    mode: 'park',
    sizes: [100_000],
    quickSizes: [2000],
    series: ['nerve:sqlite'],
    reference: 'nerve:sqlite',
    per: 'run',
    durable: true,
  },
  {
    id: 'W11a',
    title: 'kill probe: finished iterations of a loop of n that run again after SIGKILL',
    mode: 'resume',
    sizes: [100],
    quickSizes: [],
    series: ['nerve:sqlite', ...killable],
    reference: 'nerve:sqlite',
    per: 'run',
    durable: true,
    shape: () => 'loop',
  },
  {
    id: 'W11b',
    title: 'kill probe: finished branches of a fan-out of n that run again after SIGKILL',
    mode: 'resume',
    sizes: [100],
    quickSizes: [],
    series: ['nerve:sqlite', ...killable],
    reference: 'nerve:sqlite',
    per: 'run',
    durable: true,
    shape: () => 'fanOut',
  },
]

const graphs: readonly Workload[] = [
  {
    id: 'W12',
    title: 'graph of n steps built, checked and run, in memory',
    mode: 'dag',
    sizes: [1000, 10_000, 100_000],
    quickSizes: [100],
    series: ['bare', 'nerve:memory', 'langgraph', 'langgraph:memory'],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W12d',
    title: 'graph of n steps built, checked and run, durable',
    mode: 'dag',
    sizes: [1000, 10_000, 100_000],
    quickSizes: [100],
    series: ['nerve:sqlite', 'langgraph:sqlite'],
    reference: 'nerve:sqlite',
    per: 'step',
    durable: true,
  },
  {
    id: 'W12c',
    title: 'checking a graph of n steps, against one pass over its edges',
    mode: 'check',
    sizes: [1000, 10_000, 100_000],
    quickSizes: [1000],
    series: ['bare', 'nerve:memory'],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W13',
    title: 'state graph: fan-out to n branches with a reducer, in memory',
    mode: 'reduce',
    sizes: [1000, 10_000],
    quickSizes: [100],
    series: ['bare', 'nerve:memory', 'langgraph', 'langgraph:memory'],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W13d',
    title: 'state graph: fan-out to n branches with a reducer, durable',
    mode: 'reduce',
    sizes: [1000, 10_000],
    quickSizes: [100],
    series: ['nerve:sqlite', 'langgraph:sqlite'],
    reference: 'nerve:sqlite',
    per: 'step',
    durable: true,
  },
  {
    id: 'W14',
    title: 'state graph: n updates of 1 KB to a state of 1 MB, in memory',
    mode: 'bigState',
    // The megabyte that goes in and the one that comes out are once per run; below some hundred updates they are all there is.
    sizes: [300, 1000],
    quickSizes: [10],
    series: ['bare', 'nerve:memory', 'langgraph', 'langgraph:memory'],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W14d',
    title: 'state graph: n updates of 1 KB to a state of 1 MB, durable',
    mode: 'bigState',
    // The megabyte that goes in and the one that comes out are once per run; below some hundred updates they are all there is.
    sizes: [300, 1000],
    quickSizes: [10],
    series: ['nerve:sqlite', 'langgraph:sqlite', 'mastra:libsql'],
    reference: 'nerve:sqlite',
    per: 'step',
    durable: true,
  },
  {
    id: 'W15',
    title: 'one step in n nested graphs, in memory',
    mode: 'nested',
    sizes: [100],
    quickSizes: [10],
    series: ['bare', 'nerve:memory', 'langgraph', 'langgraph:memory', 'mastra'],
    reference: 'bare',
    per: 'step',
    durable: false,
  },
  {
    id: 'W15d',
    title: 'one step in n nested graphs, durable',
    mode: 'nested',
    sizes: [100],
    quickSizes: [10],
    series: ['nerve:sqlite', 'langgraph:sqlite', 'mastra:libsql'],
    reference: 'nerve:sqlite',
    per: 'step',
    durable: true,
  },
]

export const MATRIX: readonly Workload[] = [...throughput, ...waiting, ...graphs, ...SHELLS, ...GATEWAYS, ...SERVERS]

/** Whose seeding process leaves the rows behind that a series resumes or reads. */
export const seededBy = (series: string): string => (series === 'raw:read' ? 'nerve:sqlite' : series)
