/**
 * What callers with a token see of errors: what went wrong, and not where in which file of this machine. Whoever asks in this
 * process or on the unix socket could read the journal anyway, and sees all of it.
 */
import { withoutStack, type ErrorData } from '../../base/nerve-error.ts'
import { isLive, type FeedItem } from '../../engine/feed.ts'
import type { CallName, Output } from './contract.ts'

/** What is answered with errors that are data. An exported run is the journal as it is: a replay of it has to find the same. */
const ANSWERS: { readonly [One in CallName]?: (output: Output<One>) => Output<One> } = {
  'runs.wait': without,
  'runs.journal': (events) => events.map(without),
  'nodes.get': ({ info, ...shown }) => ({ ...shown, ...(info === undefined ? {} : { info: without(info) }) }),
  'nodes.history': ({ entries, ...shown }) => ({ ...shown, entries: entries.map(without) }),
}

export function answerAfar(name: CallName, output: unknown): unknown {
  const seen = ANSWERS[name] as ((output: unknown) => unknown) | undefined
  return seen === undefined ? output : seen(output)
}

const known = new WeakMap<FeedItem, FeedItem>()

/** Many read the same item: it is made into what they see once, so that its text is made once too. */
export function itemAfar(item: FeedItem): FeedItem {
  if (isLive(item) ? item.type !== 'node-state' : !('error' in item)) return item
  const seen = known.get(item) ?? (isLive(item) ? stateAfar(item) : without(item))
  known.set(item, seen)
  return seen
}

function stateAfar(item: FeedItem): FeedItem {
  const { data } = item as { readonly data?: unknown }
  return typeof data === 'object' && data !== null ? { ...item, data: without(data) } : item
}

function without<Value extends object>(value: Value): Value {
  const { error } = value as { readonly error?: ErrorData }
  return error === undefined ? value : { ...value, error: withoutStack(error) }
}
