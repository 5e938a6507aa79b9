/** Copies of the persistent nodes among some, for a copy of the definition that uses them. */
import { NerveError } from '../base/nerve-error.ts'
import type { AnyRunnable } from './definition.ts'
import { isNode } from './run-node.ts'

type Copies = Map<AnyRunnable | string, AnyRunnable>

/**
 * A copy of a definition copies the definitions in it, and those the ones in them. They all share what is copied: a node
 * that was one stays one. It is all done in one go, so what is being copied is kept here.
 */
let copying: { readonly copies: Copies; readonly suffix: string } | undefined

export function forkNodes(nodes: Iterable<AnyRunnable | string>, suffix: string): Copies {
  const whole = copying
  copying ??= { copies: new Map(), suffix }
  const { copies, suffix: own } = copying
  try {
    for (const node of nodes) {
      if (typeof node === 'string' || copies.has(node)) continue
      if (isNode(node)) {
        if (node.persistent) copies.set(node, forkOne(node, `${node.id}-${own}`))
      } else if (node.fork !== undefined) {
        copies.set(node, node.fork(`${node.name}-${own}`))
      }
    }
    return copies
  } finally {
    copying = whole
  }
}

/** A copy of one node or definition under another name. */
export function forkOne(node: AnyRunnable, name: string): AnyRunnable {
  const id = isNode(node) ? node.id : node.name
  if (node.fork === undefined)
    throw new NerveError('bad-option', `'${id}' (${node.kind}) cannot be forked: it has no fork().`)
  return node.fork(name)
}
