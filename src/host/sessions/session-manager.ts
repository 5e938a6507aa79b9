/** The sessions of a project: those that are open here, and what is recorded of all. */
import { NerveError } from '../../base/nerve-error.ts'
import type { Host } from '../host.ts'
import { nodeFactory } from './node-kinds.ts'
import { neededMembers, restoredMembers, type RestoreOptions } from './restored-members.ts'
import {
  openSession,
  type Session,
  type SessionHooks,
  type SessionOptions,
  type SessionPlan,
  type Stopped,
} from './session.ts'
import { HostSessions } from './host-sessions.ts'
import { holdSession } from './session-lock.ts'
import { SessionStore, type MemberRecord, type SessionRecord } from './session-store.ts'

/** What holds for every session of the manager. */
export interface SessionManagerOptions extends Omit<SessionOptions, 'name' | 'tags' | 'nodes'> {
  /** Sessions that are opened when they are needed. What they say goes before what is recorded. */
  readonly plans?: readonly SessionPlan[]
}

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
  /** The session of this name, whatever it takes: the open one, or else opened as planned and recorded. */
  open(name: string): Promise<Session>
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
  /** Lets go of those that are open: what can live without this process is left running. */
  detachAll(): Promise<readonly Stopped[]>
  /** Closes it and forgets what is recorded of it. Histories stay. */
  remove(name: string): Promise<void>
  /** Takes one thing out of a session that is open nowhere, also when it cannot be made again. */
  forget(name: string, member: string): Promise<void>
}

export function createSessionManager(host: Host, options: SessionManagerOptions = {}): SessionManager {
  const dir = options.dir ?? host.dir
  return new LocalManager(host, dir === undefined ? options : { ...options, dir })
}

/** Sessions that `open` opened, which nobody has asked to restore since. */
const byItself = new WeakSet<Session>()

class LocalManager implements SessionManager {
  readonly #host: Host
  readonly #options: Omit<SessionManagerOptions, 'plans'>
  /** Without a folder there are only the open ones. */
  readonly #store: SessionStore | undefined
  readonly #there: HostSessions
  /** What `open` is at. */
  readonly #needed = new Map<string, Promise<Session>>()
  readonly #plans: ReadonlyMap<string, SessionPlan>

  constructor(host: Host, options: SessionManagerOptions) {
    this.#host = host
    const { plans = [], ...rest } = options
    this.#options = rest
    this.#plans = new Map(plans.map((plan) => [plan.name, plan]))
    this.#there = HostSessions.of(host)
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
    return this.#there.inTurn(options.name, () => this.#openOne({ ...this.#options, ...options }, { opened }))
  }

  restore(name: string, options: RestoreOptions = {}): Promise<Session> {
    return this.#there.inTurn(name, async () => {
      const there = this.get(name)
      if (there !== undefined && byItself.delete(there)) return there
      const before = await this.record(name)
      const { factory = nodeFactory } = this.#options
      const names = this.#host.registry.names
      const nodes = there === undefined ? await restoredMembers(before, { ...options, factory, names }) : []
      return this.#openOne({ ...this.#options, name, tags: before.tags, nodes }, { before })
    })
  }

  open(name: string): Promise<Session> {
    const there = this.get(name)
    if (there !== undefined) return Promise.resolve(there)
    const open = async (): Promise<Session> => this.get(name) ?? this.#openNeeded(name)
    const under = this.#needed.get(name) ?? this.#there.inTurn(name, open).finally(() => this.#needed.delete(name))
    this.#needed.set(name, under)
    return under
  }

  async #openNeeded(name: string): Promise<Session> {
    const plan = this.#plans.get(name)
    const before = await this.#store?.read(name)
    if (plan === undefined && before === undefined) throw unknownSession(name)
    const { factory = nodeFactory } = this.#options
    const nodes = await neededMembers({ plan, before, factory, names: this.#host.registry.names })
    const session = await this.#openOne(
      { ...this.#options, name, tags: plan?.tags ?? before?.tags ?? [], nodes },
      before === undefined ? {} : { before },
    )
    byItself.add(session)
    return session
  }

  get(name: string): Session | undefined {
    return this.#there.open.get(name)
  }

  async record(name: string): Promise<SessionRecord> {
    const found = this.get(name)?.toJSON() ?? (await this.#store?.read(name))
    if (found !== undefined) return found
    throw unknownSession(name)
  }

  async find(wanted: { readonly name?: string; readonly tag?: string } = {}): Promise<readonly SessionSummary[]> {
    const { name, tag } = wanted
    const all = await this.list()
    return all.filter(
      (one) => (name === undefined || one.name === name) && (tag === undefined || one.tags.includes(tag)),
    )
  }

  async list(): Promise<readonly SessionSummary[]> {
    const names = new Set([...((await this.#store?.names()) ?? []), ...this.#there.open.keys()])
    const found: SessionSummary[] = []
    for (const name of [...names].toSorted()) {
      const record = await this.#readable(name)
      if (record === undefined) continue
      const { tags, created, members } = record
      found.push({ name, tags, created, open: this.get(name) !== undefined, members: members.length })
    }
    return found
  }

  async close(name: string): Promise<Stopped> {
    const session = await this.#there.settled(name)
    if (session !== undefined) return session.close()
    // Closed already, or never known: only the second is a mistake.
    await this.record(name)
    return { stopped: [], problems: [] }
  }

  async closeAll(): Promise<readonly Stopped[]> {
    return this.#each((session) => session.close())
  }

  async detachAll(): Promise<readonly Stopped[]> {
    return this.#each((session) => session.detach())
  }

  async #each(end: (session: Session) => Promise<Stopped>): Promise<readonly Stopped[]> {
    const ended = this.#there.names().map(async (name) => {
      const session = await this.#there.settled(name)
      return session === undefined ? [] : [await end(session)]
    })
    return (await Promise.all(ended)).flat()
  }

  async remove(name: string): Promise<void> {
    await this.close(name)
    if (this.#store === undefined || this.#options.dir === undefined) return
    // Not while another process has it open: that one would write it again.
    const letGo = holdSession(this.#options.dir, name)
    await this.#store.remove(name).finally(letGo)
  }

  async forget(name: string, member: string): Promise<void> {
    const { dir } = this.#options
    if (this.#store === undefined || dir === undefined) throw unknownSession(name)
    const letGo = holdSession(dir, name)
    try {
      const record = await this.record(name)
      await this.#store.write({ ...record, members: without(record.members, { session: name, member }) })
    } finally {
      letGo()
    }
  }

  async #openOne(options: SessionOptions, hooks: SessionHooks): Promise<Session> {
    const mine = await openSession(this.#host, options, {
      ...hooks,
      save: async (record) => this.#store?.write(record),
      closed: (session) => {
        if (this.get(options.name) === session) this.#there.open.delete(options.name)
      },
    })
    this.#there.open.set(options.name, mine)
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

function unknownSession(name: string): NerveError {
  return new NerveError('not-found', `There is no session '${name}'.`, { data: { session: name } })
}

/** The members without this one and what came with it. */
function without(
  members: readonly MemberRecord[],
  { session, member }: { readonly session: string; readonly member: string },
): readonly MemberRecord[] {
  if (!members.some(({ name }) => name === member))
    throw new NerveError('not-found', `There is no '${member}' in session '${session}'.`)
  const kept = members.filter(({ name, within }) => name !== member && within !== member)
  const user = kept.find(({ after }) => after?.includes(member) === true)
  if (user === undefined) return kept
  throw new NerveError(
    'bad-option',
    `'${member}' is used by '${user.name}' in session '${session}'. Remove that first.`,
  )
}
