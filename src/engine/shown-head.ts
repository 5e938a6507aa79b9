/**
 * What lists show of a run that is driven, and when it is written: with what changes its status, and else at most once
 * a second, because steps come faster than anybody looks. Owns what was written last. Writes nothing itself.
 */
import type { RunStatus } from '../journal/events.ts'
import { statusOf } from '../journal/fold.ts'
import { headOf } from '../journal/head.ts'
import type { RunHead } from '../journal/port.ts'
import type { RunState } from '../journal/run-state.ts'
import type { Committer, Source } from './committer.ts'

/** How far lists may be behind with steps and usage. */
const AGE_MS = 1_000

/** A commit that is about to be made. */
export interface Moment {
  /** The run is new to the store. */
  readonly isFirst: boolean
  /** There are events in it. */
  readonly hasEvents: boolean
  /** A function runs. */
  readonly isWorking: boolean
  /** Every open child rests. */
  readonly isIdle: boolean
}

export class ShownHead {
  readonly #state: RunState
  readonly #source: Source
  readonly #committer: Committer
  #written: { readonly version: number; readonly idle: boolean; readonly time: number }
  /** As far as this process has written it. */
  status: RunStatus | undefined
  #delayed = false
  #timer: NodeJS.Timeout | undefined

  constructor(state: RunState, source: Source, committer: Committer) {
    this.#state = state
    this.#source = source
    this.#committer = committer
    this.#written = { version: state.headVersion, idle: false, time: 0 }
  }

  /** The head to be committed, when it has to be. */
  next(moment: Moment): RunHead | undefined {
    const { headVersion: version, updated: time } = this.#state
    const idle = moment.isIdle
    const before = this.#written
    const same = version === before.version && idle === before.idle && Math.abs(time - before.time) < AGE_MS
    if ((same && !moment.isFirst) || this.#canWait(moment)) {
      // These events may be the last for hours.
      if (moment.hasEvents) this.#timer ??= setTimeout(this.#onLate, AGE_MS).unref()
      return undefined
    }
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#written = { version, idle, time }
    const head = headOf(this.#state, idle)
    this.status = head.status
    return head
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#committer.lags(this.#source, false)
  }

  readonly #onLate = (): void => {
    this.#timer = undefined
    this.#written = { ...this.#written, time: -AGE_MS }
    this.#committer.arm(this.#source)
  }

  /** A run that stops waiting goes on at once, and says more in its next tick: what lists show is written then, once. */
  #canWait({ isWorking, hasEvents }: Moment): boolean {
    const leaves = this.status === 'waiting' && !this.#delayed && statusOf(this.#state) === 'running'
    // A function that goes on with its answer may say nothing for long.
    this.#delayed = this.#committer.lags(this.#source, leaves && !isWorking && hasEvents)
    return this.#delayed
  }
}
