/** How much of something one caller may have at once, so that there is enough for others. */
import { NerveError } from '../../base/nerve-error.ts'

export class Share {
  readonly #most: number
  readonly #refusal: { readonly message: string; readonly reason: string }
  readonly #taken = new Map<string, number>()

  constructor(most: number, refusal: { readonly message: string; readonly reason: string }) {
    this.#most = most
    this.#refusal = refusal
  }

  /** Throws when they have all they may have. */
  check(who: string): void {
    if ((this.#taken.get(who) ?? 0) < this.#most) return
    const { message, reason } = this.#refusal
    throw new NerveError('limit-reached', `The token '${who}' ${message}`, { retry: 'later', data: { reason } })
  }

  /** Takes some, until what it returns is called. The last that they take may be more than is left. */
  take(who: string, amount: number): () => void {
    this.check(who)
    this.#taken.set(who, (this.#taken.get(who) ?? 0) + amount)
    let has = true
    return () => {
      if (!has) return
      has = false
      const left = (this.#taken.get(who) ?? 0) - amount
      if (left > 0) this.#taken.set(who, left)
      else this.#taken.delete(who)
    }
  }
}
