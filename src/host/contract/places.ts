/** Where the nodes of a project are: in which sessions, open or not. */
import { nearest } from '../../base/nearest.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { Host } from '../host.ts'
import type { ManagedNode } from '../sessions/managed-node.ts'
import { nodeByItself, plannedEntries, sessionCatalog, type CatalogEntry } from '../sessions/session-catalog.ts'
import type { SessionManager } from '../sessions/session-manager.ts'
import type { Session, SessionPlan } from '../sessions/session.ts'
import type { Output } from './contract.ts'

export interface NodeCallOptions {
  readonly sessions: SessionManager
  readonly plans: readonly SessionPlan[]
  /** Fields of the project file that are laid under those of new nodes, by kind. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** A node in the hand of somebody, who lets it go again. */
export interface Reached {
  readonly entry: CatalogEntry
  readonly node: ManagedNode
  readonly letGo: () => Promise<void>
}

const PATIENCE_MS = 1_000
const LOOK_MS = 50

export interface Wanted {
  readonly node: string
  readonly session?: string | undefined
}

export class Places {
  readonly #host: Host
  readonly #options: NodeCallOptions

  constructor(host: Host, options: NodeCallOptions) {
    this.#host = host
    this.#options = options
  }

  catalog(): Promise<readonly CatalogEntry[]> {
    const { dir } = this.#host
    const { sessions, plans } = this.#options
    return dir === undefined ? unrecorded(sessions, plans) : sessionCatalog(dir, plans)
  }

  async find(wanted: Wanted): Promise<CatalogEntry> {
    return findNode(await this.catalog(), wanted)
  }

  /** With its session open. */
  async opened(wanted: Wanted): Promise<{ readonly entry: CatalogEntry; readonly session: Session }> {
    const entry = await this.find(wanted)
    return { entry, session: await this.open(entry.session) }
  }

  /** Most commands have a session open for a moment only: one that another process has open is waited for, but not for long. */
  async open(session: string): Promise<Session> {
    const deadline = Date.now() + PATIENCE_MS
    for (;;) {
      try {
        return await this.#options.sessions.open(session)
      } catch (error) {
        if (!isNerveError(error, 'owned-elsewhere') || Date.now() > deadline) throw error
        await delay(LOOK_MS)
      }
    }
  }

  /** The node in its session. */
  async held(wanted: Wanted): Promise<Reached> {
    const { entry, session } = await this.opened(wanted)
    return { entry, node: session.node(entry.name), letGo: () => Promise.resolve() }
  }

  /** The same; but what lives in a pane can be reached there while another process has its session open. */
  async reached(wanted: Wanted): Promise<Reached> {
    try {
      return await this.held(wanted)
    } catch (error) {
      if (!isNerveError(error, 'owned-elsewhere')) throw error
      const entry = await this.find(wanted)
      if (entry.pane === undefined) throw error
      return this.byItself(entry)
    }
  }

  /** To look on: what lives in a pane is left to those who have its session open, or will. */
  async beside(wanted: Wanted): Promise<Reached> {
    const entry = await this.find(wanted)
    const isOpen = this.#options.sessions.get(entry.session) !== undefined
    return isOpen || entry.pane === undefined ? this.held(wanted) : this.byItself(entry)
  }

  /** For who may only look: what runs here. Nothing is opened or started for them. */
  async running(wanted: Wanted): Promise<Reached> {
    const entry = await this.find(wanted)
    const node = this.#options.sessions.get(entry.session)?.node(entry.name)
    if (node?.state !== 'ready' && node?.state !== 'busy')
      throw onlyInControl(`'${entry.name}' does not run here, and would have to be started: come`)
    return { entry, node, letGo: () => Promise.resolve() }
  }

  async byItself(entry: CatalogEntry): Promise<Reached> {
    const node = await nodeByItself(entry, this.#options.plans)
    return { entry, node, letGo: () => node.detach() }
  }

  async use(
    reached: Promise<Reached>,
    work: (node: ManagedNode, entry: CatalogEntry) => Promise<unknown>,
  ): Promise<Output<'nodes.stop'>> {
    const { entry, node, letGo } = await reached
    try {
      await work(node, entry)
    } finally {
      await letGo()
    }
    return { session: entry.session, node: entry.name }
  }
}

/** `what` ends before the words: with the scope 'control'. */
export function onlyInControl(what: string): NerveError {
  return new NerveError('not-allowed', `${what} with the scope 'control'.`, {
    data: { reason: 'scope', scope: 'control' },
  })
}

/** Without a project folder there are only those that are open, and those that are planned. */
async function unrecorded(sessions: SessionManager, plans: readonly SessionPlan[]): Promise<readonly CatalogEntry[]> {
  const all = (await sessions.list()).map(({ name }) => sessions.get(name)).filter((one) => one !== undefined)
  const planned = plans.flatMap(plannedEntries)
  const open = all.flatMap((session) => {
    const names = new Set(planned.filter((entry) => entry.session === session.name).map(({ name }) => name))
    const { name, tags } = session
    return session.list().map((member) => ({ ...member, session: name, tags, planned: names.has(member.name) }))
  })
  return [...open, ...planned.filter((entry) => sessions.get(entry.session) === undefined)]
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
