/**
 * The events of all runs of a project as one feed, that goes on where a reader left off. Own runs are heard on the bus;
 * what other processes write is looked for while somebody reads. Like the feed of one run, it never loses a durable event:
 * a reader that is behind reads the journals.
 */
import type { RunEvent } from '../../engine/bus.ts'
import { isLive, type FeedItem } from '../../engine/feed.ts'
import type { RunRow } from '../../projections/runs.ts'
import type { Host } from '../host.ts'
import { ForeignRuns, handleOf } from './foreign-runs.ts'
import { Place } from './place.ts'

const BUFFER = 1_024
/** How long after it happened an event may come to be known: a tick of the poll, and clocks that are set back a little. */
const SLACK_MS = 3_000
/**
 * A cursor names each run that moved lately, so it is long when many do. Up to this length it goes with every event; longer
 * ones go now and then, and readers add what came since to the last one they have.
 */
const SHORT_CURSOR = 2_048
const CURSOR_MS = 1_000

/** Something of a feed, with where it goes on after it; live parts have no place. */
export interface Delivered {
  /** Missing when there is only a place to tell. */
  readonly item?: FeedItem
  readonly cursor?: string
}

export interface ProjectFeedOptions {
  readonly after?: string | undefined
  readonly live?: boolean | undefined
  readonly once?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** An item as the reader sees it. */
  readonly see: (item: FeedItem) => FeedItem
}

export class ProjectFeed {
  readonly #host: Host
  readonly #onProblem: (error: unknown) => void
  readonly #readers = new Set<Reader>()
  #foreign: ForeignRuns | undefined
  #stop: (() => void) | undefined
  #list: Promise<RunRow[]> | undefined
  #nextList: Promise<RunRow[]> | undefined
  #nextSince = Number.POSITIVE_INFINITY

  constructor(host: Host, onProblem: (error: unknown) => void) {
    this.#host = host
    this.#onProblem = onProblem
  }

  read(options: ProjectFeedOptions): AsyncGenerator<Delivered, void, void> {
    const now = Date.now()
    const place = options.after === undefined ? new Place(now - SLACK_MS) : Place.parse(options.after, now)
    place.goBack(now, SLACK_MS)
    return this.#read(options, place)
  }

  async *#read(options: ProjectFeedOptions, place: Place): AsyncGenerator<Delivered, void, void> {
    const reader = new Reader(options)
    this.#attach(reader)
    try {
      if (options.after === undefined) await this.#skip(reader, place)
      // Who leaves before the first event goes on from here.
      yield { cursor: reader.told(place.toString()) }
      for (;;) {
        if (reader.behind) {
          reader.behind = false
          yield* this.#catchUp(reader, place)
          // Also when nothing was new, there is less to look at from here.
          if (reader.idle) yield { cursor: reader.told(this.#raise(place).toString()) }
        }
        if (options.once === true || reader.isOver) return
        // What fell out of the buffer lies before what is in it now.
        if (reader.behind) continue
        for (const item of reader.take()) {
          if ('moved' in item) yield* this.#readOn(item.moved, reader, place, item.after)
          else if (isLive(item)) yield { item: reader.see(item) }
          else {
            // A run that has not moved since the place was known up to here, whatever its clock says.
            const reached = place.reached(item.run) ?? item.seq - 1
            if (item.seq === reached + 1) yield given(item, reader, place)
            // What lies between it and the last one is read from the journal.
            else if (item.seq > reached) yield* this.#readOn(item.run, reader, place)
          }
        }
        if (reader.idle) {
          this.#raise(place)
          if (reader.isOwed) yield { cursor: reader.told(place.toString()) }
          await reader.more()
        }
      }
    } finally {
      this.#detach(reader)
    }
  }

  /**
   * Takes everything that is there as given. Events are known a moment after they happened, so a time alone would not tell
   * those that come from now on: each run that has just moved has its number.
   */
  async #skip(reader: Reader, place: Place): Promise<void> {
    reader.behind = false
    for (const { run } of await this.#rows(place.floor)) {
      const handle = await handleOf(this.#host, run)
      for await (const item of handle?.events({ once: true }) ?? []) if (!isLive(item)) place.add(item)
    }
  }

  /** For a reader that was given everything that is known. */
  #raise(place: Place): Place {
    const now = Date.now()
    place.goBack(now, SLACK_MS)
    place.raise(Math.min(this.#foreign?.looked ?? 0, now) - SLACK_MS)
    return place
  }

  /** `known` is an event up to which a run that the place does not name was known to all who read then. */
  async *#readOn(run: string, reader: Reader, place: Place, known?: number): AsyncGenerator<Delivered, void, void> {
    const reached = place.reached(run) ?? known
    const handle = await handleOf(this.#host, run)
    if (handle === undefined) return
    for await (const item of handle.events({ after: reached ?? 0, once: true })) {
      if (isLive(item) || (reached === undefined && item.time < place.floor)) continue
      yield given(item, reader, place)
    }
  }

  async *#catchUp(reader: Reader, place: Place): AsyncGenerator<Delivered, void, void> {
    // In the order in which they were made.
    for (const { run } of (await this.#rows(place.floor)).toReversed()) {
      if (reader.isOver) return
      if (!place.isOver(run)) yield* this.#readOn(run, reader, place)
    }
  }

  /**
   * The runs that moved since a time, and perhaps others: one list for all who ask at the same time. One that was begun before may
   * lack what came since.
   */
  #rows(since: number): Promise<RunRow[]> {
    this.#nextSince = Math.min(this.#nextSince, since)
    this.#nextList ??= this.#listAfter(this.#list)
    return this.#nextList
  }

  async #listAfter(before: Promise<unknown> | undefined): Promise<RunRow[]> {
    // Whoever asked for that one hears that it failed.
    await before?.catch(() => undefined)
    this.#list = this.#nextList
    this.#nextList = undefined
    const movedSince = this.#nextSince
    this.#nextSince = Number.POSITIVE_INFINITY
    return this.#host.runs({ children: true, movedSince })
  }

  #attach(reader: Reader): void {
    this.#readers.add(reader)
    if (this.#stop !== undefined) return
    const tell = (news: News): void => {
      for (const one of this.#readers) one.add(news)
    }
    const unsubscribe = this.#host.subscribe({}, tell)
    const foreign = new ForeignRuns(this.#host, {
      moved: (run, after) => tell({ moved: run, after }),
      onProblem: this.#onProblem,
    })
    this.#foreign = foreign
    this.#stop = () => {
      unsubscribe()
      foreign.stop()
    }
  }

  #detach(reader: Reader): void {
    reader.close()
    this.#readers.delete(reader)
    if (this.#readers.size > 0) return
    this.#stop?.()
    this.#stop = undefined
    this.#foreign = undefined
  }
}

function given(item: RunEvent, reader: Reader, place: Place): Delivered {
  place.add(item)
  const seen = reader.see(item)
  return reader.owes() ? { item: seen, cursor: reader.told(place.toString()) } : { item: seen }
}

/** What readers hear of; `moved` is a run of which there is more to read. */
type News = FeedItem | { readonly moved: string; readonly after: number }

class Reader {
  behind = true
  readonly see: ProjectFeedOptions['see']
  readonly #live: boolean
  readonly #signal: AbortSignal | undefined
  #items: News[] = []
  #dropped = 0
  #wake: (() => void) | undefined
  #cursorLength = 0
  #cursorAt = 0
  #sinceCursor = 0

  constructor({ live, signal, see }: ProjectFeedOptions) {
    this.see = see
    this.#live = live === true
    this.#signal = signal
    signal?.addEventListener('abort', this.#rouse)
  }

  add(item: News): void {
    const live = 'live' in item
    if (live && !this.#live) return
    if (this.#items.length < BUFFER) this.#items.push(item)
    else if (live) this.#dropped += 1
    else {
      // The journals have it.
      this.behind = true
      this.#dropped += this.#items.filter((one) => 'live' in one).length
      this.#items = []
    }
    this.#rouse()
  }

  take(): readonly News[] {
    const items = this.#items
    this.#items = []
    if (this.#dropped > 0) items.push({ live: true, type: 'gap', run: '', dropped: this.#dropped })
    this.#dropped = 0
    return items
  }

  /** True when it was given everything that is known. */
  get idle(): boolean {
    return this.#items.length === 0 && !this.behind
  }

  get isOver(): boolean {
    return this.#signal?.aborted === true
  }

  /** Called with each cursor that is given. */
  told(cursor: string): string {
    this.#cursorLength = cursor.length
    this.#cursorAt = Date.now()
    this.#sinceCursor = 0
    return cursor
  }

  /** True when a cursor is to go with the event that is given now. */
  owes(): boolean {
    this.#sinceCursor += 1
    return this.#cursorLength <= SHORT_CURSOR || this.isOwed
  }

  /** True when there were events without one for long enough, or one that is long may be short by now. */
  get isOwed(): boolean {
    return this.#mayImprove && Math.abs(Date.now() - this.#cursorAt) >= CURSOR_MS
  }

  get #mayImprove(): boolean {
    return this.#sinceCursor > 0 || this.#cursorLength > SHORT_CURSOR
  }

  /** Resolves when there may be something to give, if only a cursor. */
  more(): Promise<void> {
    if (!this.idle || this.isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = this.#mayImprove ? setTimeout(() => this.#rouse(), CURSOR_MS) : undefined
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }

  close(): void {
    this.#signal?.removeEventListener('abort', this.#rouse)
    this.#rouse()
  }

  readonly #rouse = (): void => this.#wake?.()
}
