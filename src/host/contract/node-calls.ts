/** What the contract says about sessions and nodes. */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { Actor } from '../../journal/events.ts'
import { DEFAULT_SESSION, withDefaults } from '../config/check-config.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'
import { nodeHistory } from '../history/history-reader.ts'
import type { ManagedNode } from '../sessions/managed-node.ts'
import { nodeFactory } from '../sessions/node-kinds.ts'
import { sendingDefinition, startSend } from '../sessions/sending.ts'
import type { CatalogEntry } from '../sessions/session-catalog.ts'
import type { SessionManager } from '../sessions/session-manager.ts'
import type { Session } from '../sessions/session.ts'
import { given, type Calls, type Feeds } from './calls.ts'
import type { CallName, Output } from './contract.ts'
import { refuseCreated } from './created-definitions.ts'
import { endNode, removeNode } from './end-node.ts'
import { Places, onlyInControl, type NodeCallOptions, type Wanted } from './places.ts'
import { sessionCalls } from './session-calls.ts'
import { startedFeed } from './started-feed.ts'
import { watchFeed } from './watch-feed.ts'

type Names = Extract<CallName, `sessions.${string}` | `nodes.${string}`>
type Using = `nodes.${'run' | 'write' | 'read' | 'interrupt' | 'start' | 'reset' | 'stop'}`
type Keeping = `nodes.${'list' | 'get' | 'kinds' | 'create' | 'remove' | 'fork'}`

export function nodeCalls(host: Host, options: NodeCallOptions): Calls<Names> {
  const places = new Places(host, options)
  return {
    ...sessionCalls(options, places),
    ...usingCalls(places),
    ...executingCalls(host, places, options),
    ...keepingCalls(host, places, options),
  }
}

/** The feeds that are about nodes. */
export function nodeFeeds(host: Host, options: NodeCallOptions): Feeds<'nodes.stream' | 'nodes.watch'> {
  const places = new Places(host, options)
  return {
    'nodes.stream': (wanted, asked) =>
      startedFeed(host, () => startIn(host, places, { ...wanted, ...asked.actor }), asked),
    'nodes.watch': (wanted, { signal, onlyLooks }) =>
      watchFeed(onlyLooks ? places.running(wanted) : places.beside(wanted), signal),
  }
}

function usingCalls(places: Places): Calls<Using> {
  return {
    'nodes.run': ({ line, ...wanted }) => places.use(places.reached(wanted), (node) => node.use('run', line)),
    'nodes.write': ({ text, ...wanted }) => places.use(places.reached(wanted), (node) => node.use('write', text)),
    'nodes.read': async ({ tail, screen, ...wanted }, { onlyLooks }) => {
      if (onlyLooks && tail === undefined && screen !== true)
        throw onlyInControl('To read on is to take what was printed from others: give tail or screen, or come')
      const { node, letGo } = await (onlyLooks ? places.running(wanted) : places.reached(wanted))
      try {
        return await readNode(node, given({ tail, screen }))
      } finally {
        await letGo()
      }
    },
    'nodes.interrupt': (wanted) =>
      places.use(places.reached(wanted), async (node, { pane }) => {
        // What runs in a pane goes on without this process: it has to be taken hold of first.
        if (pane !== undefined) await node.start()
        await node.interrupt()
      }),
    'nodes.start': (wanted) => places.use(places.held(wanted), (node) => node.start()),
    'nodes.reset': (wanted) => places.use(places.held(wanted), (node) => node.reset()),
    'nodes.stop': (wanted) => places.use(places.held(wanted), endNode),
  }
}

function executingCalls(
  host: Host,
  places: Places,
  { sessions }: NodeCallOptions,
): Calls<'nodes.execute' | 'nodes.history'> {
  return {
    'nodes.execute': async ({ input, wait, ...wanted }, { actor }) => {
      const handle = await startIn(host, places, { ...wanted, ...actor, input })
      return wait === false ? { run: handle.id } : { run: handle.id, output: await handle.result() }
    },
    'nodes.history': async ({ node, session: of, ...filter }, asked) => {
      const { name, session } = await places.find({ node, session: of })
      const { dir } = host
      // Nothing is opened to be read; what is open may have lines that are not written yet.
      const open = sessions.get(session) ?? (dir === undefined ? await sessions.open(session) : undefined)
      const read = async () =>
        open?.history(name, given(filter)) ?? nodeHistory({ dir: dir ?? '', session, node: name }, given(filter))
      const { entries, unreadable } = await asked.read(read)
      return { entries: [...entries], unreadable }
    },
  }
}

interface Given extends Actor {
  readonly input?: unknown
}

/** Starts the run in which a node is executed. One that keeps nothing does not wait for a session that another process has open. */
async function startIn(host: Host, places: Places, { input, by, via, ...wanted }: Wanted & Given): Promise<Handle> {
  const entry = await places.find(wanted)
  const sent = { node: entry.name, ...given({ input }) }
  const actor = given({ by, via })
  try {
    return await startSend(host, (await places.open(entry.session)).name, sent, actor)
  } catch (error) {
    if (!isNerveError(error, 'owned-elsewhere') || entry.type !== 'node' || entry.persistent === true) throw error
    const { node } = await places.byItself(entry)
    return host.start(
      sendingDefinition(entry.session, () => node),
      sent,
      actor,
    )
  }
}

function keepingCalls(host: Host, places: Places, { sessions, fields }: NodeCallOptions): Calls<Keeping> {
  return {
    'nodes.list': async ({ session }) =>
      (await places.catalog()).filter((entry) => session === undefined || entry.session === session),
    'nodes.get': async (wanted) => shownNode(places, sessions, await places.find(wanted)),
    'nodes.kinds': () => [...nodeFactory.kinds()],
    'nodes.create': async ({ session: name = DEFAULT_SESSION, config }) => {
      const { dir } = host
      refuseCreated(dir, config.id)
      const node = await nodeFactory.create(dir === undefined ? config : withDefaults(config, { dir, fields }))
      refuseSecrets(nodeFactory.recorded(node)?.omitted ?? [])
      const session = await openOrMake(places, sessions, name)
      const [added = config.id] = await session.add(node)
      host.emit(nodePath(session.name, added), 'node-created', { node: added })
      return { session: session.name, node: added }
    },
    'nodes.remove': async (wanted) => {
      const entry = await places.find(wanted)
      const { name, session, planned, pane } = entry
      if (planned) throw new NerveError('bad-option', `'${name}' comes from nerve.config: take it out there.`)
      const open = sessions.get(session) ?? (pane === undefined ? undefined : await places.open(session))
      await (open === undefined ? sessions.forget(session, name) : removeNode(open, entry))
      host.emit(nodePath(session, name), 'node-removed', { node: name })
      return { ok: true }
    },
    'nodes.fork': async ({ as, ...wanted }) => {
      if (as !== undefined) refuseCreated(host.dir, as)
      const { entry, session } = await places.opened(wanted)
      const copy = await session.fork(entry.name, as)
      host.emit(nodePath(entry.session, copy), 'node-created', { node: copy, forkedFrom: entry.name })
      return { session: entry.session, node: copy }
    },
  }
}

/** What there is to know of a node. Where its session is not open, it is made to be asked, and not started. */
async function shownNode(places: Places, sessions: SessionManager, entry: CatalogEntry): Promise<Output<'nodes.get'>> {
  const open = sessions.get(entry.session)
  if (open === undefined && entry.type === 'node') {
    try {
      return { ...entry, info: (await places.byItself(entry)).node.info() }
    } catch (error) {
      if (!isNerveError(error)) throw error
      return { ...entry, problem: error.message }
    }
  }
  const member = open?.get(entry.name)
  return { ...entry, ...(isManaged(member) ? { info: member.info() } : {}) }
}

/** Where the live parts of a node are told; its states are told there too. */
function nodePath(session: string, node: string): string {
  return `session/${session}/node/${node}`
}

function isManaged(member: ReturnType<Session['get']>): member is ManagedNode {
  return member !== undefined && 'execute' in member
}

async function openOrMake(places: Places, sessions: SessionManager, name: string): Promise<Session> {
  try {
    return await places.open(name)
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
    await begun(node)
    const now = await shown.screen()
    return { text: now.rows.join('\n'), screen: now }
  }
  if (tail === undefined) return { text: String(await node.use('read')) }
  if (shown.readTail === undefined)
    throw new NerveError('bad-option', `Node '${node.id}' (${node.kind}) has no lines to read.`)
  await begun(node)
  return { text: shown.readTail(tail) }
}

/** One that has stopped is not started by being looked at. */
async function begun(node: ManagedNode): Promise<void> {
  if (node.state !== 'stopped') await node.start()
}
