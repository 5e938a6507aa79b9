/** Answers that were made and that nobody has read yet: who asks and does not read gets no more of them. */
import { NerveError } from '../../base/nerve-error.ts'

/** In characters. */
const MOST = 134_217_728

export class Backlog {
  readonly #most: number
  readonly #waiting = new Map<string, number>()

  constructor(most = MOST) {
    this.#most = most
  }

  /** Throws when too much waits for them. */
  check(who: string): void {
    if ((this.#waiting.get(who) ?? 0) <= this.#most) return
    throw new NerveError('limit-reached', `Too many answers wait for '${who}' to be read. Read them first.`, {
      retry: 'later',
      data: { reason: 'unread' },
    })
  }

  /** So much waits for them until what it returns is called. One answer may be as long as it likes. */
  add(who: string, length: number): () => void {
    this.check(who)
    this.#waiting.set(who, (this.#waiting.get(who) ?? 0) + length)
    let waits = true
    return () => {
      if (!waits) return
      waits = false
      const left = (this.#waiting.get(who) ?? 0) - length
      if (left > 0) this.#waiting.set(who, left)
      else this.#waiting.delete(who)
    }
  }
}
