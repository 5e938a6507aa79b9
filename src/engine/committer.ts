/**
 * Group commit. Everything that runs of this host append in one tick goes to the store in one commit, and whoever
 * waits for an append is told after that commit and not before. Owns the queue; the store owns the durability.
 *
 * Invariants:
 *  1. Appends of one run are stored in the order they were made.
 *  2. Nothing is published or delivered before it is durable.
 *  3. When the store refuses, every waiter of the refused run hears of it, and that run appends nothing more.
 */
import { failpoint } from '../base/failpoint.ts'
import { added, NONE } from '../base/list.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Durability, JournalEvent } from '../journal/events.ts'
import type { Append, AppendResult, JournalStore } from '../journal/port.ts'
import type { Bus } from './bus.ts'
import type { Turn } from './delivery.ts'
import { afterDrain } from './drain.ts'

/** What a run hands over at a flush: what the store is given, in one object with what comes of it. */
export interface Handover extends Append {
  readonly source: Source
  readonly durability: Durability
  /** What the rows say, for those who listen. */
  readonly events: readonly JournalEvent[]
  /** What the commit makes known, in order. */
  readonly turns: readonly Turn[]
  /** What belongs together is kept or refused together: a child is created in the commit in which its parent says so. */
  readonly group: object
}

/** For how long commits may follow each other without letting timers, files and sockets have their turn. */
const YIELD_MS = 5

/** A run as the committer sees it. */
export interface Source {
  /** Commits to this run are slow, so they wait for whatever else this turn of the event loop brings. */
  readonly patient: boolean
  /** True while the committer has it on its list. Only the committer sets it. */
  listed: boolean
  handover(): Handover | undefined
  /** What the run waits for has been committed. */
  delivered(turns: readonly Turn[]): void
  /** The run may append no more: it lost its owner or its store. */
  refused(error: NerveError): void
  /** Called when a tick has passed and the run handed nothing over. */
  rested(): void
}

export class Committer {
  readonly #store: JournalStore
  readonly #bus: Bus
  #list: readonly Source[] = NONE
  readonly #lagging = new Set<Source>()
  #armed = false
  #yielded = 0
  #writing: Promise<void> | undefined
  /** Who waits until what is on the list is committed. */
  #waiting: (() => void)[] = []

  constructor(store: JournalStore, bus: Bus) {
    this.#store = store
    this.#bus = bus
  }

  /** Asks for a flush at the end of this tick. */
  arm(source: Source): void {
    if (!source.listed) {
      source.listed = true
      this.#list = added(this.#list, source)
    }
    if (this.#armed) return
    this.#armed = true
    if (source.patient || performance.now() - this.#yielded > YIELD_MS) setImmediate(this.#onTurn)
    else afterDrain(this.#onTick)
  }

  /** Notes whether what lists show of a run is still to be written, with its next commit. */
  lags(source: Source, lagging: boolean): boolean {
    if (lagging) this.#lagging.add(source)
    else if (this.#lagging.size > 0) this.#lagging.delete(source)
    return lagging
  }

  /** Resolves when lists show what was committed before: whoever reads them waits, not whoever writes. */
  async listed(): Promise<void> {
    const behind = [...this.#lagging]
    while (behind.some((source) => this.#lagging.has(source))) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Resolves when everything appended so far has been committed or refused, whatever is appended meanwhile. */
  async drained(): Promise<void> {
    if (this.#list.length > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else await this.#writing
  }

  readonly #onTurn = (): void => {
    this.#yielded = performance.now()
    this.#onTick()
  }

  readonly #onTick = (): void => {
    this.#armed = false
    // What comes while a slow store writes waits for it, so that commits keep their order.
    if (this.#writing !== undefined) return
    const waiting = this.#waiting
    if (waiting.length > 0) this.#waiting = []
    const batch = this.#collect()
    if (batch.length > 0) {
      failpoint('commit-before')
      const results = this.#append(batch)
      if (results instanceof Promise) this.#writing = this.#finishLater(batch, results)
      else this.#finish(batch, results)
    }
    if (waiting.length > 0) void this.#tell(waiting)
  }

  async #tell(waiting: readonly (() => void)[]): Promise<void> {
    await this.#writing
    for (const resolve of waiting) resolve()
  }

  #collect(): readonly Handover[] {
    const list = this.#list
    this.#list = NONE
    let batch: readonly Handover[] = NONE
    for (const source of list) {
      source.listed = false
      const handover = source.handover()
      if (handover === undefined) source.rested()
      else batch = added(batch, handover)
    }
    return batch
  }

  #append(batch: readonly Handover[]): readonly AppendResult[] | Promise<readonly AppendResult[]> {
    let durability: Durability = 'process'
    for (const one of batch) if (one.durability === 'power') durability = 'power'
    return this.#store.append(batch, durability)
  }

  #finish(batch: readonly Handover[], results: readonly AppendResult[]): void {
    failpoint('commit-after')
    let index = 0
    for (const one of batch) {
      if (results[index] === 'ok') this.#deliver(one)
      else one.source.refused(lost(one.run))
      index += 1
    }
  }

  async #finishLater(batch: readonly Handover[], results: Promise<readonly AppendResult[]>): Promise<void> {
    try {
      await results.then(
        (kept) => this.#finish(batch, kept),
        (error: unknown) => this.#refuse(batch, error),
      )
    } finally {
      this.#writing = undefined
      if (this.#list.length > 0 && !this.#armed) {
        this.#armed = true
        setImmediate(this.#onTurn)
      }
    }
  }

  /** A commit of several trees that failed is tried for each alone, so that one tree cannot fail another. */
  async #refuse(batch: readonly Handover[], error: unknown): Promise<void> {
    const groups = new Set(batch.map((one) => one.group))
    for (const group of groups) {
      const together = batch.filter((one) => one.group === group)
      const refused = (alone: unknown): void => {
        for (const one of together) one.source.refused(asNerveError(alone))
      }
      if (groups.size === 1) refused(error)
      else await Promise.resolve(this.#append(together)).then((kept) => this.#finish(together, kept), refused)
    }
  }

  #deliver(handover: Handover): void {
    if (this.#bus.heard) this.#publish(handover)
    failpoint('deliver-before')
    if (handover.turns.length > 0) handover.source.delivered(handover.turns)
  }

  #publish({ run, rows, events }: Handover): void {
    for (const [index, event] of events.entries()) {
      const row = rows[index]
      if (row !== undefined) this.#bus.publish({ run, seq: row.seq, time: row.time, event })
    }
  }
}

function lost(run: string): NerveError {
  return new NerveError(
    'ownership-lost',
    `Another process took over run ${run}; this one has stopped driving it. Watch it with: nerve events ${run} --follow`,
    { data: { run } },
  )
}

function asNerveError(error: unknown): NerveError {
  if (error instanceof NerveError) return error
  return new NerveError('store-failed', `The store failed: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  })
}
