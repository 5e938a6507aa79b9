/**
 * An async iterator over the events of one run. It never loses a durable event: it reads the journal from its cursor
 * whenever it has fallen behind, also when another process writes it. Live parts are kept in a bounded buffer; what
 * did not fit is told as a gap.
 */
import { giveWay } from '../base/give-way.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { JournalStore } from '../journal/port.ts'
import type { Bus, Heard, LivePart, RunEvent } from './bus.ts'
import { readPage } from './reader.ts'

const BUFFER = 1_024
/** So many events are read at a time: a journal may be long, what is in it large, and its readers many. */
const PAGE = 25
const POLL_MS = 100

/** Live parts that were dropped because the reader was slow. */
export interface Gap {
  readonly live: true
  readonly type: 'gap'
  readonly run: string
  readonly dropped: number
}

export type FeedItem = RunEvent | LivePart | Gap

export interface FeedOptions {
  /** Start after this sequence number (default 0: from the beginning). */
  readonly after?: number
  /** Also yield live parts (default false). */
  readonly live?: boolean
  /** Stop at the end of what is there now instead of following (default false). */
  readonly once?: boolean
  readonly signal?: AbortSignal
}

export function isLive(item: FeedItem): item is LivePart | Gap {
  return 'live' in item
}

export async function* feed(
  store: JournalStore,
  bus: Bus,
  run: string,
  options: FeedOptions = {},
): AsyncGenerator<FeedItem, void, void> {
  const inlet = new Inlet(bus, run, options)
  let cursor = options.after ?? 0
  let version = -1
  try {
    for (;;) {
      const seen = store.version()
      if (inlet.behind || seen !== version) {
        version = seen
        inlet.behind = false
        // Looked at before the entries are read: an end that is known by then is among them, or lies before the cursor.
        const found = await store.find(run)
        if (found === undefined) throw removed(run)
        const over = found.head.ended !== undefined
        const entries = await readPage(store, run, { after: cursor, limit: PAGE })
        // Parts that were sent before these events come before them.
        yield* inlet.parts(entries.at(-1)?.seq ?? cursor)
        for (const entry of entries) {
          await giveWay()
          cursor = entry.seq
          yield { ...entry.event, run, seq: entry.seq, time: entry.time }
          if (isEnd(entry.event.type)) return
        }
        if (entries.length === PAGE) inlet.behind = true
        else if (over) return
      }
      for (const item of inlet.take()) {
        if (!isLive(item)) {
          if (item.seq <= cursor) {
            // It began after an event that is not there yet. Nothing comes after the end, whatever its number.
            if (isEnd(item.type)) return
            continue
          }
          if (inlet.behind || item.seq > cursor + 1) {
            inlet.behind = true
            continue
          }
          cursor = item.seq
        }
        yield item
        if (isEnd(item.type)) return
      }
      if (options.signal?.aborted === true) return
      if (inlet.behind) continue
      if (options.once === true) return
      await inlet.more()
    }
  } finally {
    inlet.close()
  }
}

/** Whoever reads it would wait for ever. */
function removed(run: string): NerveError {
  return new NerveError('not-found', `Run ${run} was removed while it was read.`, { data: { run } })
}

function isEnd(type: string): boolean {
  return type === 'run-completed' || type === 'run-failed' || type === 'run-cancelled'
}

class Inlet {
  behind = true
  readonly #run: string
  readonly #stop: () => void
  readonly #signal: AbortSignal | undefined
  #items: FeedItem[] = []
  #dropped = 0
  #wake: (() => void) | undefined

  constructor(bus: Bus, run: string, options: FeedOptions) {
    this.#run = run
    this.#signal = options.signal
    this.#stop = bus.subscribe(options.live === true ? { run } : { run, live: false }, (heard) => this.#add(heard))
    this.#signal?.addEventListener('abort', this.#rouse)
  }

  take(): FeedItem[] {
    const items = this.#items
    this.#items = []
    if (this.#dropped > 0) items.push({ live: true, type: 'gap', run: this.#run, dropped: this.#dropped })
    this.#dropped = 0
    return items
  }

  /** The live parts that are there; events after the last one that was read have to be read again. */
  parts(read: number): FeedItem[] {
    const items = this.take()
    if (items.some((item) => !isLive(item) && item.seq > read)) this.behind = true
    return items.filter(isLive)
  }

  /** Resolves when there may be more, at the latest after the time in which other processes are looked at. */
  more(): Promise<void> {
    if (this.#items.length > 0 || this.behind || this.#signal?.aborted === true) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#rouse(), POLL_MS)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
    })
  }

  close(): void {
    this.#stop()
    this.#signal?.removeEventListener('abort', this.#rouse)
    this.#rouse()
  }

  readonly #rouse = (): void => this.#wake?.()

  #add(heard: Heard): void {
    if (this.#items.length >= BUFFER) {
      if ('live' in heard) this.#dropped += 1
      else {
        // The journal has it: drop the durable part of the buffer and read on from the cursor.
        this.behind = true
        this.#items = this.#items.filter(isLive)
        if (this.#items.length >= BUFFER) {
          this.#dropped += this.#items.length
          this.#items = []
        }
      }
    } else this.#items.push(heard)
    this.#rouse()
  }
}
