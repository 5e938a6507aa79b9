/** The part of what Codex' app server says that is used, as types; and what that means. */
import type { Texts } from './fields.ts'

export interface Item extends Texts<'text' | 'command' | 'status' | 'aggregatedOutput' | 'tool' | 'server'> {
  readonly type: string
  readonly id: string
  readonly changes?: readonly { readonly path: string; readonly kind?: { readonly move_path?: string | null } }[]
  readonly arguments?: unknown
}

type Tokens = Readonly<Record<'inputTokens' | 'outputTokens' | 'totalTokens', number>>
export type Made = { readonly id: string }
export type Started = { readonly thread: Made }
export type Asked = { readonly itemId: string; readonly questions?: readonly Made[] } & Texts<'command' | 'cwd'>
type Failure = { readonly message: string; readonly codexErrorInfo?: unknown }

/** What is said in notifications; each has some of it. */
export interface Said extends Texts<'threadId' | 'delta'> {
  readonly item?: Item
  readonly tokenUsage?: { readonly total: Tokens; readonly last: Tokens; readonly modelContextWindow: number | null }
  readonly rateLimits?: Limits
  readonly turn?: { readonly id: string; readonly status: string; readonly error?: Failure | null }
  readonly error?: Failure
  readonly willRetry?: boolean
}

/** Of a short and a long window. */
type Limits = Readonly<Partial<Record<'primary' | 'secondary', Window | null>>>
type Window = { readonly usedPercent: number; readonly resetsAt: number | null }

export function toolOf(item: Item): { readonly tool: string; readonly input: unknown } | undefined {
  const { type, command, changes, server, tool } = item
  if (type === 'commandExecution') return { tool: 'shell', input: { command } }
  if (type === 'fileChange') return { tool: 'edit', input: { changes } }
  return type === 'mcpToolCall' ? { tool: `${server ?? ''}.${tool ?? ''}`, input: item.arguments } : undefined
}

/** When a subscription that is used up takes something again, in seconds since 1970; 0 when it does. */
export function usedUpUntil({ primary, secondary }: Limits): number {
  const ends = [primary, secondary].map((one) => ((one?.usedPercent ?? 0) >= 100 ? (one?.resetsAt ?? 0) : 0))
  return Math.max(...ends)
}
