/** The session behind session.ts. */
import type { Clock } from '../../base/clock.ts'
import { nearest } from '../../base/nearest.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyDefinition, Definition } from '../../engine/definition.ts'
import { isNode } from '../../engine/run-node.ts'
import { nodeHistory, type HistoryFilter, type HistoryRead } from '../history/history-reader.ts'
import { createRedactor, type Redactor } from '../../base/redact.ts'
import type { Host } from '../host.ts'
import { admit, type Member, type Surroundings } from './admission.ts'
import { forkRunnable } from './fork-runnable.ts'
import { forkTrees, type ForkTree, type Lineage } from './lineage.ts'
import { ManagedNode } from './managed-node.ts'
import { createHistories, type Histories } from './node-histories.ts'
import type { NodeFactory } from './node-factory.ts'
import type {
  Sent,
  Session,
  SessionHooks,
  SessionInfo,
  SessionItem,
  SessionMember,
  SessionOptions,
  Stopped,
} from './session.ts'
import { sendingDefinition } from './sending.ts'
import { plannedMembers } from './restored-members.ts'
import { holdSession } from './session-lock.ts'
import { planMembers, type Planned, type Wanted } from './session-members.ts'
import { checkName, forkName, sameName } from './session-names.ts'
import { sessionRecord, type SessionRecord } from './session-store.ts'
import { countsOf, memberRecord, memberView } from './session-view.ts'

export interface SessionParts extends Omit<SessionOptions, 'dir' | 'nodes'> {
  readonly tags: readonly string[]
  readonly clock: Clock
  readonly factory: NodeFactory
  readonly onProblem: (error: unknown) => void
  readonly created: number
  readonly dir: string | undefined
  readonly hooks: SessionHooks
}

export class LocalSession implements Session {
  readonly name: string
  readonly tags: readonly string[]
  readonly created: number
  readonly #host: Host
  readonly #parts: SessionParts
  readonly #histories: Histories
  readonly #around: Surroundings
  readonly #sending: Definition<Sent>
  /** In the order in which they were started. */
  #members: ReadonlyMap<string, Member> = new Map()
  #letGo: () => void = () => undefined
  #turn: Promise<unknown> = Promise.resolve()
  #state: 'opening' | 'open' | 'closed' = 'opening'
  #closing: Promise<Stopped> | undefined
  /** What was recorded of it, while it is opened again. */
  #before: SessionRecord | undefined

  constructor(host: Host, parts: SessionParts) {
    this.name = parts.name
    this.tags = [...parts.tags]
    this.created = parts.created
    this.#host = host
    this.#parts = parts
    this.#before = parts.hooks.before
    const redactor: Redactor = parts.redactor ?? createRedactor()
    const dir = parts.history === false ? undefined : parts.dir
    this.#histories = createHistories({
      dir,
      session: this.name,
      clock: parts.clock,
      redactor,
      onProblem: parts.onProblem,
    })
    this.#around = { session: this.name, registry: host.registry, manage: (planned) => this.#manage(planned) }
    this.#sending = sendingDefinition(this.name, (node) => this.#member(node).runnable)
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  /** All of it, or nothing. */
  async open(items: readonly SessionItem[]): Promise<void> {
    const { dir, hooks } = this.#parts
    if (this.#host.registry.names.get(this.#sending.name) !== undefined)
      throw new NerveError('bad-option', `There is a session '${this.name}' on this host already.`)
    if (dir !== undefined) this.#letGo = holdSession(dir, this.name)
    try {
      await hooks.opened?.()
      this.#host.registry.add(this.#sending)
      this.#state = 'open'
      await this.#take(await this.#wanted(items))
      this.#before = undefined
    } catch (error) {
      await this.#shut('stop')
      throw error
    }
  }

  add(...items: readonly SessionItem[]): Promise<readonly string[]> {
    return this.#inTurn(async () => this.#take(await this.#wanted(items)))
  }

  remove(name: string): Promise<void> {
    return this.#inTurn(async () => {
      const { planned } = this.#member(name)
      const users = this.#usersOf(name)
      if (users.length > 0 || planned.within !== undefined)
        throw new NerveError(
          'bad-option',
          `'${name}' is used by '${users[0] ?? planned.within}' in session '${this.name}'. Remove that first.`,
        )
      const gone = [...this.#members.values()].filter(
        ({ planned: one }) => one.name === name || (one.within === name && this.#usersOf(one.name).length < 2),
      )
      const kept = [...this.#members.values()].filter((one) => !gone.includes(one))
      await this.#save(kept.map((one) => this.#without(name, one)))
      const { problems } = await this.#dismiss(gone)
      if (problems.length > 0) throw problems[0]?.error
    })
  }

  get(name: string): ManagedNode | AnyDefinition | undefined {
    return this.#members.get(name)?.runnable
  }

  node(name: string): ManagedNode {
    const { runnable } = this.#member(name)
    if (runnable instanceof ManagedNode) return runnable
    throw new NerveError('not-found', `'${name}' in session '${this.name}' is a ${runnable.kind}, not a node.`)
  }

  list(): readonly SessionMember[] {
    return [...this.#members.values()].map(memberView)
  }

  ready(): readonly string[] {
    return this.#nodes().flatMap(({ id, state }) => (state === 'ready' ? [id] : []))
  }

  info(): SessionInfo {
    const { name, tags, created, closed } = this
    return { name, tags, created, closed, ...countsOf(this.list()) }
  }

  toJSON(): SessionRecord {
    return this.#record([...this.#members.values()])
  }

  async send<Output>(name: string, input?: unknown): Promise<Output> {
    this.#insist()
    this.#member(name)
    const run = await this.#host.start(this.#sending, { node: name, ...(input === undefined ? {} : { input }) })
    return (await run.result()) as Output
  }

  fork(name: string, as?: string): Promise<string> {
    return this.#inTurn(async () => {
      const { planned } = this.#member(name)
      const copy = as ?? forkName(name, (one) => this.#isTaken(one))
      checkName(copy, 'a copy')
      const runnable = await forkRunnable(planned.runnable, copy, this.#parts.factory)
      await this.#take([{ runnable, as: copy, lineage: this.#lineage(name) }])
      return copy
    })
  }

  forks(): readonly ForkTree[] {
    return forkTrees(this.list())
  }

  async history(name: string, filter?: HistoryFilter): Promise<HistoryRead> {
    const dir = this.#parts.dir
    if (dir === undefined || this.#parts.history === false)
      throw new NerveError(
        'not-found',
        `Session '${this.name}' keeps no history: it has no folder, or was told not to.`,
      )
    await this.#histories.flush(name)
    return nodeHistory({ dir, session: this.name, node: name }, filter)
  }

  start(): Promise<void> {
    return this.#inTurn(async () => {
      for (const node of this.#nodes()) await node.start()
    })
  }

  stop(): Promise<Stopped> {
    if (this.closed) return Promise.resolve({ stopped: [], problems: [] })
    return this.#inTurn(() => this.#stop([...this.#members.values()]))
  }

  close(): Promise<Stopped> {
    this.#closing ??= this.#inTurn(() => this.#shut('stop'))
    return this.#closing
  }

  detach(): Promise<Stopped> {
    this.#closing ??= this.#inTurn(() => this.#shut('detach'))
    return this.#closing
  }

  /** Changes wait for each other: each starts from what the one before left. */
  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#turn.then(() => {
      this.#insist()
      return work()
    })
    // Whoever asked for it hears that it failed.
    this.#turn = result.catch(() => undefined)
    return result
  }

  #insist(): void {
    if (this.#state === 'open') return
    throw new NerveError('not-ready', `Session '${this.name}' is closed.`, { data: { session: this.name } })
  }

  #member(name: string): Member {
    const found = this.#members.get(name)
    if (found !== undefined) return found
    const names = [...this.#members.keys()]
    const meant = nearest(name, names)
    throw new NerveError(
      'not-found',
      `There is no '${name}' in session '${this.name}'. ` +
        (meant === undefined ? `It has: ${names.join(', ') || 'nothing'}.` : `Did you mean '${meant}'?`),
      { data: { name, session: this.name } },
    )
  }

  #nodes(): readonly ManagedNode[] {
    return [...this.#members.values()].flatMap(({ runnable }) => (runnable instanceof ManagedNode ? [runnable] : []))
  }

  #isTaken(name: string): boolean {
    if (this.#host.registry.names.get(name) !== undefined) return true
    return [...this.#members.keys()].some((one) => sameName(one, name))
  }

  #usersOf(name: string): readonly string[] {
    return [...this.#members.values()].flatMap(({ planned }) => (planned.after.includes(name) ? [planned.name] : []))
  }

  /** What came with a definition that goes, and is in another one too, came with that. */
  #without(gone: string, member: Member): Member {
    const { planned } = member
    const other = this.#usersOf(planned.name).find((one) => one !== gone)
    return planned.within === gone && other !== undefined
      ? { ...member, planned: { ...planned, within: other } }
      : member
  }

  #lineage(forkedFrom: string): Lineage {
    const depth = (this.#members.get(forkedFrom)?.planned.lineage?.depth ?? 0) + 1
    return { forkedFrom, forkedAt: this.#parts.clock.now(), depth }
  }

  async #wanted(items: readonly SessionItem[]): Promise<readonly Wanted[]> {
    const members = await plannedMembers(items, this.#parts.factory)
    return members.map(({ node, ...more }) => ({ runnable: node, ...more }))
  }

  /** Adds and starts all of them, or none. */
  async #take(wanted: readonly Wanted[]): Promise<readonly string[]> {
    const there = [...this.#members.values()]
    const planned = planMembers(
      wanted,
      there.map((one) => one.planned),
    ).map((one) => this.#withLineage(one))
    const taken: Member[] = []
    try {
      for (const one of planned) taken.push(await admit(one, this.#around))
      if (this.#parts.lazy !== true)
        for (const { runnable } of taken) if (runnable instanceof ManagedNode) await runnable.start()
      await this.#save([...there, ...taken])
    } catch (error) {
      await this.#dismiss(taken)
      throw error
    }
    for (const { planned: one } of taken) this.#histories.begin(one.name)
    return wanted.map(({ runnable }) => planned.find((one) => one.runnable === runnable)?.name ?? '')
  }

  /** A node that came with a copy of a definition may be a copy itself. */
  #withLineage(planned: Planned): Planned {
    const before = this.#before?.members.find(({ name }) => name === planned.name)?.lineage
    if (before !== undefined) return { ...planned, lineage: before }
    if (planned.lineage !== undefined || !isNode(planned.runnable)) return planned
    const { forkedFrom } = planned.runnable.info()
    if (forkedFrom === undefined || !this.#members.has(forkedFrom)) return planned
    return { ...planned, lineage: this.#lineage(forkedFrom) }
  }

  async #manage({ name, runnable, lineage }: Planned): ReturnType<Surroundings['manage']> {
    const { clock, factory, startTimeout, stopTimeout, onProblem } = this.#parts
    const config = isNode(runnable) ? factory.recorded(runnable) : undefined
    const history = await this.#histories.open(name)
    const path = `session/${this.name}/node/${name}`
    return {
      options: {
        clock,
        onProblem,
        onState: (change) => this.#host.emit(path, 'node-state', change),
        ...(history === undefined ? {} : { history }),
        ...(config === undefined ? {} : { config }),
        ...(lineage === undefined ? {} : { lineage }),
        ...(startTimeout === undefined ? {} : { startTimeout }),
        ...(stopTimeout === undefined ? {} : { stopTimeout }),
      },
      close: () => this.#histories.close(name),
    }
  }

  /** Makes these the members, once they are written down. */
  async #save(members: readonly Member[]): Promise<void> {
    await this.#parts.hooks.save?.(this.#record(members))
    this.#members = new Map(members.map((one) => [one.planned.name, one]))
  }

  #record(members: readonly Member[]): SessionRecord {
    const { name, tags, created } = this
    return sessionRecord({ name, tags, created, members: members.map(memberRecord) })
  }

  /** In the reverse order, so that nothing is stopped while something that comes after it still runs. */
  async #stop(members: readonly Member[], how: 'stop' | 'detach' = 'stop'): Promise<Stopped> {
    const stopped: string[] = []
    const problems: { node: string; error: unknown }[] = []
    for (const { runnable } of members.toReversed()) {
      if (!(runnable instanceof ManagedNode)) continue
      try {
        await runnable[how]()
        stopped.push(runnable.id)
      } catch (error) {
        problems.push({ node: runnable.id, error })
        this.#parts.onProblem(error)
      }
    }
    return { stopped, problems }
  }

  async #dismiss(members: readonly Member[], how: 'stop' | 'detach' = 'stop'): Promise<Stopped> {
    const report = await this.#stop(members, how)
    for (const { release } of members.toReversed()) await release()
    return report
  }

  async #shut(how: 'stop' | 'detach'): Promise<Stopped> {
    const report = await this.#dismiss([...this.#members.values()], how)
    const { registry } = this.#host
    if (registry.names.get(this.#sending.name) === this.#sending) registry.remove(this.#sending.name)
    this.#state = 'closed'
    this.#letGo()
    this.#parts.hooks.closed?.(this)
    return report
  }
}
