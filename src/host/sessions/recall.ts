/**
 * Nodes of sessions that are not open: of those that are recorded in the project, and of those that the host was told of.
 * A node that keeps nothing is made again and used as it is. For a persistent one there is a stand-in: when a step first
 * executes it, its session is opened, as a whole, and of its nodes only those that are used are started.
 */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { AnyDefinition, AnyNode, Names } from '../../engine/definition.ts'
import { executeNode, isNode } from '../../engine/run-node.ts'
import type { Host } from '../host.ts'
import { namedIn } from '../named-in.ts'
import { ManagedNode } from './managed-node.ts'
import { nodeFactory } from './node-kinds.ts'
import { neededMembers } from './restored-members.ts'
import type { Session, SessionPlan } from './session.ts'
import { sendingDefinition, sessionOfSending } from './sending.ts'
import { createSessionManager, type SessionManager } from './session-manager.ts'
import { SessionStore } from './session-store.ts'

/** How long a step waits before it tries again to have a session that another process has open. */
const TRY_AGAIN = '2s'

interface Known {
  /** What tells whether its record has changed. */
  readonly stamp: string | undefined
  /** The names of what is in it. */
  readonly members: readonly string[]
  /** What is executed under its name in this session. */
  readonly standIns: ReadonlyMap<string, AnyNode>
  /** What runs may refer to by name: where a node keeps nothing, the node itself. */
  readonly nodes: ReadonlyMap<string, AnyNode>
  /** Why it cannot be opened. */
  readonly problem?: NerveError
}

export class Recall {
  readonly #host: Host
  readonly #plans: readonly SessionPlan[]
  readonly #sessions: SessionManager
  readonly #store: SessionStore | undefined
  readonly #opened = new Map<string, Promise<Session>>()
  #known: ReadonlyMap<string, Known> = new Map()
  #nodes: ReadonlyMap<string, AnyNode> = new Map()

  constructor(host: Host, plans: readonly SessionPlan[]) {
    this.#host = host
    this.#plans = plans
    this.#sessions = createSessionManager(host, { plans, lazy: true })
    this.#store = host.dir === undefined ? undefined : new SessionStore(host.dir)
  }

  /** True when what is missing may be here by now. */
  get hasProblems(): boolean {
    return [...this.#known.values()].some(({ problem }) => problem !== undefined)
  }

  async refresh(): Promise<void> {
    const known = new Map<string, Known>()
    for (const name of new Set([...this.#plans.map((plan) => plan.name), ...((await this.#store?.names()) ?? [])])) {
      const before = this.#known.get(name)
      const stamp = await this.#store?.stamp(name)
      const same = before !== undefined && before.problem === undefined && before.stamp === stamp
      known.set(name, same ? before : await this.#session(name, stamp))
    }
    this.#known = known
    // The first that has a name keeps it.
    this.#nodes = new Map([...known.values()].toReversed().flatMap(({ nodes }) => [...nodes]))
  }

  behind(known: Names): Names {
    const nodes = this.#nodes
    return {
      get: (name) => known.get(name) ?? nodes.get(name),
      keys: () => new Set([...known.keys(), ...nodes.keys()]),
    }
  }

  sending(name: string): AnyDefinition | undefined {
    const session = sessionOfSending(name) ?? ''
    const found = this.#known.get(session)
    if (found?.problem !== undefined) throw found.problem
    if (found === undefined) return undefined
    return sendingDefinition(session, (node) => found.standIns.get(node) ?? node)
  }

  check(definition: AnyDefinition, known: Names): void {
    for (const name of namedIn(definition)) {
      if (known.get(name) !== undefined || this.#nodes.has(name)) continue
      for (const { members, problem } of this.#known.values())
        if (problem !== undefined && members.includes(name)) throw problem
    }
  }

  /** Closes what was opened here, and leaves running what can live without this process. */
  async close(): Promise<void> {
    for (const opened of this.#opened.values()) await (await opened.catch(() => undefined))?.detach()
  }

  async #session(session: string, stamp: string | undefined): Promise<Known> {
    const plan = this.#plans.find(({ name }) => name === session)
    const standIns = new Map<string, AnyNode>()
    const nodes = new Map<string, AnyNode>()
    let members: readonly string[] = []
    try {
      const before = await this.#store?.read(session)
      members = before?.members.map(({ name }) => name) ?? []
      const names = withoutCare(this.#host.registry.names)
      const entries = await neededMembers({ plan, before, factory: nodeFactory, names })
      members = [...new Set([...members, ...entries.map(({ as }) => as)])]
      for (const { as, node } of entries) {
        if (!isNode(node)) continue
        const standIn = this.#standIn(as, node, session)
        standIns.set(as, standIn)
        nodes.set(as, node.persistent || node.id !== as ? standIn : node)
      }
      return { stamp, members, standIns, nodes }
    } catch (error) {
      if (!isNerveError(error)) throw error
      return { stamp, members, standIns, nodes, problem: error }
    }
  }

  #standIn(name: string, node: AnyNode, session: string): AnyNode {
    const { kind, persistent, policy, input: schema } = node
    return {
      id: name,
      kind,
      persistent,
      ...(policy === undefined ? {} : { policy }),
      ...(schema === undefined ? {} : { input: schema }),
      ...(node.parser === undefined ? {} : { parser: (output: unknown) => node.parser?.(output) }),
      ...(node.recall === undefined ? {} : { recall: (output: unknown) => node.recall?.(output) }),
      ...(node.fork === undefined ? {} : { fork: (id: string) => node.fork?.(id) as AnyNode }),
      execute: async (input, call) => executeNode(await this.#node(name, node, session), input, call),
      info: () => ({ ...node.info(), id: name }),
    }
  }

  /** The node in its session. One that keeps nothing does not wait for a session that another process has open. */
  async #node(name: string, node: AnyNode, session: string): Promise<AnyNode> {
    try {
      return (await this.#open(session)).node(name)
    } catch (error) {
      if (!isNerveError(error, 'owned-elsewhere')) throw error
      if (!node.persistent) return node
      throw new NerveError('not-ready', `${error.message} The step waits for it.`, {
        retry: 'pause',
        data: { session, retryAfter: TRY_AGAIN },
        cause: error,
      })
    }
  }

  async #open(name: string): Promise<Session> {
    const there = this.#sessions.get(name)
    if (there !== undefined) return there
    const opened = this.#sessions.open(name)
    this.#opened.set(name, opened)
    return opened
  }
}

/** The nodes themselves: a session that has them open now may be closed when they are used. */
function withoutCare(names: Names): Names {
  return {
    get(name) {
      const found = names.get(name)
      return found instanceof ManagedNode ? found.node : found
    },
    keys: () => names.keys(),
  }
}
