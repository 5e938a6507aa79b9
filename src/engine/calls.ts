/** The calls of a run whose functions run, in the order in which they began. Mostly there is one, which needs no set. */
import type { Call } from './call.ts'

export class Calls {
  /** Set only while there is none, so it began before the others. */
  #first: Call | undefined
  readonly #others = new Set<Call>()
  size = 0

  add(call: Call): void {
    this.size += 1
    if (this.size === 1) this.#first = call
    else this.#others.add(call)
  }

  delete(call: Call): void {
    if (call === this.#first) this.#first = undefined
    else if (!this.#others.delete(call)) return
    this.size -= 1
  }

  clear(): void {
    this.#first = undefined
    this.#others.clear()
    this.size = 0
  }

  *[Symbol.iterator](): Iterator<Call> {
    if (this.#first !== undefined) yield this.#first
    yield* this.#others
  }
}
