/** Failures in Google's words. */
import type { FailureKind, ModelFailure } from '../exchange.ts'
import { errorIn, kindOfStatus, messageIn, readFailureAs, retryHeaders, saysContextFull, statusOf } from './failures.ts'
import { count, looseList, looseText, type Fields } from './fields.ts'
import type { FailedAnswer, FailureAnswer } from './format.ts'

const WORDS: Readonly<Record<FailureKind, string>> = {
  'bad-request': 'INVALID_ARGUMENT',
  'too-large': 'INVALID_ARGUMENT',
  unauthorized: 'UNAUTHENTICATED',
  forbidden: 'PERMISSION_DENIED',
  'not-found': 'NOT_FOUND',
  'rate-limited': 'RESOURCE_EXHAUSTED',
  budget: 'PERMISSION_DENIED',
  'context-full': 'INVALID_ARGUMENT',
  overloaded: 'UNAVAILABLE',
  timeout: 'DEADLINE_EXCEEDED',
  server: 'INTERNAL',
}
/** Kinds that share a word are told apart by a reason, which the format has for this. */
const REASONS: Partial<Record<FailureKind, string>> = { budget: 'BUDGET_EXHAUSTED', 'too-large': 'REQUEST_TOO_LARGE' }
const INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
const RETRY = 'type.googleapis.com/google.rpc.RetryInfo'
/** Google has no status for it that clients do not try again. */
const STATUS = { budget: 403 } as const

export function readGeminiFailure(answer: FailedAnswer): ModelFailure {
  const error = errorIn(answer.body)
  const reasons = looseList(error['details']).map(({ reason }) => looseText(reason))
  const known = Object.entries(REASONS).find(([, reason]) => reasons.includes(reason))
  if (known !== undefined) return readFailureAs(answer, known[0] as FailureKind)
  if (reasons.includes('API_KEY_INVALID')) return readFailureAs(answer, 'unauthorized')
  const word = Object.entries(WORDS).find(([, one]) => one === error['status'])
  const kind = (word?.[0] as FailureKind | undefined) ?? kindOfStatus(answer.status || count(error['code']))
  const full = kind === 'bad-request' && saysContextFull(messageIn(answer))
  return readFailureAs(answer, full ? 'context-full' : kind)
}

export function writeGeminiFailure(failure: ModelFailure, now: number): FailureAnswer {
  const headers = retryHeaders(failure, now)
  return { status: statusOf(failure, STATUS), headers, body: writeGeminiError(failure, now) }
}

export function writeGeminiError(failure: ModelFailure, now: number): Fields {
  const { kind, message, retryAt } = failure
  const full = kind === 'context-full' && !saysContextFull(message)
  const reason = REASONS[kind]
  const wait = retryAt === undefined || now === 0 ? undefined : Math.max(0, retryAt - now) / 1_000
  const details = [
    ...(reason === undefined ? [] : [{ '@type': INFO, reason, domain: 'nerve' }]),
    ...(wait === undefined ? [] : [{ '@type': RETRY, retryDelay: `${wait}s` }]),
  ]
  return {
    error: {
      code: statusOf(failure, STATUS),
      message: full ? `The input exceeds the maximum number of tokens: ${message}` : message,
      status: WORDS[kind],
      ...(details.length === 0 ? {} : { details }),
    },
  }
}
