/**
 * The pure fold: the events of a run to the state of the run. Owns the meaning of every event type. No I/O, no clock.
 *
 * Invariants:
 *  1. The state is a function of the events alone: the live state of a run equals the fold of its journal.
 *  2. Its size follows what is open (steps in flight, waits, children, unread signals), not how long the run is.
 *  3. After the end of a run, no event changes its status.
 */
import { describe, NerveError } from '../base/nerve-error.ts'
import type { Entry, JournalEvent, QuestionAnswered, RunCreated, RunStatus, Usage } from './events.ts'
import { isOfStep, stepOf } from './outcomes.ts'
import { emptyState, type InFlight, type RunState, type Wait } from './run-state.ts'

export function foldAll(run: string, entries: Iterable<Entry>): RunState {
  const state = emptyState(run)
  for (const entry of entries) fold(state, entry.seq, entry.time, entry.event)
  return state
}

export function statusOf(state: RunState): RunStatus {
  if (state.end !== undefined) return state.end
  if (state.seq === 0) return 'queued'
  // It is about to end, whatever held it back.
  if (state.cancelRequested) return 'running'
  if (state.exhausted !== undefined) return 'exhausted'
  if (state.paused) return 'paused'
  const busy = isWorking(state) || state.children.size > 0
  return !busy && state.waits.size > 0 ? 'waiting' : 'running'
}

/** Some step runs. One whose function waits for a person is not at work. */
export function isWorking({ inFlight, questions, waits }: RunState): boolean {
  if (inFlight.size === 0 || questions === 0) return inFlight.size > 0
  const asking = new Set<string>()
  for (const [path, wait] of waits) if (wait.kind === 'question') asking.add(stepOf(path))
  for (const path of inFlight.keys()) if (!asking.has(path)) return true
  return false
}

export function fold(state: RunState, seq: number, time: number, event: JournalEvent): void {
  state.seq = seq
  state.updated = time
  switch (event.type) {
    case 'step-completed':
      if (event.kind === 'item') return
      state.steps += 1
      if (state.kept.size > 0 || state.answered.size > 0) forget(state, event.path)
      return endAttempt(state, event.path, event)
    case 'step-started':
      return startAttempt(state, event.path, {
        attempt: event.attempt,
        started: time,
        effect: event.effect ?? 'repeatable',
      })
    case 'step-failed':
    case 'step-skipped':
    case 'step-stopped':
      return foldTrouble(state, time, event)
    case 'step-kept':
      state.kept.set(event.path, event.value)
      return
    case 'run-created':
      return foldCreated(state, time, event)
    case 'run-recovered':
      // What was in flight went with its process.
      state.inFlight.clear()
      state.headVersion += 1
      return
    case 'scope-opened':
    case 'race-decided':
    case 'value-recorded':
    case 'emitted':
    case 'checkpoint-recorded':
      return
    case 'interrupt-requested':
      // When somebody last did something to a run can be seen without reading its journal.
      state.headVersion += 1
      return
    case 'plan-accepted':
      state.headVersion += 1
      return startAnew(state, event.forget)
    case 'run-completed':
    case 'run-failed':
    case 'run-cancelled':
      return foldEnd(state, time, event)
    case 'budget-warned':
    case 'budget-exhausted':
    case 'budget-raised':
      return foldBudget(state, event)
    case 'run-paused':
    case 'run-resumed':
    case 'cancel-requested':
      return foldVerb(state, event)
    default:
      return foldWait(state, seq, time, event)
  }
}

type Trouble = Extract<JournalEvent, { type: 'step-failed' | 'step-skipped' | 'step-stopped' }>

function foldTrouble(state: RunState, time: number, event: Trouble): void {
  if (event.type === 'step-skipped') return forget(state, event.path)
  endAttempt(state, event.path, event)
  if (event.type === 'step-failed') {
    if (event.final) {
      forget(state, event.path)
      if (event.handled !== undefined) return
      state.failures += 1
      state.headVersion += 1
    } else if (event.retryAt !== undefined) {
      addWait(state, event.path, { kind: 'retry', since: time, until: event.retryAt, attempt: event.attempt + 1 })
    }
  } else if (event.until !== undefined) {
    addWait(state, event.path, { kind: 'quota', since: time, until: event.until, attempt: event.attempt })
  }
}

function foldCreated(state: RunState, time: number, event: RunCreated): void {
  state.created = time
  state.definition = event.definition
  state.source = event.source
  state.input = event.input
  state.params = event.params ?? {}
  state.budget = event.budget
  state.durability = event.durability
  state.errorPolicy = event.errorPolicy ?? 'stop'
  state.parent = event.parent
  state.root = event.root
  state.depth = event.depth
  state.forkedFrom = event.forkedFrom
  state.headVersion += 1
}

type End = Extract<JournalEvent, { type: 'run-completed' | 'run-failed' | 'run-cancelled' }>

function foldEnd(state: RunState, time: number, event: End): void {
  if (state.end !== undefined) return
  state.ended = time
  state.headVersion += 1
  state.inFlight.clear()
  state.kept.clear()
  state.answered.clear()
  state.waits.clear()
  state.children.clear()
  state.questions = 0
  if (event.type === 'run-completed') {
    state.end = event.failures > 0 ? 'completed-with-failures' : 'completed'
    state.output = event.output
  } else if (event.type === 'run-failed') {
    state.end = 'failed'
    state.error = event.error
  } else {
    state.end = 'cancelled'
  }
}

type BudgetEvent = Extract<JournalEvent, { type: 'budget-warned' | 'budget-exhausted' | 'budget-raised' }>

function foldBudget(state: RunState, event: BudgetEvent): void {
  state.headVersion += 1
  if (event.type === 'budget-warned') state.warned.add(event.dimension)
  else if (event.type === 'budget-exhausted') {
    const { dimension, of } = event
    state.exhausted = { dimension, ...(of === undefined ? {} : { of }) }
  } else {
    state.budget = { ...state.budget, ...event.budget }
    state.exhausted = undefined
    state.warned.clear()
  }
}

type Verb = Extract<JournalEvent, { type: 'run-paused' | 'run-resumed' | 'cancel-requested' }>

function foldVerb(state: RunState, event: Verb): void {
  state.headVersion += 1
  if (event.type === 'cancel-requested') state.cancelRequested = true
  else state.paused = event.type === 'run-paused'
  if (event.type === 'run-resumed') state.exhausted = undefined
}

type WaitEvent = Exclude<
  JournalEvent,
  | Trouble
  | End
  | BudgetEvent
  | Verb
  | RunCreated
  | {
      type:
        | 'step-completed'
        | 'step-started'
        | 'step-kept'
        | 'scope-opened'
        | 'race-decided'
        | 'value-recorded'
        | 'emitted'
        | 'checkpoint-recorded'
        | 'run-recovered'
        | 'interrupt-requested'
        | 'plan-accepted'
    }
>

function foldWait(state: RunState, seq: number, time: number, event: WaitEvent): void {
  switch (event.type) {
    case 'timer-set':
      return addWait(state, event.path, { kind: 'timer', since: time, until: event.until })
    case 'question-asked':
      state.questions += 1
      // Asked about an attempt that was lost with its process: nothing runs there any more.
      if (event.kind === 'recovery') state.inFlight.delete(stepOf(event.path))
      return addWait(state, event.path, { kind: 'question', since: time, question: event })
    case 'wait-started': {
      const until = event.deadline === undefined ? {} : { until: event.deadline }
      return addWait(state, event.path, { kind: 'signal', since: time, name: event.name, ...until })
    }
    case 'signal-received':
      state.signals.push({ seq, name: event.name, value: event.value })
      state.headVersion += 1
      return
    case 'signal-taken':
      state.signals = state.signals.filter((signal) => signal.seq !== event.signal)
      return endWait(state, event.path)
    case 'messages-taken':
      state.signals = state.signals.filter((signal) => !event.signals.includes(signal.seq))
      return
    case 'question-answered':
      return foldAnswer(state, event)
    case 'timer-fired':
    case 'wait-expired':
    case 'wait-withdrawn':
    case 'question-expired':
    case 'question-withdrawn':
      return endWait(state, event.path)
    case 'child-started':
      state.children.set(event.path, event.child)
      state.headVersion += 1
      return
    case 'child-ended':
      state.children.delete(event.path)
      state.headVersion += 1
      return spend(state, event.usage, undefined)
    default:
      throw unknownEvent(state.run, seq, event)
  }
}

/** What a function asked while it ran was answered to that call alone; a parked step has no other way to hear. */
function foldAnswer(state: RunState, { path, value }: QuestionAnswered): void {
  const step = stepOf(path)
  if (isOfStep(path) && !state.inFlight.has(step)) state.answered.set(step, value)
  endWait(state, path)
}

function unknownEvent(run: string, seq: number, event: never): NerveError {
  return new NerveError(
    'store-corrupt',
    `The journal of run ${run} has an unknown event ${seq}: ${describe(event).slice(0, 100)}. Nothing was changed.`,
  )
}

function startAttempt(state: RunState, path: string, attempt: InFlight): void {
  // A step leaves or enters `waiting` only with waits around; else the head does not change.
  if (state.waits.size > 0) {
    endWait(state, path)
    state.headVersion += 1
  }
  state.inFlight.set(path, attempt)
}

function endAttempt(state: RunState, path: string, event: { readonly usage?: Usage; readonly active?: number }): void {
  // Looking for a path costs more than the rest, and the journal seldom knows of a step before its end.
  if (state.inFlight.size > 0) state.inFlight.delete(path)
  if (state.waits.size > 0) {
    endWait(state, path)
    state.headVersion += 1
  } else if (state.exhausted !== undefined || state.paused) {
    // Nothing more may come of the run: what lists show of it must be all that it has spent.
    state.headVersion += 1
  }
  state.usage.steps += 1
  if (event.usage !== undefined || event.active !== undefined) spend(state, event.usage, event.active)
}

/** What is recorded at these paths no longer counts, and neither does what it left open. */
function startAnew(state: RunState, paths: readonly string[]): void {
  for (const path of paths) {
    forget(state, path)
    endWait(state, path)
  }
}

/** The step has its outcome: nobody goes on with it. */
function forget(state: RunState, path: string): void {
  state.kept.delete(path)
  state.answered.delete(path)
}

function addWait(state: RunState, path: string, wait: Wait): void {
  state.waits.set(path, wait)
  state.headVersion += 1
}

function endWait(state: RunState, path: string): void {
  const wait = state.waits.get(path)
  if (wait === undefined) return
  if (wait.kind === 'question') state.questions -= 1
  state.waits.delete(path)
  state.headVersion += 1
}

function spend(state: RunState, usage: Usage | undefined, active: number | undefined): void {
  addUsage(state.usage, usage)
  if (active !== undefined) state.usage.seconds += active / 1_000
}

function addUsage(total: RunState['usage'], usage: Usage | undefined): void {
  if (usage === undefined) return
  total.usd += usage.usd ?? 0
  total.tokens += usage.tokens ?? 0
  total.calls += usage.calls ?? 0
  total.steps += usage.steps ?? 0
  total.seconds += usage.seconds ?? 0
  total.window = Math.max(total.window, usage.window ?? 0)
}
