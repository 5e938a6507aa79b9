/** The statuses of HTTP. */
import { NerveError, isNerveError, type ErrorCode } from '../../base/nerve-error.ts'

/**
 * What each code is in HTTP. 4xx: the request is wrong, or does not go with how things stand. 500: it was tried here, and
 * failed. 502, 503, 504: so did something that this host needs, for now or for want of time. Whoever adds a code says here
 * what it is.
 */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  'bad-definition': 400,
  'bad-duration': 400,
  'bad-expression': 400,
  'bad-file': 400,
  'bad-input': 400,
  'bad-label': 400,
  'bad-option': 400,
  'bad-value': 400,
  'answer-rejected': 400,
  'answer-unclear': 400,

  'not-allowed': 403,
  'not-trusted': 403,

  'not-found': 404,
  'definition-missing': 404,
  'unknown-node': 404,

  'already-answered': 409,
  'budget-exhausted': 409,
  cancelled: 409,
  diverged: 409,
  interrupted: 409,
  'not-ready': 409,
  'nothing-runs': 409,
  'owned-elsewhere': 409,
  'ownership-lost': 409,
  'run-ended': 409,
  'store-newer': 409,
  'terminal-ended': 409,
  'writer-taken': 409,

  'limit-reached': 429,

  'bad-output': 500,
  blocked: 500,
  'command-failed': 500,
  'label-reused': 500,
  'nested-call': 500,
  'package-missing': 500,
  'pane-failed': 500,
  'run-failed': 500,
  'sandbox-missing': 500,
  skipped: 500,
  'store-corrupt': 500,
  'store-failed': 500,

  'agent-failed': 502,
  'connection-lost': 502,
  'http-failed': 502,
  'mcp-failed': 502,
  'model-failed': 502,

  'host-closed': 503,
  quota: 503,

  'deadline-passed': 504,
  timeout: 504,
}

/** Where HTTP has a status of its own for a reason. */
const REASONS: Partial<Record<ErrorCode, Readonly<Record<string, number>>>> = {
  'bad-input': { method: 405, type: 415 },
  'limit-reached': { size: 413 },
  'not-allowed': { token: 401, host: 421 },
}

/** The status of an error. One that is not ours is a fault of the host. */
export function statusOf(error: unknown): number {
  if (!isNerveError(error)) return 500
  const { code, data } = error
  const reasons = REASONS[code] ?? {}
  const { reason } = data
  const own = typeof reason === 'string' && Object.hasOwn(reasons, reason) ? reasons[reason] : undefined
  // A recorded error may have a code of another version.
  return own ?? (Object.hasOwn(STATUS, code) ? STATUS[code] : 500)
}

/** `what` is asked by other methods. */
export function wrongMethod(what: string, allowed: readonly string[], method: string | undefined): NerveError {
  return new NerveError('bad-input', `${what} takes ${allowed.join(' and ')}, not ${method}.`, {
    data: { reason: 'method', allowed },
  })
}

/** The methods that it takes, for the header that has them. */
export function allowedIn({ data: { allowed } }: NerveError): string {
  return Array.isArray(allowed) ? allowed.join(', ') : ''
}
