/** How a part ended, as a value: for control nodes that go on when one of their parts has failed. */
import { errorData, withoutStack, type ErrorData } from '../../base/nerve-error.ts'
import type { Context, RunOptions } from '../../engine/definition.ts'
import { isNode, recordFailure, runnableOf, stopWatch } from '../../engine/run-node.ts'
import { runPart } from './control.ts'
import type { Part } from './fit.ts'

export type Settled<Value = unknown> =
  | { readonly status: 'done'; readonly value: Value }
  | { readonly status: 'failed'; readonly error: ErrorData }

/** Waits for a part and says how it ended. What was stopped from outside has not ended by itself, and throws. */
export async function settle<Value>(ctx: Context, run: () => Promise<Value>): Promise<Settled<Value>> {
  const isStopped = stopWatch(ctx)
  try {
    return { status: 'done', value: await run() }
  } catch (error) {
    if (isStopped()) throw error
    recordFailure(ctx, 'failed', error)
    // Where it was thrown differs from replay to replay.
    return { status: 'failed', error: withoutStack(errorData(error)) }
  }
}

/** Waits for a part. When it fails by itself, the journal says so, whatever is made of it. */
export async function noted<Value>(ctx: Context, run: () => Promise<Value>): Promise<Value> {
  const isStopped = stopWatch(ctx)
  try {
    return await run()
  } catch (error) {
    if (!isStopped()) recordFailure(ctx, 'failed', error)
    throw error
  }
}

/**
 * Runs a part so that its failure is thrown, also in a run with the policy `continue`, where a failed step otherwise gives
 * undefined. What the node itself says about failures comes first.
 */
export function runStrictly(ctx: Context, node: Part, input: unknown, options: RunOptions = {}): Promise<unknown> {
  const found = runnableOf(ctx, node)
  const strict = isNode(found) && found.policy?.onError === undefined
  return runPart(ctx, found, input, strict ? { ...options, onError: 'fail' } : options)
}
