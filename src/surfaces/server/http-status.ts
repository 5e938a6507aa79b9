import { isNerveError, type ErrorCode } from '../../base/nerve-error.ts'

const STATUS: Partial<Readonly<Record<ErrorCode, number>>> = {
  'bad-input': 400,
  'bad-option': 400,
  'bad-value': 400,
  'bad-definition': 400,
  'answer-rejected': 400,
  'answer-unclear': 400,
  'not-allowed': 403,
  'not-found': 404,
  'unknown-node': 404,
  'definition-missing': 404,
  'already-answered': 409,
  'run-ended': 409,
  'not-ready': 409,
  diverged: 409,
  'owned-elsewhere': 409,
  'limit-reached': 429,
  'host-closed': 503,
}

const REFUSED: Readonly<Record<string, number>> = { token: 401, host: 421, size: 413, method: 405, type: 415 }

/** The status of an error: what is wrong with the request is 4xx, everything else is 500. */
export function statusOf(error: unknown): number {
  if (!isNerveError(error)) return 500
  const { reason } = error.data
  const refused = typeof reason === 'string' && Object.hasOwn(REFUSED, reason) ? REFUSED[reason] : undefined
  const status = STATUS[error.code] ?? 500
  return status >= 500 ? status : (refused ?? status)
}
