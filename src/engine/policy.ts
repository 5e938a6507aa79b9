/** Step policies as pure functions: what is allowed, how long to wait, what cannot be helped by trying again. */
import { checkKnown } from '../base/check-known.ts'
import { milliseconds } from '../base/duration.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { StepFailed, Usage } from '../journal/events.ts'
import type { Backoff, StepOptions } from './definition.ts'

const STEP = ['attempts', 'backoff', 'timeout', 'onError', 'effect', 'input', 'recordInput', 'reserve'] as const

export function checkStepOptions<Output>(label: string, options: StepOptions<Output>): void {
  checkKnown(`Step '${label}'`, options, STEP)
  const { attempts, timeout, backoff, onError, effect, recordInput, reserve } = options
  const wrong = (text: string): never => {
    throw new NerveError('bad-option', `Step '${label}': ${text}`, { data: { label } })
  }
  if (attempts !== undefined && (!Number.isInteger(attempts) || attempts < 1))
    wrong(`attempts is ${attempts}; give a whole number from 1.`)
  if (timeout !== undefined) milliseconds(timeout, `the timeout of step '${label}'`)
  if (backoff !== undefined) backoffDelay(backoff, 1)
  if (onError !== undefined && onError !== 'fail') {
    const known = typeof onError === 'object' && onError !== null && ('skip' in onError || 'fallback' in onError)
    if (!known) wrong(`onError is ${JSON.stringify(onError)}; give 'fail', { skip: value } or { fallback: function }.`)
  }
  if (effect !== undefined && effect !== 'repeatable' && effect !== 'resumable' && effect !== 'once') {
    wrong(`effect is ${JSON.stringify(effect)}; give 'repeatable', 'resumable' or 'once'.`)
  }
  if (recordInput !== undefined && typeof recordInput !== 'boolean')
    wrong(`recordInput is ${JSON.stringify(recordInput)}; give true or false.`)
  if (reserve !== undefined) checkUsage(reserve, `Step '${label}': reserve`)
}

/** What the step's own policy does about its failure. */
export function handledBy<Output>(options: StepOptions<Output>): Pick<StepFailed, 'handled'> {
  const { onError = 'fail' } = options
  return onError === 'fail' ? {} : { handled: 'skip' in onError ? 'skip' : 'fallback' }
}

/** One number that is none would spoil every sum it is added to. */
export function checkUsage(usage: Usage, what: string): void {
  for (const [dimension, amount] of Object.entries(usage)) {
    if (amount === undefined || (typeof amount === 'number' && amount >= 0 && amount < Infinity)) continue
    throw new NerveError('bad-option', `${what}: ${dimension} is ${String(amount)}; give a number from 0.`)
  }
}

/** The wait before the next attempt, in milliseconds. */
export function backoffDelay(
  backoff: Backoff | string | number | undefined,
  failedAttempts: number,
  random: () => number = Math.random,
): number {
  const given: Backoff =
    backoff === undefined ? {} : typeof backoff === 'object' ? backoff : { initial: backoff, factor: 1, jitter: 0 }
  const initial = milliseconds(given.initial ?? 1_000, 'backoff')
  const longest = Math.max(initial, milliseconds(given.max ?? 60_000, 'backoff.max'))
  const plain = Math.min(longest, initial * (given.factor ?? 2) ** (failedAttempts - 1))
  const jitter = Math.min(1, Math.max(0, given.jitter ?? 0.2))
  return Math.round(plain * (1 - jitter / 2 + jitter * random()))
}

/** Errors that say themselves that trying again cannot help. */
export function isHopeless(thrown: unknown): boolean {
  return typeof thrown === 'object' && thrown !== null && (thrown as { retry?: unknown }).retry === 'never'
}

/**
 * When an error asks to wait instead of failing (a rate limit, a spent quota): until when. Such an error has
 * `retry: 'pause'` and `data.until` (milliseconds since the epoch) or `data.retryAfter` (a duration).
 */
export function parkUntil(thrown: unknown, now: number): number | undefined {
  if (typeof thrown !== 'object' || thrown === null || (thrown as { retry?: unknown }).retry !== 'pause')
    return undefined
  const data = (thrown as { data?: { until?: unknown; retryAfter?: unknown } }).data
  if (typeof data?.until === 'number') return data.until
  if (typeof data?.retryAfter === 'number' || typeof data?.retryAfter === 'string')
    return now + milliseconds(data.retryAfter, 'retryAfter')
  return undefined
}
