/** An agent that cannot go on without an answer: how it says so, and what can be decided about it. */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'

export interface BlockedOptions {
  /** The answers that it can use. */
  readonly choices?: readonly string[]
  /** More for whoever answers: anything that JSON can hold. */
  readonly detail?: unknown
}

/** What whoever decides is told. */
export interface Blocked extends BlockedOptions {
  /** The agent's path: its name, with those of the definitions around it. */
  readonly agent: string
  readonly bundle: string
  /** What it wants to know. */
  readonly reason: string
  readonly turn: number
}

/**
 * What is done about it: the agent is run again with an answer, left with a result instead of its own, or failed. A plain
 * text is an answer; without a decision a person is asked.
 */
export type BlockedDecision =
  | string
  | { readonly answer: unknown }
  | { readonly skip: unknown }
  | { readonly fail: string }
  | undefined

export type OnBlocked = 'ask' | ((blocked: Blocked) => Promise<BlockedDecision> | BlockedDecision)

/**
 * What an agent throws, or returns, when it cannot go on without an answer.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { blocked, type AgentTask } from 'nerve/agents'
 *
 * const lint = defineNode('lint', ({ answer }: AgentTask<string>) => {
 *   if (answer === undefined) throw blocked('Which style?', { choices: ['short', 'long'] })
 *   return `linted, ${String(answer)}`
 * })
 * ```
 */
export function blocked(reason: string, options: BlockedOptions = {}): NerveError {
  return new NerveError('blocked', `It is blocked: ${reason}`, { data: { reason, ...options } })
}

/** How a blocked turn is kept in the journal: it is no failure. */
const TAG = 'nerve:blocked'

export interface BlockedTurn {
  readonly [TAG]: {
    readonly reason: string
    /** Of a coding agent: where the answer is given. */
    readonly session?: unknown
  } & BlockedOptions
}

/** What a turn gave: the agent's own result, or that it is blocked, as data. */
export async function orBlocked(turn: () => unknown): Promise<unknown> {
  let given: unknown
  try {
    given = await turn()
  } catch (error) {
    if (!isNerveError(error, 'blocked')) throw error
    given = error
  }
  return isNerveError(given, 'blocked') ? { [TAG]: given.data } : given
}

export function blockedTurn(output: unknown): BlockedTurn[typeof TAG] | undefined {
  if (typeof output !== 'object' || output === null || !(TAG in output)) return undefined
  return (output as BlockedTurn)[TAG]
}

export type Decided = { readonly answer: unknown } | { readonly skip: unknown } | { readonly fail: string }

/** A decision of a handler, or what a person answered: `{ skip }` and `{ fail }` decide, everything else is an answer. */
export function decisionOf(given: unknown): Decided {
  if (typeof given !== 'object' || given === null) return { answer: given }
  const [key, ...others] = Object.keys(given)
  const alone = others.length === 0
  if (alone && (key === 'answer' || key === 'skip')) return given as Decided
  if (alone && key === 'fail') return { fail: String((given as { readonly fail: unknown }).fail) }
  return { answer: given }
}
