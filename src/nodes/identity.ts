import { checkKnown } from '../base/check-known.ts'
import type { Node } from '../engine/definition.ts'
import { forkable } from './forkable.ts'

export interface IdentityOptions {
  readonly description?: string
}

/**
 * A node that returns its input: a named place in a graph, or a stand-in for a node that is not there yet.
 *
 * ```ts
 * import { identity } from 'nerve/nodes'
 *
 * const notes = identity<string>('notes')
 * ```
 */
export function identity<Value = unknown>(id: string, options: IdentityOptions = {}): Node<Value, Value> {
  checkKnown(`identity '${id}'`, options, ['description'])
  return forkable<Value, Value>(id, { kind: 'identity', description: options.description, execute: (value) => value })
}
