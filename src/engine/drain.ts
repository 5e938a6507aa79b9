/**
 * Drains of one run. A drain is what the author's code does by itself, from being set going (by a result, or by
 * anything else that happens) until every promise that could go on has gone on. Calls made in one drain come in an order
 * that a replay repeats; calls made in different ones need not.
 */
import { microtask } from '../base/microtask.ts'

let stretch: (() => void)[] = []
let waiting: (() => void)[] = []

/** Calls back when the code that runs now waits, or has ended. */
export function afterStretch(call: () => void): void {
  if (stretch.push(call) === 1) microtask(callSoon)
}

/** Calls back when every promise that could go on has gone on. */
export function afterDrain(call: () => void): void {
  if (waiting.push(call) === 1) afterStretch(callLater)
}

function callSoon(): void {
  const calls = stretch
  stretch = []
  for (const call of calls) call()
}

/** From a microtask, the next tick comes after all other microtasks; from a tick it would come before them. */
function callLater(): void {
  process.nextTick(callAll)
}

function callAll(): void {
  const calls = waiting
  waiting = []
  for (const call of calls) call()
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
