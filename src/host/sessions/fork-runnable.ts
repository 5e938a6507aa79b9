import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable } from '../../engine/definition.ts'
import { isNode } from '../../engine/run-node.ts'
import { nameOf } from '../registry.ts'
import type { NodeFactory } from './node-factory.ts'
import { isStateless, renamed } from './session-members.ts'

/**
 * A copy under another name: by its own fork, or else from the configuration that it was made from, or else (when it keeps
 * nothing between executions) by sharing what it does.
 */
export async function forkRunnable(one: AnyRunnable, name: string, factory: NodeFactory): Promise<AnyRunnable> {
  if (!isNode(one)) {
    if (one.fork !== undefined) return one.fork(name)
    if (isStateless(one)) return renamed(one, name)
    throw cannot(one)
  }
  if (one.fork !== undefined) {
    const copy = one.fork(name)
    if (one.parser !== undefined && copy.parser === undefined)
      Object.assign(copy, { parser: (output: unknown) => one.parser?.(output) })
    factory.inherit(copy, one)
    return copy
  }
  const again = await factory.again(one, name)
  if (again !== undefined) return again
  if (!isStateless(one)) throw cannot(one)
  const { kind, policy } = one
  return {
    id: name,
    kind,
    persistent: false,
    ...(policy === undefined ? {} : { policy }),
    execute: (input, call): unknown => one.execute(input, call),
    info: () => ({ ...one.info(), id: name, forkedFrom: one.id }),
  }
}

function cannot(one: AnyRunnable): NerveError {
  return new NerveError(
    'bad-option',
    `'${nameOf(one)}' (${one.kind}) cannot be forked: it keeps something between executions, and has no fork().`,
  )
}
