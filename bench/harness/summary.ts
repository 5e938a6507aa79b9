// From cells to figures: one figure per workload, series and size, with the medians over its processes. Pure.
import type { Cell, Measurement, MemoryAdded } from './contract.ts'
import { MATRIX, MESSAGE_BYTES, type Workload } from './matrix.ts'
import { growthExponent, median, quantile, spread } from './statistics.ts'

export type Metric = 'wall' | 'cpu'

export interface Cost {
  /** Milliseconds per run: the median over processes of each process's median. */
  readonly ms: number
  /** Microseconds per step, delivery or run, as the workload says. */
  readonly us: number
  readonly spread: number
}

export interface Figure {
  readonly workload: string
  readonly series: string
  readonly size: number
  readonly processes: number
  readonly wall: Cost
  readonly cpu: Cost | null
  readonly p95Us: number
  readonly writtenPerStep: number | null
  /** Bytes on disk after closing per byte of new data; only where the workload adds a known amount. */
  readonly storedPerByte: number | null
  readonly rssMb: number
  readonly importMs: number
  readonly firstRunMs: number | null
  readonly pauseMs: number | null
  readonly repeated: number | null
  readonly memory: MemoryAdded | null
}

export interface Summary {
  readonly figures: readonly Figure[]
  /** The first error of every cell that never worked. */
  readonly failures: readonly { workload: string; series: string; size: number; error: string }[]
  readonly versions: Readonly<Record<string, string>>
}

const workloadOf = (id: string): Workload => {
  const found = MATRIX.find((workload) => workload.id === id)
  if (found === undefined) throw new Error(`unknown workload ${id}`)
  return found
}

export function summarise(cells: readonly Cell[]): Summary {
  const groups = Map.groupBy(cells, (cell) => `${cell.workload} ${cell.series} ${cell.size}`)
  const figures: Figure[] = []
  const failures: { workload: string; series: string; size: number; error: string }[] = []
  const versions: Record<string, string> = {}
  for (const group of groups.values()) {
    const [{ workload, series, size }] = group as [Cell]
    const measured = group.map((cell) => cell.outcome).filter((outcome) => outcome.ok)
    for (const { versions: own } of measured) Object.assign(versions, own)
    const failed = group.map((cell) => cell.outcome).find((outcome) => !outcome.ok)
    // A cell that worked once and failed once has failed: a wrong result now and then is a wrong result.
    if (failed !== undefined) failures.push({ workload, series, size, error: failed.error })
    else figures.push(figureOf(workloadOf(workload), series, size, measured))
  }
  return { figures, failures, versions }
}

function figureOf(workload: Workload, series: string, size: number, measured: readonly Measurement[]): Figure {
  const steps = measured[0]?.steps ?? 1
  const divisor = workload.per === 'run' ? 1 : workload.per === 'step' ? steps : steps * (workload.subscribers ?? 1)
  const cost = (pick: (one: Measurement) => readonly number[]): Cost => {
    const ms = median(measured.map((one) => median(pick(one))))
    return { ms, us: (ms * 1000) / divisor, spread: spread(measured.flatMap(pick)) }
  }
  const middle = (pick: (one: Measurement) => number | null | undefined): number | null => {
    const values = measured.map(pick).filter((value) => value !== null && value !== undefined)
    return values.length === 0 ? null : median(values)
  }
  const written = middle((one) => one.writtenBytes)
  const disk = middle((one) => one.diskBytes)
  return {
    workload: workload.id,
    series,
    size,
    processes: measured.length,
    wall: cost((one) => one.samples),
    cpu: measured.some((one) => one.cpu.length > 0) ? cost((one) => one.cpu) : null,
    p95Us:
      (quantile(
        measured.flatMap((one) => one.samples),
        0.95,
      ) *
        1000) /
      divisor,
    writtenPerStep: written === null || !workload.durable ? null : written / steps,
    storedPerByte: workload.mode === 'grow' && disk !== null ? disk / (steps * MESSAGE_BYTES) : null,
    rssMb: middle((one) => one.rssMb) ?? 0,
    importMs: middle((one) => one.importMs) ?? 0,
    firstRunMs: middle((one) => one.firstRunMs),
    pauseMs: middle((one) => one.pauseMs),
    repeated: middle((one) => one.repeated),
    memory: measured[0]?.memory ?? null,
  }
}

export function find(summary: Summary, workload: string, series: string, size: number): Figure | undefined {
  return summary.figures.find((f) => f.workload === workload && f.series === series && f.size === size)
}

/** The metric in which both figures vary least; wall time for latencies, and when CPU time or enough samples are missing. */
function steadier(a: Figure, b: Figure): Metric {
  if (a.cpu === null || b.cpu === null || workloadOf(a.workload).per === 'run') return 'wall'
  const wall = Math.max(a.wall.spread, b.wall.spread)
  const cpu = Math.max(a.cpu.spread, b.cpu.spread)
  return cpu < wall && b.cpu.ms > 0 && a.cpu.ms > 0 ? 'cpu' : 'wall'
}

const costIn = (figure: Figure, metric: Metric): Cost =>
  metric === 'cpu' && figure.cpu !== null ? figure.cpu : figure.wall

/** How many times the cost of `a` is that of `b`. */
export function ratio(a: Figure, b: Figure): { value: number; metric: Metric } {
  const metric = steadier(a, b)
  return { value: costIn(a, metric).us / costIn(b, metric).us, metric }
}

export interface Growth {
  readonly exponent: number
  readonly lastTwo: number
  readonly metric: Metric
}

/** Growth of the total cost over the sizes, in the metric that varies least over all of them. */
export function growth(summary: Summary, workload: string, series: string): Growth | null {
  const figures = summary.figures
    .filter((figure) => figure.workload === workload && figure.series === series)
    .sort((a, b) => a.size - b.size)
  const worst = (metric: Metric): number => Math.max(...figures.map((figure) => costIn(figure, metric).spread))
  const metric =
    figures.every((figure) => figure.cpu !== null && figure.cpu.ms > 0) && worst('cpu') < worst('wall') ? 'cpu' : 'wall'
  const points = figures.map((figure) => [figure.size, costIn(figure, metric).ms] as const)
  const exponent = growthExponent(points)
  const lastTwo = growthExponent(points.slice(-2))
  return exponent === null || lastTwo === null ? null : { exponent, lastTwo, metric }
}
