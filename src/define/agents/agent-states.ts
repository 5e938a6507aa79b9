/**
 * What the agents of a graph are doing, from its definition and the journal alone. Pure: the same entries give the same
 * states, on any machine and at any time after.
 */
import type { Entry, JournalEvent } from '../../journal/events.ts'
import type { AgentGraph } from './agent-graph.ts'
import { AGENTS_STOPPED, ENDS, agentIn, agentsIn, cancelSignal, messageSignal, type AgentTold } from './inbox.ts'

/**
 * `pending` waits for other agents, `queued` for room (maxParallel), `blocked` for an answer. An agent that will not run,
 * because one before it did not end well or everything was stopped, is `cancelled` too.
 */
export type AgentStanding = 'pending' | 'queued' | 'running' | 'blocked' | 'completed' | 'failed' | 'cancelled'

export interface AgentStatus {
  readonly state: AgentStanding
  /** What it is blocked on, or why it failed or was cancelled. */
  readonly reason?: string
  /** When it started, and when it ended. */
  readonly started?: number
  readonly ended?: number
  /** The turn that it is at, or ended with. */
  readonly turn: number
  /** The ids of the questions that it waits for. */
  readonly questions: readonly string[]
  /** How many messages it has not read. */
  readonly unread: number
}

interface Seen {
  state: 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled'
  reason: string | undefined
  blocked: string | undefined
  started: number | undefined
  ended: number | undefined
  turn: number
  readonly questions: Map<string, string>
  readonly unread: Set<number>
}

/**
 * The state of every agent, by name. For a graph that runs as a part of another definition, `at` is its path.
 *
 * ```ts
 * import { createHost, defineNode } from 'nerve'
 * import { agentGraph, agentStates } from 'nerve/agents'
 *
 * const review = agentGraph('review').agent('lint', { bundle: defineNode('lint', () => 'clean') })
 * const host = await createHost({ store: 'memory' })
 * const run = await host.start(review)
 * await run.result()
 * console.log(agentStates(review, await host.journal(run.id))['lint']?.state) // => completed
 * await host.close()
 * ```
 */
export function agentStates(
  definition: Pick<AgentGraph, 'steps'>,
  entries: Iterable<Entry>,
  { at = '' }: { readonly at?: string } = {},
): Readonly<Record<string, AgentStatus>> {
  const prefix = at === '' ? '' : `${at}/`
  const steps = definition.steps()
  const seen = new Map(steps.map(({ id }) => [prefix + id, unseen()]))
  for (const entry of entries) look(seen, prefix, entry)
  const states: Record<string, AgentStatus> = {}
  for (const { id, after } of steps) {
    const ready = after.every((one) => isOver(seen.get(prefix + one)))
    states[id] = statusOf(seen.get(prefix + id) as Seen, ready)
  }
  return states
}

function unseen(): Seen {
  return {
    state: 'waiting',
    reason: undefined,
    blocked: undefined,
    started: undefined,
    ended: undefined,
    turn: 0,
    questions: new Map(),
    unread: new Set(),
  }
}

function isOver(one: Seen | undefined): boolean {
  return one !== undefined && one.state !== 'waiting' && one.state !== 'running'
}

function statusOf(one: Seen, ready: boolean): AgentStatus {
  const { reason, started, ended, turn, questions, unread } = one
  const stuck = one.blocked ?? questions.values().next().value
  const why = reason ?? (one.state === 'running' ? stuck : undefined)
  return {
    state: standingOf(one, ready),
    turn,
    questions: [...questions.keys()],
    unread: unread.size,
    ...(why === undefined ? {} : { reason: why }),
    ...(started === undefined ? {} : { started }),
    ...(ended === undefined ? {} : { ended }),
  }
}

function standingOf({ state, blocked, questions }: Seen, ready: boolean): AgentStanding {
  if (state === 'waiting') return ready ? 'queued' : 'pending'
  if (state === 'running') return blocked === undefined && questions.size === 0 ? 'running' : 'blocked'
  return state
}

function look(seen: ReadonlyMap<string, Seen>, prefix: string, { event, seq, time }: Entry): void {
  switch (event.type) {
    case 'emitted':
      return lookAtTold(seen, event, time)
    case 'signal-received':
      for (const [agent, one] of seen) {
        if (event.name === messageSignal(agent)) one.unread.add(seq)
        // It is taken when the agent starts.
        if (event.name === cancelSignal(agent) && one.state === 'waiting')
          end(one, 'cancelled', time, textOf(event.value))
      }
      return
    case 'messages-taken':
      for (const one of seen.values()) for (const taken of event.signals) one.unread.delete(taken)
      return
    case 'run-completed':
    case 'run-failed':
    case 'run-cancelled':
      for (const one of seen.values()) end(one, 'cancelled', time, 'The run has ended.')
      return
    default:
      if ('path' in event && event.path !== undefined) lookAtPlace(seen, prefix, { event, path: event.path, time })
  }
}

function lookAtTold(
  seen: ReadonlyMap<string, Seen>,
  { name, data }: Extract<JournalEvent, { type: 'emitted' }>,
  time: number,
): void {
  if (name === AGENTS_STOPPED) {
    for (const agent of agentsIn(data)) {
      const one = seen.get(agent)
      if (one !== undefined) end(one, 'cancelled', time, 'Its graph was stopped.')
    }
    return
  }
  const one = seen.get(agentIn(data) ?? '')
  if (one === undefined) return
  const { reason } = data as AgentTold
  if (name === 'agent-blocked') one.blocked = reason
  if (name === 'agent-unblocked') one.blocked = undefined
  const state = ENDS.get(name)
  if (state !== undefined) end(one, state, time, reason)
}

interface Placed {
  readonly event: JournalEvent
  readonly path: string
  readonly time: number
}

/** Something happened at an agent's own path, or below it. */
function lookAtPlace(seen: ReadonlyMap<string, Seen>, prefix: string, { event, path, time }: Placed): void {
  if (!path.startsWith(prefix)) return
  const slash = path.indexOf('/', prefix.length)
  const one = seen.get(slash < 0 ? path : path.slice(0, slash))
  if (one === undefined) return
  if (slash < 0) {
    if (event.type === 'step-skipped') end(one, 'cancelled', time, event.error.message)
    if (event.type === 'scope-opened') start(one, time)
    return
  }
  const turn = /^turns\/1\/(\d+)(?:\/|$)/u.exec(path.slice(slash + 1))?.[1]
  if (turn !== undefined) one.turn = Math.max(one.turn, Number(turn))
  lookAtWait(one, event)
}

function lookAtWait(one: Seen, event: JournalEvent): void {
  switch (event.type) {
    case 'signal-taken':
      one.unread.delete(event.signal)
      return
    case 'question-asked':
      one.questions.set(event.id, event.prompt)
      return
    case 'question-answered':
    case 'question-expired':
    case 'question-withdrawn':
      one.questions.delete(event.id)
      return
    default:
  }
}

function start(one: Seen, time: number): void {
  if (one.state === 'waiting') one.state = 'running'
  one.started ??= time
}

function end(one: Seen, state: 'completed' | 'failed' | 'cancelled', time: number, reason: string | undefined): void {
  if (one.state !== 'waiting' && one.state !== 'running') return
  one.state = state
  one.reason = reason
  one.ended = time
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
