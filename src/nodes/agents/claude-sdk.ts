/** The part of Claude's SDK that is used, and the parts of its messages that are read, as types: its package may not be there. */
import type { Models, TellsUsage, Tokens } from './claude-spending.ts'
import type { Methods, Numbers, Texts } from './fields.ts'

export type Sdk = {
  query(params: { prompt: AsyncIterable<unknown>; options: Readonly<Record<string, unknown>> }): Query
}

export interface Query extends AsyncIterable<Message>, Methods<'interrupt'>, TellsUsage {
  close(): void
}

export interface Message extends Texts<'type' | 'subtype' | 'error' | 'result' | 'terminal_reason'> {
  readonly parent_tool_use_id?: string | null
  readonly event?: Texts<'type'> & { readonly delta?: Texts<'type' | 'text' | 'thinking'> }
  readonly message?: Texts<'stop_reason'> & { readonly content?: string | readonly Block[]; readonly usage?: Tokens }
  readonly errors?: readonly string[]
  readonly is_error?: boolean
  readonly structured_output?: unknown
  readonly usage?: Tokens
  readonly total_cost_usd?: number
  readonly modelUsage?: Models
  readonly rate_limit_info?: Limit
}

interface Block extends Texts<'type' | 'id' | 'name' | 'tool_use_id'> {
  readonly input?: unknown
  readonly is_error?: boolean
  readonly content?: unknown
}

export interface Asked extends Readonly<Record<'tool_name' | 'tool_use_id', string>>, Texts<'agent_id'> {
  readonly tool_input: unknown
}

type Limit = Texts<'status'> & Numbers<'resetsAt'>

/** When a subscription that has reached its limit takes something again, in seconds since 1970; 0 when it does. */
export function rejectedUntil({ status, resetsAt = 0 }: Limit = {}): number {
  return status === 'rejected' ? resetsAt : 0
}
