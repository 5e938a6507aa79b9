/**
 * The daemon of a project: the one process that owns its runs, while everything else comes and goes. It takes up what others
 * left, wakes what is due, answers clients, and ends when it is told to or when nobody needs it any more.
 *
 * Invariants:
 *  1. There is one for a folder: it has the lock for as long as it lives, and the system gives the lock back when it dies.
 *  2. Its record is there while it can be asked, and is gone before it ends on purpose. One that was killed leaves it.
 */
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import type { Actor } from '../../journal/events.ts'
import {
  checkOwnFolder,
  createHost,
  createService,
  createSessionManager,
  demandOwnRecords,
  holdFile,
  isTrusted,
  loadConfig,
  makeOwnFolder,
  startNotifications,
  type Host,
  type Service,
  type SessionManager,
} from '../../host/daemon-api.ts'
import { createClient } from '../client/client.ts'
import { serviceConnection } from '../client/service-connection.ts'
import { mcpMount } from '../mcp/mcp-mount.ts'
import type { Visitor } from '../server/doorkeeper.ts'
import { startServer, type Server, type TcpOptions } from '../server/server.ts'
import { openTokens, tokensFile } from '../server/tokens.ts'
import { daemonFiles, readRecord, removeRecord, writeRecord, type DaemonRecord } from './daemon-files.ts'
import { configMark, marksOf } from './environment.ts'
import { everyNowAndThen } from './every.ts'
import { forwardPrints } from './printed.ts'

export interface DaemonOptions {
  /** The project folder. */
  readonly dir: string
  readonly version: string
  /** An HTTP port as well. Its callers need a token. */
  readonly http?: TcpOptions
  /** Names by which it is called in addresses, and pages that may use it. */
  readonly hosts?: readonly string[]
  readonly origins?: readonly string[]
  /** Workflows that models see as tools of their own at /mcp. */
  readonly expose?: 'all' | readonly string[]
  /** End by itself after so many ms in which nobody needed it. Without it, never. */
  readonly idle?: number | undefined
  /** How long steps that run may take to finish when it ends, in ms (default 10,000). */
  readonly grace?: number
  /** How it was started, for whoever has to start it again. */
  readonly options?: readonly string[]
  /** One line about what it does. */
  readonly say: (text: string) => void
  readonly onProblem: (error: unknown) => void
}

export interface Daemon {
  readonly record: DaemonRecord
  /** Ends it: nothing new starts, what runs has its moment, and the rest is left to the next one. */
  stop(why: string): Promise<void>
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<void>
}

const GRACE_MS = 10_000
const RECOVER_MS = 2_000
const IDLE_LOOK_MS = 5_000
const LIVING: readonly string[] = ['starting', 'ready', 'busy', 'stopping']

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { dir } = options
  const files = daemonFiles(dir)
  if (!isTrusted(dir)) checkOwnFolder(files.folder)
  await demandOwnRecords(dir)
  makeOwnFolder(files.folder)
  const unlock = holdFile(files.lock)
  if (unlock === undefined) throw runsAlready(files.record)
  try {
    return await begin(options, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function runsAlready(record: string): NerveError {
  const { pid, socket } = readRecord(record) ?? {}
  const who = pid === undefined ? '' : ` (process ${pid})`
  return new NerveError('owned-elsewhere', `The daemon of this project runs already${who}. See: nerve server status`, {
    data: { ...(pid === undefined ? {} : { pid }), ...(socket === undefined ? {} : { socket }) },
  })
}

async function begin(options: DaemonOptions, unlock: () => void): Promise<Daemon> {
  const { dir, version, onProblem } = options
  const files = daemonFiles(dir)
  const mark = configMark(dir)
  const config = await loadConfig(dir)
  const { definitions = [], sessions: plans = [], fields = {}, budget = {}, notify } = config ?? {}
  const host = await createHost({ dir, definitions, sessions: plans, onProblem })
  const sessions = createSessionManager(host, { plans, lazy: true, onProblem })
  const ending = Promise.withResolvers<Actor>()
  const folder = join(dir, 'workflows')
  const service = createService(host, {
    ...{ version, sessions, plans, fields, folder, budget, onProblem },
    mayLoad: () => isTrusted(dir),
    onShutdown: ending.resolve,
  })
  let server: Server
  try {
    server = await listen(options, service)
  } catch (error) {
    await host.close()
    throw error
  }
  const { pid } = process
  const { url } = server
  const record: DaemonRecord = {
    ...{ pid, version, socket: server.socket ?? files.socket, ...(url === undefined ? {} : { url }) },
    ...(options.options === undefined ? {} : { options: options.options }),
    ...{ started: Date.now(), environment: marksOf(process.env), ...(mark === undefined ? {} : { config: mark }) },
  }
  writeRecord(files.record, record)
  const notifications =
    notify === undefined ? undefined : startNotifications({ service, dir, settings: notify, version, onProblem })
  const stopForwarding = forwardPrints(host)
  const stopTelling = async (): Promise<void> => {
    stopForwarding()
    await notifications?.stop()
  }
  const parts: Parts = { options, host, sessions, server, unlock, stopTelling }
  return live(parts, record, ending.promise)
}

/** The unix socket, and a port where one is wanted, with the MCP server on it. */
function listen(options: DaemonOptions, service: Service): Promise<Server> {
  const { dir, version, http, hosts, origins, expose = [], onProblem } = options
  const clientFor = ({ caller }: Visitor) =>
    createClient(serviceConnection(service, { caller: { ...caller, via: 'mcp' }, close: () => Promise.resolve() }))
  return startServer({
    ...{ service, version, onProblem },
    socket: daemonFiles(dir).socket,
    mounts: { '/mcp': mcpMount(clientFor, { version, workflows: expose, onProblem }) },
    ...(http === undefined ? {} : { tcp: http, tokens: openTokens(tokensFile(dir)) }),
    ...(hosts === undefined ? {} : { hosts }),
    ...(origins === undefined ? {} : { origins }),
  })
}

interface Parts {
  readonly options: DaemonOptions
  readonly host: Host
  readonly sessions: SessionManager
  readonly server: Server
  readonly unlock: () => void
  readonly stopTelling: () => Promise<void>
}

function live(parts: Parts, record: DaemonRecord, shutdown: Promise<Actor>): Daemon {
  const { options, host } = parts
  const { say, idle, onProblem } = options
  const ended = Promise.withResolvers<void>()
  let ending: Promise<void> | undefined
  const stop = (why: string): Promise<void> => {
    ending ??= end(parts, [stopRecovering, stopLooking], why).then(ended.resolve, ended.reject)
    return ended.promise
  }
  // Whoever waits for it hears of it there.
  ended.promise.catch(() => undefined)
  const told = new Set<string>()
  tellOfRecovered(host, say, told)
  const recover = async (): Promise<void> => {
    await host.recover()
    tellOfRecovered(host, say, told)
  }
  const stopRecovering = everyNowAndThen(RECOVER_MS, recover, onProblem)
  let needed = Date.now()
  const look = async (): Promise<void> => {
    if (await isAtWork(parts)) needed = Date.now()
    if (idle === undefined || Date.now() - needed < idle) return
    // Looked at last: there may be very many that wait.
    if (await willWake(parts)) needed = Date.now()
    else void stop('nobody needed it')
  }
  const stopLooking =
    idle === undefined ? () => undefined : everyNowAndThen(Math.min(IDLE_LOOK_MS, idle), look, onProblem)
  void shutdown.then(({ by, via }) => stop(`asked by ${by ?? 'somebody'} (${via ?? 'unknown'})`))
  const port = record.url === undefined ? '' : ` and ${record.url}`
  say(`nerve ${record.version} listens at ${record.socket}${port}, process ${record.pid}`)
  return { record, stop, ended: ended.promise }
}

/** Each run that could not be taken up is told of once. */
function tellOfRecovered(
  { recovered: { recovered, left } }: Host,
  say: (text: string) => void,
  told: Set<string>,
): void {
  for (const run of recovered) say(`took up ${run}`)
  for (const { run, reason } of left) {
    if (told.has(run)) continue
    told.add(run)
    say(`left ${run} as it is: ${reason}`)
  }
}

/** Somebody is connected, something runs here, or lives in a session. */
async function isAtWork({ host, sessions, server }: Parts): Promise<boolean> {
  if (server.connections > 0) return true
  const busy = await host.runs({ status: ['queued', 'running'], children: true })
  if (busy.some(({ owner }) => owner === host.id)) return true
  const open = (await sessions.list()).map(({ name }) => sessions.get(name))
  return open.some((session) => session?.list().some(isLiving))
}

/** A terminal or a conversation that would be gone without this process. */
function isLiving({ persistent, state }: { readonly persistent?: boolean; readonly state?: string }): boolean {
  return persistent === true && LIVING.includes(state ?? '')
}

/** Some run waits for a time, and nobody else would wake it. */
async function willWake({ host }: Parts): Promise<boolean> {
  const waiting = await host.runs({ status: ['waiting'], children: true })
  return waiting.some(({ wake }) => wake !== undefined)
}

async function end(parts: Parts, timers: readonly (() => void)[], why: string): Promise<void> {
  const { options, host, sessions, server, unlock, stopTelling } = parts
  const { say, dir, grace = GRACE_MS } = options
  say(`ends: ${why}`)
  for (const stop of timers) stop()
  // Clients that lose it now do not start another one: it did not die.
  removeRecord(daemonFiles(dir).record)
  try {
    await server.close()
    await stopTelling()
    await host.close({ grace })
    for (const { name } of await sessions.list()) await sessions.get(name)?.detach()
  } finally {
    unlock()
  }
  say('ended')
}
