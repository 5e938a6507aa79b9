/** What the contract says about sessions and nodes. */
import { nearest } from '../../base/nearest.ts'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { DEFAULT_SESSION, withDefaults } from '../config/check-config.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'
import type { ManagedNode } from '../sessions/managed-node.ts'
import { nodeFactory } from '../sessions/node-kinds.ts'
import { startSend } from '../sessions/sending.ts'
import { sessionCatalog, type CatalogEntry } from '../sessions/session-catalog.ts'
import type { SessionManager } from '../sessions/session-manager.ts'
import type { Session, SessionPlan } from '../sessions/session.ts'
import { given, type Calls } from './calls.ts'
import type { CallName, Output } from './contract.ts'

export interface NodeCallOptions {
  readonly sessions: SessionManager
  readonly plans: readonly SessionPlan[]
  /** Fields of the project file that are laid under those of new nodes, by kind. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

interface Wanted {
  readonly node: string
  readonly session?: string | undefined
}

type Names = Extract<CallName, `sessions.${string}` | `nodes.${string}`>
type Sessions = Extract<Names, `sessions.${string}`>
type Using = `nodes.${'run' | 'write' | 'read' | 'interrupt' | 'reset' | 'stop'}`

export function nodeCalls(host: Host, options: NodeCallOptions): Calls<Names> {
  const places = new Places(host, options)
  return {
    ...sessionCalls(options.sessions),
    ...usingCalls(places),
    ...executingCalls(host, places),
    ...keepingCalls(host, places, options),
  }
}

/** Where nodes are. */
class Places {
  readonly #host: Host
  readonly #options: NodeCallOptions

  constructor(host: Host, options: NodeCallOptions) {
    this.#host = host
    this.#options = options
  }

  catalog(): Promise<readonly CatalogEntry[]> {
    const { dir } = this.#host
    const { sessions, plans } = this.#options
    return dir === undefined ? openMembers(sessions) : sessionCatalog(dir, plans)
  }

  async find(wanted: Wanted): Promise<CatalogEntry> {
    return findNode(await this.catalog(), wanted)
  }

  /** With its session open. */
  async opened(wanted: Wanted): Promise<{ readonly entry: CatalogEntry; readonly session: Session }> {
    const entry = await this.find(wanted)
    return { entry, session: await this.#options.sessions.open(entry.session) }
  }

  async use(wanted: Wanted, work: (node: ManagedNode) => Promise<unknown>): Promise<Output<'nodes.stop'>> {
    const { entry, session } = await this.opened(wanted)
    await work(session.node(entry.name))
    return { session: entry.session, node: entry.name }
  }
}

function sessionCalls(sessions: SessionManager): Calls<Sessions> {
  return {
    'sessions.list': async () => (await sessions.list()).map((one) => ({ ...one, tags: [...one.tags] })),
    'sessions.get': async ({ session }) => {
      const { members, ...record } = await sessions.record(session)
      const open = sessions.get(session)
      const shown = (open?.list() ?? members).map((member) => ({ ...member }))
      return { ...record, open: open !== undefined, members: shown }
    },
    'sessions.close': async ({ session }) => {
      const { stopped, problems } = await sessions.close(session)
      return { stopped: [...stopped], problems: problems.map(({ node, error }) => ({ node, error: String(error) })) }
    },
  }
}

function usingCalls(places: Places): Calls<Using> {
  return {
    'nodes.run': ({ line, ...wanted }) => places.use(wanted, (node) => node.use('run', line)),
    'nodes.write': ({ text, ...wanted }) => places.use(wanted, (node) => node.use('write', text)),
    'nodes.read': async ({ tail, screen, ...wanted }) => {
      const { entry, session } = await places.opened(wanted)
      return readNode(session.node(entry.name), given({ tail, screen }))
    },
    'nodes.interrupt': (wanted) => places.use(wanted, (node) => node.interrupt()),
    'nodes.reset': (wanted) => places.use(wanted, (node) => node.reset()),
    'nodes.stop': (wanted) => places.use(wanted, (node) => node.stop()),
  }
}

function executingCalls(host: Host, places: Places): Calls<'nodes.execute' | 'nodes.history' | 'nodes.fork'> {
  return {
    'nodes.execute': async ({ input, wait, ...wanted }) => {
      const handle = await startIn(host, places, { ...wanted, input })
      return wait === false ? { run: handle.id } : { run: handle.id, output: await handle.result() }
    },
    'nodes.history': async ({ node, session: of, ...filter }) => {
      const { entry, session } = await places.opened({ node, session: of })
      const { entries, unreadable } = await session.history(entry.name, given(filter))
      return { entries: [...entries], unreadable }
    },
    'nodes.fork': async ({ as, ...wanted }) => {
      const { entry, session } = await places.opened(wanted)
      return { session: entry.session, node: await session.fork(entry.name, as) }
    },
  }
}

/** Starts the run in which a node is executed. */
export function startNode(host: Host, options: NodeCallOptions, wanted: Wanted & Given): Promise<Handle> {
  return startIn(host, new Places(host, options), wanted)
}

interface Given {
  readonly input?: unknown
}

async function startIn(host: Host, places: Places, { input, ...wanted }: Wanted & Given): Promise<Handle> {
  const { entry, session } = await places.opened(wanted)
  return startSend(host, session.name, { node: entry.name, ...given({ input }) })
}

function keepingCalls(
  host: Host,
  places: Places,
  { sessions, fields }: NodeCallOptions,
): Calls<`nodes.${'list' | 'get' | 'create' | 'remove'}`> {
  return {
    'nodes.list': async ({ session }) =>
      (await places.catalog()).filter((entry) => session === undefined || entry.session === session),
    'nodes.get': async (wanted) => {
      const entry = await places.find(wanted)
      const member = sessions.get(entry.session)?.get(entry.name)
      return { ...entry, ...(isManaged(member) ? { info: member.info() } : {}) }
    },
    'nodes.create': async ({ session: name = DEFAULT_SESSION, config }) => {
      const { dir } = host
      const node = await nodeFactory.create(dir === undefined ? config : withDefaults(config, { dir, fields }))
      refuseSecrets(nodeFactory.recorded(node)?.omitted ?? [])
      const session = await openOrMake(sessions, name)
      const [added = config.id] = await session.add(node)
      return { session: session.name, node: added }
    },
    'nodes.remove': async (wanted) => {
      const { name, session, planned, pane } = await places.find(wanted)
      if (planned) throw new NerveError('bad-option', `'${name}' comes from nerve.config: take it out there.`)
      const open = sessions.get(session) ?? (pane === undefined ? undefined : await sessions.open(session))
      // What lives on without this process has to be taken hold of before it can be ended.
      if (pane !== undefined) await open?.node(name).start()
      await (open === undefined ? sessions.forget(session, name) : open.remove(name))
      return { ok: true }
    },
  }
}

function isManaged(member: ReturnType<Session['get']>): member is ManagedNode {
  return member !== undefined && 'execute' in member
}

/** Without a project folder there are only the open ones. */
async function openMembers(sessions: SessionManager): Promise<readonly CatalogEntry[]> {
  const all = (await sessions.list()).map(({ name }) => sessions.get(name)).filter((one) => one !== undefined)
  return all.flatMap((session) =>
    session.list().map((member) => ({ ...member, session: session.name, tags: session.tags, planned: false })),
  )
}

function findNode(catalog: readonly CatalogEntry[], { node, session }: Wanted): CatalogEntry {
  const here = catalog.filter((entry) => session === undefined || entry.session === session)
  const [found, other] = here.filter(({ name }) => name === node)
  if (found !== undefined && other !== undefined)
    throw new NerveError(
      'bad-input',
      `'${node}' is in the sessions ${found.session} and ${other.session}: give session.`,
      {
        data: { field: 'session' },
      },
    )
  if (found !== undefined) return found
  const meant = nearest(
    node,
    here.map(({ name }) => name),
  )
  const where = session === undefined ? 'in this project' : `in session '${session}'`
  const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`
  throw new NerveError('not-found', `There is no node '${node}' ${where}.${hint}`, { data: { node } })
}

async function openOrMake(sessions: SessionManager, name: string): Promise<Session> {
  try {
    return await sessions.open(name)
  } catch (error) {
    if (!isNerveError(error, 'not-found')) throw error
    return sessions.create({ name })
  }
}

function refuseSecrets(omitted: readonly string[]): void {
  if (omitted.length === 0) return
  throw new NerveError(
    'bad-option',
    `${omitted.join(', ')} looks like a secret, and secrets are not recorded. Let the node take it from the environment ` +
      '(inherit), or make the node in nerve.config.ts.',
    { data: { omitted } },
  )
}

/** What some terminals can do beside `read`. */
interface Shown {
  readonly readTail?: (lines: number) => string
  readonly screen?: () => Promise<{ readonly rows: readonly string[] }>
}

async function readNode(
  node: ManagedNode,
  { tail, screen }: { readonly tail?: number; readonly screen?: boolean },
): Promise<Output<'nodes.read'>> {
  const shown = node.node as unknown as Shown
  if (screen === true) {
    if (shown.screen === undefined)
      throw new NerveError('bad-option', `Node '${node.id}' (${node.kind}) has no screen.`)
    await node.start()
    const now = await shown.screen()
    return { text: now.rows.join('\n'), screen: now }
  }
  if (tail === undefined) return { text: String(await node.use('read')) }
  if (shown.readTail === undefined)
    throw new NerveError('bad-option', `Node '${node.id}' (${node.kind}) has no lines to read.`)
  await node.start()
  return { text: shown.readTail(tail) }
}
