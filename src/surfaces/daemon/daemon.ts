/**
 * The daemon of a project: the one process that owns its runs, while everything else comes and goes. It takes up what others
 * left, wakes what is due, answers clients, and ends when it is told to or when nobody needs it any more.
 *
 * Invariants:
 *  1. There is one for a folder: it has the lock for as long as it lives, and the system gives the lock back when it dies.
 *  2. Its record is there while it can be asked, and is gone before it ends on purpose. One that was killed leaves it.
 *  3. All of its code is of one version, whatever is installed while it lives.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { NerveError } from '../../base/nerve-error.ts'
import { birthOf } from '../../base/process-life.ts'
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
import { finishesSteps, goesOn } from './at-work.ts'
import {
  daemonFiles,
  isLiving,
  isLivingNode,
  readRecord,
  readStart,
  removeRecord,
  startsStill,
  writeRecord,
  type DaemonRecord,
} from './daemon-files.ts'
import { configMark, marksOf } from './environment.ts'
import { everyNowAndThen } from './every.ts'
import { CHANGE_MS } from './find-daemon.ts'
import { placeKeeper } from './keep-place.ts'
import { keepOwnCode } from './own-code.ts'
import { forwardPrints } from './printed.ts'
import { turnLog } from './turn-log.ts'

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
  /** True while it is needed by somebody who is not connected yet. */
  readonly isHeld?: () => boolean
  /** One line about what it does. */
  readonly say: (text: string) => void
  readonly onProblem: (error: unknown) => void
}

export interface Daemon {
  readonly record: DaemonRecord
  /** Ends it: nothing new starts, what runs has its moment, and the rest is left to the next one. */
  stop(why: string): Promise<void>
  /** Resolves when it has ended, whoever ended it, or when what is left of it is not worth waiting for. */
  readonly ended: Promise<void>
}

const GRACE_MS = 10_000
/** How long everything else may take when it ends: terminals, notifications, connections. */
const REST_MS = 5_000
const LOCK_LOOK_MS = 50
const FIRST_MS = 2_000
const RECOVER_MS = 2_000
const PLACE_MS = 2_000
const IDLE_LOOK_MS = 5_000

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { dir } = options
  keepOwnCode()
  const files = daemonFiles(dir)
  if (!isTrusted(dir)) checkOwnFolder(files.folder)
  await demandOwnRecords(dir)
  makeOwnFolder(files.folder)
  const unlock = await lock(dir)
  try {
    writeRecord(files.start, recordOf(options, {}, undefined))
    return await begin(options, unlock)
  } catch (error) {
    unlock()
    throw error
  } finally {
    rmSync(files.start, { force: true })
  }
}

/** One that is ending, or is not ready yet, is waited for: it may give the lock back. */
async function lock(dir: string): Promise<() => void> {
  for (const deadline = Date.now() + CHANGE_MS; ;) {
    const unlock = holdFile(daemonFiles(dir).lock)
    if (unlock !== undefined) return unlock
    const there = readRecord(dir)
    if ((there !== undefined && isLiving(there)) || Date.now() > deadline) throw runsAlready(there, dir)
    await delay(LOCK_LOOK_MS)
  }
}

function runsAlready(there: DaemonRecord | undefined, dir: string): NerveError {
  const starting = there === undefined ? readStart(dir) : undefined
  if (starting !== undefined)
    return new NerveError('owned-elsewhere', startsStill(starting), { data: { pid: starting.pid } })
  const { pid, socket }: Partial<DaemonRecord> = there ?? {}
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
  const host = await createHost({ dir, definitions, sessions: plans, recover: false, onProblem })
  await recoverFirst(host, onProblem)
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
  const record = recordOf(options, server, mark)
  writeRecord(files.record, record)
  const notifications =
    notify === undefined ? undefined : startNotifications({ service, dir, settings: notify, version, onProblem })
  const stopForwarding = forwardPrints(host)
  const stopTelling = async (): Promise<void> => {
    stopForwarding()
    await notifications?.stop()
  }
  return live({ options, record, host, sessions, server, unlock, stopTelling }, ending.promise)
}

/** Takes up what others left, but does not let itself be held up: there may be much, and a file may take its time to load. */
async function recoverFirst(host: Host, onProblem: (error: unknown) => void): Promise<void> {
  const over = new AbortController()
  const late = delay(FIRST_MS, undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([host.recover().catch(onProblem), late])
  over.abort()
}

function recordOf(
  { dir, version, options }: DaemonOptions,
  server: Partial<Pick<Server, 'url' | 'socket'>>,
  config: string | undefined,
): DaemonRecord {
  const { pid } = process
  const [birth, { url, socket = daemonFiles(dir).socket }] = [birthOf(pid), server]
  return {
    ...{ pid, ...(birth === undefined ? {} : { birth }), dir, version, socket, ...(url === undefined ? {} : { url }) },
    ...(options === undefined ? {} : { options }),
    ...{ started: Date.now(), environment: marksOf(process.env), ...(config === undefined ? {} : { config }) },
  }
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
  readonly record: DaemonRecord
  readonly host: Host
  readonly sessions: SessionManager
  readonly server: Server
  readonly unlock: () => void
  readonly stopTelling: () => Promise<void>
}

function live(parts: Parts, shutdown: Promise<Actor>): Daemon {
  const { options, record, host } = parts
  const { dir, say, onProblem } = options
  const ended = Promise.withResolvers<void>()
  let ending: Promise<void> | undefined
  const finish = (why: string): Promise<void> => {
    ending ??= end(parts, timers, why).then(ended.resolve, ended.reject)
    return ended.promise
  }
  const stop = (why: string): Promise<void> => {
    // Where somebody asked for it, watchers were told by whom.
    if (ending === undefined) host.emit('', 'host-stopping', {})
    return finish(why)
  }
  // Whoever waits for it hears of it there.
  ended.promise.catch(() => undefined)
  const told = new Set<string>()
  tellOfRecovered(host, say, told)
  const recover = async (): Promise<void> => {
    await host.recover()
    tellOfRecovered(host, say, told)
  }
  const findPlace = placeKeeper({ dir, record, server: parts.server })
  const keepPlace = async (): Promise<void> => {
    turnLog(daemonFiles(dir).log)
    const why = await findPlace()
    if (why !== undefined) void stop(why)
  }
  const timers = [
    everyNowAndThen(RECOVER_MS, recover, onProblem),
    everyNowAndThen(PLACE_MS, keepPlace, onProblem),
    ...endIdle(parts, stop),
  ]
  void shutdown.then(({ by, via }) => finish(`asked by ${by ?? 'somebody'} (${via ?? 'unknown'})`))
  const port = record.url === undefined ? '' : ` and ${record.url}`
  say(`nerve ${record.version} listens at ${record.socket}${port}, process ${record.pid}`)
  return { record, stop, ended: ended.promise }
}

/** Ends it after a time in which nobody needed it, where one was said. */
function endIdle(parts: Parts, stop: (why: string) => Promise<void>): (() => void)[] {
  const { idle, onProblem } = parts.options
  if (idle === undefined) return []
  let needed = performance.now()
  const look = async (): Promise<void> => {
    if (await isAtWork(parts)) needed = performance.now()
    if (performance.now() - needed < idle) return
    // Looked at last: there may be very many that wait.
    if ((await willWake(parts)) || (await finishesSteps(parts.host, isOwn(parts)))) needed = performance.now()
    // Somebody may have come while that was looked at.
    else if (parts.server.connections === 0) void stop('nobody needed it')
  }
  return [everyNowAndThen(Math.min(IDLE_LOOK_MS, idle), look, onProblem)]
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
async function isAtWork(parts: Parts): Promise<boolean> {
  const { options, host, sessions, server } = parts
  if (server.connections > 0 || options.isHeld?.() === true || (await goesOn(host, isOwn(parts)))) return true
  const open = (await sessions.list()).map(({ name }) => sessions.get(name))
  return open.some((session) => session?.list().some(isLivingNode))
}

function isOwn({ host }: Parts): (row: { readonly owner?: string }) => boolean {
  return ({ owner }) => owner === host.id
}

/** Some run waits for a time, and nobody else would wake it. */
async function willWake({ host }: Parts): Promise<boolean> {
  const waiting = await host.runs({ status: ['waiting'], children: true })
  return waiting.some(({ wake }) => wake !== undefined)
}

async function end(parts: Parts, timers: readonly (() => void)[], why: string): Promise<void> {
  const { options, record, unlock } = parts
  const { say, dir, onProblem, grace = GRACE_MS } = options
  say(`ends: ${why}`)
  for (const stop of timers) stop()
  try {
    // Clients that lose it now do not start another one: it did not die.
    removeRecord(dir, record)
  } catch (error) {
    // The steps that run have their moment all the same.
    onProblem(error)
  }
  // What watchers are told goes out before anything closes.
  await turn()
  const late = new AbortController()
  try {
    const isDone = await Promise.race([
      letGo(parts, grace).then(() => true),
      delay(grace + REST_MS, false, { signal: late.signal }),
    ])
    say(isDone ? 'ended' : 'ended, without waiting for what is still under way')
  } finally {
    late.abort()
    unlock()
  }
}

async function letGo({ host, sessions, server, stopTelling }: Parts, grace: number): Promise<void> {
  await server.close()
  await stopTelling()
  await host.close({ grace })
  await sessions.detachAll()
}
