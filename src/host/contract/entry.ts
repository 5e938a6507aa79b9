/** What a line of the contract says: what is asked, by whom it may be asked, and what comes back. */
import type { z } from 'zod'
import type { Scope } from './scopes.ts'

export interface Entry<Kind extends 'command' | 'query' | 'feed', Input extends z.ZodType, Output extends z.ZodType> {
  readonly kind: Kind
  readonly scope: Scope
  readonly summary: string
  readonly input: Input
  readonly output: Output
  /** Only for callers who could do it without Nerve: in this process, or through a socket that only the user can open. */
  readonly local?: true
  /** The same for parts of the input. */
  readonly localFields?: readonly string[]
}

export type AnyEntry = Entry<'command' | 'query' | 'feed', z.ZodType, z.ZodType>

type Said<Input, Output> = Omit<Entry<'query', Input & z.ZodType, Output & z.ZodType>, 'kind' | 'scope'>

/** Changes something. */
export function command<Input extends z.ZodType, Output extends z.ZodType>(
  said: Said<Input, Output> & { readonly scope?: Scope },
): Entry<'command', Input, Output> {
  return { kind: 'command', scope: 'control', ...said }
}

/** Only looks. */
export function query<Input extends z.ZodType, Output extends z.ZodType>(
  said: Said<Input, Output>,
): Entry<'query', Input, Output> {
  return { kind: 'query', scope: 'read', ...said }
}

/** Gives one thing after the other. One that needs more than `read` starts what it tells of. */
export function feed<Input extends z.ZodType, Output extends z.ZodType>(
  said: Said<Input, Output> & { readonly scope?: Scope },
): Entry<'feed', Input, Output> {
  return { kind: 'feed', scope: 'read', ...said }
}
