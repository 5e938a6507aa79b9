/** The host of the project, and the run that a person means. */
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { NerveError } from '../../base/nerve-error.ts'
import { configFile, createHost, databaseFile, type Host, type RunRow } from '../../host/api.ts'
import type { LoadedConfig } from '../../host/node-api.ts'
import type { Actor } from '../../journal/events.ts'
import type { Output } from './output.ts'

/** A host that drives only what this command tells it to, and knows nothing but what is recorded. */
export function openHost(dir: string): Promise<Host> {
  return createHost({ dir, recover: false, wake: false })
}

export interface Project {
  readonly host: Host
  /** What the project file says, if there is one. */
  readonly config: LoadedConfig | undefined
}

/** A host that drives only what this command tells it to, with the nodes of the project file. */
export async function openProject(dir: string, out: Output): Promise<Project> {
  const config = await projectConfig(dir, out)
  const { definitions = [], sessions = [] } = config ?? {}
  const onProblem = (error: unknown): void => out.error(error)
  const host = await createHost({ dir, recover: false, wake: false, definitions, sessions, onProblem })
  return { host, config }
}

/** What the project file says; on a terminal, a person is asked first whether it may run. */
export async function projectConfig(dir: string, out: Output): Promise<LoadedConfig | undefined> {
  if (configFile(dir) === undefined) return undefined
  const { loadConfig } = await import('../../host/node-api.ts')
  const { trustQuestion } = await import('./trust-question.ts')
  return loadConfig(dir, { ask: trustQuestion(out) })
}

/** Sees to it that the project file may run later, in a process that has nobody to ask. */
export async function trustProject(dir: string, out: Output): Promise<void> {
  if (configFile(dir) === undefined) return
  const { trustedConfig } = await import('../../host/node-api.ts')
  const { trustQuestion } = await import('./trust-question.ts')
  await trustedConfig(dir, { ask: trustQuestion(out) })
}

/** How a host is opened: to look, unless it is for driving. */
type Opener = (dir: string) => Promise<Host>

export function forDriving(out: Output): Opener {
  return async (dir) => (await openProject(dir, out)).host
}

/** Does something with the project's runs; a folder without runs is left as it is, and has `empty`. */
export async function withRuns<Value>(
  dir: string,
  work: (host: Host) => Promise<Value>,
  empty: () => Value | Promise<Value>,
  open: Opener = openHost,
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
  work: (host: Host, row: RunRow) => Promise<Value>,
  open: Opener = openHost,
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

async function findRun(host: Host, wanted: string): Promise<RunRow> {
  if (wanted !== 'last') return host.run(wanted)
  const [newest] = await newestRuns(host, 1)
  if (newest === undefined) throw new NerveError('not-found', 'There is no last run: there are no runs here.')
  return newest
}

/** Child runs stand in the same list, so more rows may have to be read than are wanted. */
export async function newestRuns(host: Host, count: number): Promise<RunRow[]> {
  for (let limit = count * 2; ; limit *= 4) {
    const rows = await host.runs({ limit, children: true })
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
