/** What handlers of the contract have in common. */
import type { FeedItem } from '../../engine/feed.ts'
import type { Actor } from '../../journal/events.ts'
import type { CallName, Checked, FeedName, Output } from './contract.ts'
import type { Delivered } from './project-feed.ts'

/** Who asks, and until when somebody waits for the answer. */
export interface Asked {
  readonly actor: Actor
  readonly signal: AbortSignal
  /** They may look, and nothing more: nothing is opened, started or used up for them. */
  readonly onlyLooks: boolean
  /** Reads much: a few at once, so that what many ask for is not in memory at the same time. */
  readonly read: <Value>(work: () => Promise<Value>) => Promise<Value>
  /** An item of a feed as they see it. A feed calls it itself: another step for each event would cost as much as sending it. */
  readonly see: (item: FeedItem) => FeedItem
}

export type Calls<Names extends CallName = CallName> = {
  readonly [One in Names]: (input: Checked<One>, asked: Asked) => Promise<Output<One>> | Output<One>
}

export type Feeds<Names extends FeedName = FeedName> = {
  readonly [One in Names]: (input: Checked<One>, asked: Asked) => Promise<AsyncIterable<Delivered>>
}

type Given<Options> = { [Key in keyof Options]: Exclude<Options[Key], undefined> }

/** The options without those that were not given: an option that is there and undefined is another thing. */
export function given<Options extends object>(options: Options): Given<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<Options>
}
