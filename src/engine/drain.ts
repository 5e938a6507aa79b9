/**
 * Drains of one run. A drain is what the author's code does by itself, from being set going (by a result, or by
 * anything else that happens) until every promise that could go on has gone on. Calls made in one drain come in an order
 * that a replay repeats; calls made in different ones need not.
 */
import { microtask } from '../base/microtask.ts'

/** What waits for one moment. Its arrays are used again and again: a new one would be made and grown for every step. */
class Moment {
  #coming: ((() => void) | undefined)[] = []
  #spare: ((() => void) | undefined)[] = []
  #count = 0

  /** True for the first of those that wait. */
  add(call: () => void): boolean {
    this.#coming[this.#count] = call
    this.#count += 1
    return this.#count === 1
  }

  come(): void {
    const calls = this.#coming
    const count = this.#count
    this.#coming = this.#spare
    this.#spare = calls
    this.#count = 0
    for (let i = 0; i < count; i += 1) {
      const call = calls[i]
      // An array that is used again must not keep runs that have ended.
      calls[i] = undefined
      call?.()
    }
  }
}

const stretch = new Moment()
const drain = new Moment()

/** Calls back when the code that runs now waits, or has ended. */
export function afterStretch(call: () => void): void {
  if (stretch.add(call)) microtask(endStretch)
}

/** Calls back when every promise that could go on has gone on. */
export function afterDrain(call: () => void): void {
  if (drain.add(call)) afterStretch(endDrainLater)
}

const endStretch = (): void => stretch.come()
const endDrain = (): void => drain.come()

/** From a microtask, the next tick comes after all other microtasks; from a tick it would come before them. */
function endDrainLater(): void {
  process.nextTick(endDrain)
}

export class Drains {
  #current = 0
  #open = false
  /** The drain whose end is on its way. */
  #ending = -1
  /** Called at the end of each drain. */
  onEnd: () => void = () => undefined

  /** True while the code is still doing what the last results set going. */
  get open(): boolean {
    return this.#open
  }

  /** The number of the present drain. */
  get now(): number {
    if (this.#ending === -1) this.#endLater()
    return this.#current
  }

  /** Begins a drain: results are about to be delivered. */
  begin(): number {
    this.#current += 1
    this.#open = true
    if (this.#ending === -1) this.#endLater()
    return this.#current
  }

  #endLater(): void {
    this.#ending = this.#current
    afterDrain(this.#end)
  }

  readonly #end = (): void => {
    // A drain that began after this was asked for has not had its time yet.
    if (this.#ending !== this.#current) return this.#endLater()
    this.#ending = -1
    this.#current += 1
    this.#open = false
    this.onEnd()
  }
}
