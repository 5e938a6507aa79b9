/** What nodes that are nothing but their configuration have in common: an id, info, fork with lineage, interrupt. */
import { NerveError } from '../base/nerve-error.ts'
import type { Node, Policy, StepCall } from '../engine/definition.ts'
import { isLabel } from '../engine/scope.ts'

export interface Execution {
  /** The id of the node that executes, for messages. */
  readonly id: string
  readonly call: StepCall
  /** Aborts with the step, and when the node is interrupted. */
  readonly signal: AbortSignal
}

export interface Plan<Input, Output> {
  readonly kind: string
  readonly description?: string | undefined
  readonly policy?: Policy<Output>
  readonly execute: (input: Input, execution: Execution) => Promise<Output> | Output
}

/** A node of a plan. Its copies have the same plan, and say where they come from. */
export function forkable<Input, Output>(id: string, plan: Plan<Input, Output>, from?: string): Node<Input, Output> {
  if (!isLabel(id))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(id)} is not an id for a node. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  const { kind, description, policy } = plan
  const running = new Set<AbortController>()
  return {
    id,
    kind,
    persistent: false,
    ...(policy === undefined ? {} : { policy }),
    async execute(input, call) {
      const own = new AbortController()
      running.add(own)
      try {
        return await plan.execute(input, { id, call, signal: AbortSignal.any([call.signal, own.signal]) })
      } finally {
        running.delete(own)
      }
    },
    interrupt() {
      const error = new NerveError('interrupted', `Node '${id}' was interrupted.`, { retry: 'later' })
      for (const one of running) one.abort(error)
    },
    fork: (name) => forkable(name, plan, id),
    info: () => ({
      id,
      kind,
      persistent: false,
      ...(description === undefined ? {} : { description }),
      abilities: ['interrupt', 'fork'],
      ...(from === undefined ? {} : { forkedFrom: from }),
    }),
  }
}

/** A whole number from 0, or the default. */
export function wholeNumber(what: string, given: number | undefined, otherwise: number): number {
  if (given === undefined) return otherwise
  if (Number.isSafeInteger(given) && given >= 0) return given
  throw new NerveError('bad-option', `${what} is ${String(given)}; give a whole number from 0.`)
}

/** Refuses options that are there and are not text: those that come from a file have no types. */
export function checkTexts<Options extends object>(
  what: string,
  options: Options,
  names: readonly (keyof Options & string)[],
): void {
  for (const name of names) {
    const given: unknown = options[name]
    if (given !== undefined && typeof given !== 'string')
      throw new NerveError('bad-option', `${what}: ${name} must be text.`, { data: { option: name } })
  }
}
