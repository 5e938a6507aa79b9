/** The part of what OpenCode's server says that is used, as types; and what it has spent. */
import type { Numbers, Texts } from './fields.ts'

export interface Spending extends Numbers<'cost'> {
  readonly tokens?: Readonly<Record<'input' | 'output' | 'reasoning', number>> & {
    readonly cache: Readonly<Record<'read' | 'write', number>>
  }
}

export interface Part extends Texts<'id' | 'type' | 'messageID' | 'text' | 'tool' | 'callID'>, Spending {
  readonly state?: { readonly status: string; readonly input?: unknown } & Texts<'output' | 'error'>
}

export type Message = { readonly info: Spending & { readonly summary?: unknown } }

export type Failure = Texts<'name'> & { readonly data?: Texts<'message'> & Numbers<'statusCode'> }

/** What is said in events; each has some of it. */
export interface Said extends Texts<'id' | 'sessionID' | 'partID' | 'messageID' | 'field' | 'delta' | 'permission'> {
  readonly part?: Part
  readonly info?: Made & { readonly summary?: unknown } & Texts<'role' | 'providerID' | 'modelID' | 'parentID'>
  readonly status?: Texts<'type' | 'message'>
  readonly error?: Failure
  readonly patterns?: readonly string[]
  readonly metadata?: unknown
  readonly tool?: Texts<'callID'>
}

type Made = { readonly id: string }
export type Provider = Made & { readonly models: Readonly<Record<string, { readonly limit?: Numbers<'context'> }>> }

const NONE = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

type Spent = Readonly<Record<'input' | 'output' | 'usd' | 'used', number>>

/** `used` is what is in the context window afterwards. */
export function spendingOf({ tokens = NONE, cost: usd = 0 }: Spending): Spent {
  const input = tokens.input + tokens.cache.read + tokens.cache.write
  const output = tokens.output + tokens.reasoning
  return { input, output, usd, used: input + output }
}
