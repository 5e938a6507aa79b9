/** What a Claude in a terminal is made of: options, checked once, with their defaults. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { randomUUID } from 'node:crypto'
import { milliseconds } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Policy } from '../../engine/definition.ts'
import type { TerminalOptions } from '../terminal/terminal-options.ts'
import type { ClaudeResult } from './claude-result.ts'
import { isFields, isSession } from './hook-events.ts'

/** Options of a terminal that mean nothing here, or that the node sets by itself. */
type Fixed = 'marks' | 'rc' | 'readyPattern' | 'screen' | 'answers' | 'maxOutput' | 'policy'

export interface ClaudeTerminalOptions extends Omit<TerminalOptions, Fixed> {
  /** The program (default: `claude`, found in PATH). */
  readonly command?: string
  /** More arguments, such as `--model` and its value. */
  readonly args?: readonly string[]
  /** The id of the conversation, a UUID (default: a new one). One that exists is resumed. */
  readonly session?: string
  /** A conversation that this one begins as a copy of. */
  readonly copyOf?: string
  /** Where Claude Code keeps its settings and conversations (default: `CLAUDE_CONFIG_DIR`, or `.claude` at home). */
  readonly configDir?: string
  /** When Claude Code asks before it uses a tool (default `default`: before everything that is not known to be harmless). */
  readonly permissionMode?: PermissionMode
  /** More settings, as in a `settings.json` of Claude Code. */
  readonly settings?: Readonly<Record<string, unknown>>
  readonly policy?: Policy<ClaudeResult>
}

export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'auto' | 'dontAsk' | 'bypassPermissions'

export interface ClaudePlan {
  readonly options: Omit<TerminalOptions, 'policy'>
  readonly description: string | undefined
  /** True when the program was not named: then a missing one can be explained. */
  readonly ownCommand: boolean
  readonly args: readonly string[]
  readonly session: string
  readonly copyOf: string | undefined
  readonly cwd: string
  readonly configDir: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly timeoutMs: number
  readonly startTimeoutMs: number
  readonly policy: Policy<ClaudeResult>
}

const MODES: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan', 'auto', 'dontAsk', 'bypassPermissions']
/** What the node says itself, and what would make it another program. */
const TAKEN =
  /^(?:--(?:session-id|resume|continue|fork-session|settings|print|bg|background|cloud|desktop)|-[rcp])(?:=|$)/
const FOREVER = Number.POSITIVE_INFINITY

export function planClaude(id: string, given: ClaudeTerminalOptions): ClaudePlan {
  const what = `claudeTerminal '${id}'`
  if (typeof given !== 'object' || given === null)
    throw new NerveError('bad-option', `${what}: give options as an object.`)
  const { session, copyOf, configDir, permissionMode = 'default', settings = {}, ...more } = given
  const { args = [], timeout, startTimeout, policy, description, ...terminal } = more
  if (!MODES.includes(permissionMode))
    throw bad(what, 'permissionMode', `${JSON.stringify(permissionMode)}; give one of ${MODES.join(', ')}`)
  if (typeof settings !== 'object' || settings === null) throw bad(what, 'settings', 'no object')
  const taken = args.find((arg) => TAKEN.test(arg))
  if (taken !== undefined) throw bad(what, 'args', `with ${taken}, which this node sets by itself`)
  if (typeof terminal.in === 'object' && terminal.in.pane !== undefined)
    throw bad(what, 'in.pane', 'a pane that is there already; Claude Code needs one of its own')
  const place = configDir === undefined ? undefined : resolve(configDir)
  return {
    options: {
      ...terminal,
      command: terminal.command ?? 'claude',
      ...(place === undefined ? {} : { env: { ...terminal.env, CLAUDE_CONFIG_DIR: place } }),
    },
    description,
    ownCommand: terminal.command === undefined,
    args,
    session: session === undefined ? randomUUID() : uuid(what, 'session', session),
    copyOf: copyOf === undefined ? undefined : uuid(what, 'copyOf', copyOf),
    cwd: resolve(terminal.cwd ?? '.'),
    configDir: place ?? usualPlace(terminal),
    settings: { ...settings, permissions: withMode(settings['permissions'], permissionMode) },
    timeoutMs: timeout === undefined ? FOREVER : milliseconds(timeout, 'timeout'),
    startTimeoutMs: milliseconds(startTimeout ?? '25s', 'startTimeout'),
    // The conversation is kept, so a step that was cut off can go on from what it holds.
    policy: { effect: 'resumable', recordInput: true, ...policy },
  }
}

/** The plan of a copy: it begins with what the other one knows by then. */
export function planOfCopy(plan: ClaudePlan, session: string): ClaudePlan {
  return { ...plan, session: randomUUID(), copyOf: session }
}

/** What a node can be made again from; of variables only the names. */
export function configOf(plan: ClaudePlan, session: string): Readonly<Record<string, unknown>> {
  const { env, ...options } = plan.options
  const { permissions } = plan.settings as { readonly permissions: { readonly defaultMode: PermissionMode } }
  return {
    ...options,
    args: plan.args,
    cwd: plan.cwd,
    env: Object.keys(env ?? {}),
    session,
    ...(plan.copyOf === undefined ? {} : { copyOf: plan.copyOf }),
    configDir: plan.configDir,
    permissionMode: permissions.defaultMode,
    ...(Number.isFinite(plan.timeoutMs) ? { timeout: plan.timeoutMs } : {}),
  }
}

function uuid(what: string, name: string, value: unknown): string {
  const text = typeof value === 'string' ? value.toLowerCase() : ''
  if (isSession(text)) return text
  throw bad(what, name, `${JSON.stringify(value)}, which is no UUID`)
}

function bad(what: string, option: string, is: string): NerveError {
  return new NerveError('bad-option', `${what}: ${option} is ${is}.`, { data: { option } })
}

/** Where Claude Code looks, with the variables that it will get. */
function usualPlace({ env = {}, inherit = [] }: TerminalOptions): string {
  const passed = inherit.includes('CLAUDE_CONFIG_DIR') ? process.env['CLAUDE_CONFIG_DIR'] : undefined
  const home = env['HOME'] ?? process.env['HOME'] ?? homedir()
  return resolve(env['CLAUDE_CONFIG_DIR'] ?? passed ?? join(home, '.claude'))
}

function withMode(permissions: unknown, defaultMode: PermissionMode): Readonly<Record<string, unknown>> {
  return { ...(isFields(permissions) ? permissions : {}), defaultMode }
}
