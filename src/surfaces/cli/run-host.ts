/** Whoever has the runs, as commands see them: the daemon of the project, or a host in this process. */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { Handle, Host, RunEvent } from '../../host/api.ts'
import type { ResumePlan } from '../../journal/events.ts'
import { PRINTED, readRecord, type DaemonRecord } from '../daemon/daemon-files.ts'
import { ensureDaemon, fateOf, type DaemonCommand, type FoundDaemon } from '../daemon/find-daemon.ts'

/** A run in the hand of a command. */
export interface RunHandle extends Pick<Handle, 'pause' | 'resume' | 'interrupt' | 'cancel' | 'signal'> {
  readonly id: string
  events(options?: {
    readonly after?: number
    readonly once?: boolean
    readonly signal?: AbortSignal
  }): ReturnType<Handle['events']>
  fork(options: Parameters<Handle['fork']>[0]): Promise<{ readonly id: string }>
}

export interface RunHost extends Pick<
  Host,
  'id' | 'runs' | 'run' | 'journal' | 'inbox' | 'answer' | 'export' | 'gc' | 'close'
> {
  handle(run: string): Promise<RunHandle>
  import(text: string): Promise<{ readonly id: string }>
  plan(run: string): Promise<ResumePlan>
}

export interface DaemonHost extends RunHost {
  readonly daemon: FoundDaemon
  /** Starts it again when it has died; refuses when somebody stopped it. */
  revive(): Promise<void>
  /** Hears what workflows print from now on, which is when it resolves, until the signal. */
  prints(hear: (run: string, text: string) => void, signal: AbortSignal): Promise<void>
}

export function isDaemon(host: RunHost): host is DaemonHost {
  return 'daemon' in host
}

/** A run that takes the process of the daemon with it would do so for ever. */
const MOST_REVIVALS = 20
const SHORT_MS = 60_000

/** The daemon as a host. When it dies it is started again, and reading goes on where it was. */
export function daemonHost(found: FoundDaemon, dir: string, command: DaemonCommand): DaemonHost {
  const { client } = found
  let last = found.record
  const revivals: number[] = []
  const revive = once(async () => {
    revivals.push(Date.now())
    if (revivals.filter((time) => Date.now() - time < SHORT_MS).length > MOST_REVIVALS)
      throw new NerveError('not-ready', 'The daemon dies again and again. What it said last: nerve server logs')
    await revived(dir, command, last)
    last = readRecord(dir) ?? last
  })
  /** Asks until it is answered, or nothing brings the daemon back. What may be done twice is also asked again after it was sent. */
  const asked = async <Value>(ask: () => Promise<Value>, isSafe: boolean): Promise<Value> => {
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (!isNerveError(error, 'connection-lost') || !(isSafe || error.data['reached'] === false)) throw error
        await revive()
      }
    }
  }
  const look = <Value>(ask: () => Promise<Value>): Promise<Value> => asked(ask, true)
  const tell = <Value>(ask: () => Promise<Value>): Promise<Value> => asked(ask, false)
  const plain = runsOf(client)
  return {
    daemon: found,
    revive,
    id: 'daemon',
    runs: (filter) => look(() => plain.runs(filter)),
    journal: (run) => look(() => plain.journal(run)),
    run: (run) => look(() => plain.run(run)),
    inbox: () => look(() => client.call('questions.list', {})),
    answer: async (question, value) => void (await tell(() => client.call('questions.answer', { question, value }))),
    export: async (run) => (await look(() => client.call('runs.export', { run }))).text,
    gc: ({ olderThan }) => tell(() => client.call('runs.remove', { olderThan })),
    import: async (text) => ({ id: (await tell(() => client.call('runs.import', { text }))).run }),
    plan: (run) => look(() => client.call('runs.plan', { run })),
    handle: async (run) => handleOf(client, (await look(() => client.call('runs.get', { run }))).run, revive),
    close: () => client.close(),
    prints: (hear, signal) => hearPrints(client, hear, signal),
  }
}

/** Asked once: a daemon that is gone is not brought back for it. */
export function runsOf(client: FoundDaemon['client']): Pick<Host, 'run' | 'runs' | 'journal'> {
  return {
    run: (run) => client.call('runs.get', { run }),
    runs: ({ status, ...filter } = {}) =>
      client.call('runs.list', status === undefined ? filter : { ...filter, status: [...status] }),
    journal: async (run) =>
      (await client.call('runs.journal', { run })).map(({ run: of, seq, time, ...event }) => {
        return { run: of, seq, time, event }
      }),
  }
}

/** Not durable: what is printed while the connection is lost is in the log of the daemon alone. */
function hearPrints(
  client: FoundDaemon['client'],
  hear: (run: string, text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const read = async (): Promise<void> => {
      for await (const item of client.events({ type: PRINTED, live: true, signal, onCursor: () => resolve() }))
        if ('data' in item && typeof item.data === 'string') hear(item.run, item.data)
    }
    // Whoever watches the run hears of a daemon that is gone there.
    read().then(resolve, reject)
  })
}

function handleOf(client: FoundDaemon['client'], id: string, revive: () => Promise<void>): RunHandle {
  const run = client.run(id)
  return {
    id,
    pause: () => run.pause(),
    resume: ({ by: _by, via: _via, ...options } = {}) => run.resume(options),
    interrupt: ({ path } = {}) => run.interrupt(path === undefined ? {} : { path }),
    cancel: ({ reason } = {}) => run.cancel(reason),
    signal: (name, value) => run.signal(name, value),
    fork: ({ by: _by, via: _via, ...options } = {}) => run.fork(options),
    events: ({ after, signal, once: isOnce } = {}) => followed(run, { after, signal, isOnce }, revive),
  }
}

interface Reading {
  readonly after: number | undefined
  readonly signal: AbortSignal | undefined
  readonly isOnce: boolean | undefined
}

async function* followed(
  run: ReturnType<FoundDaemon['client']['run']>,
  { after, signal, isOnce }: Reading,
  revive: () => Promise<void>,
): AsyncGenerator<RunEvent, void, void> {
  const gone = new AbortController()
  let problem: unknown
  const onLost = (): void => {
    revive().catch((error: unknown) => {
      problem = error
      gone.abort()
    })
  }
  const over = signal === undefined ? gone.signal : AbortSignal.any([signal, gone.signal])
  const wanted = {
    ...(after === undefined ? {} : { after: String(after) }),
    ...(isOnce === undefined ? {} : { once: isOnce }),
  }
  for await (const item of run.events({ ...wanted, signal: over, onLost })) {
    if (!('live' in item)) yield item
  }
  if (problem !== undefined) throw problem
}

/** Sees to it that there is a daemon, unless somebody stopped the one before. */
export async function revived(dir: string, command: DaemonCommand, before: DaemonRecord): Promise<void> {
  const fate = await fateOf(dir, { before })
  if (fate === 'stopped')
    throw new NerveError('host-closed', 'The daemon was stopped. Runs go on when there is one: nerve server start')
  if (fate === 'died') await (await ensureDaemon(dir, command)).client.close()
}

/** Whoever asks while it is under way gets the same. */
function once(work: () => Promise<void>): () => Promise<void> {
  let under: Promise<void> | undefined
  return () => {
    under ??= work().finally(() => {
      under = undefined
    })
    return under
  }
}
