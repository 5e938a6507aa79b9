/** What people are told of, as data: made from events of journals, with nothing in it that must not leave the machine. Pure. */
import type { Redactor } from '../../base/redact.ts'
import type { RunEvent } from '../../engine/bus.ts'
import type { QuestionKind } from '../../journal/events.ts'
import type { RunRow } from '../../projections/runs.ts'

export const NOTIFY_KINDS = ['question', 'completed', 'failed', 'budget'] as const
export type NotifyKind = (typeof NOTIFY_KINDS)[number]

/** What a webhook receives. */
export interface Notification {
  /** The same each time it is sent: `RUN:SEQUENCE`. Whoever has seen it can leave it. */
  readonly id: string
  readonly type: NotifyKind
  /** The name of the project folder. */
  readonly project: string
  readonly run: string
  /** The first run of its tree: of a question of a child, the run that somebody started. */
  readonly root: string
  readonly definition: string
  /** When it happened (milliseconds since the epoch). */
  readonly time: number
  readonly question?: {
    readonly id: string
    readonly kind: QuestionKind
    readonly prompt: string
    readonly choices?: readonly string[]
    readonly deadline?: number
  }
  readonly error?: { readonly message: string; readonly code?: string }
  /** The beginning of what the run gave back, as text. */
  readonly output?: string
  /** How many of its steps failed. */
  readonly failures?: number
  readonly budget?: { readonly dimension: string; readonly used: number; readonly limit: number }
}

const KIND_OF: Partial<Readonly<Record<RunEvent['type'], NotifyKind>>> = {
  'question-asked': 'question',
  'run-completed': 'completed',
  'run-failed': 'failed',
  'budget-exhausted': 'budget',
}

const MOST_OUTPUT = 500

/** What kind of notification an event may become; undefined for most. */
export function kindOf({ type }: { readonly type: string }): NotifyKind | undefined {
  return Object.hasOwn(KIND_OF, type) ? KIND_OF[type as RunEvent['type']] : undefined
}

/** The notification for an event; undefined when it tells nobody anything. `row` is how its run stands now. */
export function notificationOf(
  event: RunEvent,
  row: RunRow,
  { project, redactor }: { readonly project: string; readonly redactor: Redactor },
): Notification | undefined {
  const type = kindOf(event)
  if (type === undefined) return undefined
  // A child ends for its parent. What a child asks, it asks a person.
  if (type !== 'question' && row.parent !== undefined) return undefined
  // Somebody was there and answered, or nobody needs the answer any more.
  if (event.type === 'question-asked' && !row.questions.some(({ id }) => id === event.id)) return undefined
  const { run, root, definition } = row
  const about = { id: `${event.run}:${event.seq}`, type, project, run, root, definition, time: event.time }
  return redactor.value({ ...about, ...detailOf(event, redactor) }) as Notification
}

function detailOf(event: RunEvent, redactor: Redactor): Partial<Notification> {
  switch (event.type) {
    case 'question-asked': {
      const { id, kind, prompt, choices, deadline } = event
      return {
        question: {
          id,
          kind,
          prompt,
          ...(choices === undefined ? {} : { choices }),
          ...(deadline === undefined ? {} : { deadline }),
        },
      }
    }
    case 'run-completed': {
      const output = outputText(redactor.value(event.output))
      return { ...(output === undefined ? {} : { output }), failures: event.failures }
    }
    case 'run-failed': {
      const { message, code } = event.error
      return { error: { message, ...(code === undefined ? {} : { code }) } }
    }
    case 'budget-exhausted': {
      const { dimension, used, limit } = event
      return { budget: { dimension, used, limit } }
    }
    default:
      return {}
  }
}

/** Cut after secrets were taken out: half of one is not known as one. */
function outputText(output: unknown): string | undefined {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  if (text === undefined) return undefined
  return text.length > MOST_OUTPUT ? `${text.slice(0, MOST_OUTPUT)}…` : text
}
