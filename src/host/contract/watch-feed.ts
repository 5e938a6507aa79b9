/** What a terminal prints, for those who look on. Like other live parts it is kept for a slow reader up to a number of pieces. */
import { NerveError } from '../../base/nerve-error.ts'
import type { FeedItem } from '../../engine/feed.ts'
import type { ManagedNode } from '../sessions/managed-node.ts'
import type { Reached } from './places.ts'
import type { Delivered } from './project-feed.ts'

const BUFFER = 1_024

/** What terminals can do beside being nodes. */
interface Watched {
  watch?(listener: (part: TerminalPart) => void): () => void
}

interface TerminalPart {
  readonly type: string
  readonly text?: string
  readonly state?: string
}

/** Opens the feed: nothing that is printed after that is missing in it. */
export async function watchFeed(reached: Promise<Reached>, signal: AbortSignal): Promise<AsyncIterable<Delivered>> {
  const { entry, node, letGo } = await reached
  try {
    const inlet = new Inlet(node, `session/${entry.session}/node/${entry.name}`)
    // One that was stopped is not started by looking at it.
    if (node.state === 'created') await node.start()
    return told(inlet, signal, letGo)
  } catch (error) {
    await letGo()
    throw error
  }
}

async function* told(inlet: Inlet, signal: AbortSignal, letGo: () => Promise<void>): AsyncGenerator<Delivered> {
  const wake = (): void => inlet.wake()
  signal.addEventListener('abort', wake)
  try {
    while (!signal.aborted) {
      for (const item of inlet.take()) yield { item }
      if (inlet.over) return
      await inlet.more()
    }
  } finally {
    signal.removeEventListener('abort', wake)
    inlet.close()
    await letGo()
  }
}

class Inlet {
  readonly close: () => void
  readonly #path: string
  #items: FeedItem[] = []
  #dropped = 0
  #over = false
  #news = Promise.withResolvers<void>()

  constructor(node: ManagedNode, path: string) {
    this.#path = path
    const terminal = node.node as Watched
    if (terminal.watch === undefined)
      throw new NerveError('bad-option', `Node '${node.id}' (${node.kind}) has nothing to watch.`)
    this.close = terminal.watch((part) => this.#add(part))
  }

  /** True when it has stopped, and all of it was taken. */
  get over(): boolean {
    return this.#over && this.#items.length === 0
  }

  take(): readonly FeedItem[] {
    const items = this.#items
    this.#items = []
    if (this.#dropped > 0) items.push({ live: true, type: 'gap', run: '', dropped: this.#dropped })
    this.#dropped = 0
    return items
  }

  async more(): Promise<void> {
    if (this.#items.length > 0 || this.#over) return
    await this.#news.promise
    this.#news = Promise.withResolvers()
  }

  wake(): void {
    this.#news.resolve()
  }

  #add({ type, text, ...data }: TerminalPart): void {
    if (type === 'state' && data.state === 'stopped') this.#over = true
    if (this.#items.length >= BUFFER) this.#dropped += 1
    else this.#items.push({ live: true, type, run: '', path: this.#path, data: text ?? data })
    this.wake()
  }
}
