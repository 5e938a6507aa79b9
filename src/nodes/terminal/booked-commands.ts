/**
 * What became of the commands of steps in a pane that outlives its hosts: those that were typed by dead processes, read
 * from what the pane printed, and the last ones of this process. Known by the number of the prompt they were typed at.
 */
import type { BookedCommand } from '../panes/command-book.ts'
import type { Capture } from './capture.ts'

export interface BookedOutcome {
  readonly capture: Capture
  ended: boolean
  /** True when the beginning of what it printed is no longer there. */
  readonly cut: boolean
}

/** One command at a time is in flight; a few more were perhaps not recorded as ended. */
const MOST = 8

export class BookedCommands {
  readonly #wanted: ReadonlySet<number>
  readonly #outcomes = new Map<number, BookedOutcome>()
  readonly #newCapture: () => Capture

  constructor(booked: readonly BookedCommand[], newCapture: () => Capture) {
    this.#wanted = new Set(booked.slice(-MOST).map(({ turn }) => turn))
    this.#newCapture = newCapture
  }

  get(turn: number): BookedOutcome | undefined {
    return this.#outcomes.get(turn)
  }

  /** A command of this process. */
  add(turn: number, capture: Capture): void {
    this.#outcomes.set(turn, { capture, ended: false, cut: false })
    for (const old of [...this.#outcomes.keys()].slice(0, -MOST)) this.#outcomes.delete(old)
  }

  /** What an earlier process may have typed begins. Gives what collects it, if it was a step's. */
  began(turn: number): Capture | undefined {
    if (!this.#wanted.has(turn)) return undefined
    const capture = this.#newCapture()
    capture.begin()
    this.#outcomes.set(turn, { capture, ended: false, cut: false })
    return capture
  }

  /** The beginning is no longer there: the first end may be that of a command of which only the rest is left. */
  beganBefore(): Capture {
    const capture = this.#newCapture()
    capture.begin()
    return capture
  }

  ended(turn: number, open: Capture | undefined): void {
    const known = this.#outcomes.get(turn)
    if (known !== undefined) known.ended = true
    else if (open !== undefined && this.#wanted.has(turn))
      this.#outcomes.set(turn, { capture: open, ended: true, cut: true })
  }
}
