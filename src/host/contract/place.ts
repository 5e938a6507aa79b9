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
  /** When its last event happened, at the latest: of what was read from text, only that it was before then. */
  readonly time: number
  readonly ended: boolean
}

export class Place {
  #floor: number
  readonly #runs = new Map<string, Reached>()

  constructor(floor: number) {
    this.#floor = floor
  }

  /** `now` is when it is read. */
  static parse(text: string, now: number): Place {
    const [first = '', ...runs] = text.split('~')
    const place = new Place(Number.parseInt(first, 36))
    if (!/^[0-9a-z]{1,10}$/.test(first)) throw unreadable(text)
    for (const one of runs) {
      const [, run, seq, over] = /^([^~:\s]{1,200}):(\d{1,9})(\.?)$/.exec(one) ?? []
      if (run === undefined) throw unreadable(text)
      place.#runs.set(run, { seq: Number(seq), time: now, ended: over === '.' })
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
    for (const [run, { ended, time }] of this.#runs) if (ended && time < floor) this.#runs.delete(run)
  }

  toString(): string {
    const runs = [...this.#runs].filter(([, { time }]) => time >= this.#floor)
    return [this.#floor.toString(36), ...runs.map(([run, { seq, ended }]) => `${run}:${seq}${ended ? '.' : ''}`)].join(
      '~',
    )
  }
}

function unreadable(text: string): NerveError {
  return new NerveError(
    'bad-input',
    `after: ${JSON.stringify(text.slice(0, 80))} is not a cursor. Give what came with the last event, or 0 for the beginning.`,
    { data: { field: 'after' } },
  )
}
