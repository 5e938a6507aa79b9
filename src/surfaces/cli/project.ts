/** The project folder, its host, and the run that a person means. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { userInfo } from 'node:os'
import { NerveError } from '../../base/nerve-error.ts'
import { createHost, databaseFile, type Host, type RunRow } from '../../host/api.ts'
import type { Actor } from '../../journal/events.ts'
import { UsageError } from './exit-code.ts'

/** The nearest folder from here upwards that has .nerve; else that has package.json or .git; else this one. */
export function projectFolder(cwd: string, given: string | undefined): string {
  if (given !== undefined) {
    const dir = resolve(cwd, given)
    if (!existsSync(dir) || !statSync(dir).isDirectory()) throw new UsageError(`--dir: there is no folder ${given}.`)
    return dir
  }
  const folders = upwards(cwd)
  const has = (...names: string[]) => folders.find((folder) => names.some((name) => existsSync(join(folder, name))))
  return has('.nerve') ?? has('package.json', '.git') ?? cwd
}

function upwards(cwd: string): string[] {
  const folders = [cwd]
  for (let at = cwd; dirname(at) !== at; at = dirname(at)) folders.push(dirname(at))
  return folders
}

/** A host that drives only what this command tells it to. */
export function openHost(dir: string, onProblem?: (error: unknown) => void): Promise<Host> {
  return createHost({ dir, recover: false, wake: false, ...(onProblem === undefined ? {} : { onProblem }) })
}

/** Does something with the project's runs; a folder without runs is left as it is, and has `empty`. */
export async function withRuns<Value>(
  dir: string,
  work: (host: Host) => Promise<Value>,
  empty: () => Value | Promise<Value>,
): Promise<Value> {
  if (!existsSync(databaseFile(dir))) return empty()
  const host = await openHost(dir)
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
): Promise<Value> {
  return withRuns(
    dir,
    async (host) => work(host, await findRun(host, wanted)),
    () => {
      throw new NerveError('not-found', `There is no run ${wanted}: there are no runs in ${dir}.`)
    },
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
