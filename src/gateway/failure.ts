/** Failures of calls: what a status means, and what a failure tells the engine. */
import { NerveError } from '../base/nerve-error.ts'
import type { FailureKind, ModelFailure } from './exchange.ts'

/** Nothing came of a call, or it stopped coming. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed'
  readonly failure: ModelFailure
  constructor(failure: ModelFailure, cause?: unknown) {
    super(failure.message, cause === undefined ? undefined : { cause })
    this.failure = failure
  }
}

/** Failures that may be gone when the same is asked again. */
const PASSING: ReadonlySet<FailureKind> = new Set(['rate-limited', 'overloaded', 'timeout', 'server'])

export function mayPass({ kind }: ModelFailure): boolean {
  return PASSING.has(kind)
}

/**
 * A failure as an error that the engine acts on: a limit with a time when it ends parks the step until then and uses up no attempt;
 * what may pass is tried again; the rest is not.
 */
export function modelError(failure: ModelFailure, model?: string): NerveError {
  const { kind, status, message, retryAt } = failure
  const who = model === undefined ? 'The model' : `The model ${model}`
  const data = { kind, status, ...(model === undefined ? {} : { model }) }
  if (retryAt !== undefined && (kind === 'rate-limited' || kind === 'overloaded'))
    return new NerveError('quota', `${who} takes no calls until ${new Date(retryAt).toISOString()}: ${message}`, {
      retry: 'pause',
      data: { ...data, until: retryAt },
    })
  if (kind === 'budget') return new NerveError('budget-exhausted', message, { data })
  return new NerveError('model-failed', `${who} did not answer (${kind}, status ${status}): ${message}`, {
    retry: mayPass(failure) ? 'later' : 'never',
    data,
  })
}
