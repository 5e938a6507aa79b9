/**
 * Stops a crowd of calls from hammering a provider that is down, or that has said when it takes calls again. After `failures` in a
 * row, or a limit with a time, calls are refused at once until that time; then one goes ahead, and what becomes of it decides.
 */
import { milliseconds, type Duration } from '../../base/duration.ts'
import { mayPass } from '../failure.ts'
import type { ModelFailure } from '../exchange.ts'

export interface BreakerOptions {
  /** Failures in a row after which it opens (default 5). */
  readonly failures?: number
  /** How long it stays open when nobody said (default 30s). */
  readonly cooldown?: Duration
}

/** How long the others wait while one call finds out. */
const TRIAL_MS = 1_000

export class Breaker {
  readonly #failures: number
  readonly #cooldown: number
  #count = 0
  #open: { readonly until: number; readonly failure: ModelFailure } | undefined
  #trying = false

  constructor(options: BreakerOptions = {}) {
    this.#failures = options.failures ?? 5
    this.#cooldown = milliseconds(options.cooldown ?? '30s', 'breaker.cooldown')
  }

  /** Why a call may not be made now. When it may be, `passed` or `failed` must follow. */
  refuse(now: number): ModelFailure | undefined {
    if (this.#open === undefined) return undefined
    const { until, failure } = this.#open
    if (now >= until && !this.#trying) {
      this.#trying = true
      return undefined
    }
    const retryAt = Math.max(until, now + TRIAL_MS)
    if (failure.kind === 'rate-limited') return { ...failure, retryAt }
    const message = `${this.#count} calls in a row failed, so this one was not made. The last: ${failure.message}`
    return { kind: 'overloaded', status: 503, message, retryAt }
  }

  passed(): void {
    this.#count = 0
    this.#open = undefined
    this.#trying = false
  }

  /** Nothing was learned: the client left. */
  left(): void {
    this.#trying = false
  }

  failed(failure: ModelFailure, now: number): void {
    if (!mayPass(failure)) return this.passed()
    this.#trying = false
    this.#count += 1
    const limited = failure.kind === 'rate-limited' && failure.retryAt !== undefined
    if (limited) this.#open = { until: failure.retryAt ?? now, failure }
    else if (failure.kind !== 'rate-limited' && this.#count >= this.#failures)
      this.#open = { until: now + this.#cooldown, failure }
  }
}
