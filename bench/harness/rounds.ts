// Walks the matrix: every round measures every cell once, series interleaved, in another order each round.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isPeer, splitSeries } from './adapters.ts'
import type { Cell, Job, Outcome } from './contract.ts'
import { MATRIX, MESSAGE_BYTES, QUICK_SERIES, seededBy, type Workload } from './matrix.ts'
import type { Options } from './options.ts'
import { failure, runCell } from './spawn.ts'
import { median, shuffled } from './statistics.ts'

/** A cell that took longer than this is not measured again in later rounds. */
const SLOW_SECONDS = 20

export interface Planned {
  readonly workload: Workload
  readonly size: number
  readonly series: readonly string[]
}

function wants({ quick, peers }: Options, series: string): boolean {
  if (peers !== undefined)
    return !isPeer(series) || peers.includes(series) || peers.includes(splitSeries(series).adapter)
  return !quick || QUICK_SERIES.includes(series)
}

export function plan(options: Options): Planned[] {
  return MATRIX.filter(({ id }) => options.only?.includes(id) ?? true).flatMap((workload) => {
    const sizes = options.quick ? workload.quickSizes : workload.sizes
    return sizes.map((size) => ({
      workload,
      size,
      series: workload.series.filter((name) => wants(options, name) && size <= (workload.largest?.[name] ?? Infinity)),
    }))
  })
}

/** What a whole measurement knows beside its options. */
export interface Circumstances {
  readonly options: Options
  /** Why the peers are not there, when they are not. */
  readonly missing: string | undefined
  /** The built package; undefined measures the sources. */
  readonly entry: string | undefined
}

function jobFor({ workload, size }: Planned, series: string, dir: string, { options, entry }: Circumstances): Job {
  return {
    workload: workload.id,
    series,
    mode: workload.mode,
    size,
    warmMs: options.quick ? 300 : 400,
    budgetMs: options.quick ? 150 : 700,
    maxSamples: 100,
    ...(entry === undefined ? {} : { entry }),
    setup: {
      n: size,
      variant: splitSeries(series).variant,
      dir,
      warm: false,
      subscribers: workload.subscribers ?? 1,
      messageBytes: MESSAGE_BYTES,
      shape: workload.shape?.(series) ?? 'chain',
    },
  }
}

/** A seeding process that must die by SIGKILL, then a new process that goes on where it was. */
async function killThenResume(job: Job, timeout: number): Promise<Outcome> {
  const seeder = seededBy(job.series)
  const setup = { ...job.setup, variant: splitSeries(seeder).variant }
  const seeded = await runCell({ ...job, series: seeder, mode: 'seed', setup }, timeout * 3)
  if (seeded.timedOut || seeded.signal !== 'SIGKILL') {
    return failure(`before the kill: ${seeded.outcome.ok ? 'it did not die' : seeded.outcome.error}`)
  }
  const reads = seeder !== job.series
  return (await runCell(reads ? { ...job, mode: 'read' } : job, timeout)).outcome
}

async function measureCell(planned: Planned, series: string, round: number, around: Circumstances): Promise<Cell> {
  const began = performance.now()
  const dir = mkdtempSync(join(tmpdir(), 'nerve-bench-'))
  const job = jobFor(planned, series, dir, around)
  const timeout = around.options.timeout * (job.mode === 'park' ? 5 : 1)
  const outcome = job.mode === 'resume' ? await killThenResume(job, timeout) : (await runCell(job, timeout)).outcome
  rmSync(dir, { recursive: true, force: true })
  const seconds = (performance.now() - began) / 1000
  return { workload: planned.workload.id, series, size: planned.size, round, seconds, outcome }
}

export interface Progress {
  readonly done: number
  readonly of: number
  readonly cell: Cell
}

/** Measures everything planned. Peers that could not be installed become failures that say so. */
export async function measureAll(around: Circumstances, show: (progress: Progress) => void): Promise<Cell[]> {
  const { options, missing } = around
  const planned = plan(options)
  const cells: Cell[] = []
  const failedAt = new Map<string, number>()
  const slow = new Set<string>()
  const of = options.rounds * planned.reduce((sum, entry) => sum + entry.series.length, 0)
  let done = 0
  for (let round = 0; round < options.rounds; round++) {
    for (const entry of planned) {
      for (const series of shuffled(entry.series, round * 31 + entry.size)) {
        done += 1
        const key = `${entry.workload.id} ${series}`
        if (entry.size >= (failedAt.get(key) ?? Infinity) || slow.has(`${key} ${entry.size}`)) continue
        const absent = missing !== undefined && isPeer(series)
        const cell = absent ? notRun(entry, series) : await measureCell(entry, series, round, around)
        cells.push(cell)
        if (!cell.outcome.ok) failedAt.set(key, entry.size)
        if (cell.seconds > SLOW_SECONDS) slow.add(`${key} ${entry.size}`)
        show({ done, of, cell })
      }
    }
  }
  return cells
}

const notRun = ({ workload, size }: Planned, series: string): Cell => ({
  workload: workload.id,
  series,
  size,
  round: 0,
  seconds: 0,
  outcome: failure('NOT RUN: the peers could not be installed'),
})

export function progressLine({ done, of, cell }: Progress): string {
  const what = `${cell.workload} ${cell.series} n=${cell.size}`
  const result = cell.outcome.ok
    ? `${median(cell.outcome.samples).toPrecision(4)} ms`
    : `FAILED ${cell.outcome.error.slice(0, 150)}`
  return `[${done}/${of}] ${what}: ${result} (${cell.seconds.toFixed(1)} s)`
}
