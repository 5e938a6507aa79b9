/** The sessions of a project: those that are open here, and what is recorded of all. */
import { NerveError } from '../../base/nerve-error.ts'
import type { Host } from '../host.ts'
import { nodeFactory } from './node-kinds.ts'
import { restoredMembers, type RestoreOptions } from './restored-members.ts'
import { openSession, type Session, type SessionHooks, type SessionOptions, type Stopped } from './session.ts'
import { holdSession } from './session-lock.ts'
import { SessionStore, type SessionRecord } from './session-store.ts'

/** What holds for every session of the manager. */
export type SessionManagerOptions = Omit<SessionOptions, 'name' | 'tags' | 'nodes'>

export interface SessionSummary {
  readonly name: string
  readonly tags: readonly string[]
  readonly created: number
  /** True when it is open in this manager. */
  readonly open: boolean
  readonly members: number
}

export interface SessionManager {
  /** Opens one, and records it. A name that is recorded already is an error. */
  create(options: Omit<SessionOptions, 'dir'>): Promise<Session>
  /** Opens one that was recorded: its nodes are made again and started. */
  restore(name: string, options?: RestoreOptions): Promise<Session>
  /** One that is open here. */
  get(name: string): Session | undefined
  /** What is recorded of one, open or not. */
  record(name: string): Promise<SessionRecord>
  /** Open or not, by name and tag; all of them without either. */
  find(wanted?: { readonly name?: string; readonly tag?: string }): Promise<readonly SessionSummary[]>
  list(): Promise<readonly SessionSummary[]>
  /** Stops it. What is recorded stays, so that it can be restored. */
  close(name: string): Promise<Stopped>
  closeAll(): Promise<readonly Stopped[]>
  /** Closes it and forgets what is recorded of it. Histories stay. */
  remove(name: string): Promise<void>
}

export function createSessionManager(host: Host, options: SessionManagerOptions = {}): SessionManager {
  const dir = options.dir ?? host.dir
  return new LocalManager(host, dir === undefined ? options : { ...options, dir })
}

class LocalManager implements SessionManager {
  readonly #host: Host
  readonly #options: SessionManagerOptions
  /** Without a folder there are only the open ones. */
  readonly #store: SessionStore | undefined
  readonly #open = new Map<string, Session>()

  constructor(host: Host, options: SessionManagerOptions) {
    this.#host = host
    this.#options = options
    this.#store = options.dir === undefined ? undefined : new SessionStore(options.dir)
  }

  create(options: Omit<SessionOptions, 'dir'>): Promise<Session> {
    const opened = async (): Promise<void> => {
      if ((await this.#store?.read(options.name)) === undefined) return
      throw new NerveError(
        'bad-option',
        `There is a session '${options.name}' already. Restore it, remove it, or choose another name.`,
      )
    }
    return this.#openOne({ ...this.#options, ...options }, { opened })
  }

  async restore(name: string, options: RestoreOptions = {}): Promise<Session> {
    const before = await this.record(name)
    const { factory = nodeFactory } = this.#options
    const names = this.#host.registry.names
    const nodes = this.#open.has(name) ? [] : await restoredMembers(before, { ...options, factory, names })
    return this.#openOne({ ...this.#options, name, tags: before.tags, nodes }, { before })
  }

  get(name: string): Session | undefined {
    return this.#open.get(name)
  }

  async record(name: string): Promise<SessionRecord> {
    const found = this.#open.get(name)?.toJSON() ?? (await this.#store?.read(name))
    if (found !== undefined) return found
    throw new NerveError('not-found', `There is no session '${name}'.`, { data: { session: name } })
  }

  async find(wanted: { readonly name?: string; readonly tag?: string } = {}): Promise<readonly SessionSummary[]> {
    const { name, tag } = wanted
    const all = await this.list()
    return all.filter(
      (one) => (name === undefined || one.name === name) && (tag === undefined || one.tags.includes(tag)),
    )
  }

  async list(): Promise<readonly SessionSummary[]> {
    const names = new Set([...((await this.#store?.names()) ?? []), ...this.#open.keys()])
    const found: SessionSummary[] = []
    for (const name of [...names].toSorted()) {
      const record = await this.#readable(name)
      if (record === undefined) continue
      const { tags, created, members } = record
      found.push({ name, tags, created, open: this.#open.has(name), members: members.length })
    }
    return found
  }

  async close(name: string): Promise<Stopped> {
    const session = this.#open.get(name)
    if (session !== undefined) return session.close()
    // Closed already, or never known: only the second is a mistake.
    await this.record(name)
    return { stopped: [], problems: [] }
  }

  async closeAll(): Promise<readonly Stopped[]> {
    return Promise.all([...this.#open.values()].map((session) => session.close()))
  }

  async remove(name: string): Promise<void> {
    await this.close(name)
    if (this.#store === undefined || this.#options.dir === undefined) return
    // Not while another process has it open: that one would write it again.
    const letGo = await holdSession(this.#options.dir, name)
    await this.#store.remove(name).finally(letGo)
  }

  async #openOne(options: SessionOptions, hooks: SessionHooks): Promise<Session> {
    const mine = await openSession(this.#host, options, {
      ...hooks,
      save: async (record) => this.#store?.write(record),
      closed: (session) => {
        if (this.#open.get(options.name) === session) this.#open.delete(options.name)
      },
    })
    this.#open.set(options.name, mine)
    return mine
  }

  /** A record that cannot be read must not hide the others: it is told of, and left out. */
  async #readable(name: string): Promise<SessionRecord | undefined> {
    try {
      return await this.record(name)
    } catch (error) {
      const { onProblem = (problem: unknown) => process.emitWarning(problem as Error) } = this.#options
      onProblem(error)
      return undefined
    }
  }
}
