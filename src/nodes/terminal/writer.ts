/** Who may write: everybody, until somebody takes over; then only that one, until it hands back. */
import { NerveError } from '../../base/nerve-error.ts'

export class Writer {
  #holder: string | undefined
  #free = Promise.withResolvers<void>()

  get holder(): string | undefined {
    return this.#holder
  }

  takeOver(id: string, who: string): void {
    if (typeof who !== 'string' || who === '')
      throw new NerveError('bad-option', `takeOver('${id}'): say who takes over, with a name.`)
    this.check(id, who)
    if (this.#holder === who) return
    this.#holder = who
    this.#free = Promise.withResolvers<void>()
  }

  handBack(id: string, who: string): void {
    if (this.#holder === undefined) return
    this.check(id, who)
    this.#holder = undefined
    this.#free.resolve()
  }

  /** Refuses everybody but the one who holds it. */
  check(id: string, who: string | undefined): void {
    if (this.#holder === undefined || this.#holder === who) return
    throw new NerveError(
      'writer-taken',
      `Terminal '${id}' is held by ${this.#holder}; only they can write. Watch it, or ask them to hand it back.`,
      { retry: 'later', data: { holder: this.#holder } },
    )
  }

  /** Waits until nobody holds it. */
  async free(signal: AbortSignal | undefined): Promise<void> {
    while (this.#holder !== undefined) {
      signal?.throwIfAborted()
      const aborted = Promise.withResolvers<never>()
      const abort = (): void => aborted.reject(signal?.reason)
      signal?.addEventListener('abort', abort)
      await Promise.race([this.#free.promise, aborted.promise]).finally(() => {
        signal?.removeEventListener('abort', abort)
      })
    }
  }
}
