/**
 * A session: the registry that owns nodes, graphs and workflows and their lifecycle. It adds them to the host's names and
 * takes them away again; starts them in order and stops them in the reverse. Whatever changes it is done as a whole or not
 * at all, one thing after the other.
 */
import { systemClock, type Clock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyDefinition, AnyRunnable } from '../../engine/definition.ts'
import type { HistoryFilter, HistoryRead } from '../history/history-reader.ts'
import type { Redactor } from '../../base/redact.ts'
import type { Host } from '../host.ts'
import type { ForkTree, Lineage } from './lineage.ts'
import { LocalSession } from './local-session.ts'
import type { ManagedNode, NodeState } from './managed-node.ts'
import type { NodeConfig, NodeFactory } from './node-factory.ts'
import { nodeFactory } from './node-kinds.ts'
import { checkName } from './session-names.ts'
import type { SessionRecord } from './session-store.ts'

/** What a session can have: nodes, definitions, configurations of nodes, and any of them with more to say about it. */
export type SessionItem = AnyRunnable | NodeConfig | SessionEntry

export interface SessionEntry {
  readonly node: AnyRunnable | NodeConfig
  /** Its name in the session, when that is not its own. */
  readonly as?: string
  /** What has to be started before it, and is stopped after it. */
  readonly after?: readonly string[]
}

/** What a session is to have, said before there is one. */
export interface SessionPlan {
  readonly name: string
  readonly tags?: readonly string[]
  readonly nodes?: readonly SessionItem[]
}

export interface SessionOptions extends SessionPlan {
  /** The project folder; histories are in `.nerve/history` in it (default: the host's; a host in memory has none). */
  readonly dir?: string
  /** Keep what each node saw and did (default true, where there is a folder). */
  readonly history?: boolean
  /** Start each node when it is first used, and not all of them when the session opens (default false). */
  readonly lazy?: boolean
  /** Makes nodes of configurations (default: `nodeFactory`). */
  readonly factory?: NodeFactory
  /** How long each node may take to start (default 30s) and to stop (default 5s). */
  readonly startTimeout?: Duration
  readonly stopTimeout?: Duration
  readonly clock?: Clock
  /** Keeps secrets out of histories. */
  readonly redactor?: Redactor
  /** Hears of trouble that belongs to no caller: nodes that did not stop, histories that could not be written. */
  readonly onProblem?: (error: unknown) => void
}

/** One thing in a session, for people to see. */
export interface SessionMember {
  readonly name: string
  readonly type: 'node' | 'definition'
  readonly kind: string
  /** For nodes. */
  readonly persistent?: boolean
  readonly state?: NodeState
  /** The definition that it came with. */
  readonly within?: string
  readonly lineage?: Lineage
}

export interface SessionInfo {
  readonly name: string
  readonly tags: readonly string[]
  readonly created: number
  readonly closed: boolean
  readonly nodes: number
  readonly definitions: number
  /** How many nodes are in each state. */
  readonly states: Readonly<Partial<Record<NodeState, number>>>
}

export interface Stopped {
  readonly stopped: readonly string[]
  /** What did not stop, or not in time. */
  readonly problems: readonly { readonly node: string; readonly error: unknown }[]
}

export interface Session {
  readonly name: string
  readonly tags: readonly string[]
  readonly created: number
  readonly closed: boolean
  /** Adds and starts; gives the names. When one does not start, none of them is added. */
  add(...items: readonly SessionItem[]): Promise<readonly string[]>
  /** Stops it and takes it out, with what came with it. */
  remove(name: string): Promise<void>
  /** What is here under this name. */
  get(name: string): ManagedNode | AnyDefinition | undefined
  /** A node by its name; an error when there is none. */
  node(name: string): ManagedNode
  /** In the order in which they are started. */
  list(): readonly SessionMember[]
  /** The names of the nodes that are ready. */
  ready(): readonly string[]
  info(): SessionInfo
  toJSON(): SessionRecord
  /** Runs it in a run of its own, so that it is in a journal, and gives what it returns. */
  send<Output = unknown>(name: string, input?: unknown): Promise<Output>
  /** Copies it, and gives the name of the copy: the one asked for, or a free one. */
  fork(name: string, as?: string): Promise<string>
  /** What was copied from what. */
  forks(): readonly ForkTree[]
  /** What a node saw and did. */
  history(name: string, filter?: HistoryFilter): Promise<HistoryRead>
  /** Starts every node that is not ready, in order. */
  start(): Promise<void>
  /** Stops every node, in the reverse order. Each has its time; what is late is in the report. */
  stop(): Promise<Stopped>
  /** Stops every node and gives their names back. Can be called again: it gives the same report. */
  close(): Promise<Stopped>
  /** The same, but what can live without this process (a terminal in a pane) is left running. */
  detach(): Promise<Stopped>
}

/** The input of the run that something is sent to a session with. */
export interface Sent {
  readonly node: string
  readonly input?: unknown
}

/** What a manager has to say about a session. */
export interface SessionHooks {
  /** Called when the name is held and nothing has begun. */
  readonly opened?: () => Promise<void>
  /** Called with what is to be kept, as a part of each change: when it fails, the change is undone. */
  readonly save?: (record: SessionRecord) => Promise<void>
  readonly closed?: (session: Session) => void
  /** What was recorded of it, when it is opened again. */
  readonly before?: SessionRecord
}

/**
 * Opens a session on a host. When one of its nodes does not start, those that did are stopped and nothing is left behind.
 *
 * ```ts
 * import { createHost, defineNode } from 'nerve'
 * import { createSession } from 'nerve/sessions'
 *
 * const host = await createHost({ store: 'memory' })
 * const session = await createSession(host, { name: 'demo', nodes: [defineNode('shout', (text: string) => text.toUpperCase())] })
 * console.log(await session.send('shout', 'hello'))
 * await session.close()
 * await host.close()
 * ```
 */
export function createSession(host: Host, options: SessionOptions): Promise<Session> {
  return openSession(host, options, {})
}

export async function openSession(host: Host, options: SessionOptions, hooks: SessionHooks): Promise<Session> {
  checkName(options.name, 'a session')
  const { tags = [] } = options
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === 'string' && tag !== ''))
    throw new NerveError('bad-option', `Session '${options.name}': tags is not a list of texts.`)
  const clock = options.clock ?? systemClock
  const dir = options.dir ?? host.dir
  const session = new LocalSession(host, {
    ...options,
    tags,
    clock,
    factory: options.factory ?? nodeFactory,
    onProblem: options.onProblem ?? ((error) => process.emitWarning(error instanceof Error ? error : String(error))),
    created: hooks.before?.created ?? clock.now(),
    dir,
    hooks,
  })
  await session.open(options.nodes ?? [])
  return session
}
