/** A run that is told of from its first moment on: whoever wants its live parts has to listen before it starts. */
import type { LivePart } from '../../engine/bus.ts'
import { isLive } from '../../engine/feed.ts'
import type { Handle } from '../handle.ts'
import type { Host } from '../host.ts'
import type { Asked } from './calls.ts'
import type { Delivered } from './project-feed.ts'

export async function startedFeed(
  host: Host,
  start: () => Promise<Handle>,
  { signal, see }: Pick<Asked, 'signal' | 'see'>,
): Promise<AsyncIterable<Delivered>> {
  const early: LivePart[] = []
  const stop = host.subscribe({ live: true }, (part) => void early.push(part as LivePart))
  try {
    const handle = await start()
    const items = handle.events({ live: true, signal })[Symbol.asyncIterator]()
    // Listens from here on, in the same moment in which the other stops.
    const first = items.next()
    return told({ first, items, see, early: early.filter(({ run }) => run === handle.id) })
  } finally {
    stop()
  }
}

interface Telling {
  readonly first: ReturnType<Items['next']>
  readonly items: Items
  readonly see: Asked['see']
  readonly early: readonly LivePart[]
}
type Items = AsyncIterator<Parameters<typeof isLive>[0]>

async function* told({ first, items, see, early }: Telling): AsyncGenerator<Delivered, void, void> {
  try {
    for (let next = await first, isFirst = true; next.done !== true; next = await items.next(), isFirst = false) {
      const { value: item } = next
      yield isLive(item) ? { item: see(item) } : { item: see(item), cursor: String(item.seq) }
      if (isFirst) for (const part of early) yield { item: see(part) }
    }
  } finally {
    await items.return?.()
  }
}
