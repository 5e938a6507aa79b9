/**
 * Messages to agents. A message is a signal of the run, named after the path of its agent, so it is durable from the
 * moment it is sent, is read once, and may be sent before the agent starts.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { Duration } from '../../base/duration.ts'
import type { Context } from '../../engine/definition.ts'
import type { FeedItem, FeedOptions } from '../../engine/feed.ts'
import { derive } from '../../engine/run-node.ts'
import type { Actor } from '../../journal/events.ts'

/** What sending needs of a run. */
export interface AgentRun {
  readonly id: string
  signal(name: string, value?: unknown, actor?: Actor): Promise<void>
  events(options?: FeedOptions): AsyncIterable<FeedItem>
}

/** An agent that is a definition reads its messages with this. */
export interface Inbox extends AsyncIterable<unknown> {
  /** Takes the messages that have come. */
  messages(): Promise<unknown[]>
  /** The next message, when it comes. */
  next(options?: { readonly deadline?: Duration }): Promise<unknown>
}

export const messageSignal = (agent: string): string => `agent:${agent}`
export const cancelSignal = (agent: string): string => `cancel:${agent}`

const INBOX: unique symbol = Symbol('inbox')

/** The context for what an agent runs. */
export function withInbox(ctx: Context, agent: string): Context {
  const name = messageSignal(agent)
  const box: Inbox = {
    messages: () => ctx.messages(name),
    next: (options = {}) => ctx.waitFor(name, { ...options, label: 'message' }),
    async *[Symbol.asyncIterator]() {
      for (;;) yield await box.next()
    },
  }
  return Object.assign(derive(ctx, {}), { [INBOX]: box })
}

/**
 * The messages of the agent whose definition this is called in.
 *
 * ```ts
 * import { workflow } from 'nerve'
 * import { inbox, type AgentTask } from 'nerve/agents'
 *
 * export const helper = workflow('helper', async (ctx, task: AgentTask<string>) => {
 *   for await (const message of inbox(ctx)) if (message === 'done') break
 *   return `${task.agent} is done`
 * })
 * ```
 */
export function inbox(ctx: Context<never> | Context): Inbox {
  const found = (ctx as { readonly [INBOX]?: Inbox })[INBOX]
  if (found === undefined)
    throw new NerveError('bad-option', 'inbox(ctx) is for definitions that run as an agent of an agentGraph.')
  return found
}

/**
 * Sends a message to an agent, by its path in the run: its name, or `review/lint` for one in a graph that is a part of
 * another definition. It is read at the agent's next turn, or when its definition looks. To wait for it, watch the run.
 */
export async function sendToAgent(run: AgentRun, agent: string, message: unknown, actor: Actor = {}): Promise<void> {
  await checkAgent(run, agent)
  await run.signal(messageSignal(agent), message, actor)
}

/** Stops one agent: it ends as cancelled, what comes after it follows the graph's policy, everything else goes on. */
export async function cancelAgent(
  run: AgentRun,
  agent: string,
  options: Actor & { readonly reason?: string } = {},
): Promise<void> {
  const { reason, ...actor } = options
  await checkAgent(run, agent)
  await run.signal(cancelSignal(agent), reason, actor)
}

/** What agent graphs say in the journal. */
export type AgentEventName =
  | 'agent-blocked'
  | 'agent-unblocked'
  | 'agent-completed'
  | 'agent-failed'
  | 'agent-cancelled'
export const AGENTS_STARTED = 'agents-started'
export const AGENTS_STOPPED = 'agents-stopped'

export interface AgentTold {
  readonly agent: string
  readonly reason?: string
}

export type AgentEnd = 'completed' | 'failed' | 'cancelled'

/** How an agent ended, for an event that says so. */
export const ENDS: ReadonlyMap<string, AgentEnd> = new Map([
  ['agent-completed', 'completed'],
  ['agent-failed', 'failed'],
  ['agent-cancelled', 'cancelled'],
])

/** The paths of agents in what a graph says of all of them. Others may emit under the same name. */
export function agentsIn(data: unknown): readonly string[] {
  const { agents } = (typeof data === 'object' && data !== null ? data : {}) as { readonly agents?: unknown }
  return Array.isArray(agents) ? agents.map(String) : []
}

/** The path of the agent in what is said of one. */
export function agentIn(data: unknown): string | undefined {
  const { agent } = (typeof data === 'object' && data !== null ? data : {}) as { readonly agent?: unknown }
  return typeof agent === 'string' ? agent : undefined
}

/** A signal that nobody will ever read is refused, as far as the journal knows by now. */
async function checkAgent(run: AgentRun, agent: string): Promise<void> {
  const known = new Set<string>()
  for await (const item of run.events({ once: true })) {
    if (!('seq' in item) || item.type !== 'emitted') continue
    if (item.name === AGENTS_STARTED) for (const one of agentsIn(item.data)) known.add(one)
    const end = ENDS.get(item.name)
    if (end !== undefined && agentIn(item.data) === agent)
      throw new NerveError('run-ended', `Agent '${agent}' of run ${run.id} has ended: it is ${end}.`, {
        data: { run: run.id, agent },
      })
  }
  if (known.size > 0 && !known.has(agent))
    throw new NerveError('not-found', `Run ${run.id} has no agent '${agent}'. It has: ${[...known].join(', ')}.`, {
      data: { run: run.id, agent },
    })
}
