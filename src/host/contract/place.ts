/**
 * How far a reader of all runs has come, in few words. Runs have no order among them, so it is a number for each run that
 * moved lately, and a time before which everything of every other run is known.
 *
 * Invariant: for a run that is named, everything up to its number was given; for any other, everything from before the time.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { RunEvent } from '../../engine/bus.ts'

/** What a cursor has room for: with the rest of a request, it has to fit into 1 MiB. */
export const LONGEST_CURSOR = 900_000

/** A cursor that takes less room. It knows the runs that it does not name any more up to its time only: what they did since comes again. */
export function shortened(cursor: string, most: number): string {
  return cursor.length <= most ? cursor : cursor.slice(0, cursor.lastIndexOf('~', most))
}

/** A cursor after one more event. What is named twice in it counts as it is named last, so it need not be read for that. */
export function after(cursor: string, event: RunEvent): string {
  const longer = `${cursor}~${nameOf(event.run, event.seq, isEnd(event))}`
  // What it names stays named, whatever the clocks of the two ends say.
  return longer.length <= LONGEST_CURSOR ? longer : Place.parse(longer, Number.POSITIVE_INFINITY).toString()
}

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

  add(event: RunEvent): void {
    const { run, seq, time } = event
    // One that comes late, or by a clock that was set back, is not among those from before the time.
    this.#runs.set(run, { seq, time: Math.max(time, this.#floor), ended: isEnd(event) })
  }

  /** Everything from before this time is known now, of every run. */
  raise(floor: number): void {
    if (floor <= this.#floor) return
    this.#floor = floor
    for (const [run, { ended, time }] of this.#runs) if (ended && time < floor) this.#runs.delete(run)
  }

  /** A time that lies ahead of a clock that was set back would hide what happens until then. What lies between may come again. */
  goBack(now: number, slack: number): void {
    if (this.#floor > now) this.#floor = now - slack
  }

  toString(): string {
    const runs = [...this.#runs].filter(([, { time }]) => time >= this.#floor)
    const names = runs.map(([run, { seq, ended }]) => nameOf(run, seq, ended))
    return shortened([this.#floor.toString(36), ...names].join('~'), LONGEST_CURSOR)
  }
}

function nameOf(run: string, seq: number, ended: boolean): string {
  return `${run}:${seq}${ended ? '.' : ''}`
}

function isEnd({ type }: RunEvent): boolean {
  return type === 'run-completed' || type === 'run-failed' || type === 'run-cancelled'
}

function unreadable(text: string): NerveError {
  return new NerveError(
    'bad-input',
    `after: ${JSON.stringify(text.slice(0, 80))} is not a cursor. Give what came with the last event, or 0 for the beginning.`,
    { data: { field: 'after' } },
  )
}
