import type { Clock } from '../base/clock.ts'

interface Timer {
  readonly at: number
  readonly call: () => void
}

/**
 * Time that moves only when a test says so.
 *
 * ```ts
 * import { SimulatedClock } from 'nerve/testing'
 *
 * const clock = new SimulatedClock(0)
 * clock.at(1_000, () => console.log('a second has passed'))
 * clock.advance(1_000)
 * ```
 */
export class SimulatedClock implements Clock {
  #now: number
  #timers: Timer[] = []

  constructor(now = 1_700_000_000_000) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  at(at: number, call: () => void): () => void {
    const timer: Timer = { at, call }
    this.#timers.push(timer)
    // Like the machine's clock: a time that has passed already needs no further passing.
    if (at <= this.#now) setImmediate(() => this.#timers.includes(timer) && this.#fire(timer))
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer)
    }
  }

  /** Moves time on, and calls every timer that falls due on the way, in order. */
  advance(ms: number): void {
    const until = this.#now + ms
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= until).toSorted((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#fire(due)
    }
    this.#now = until
  }

  #fire(timer: Timer): void {
    this.#timers = this.#timers.filter((one) => one !== timer)
    this.#now = Math.max(this.#now, timer.at)
    timer.call()
  }

  /** When the next timer falls due. */
  get next(): number | undefined {
    return this.#timers.length === 0 ? undefined : Math.min(...this.#timers.map((timer) => timer.at))
  }

  /** How many timers are armed. */
  get pending(): number {
    return this.#timers.length
  }
}
