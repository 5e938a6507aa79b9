/** The nodes of the project, for the commands of `nerve node`. */
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { nearest } from '../../base/nearest.ts'
import type { Host } from '../../host/api.ts'
import {
  createSessionManager,
  sessionCatalog,
  type CatalogEntry,
  type LoadedConfig,
  type Session,
  type SessionManager,
} from '../../host/node-api.ts'
import type { Invocation } from './dispatch.ts'
import { UsageError } from './exit-code.ts'
import { openProject, projectConfig } from './project.ts'

const PATIENCE_MS = 1_000
const LOOK_MS = 50

export interface ProjectNodes {
  readonly host: Host
  readonly sessions: SessionManager
  readonly catalog: readonly CatalogEntry[]
  readonly config: LoadedConfig | undefined
  /** A session that is there. One that another process has open is waited for, but not for long. */
  readonly open: (session: string) => Promise<Session>
  /** Something to be done when the command has done its work. */
  readonly beforeEnd: (last: () => Promise<unknown>) => void
}

/** What there is. Opens nothing, and leaves a folder without nodes as it is. */
export async function readCatalog({ args, out, dir }: Invocation): Promise<readonly CatalogEntry[]> {
  const config = await projectConfig(dir, out)
  const all = await sessionCatalog(dir, config?.sessions ?? [])
  const session = args.text('session')
  return session === undefined ? all : all.filter((entry) => entry.session === session)
}

/** Does something with nodes. What can live without this process is left running at the end. */
export async function withNodes<Value>(
  { out, dir }: Invocation,
  work: (nodes: ProjectNodes) => Promise<Value>,
): Promise<Value> {
  const { host, config } = await openProject(dir, out)
  const plans = config?.sessions ?? []
  const sessions = createSessionManager(host, { plans, lazy: true, onProblem: (error) => out.error(error) })
  const atEnd: (() => Promise<unknown>)[] = []
  const beforeEnd = (last: () => Promise<unknown>): void => void atEnd.push(last)
  try {
    const open = (session: string): Promise<Session> => patiently(() => sessions.open(session))
    return await work({ host, sessions, config, catalog: await sessionCatalog(dir, plans), open, beforeEnd })
  } catch (error) {
    throw withWayOut(error)
  } finally {
    for (const last of atEnd) await last()
    for (const { name } of await sessions.list()) await sessions.get(name)?.detach()
    await host.close()
  }
}

/** Most commands have a session open for a moment only. */
async function patiently<Value>(work: () => Promise<Value>): Promise<Value> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isNerveError(error, 'owned-elsewhere') || Date.now() > deadline) throw error
      await delay(LOOK_MS)
    }
  }
}

/** The node that a person means, by its name. */
export function findNode(catalog: readonly CatalogEntry[], { args }: Invocation): CatalogEntry {
  const [name = ''] = args.words
  const session = args.text('session')
  const here = catalog.filter((entry) => session === undefined || entry.session === session)
  const [found, other] = here.filter((entry) => entry.name === name)
  if (found !== undefined && other !== undefined)
    throw new UsageError(`'${name}' is in the sessions ${found.session} and ${other.session}: give --session NAME.`)
  if (found !== undefined) return found
  const near = nearest(
    name,
    here.map((entry) => entry.name),
  )
  const where = session === undefined ? 'in this project' : `in session '${session}'`
  const hint = near === undefined ? 'See: nerve node list' : `Did you mean '${near}'?`
  throw new NerveError('not-found', `There is no node '${name}' ${where}. ${hint}`, { data: { name } })
}

/** A session with something in it that cannot be made again can be opened by programs; here it has to go, or come back. */
function withWayOut(error: unknown): unknown {
  if (!isNerveError(error, 'not-ready') || error.data['problems'] === undefined) return error
  const { code, message, data } = error
  const more = 'Here: put it into nerve.config.ts, or take it out with: nerve node remove NAME'
  return new NerveError(code, `${message} ${more}`, { data, cause: error })
}
