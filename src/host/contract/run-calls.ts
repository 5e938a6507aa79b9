/** What the contract says about runs, questions, signals and usage. */
import { NerveError, errorData } from '../../base/nerve-error.ts'
import { isEnded, type Usage } from '../../journal/events.ts'
import type { RunRow } from '../../projections/runs.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'
import { given, type Calls } from './calls.ts'
import type { Checked, Output } from './contract.ts'
import { definitionNamed } from './definition-calls.ts'

const DONE = { ok: true } as const
const WAIT_MS = 30_000
const LOOK_MS = 500

type Names =
  | `runs.${'start' | 'list' | 'get' | 'journal' | 'wait' | 'pause' | 'resume' | 'interrupt' | 'cancel' | 'fork' | 'replay'}`
  | `questions.${'list' | 'answer'}`
  | 'signals.send'
  | 'usage'

export function runCalls(host: Host): Calls<Names> {
  return {
    'runs.start': async (wanted) => ({ run: (await startRun(host, wanted)).id }),
    'runs.list': (filter) => host.runs(given(filter)),
    'runs.get': ({ run }) => host.run(run),
    'runs.journal': async ({ run, after = 0, limit }) => {
      const entries = (await host.journal(run)).slice(after, limit === undefined ? undefined : after + limit)
      return entries.map(({ event, run: of, seq, time }) => ({ ...event, run: of, seq, time }))
    },
    'runs.wait': async ({ run, until = 'end', timeout = WAIT_MS }, { signal }) => {
      const { run: id } = await host.run(run)
      const enough = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
      await (until === 'end' ? ended(host, id, enough) : rested(host, id, enough))
      return outcome(host, id)
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
    'runs.fork': async ({ run, ...options }) => ({ run: (await (await host.handle(run)).fork(given(options))).id }),
    'runs.replay': async ({ run }) => ({ ...(await host.replay(run)) }) as unknown as Output<'runs.replay'>,
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

export function startRun(host: Host, { definition, input, ...options }: Checked<'runs.start'>): Promise<Handle> {
  return host.start<unknown, unknown>(definitionNamed(host, definition), input, given(options))
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
    else handle.rest().then(() => resolve(), reject)
  })
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
