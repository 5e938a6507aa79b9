/** A run as its steps: start, chunk, complete, error. A view of the run's events, with nothing of its own. */
import type { Definition } from '../engine/definition.ts'
import type { Heard, Subscription } from '../engine/bus.ts'
import { isLive, type FeedItem, type FeedOptions } from '../engine/feed.ts'

/** What streaming needs of a host. */
export interface StreamHost {
  start(definition: Definition, input?: unknown): Promise<StreamRun>
  subscribe(wanted: Subscription, listener: (heard: Heard) => void): () => void
}

interface StreamRun {
  readonly id: string
  result(): Promise<unknown>
  events(options?: FeedOptions): AsyncIterable<FeedItem>
}

export interface StepEvent {
  readonly type: 'start' | 'chunk' | 'complete' | 'error' | 'skip'
  /** The path of the step: its id, with those of the graphs around it. */
  readonly step: string
  /** The chunk, the result, the reason or the error. */
  readonly data?: unknown
  /** When it was committed; chunks are not. */
  readonly time?: number
}

export async function* streamGraph(
  host: StreamHost,
  definition: Definition,
  input: unknown,
): AsyncGenerator<StepEvent, void> {
  // A step may speak before its run has a handle.
  const early: Heard[] = []
  const unsubscribe = host.subscribe({ live: true }, (heard) => early.push(heard))
  let feed: AsyncIterator<FeedItem>
  let first: Promise<IteratorResult<FeedItem>>
  let run: StreamRun
  try {
    run = await host.start(definition, input)
    feed = run.events({ live: true })[Symbol.asyncIterator]()
    first = feed.next()
  } finally {
    unsubscribe()
  }
  const result = run.result()
  result.catch(() => undefined)
  const started = new Set<string>()
  try {
    for (const heard of early) if (heard.run === run.id) yield* stepEvents(heard, started)
    for (let next = await first; next.done !== true; next = await feed.next()) yield* stepEvents(next.value, started)
  } finally {
    await feed.return?.()
  }
  await result
}

function* stepEvents(item: FeedItem, started: Set<string>): Generator<StepEvent, void> {
  if (isLive(item)) {
    if (item.type === 'gap' || !('path' in item)) return
    yield* starting(item.path, started)
    yield { type: 'chunk', step: item.path, data: item.data }
    return
  }
  const { time } = item
  switch (item.type) {
    case 'step-started':
      yield* starting(item.path, started, time)
      return
    case 'step-completed':
      yield* starting(item.path, started, item.started)
      yield { type: 'complete', step: item.path, data: item.output, time }
      return
    case 'step-failed':
      yield* starting(item.path, started, item.started)
      yield { type: 'error', step: item.path, data: item.error, time }
      return
    case 'step-skipped':
      yield { type: 'skip', step: item.path, data: item.value ?? item.error.message, time }
      return
    default:
  }
}

/** A step that ends in the tick in which it starts has no event for its start. */
function* starting(step: string, started: Set<string>, time?: number): Generator<StepEvent, void> {
  if (started.has(step)) return
  started.add(step)
  yield { type: 'start', step, ...(time === undefined ? {} : { time }) }
}
