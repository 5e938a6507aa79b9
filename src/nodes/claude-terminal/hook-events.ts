/** What Claude Code says through its hooks, read once, at the edge. Whatever is not known is left out. */
import { NerveError } from '../../base/nerve-error.ts'

export interface PermissionHook {
  readonly type: 'permission'
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** What would make it not ask again, as Claude Code wants it back. */
  readonly suggestions: readonly unknown[]
}

export type HookEvent =
  | { readonly type: 'prompt'; readonly prompt: string; readonly promptId?: string }
  | { readonly type: 'tool-start'; readonly id: string; readonly tool: string; readonly input: unknown }
  | {
      readonly type: 'tool-end'
      readonly id: string
      readonly tool: string
      readonly output?: unknown
      readonly error?: string
    }
  | PermissionHook
  | { readonly type: 'stop'; readonly text: string; readonly promptId?: string }
  | { readonly type: 'failure'; readonly error: string; readonly text: string }
  | { readonly type: 'end' }

export interface Hook {
  readonly event: HookEvent
  readonly session: string
  /** The file in which Claude Code keeps the conversation. */
  readonly transcript?: string
}

/**
 * The hooks that are asked for. Others would be of use, but their addresses would be shown on the screen.
 */
export const HOOK_NAMES = [
  'UserPromptSubmit',
  'PreToolUse',
  'PermissionRequest',
  'PostToolUse',
  'PostToolUseFailure',
  'Stop',
  'StopFailure',
  'SessionEnd',
] as const

type Fields = Readonly<Record<string, unknown>>

export function readHook(body: unknown): Hook {
  if (!isFields(body)) throw notAHook()
  const { session_id: session, transcript_path: transcript } = body
  // It becomes an argument and a part of paths.
  if (!isSession(session)) throw notAHook()
  const event = eventOf(body)
  return { event, session, ...(typeof transcript === 'string' ? { transcript } : {}) }
}

function eventOf(body: Fields): HookEvent {
  const text = (name: string): string => textOf(body[name])
  const promptId = typeof body['prompt_id'] === 'string' ? { promptId: body['prompt_id'] } : {}
  const call = { id: text('tool_use_id'), tool: text('tool_name') }
  switch (body['hook_event_name'] as (typeof HOOK_NAMES)[number]) {
    case 'UserPromptSubmit':
      return { type: 'prompt', prompt: text('prompt'), ...promptId }
    case 'PreToolUse':
      return { type: 'tool-start', ...call, input: body['tool_input'] }
    case 'PostToolUse':
      return { type: 'tool-end', ...call, output: body['tool_response'] }
    case 'PostToolUseFailure':
      return { type: 'tool-end', ...call, error: text('error') }
    case 'PermissionRequest':
      return permissionOf(body, call.tool)
    case 'Stop':
      return { type: 'stop', text: text('last_assistant_message'), ...promptId }
    case 'StopFailure':
      return { type: 'failure', error: text('error'), text: text('last_assistant_message') }
    case 'SessionEnd':
      return { type: 'end' }
    default:
      throw notAHook()
  }
}

function permissionOf(body: Fields, tool: string): PermissionHook {
  const { tool_input: input, permission_suggestions: suggestions } = body
  return {
    type: 'permission',
    tool,
    input: isFields(input) ? input : {},
    suggestions: Array.isArray(suggestions) ? suggestions : [],
  }
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** The id of a conversation, as Claude Code has them. */
export function isSession(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}

function notAHook(): NerveError {
  return new NerveError('bad-input', 'This is no hook of Claude Code.')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
