/** The part of what OpenCode's server says that is used, as types. */
import type { Numbers, Texts } from './fields.ts'

export interface Part extends Texts<'id' | 'type' | 'messageID' | 'text' | 'tool' | 'callID'>, Numbers<'cost'> {
  readonly state?: { readonly status: string; readonly input?: unknown } & Texts<'output' | 'error'>
  readonly tokens?: Readonly<Record<'input' | 'output' | 'reasoning', number>> & {
    readonly cache: Readonly<Record<'read' | 'write', number>>
  }
}

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

export type Made = { readonly id: string }
export type Provider = Made & { readonly models: Readonly<Record<string, { readonly limit?: Numbers<'context'> }>> }
