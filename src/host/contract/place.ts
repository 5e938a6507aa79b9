/**
 * How far a reader of all runs has come, in few words. Runs have no order among them, so it is a number for each run that
 * moved lately, and a time before which everything of every other run is known.
 *
 * Invariant: for a run that is named, everything up to its number was given; for any other, everything from before the time.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { RunEvent } from '../../engine/bus.ts'

interface Reached {
  readonly seq: number
  /** When its last event happened: 0 when the place was read from text, because then nobody can say. */
  readonly time: number
  readonly ended: boolean
}

export class Place {
  #floor: number
  readonly #runs = new Map<string, Reached>()

  constructor(floor: number) {
    this.#floor = floor
  }

  static parse(text: string): Place {
    const [first = '', ...runs] = text.split('~')
    const place = new Place(Number.parseInt(first, 36))
    if (!/^[0-9a-z]{1,10}$/.test(first)) throw unreadable(text)
    for (const one of runs) {
      const [, run, seq] = /^([^~:\s]{1,200}):(\d{1,9})$/.exec(one) ?? []
      if (run === undefined) throw unreadable(text)
      place.#runs.set(run, { seq: Number(seq), time: Number.POSITIVE_INFINITY, ended: false })
    }
    return place
  }

  get floor(): number {
    return this.#floor
  }

  /** The number of the last event of a run that was given; undefined when only the time counts. */
  reached(run: string): number | undefined {
    return this.#runs.get(run)?.seq
  }

  /** True when there can be nothing more of it. */
  isOver(run: string): boolean {
    return this.#runs.get(run)?.ended === true
  }

  add({ run, seq, time, type }: RunEvent): void {
    const ended = type === 'run-completed' || type === 'run-failed' || type === 'run-cancelled'
    this.#runs.set(run, { seq, time, ended })
  }

  /** Everything from before this time is known now, of every run. */
  raise(floor: number): void {
    if (floor <= this.#floor) return
    this.#floor = floor
    for (const [run, { ended, time }] of this.#runs) {
      // What came with the text has no time: it is left out when it has not moved since.
      if (time === Number.POSITIVE_INFINITY)
        this.#runs.set(run, { seq: this.#runs.get(run)?.seq ?? 0, time: floor, ended })
      else if (ended && time < floor) this.#runs.delete(run)
    }
  }

  toString(): string {
    const runs = [...this.#runs].filter(([, { time }]) => time >= this.#floor)
    return [this.#floor.toString(36), ...runs.map(([run, { seq }]) => `${run}:${seq}`)].join('~')
  }
}

function unreadable(text: string): NerveError {
  return new NerveError(
    'bad-input',
    `after: ${JSON.stringify(text.slice(0, 80))} is not a cursor. Give what came with the last event, or 0 for the beginning.`,
    { data: { field: 'after' } },
  )
}
