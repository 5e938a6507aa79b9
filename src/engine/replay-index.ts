/** What a replay has still to reach, and what it found on its way. */
import type { ResumePlan } from '../journal/events.ts'
import { callKind, isBeside, type CallKind, type Outcomes, type PlacedEvent } from '../journal/outcomes.ts'

export class Replay {
  readonly outcomes: Outcomes
  /** Paths below these need not be reached again. */
  readonly sealed = new Set<string>()
  /** Paths whose recorded outcome must not be used. */
  readonly changed: string[] = []
  /** Paths that were reached and are not recorded. */
  readonly missed: string[] = []
  hits = 0
  /** How many hits there were at the last look. */
  #seen = -1
  #rested = 0
  #lookedAt: number | undefined

  constructor(outcomes: Outcomes) {
    this.outcomes = outcomes
  }

  /** `needed` is false for what has an outcome only if it ended well: that there is none is no news. */
  take(path: string, kind: CallKind, needed: boolean): PlacedEvent | undefined {
    const event = this.outcomes.at.get(path)
    if (event === undefined) {
      if (needed) this.missed.push(path)
      return undefined
    }
    this.outcomes.at.delete(path)
    this.hits += 1
    if (callKind(event) === kind) return event
    this.changed.push(path)
    return undefined
  }

  /** Whether the code has reached something since the last look. */
  hasMoved(): boolean {
    if (this.hits === this.#seen) return false
    this.#seen = this.hits
    this.restsNot()
    return true
  }

  /** The code has something to go on with. */
  restsNot(): void {
    this.#rested = 0
    this.#lookedAt = undefined
  }

  /**
   * For how long the code has rested, for somebody who looks so often. A look that comes late counts as a little late: a process
   * that is held up holds up the code too.
   */
  restedFor(now: number, often: number): number {
    this.#rested += Math.min(now - (this.#lookedAt ?? now), 2 * often)
    this.#lookedAt = now
    return this.#rested
  }

  plan(unknown: readonly string[]): ResumePlan {
    return { keep: this.hits - this.changed.length, rerun: this.changed, unknown }
  }

  /** Recorded paths that the code has not reached and that nothing excuses. */
  unreached(): readonly string[] {
    const { at, ignored } = this.outcomes
    if (at.size === 0) return []
    const paths: string[] = []
    for (const path of at.keys()) {
      if (!ignored.has(path) && !isBeside(path) && !isSealed(path, this.sealed)) paths.push(path)
    }
    return paths
  }
}

/** True when a path lies below a sealed one. */
function isSealed(path: string, sealed: ReadonlySet<string>): boolean {
  if (sealed.size === 0) return false
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    if (sealed.has(path.slice(0, at))) return true
  }
  return false
}
