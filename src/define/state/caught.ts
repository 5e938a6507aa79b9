/** How something ended for which there is a handler. */
import { errorData, errorFrom, withoutStack } from '../../base/nerve-error.ts'
import type { Context } from '../../engine/definition.ts'
import { recordFailure, stopWatch } from '../../engine/run-node.ts'

export type Caught<Value> = { readonly value: Value } | { readonly error: Error }

export interface Catching<Value> {
  /** Under what the journal says that it failed, when no step has said so. */
  readonly label: string
  readonly run: () => Promise<Value>
  /** Makes durable calls from the right place. */
  readonly here: <Made>(make: () => Made) => Made
}

/** Waits for something. What was stopped from outside has not failed by itself, and throws. */
export async function caught<Value>(ctx: Context, { label, run, here }: Catching<Value>): Promise<Caught<Value>> {
  const isStopped = here(() => stopWatch(ctx))
  try {
    return { value: await run() }
  } catch (error) {
    if (isStopped()) throw error
    here(() => recordFailure(ctx, label, error))
    // Where it was thrown differs from replay to replay.
    return { error: errorFrom(withoutStack(errorData(error))) }
  }
}
