/** Failures: what they have in common in all formats. Each format keeps its own words beside its reader and writer. */
import { NerveError } from '../../base/nerve-error.ts'
import type { FailureKind, ModelFailure } from '../exchange.ts'
import { count, isFields, looseFields, looseText, parseJson, present, type Fields } from './fields.ts'
import type { FailedAnswer } from './format.ts'

const STATUS: Readonly<Record<FailureKind, number>> = {
  'bad-request': 400,
  'too-large': 413,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  'rate-limited': 429,
  budget: 402,
  'context-full': 400,
  overloaded: 503,
  timeout: 504,
  server: 500,
}
const LONGEST_MESSAGE = 2_000

export function failureOf(kind: FailureKind, message: string, more: Partial<ModelFailure> = {}): ModelFailure {
  return { kind, status: STATUS[kind], message, ...more }
}

/** A request that a reader or a writer refused, as a failure; any other error is nobody's business but the log's. */
export function failureFrom(error: unknown): ModelFailure {
  if (!(error instanceof NerveError)) return failureOf('server', 'The gateway failed; its log says why.')
  const { field } = error.data
  if (error.code !== 'bad-input') return failureOf('server', error.message)
  return failureOf('bad-request', error.message, typeof field === 'string' ? { field } : {})
}

/** The status to answer with: a format may have its own for a kind. A failure of the server keeps the one it came with. */
export function statusOf(failure: ModelFailure, own: Partial<Record<FailureKind, number>> = {}): number {
  if (failure.kind === 'server' && failure.status >= 500 && failure.status < 600) return failure.status
  return own[failure.kind] ?? STATUS[failure.kind]
}

export function kindOfStatus(status: number): FailureKind {
  if (status === 408 || status === 504) return 'timeout'
  if (status === 503 || status === 529) return 'overloaded'
  if (status >= 500) return 'server'
  const found = Object.entries(STATUS).find(([, one]) => one === status)
  if (found !== undefined) return found[0] as FailureKind
  return status >= 400 ? 'bad-request' : 'server'
}

/** Providers have no code of their own for it, so that the message has to tell. */
export function saysContextFull(message: string): boolean {
  return /prompt is too long|context (length|window)|maximum context|exceeds the maximum number of tokens/i.test(
    message,
  )
}

/** The error object of an answer, also of one that is not JSON or that has a list around it. */
export function errorIn(body: unknown): Fields {
  const value: unknown = typeof body === 'string' ? parseJson(body) : body
  const fields = looseFields(Array.isArray(value) ? (value[0] as unknown) : value)
  if (isFields(fields['error'])) return fields['error']
  if (typeof fields['error'] === 'string') return { message: fields['error'], ...fields }
  return fields
}

export function messageIn(answer: FailedAnswer): string {
  const message = looseText(errorIn(answer.body)['message'])
  const text = message === '' && typeof answer.body === 'string' ? answer.body.trim() : message
  return text === '' ? `The provider answered with status ${answer.status}.` : text.slice(0, LONGEST_MESSAGE)
}

export function readFailureAs(answer: FailedAnswer, kind: FailureKind, field?: unknown): ModelFailure {
  const message = messageIn(answer)
  const named = typeof field === 'string' ? field : undefined
  const status = answer.status >= 400 ? answer.status : STATUS[kind]
  return { kind, status, message, ...present({ retryAt: retryAt(answer), field: named }) }
}

/** Headers that tell a client when, and whether, to try again. */
export function retryHeaders(failure: ModelFailure, now: number): Readonly<Record<string, string>> {
  // The official clients obey it; a budget that is used up does not come back by itself.
  const refuse = failure.kind === 'budget' ? { 'x-should-retry': 'false' } : {}
  if (failure.retryAt === undefined) return refuse
  const wait = Math.max(0, failure.retryAt - now)
  return { ...refuse, 'retry-after': String(Math.ceil(wait / 1_000)), 'retry-after-ms': String(wait) }
}

const EXHAUSTED = /^(?:anthropic|x)-ratelimit-remaining(?:-.*)?$|^anthropic-ratelimit-.*-remaining$/

/** When to try again, in milliseconds since 1970, from whichever of its ways the provider chose to say it. */
function retryAt({ headers, body, now }: FailedAnswer): number | undefined {
  const after = afterHeaders(headers, now)
  if (after !== undefined) return after
  const error = errorIn(body)
  if (count(error['resets_at']) > 0) return count(error['resets_at']) * 1_000
  if (count(error['resets_in_seconds']) > 0) return now + count(error['resets_in_seconds']) * 1_000
  const info = Array.isArray(error['details']) ? error['details'].map(looseFields) : []
  const delay = info.map((one) => duration(looseText(one['retryDelay']))).find((one) => one !== undefined)
  if (delay !== undefined) return now + delay
  return resetHeaders(headers, now)
}

function afterHeaders(headers: FailedAnswer['headers'], now: number): number | undefined {
  const milliseconds = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (Number.isFinite(milliseconds)) return now + milliseconds
  const after = headers['retry-after']
  if (after === undefined) return undefined
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(after) ? Number.parseFloat(after) : Number.NaN
  if (Number.isFinite(seconds)) return now + seconds * 1_000
  const date = Date.parse(after)
  return Number.isNaN(date) ? undefined : date
}

/** Limits name when they are full again; those that have nothing left are meant. */
function resetHeaders(headers: FailedAnswer['headers'], now: number): number | undefined {
  const times = Object.entries(headers).flatMap(([name, value]) => {
    if (!EXHAUSTED.test(name) || value?.trim() !== '0') return []
    const reset = moment(headers[name.replace('remaining', 'reset')], now)
    return reset === undefined ? [] : [reset]
  })
  return times.length === 0 ? moment(headers['anthropic-ratelimit-unified-reset'], now) : Math.max(...times)
}

function moment(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) {
    const value = Number(text)
    // Since 1970 in milliseconds or seconds, or from now on in seconds.
    return value > 1e12 ? value : value > 1e9 ? value * 1_000 : now + value * 1_000
  }
  const length = duration(text)
  if (length !== undefined) return now + length
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : date
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `6m0s`, `20ms`, `34.5s`. */
function duration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined
  const pieces = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
  return pieces.reduce((sum, [, value, unit]) => sum + Number(value) * (UNITS[unit ?? ''] ?? 0), 0)
}
