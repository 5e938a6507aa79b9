/**
 * The calls of a run whose functions run, in the order in which they began, and how long the run has worked on them. Mostly
 * there is one, which needs no set.
 */
import type { Clock } from '../base/clock.ts'
import type { Call } from './call.ts'

/** From here on it is asked whether the machine slept meanwhile: that time is not worked. */
const LONG_MS = 30_000

export class Calls {
  readonly #clock: Pick<Clock, 'slept'>
  /** Set only while there is none, so it began before the others. */
  #first: Call | undefined
  readonly #others = new Set<Call>()
  size = 0
  /** When the run last said how long it has worked. */
  #mark = 0
  /** How many of the calls wait for a person, and since when all of them do: that time is not worked. */
  asking = 0
  #quietSince: number | undefined

  constructor(clock: Pick<Clock, 'slept'>) {
    this.#clock = clock
  }

  add(call: Call): void {
    if (this.size === 0) this.#mark = call.started
    else if (this.#quietSince !== undefined) this.#wake(call.started)
    this.size += 1
    if (this.size === 1) this.#first = call
    else this.#others.add(call)
  }

  /** Ends a call: the milliseconds worked since this last said so. */
  end(call: Call, now: number): number {
    const active = this.worked(now)
    this.#mark = now
    if (this.#quietSince !== undefined) this.#quietSince = now
    if (call.asking > 0) this.asking -= 1
    this.delete(call)
    this.#settle(now)
    return active
  }

  delete(call: Call): void {
    if (call === this.#first) this.#first = undefined
    else if (!this.#others.delete(call)) return
    this.size -= 1
  }

  /** Milliseconds worked since `end` last said so. */
  worked(now: number): number {
    if (this.size === 0) return 0
    const until = this.#quietSince ?? now
    const passed = until - this.#mark
    return passed < LONG_MS ? passed : passed - (this.#clock.slept?.(this.#mark, until) ?? 0)
  }

  /** True while something other than a person is waited for. */
  get busy(): boolean {
    return this.size > 0 && this.#quietSince === undefined
  }

  /** A call has begun to wait for a person, or has stopped to. */
  asks(change: 1 | -1, now: number): void {
    this.asking += change
    this.#settle(now)
  }

  clear(): void {
    this.#first = undefined
    this.#others.clear()
    this.size = 0
    this.asking = 0
    this.#quietSince = undefined
  }

  *[Symbol.iterator](): Iterator<Call> {
    if (this.#first !== undefined) yield this.#first
    yield* this.#others
  }

  #settle(now: number): void {
    const quiet = this.asking > 0 && this.asking === this.size
    if (quiet) this.#quietSince ??= now
    else if (this.#quietSince !== undefined) this.#wake(now)
  }

  #wake(now: number): void {
    this.#mark += now - (this.#quietSince ?? now)
    this.#quietSince = undefined
  }
}
