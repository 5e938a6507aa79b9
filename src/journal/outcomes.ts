/**
 * What a journal says about each path: the index a replay runs over. Pure.
 *
 * Invariant: for each path it keeps the last event that decides what a replay does there (the outcome if there is one,
 * else how far it got), and nothing else.
 */
import type { Entry, EventType, JournalEvent } from './events.ts'

/** What kind of call a path belongs to; a replay that finds another kind there has diverged. */
export type CallKind =
  | 'step'
  | 'scope'
  | 'value'
  | 'timer'
  | 'question'
  | 'wait'
  | 'child'
  | 'messages'
  | 'emit'
  | 'checkpoint'

const CALL_KIND: Partial<Record<EventType, CallKind>> = {
  'step-started': 'step',
  'step-completed': 'step',
  'step-failed': 'step',
  'step-skipped': 'step',
  'step-stopped': 'step',
  'scope-opened': 'scope',
  'race-decided': 'scope',
  'value-recorded': 'value',
  'timer-set': 'timer',
  'timer-fired': 'timer',
  'question-asked': 'question',
  'question-answered': 'question',
  'question-expired': 'question',
  'wait-started': 'wait',
  'signal-taken': 'wait',
  'wait-expired': 'wait',
  'messages-taken': 'messages',
  'child-started': 'child',
  'child-ended': 'child',
  emitted: 'emit',
  'checkpoint-recorded': 'checkpoint',
}

export type PlacedEvent = Extract<JournalEvent, { readonly path: string; readonly after?: string }>

export interface Outcomes {
  readonly at: Map<string, PlacedEvent>
  /** The sequence number of what `at` has, by path. */
  readonly seqs: Map<string, number>
  /** Recorded paths that an accepted plan no longer asks about. */
  readonly ignored: Set<string>
}

export function callKind(event: JournalEvent): CallKind | undefined {
  return CALL_KIND[event.type]
}

/** A recovery question lives below its step, one for each attempt that was lost. */
export function recoveryPath(path: string, attempt: number): string {
  return `${path}/#recovery-${attempt}`
}

/** So does what its function asks: each attempt has its own questions. */
export function questionPath(path: string, attempt: number, number: number): string {
  return `${path}${OF_STEP}${attempt}-${number}`
}

/** True for what a step's function asks. */
export function isOfStep(path: string): boolean {
  return path.includes(OF_STEP)
}

const OF_STEP = '/#ask-'

/** The step that a question is about, or is asked by; for all others the path itself. */
export function stepOf(path: string): string {
  const at = path.lastIndexOf('/#')
  return at === -1 ? path : path.slice(0, at)
}

/** True for places that a replay reaches only while their step has no outcome, or never. */
export function isBeside(path: string): boolean {
  return path.includes('/#')
}

export function outcomesOf(entries: Iterable<Entry>): Outcomes {
  const outcomes: Outcomes = { at: new Map(), seqs: new Map(), ignored: new Set() }
  for (const { event, seq } of entries) recordOutcome(outcomes, event, seq)
  return outcomes
}

function recordOutcome(outcomes: Outcomes, event: JournalEvent, seq: number): void {
  if (event.type === 'plan-accepted') {
    for (const path of event.forget) outcomes.at.delete(path)
    for (const path of event.ignore) outcomes.ignored.add(path)
  } else if (event.type === 'question-withdrawn' || event.type === 'wait-withdrawn') {
    outcomes.at.delete(event.path)
  } else if (event.type === 'step-stopped' && (event.reason === 'scope' || event.reason === 'cancel')) {
    // Its branch was stopped: a replay need not get there. Other stops keep their attempt's number for the next try.
    outcomes.at.delete(event.path)
  } else if (CALL_KIND[event.type] !== undefined) {
    const placed = event as PlacedEvent
    outcomes.at.set(placed.path, placed)
    outcomes.seqs.set(placed.path, seq)
  }
}

/** A journal without its end, and without the children that ended with the run: its code never heard of those. */
export function withoutEnd(entries: readonly Entry[]): readonly Entry[] {
  return entries.filter(({ event }) => {
    const { type } = event
    if (type === 'run-completed' || type === 'run-failed' || type === 'run-cancelled') return false
    return type !== 'child-ended' || event.unawaited !== true
  })
}

/** True for events after which a replay needs to do nothing more at their path. */
export function isOutcome(event: JournalEvent): boolean {
  switch (event.type) {
    case 'step-completed':
    case 'step-skipped':
    case 'value-recorded':
    case 'timer-fired':
    case 'question-answered':
    case 'question-expired':
    case 'signal-taken':
    case 'wait-expired':
    case 'messages-taken':
    case 'child-ended':
    case 'emitted':
    case 'checkpoint-recorded':
    case 'scope-opened':
    case 'race-decided':
      return true
    case 'step-failed':
      return event.final
    default:
      return false
  }
}
