/** How often somebody may ask: a bucket that fills again with time. */
const MOST_KNOWN = 10_000

export interface Rate {
  /** How many at once. */
  readonly burst: number
  /** How many more with each second. */
  readonly perSecond: number
}

export class RateLimit {
  readonly #rate: Rate
  readonly #left = new Map<string, { tokens: number; at: number }>()

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /** Takes one. False when there is none left. */
  take(who: string, now = Date.now()): boolean {
    const { burst, perSecond } = this.#rate
    const there = this.#left.get(who) ?? { tokens: burst, at: now }
    const tokens = Math.min(burst, there.tokens + (Math.max(0, now - there.at) / 1_000) * perSecond)
    const may = tokens >= 1
    this.#left.delete(who)
    this.#left.set(who, { tokens: may ? tokens - 1 : tokens, at: now })
    // The one that asked longest ago has the fullest bucket.
    for (const oldest of this.#left.keys()) {
      if (this.#left.size <= MOST_KNOWN) break
      this.#left.delete(oldest)
    }
    return may
  }
}
