/**
 * Budgets. One ledger per run, linked to the ledger of its parent run: a reservation counts at every level above.
 * What was spent comes from the fold of the journal; the ledger adds what is set aside for attempts in flight.
 *
 * Invariant: spent + set aside never exceeds a limit through a reservation that was granted.
 */
import type { Budget, Dimension, Usage } from '../journal/events.ts'
import type { RunState } from '../journal/run-state.ts'

const DIMENSIONS: readonly Dimension[] = ['usd', 'tokens', 'calls', 'steps', 'seconds']

/** What an attempt that reserves nothing sets aside. */
export const ONE_STEP: Usage = { steps: 1 }

/** Float sums of money drift by parts in 10^16; a limit is not passed by that. */
const DRIFT = 1e-9

export interface Shortage {
  readonly ledger: Ledger
  readonly dimension: Dimension
  readonly used: number
  readonly limit: number
}

export class Ledger {
  readonly state: RunState
  readonly parent: Ledger | undefined
  readonly #children = new Set<Ledger>()
  readonly #active: () => number
  readonly #aside: Record<Dimension, number> = { usd: 0, tokens: 0, calls: 0, steps: 0, seconds: 0 }

  /** `active` tells the seconds that the run has worked and not yet written down. */
  constructor(state: RunState, parent: Ledger | undefined, active: () => number = () => 0) {
    this.state = state
    this.#active = active
    this.parent = parent
    if (parent !== undefined) parent.#children.add(this)
  }

  /** True when some limit applies here or above. */
  get limited(): boolean {
    return this.state.budget !== undefined || (this.parent?.limited ?? false)
  }

  /** Spent by this run, by its open children, and set aside. */
  used(dimension: Dimension): number {
    return this.#spent(dimension) + this.#aside[dimension]
  }

  /** The first limit, here or above, that does not allow this much more. */
  shortage(wanted: Usage): Shortage | undefined {
    const { budget } = this.state
    for (const dimension of budget === undefined ? [] : DIMENSIONS) {
      const limit = budget?.[dimension]
      if (limit === undefined) continue
      const used = this.used(dimension)
      const more = wanted[dimension] ?? 0
      const over = more > 0 ? used + more > limit + DRIFT : used >= limit - DRIFT
      if (over && (more > 0 || dimension !== 'steps')) return { ledger: this, dimension, used, limit }
    }
    return this.parent?.shortage(wanted)
  }

  setAside(amount: Usage, sign: 1 | -1): void {
    if (amount === ONE_STEP) this.#aside.steps += sign
    else this.#setAside(amount, sign)
    this.parent?.setAside(amount, sign)
  }

  #setAside(amount: Usage, sign: 1 | -1): void {
    for (const key in amount) {
      const dimension = key as Dimension
      this.#aside[dimension] += sign * (amount[dimension] ?? 0)
    }
  }

  /** Limits, here or above, of which four fifths are used for the first time. */
  *warnings(): Iterable<Shortage> {
    const { budget, warned } = this.state
    for (const dimension of budget === undefined ? [] : DIMENSIONS) {
      const limit = budget?.[dimension]
      if (limit === undefined || warned.has(dimension)) continue
      const used = this.#spent(dimension)
      if (used >= limit * 0.8) yield { ledger: this, dimension, used, limit }
    }
    if (this.parent !== undefined) yield* this.parent.warnings()
  }

  /** What is left of every limit that applies here. */
  left(): Budget {
    const left: { -readonly [Key in keyof Budget]: Budget[Key] } = { ...this.parent?.left() }
    for (const dimension of DIMENSIONS) {
      const limit = this.state.budget?.[dimension]
      if (limit === undefined) continue
      left[dimension] = Math.max(0, Math.min(left[dimension] ?? Infinity, limit - this.used(dimension)))
    }
    return left
  }

  /** Spent by this run and its open children, without what is set aside. */
  totals(): Required<Usage> {
    const [usd, tokens, calls, steps, seconds] = DIMENSIONS.map((dimension) => this.#spent(dimension)) as [
      number,
      number,
      number,
      number,
      number,
    ]
    return { usd, tokens, calls, steps, seconds, window: this.state.usage.window }
  }

  /** The milliseconds of work left under the tightest limit in seconds. */
  millisecondsLeft(): number {
    return (this.left().seconds ?? Infinity) * 1_000
  }

  close(): void {
    if (this.parent !== undefined) this.parent.#children.delete(this)
  }

  #spent(dimension: Dimension): number {
    let spent = this.state.usage[dimension]
    if (dimension === 'seconds') spent += this.#active()
    for (const child of this.#children) spent += child.#spent(dimension)
    return spent
  }
}
