/**
 * One agent of an agent graph, as a definition: it takes turns until it has nothing more to do.
 *
 * How a running agent gets its messages. A node is one step, recorded as a whole, so nothing durable can reach it while it
 * runs: what comes meanwhile is handed to its next turn, and when nothing has come after a turn, the agent is done. A
 * definition has ctx, so it looks for itself, with `inbox(ctx)`; it has one turn. Either way a message is a signal that
 * one recorded call takes: a replay hands the same messages to the same turn, and no message is read twice.
 *
 * How one agent is cancelled. Its turns race with a signal that cancels it. A race is decided in the journal, and what it
 * stops (steps, questions, children) is stopped by the engine.
 */
import { NerveError, errorData, isNerveError } from '../../base/nerve-error.ts'
import type { AnyDefinition, AnyRunnable, Context, Definition, Policy } from '../../engine/definition.ts'
import { executeNode, isNode, pathHere, runnableOf, stopWatch } from '../../engine/run-node.ts'
import { decide } from '../control/control.ts'
import { outlineOf } from '../outline.ts'
import {
  blocked,
  blockedTurn,
  decisionOf,
  orBlocked,
  type Blocked,
  type BlockedOptions,
  type Decided,
  type OnBlocked,
} from './blocked.ts'
import { isCodingAgent, saidOf, stuckIn, taskText, toldInput } from './told.ts'
import { cancelSignal, messageSignal, withInbox, type AgentEventName, type AgentTold } from './inbox.ts'

/** What an agent's node or definition gets. */
export interface AgentTask<Target = unknown> {
  /** The agent's path in the run: its name, with those of the definitions around it. */
  readonly agent: string
  readonly bundle: string
  readonly target: Target
  /** The results of the agents that it comes after, by their names. */
  readonly upstream: Readonly<Record<string, unknown>>
  /** From 1. */
  readonly turn: number
  /** The messages that came since its last turn. Definitions read theirs with `inbox(ctx)`. */
  readonly messages: readonly unknown[]
  /** What its last turn gave, if it was not blocked. */
  readonly previous?: unknown
  /** The answer to what it was blocked on. */
  readonly answer?: unknown
}

export interface AgentParts {
  readonly name: string
  readonly bundle: string
  readonly runs: AnyRunnable | string
  readonly policy: Policy | undefined
  /** What a coding agent is told of its task. */
  readonly prompt: ((task: AgentTask) => string) | undefined
  /** Asked when it is needed: it may be said after the agent. */
  readonly onBlocked: () => OnBlocked
}

/** What the graph gives to its agents. */
export type AgentGiven = Pick<AgentTask, 'target' | 'upstream'>

export function agentDefinition(parts: AgentParts): Definition<AgentGiven> {
  const { name, bundle, runs } = parts
  return {
    kind: 'agent',
    name,
    options: {},
    run: (ctx, given) => runAgent(ctx, parts, given),
    inner: () => [runs],
    outline: () => ({ ...outlineOf(runs), id: name, kind: 'agent', note: bundle }),
  }
}

async function runAgent(ctx: Context, parts: AgentParts, given: AgentGiven): Promise<unknown> {
  const agent = pathHere()
  const isStopped = stopWatch(ctx)
  const cancelled = async (): Promise<Ended> => ({
    cancelled: await ctx.waitFor(cancelSignal(agent), { label: 'cancel' }),
  })
  const work = async (): Promise<Ended> => ({ output: await takeTurns({ ctx, agent, parts, given }) })
  let ended: Ended
  try {
    // First the cancel: one that came before the agent started is taken before the first turn.
    ended = await ctx.race([cancelled, work], { label: 'turns' })
  } catch (error) {
    if (!isStopped()) tell(ctx, 'agent-failed', { agent, reason: errorData(error).message })
    throw error
  }
  if ('output' in ended) {
    tell(ctx, 'agent-completed', { agent })
    return ended.output
  }
  const reason = typeof ended.cancelled === 'string' ? ended.cancelled : undefined
  tell(ctx, 'agent-cancelled', { agent, ...(reason === undefined ? {} : { reason }) })
  throw new NerveError('cancelled', `Agent '${agent}' was cancelled${reason === undefined ? '.' : `: ${reason}`}`, {
    data: { agent },
  })
}

type Ended = { readonly output: unknown } | { readonly cancelled: unknown }

/** True for the error of an agent that was cancelled by itself. */
export function isAgentCancelled(error: unknown): boolean {
  return isNerveError(error, 'cancelled') && error.data['agent'] !== undefined
}

interface Working {
  readonly ctx: Context
  readonly agent: string
  readonly parts: AgentParts
  readonly given: AgentGiven
}

/** Where an agent is between two turns. */
interface Progress {
  readonly turn: number
  readonly previous?: unknown
  readonly answer?: { readonly value: unknown }
  /** Of a coding agent: where its next turn goes on, also in another process. */
  readonly session?: unknown
}

type Turned = { readonly end: unknown } | Omit<Progress, 'turn'>

async function takeTurns(working: Working): Promise<unknown> {
  const { ctx, parts } = working
  const runs = runnableOf(ctx, parts.runs)
  let so: Progress = { turn: 1 }
  for (;;) {
    const at = so
    const turned = await ctx.scope(String(at.turn), () => takeTurn(working, runs, at))
    if ('end' in turned) return turned.end
    so = { turn: at.turn + 1, ...turned }
  }
}

async function takeTurn(working: Working, runs: AnyRunnable, so: Progress): Promise<Turned> {
  const { ctx, agent, parts, given } = working
  const messages = isNode(runs) ? await ctx.messages(messageSignal(agent)) : []
  if (so.turn > 1 && so.answer === undefined && messages.length === 0) return { end: so.previous }
  const task: AgentTask = {
    agent,
    bundle: parts.bundle,
    ...given,
    turn: so.turn,
    messages,
    ...(so.previous === undefined ? {} : { previous: so.previous }),
    ...(so.answer === undefined ? {} : { answer: so.answer.value }),
  }
  const output = await work(working, runs, { task, session: so.session })
  const stuck = blockedTurn(output)
  if (stuck === undefined)
    return isNode(runs) ? { previous: output, session: saidOf(output).session ?? so.session } : { end: output }
  const { session = so.session, ...told } = stuck
  const decided = await unblock(working, { agent, bundle: parts.bundle, turn: so.turn, ...told })
  if ('skip' in decided) return { end: decided.skip }
  if ('answer' in decided) return { previous: so.previous, answer: { value: decided.answer }, session }
  throw blocked(`${stuck.reason} It was decided that it fails: ${decided.fail}`)
}

interface Given {
  readonly task: AgentTask
  readonly session: unknown
}

function work({ ctx, agent, parts }: Working, runs: AnyRunnable, { task, session }: Given): Promise<unknown> {
  const { policy, prompt } = parts
  const speaks = isCodingAgent(runs)
  const given = speaks ? toldInput(runs, prompt?.(task) ?? taskText(task, task.turn), session) : task
  if (isNode(runs))
    return ctx.step('work', (call) => orBlocked(async () => heard(await executeNode(runs, given, call), speaks)), {
      ...runs.policy,
      ...policy,
      input: task,
    })
  // Blocked is no failure, so no policy applies to it.
  const run: AnyDefinition['run'] = (inner, input) => orBlocked(() => runs.run(inner, input))
  const definition = Object.create(runs, { run: { value: run } }) as AnyDefinition
  return withInbox(ctx, agent).run(definition, task, { ...policy, label: 'work' })
}

/** A coding agent cannot throw: it says that it is blocked. */
function heard(result: unknown, speaks: boolean): unknown {
  const { text, session } = speaks ? saidOf(result) : { text: '', session: undefined }
  const reason = stuckIn(text)
  return reason === undefined ? result : blocked(reason, { session } as BlockedOptions)
}

async function unblock({ ctx, agent, parts }: Working, told: Blocked): Promise<Decided> {
  const { reason, choices } = told
  tell(ctx, 'agent-blocked', { agent, reason })
  const handler = parts.onBlocked()
  const given = handler === 'ask' ? undefined : await decide(ctx, 'on-blocked', () => handler(told), handler)
  const decided = decisionOf(
    given ?? (await ctx.ask(reason, { label: 'blocked', detail: told, ...(choices === undefined ? {} : { choices }) })),
  )
  tell(ctx, 'agent-unblocked', { agent })
  return decided
}

function tell(ctx: Context, name: AgentEventName, told: AgentTold): void {
  ctx.emit(name, told)
}
