/**
 * Events out. Owns the subscriptions. A listener is called after the commit of what it hears; live parts come as they
 * are sent. One failing listener hurts nobody, and nobody can slow the engine: feeds that fall behind re-read the
 * journal from their cursor (see feed.ts).
 */
import { matcher } from '../base/pattern.ts'
import type { Entry, JournalEvent } from '../journal/events.ts'

/** A durable event as subscribers see it. */
export type RunEvent = JournalEvent & { readonly run: string; readonly seq: number; readonly time: number }

/** Something shown to watchers and never stored: text as it is written, terminal bytes. */
export interface LivePart {
  readonly live: true
  readonly run: string
  readonly path: string
  readonly type: string
  readonly data?: unknown
}

export type Heard = RunEvent | LivePart

/**
 * What to hear. A pattern is exact text, or has `*` for any text without `/` and `**` for any text: `step-*`,
 * `review/**`. A missing field matches everything.
 */
export interface Subscription {
  readonly run?: string
  /** The event's type: its category and action, such as `step-completed`; `question-*` hears the whole category. */
  readonly type?: string
  readonly path?: string
  /** `false` leaves out live parts, `true` hears only them. */
  readonly live?: boolean
}

type Listener = (heard: Heard) => void

interface Subscriber {
  readonly run: ((text: string) => boolean) | undefined
  readonly live: boolean | undefined
  readonly type: ((text: string) => boolean) | undefined
  readonly path: ((text: string) => boolean) | undefined
  readonly listener: Listener
}

export class Bus {
  readonly #onError: (error: unknown) => void
  #subscribers: readonly Subscriber[] = []

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  subscribe(wanted: Subscription, listener: Listener): () => void {
    const subscriber: Subscriber = {
      run: matcher(wanted.run),
      live: wanted.live,
      type: matcher(wanted.type),
      path: matcher(wanted.path),
      listener,
    }
    this.#subscribers = [...this.#subscribers, subscriber]
    return () => {
      this.#subscribers = this.#subscribers.filter((one) => one !== subscriber)
    }
  }

  /** True when somebody listens. */
  get heard(): boolean {
    return this.#subscribers.length > 0
  }

  publish(entry: Entry): void {
    if (!this.heard) return
    this.#deliver({ ...entry.event, run: entry.run, seq: entry.seq, time: entry.time }, false)
  }

  part(part: LivePart): void {
    if (this.#subscribers.length === 0) return
    this.#deliver(part, true)
  }

  #deliver(heard: Heard, live: boolean): void {
    const { run, type } = heard
    const path = 'path' in heard ? (heard.path ?? '') : ''
    for (const one of this.#subscribers) {
      if (one.run !== undefined && !one.run(run)) continue
      if (one.live !== undefined && one.live !== live) continue
      if (one.type !== undefined && !one.type(type)) continue
      if (one.path !== undefined && !one.path(path)) continue
      try {
        one.listener(heard)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
