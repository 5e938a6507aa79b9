/** Nodes that authors make themselves. */
import { checkKnown } from '../base/check-known.ts'
import { NerveError } from '../base/nerve-error.ts'
import { parseWith, type Schema, type Unparsed } from '../base/schema.ts'
import type { AnyNode, Node, NodeInfo, Policy, StepCall } from '../engine/definition.ts'
import { isLabel } from '../engine/scope.ts'
import type { Effect } from '../journal/events.ts'

export interface NodeOptions<Input, Output> {
  readonly description?: string
  /** Shown by `explain` (default `function`). */
  readonly kind?: string
  /** Checks (and may convert) what a step gives it. */
  readonly input?: Schema<Input>
  /** Checks (and may convert) what it returns. */
  readonly output?: Schema<Output>
  /** How its steps are run, unless the step says otherwise. */
  readonly policy?: Policy<Output>
  /** What may happen to a step of it that was in flight at a crash (default `repeatable`). */
  readonly effect?: Effect
  /** True when it keeps state between executions: then it does one thing at a time. */
  readonly persistent?: boolean
  readonly start?: () => Promise<void> | void
  readonly stop?: () => Promise<void> | void
  readonly reset?: () => Promise<void> | void
  readonly interrupt?: () => Promise<void> | void
  /** Makes a copy with its own state from here on. */
  readonly fork?: (id: string) => Node<Input, Output>
}

type Execute<Input, Output> = (input: Input, call: StepCall) => Promise<Output> | Output

const ABILITIES = ['start', 'stop', 'reset', 'interrupt', 'fork'] as const
const KNOWN = ['description', 'kind', 'input', 'output', 'policy', 'effect', 'persistent', ...ABILITIES]

/**
 * A node from a function. Used in steps of graphs, in control nodes and by `ctx.run`; known by its id when registered.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 *
 * const shout = defineNode('shout', (text: string) => text.toUpperCase())
 * ```
 */
export function defineNode<Input, Output, Given>(
  id: string,
  execute: Execute<Input, Output>,
  options: NodeOptions<Input, Output> & { readonly input: Schema<Input, Given> },
): Node<Unparsed<Input, Given>, Output>
export function defineNode<Input = undefined, Output = unknown>(
  id: string,
  execute: Execute<Input, Output>,
  options?: NodeOptions<Input, Output>,
): Node<Input, Output>
export function defineNode<Input = undefined, Output = unknown>(
  id: string,
  execute: Execute<Input, Output>,
  options: NodeOptions<Input, Output> = {},
): Node<Input, Output> {
  if (!isLabel(id))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(id)} is not an id for a node. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  if (typeof execute !== 'function')
    throw new NerveError(
      'bad-definition',
      `Node '${id}' has no function: defineNode(id, (input, call) => …, options?).`,
    )
  checkKnown(`Node '${id}'`, options, KNOWN)
  const { description, kind = 'function', persistent = false, effect, policy, fork, ...abilities } = options
  const own = effect === undefined ? policy : { effect, ...policy }
  const { input, output: _output, ...lifecycle } = abilities
  return {
    id,
    kind,
    persistent,
    ...(own === undefined ? {} : { policy: own }),
    ...(input === undefined ? {} : { input }),
    execute: checked(id, execute, options),
    ...lifecycle,
    ...(fork === undefined ? {} : { fork: (name: string) => forked(id, fork(name)) }),
    info: () => ({
      id,
      kind,
      persistent,
      ...(description === undefined ? {} : { description }),
      abilities: ABILITIES.filter((ability) => options[ability] !== undefined),
    }),
  }
}

function checked<Input, Output>(
  id: string,
  execute: Execute<Input, Output>,
  { input, output }: NodeOptions<Input, Output>,
): Execute<Input, Output> {
  if (input === undefined && output === undefined) return execute
  return async (given, call) => {
    const ready =
      input === undefined ? given : await parseWith(input, given, { code: 'bad-input', what: `The input of '${id}'` })
    const made = await execute(ready, call)
    return output === undefined ? made : parseWith(output, made, { code: 'bad-output', what: `The output of '${id}'` })
  }
}

/** Lineage is kept in the copy's info. */
function forked(from: string, made: AnyNode): AnyNode {
  const info = (): NodeInfo => ({ ...made.info(), forkedFrom: from })
  return Object.assign(Object.create(made) as AnyNode, { info })
}
