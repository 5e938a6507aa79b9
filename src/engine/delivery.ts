/**
 * Hands results to the author's code, in the order of the journal and one at a time: the code that goes on from a result
 * has done all it can do before the next result comes. A replay hands out what is recorded in the same order, so the
 * code makes its calls in the same order too, whatever ran beside what. Knows nothing of stores.
 *
 * Invariant: results of a run are delivered by ascending sequence number, live and in a replay.
 */
import { added, inserted, NONE } from '../base/list.ts'
import type { Drains } from './drain.ts'
import type { Place } from './scope.ts'

/** A result that is durable and waits for its turn. */
export interface Turn {
  readonly seq: number
  /** The call whose result it is; undefined for what no call of the author's code waits for. */
  readonly place: Place | undefined
  deliver(): void
}

export class Delivery {
  readonly #drains: Drains
  readonly #onEmpty: () => void
  #turns: readonly Turn[] = NONE
  /** Those before this one have had their turn. */
  #at = 0

  /** `onEmpty` is called when the last of several results had its turn. */
  constructor(drains: Drains, onEmpty: () => void) {
    this.#drains = drains
    this.#onEmpty = onEmpty
    drains.onEnd = this.#pass
  }

  /** True while results wait for their turn. */
  get waiting(): boolean {
    return this.#turns.length > 0
  }

  /** Results of one commit, in order. */
  commit(turns: readonly Turn[]): void {
    const only = turns.length === 1 && this.#turns.length === 0 && !this.#drains.open ? turns[0] : undefined
    if (only !== undefined) return hand(only, this.#drains.begin())
    for (const turn of turns) this.#turns = added(this.#turns, turn)
    if (!this.#drains.open) this.#pass()
  }

  /** A recorded result that the replay has reached: its turn comes when the code has nothing more to do by itself. */
  replay(turn: Turn): void {
    const turns = this.#turns
    let place = turns.length
    while (place > this.#at && (turns[place - 1]?.seq ?? 0) > turn.seq) place -= 1
    this.#turns = inserted(turns, turn, place)
    void this.#drains.now
  }

  forget(): void {
    this.#turns = NONE
    this.#at = 0
  }

  readonly #pass = (): void => {
    const next = this.#turns[this.#at]
    if (next === undefined) return
    this.#at += 1
    if (this.#at === this.#turns.length) {
      this.forget()
      this.#onEmpty()
    }
    hand(next, this.#drains.begin())
  }
}

function hand(turn: Turn, begun: number): void {
  const { place } = turn
  if (place !== undefined) {
    place.delivered = true
    place.scope.cause = place
    place.scope.causeDrain = begun
  }
  turn.deliver()
}

/** A group of branches (all, map) has ended, and the code that waited for it goes on. */
export function endGroup(place: Place): void {
  place.delivered = true
  place.scope.cause = place
  place.scope.causeDrain = place.scope.drains.now
}
