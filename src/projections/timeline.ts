/** A run as a list of what it did, in the order in which it began: for trees, tables and live progress. Pure. */
import type { ErrorData } from '../base/nerve-error.ts'
import type { EndStatus, JournalEvent, Usage } from '../journal/events.ts'

export type ItemStatus = 'running' | 'waiting' | 'retrying' | 'completed' | 'failed' | 'skipped' | 'stopped'
export type ItemKind = 'step' | 'item' | 'scope' | 'question' | 'timer' | 'signal' | 'child' | 'checkpoint' | 'event'

export interface TimelineItem {
  readonly path: string
  readonly kind: ItemKind
  status: ItemStatus
  attempt: number
  started: number
  ended?: number
  after?: string
  /** What is asked, waited for, or said. */
  text?: string
  /** What a step was given, and the node that ran, where the journal keeps them. */
  node?: { readonly id: string; readonly kind: string }
  input?: unknown
  output?: unknown
  error?: ErrorData
  usage?: Usage
  until?: number
  size?: number
  child?: string
}

export interface Timeline {
  readonly items: Map<string, TimelineItem>
  started?: number
  ended?: number
  status?: EndStatus
}

export function emptyTimeline(): Timeline {
  return { items: new Map() }
}

type Timed = { readonly event: JournalEvent; readonly time: number }

export function timelineOf(entries: Iterable<Timed>): Timeline {
  const timeline = emptyTimeline()
  for (const entry of entries) addToTimeline(timeline, entry)
  return timeline
}

export function addToTimeline(timeline: Timeline, { event, time }: Timed): void {
  switch (event.type) {
    case 'run-created':
      timeline.started = time
      return
    case 'run-completed':
      return end(timeline, time, event.failures > 0 ? 'completed-with-failures' : 'completed')
    case 'run-failed':
      return end(timeline, time, 'failed')
    case 'run-cancelled':
      return end(timeline, time, 'cancelled')
    case 'step-started':
    case 'step-completed':
    case 'step-failed':
    case 'step-skipped':
    case 'step-stopped':
      return addStep(timeline, event, time)
    default:
      return addOther(timeline, event, time)
  }
}

function end(timeline: Timeline, time: number, status: EndStatus): void {
  timeline.ended = time
  timeline.status = status
  for (const item of timeline.items.values()) {
    if (item.status !== 'running' && item.status !== 'waiting' && item.status !== 'retrying') continue
    item.status = item.kind === 'scope' && status !== 'cancelled' ? 'completed' : 'stopped'
    item.ended = time
  }
}

type StepEvent = Extract<
  JournalEvent,
  { type: 'step-started' | 'step-completed' | 'step-failed' | 'step-skipped' | 'step-stopped' }
>

function addStep(timeline: Timeline, event: StepEvent, time: number): void {
  const kind = event.type === 'step-completed' && event.kind === 'item' ? 'item' : 'step'
  const item = at(timeline, event, kind, 'started' in event ? event.started : time)
  if ('attempt' in event && event.attempt > 0) item.attempt = event.attempt
  if ('usage' in event && event.usage !== undefined) item.usage = sum(item.usage, event.usage)
  delete item.until
  switch (event.type) {
    case 'step-started':
      item.status = 'running'
      if (event.node !== undefined) item.node = event.node
      if (event.input !== undefined) item.input = event.input
      return
    case 'step-completed':
      Object.assign(item, { status: 'completed', ended: time, output: event.output })
      delete item.error
      return
    case 'step-failed':
      Object.assign(item, { status: event.final ? 'failed' : 'retrying', error: event.error, ended: time })
      if (event.retryAt !== undefined) item.until = event.retryAt
      return
    case 'step-skipped':
      Object.assign(item, { status: 'skipped', ended: time, output: event.value, error: event.error })
      return
    default:
      item.status = event.until === undefined && event.question === undefined ? 'stopped' : 'waiting'
      if (event.until !== undefined) item.until = event.until
      item.ended = time
  }
}

function addOther(timeline: Timeline, event: Exclude<JournalEvent, StepEvent>, time: number): void {
  switch (event.type) {
    case 'scope-opened': {
      const item = at(timeline, event, 'scope', time)
      if (event.node === undefined) Object.assign(item, { text: event.kind, size: event.size })
      else item.text = event.node
      return
    }
    case 'race-decided':
      return done(timeline, event, 'scope', time, { output: event.winner })
    case 'timer-set':
      Object.assign(at(timeline, event, 'timer', time), { status: 'waiting', until: event.until })
      return
    case 'question-asked':
      Object.assign(at(timeline, event, 'question', time), {
        status: 'waiting',
        text: event.prompt,
        ...(event.deadline === undefined ? {} : { until: event.deadline }),
      })
      return
    case 'wait-started':
      Object.assign(at(timeline, event, 'signal', time), { status: 'waiting', text: event.name })
      return
    case 'child-started':
      Object.assign(at(timeline, event, 'child', time), { child: event.child, text: event.definition })
      return
    case 'child-ended':
      return childDone(timeline, event, time)
    case 'timer-fired':
      return done(timeline, event, 'timer', time, {})
    case 'question-answered':
      return done(timeline, event, 'question', time, { output: event.value })
    case 'signal-taken':
      return done(timeline, event, 'signal', time, { text: event.name, output: event.value })
    case 'question-expired':
      return done(timeline, event, 'question', time, { status: 'failed' })
    case 'wait-expired':
      return done(timeline, event, 'signal', time, { status: 'failed' })
    case 'question-withdrawn':
      return done(timeline, event, 'question', time, { status: 'stopped' })
    case 'wait-withdrawn':
      return done(timeline, event, 'signal', time, { status: 'stopped' })
    case 'checkpoint-recorded':
      return done(timeline, event, 'checkpoint', time, { text: event.name, output: event.data })
    case 'emitted':
      return done(timeline, event, 'event', time, { text: event.name, output: event.data })
    default:
  }
}

function childDone(timeline: Timeline, event: Extract<JournalEvent, { type: 'child-ended' }>, time: number): void {
  const failed =
    event.error === undefined
      ? {}
      : { error: event.error, status: event.status === 'cancelled' ? ('stopped' as const) : ('failed' as const) }
  done(timeline, event, 'child', time, {
    child: event.child,
    output: event.output,
    ...failed,
    ...(event.usage === undefined ? {} : { usage: event.usage }),
  })
}

/** A fork takes outcomes over without what led to them; and a signal that was there already was not waited for. */
function done(timeline: Timeline, event: Placed, kind: ItemKind, time: number, more: Partial<TimelineItem>): void {
  Object.assign(at(timeline, event, kind, time), { status: 'completed', ended: time }, more)
}

type Placed = { readonly path: string; readonly after?: string }

function at(timeline: Timeline, event: Placed, kind: ItemKind, started: number): TimelineItem {
  const known = timeline.items.get(event.path)
  if (known !== undefined) return known
  const item: TimelineItem = {
    path: event.path,
    kind,
    status: 'running',
    attempt: 1,
    started,
    ...(event.after === undefined ? {} : { after: event.after }),
  }
  timeline.items.set(event.path, item)
  return item
}

function sum(one: Usage | undefined, two: Usage): Usage {
  if (one === undefined) return two
  const total: Record<string, number> = { ...one }
  for (const [key, value] of Object.entries(two))
    total[key] = key === 'window' ? Math.max(total[key] ?? 0, value as number) : (total[key] ?? 0) + (value as number)
  return total
}
