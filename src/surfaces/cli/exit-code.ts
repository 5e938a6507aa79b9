/** What the command ends with. Frozen: scripts depend on it. */
import { NerveError, type ErrorCode } from '../../base/nerve-error.ts'
import type { ShownStatus } from '../../journal/events.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, waiting: 3, exhausted: 4, cancelled: 5 } as const

/** A command that was called wrongly. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'usage'
}

export function exitCodeOf(status: ShownStatus): number {
  switch (status) {
    case 'completed':
    case 'completed-with-failures':
      return EXIT.done
    case 'failed':
      return EXIT.failed
    case 'exhausted':
      return EXIT.exhausted
    case 'cancelled':
      return EXIT.cancelled
    default:
      return EXIT.waiting
  }
}

const BAD_INPUT: readonly ErrorCode[] = [
  'already-answered',
  'answer-rejected',
  'answer-unclear',
  'bad-definition',
  'bad-duration',
  'bad-file',
  'bad-input',
  'bad-option',
  'bad-value',
  'definition-missing',
  'not-found',
  'not-trusted',
  'nothing-runs',
  'run-ended',
]

const OTHERS: Partial<Record<ErrorCode, number>> = {
  diverged: EXIT.waiting,
  'budget-exhausted': EXIT.exhausted,
  cancelled: EXIT.cancelled,
}

export function exitCodeOfError(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage
  if (!(error instanceof NerveError)) return EXIT.failed
  return BAD_INPUT.includes(error.code) ? EXIT.usage : (OTHERS[error.code] ?? EXIT.failed)
}
