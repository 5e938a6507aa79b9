/**
 * The nodes of the project, for the commands of `nerve node` and `nerve session`. They speak to the daemon when one runs, and
 * to a host in this process when none does, in the same words.
 */
import { existsSync } from 'node:fs'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { nearest } from '../../base/nearest.ts'
import type { CatalogEntry, HistoryFilter, HistoryRead, SessionOverview } from '../../host/node-api.ts'
import type { Client } from '../client/client.ts'
import type { Invocation } from './dispatch.ts'
import { UsageError } from './exit-code.ts'
import type { Output } from './output.ts'
import { daemonOf, daemonTrace, projectConfig } from './project.ts'
import type { DaemonHost } from './run-host.ts'

export interface ProjectNodes {
  readonly client: Client
  readonly catalog: readonly CatalogEntry[]
  /** Where what is started lives on between two commands; undefined when all of it ends with this process. */
  readonly daemon: DaemonHost | undefined
}

/** What there is to be looked at, without opening or starting anything. */
export interface Looked {
  readonly catalog: readonly CatalogEntry[]
  readonly sessions: () => Promise<readonly SessionOverview[]>
  readonly history: (entry: CatalogEntry, filter: HistoryFilter) => Promise<HistoryRead>
}

/** Looks at nodes. A folder without any is left as it is. */
export async function lookAtNodes<Value>(
  invocation: Invocation,
  work: (looked: Looked) => Promise<Value>,
): Promise<Value> {
  const { args, out, dir } = invocation
  const wanted = args.text('session')
  const ofSession = (all: readonly CatalogEntry[]): readonly CatalogEntry[] =>
    wanted === undefined ? all : all.filter((entry) => entry.session === wanted)
  const daemon = await daemonOf(dir)
  if (daemon === undefined) {
    const { nodeHistory, sessionCatalog, sessionSummaries } = await import('../../host/node-api.ts')
    const plans = (await projectConfig(dir, out))?.sessions ?? []
    return work({
      catalog: ofSession(await sessionCatalog(dir, plans)),
      sessions: () => sessionSummaries(dir, plans),
      history: ({ session, name }, filter) => nodeHistory({ dir, session, node: name }, filter),
    })
  }
  const { client } = daemon.daemon
  try {
    await tellOfConfig(daemon, dir)
    const all = await client.call('nodes.list', {})
    return await work({
      catalog: ofSession(all),
      sessions: () => sessionsThere(client, all),
      history: (entry, { operation, ...filter }) =>
        client.call('nodes.history', {
          ...placeOf(entry),
          ...filter,
          ...(operation === undefined ? {} : { operation: [operation].flat() }),
        }),
    })
  } finally {
    await daemon.close()
  }
}

async function sessionsThere(client: Client, all: readonly CatalogEntry[]): Promise<readonly SessionOverview[]> {
  return (await client.call('sessions.list', {})).map(({ name, tags, planned }) => ({
    ...{ name, tags, planned },
    members: all.filter(({ session }) => session === name).length,
  }))
}

/** Does something with nodes. Without a daemon, what can live without this process is left running at the end. */
export async function withNodes<Value>(
  invocation: Invocation,
  work: (nodes: ProjectNodes) => Promise<Value>,
): Promise<Value> {
  const { client, daemon, end } = await opened(invocation)
  try {
    return await work({ client, daemon, catalog: await client.call('nodes.list', {}) })
  } catch (error) {
    throw withWayOut(error)
  } finally {
    await end()
  }
}

export interface OpenedNodes {
  readonly client: Client
  readonly daemon: DaemonHost | undefined
  readonly end: () => Promise<void>
}

async function opened({ out, dir }: Invocation): Promise<OpenedNodes> {
  const daemon = existsSync(daemonTrace(dir)) ? await lastingDaemon(dir, out) : undefined
  if (daemon !== undefined) return { client: daemon.daemon.client, daemon, end: () => daemon.close() }
  // With a daemon there is no need to load what makes and runs nodes.
  const { nodesHere } = await import('./nodes-here.ts')
  return nodesHere(dir, out)
}

/** What lives in a daemon that has died needs another one. */
async function lastingDaemon(dir: string, out: Output): Promise<DaemonHost | undefined> {
  const found = await (await import('./project-daemon.ts')).lastingDaemon(dir, out)
  if (found !== undefined) await tellOfConfig(found, dir)
  return found
}

/** What the daemon knows of the nodes of the project file it knows from its start. */
async function tellOfConfig(daemon: DaemonHost, dir: string): Promise<void> {
  const { tellOfConfig: tell } = await import('./project-daemon.ts')
  tell(daemon, dir)
}

/** How a node is named to a host. */
export function placeOf({ name, session }: CatalogEntry): { readonly node: string; readonly session: string } {
  return { node: name, session }
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
