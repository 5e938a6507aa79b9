/** Claude Code in a terminal, as a person would use it, as a persistent node: a conversation that goes on over steps. */
import { milliseconds, type Duration } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Node, NodeInfo } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import type { TerminalNode } from '../terminal/terminal.ts'
import { planTerminal } from '../terminal/terminal-options.ts'
import type { TerminalState } from '../terminal/terminal-keeper.ts'
import { ClaudeKeeper } from './claude-keeper.ts'
import { configOf, planClaude, planOfCopy, type ClaudePlan, type ClaudeTerminalOptions } from './claude-options.ts'
import type { ClaudeResult } from './claude-result.ts'
import type { ClaudeCall } from './claude-turn.ts'
import { isFields } from './hook-events.ts'

/** A prompt, or one that may take another time than the node's. */
export type ClaudeInput = string | { readonly prompt: string; readonly timeout?: Duration }

export interface ClaudeTerminalInfo extends NodeInfo {
  readonly state: TerminalState
  readonly session: string
  readonly pid?: number
  /** Who has taken over. */
  readonly writer?: string
  /** What it was made of; of variables only the names. With it, the same conversation goes on. */
  readonly config: Readonly<Record<string, unknown>>
}

/** What a person at the screen does, as with every terminal. */
type Screen = Pick<
  TerminalNode,
  'write' | 'read' | 'readTail' | 'clearBuffer' | 'resize' | 'screen' | 'watch' | 'takeOver' | 'handBack'
>

export interface ClaudeTerminalNode extends Node<ClaudeInput, ClaudeResult>, Screen {
  readonly state: TerminalState
  /** The conversation. */
  readonly session: string
  /** Starts Claude Code, with the conversation if there is one, and waits until it takes a prompt. */
  start(): Promise<void>
  /** Ends Claude Code and everything that it started. The conversation is kept. */
  stop(): Promise<void>
  /** Stops it and starts it again, with the same conversation. */
  reset(): Promise<void>
  /** Escape: the turn ends, and the step that waits for it is interrupted. */
  interrupt(): Promise<void>
  /** Another node whose conversation begins as a copy of this one, when it is first started. */
  fork(id: string): ClaudeTerminalNode
  info(): ClaudeTerminalInfo
  /** Types a prompt and waits until Claude has ended its turn. */
  execute(input: ClaudeInput, call?: ClaudeCall): Promise<ClaudeResult>
}

const ABILITIES = ['start', 'stop', 'reset', 'interrupt', 'fork', 'write', 'read', 'screen'] as const

/**
 * Claude Code in a terminal. It starts when it is first needed. What it wants to do is asked as a question, at its screen and
 * in the inbox.
 *
 * ```ts
 * import { claudeTerminal } from 'nerve/claude-terminal'
 *
 * const coder = claudeTerminal('coder', { cwd: 'app', inherit: ['ANTHROPIC_API_KEY'] })
 * ```
 */
export function claudeTerminal(id: string, options: ClaudeTerminalOptions = {}): ClaudeTerminalNode {
  checkId(id)
  const plan = planClaude(id, options)
  // Wrong options are told now, not when it starts.
  planTerminal(id, plan.options)
  return made(id, plan)
}

function made(id: string, plan: ClaudePlan, forkedFrom?: string): ClaudeTerminalNode {
  const keeper = new ClaudeKeeper(id, plan)
  return {
    id,
    kind: 'claude-terminal',
    persistent: true,
    policy: plan.policy,
    get state() {
      return keeper.state
    },
    get session() {
      return keeper.session
    },
    execute: async (input, call = {}) => {
      const { prompt, timeoutMs } = promptOf(id, input, plan)
      return keeper.execute(prompt, timeoutMs, call)
    },
    start: () => keeper.start(),
    stop: () => keeper.stop(),
    reset: async () => {
      await keeper.stop()
      await keeper.start()
    },
    interrupt: () => keeper.interrupt(),
    fork: (name) => {
      checkId(name)
      return made(name, planOfCopy(plan, keeper.session), id)
    },
    ...screenOf(keeper),
    info: () => ({
      id,
      kind: 'claude-terminal',
      persistent: true,
      ...(plan.description === undefined ? {} : { description: plan.description }),
      abilities: ABILITIES,
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
      ...keeper.facts(),
      session: keeper.session,
      config: configOf(plan, keeper.session),
    }),
  }
}

function screenOf(keeper: ClaudeKeeper): Screen {
  return {
    write: async (data, who) => (await keeper.terminal()).write(data, who),
    read: () => keeper.screen?.read() ?? '',
    readTail: (lines) => keeper.screen?.readTail(lines) ?? '',
    clearBuffer: () => keeper.screen?.clearBuffer(),
    resize: (cols, rows) => keeper.resize(cols, rows),
    screen: async () => (await keeper.terminal()).screen(),
    watch: (listener) => keeper.watch(listener),
    takeOver: (who) => keeper.takeOver(who),
    handBack: (who) => keeper.handBack(who),
  }
}

function promptOf(id: string, input: ClaudeInput, plan: ClaudePlan): { prompt: string; timeoutMs: number } {
  const { prompt, timeout } = isFields(input) ? input : { prompt: input, timeout: undefined }
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw new NerveError('bad-input', `'${id}' needs a prompt: a text, or { prompt, timeout? }.`)
  return { prompt, timeoutMs: timeout === undefined ? plan.timeoutMs : milliseconds(timeout, 'timeout') }
}

function checkId(id: string): void {
  if (isLabel(id)) return
  throw new NerveError(
    'bad-definition',
    `${JSON.stringify(id)} is not an id for a node. Use 1 to 200 characters without '/', '#' and line breaks.`,
  )
}
