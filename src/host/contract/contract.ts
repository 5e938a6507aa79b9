/**
 * The one contract: everything that can be asked of a host, as data. From these tables follow the routes, the line protocol,
 * the typed client, the OpenAPI document, tools for models and commands for people.
 *
 * Nothing in it carries code: what runs is named, and was registered by whoever started the host, or is a spec, which is data.
 */
import type { z } from 'zod'
import { HOST } from './host-table.ts'
import { NODES } from './node-table.ts'
import { PEOPLE } from './people-table.ts'
import { RUNS } from './run-table.ts'

export const contract = { ...RUNS, ...PEOPLE, ...NODES, ...HOST }

export type Contract = typeof contract
export type Name = keyof Contract
export type FeedName = { [One in Name]: Contract[One]['kind'] extends 'feed' ? One : never }[Name]
export type CallName = Exclude<Name, FeedName>

/** What a caller gives. */
export type Input<One extends Name> = z.input<Contract[One]['input']>
/** What a handler gets. */
export type Checked<One extends Name> = z.output<Contract[One]['input']>
export type Output<One extends Name> = z.output<Contract[One]['output']>

export function isName(text: string): text is Name {
  return Object.hasOwn(contract, text)
}

/** True when it may be asked for without changing anything. */
export function isSafe(one: Name): boolean {
  const { kind, scope } = contract[one]
  return kind === 'query' || (kind === 'feed' && scope === 'read')
}

export function isFeed(one: Name): one is FeedName {
  return contract[one].kind === 'feed'
}
