/**
 * When the machine slept, as far as a process can tell: somebody looks every few seconds, and between two looks much more time
 * has passed in which the process did nothing at all. A process that was held up by its own work was not asleep.
 */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly time: number
  /** Milliseconds for which the process has worked since it began. */
  readonly worked: number
}

interface Sleep {
  readonly from: number
  readonly to: number
}

/** A look that comes so much later than it should have. */
const LATE_MS = 20_000
const MOST = 100

export class Sleeps {
  readonly #often: number
  #last: Moment | undefined
  #sleeps: Sleep[] = []

  /** `often` is how often somebody looks. */
  constructor(often: number) {
    this.#often = often
  }

  look(now: Moment): void {
    const last = this.#last
    this.#last = now
    if (last === undefined) return
    const from = last.time + this.#often
    const late = now.time - from
    if (late < LATE_MS || now.worked - last.worked > late / 2) return
    this.#sleeps = [...this.#sleeps.slice(1 - MOST), { from, to: now.time }]
  }

  /** For how many milliseconds of this time the machine slept. */
  within(from: number, to: number): number {
    let slept = 0
    for (const one of this.#sleeps) slept += Math.max(0, Math.min(to, one.to) - Math.max(from, one.from))
    return slept
  }
}
