/** Step policies as pure functions: what is allowed, how long to wait, what cannot be helped by trying again. */
import { checkKnown } from '../base/check-known.ts'
import { milliseconds } from '../base/duration.ts'
import { errorData, errorText, NerveError } from '../base/nerve-error.ts'
import type { StepFailed, Usage } from '../journal/events.ts'
import type { Backoff, StepOptions } from './definition.ts'

const STEP = ['attempts', 'backoff', 'timeout', 'onError', 'effect', 'input', 'recordInput', 'reserve'] as const
const BACKOFF = ['initial', 'factor', 'max', 'jitter'] as const

export function checkStepOptions<Output>(label: string, options: StepOptions<Output>): void {
  checkKnown(`Step '${label}'`, options, STEP)
  const { attempts, timeout, backoff, onError, effect, recordInput, reserve } = options
  const wrong = (text: string): never => {
    throw new NerveError('bad-option', `Step '${label}': ${text}`, { data: { label } })
  }
  if (attempts !== undefined && (!Number.isInteger(attempts) || attempts < 1))
    wrong(`attempts is ${attempts}; give a whole number from 1.`)
  if (timeout !== undefined) milliseconds(timeout, `the timeout of step '${label}'`)
  if (backoff !== undefined) checkBackoff(label, backoff, wrong)
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

function checkBackoff(
  label: string,
  backoff: NonNullable<StepOptions<unknown>['backoff']>,
  wrong: (text: string) => never,
): void {
  if (typeof backoff === 'object') {
    checkKnown(`Step '${label}': backoff`, backoff, BACKOFF)
    const { factor = 2, jitter = 0.2 } = backoff
    if (!(factor >= 0 && factor < Infinity)) wrong(`backoff.factor is ${factor}; give a number from 0.`)
    if (!(jitter >= 0 && jitter <= 1)) wrong(`backoff.jitter is ${jitter}; give a number from 0 to 1.`)
  }
  backoffDelay(backoff, 1)
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

/** Waits for a quota are not counted as attempts: one that ends at once would ask without a pause, for ever. */
const SHORTEST_PARK_MS = 1_000
/** More than a clock may be wrong: such a time is a number of seconds. */
const LONG_PAST_MS = 86_400_000

/**
 * When an error asks to wait instead of failing (a rate limit, a spent quota): until when. Such an error has
 * `retry: 'pause'` and `data.until` (milliseconds since the epoch) or `data.retryAfter` (a duration). When that is no
 * time, which is easily so of a header that a service did not send: the failure to count instead.
 */
export function parkUntil(thrown: unknown, now: number): number | NerveError | undefined {
  if (typeof thrown !== 'object' || thrown === null || (thrown as { retry?: unknown }).retry !== 'pause')
    return undefined
  const data = (thrown as { data?: { until?: unknown; retryAfter?: unknown } }).data
  try {
    const until = timeIn(data ?? {}, now)
    return until === undefined || until > now ? until : now + SHORTEST_PARK_MS
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const said = errorText(errorData(thrown))
    return new NerveError('bad-duration', `${said}: it asks to wait, but not until a time. ${why}`, {
      retry: 'later',
      cause: thrown,
    })
  }
}

function timeIn(data: { readonly until?: unknown; readonly retryAfter?: unknown }, now: number): number | undefined {
  const { until, retryAfter } = data
  if (typeof until === 'number') {
    if (until > now - LONG_PAST_MS && until < Infinity) return until
    throw new NerveError(
      'bad-duration',
      `until: ${until} is not a time from now on. Give milliseconds since the epoch.`,
    )
  }
  if (typeof retryAfter === 'number' || typeof retryAfter === 'string')
    return now + milliseconds(retryAfter, 'retryAfter')
  return undefined
}
