// Tables for people: Markdown that is also aligned in a terminal. Pure.
import { MATRIX, NOT_DURABLE_PER_ITEM, type Workload } from './matrix.ts'
import { find, growth, ratio, type Figure, type Summary } from './summary.ts'

export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(digits)))
}

export const signed = (value: number): string => `${value < 0 ? '' : '+'}${number(value)}`

const bytes = (value: number | null): string =>
  value === null
    ? '–'
    : value < 1024
      ? `${number(value)} B`
      : value < 1048576
        ? `${number(value / 1024)} KB`
        : `${number(value / 1048576)} MB`

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)))
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, i) => (row[i] ?? '').padEnd(width)).join(' | ')} |`
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n')
}

interface Section {
  readonly workload: Workload
  readonly summary: Summary
  readonly sizes: readonly number[]
  readonly series: readonly string[]
}

const label = ({ workload }: Section, series: string): string =>
  NOT_DURABLE_PER_ITEM[workload.id]?.includes(series) ? `${series} (not durable per item)` : series

const failureOf = ({ summary, workload }: Section, series: string, size: number): string | undefined =>
  summary.failures.find((one) => one.workload === workload.id && one.series === series && one.size === size)?.error

/** The text of one cell, or what stands there when there is no figure. */
function cellText(section: Section, series: string, size: number, show: (figure: Figure) => string): string {
  const figure = find(section.summary, section.workload.id, series, size)
  if (figure !== undefined) return show(figure)
  const error = failureOf(section, series, size)
  return error === undefined
    ? '–'
    : error.startsWith('NOT RUN')
      ? 'NOT RUN'
      : error.startsWith('TIMEOUT')
        ? 'TIMEOUT'
        : 'FAILED'
}

function times(section: Section, figure: Figure): string {
  const reference = find(section.summary, section.workload.id, section.workload.reference, figure.size)
  return reference === undefined ? '' : ` · ×${number(ratio(figure, reference).value)}`
}

function throughputTable(section: Section): string {
  const { workload, summary, sizes, series } = section
  const head = [
    `µs per ${workload.per}: wall · CPU · ×${workload.reference}`,
    ...sizes.map((size) => `n=${size.toLocaleString('en-US')}`),
    'growth (last two)',
    ...(workload.durable ? ['written/step'] : []),
    ...(workload.mode === 'grow' ? ['stored per new byte'] : []),
    'RSS MB',
  ]
  const rows = series.map((name) => {
    const last = sizes.map((size) => find(summary, workload.id, name, size)).findLast((figure) => figure !== undefined)
    const grown = growth(summary, workload.id, name)
    return [
      label(section, name),
      ...sizes.map((size) =>
        cellText(section, name, size, (f) => `${number(f.wall.us)} · ${number(f.cpu?.us)}${times(section, f)}`),
      ),
      grown === null ? '–' : `N^${number(grown.exponent)} (${number(grown.lastTwo)})`,
      ...(workload.durable ? [bytes(last?.writtenPerStep ?? null)] : []),
      ...(workload.mode === 'grow' ? [number(last?.storedPerByte)] : []),
      number(last?.rssMb),
    ]
  })
  return renderTable(head, rows)
}

function latencyTable(section: Section): string {
  const { workload, sizes, series } = section
  const resumes = workload.mode === 'resume'
  const extra = (figure: Figure): string =>
    resumes ? ` · again ${number(figure.repeated)}` : ` · ${number(figure.pauseMs)} to get there`
  const head = [
    `ms${resumes ? '' : ' from answer to result'} · ×${workload.reference}`,
    ...sizes.map((size) => `n=${size.toLocaleString('en-US')}`),
  ]
  const rows = series.map((name) => [
    label(section, name),
    ...sizes.map((size) => cellText(section, name, size, (f) => `${number(f.wall.ms)}${times(section, f)}${extra(f)}`)),
  ])
  return renderTable(head, rows)
}

function coldTable(section: Section): string {
  const size = section.sizes[0] ?? 0
  const cost = (name: string): number => find(section.summary, section.workload.id, name, size)?.wall.ms ?? Infinity
  const rows = [...section.series]
    .sort((a, b) => cost(a) - cost(b))
    .map((name) => [
      name,
      cellText(section, name, size, (f) => number(f.importMs)),
      cellText(section, name, size, (f) => number(f.firstRunMs)),
      cellText(section, name, size, (f) => `${number(f.wall.ms)} · ${number(f.cpu?.ms)}`),
      cellText(section, name, size, (f) => number(f.rssMb)),
    ])
  return renderTable(['series', 'import ms', 'first run ms', 'together: wall · CPU ms', 'RSS MB'], rows)
}

function memoryTable(section: Section): string {
  const rows = section.series.map((name) => [
    name,
    ...section.sizes.map((size) =>
      cellText(section, name, size, ({ memory }) =>
        memory === null
          ? '–'
          : `RSS ${signed(memory.rssMb)} MB (${number(memory.totalRssMb)} in all) · heap ${signed(memory.heapMb)} MB · started in ${number(memory.startMs / 1000)} s · ` +
            `a new host on that store: RSS ${signed(memory.reopenedRssMb)} MB, open in ${number(memory.reopenMs)} ms`,
      ),
    ),
  ])
  return renderTable(['series', ...section.sizes.map((size) => `${size.toLocaleString('en-US')} runs`)], rows)
}

function render(section: Section): string {
  switch (section.workload.mode) {
    case 'cold':
      return coldTable(section)
    case 'park':
      return memoryTable(section)
    case 'ask':
    case 'echoed':
    case 'halted':
    case 'seed':
    case 'read':
    case 'resume':
      return latencyTable(section)
    case 'chain':
    case 'loop':
    case 'fanOut':
    case 'grow':
    case 'liveParts':
    case 'dag':
    case 'check':
    case 'reduce':
    case 'bigState':
    case 'nested':
    case 'printed':
    case 'command':
    case 'called':
    case 'streamed':
    case 'asked':
    case 'subscribed':
      return throughputTable(section)
  }
}

function notes({ workload, summary, series }: Section): string {
  const limits = Object.entries(workload.largest ?? {}).filter(([name]) => series.includes(name))
  const failed = summary.failures.filter((failure) => failure.workload === workload.id)
  return [
    ...limits.map(([name, size]) => `${name} is not tried above n=${size.toLocaleString('en-US')}.`),
    ...failed.map((failure) => `${failure.series} at n=${failure.size.toLocaleString('en-US')}: ${failure.error}`),
  ].join('\n')
}

export function renderTables(summary: Summary): string {
  const sections = MATRIX.flatMap((workload) => {
    const all = [...summary.figures, ...summary.failures].filter((one) => one.workload === workload.id)
    if (all.length === 0) return []
    const sizes = [...new Set(all.map((one) => one.size))].sort((a, b) => a - b)
    const section = {
      workload,
      summary,
      sizes,
      series: workload.series.filter((name) => all.some((one) => one.series === name)),
    }
    const under = notes(section)
    return [`## ${workload.id}: ${workload.title}\n\n${render(section)}${under === '' ? '' : `\n\n${under}`}`]
  })
  return sections.join('\n\n')
}
