/** Agents that are told things in words: coding agents, chats, and whatever else takes a text and gives one. */
import type { AnyDefinition, Context, NodeInfo, StepCall } from '../../engine/definition.ts'
import { isNode, runnableOf } from '../../engine/run-node.ts'
import type { AgentTask } from './agent.ts'

/** A node that takes a text. */
export interface TextNode<Output = unknown> {
  readonly id: string
  readonly kind: string
  readonly persistent: boolean
  execute(input: string, call: StepCall): Promise<Output> | Output
  info(): NodeInfo
}

/** A node of `agent(…)`: it takes a text, and can be told in which session. */
export interface CodingAgent<Output = unknown> extends TextNode<Output> {
  readonly session: unknown
}

/** Whoever can be told something: a node or a definition that takes a text, or the name of one. */
export type TextAgent = TextNode | AnyDefinition | string

/** What came back. */
export interface Said {
  readonly text: string
  /** For coding agents: where the conversation goes on. */
  readonly session?: unknown
  readonly data?: unknown
}

export interface TellOptions {
  readonly label: string
  /** For coding agents: the session that takes it, or `new` (default: the one that the node is in). */
  readonly session?: unknown
}

export async function tell(ctx: Context, agent: TextAgent, prompt: string, options: TellOptions): Promise<Said> {
  const runs = runnableOf(ctx, agent as AnyDefinition | string)
  return saidOf(await ctx.run(runs, toldInput(runs, prompt, options.session), { label: options.label }))
}

/** What a node gets for a prompt. Only coding agents have sessions that can be named. */
export function toldInput(runs: unknown, prompt: string, session: unknown): unknown {
  if (!isCodingAgent(runs)) return prompt
  return { prompt, ...(session === undefined ? {} : { session }) }
}

export function isCodingAgent(runs: unknown): boolean {
  return isNode(runs) && runs.kind === 'agent'
}

export function saidOf(result: unknown): Said {
  if (typeof result === 'string') return { text: result }
  const { text, session, data } = (typeof result === 'object' && result !== null ? result : {}) as Partial<Said>
  return {
    text: typeof text === 'string' ? text : wordsOf(result),
    ...(session === undefined ? {} : { session }),
    ...(data === undefined ? {} : { data }),
  }
}

const MARK = 'BLOCKED:'
const STUCK =
  `If you cannot go on without an answer from a person, do not guess: end your reply with one line that begins with ` +
  `${MARK} and says what you want to know.`

/** What a coding agent is told of its task, turn by turn. Its session remembers the turns before. */
export function taskText({ target, upstream, messages, answer }: AgentTask, turn: number): string {
  const news = messages.map((message) => `- ${wordsOf(message)}`)
  if (turn > 1) {
    const answered = answer === undefined ? [] : [`You asked a person. The answer is: ${wordsOf(answer)}`]
    const told = news.length === 0 ? [] : [`There are messages for you:\n${news.join('\n')}`]
    return [...answered, ...told, 'Go on with your task in the light of that.'].join('\n\n')
  }
  const others = Object.entries(upstream).map(([name, result]) => `## What ${name} has done\n${saidOf(result).text}`)
  const told = news.length === 0 ? [] : [`## Messages for you\n${news.join('\n')}`]
  return [...(target === undefined ? [] : [wordsOf(target)]), ...others, ...told, STUCK].join('\n\n')
}

/** What an agent wants to know, when the last line that it said is that it is blocked. */
export function stuckIn(text: string): string | undefined {
  const last = text.trimEnd().split('\n').at(-1)?.trim() ?? ''
  return last.startsWith(MARK) ? last.slice(MARK.length).trim() || 'It does not say why.' : undefined
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? '')
}
