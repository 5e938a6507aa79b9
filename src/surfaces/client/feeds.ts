/** Every feed of the contract by its name, each with its way to go on after a lost connection. */
import { assertNever } from '../../base/nerve-error.ts'
import type { FeedName, Input } from '../../host/contract/contract.ts'
import type { Connection } from './connection.ts'
import { itemsOf, startedItems, type EventItem, type FollowOptions } from './events.ts'

export function feedItems<One extends FeedName>(
  connection: Connection,
  { name, input, options }: { readonly name: One; readonly input: Input<One>; readonly options: FollowOptions },
): AsyncIterable<EventItem> {
  const feed: FeedName = name
  switch (feed) {
    case 'events':
      return itemsOf(connection, { ...input, ...options })
    case 'runs.stream':
    case 'nodes.stream':
      return startedItems(connection, { name: feed, input, options })
    case 'nodes.watch':
      return onceItems(connection, { name: feed, input, options })
    default:
      return assertNever(feed, 'feed')
  }
}

/** What is told once, and is nowhere to be read again. */
async function* onceItems(
  connection: Connection,
  { name, input, options }: { readonly name: FeedName; readonly input: unknown; readonly options: FollowOptions },
): AsyncGenerator<EventItem, void, void> {
  const { signal = new AbortController().signal } = options
  for await (const { item } of connection.feed(name, input, signal)) if (item !== undefined) yield item as EventItem
}
