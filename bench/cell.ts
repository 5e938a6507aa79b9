// One process, one cell: imports one series, warms it up, measures it, and prints one line of JSON. Started by harness/spawn.ts.
import { mkdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { loadSeries } from './harness/adapters.ts'
import {
  RESULT_MARK,
  type AskTimes,
  type Job,
  type Measurement,
  type Outcome,
  type Prepared,
  type Repeated,
  type Series,
  type Setup,
} from './harness/contract.ts'
import { bytesOnDisk, cpuMs, expectEqual, now, repeatedEffects, rssMb, writtenBytes } from './harness/measure.ts'
import { median } from './harness/statistics.ts'

type Partly = Omit<Measurement, 'ok' | 'importMs' | 'versions'>

/** Left out of error texts, so that a published report tells nothing about the machine. */
const ROOT = join(import.meta.dirname, '..')
const WARM_STEPS = 50
/** A graph warms up on a larger one: building and checking it are a part of what is measured. */
const WARM_GRAPH_STEPS = 1000
const GRAPHS: readonly string[] = ['dag', 'check', 'reduce']
const SAMPLE_MS = 5

function report(outcome: Outcome): never {
  writeSync(1, `\n${RESULT_MARK}${JSON.stringify(outcome)}\n`)
  process.exit(outcome.ok ? 0 : 3)
}

function fail(error: unknown): never {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const lines = trace.replaceAll(ROOT, '').split('\n').slice(0, 4)
  return report({ ok: false, error: lines.join(' | ').slice(0, 600) })
}

async function warmUp(series: Series, job: Job): Promise<void> {
  const setup: Setup = {
    ...job.setup,
    n: Math.min(job.setup.n, GRAPHS.includes(job.mode) ? WARM_GRAPH_STEPS : WARM_STEPS),
    dir: join(job.setup.dir, 'warm'),
    warm: true,
  }
  const small = await prepare(series, job, setup)
  const began = now()
  for (let i = 0; now() - began < job.warmMs; i++) small.verify(await small.run(i))
  await small.close?.()
}

function prepare(series: Series, job: Job, setup: Setup): Prepared | Promise<Prepared> {
  const make = series[job.mode as Repeated]
  if (make === undefined) throw new Error(`not offered: ${job.series} has no ${job.mode}`)
  return make(setup)
}

/** How many runs make a sample long enough for the clock. Small runs in memory take microseconds. */
async function runsPerSample(prepared: Prepared): Promise<number> {
  const began = now()
  prepared.verify(await prepared.run(-1))
  return Math.min(1000, Math.max(1, Math.ceil(SAMPLE_MS / Math.max(now() - began, 0.001))))
}

interface Sample {
  readonly ms: number
  readonly cpu: number
  readonly written: number | null
}

async function takeSample(prepared: Prepared, first: number, runs: number): Promise<Sample> {
  const values: unknown[] = []
  const before = { written: writtenBytes(), cpu: cpuMs(), at: now() }
  for (let i = 0; i < runs; i++) values.push(await prepared.run(first + i))
  const ms = now() - before.at
  const cpu = cpuMs() - before.cpu
  const written = writtenBytes()
  for (const value of values) prepared.verify(value)
  return {
    ms: ms / runs,
    cpu: cpu / runs,
    written: written === null || before.written === null ? null : (written - before.written) / runs,
  }
}

async function measureThroughput(series: Series, job: Job): Promise<Partly> {
  await warmUp(series, job)
  const dir = join(job.setup.dir, 'store')
  const prepared = await prepare(series, job, { ...job.setup, dir })
  const slow = job.setup.n >= 10_000
  const runs = slow ? 1 : await runsPerSample(prepared)
  globalThis.gc?.()
  const taken: Sample[] = []
  const began = now()
  do taken.push(await takeSample(prepared, taken.length * runs, runs))
  while (now() - began < job.budgetMs && taken.length < job.maxSamples)
  const memory = rssMb()
  await prepared.close?.()
  const written = taken.map((sample) => sample.written).filter((bytes) => bytes !== null)
  return {
    samples: taken.map((sample) => sample.ms),
    cpu: taken.map((sample) => sample.cpu),
    steps: prepared.steps,
    writtenBytes: written.length === 0 ? null : median(written),
    diskBytes: bytesOnDisk(dir) / (taken.length * runs + (slow ? 0 : 1)),
    rssMb: memory,
  }
}

async function measureAsk(series: Series, job: Job): Promise<Partly> {
  const make = series[job.mode as 'ask' | 'echoed' | 'halted']
  if (make === undefined) throw new Error(`not offered: ${job.series} has no ${job.mode}`)
  const warm = await make({ ...job.setup, n: 3, dir: join(job.setup.dir, 'warm'), warm: true })
  const warmed = now()
  for (let i = 0; now() - warmed < job.warmMs; i++) await warm.run(i)
  await warm.close?.()
  const prepared = await make({ ...job.setup, dir: join(job.setup.dir, 'store') })
  const times: AskTimes[] = []
  const began = now()
  do times.push(await prepared.run(times.length))
  while (now() - began < job.budgetMs && times.length < job.maxSamples)
  const memory = rssMb()
  await prepared.close?.()
  return {
    samples: times.map((time) => time.answerMs),
    cpu: [],
    steps: 1,
    writtenBytes: null,
    diskBytes: 0,
    rssMb: memory,
    pauseMs: median(times.map((time) => time.pauseMs)),
  }
}

/** Times one thing that can only be done once in a process. */
async function once(work: () => Promise<unknown>): Promise<Partly> {
  const before = { cpu: cpuMs(), at: now() }
  await work()
  const ms = now() - before.at
  return { samples: [ms], cpu: [cpuMs() - before.cpu], steps: 1, writtenBytes: null, diskBytes: 0, rssMb: rssMb() }
}

async function measureResume(series: Series, job: Job): Promise<Partly> {
  const work = job.mode === 'read' ? series.read : series.resume
  if (work === undefined) throw new Error(`not offered: ${job.series} cannot ${job.mode}`)
  await series.ready?.({ ...job.setup, dir: join(job.setup.dir, 'empty') })
  let steps = 0
  const measured = await once(async () => {
    steps = await work(job.setup)
  })
  if (job.mode === 'read') return { ...measured, steps }
  expectEqual(steps, job.setup.n + 1, 'finished steps')
  return { ...measured, steps, repeated: repeatedEffects(job.setup.dir) }
}

async function measureSeed(series: Series, job: Job): Promise<never> {
  if (series.seed === undefined) throw new Error(`not offered: ${job.series} has nothing to resume`)
  await series.seed(job.setup)
  throw new Error('the seeding process was not killed')
}

async function measurePark(series: Series, job: Job): Promise<Partly> {
  const { park } = series
  if (park === undefined) throw new Error(`not offered: ${job.series} has no parked runs`)
  const memory = await park(job.setup)
  return {
    samples: [memory.startMs],
    cpu: [],
    steps: memory.runs,
    writtenBytes: null,
    diskBytes: 0,
    rssMb: memory.rssMb,
    memory,
  }
}

async function measure(series: Series, job: Job): Promise<Partly> {
  switch (job.mode) {
    case 'seed':
      return measureSeed(series, job)
    case 'resume':
    case 'read':
      return measureResume(series, job)
    case 'ask':
    case 'echoed':
    case 'halted':
      return measureAsk(series, job)
    case 'park':
      return measurePark(series, job)
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
      return measureThroughput(series, job)
    case 'cold':
      throw new Error('a cold start is measured before anything is imported')
  }
}

/** Import and first run of a chain of ten: nothing is warm. */
async function measureCold(job: Job): Promise<Measurement> {
  const began = { cpu: cpuMs(), at: now() }
  const series = await loadSeries(job.series)
  const importMs = now() - began.at
  const prepared = await prepare(series, { ...job, mode: 'chain' }, { ...job.setup, n: 10 })
  const value = await prepared.run(0)
  const total = now() - began.at
  const cpu = cpuMs() - began.cpu
  prepared.verify(value)
  const memory = rssMb()
  await prepared.close?.()
  return {
    ok: true,
    samples: [total],
    cpu: [cpu],
    steps: 1,
    writtenBytes: null,
    diskBytes: 0,
    rssMb: memory,
    importMs,
    firstRunMs: total - importMs,
    versions: series.versions,
  }
}

process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
try {
  const job = JSON.parse(process.argv[2] ?? '') as Job
  mkdirSync(job.setup.dir, { recursive: true })
  if (job.entry !== undefined) process.env['NERVE_BENCH_ENTRY'] = job.entry
  if (job.mode === 'cold') report(await measureCold(job))
  const began = now()
  const series = await loadSeries(job.series)
  const importMs = now() - began
  const measured = await measure(series, job)
  report({ ok: true, ...measured, importMs, versions: series.versions })
} catch (error) {
  fail(error)
}
