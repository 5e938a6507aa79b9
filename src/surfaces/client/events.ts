/** Events as an async iterator that goes on after a lost connection, from its cursor: nothing is missing, nothing comes twice. */
import { isNerveError } from '../../base/nerve-error.ts'
import type { Input, Output } from '../../host/contract/contract.ts'
import { after } from '../../host/contract/place.ts'
import { connectionClosed, type Connection, type Delivery } from './connection.ts'

export type EventItem = Output<'events'>

export interface FollowOptions {
  readonly signal?: AbortSignal
  /** Called with where to go on (`after`), when what came before it has been dealt with: keep it, to go on another day. */
  readonly onCursor?: (cursor: string) => void
  /** Called when the connection is lost, before it is tried again. */
  readonly onLost?: (error: unknown) => void
}

export interface EventOptions extends Input<'events'>, FollowOptions {}

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 5_000
/** Two minutes and a half, all together. */
const MOST_TRIES = 35

interface EventDelivery {
  readonly item?: EventItem
  readonly cursor?: string
}

export async function* itemsOf(connection: Connection, wanted: EventOptions): AsyncGenerator<EventItem, void, void> {
  for await (const { item } of deliveries(connection, wanted)) if (item !== undefined) yield item
}

/** Starts something and tells all of it. Only the start is done once: what is lost after it is read from the journal. */
export async function* startedItems(
  connection: Connection,
  { name, input, options }: { name: 'runs.stream' | 'nodes.stream'; input: unknown; options: FollowOptions },
): AsyncGenerator<EventItem, void, void> {
  let run: string | undefined
  const open = (signal: AbortSignal, after: string | undefined) =>
    run === undefined
      ? connection.feed(name, input, signal)
      : connection.feed('events', { run, after: after ?? '0', live: true }, signal)
  // Whether something began that nobody heard of cannot be known: it must not begin again.
  const mayRetry = (): boolean => run !== undefined
  for await (const { item } of following(connection, open, { ...options, mayRetry })) {
    run ??= item?.run
    if (item !== undefined) yield item
  }
}

export function deliveries(
  connection: Connection,
  { signal, onLost, onCursor, ...input }: EventOptions,
): AsyncGenerator<EventDelivery, void, void> {
  const options = { ...(signal && { signal }), ...(onLost && { onLost }), ...(onCursor && { onCursor }) }
  const open = (over: AbortSignal, after: string | undefined) =>
    connection.feed('events', after === undefined ? input : { ...input, after }, over)
  return following(connection, open, { ...options, after: input.after, mayRetry: () => true })
}

interface Following extends FollowOptions {
  readonly after?: string | undefined
  readonly mayRetry: () => boolean
}

async function* following(
  { closed }: Connection,
  open: (signal: AbortSignal, after: string | undefined) => AsyncIterable<Delivery>,
  { signal, onLost, onCursor, mayRetry, ...from }: Following,
): AsyncGenerator<EventDelivery, void, void> {
  if (closed.aborted) throw connectionClosed('the host')
  const over = signal === undefined ? closed : AbortSignal.any([signal, closed])
  let reached = from.after
  for (let tries = 1; !over.aborted; tries += 1) {
    try {
      for await (const delivery of open(over, reached) as AsyncIterable<EventDelivery>) {
        tries = 0
        // Before it is given: who goes on after this one must not get it again.
        const { item, cursor } = delivery
        // When many runs move at once, most events come without a cursor: they are added to the last one.
        reached = cursor ?? (reached !== undefined && isEvent(item) ? after(reached, item) : reached)
        yield delivery
        if (cursor !== undefined || isEvent(item)) onCursor?.(reached ?? '')
      }
      return
    } catch (error) {
      if (over.aborted) return
      if (!isNerveError(error, 'connection-lost') || !mayRetry() || tries >= MOST_TRIES) throw error
      onLost?.(error)
      await pause(Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS), over)
    }
  }
}

const AGAIN_MS = 1_000
/** Two minutes without a host, and it is told of. */
const MOST_ASKS = 120

/** Asks until it is answered, also over lost connections: to be used for what only looks. */
export async function patiently<Value>(over: AbortSignal, ask: () => Promise<Value>): Promise<Value> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask()
    } catch (error) {
      if (tries >= MOST_ASKS || over.aborted || !isNerveError(error, 'connection-lost')) throw error
      await pause(AGAIN_MS, over)
    }
  }
}

type DurableEvent = Extract<EventItem, { readonly seq: number }>

function isEvent(item: EventItem | undefined): item is DurableEvent {
  return item !== undefined && 'seq' in item
}

/** With a little chance in it, so that many who lost the same host do not come back in the same moment. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms * (0.5 + Math.random() / 2))
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}
