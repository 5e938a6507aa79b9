/** What went wrong in a call of a model, as an error that tells the engine what to do. */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'

/** Whose fault it is: what was asked cannot be answered, or this model cannot answer now. */
export type Fault = 'request' | 'model'

/** Statuses that another try may not have. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425, 429])
/** Statuses that mean: too much at the moment. */
const BUSY: ReadonlySet<number> = new Set([429, 503, 529])
const LONGEST = 600

interface Failed {
  readonly name?: unknown
  readonly message?: unknown
  readonly statusCode?: unknown
  readonly isRetryable?: unknown
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly data?: unknown
}

/** A limit with a time when it ends parks the step until then; what may pass is tried again; the rest is not. */
export function modelError(thrown: unknown, model: string): NerveError {
  if (isNerveError(thrown)) return thrown
  const failed: Failed = typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) }
  const status = typeof failed.statusCode === 'number' ? failed.statusCode : undefined
  const said = messageOf(failed, thrown)
  const shared = { model, ...(status === undefined ? {} : { status }) }
  if (status !== undefined && BUSY.has(status)) {
    const reset = resetOf(failed)
    if (reset !== undefined)
      return new NerveError('quota', `${model} takes no calls for now: ${said}`, {
        retry: 'pause',
        data: { ...shared, ...reset, fault: 'model' },
        cause: thrown,
      })
  }
  const fault: Fault = isPassing(failed, status) ? 'model' : 'request'
  const how = status === undefined ? '' : ` (status ${status})`
  return new NerveError('model-failed', `${model} did not answer${how}: ${said}`, {
    retry: fault === 'model' ? 'later' : 'never',
    data: { ...shared, fault },
    cause: thrown,
  })
}

/** True when another model might answer. */
export function isModelFault(error: unknown): boolean {
  return isNerveError(error) && error.data['fault'] === 'model'
}

/** The same, for a step that has other models to turn to: it neither waits nor tries this one again for a limit. */
export function atOnce(error: NerveError): NerveError {
  if (error.code !== 'quota') return error
  const { code, message, data, cause } = error
  return new NerveError(code, message, { retry: 'never', data, cause })
}

function isPassing({ name, isRetryable }: Failed, status: number | undefined): boolean {
  if (status !== undefined) return PASSING.has(status) || status >= 500
  if (isRetryable === true || typeof name !== 'string' || !name.startsWith('AI_')) return true
  // The AI SDK refuses some requests itself (no key, no such model), and replies that are not what was asked for.
  return name === 'AI_ToolChoiceViolationError'
}

function messageOf({ message, data }: Failed, thrown: unknown): string {
  const inner = (data as { error?: { message?: unknown } } | undefined)?.error?.message
  const said = [message, inner, (thrown as { error?: { message?: unknown } } | null)?.error?.message].find(
    (text) => typeof text === 'string' && text !== '',
  )
  const text = typeof said === 'string' ? said : (JSON.stringify(thrown) ?? String(thrown))
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

/** When the limit ends: as the headers that providers send have it, or as the error says. */
function resetOf({ responseHeaders = {}, data }: Failed): Reset | undefined {
  const headers = new Map(Object.entries(responseHeaders).map(([name, value]) => [name.toLowerCase(), value]))
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (ms >= 0) return { retryAfter: ms }
  const after = headers.get('retry-after')
  if (after !== undefined)
    return /^\s*\d+(\.\d+)?\s*$/.test(after) ? { retryAfter: Number(after) * 1_000 } : resetAt(Date.parse(after))
  const told = (data as { error?: { resets_at?: unknown } } | undefined)?.error?.resets_at
  return typeof told === 'number' ? resetAt(told * 1_000) : undefined
}

type Reset = { readonly retryAfter: number } | { readonly until: number }

function resetAt(until: number): Reset | undefined {
  return Number.isNaN(until) ? undefined : { until }
}
