/** What the contract says about runs, questions, signals and usage. */
import { NerveError, errorData } from '../../base/nerve-error.ts'
import { isEnded, type Actor, type Usage } from '../../journal/events.ts'
import type { RunRow } from '../../projections/runs.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'
import { given, type Calls } from './calls.ts'
import type { CallName, Checked, Output } from './contract.ts'
import type { KnownDefinitions } from './known-definitions.ts'

const DONE = { ok: true } as const
const WAIT_MS = 30_000
const LOOK_MS = 500

/** Runs as something that is kept, whatever they are doing. */
type Kept = `runs.${'plan' | 'replay' | 'export' | 'import' | 'remove'}`
type Names =
  | Exclude<Extract<CallName, `runs.${string}`>, Kept>
  | `questions.${'list' | 'answer'}`
  | 'signals.send'
  | 'usage'

export function runCalls(host: Host, known: KnownDefinitions): Calls<Names | Kept> {
  return {
    ...keptCalls(host),
    ...drivingCalls(host),
    'runs.start': async (wanted, { actor }) => ({ run: (await startRun(host, known, { ...wanted, ...actor })).id }),
  }
}

function keptCalls(host: Host): Calls<Kept> {
  return {
    'runs.plan': async ({ run }) => ({ ...(await host.plan(run)) }) as Output<'runs.plan'>,
    'runs.replay': async ({ run }) => ({ ...(await host.replay(run)) }) as unknown as Output<'runs.replay'>,
    'runs.export': async ({ run }, { read }) => ({
      run: (await host.run(run)).root,
      text: await read(() => host.export(run)),
    }),
    'runs.import': async ({ text }) => {
      const { id } = await host.import(text)
      return { run: id, status: (await host.run(id)).status }
    },
    'runs.remove': async ({ olderThan }) => ({ removed: [...(await host.gc({ olderThan })).removed] }),
  }
}

/** What can be asked of runs that are there. */
export function drivingCalls(host: Host): Calls<Exclude<Names, 'runs.start'>> {
  return {
    'runs.list': (filter) => host.runs(given(filter)),
    'runs.get': ({ run }) => host.run(run),
    'runs.journal': async ({ run, after = 0, limit }, { read }) => {
      const entries = (await read(() => host.journal(run))).slice(
        after,
        limit === undefined ? undefined : after + limit,
      )
      return entries.map(({ event, run: of, seq, time }) => ({ ...event, run: of, seq, time }))
    },
    'runs.wait': async ({ run, until = 'end', timeout = WAIT_MS }, { signal, read }) => {
      const { run: id } = await host.run(run)
      // Not a signal of its own for the time: that would stay in memory until the time is over, whoever waits.
      const enough = new AbortController()
      const stop = (): void => enough.abort()
      const timer = setTimeout(stop, timeout)
      signal.addEventListener('abort', stop)
      try {
        if (!signal.aborted) await (until === 'end' ? ended(host, id, enough.signal) : rested(host, id, enough.signal))
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
      }
      return read(() => outcome(host, id))
    },
    'runs.pause': async ({ run }, { actor }) => {
      await (await host.handle(run)).pause(actor)
      return DONE
    },
    'runs.resume': async ({ run, ...options }, { actor }) => {
      await (await host.handle(run)).resume({ ...given(options), ...actor })
      return DONE
    },
    'runs.interrupt': async ({ run, path }, { actor }) => {
      await (await host.handle(run)).interrupt({ ...given({ path }), ...actor })
      return DONE
    },
    'runs.cancel': async ({ run, reason }, { actor }) => {
      await (await host.handle(run)).cancel({ ...given({ reason }), ...actor })
      return DONE
    },
    'runs.fork': async ({ run, ...options }, { actor }) => {
      const handle = await host.handle(run)
      return { run: (await handle.fork({ ...given(options), ...actor })).id }
    },
    'questions.list': () => host.inbox(),
    'questions.answer': async ({ question, value }, { actor }) => {
      if (value === undefined)
        throw new NerveError('bad-input', `There is no answer: give it as value.`, { data: { field: 'value' } })
      await host.answer(question, value, actor)
      return DONE
    },
    'signals.send': async ({ run, name, value }, { actor }) => {
      await (await host.handle(run)).signal(name, value, actor)
      return DONE
    },
    usage: async ({ run }) => spent(run === undefined ? await host.runs() : [await host.run(run)]),
  }
}

export async function startRun(
  host: Host,
  known: KnownDefinitions,
  { definition: name, file, input, ...options }: Checked<'runs.start'> & Actor,
): Promise<Handle> {
  if (file === undefined && name === undefined)
    throw new NerveError('bad-input', 'Which definition? Give its name.', { data: { field: 'definition' } })
  const { definition, source } = await (file === undefined ? known.named(name ?? '') : known.inFile(file, name))
  const budget = { ...known.budget, ...definition.options.budget, ...options.budget }
  const limits = Object.keys(budget).length === 0 ? {} : { budget }
  return host.start<unknown, unknown>(definition, input, given({ ...options, ...limits, source }))
}

/** Resolves when the run has ended, or nobody waits any more. Looks now and then: another process may drive it. */
async function ended(host: Host, run: string, signal: AbortSignal): Promise<void> {
  let look: () => void = () => undefined
  const stop = host.subscribe({ run, type: 'run-*', live: false }, () => look())
  signal.addEventListener('abort', () => look(), { once: true })
  try {
    while (!signal.aborted && !isEnded((await host.run(run)).status)) {
      // What happened while it was looked at is seen at the latest after this time.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LOOK_MS)
        look = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  } finally {
    stop()
  }
}

async function rested(host: Host, run: string, signal: AbortSignal): Promise<void> {
  const handle = await host.handle(run)
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted) resolve()
    else restOf(host, handle).then(() => resolve(), reject)
  })
}

const resting = new WeakMap<Host, Map<string, Promise<unknown>>>()

/** One wait for all who ask: who gives up and asks again leaves nothing behind. */
function restOf(host: Host, handle: Handle): Promise<unknown> {
  const known = resting.get(host) ?? new Map<string, Promise<unknown>>()
  resting.set(host, known)
  const under = known.get(handle.id) ?? handle.rest().finally(() => known.delete(handle.id))
  known.set(handle.id, under)
  return under
}

async function outcome(host: Host, run: string): Promise<Output<'runs.wait'>> {
  const { status } = await host.run(run)
  if (!isEnded(status)) return { run, status, ended: false }
  const last = (await host.journal(run)).findLast(({ event }) => event.type.startsWith('run-'))?.event
  if (last?.type === 'run-completed') return { run, status, ended: true, output: last.output }
  if (last?.type === 'run-failed') return { run, status, ended: true, error: last.error }
  const reason = last?.type === 'run-cancelled' ? last.reason : undefined
  const message = `Run ${run} was cancelled${reason === undefined ? '' : `: ${reason}`}.`
  return { run, status, ended: true, error: errorData(new NerveError('cancelled', message, { data: { run } })) }
}

/** The usage of a run has that of its children in it. */
function spent(rows: readonly RunRow[]): Output<'usage'> {
  const by = Map.groupBy(rows, ({ definition }) => definition)
  const definitions = [...by].map(([definition, of]) => ({ definition, runs: of.length, usage: sum(of) }))
  return { runs: rows.length, usage: sum(rows), definitions }
}

function sum(rows: readonly RunRow[]): Usage {
  const total: Record<string, number> = {}
  for (const { usage } of rows)
    for (const [dimension, amount] of Object.entries(usage))
      if (dimension !== 'window' && typeof amount === 'number') total[dimension] = (total[dimension] ?? 0) + amount
  return total
}
