// The bars that Nerve promises to meet, judged on a summary. Pure. A bar whose cells are missing is "not measured", never "met".
import { isPeer } from './adapters.ts'
import { DURABLE_BY_USER_CODE, isPromiseLibrary, MATRIX, NOT_DURABLE_PER_ITEM, type Workload } from './matrix.ts'
import { find, growth, ratio, type Figure, type Summary } from './summary.ts'
import { number, signed } from './table.ts'

export type Verdict = 'met' | 'NOT MET' | 'not measured' | 'shown'

export interface Bar {
  readonly name: string
  readonly measured: string
  readonly wanted: string
  readonly verdict: Verdict
  readonly detail: string
}

interface Compared {
  readonly value: number
  readonly where: string
}

const inMemory = (workload: Workload): boolean => ['W1', 'W2', 'W3'].includes(workload.id)
const perStepDurable = (workload: Workload): boolean => ['W4a', 'W4b', 'W4c', 'W4e'].includes(workload.id)
/** Graphs, state graphs, nesting: they have bars of their own. */
const inGraphs = (workload: Workload): boolean => /^W1[2-5]d?$/.test(workload.id)
const at = (figure: Figure, metric: string): string =>
  `${figure.workload} n=${figure.size.toLocaleString('en-US')}, ${metric}`

/** A run of ten steps is mostly the start and the end of a run: a figure per step needs more of them. */
const MANY = 100

/** How many times faster `ours` is than `theirs`, wherever both have a figure; per step, only for many steps. */
function faster(summary: Summary, ours: string, theirs: string, among: (workload: Workload) => boolean): Compared[] {
  return compared(
    summary,
    { ours, theirs },
    (workload, size) => among(workload) && (workload.per !== 'step' || size >= MANY),
  )
}

function compared(
  summary: Summary,
  { ours, theirs }: { readonly ours: string; readonly theirs: string },
  among: (workload: Workload, size: number) => boolean,
): Compared[] {
  const known = new Map(MATRIX.map((workload) => [workload.id, workload]))
  return summary.figures
    .filter((figure) => {
      const workload = known.get(figure.workload)
      return figure.series === theirs && workload !== undefined && among(workload, figure.size)
    })
    .flatMap((peer) => {
      const own = find(summary, peer.workload, ours, peer.size)
      if (own === undefined) return []
      const { value, metric } = ratio(peer, own)
      return [{ value, where: at(peer, metric) }]
    })
}

const lowest = (found: readonly Compared[]): Compared | undefined => found.toSorted((a, b) => a.value - b.value)[0]
const highest = (found: readonly Compared[]): Compared | undefined => found.toSorted((a, b) => b.value - a.value)[0]

const unmeasured = (name: string, wanted: string): Bar => ({
  name,
  measured: '–',
  wanted,
  verdict: 'not measured',
  detail: '',
})

function atLeast(name: string, wanted: number, found: readonly Compared[], shown = false): Bar {
  const text = `at least ${wanted}×`
  const worst = lowest(found)
  if (worst === undefined) return unmeasured(name, text)
  const verdict = shown ? 'shown' : worst.value >= wanted ? 'met' : 'NOT MET'
  const best = found.length > 1 ? `; best ${number(highest(found)?.value)}×` : ''
  return {
    name,
    measured: `${number(worst.value)}×`,
    wanted: text,
    verdict,
    detail: `worst of ${found.length} at ${worst.where}${best}`,
  }
}

function atMost(name: string, limit: number, unit: string, found: readonly Compared[], shown = false): Bar {
  const text = `at most ${limit}${unit}`
  const worst = highest(found)
  if (worst === undefined) return unmeasured(name, text)
  const verdict = shown ? 'shown' : worst.value <= limit ? 'met' : 'NOT MET'
  return { name, measured: `${number(worst.value)}${unit}`, wanted: text, verdict, detail: worst.where }
}

/** A cell of ours that failed is a bar not met, whatever else was measured. */
function failedCells(summary: Summary): Bar[] {
  const failed = summary.failures.filter((failure) => failure.series.startsWith('nerve:'))
  return failed.map(({ workload, series, size, error }) => ({
    name: `${series} works in ${workload} n=${size.toLocaleString('en-US')}`,
    measured: 'failed',
    wanted: 'a right result',
    verdict: 'NOT MET',
    detail: error.slice(0, 200),
  }))
}

const peersOf = (among: (workload: Workload) => boolean): string[] => [
  ...new Set(
    MATRIX.filter(among)
      .flatMap((workload) => workload.series)
      .filter((name) => isPeer(name) && !isPromiseLibrary(name)),
  ),
]

function memoryBars(summary: Summary): Bar[] {
  const shared = ({ durable, mode }: Workload): boolean => !durable && !['check', 'asked', 'subscribed'].includes(mode)
  const langgraph = (among: (workload: Workload) => boolean): Compared[] =>
    ['langgraph', 'langgraph:memory'].flatMap((name) => faster(summary, 'nerve:memory', name, among))
  const engines = peersOf(shared).filter((name) => !isDurablePeer(name))
  return [
    ...MATRIX.filter(inMemory).map((workload) =>
      atLeast(
        `${workload.title}, against LangGraph.js`,
        100,
        langgraph((one) => one === workload),
      ),
    ),
    ...engines.map((name) =>
      atLeast(`in memory, every shared workload, against ${name}`, 1, faster(summary, 'nerve:memory', name, shared)),
    ),
  ]
}

const isAsk = (workload: Workload): boolean => workload.mode === 'ask'
const isDurablePeer = (series: string): boolean => /:(sqlite|libsql|sqlite-normal)$/.test(series)

function durableBars(summary: Summary): Bar[] {
  const peers = peersOf((workload) => workload.durable)
  const ours = (peer: string, among: (workload: Workload) => boolean): Compared[] =>
    faster(summary, 'nerve:sqlite', peer, among)
  const counts = (name: string) => (workload: Workload) =>
    perStepDurable(workload) && !NOT_DURABLE_PER_ITEM[workload.id]?.includes(name)
  const labelled = peers.flatMap((name) => {
    const among = (workload: Workload): boolean => NOT_DURABLE_PER_ITEM[workload.id]?.includes(name) ?? false
    const found = ours(name, among)
    return found.length === 0
      ? []
      : [atLeast(`durable, against ${name} where it is not durable per item`, 1, found, true)]
  })
  return [
    ...MATRIX.filter(perStepDurable).map((workload) =>
      atLeast(
        `${workload.title}, against LangGraph.js`,
        40,
        ours('langgraph:sqlite', (one) => one === workload),
      ),
    ),
    ...peers.map((name) => atLeast(`durable, per step, against ${name}`, 1, ours(name, counts(name)))),
    ...peers.map((name) =>
      atLeast(`answer to result, against ${name}`, 1, ours(name, isAsk), DURABLE_BY_USER_CODE.includes(name)),
    ),
    ...labelled,
  ]
}

/** Cost of ours as a multiple of a floor's, wherever both have a figure. */
const times = (summary: Summary, ours: string, floor: string, workload: string): Compared[] =>
  faster(summary, floor, ours, ({ id }) => id === workload)

function floorBars(summary: Summary): Bar[] {
  return [
    atMost('chain against single raw appends', 3, '×', times(summary, 'nerve:sqlite', 'raw:single', 'W4a')),
    atMost('fan-out against grouped raw appends', 3, '×', times(summary, 'nerve:sqlite', 'raw:grouped', 'W4c')),
    atMost(
      'power: chain against single raw appends with fsync',
      3,
      '×',
      times(summary, 'nerve:power', 'raw:power', 'W4a'),
      true,
    ),
    atMost('resume against reading the same rows', 3, '×', resumeAgainstRead(summary)),
  ]
}

/** LangGraph.js with its own store in memory, as ours has one; without a store too, but where all that is measured is storing. */
const inMemoryGraphs = (summary: Summary, workload: Workload): Compared[] =>
  (workload.mode === 'bigState' ? ['langgraph:memory'] : ['langgraph', 'langgraph:memory']).flatMap((name) =>
    faster(summary, 'nerve:memory', name, (one) => one === workload),
  )

function graphBars(summary: Summary): Bar[] {
  return [
    ...MATRIX.filter(inGraphs).map((workload) =>
      atLeast(
        `${workload.title}, against LangGraph.js`,
        workload.durable ? 40 : 50,
        workload.durable
          ? faster(summary, 'nerve:sqlite', 'langgraph:sqlite', (one) => one === workload)
          : inMemoryGraphs(summary, workload),
      ),
    ),
    atMost('checking a graph against one pass over its edges', 20, '×', times(summary, 'nerve:memory', 'bare', 'W12c')),
    ...['mastra', 'mastra:libsql'].map((name) =>
      atLeast(
        `graphs, against ${name}`,
        1,
        faster(summary, name === 'mastra' ? 'nerve:memory' : 'nerve:sqlite', name, inGraphs),
      ),
    ),
  ]
}

const resumeAgainstRead = (summary: Summary): Compared[] => {
  const found = times(summary, 'nerve:sqlite', 'raw:read', 'W9')
  const large = found.filter(({ where }) => where.includes('10,000'))
  return large.length > 0 ? large : found
}

function growthBars(summary: Summary): Bar[] {
  return ['nerve:memory', 'nerve:sqlite'].flatMap((series) =>
    MATRIX.filter(
      (workload) =>
        workload.series.includes(series) &&
        workload.per === 'step' &&
        workload.mode !== 'check' &&
        workload.sizes.length > 2,
    ).map(({ id, title }) => {
      const grown = growth(summary, id, series)
      const found =
        grown === null
          ? []
          : [{ value: grown.exponent, where: `${grown.metric}; last two sizes ${number(grown.lastTwo)}` }]
      return atMost(`growth exponent of ${series}, ${title}`, inGraphs({ id } as Workload) ? 1.1 : 1.05, '', found)
    }),
  )
}

function storageBars(summary: Summary): Bar[] {
  const grown = summary.figures.filter((figure) => figure.workload === 'W4e' && figure.series === 'nerve:sqlite')
  const stored = grown.map((figure) => ({ value: figure.storedPerByte ?? Infinity, where: `W4e n=${figure.size}` }))
  const parked = summary.figures.flatMap(({ memory }) =>
    memory === null
      ? []
      : [
          {
            value: memory.rssMb,
            where: `${memory.runs.toLocaleString('en-US')} runs; heap ${signed(memory.heapMb)} MB`,
          },
        ],
  )
  return [
    atMost('bytes stored per new byte at 1 KB a step', 3, '', stored),
    atMost('memory added by 100,000 parked runs', 50, ' MB', parked),
  ]
}

/** Throughput is how fast we are as a part of the floor; latency how many times its time. */
function shellBars(summary: Summary): Bar[] {
  const part = (ours: string): Compared[] => faster(summary, ours, 'raw:pty', ({ id }) => id === 'W16')
  const halts = summary.figures
    .filter(({ workload, series }) => workload === 'W18' && series.startsWith('nerve:'))
    .map((figure) => ({ value: figure.wall.ms, where: `${figure.series}, ${at(figure, 'wall')}` }))
  return [
    atLeast('printing in a terminal with a screen, against a raw PTY', 0.5, part('nerve:screen')),
    atLeast('printing in a terminal without a screen, against a raw PTY', 0.9, part('nerve:no-screen')),
    ...['nerve:screen', 'nerve:no-screen'].map((ours) =>
      atMost(`echo in a terminal (${ours}), against a raw PTY`, 3, '×', times(summary, ours, 'raw:pty', 'W17')),
    ),
    atMost('Ctrl-C while a terminal is flooded', 200, ' ms', halts),
    atMost(
      'echo as a command, against a raw child process',
      2,
      '×',
      times(summary, 'nerve:bash', 'raw:spawn', 'W19'),
      true,
    ),
  ]
}

/** A stream that passes is judged. A call that is answered at once is two calls on loopback instead of one; it is shown. */
function gatewayBars(summary: Summary): Bar[] {
  const against = (ours: string, workload: string): Compared[] => times(summary, ours, 'raw:provider', workload)
  return [
    atMost('a stream through the gateway, against the provider', 1.5, '×', against('nerve:gateway', 'W21')),
    atMost('a stream that is translated, against the provider', 1.5, '×', against('nerve:translating', 'W21'), true),
    atMost('a call through the gateway, against the provider', 3, '×', against('nerve:gateway', 'W20'), true),
  ]
}

/** A query also asks who it is, whether they may, and the database; an event is stored before anybody hears of it. */
function serverBars(summary: Summary): Bar[] {
  return [
    atMost('a query over HTTP, against bare node:http', 4, '×', times(summary, 'nerve:http', 'raw:http', 'W22'), true),
    atMost('a query over HTTP, against a route of Hono', 4, '×', times(summary, 'nerve:http', 'hono', 'W22'), true),
    atMost('events to 1,000 who listen, against a bare loop', 3, '×', times(summary, 'nerve:http', 'raw:http', 'W23')),
  ]
}

/** Short runs: how they compare is told, and not judged per step. */
function shortRuns(summary: Summary): Bar[] {
  const few = (durable: boolean) => (workload: Workload, size: number) =>
    workload.per === 'step' && workload.durable === durable && size < MANY
  const shown = (ours: string, theirs: string, durable: boolean): Bar =>
    atLeast(`runs of ten steps, ${ours} against ${theirs}`, 1, compared(summary, { ours, theirs }, few(durable)), true)
  return [
    shown('nerve:memory', 'langgraph', false),
    shown('nerve:memory', 'xstate', false),
    shown('nerve:sqlite', 'langgraph:sqlite', true),
    shown('nerve:sqlite', 'xstate:sqlite', true),
  ]
}

export function judge(summary: Summary): Bar[] {
  return [
    ...failedCells(summary),
    ...memoryBars(summary),
    ...durableBars(summary),
    ...floorBars(summary),
    ...graphBars(summary),
    ...growthBars(summary),
    ...storageBars(summary),
    ...shellBars(summary),
    ...gatewayBars(summary),
    ...serverBars(summary),
    ...shortRuns(summary),
  ]
}

/** What the kill probe found and NOT_DURABLE_PER_ITEM does not say, or the other way round. */
export function probeSurprises(summary: Summary): string[] {
  const probes = [
    { probe: 'W11a', workload: 'W4b' },
    { probe: 'W11b', workload: 'W4c' },
  ]
  return probes.flatMap(({ probe, workload }) =>
    summary.figures
      .filter((figure) => figure.workload === probe && figure.repeated !== null)
      .flatMap(({ series, repeated }) => {
        const durable = (repeated ?? 0) <= 1
        const said = !NOT_DURABLE_PER_ITEM[workload]?.includes(series)
        return durable === said
          ? []
          : [`${series} repeated ${repeated} finished steps in ${probe}: its label in ${workload} is wrong.`]
      }),
  )
}
