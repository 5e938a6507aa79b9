/** What a run did, as tests want to know it: read from its journal. Pure. */
import type { ErrorData } from '../base/nerve-error.ts'
import type { Entry, JournalEvent, QuestionKind } from '../journal/events.ts'

export interface RunFacts {
  /** Every step that was started, in the order in which they began to show in the journal. */
  readonly steps: readonly StepFact[]
  readonly questions: readonly QuestionFact[]
  readonly emitted: readonly { readonly name: string; readonly data?: unknown }[]
  readonly output?: unknown
  readonly error?: ErrorData
}

export interface StepFact {
  readonly path: string
  /** How often it began: attempts, and again what a process that died had not finished. Going on after a question is not. */
  readonly times: number
  /** False while it runs, and when it failed. */
  readonly completed: boolean
  readonly output?: unknown
}

export interface QuestionFact {
  readonly id: string
  readonly path: string
  readonly kind: QuestionKind
  readonly prompt: string
  readonly answered: boolean
  readonly answer?: unknown
}

/** Of `host.journal(run)`. */
export function runFacts(journal: readonly Entry[]): RunFacts {
  const events = journal.map(({ event }) => event)
  const end = events.findLast(({ type }) => type === 'run-completed' || type === 'run-failed')
  return {
    steps: stepFacts(events),
    questions: questionFacts(events),
    emitted: events.flatMap((event) => (event.type === 'emitted' ? [{ name: event.name, data: event.data }] : [])),
    ...(end?.type === 'run-completed' ? { output: end.output } : {}),
    ...(end?.type === 'run-failed' ? { error: end.error } : {}),
  }
}

interface Counting {
  times: number
  /** Its last attempt has not ended. */
  open: boolean
  /** It waits for an answer, and then goes on. */
  asking: boolean
  done?: { readonly output: unknown }
}

function stepFacts(events: readonly JournalEvent[]): readonly StepFact[] {
  const steps = new Map<string, Counting>()
  for (const event of events)
    switch (event.type) {
      case 'step-started':
      case 'step-completed':
      case 'step-failed':
      case 'step-stopped': {
        if (event.type === 'step-completed' && event.kind === 'item') break
        const step = steps.get(event.path) ?? { times: 0, open: false, asking: false }
        steps.set(event.path, step)
        const starts = event.type === 'step-started'
        // An attempt that ends in the tick in which it began has no event for its beginning.
        if (starts ? !step.asking : !step.open) step.times += 1
        step.open = starts
        step.asking = event.type === 'step-stopped' && event.reason === 'question'
        if (event.type === 'step-completed') step.done = { output: event.output }
        break
      }
      default:
    }
  return [...steps].map(([path, { times, done }]) => ({ path, times, completed: done !== undefined, ...done }))
}

function questionFacts(events: readonly JournalEvent[]): readonly QuestionFact[] {
  const answers = new Map(events.flatMap((event) => (event.type === 'question-answered' ? [[event.id, event]] : [])))
  return events.flatMap((event) => {
    if (event.type !== 'question-asked') return []
    const { id, path, kind, prompt } = event
    const answer = answers.get(id)
    return [{ id, path, kind, prompt, answered: answer !== undefined, ...(answer && { answer: answer.value }) }]
  })
}

/** A path without the numbers of what was done again: `review#2` is `review`. */
export function withoutNumbers(path: string): string {
  return path.replaceAll(/#\d+/g, '')
}
