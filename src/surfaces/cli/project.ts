/** The host of the project, and the run that a person means. */
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { configFile, createHost, databaseFile, type Host, type RunRow } from '../../host/api.ts'
import { registerCreated } from '../../host/contract/created-definitions.ts'
import type { LoadedConfig } from '../../host/node-api.ts'
import type { Actor, ShownStatus } from '../../journal/events.ts'
import type { Output } from './output.ts'
import type { DaemonHost, RunHost } from './run-host.ts'

/** The daemon, if one runs; else a host in this process that drives nothing, and knows nothing but what is recorded. */
export async function openHost(dir: string): Promise<RunHost> {
  return (await daemonOf(dir)) ?? createHost({ dir, recover: false, wake: false })
}

/** What a daemon leaves for those who look for it; also there when it has died. */
export function daemonTrace(dir: string): string {
  return join(dir, '.nerve', 'server.json')
}

/** Loaded only where there is a trace of one: most commands that look are done before it would be. */
export async function daemonOf(dir: string): Promise<DaemonHost | undefined> {
  if (!existsSync(daemonTrace(dir))) return undefined
  const { runningDaemon } = await import('./project-daemon.ts')
  return runningDaemon(dir)
}

export interface Project {
  readonly host: Host
  /** What the project file says, if there is one. */
  readonly config: LoadedConfig | undefined
}

/** A host that drives only what this command tells it to, with the nodes of the project file. */
export async function openProject(dir: string, out: Output, store?: 'memory'): Promise<Project> {
  const { trustProject } = await import('./trust-project.ts')
  await trustProject(dir, out)
  const config = await projectConfig(dir, out)
  const { definitions = [], sessions = [] } = config ?? {}
  const onProblem = (error: unknown): void => out.error(error)
  const kept = store === undefined ? {} : { store }
  const host = await createHost({ dir, ...kept, recover: false, wake: false, definitions, sessions, onProblem })
  for (const { problem } of (await registerCreated(host)).problems) onProblem(problem)
  return { host, config }
}

/** What the project file says; on a terminal, a person is asked first whether it may run. */
export async function projectConfig(dir: string, out: Output): Promise<LoadedConfig | undefined> {
  if (configFile(dir) === undefined) return undefined
  const { loadConfig } = await import('../../host/node-api.ts')
  const { trustQuestion } = await import('./trust-question.ts')
  return loadConfig(dir, { ask: trustQuestion(out) })
}

/** How a host is opened: to look, unless it is for driving. */
type Opener<Opened extends RunHost> = (dir: string) => Promise<Opened>

/**
 * The daemon, if one runs. At a terminal one is started, so that a run outlives the window, and everywhere one that has died
 * is started again. Else the run is driven in this process, which then ends when it does.
 */
export function forDriving(out: Output): Opener<RunHost> {
  return async (dir) => (await daemonOf(dir)) ?? (await daemonAt(dir, out)) ?? (await openProject(dir, out)).host
}

/** Whoever watches a run wants to see it end: a daemon that has died is started again. An answer may take the run into this process. */
export function forWatching(out: Output): Opener<RunHost> {
  if (out.interactive) return forDriving(out)
  return async (dir) => (await daemonOf(dir)) ?? (await daemonAt(dir, out)) ?? (await openHost(dir))
}

/** Code that is looked at with no effects runs here, whoever has the runs. */
export function inThisProcess(out: Output): Opener<Host> {
  return async (dir) => (await openProject(dir, out)).host
}

async function daemonAt(dir: string, out: Output): Promise<RunHost | undefined> {
  if (!out.interactive && !existsSync(daemonTrace(dir))) return undefined
  const { hasDied, isLocal, startedDaemon } = await import('./project-daemon.ts')
  return isLocal() || !(out.interactive || hasDied(dir)) ? undefined : startedDaemon(dir, out)
}

/** Does something with the project's runs; a folder without runs is left as it is, and has `empty`. */
export function withRuns<Value>(
  dir: string,
  work: (host: RunHost) => Promise<Value>,
  empty: () => Value | Promise<Value>,
): Promise<Value>
export function withRuns<Value, Opened extends RunHost>(
  dir: string,
  work: (host: Opened) => Promise<Value>,
  empty: () => Value | Promise<Value>,
  open: Opener<Opened>,
): Promise<Value>
export async function withRuns<Value>(
  dir: string,
  work: (host: RunHost) => Promise<Value>,
  empty: () => Value | Promise<Value>,
  open: Opener<RunHost> = openHost,
): Promise<Value> {
  if (!existsSync(databaseFile(dir))) return empty()
  const host = await open(dir)
  try {
    return await work(host)
  } finally {
    await host.close()
  }
}

/** For commands about one run. */
export function withRun<Value>(
  dir: string,
  wanted: string,
  work: (host: RunHost, row: RunRow) => Promise<Value>,
): Promise<Value>
export function withRun<Value, Opened extends RunHost>(
  dir: string,
  wanted: string,
  work: (host: Opened, row: RunRow) => Promise<Value>,
  open: Opener<Opened>,
): Promise<Value>
export function withRun<Value>(
  dir: string,
  wanted: string,
  work: (host: RunHost, row: RunRow) => Promise<Value>,
  open: Opener<RunHost> = openHost,
): Promise<Value> {
  return withRuns(
    dir,
    async (host) => work(host, await findRun(host, wanted)),
    () => {
      throw new NerveError('not-found', `There is no run ${wanted}: there are no runs in ${dir}.`)
    },
    open,
  )
}

async function findRun(host: RunHost, wanted: string): Promise<RunRow> {
  if (wanted !== 'last') return host.run(wanted).catch((error: unknown) => unclear(host, wanted, error))
  const [newest] = await newestRuns(host, 1)
  if (newest === undefined) throw new NerveError('not-found', 'There is no last run: there are no runs here.')
  return newest
}

/** So many runs are looked through, and so many are named, for the beginning of an id that fits more than one. */
const MOST_LOOKED = 1_000
const MOST_NAMED = 5

async function unclear(host: RunHost, wanted: string, error: unknown): Promise<never> {
  if (!isNerveError(error, 'not-found')) throw error
  const rows = await host.runs({ limit: MOST_LOOKED, children: true })
  const like = rows.filter(({ run }) => run.startsWith(wanted))
  if (like.length < 2) throw error
  const named = like.slice(0, MOST_NAMED).map(({ run, definition, status }) => `${run} (${definition}, ${status})`)
  const more = like.length > MOST_NAMED ? `, and ${like.length - MOST_NAMED} more` : ''
  throw new NerveError(
    'not-found',
    `More than one run begins with ${wanted}: ${named.join(', ')}${more}. Give more of its id.`,
    { data: { runs: like.map(({ run }) => run) } },
  )
}

/** Which runs are wanted: all of them, where it says nothing. */
interface Wanted {
  readonly status: readonly ShownStatus[]
  readonly definition: string | undefined
}

/** Child runs stand in the same list, so more rows may have to be read than are wanted. */
export async function newestRuns(host: RunHost, count: number, wanted?: Wanted): Promise<RunRow[]> {
  const { status = [], definition } = wanted ?? {}
  const filter = {
    ...(status.length === 0 ? {} : { status }),
    ...(definition === undefined ? {} : { definition }),
  }
  for (let limit = count * 2; ; limit *= 4) {
    const rows = await host.runs({ ...filter, limit, children: true })
    const roots = rows.filter((row) => row.parent === undefined)
    if (roots.length >= count || rows.length < limit) return roots.slice(0, count)
  }
}

export function me(): Actor {
  try {
    return { by: userInfo().username, via: 'cli' }
  } catch {
    return { via: 'cli' }
  }
}
