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
import { NerveError } from '../base/nerve-error.ts'
import type { Durability, Entry } from '../journal/events.ts'
import type { Append, JournalStore } from '../journal/port.ts'
import type { Bus } from './bus.ts'

/** What a run hands over at a flush. */
export interface Handover {
  readonly append: Append
  readonly durability: Durability
  readonly entries: readonly Entry[]
  /** Called in order after the commit. */
  readonly delivered: readonly (() => void)[]
}

/** For how long commits may follow each other without letting timers, files and sockets have their turn. */
const YIELD_MS = 5

/** A run as the committer sees it. */
export interface Source {
  /** Commits to this run are slow, so they wait for whatever else this turn of the event loop brings. */
  readonly patient: boolean
  handover(): Handover | undefined
  /** The run may append no more: it lost its owner or its store. */
  refused(error: NerveError): void
  /** Called when a tick has passed and the run handed nothing over. */
  rested(): void
}

export class Committer {
  readonly #store: JournalStore
  readonly #bus: Bus
  #dirty = new Set<Source>()
  #armed = false
  #yielded = 0
  #flushing: Promise<void> | undefined
  /** Counts the ticks in which durable calls were made: a tick ends when the code has nothing more to do by itself. */
  tick = 0

  constructor(store: JournalStore, bus: Bus) {
    this.#store = store
    this.#bus = bus
  }

  /** Asks for a flush at the end of this tick. */
  arm(source: Source): void {
    this.#dirty.add(source)
    if (this.#armed) return
    this.#armed = true
    if (source.patient || performance.now() - this.#yielded > YIELD_MS) setImmediate(this.#onTurn)
    else process.nextTick(this.#onTick)
  }

  /** Resolves when everything appended so far has been committed or refused. */
  async drained(): Promise<void> {
    while (this.#armed || this.#flushing !== undefined) {
      await (this.#flushing ?? new Promise((resolve) => setImmediate(resolve)))
    }
  }

  readonly #onTurn = (): void => {
    this.#yielded = performance.now()
    this.#onTick()
  }

  readonly #onTick = (): void => {
    this.#armed = false
    if (this.#flushing !== undefined) return
    this.#flushing = this.#flush().finally(() => {
      this.#flushing = undefined
      if (this.#dirty.size > 0 && !this.#armed) {
        this.#armed = true
        setImmediate(this.#onTurn)
      }
    })
  }

  async #flush(): Promise<void> {
    const sources = this.#dirty
    this.#dirty = new Set()
    const batch: { readonly source: Source; readonly handover: Handover }[] = []
    for (const source of sources) {
      const handover = source.handover()
      if (handover === undefined) source.rested()
      else batch.push({ source, handover })
    }
    if (batch.length === 0) return
    failpoint('commit-before')
    const refusals = await this.#write(batch.map((one) => one.handover))
    failpoint('commit-after')
    for (const [index, { source, handover }] of batch.entries()) {
      const refusal = refusals[index]
      if (refusal === undefined) this.#deliver(handover)
      else source.refused(refusal)
    }
  }

  #deliver(handover: Handover): void {
    for (const entry of handover.entries) this.#bus.publish(entry)
    failpoint('deliver-before')
    for (const deliver of handover.delivered) deliver()
  }

  /** One commit for all; when it fails with several runs in it, one each, so that one run cannot fail another. */
  async #write(handovers: readonly Handover[]): Promise<(NerveError | undefined)[]> {
    const durability = handovers.some((one) => one.durability === 'power') ? 'power' : 'process'
    try {
      const results = await this.#store.append(
        handovers.map((one) => one.append),
        durability,
      )
      return results.map((result, index) => (result === 'ok' ? undefined : lost(handovers[index]?.append.run ?? '')))
    } catch (error) {
      if (handovers.length === 1) return [asNerveError(error)]
      const each: (NerveError | undefined)[] = []
      for (const one of handovers) each.push(...(await this.#write([one])))
      return each
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
