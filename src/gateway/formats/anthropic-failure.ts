/** Failures in Anthropic's words. */
import type { FailureKind, ModelFailure } from '../exchange.ts'
import { errorIn, kindOfStatus, messageIn, readFailureAs, retryHeaders, saysContextFull, statusOf } from './failures.ts'
import type { FailedAnswer, FailureAnswer } from './format.ts'

const TYPES: Readonly<Record<FailureKind, string>> = {
  'bad-request': 'invalid_request_error',
  'too-large': 'request_too_large',
  unauthorized: 'authentication_error',
  forbidden: 'permission_error',
  'not-found': 'not_found_error',
  'rate-limited': 'rate_limit_error',
  budget: 'billing_error',
  'context-full': 'invalid_request_error',
  overloaded: 'overloaded_error',
  timeout: 'timeout_error',
  server: 'api_error',
}

export function readAnthropicFailure(answer: FailedAnswer): ModelFailure {
  const type = errorIn(answer.body)['type']
  const found = Object.entries(TYPES).find(([, word]) => word === type)
  const kind = (found?.[0] as FailureKind | undefined) ?? kindOfStatus(answer.status)
  if (kind === 'bad-request' && saysContextFull(messageIn(answer))) return readFailureAs(answer, 'context-full')
  return readFailureAs(answer, kind)
}

export function writeAnthropicFailure(failure: ModelFailure, now: number): FailureAnswer {
  const status = statusOf(failure, { overloaded: 529 })
  return { status, headers: retryHeaders(failure, now), body: writeAnthropicError(failure) }
}

export function writeAnthropicError({ kind, message }: ModelFailure): unknown {
  const said = kind === 'context-full' && !saysContextFull(message) ? `prompt is too long: ${message}` : message
  return { type: 'error', error: { type: TYPES[kind], message: said } }
}
