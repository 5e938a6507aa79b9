/** One attempt of one step while it runs: what its function receives, and what it has spent. */
import type { StepStarted, Usage } from '../journal/events.ts'
import type { StepCall } from './definition.ts'
import type { Execution } from './execution.ts'
import type { Place } from './scope.ts'

const SPENDABLE = ['usd', 'tokens', 'calls'] as const

export type StopReason = 'scope' | 'budget' | 'cancel' | 'interrupt' | 'timeout' | 'end'

export class Call implements StepCall {
  readonly path: string
  readonly attempt: number
  readonly place: Place
  readonly started: number
  ended = false
  /** True when the journal already says that it started. */
  announced = false
  /** True when an earlier process had begun this attempt. */
  readonly resumed: boolean
  readonly #execution: Execution
  #controller: AbortController | undefined
  #spent: { usd: number; tokens: number; calls: number; window: number } | undefined
  readonly #fallback: boolean
  #aside: Usage
  #abandon: ((error: unknown) => void) | undefined
  #stopped: { readonly reason: StopReason; readonly error: unknown } | undefined

  constructor(
    execution: Execution,
    place: Place,
    attempt: number,
    options: { readonly aside: Usage; readonly resumed: boolean; readonly fallback: boolean; readonly now: number },
  ) {
    this.#execution = execution
    this.place = place
    this.path = place.path
    this.attempt = attempt
    this.#aside = options.aside
    this.resumed = options.resumed
    this.#fallback = options.fallback
    this.started = options.now
  }

  get key(): string {
    return `${this.#execution.run}/${this.path}`
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#stopped !== undefined) this.#controller.abort(this.#stopped.error)
    return this.#controller.signal
  }

  get usage(): (spent: Usage) => void {
    return (spent) => this.#use(spent)
  }

  get reserve(): (wanted: Usage) => void {
    return (wanted) => this.#reserve(wanted)
  }

  get emit(): (type: string, data?: unknown) => void {
    const { bus, run } = this.#execution
    return (type, data) => bus.part({ live: true, run, path: this.path, type, data })
  }

  /** What the journal says while the attempt is in flight. */
  get startedEvent(): StepStarted {
    const { path, attempt, place } = this
    const after = place.after === undefined ? {} : { after: place.after }
    return { type: 'step-started', path, attempt, ...after, ...(this.#fallback ? { kind: 'fallback' } : {}) }
  }

  get stopped(): StopReason | undefined {
    return this.#stopped?.reason
  }

  /** What the attempt has spent so far, or nothing. */
  get spent(): Usage | undefined {
    const spent = this.#spent
    if (spent === undefined) return undefined
    const { usd, tokens, calls, window } = spent
    return {
      ...(usd === 0 ? {} : { usd }),
      ...(tokens === 0 ? {} : { tokens }),
      ...(calls === 0 ? {} : { calls }),
      ...(window === 0 ? {} : { window }),
    }
  }

  /** Lets the attempt be given up without waiting for its function. */
  onStop(abandon: (error: unknown) => void): void {
    this.#abandon = abandon
    if (this.#stopped !== undefined) abandon(this.#stopped.error)
  }

  stop(reason: StopReason, error: unknown): void {
    if (this.ended || this.#stopped !== undefined) return
    this.#stopped = { reason, error }
    this.#controller?.abort(error)
    this.#abandon?.(error)
  }

  /** Gives back what was set aside. Called once, when the outcome is in the journal's queue. */
  end(): void {
    this.ended = true
    this.#execution.ledger.setAside(this.#aside, -1)
    this.#aside = {}
  }

  #use(usage: Usage): void {
    if (this.ended) return
    const spent = (this.#spent ??= { usd: 0, tokens: 0, calls: 0, window: 0 })
    for (const dimension of SPENDABLE) spent[dimension] += usage[dimension] ?? 0
    spent.window = Math.max(spent.window, usage.window ?? 0)
    this.#holdAtLeast(spent)
  }

  #reserve(wanted: Usage): void {
    const spent = this.#spent ?? { usd: 0, tokens: 0, calls: 0 }
    const target = {
      usd: spent.usd + (wanted.usd ?? 0),
      tokens: spent.tokens + (wanted.tokens ?? 0),
      calls: spent.calls + (wanted.calls ?? 0),
    }
    const more = this.#beyond(target)
    const shortage = this.#execution.ledger.shortage(more)
    if (shortage !== undefined) {
      const error = this.#execution.tree.exhaust(shortage, this.path)
      this.stop('budget', error)
      throw error
    }
    this.#holdAtLeast(target)
  }

  #beyond(target: Usage): Usage {
    const more: Record<string, number> = {}
    for (const dimension of SPENDABLE) {
      const over = (target[dimension] ?? 0) - (this.#aside[dimension] ?? 0)
      if (over > 0) more[dimension] = over
    }
    return more
  }

  #holdAtLeast(target: Usage): void {
    const more = this.#beyond(target)
    this.#execution.ledger.setAside(more, 1)
    const aside: Record<string, number> = { ...this.#aside }
    for (const [dimension, amount] of Object.entries(more))
      aside[dimension] = (aside[dimension] ?? 0) + (amount as number)
    this.#aside = aside
  }
}
