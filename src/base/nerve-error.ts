/**
 * The one error class. The code is closed, every code has a line in docs/errors.md, and `retry` tells the engine what
 * to do with it: `never` (a retry cannot help), `later` (try again), `pause` (wait for `data.until` or for a person).
 */
export type ErrorCode =
  | 'agent-failed'
  | 'bad-definition'
  | 'bad-duration'
  | 'bad-expression'
  | 'bad-file'
  | 'bad-input'
  | 'bad-label'
  | 'bad-option'
  | 'bad-output'
  | 'bad-value'
  | 'already-answered'
  | 'answer-rejected'
  | 'answer-unclear'
  | 'blocked'
  | 'budget-exhausted'
  | 'cancelled'
  | 'command-failed'
  | 'connection-lost'
  | 'deadline-passed'
  | 'definition-missing'
  | 'diverged'
  | 'host-closed'
  | 'http-failed'
  | 'interrupted'
  | 'label-reused'
  | 'limit-reached'
  | 'model-failed'
  | 'mcp-failed'
  | 'nested-call'
  | 'not-allowed'
  | 'not-found'
  | 'not-ready'
  | 'not-trusted'
  | 'nothing-runs'
  | 'owned-elsewhere'
  | 'ownership-lost'
  | 'package-missing'
  | 'pane-failed'
  | 'quota'
  | 'run-ended'
  | 'run-failed'
  | 'sandbox-missing'
  | 'skipped'
  | 'store-corrupt'
  | 'store-failed'
  | 'store-newer'
  | 'terminal-ended'
  | 'timeout'
  | 'unknown-node'
  | 'writer-taken'

export type RetryHint = 'never' | 'later' | 'pause'

export interface NerveErrorOptions {
  readonly retry?: RetryHint
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

export class NerveError extends Error {
  override readonly name = 'NerveError'
  readonly code: ErrorCode
  readonly retry: RetryHint
  readonly data: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: NerveErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retry = options.retry ?? 'never'
    this.data = options.data ?? {}
  }
}

/** An error as data: what a journal keeps of it, and what a replay throws again. */
export interface ErrorData {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly retry?: RetryHint
  readonly data?: Readonly<Record<string, unknown>>
  readonly stack?: string
  readonly cause?: ErrorData
}

const MAX_CAUSES = 4
const STACK_LINES = 8

export function errorData(error: unknown, depth = 0): ErrorData {
  if (!(error instanceof Error)) return { name: 'Error', message: typeof error === 'string' ? error : describe(error) }
  const code = (error as { code?: unknown }).code
  const data = error instanceof NerveError ? jsonSafe(error.data) : undefined
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(error instanceof NerveError && error.retry !== 'never' ? { retry: error.retry } : {}),
    ...(data === undefined ? {} : { data }),
    ...(error.stack === undefined || error instanceof NerveError ? {} : { stack: shortStack(error.stack) }),
    ...(error.cause === undefined || depth >= MAX_CAUSES ? {} : { cause: errorData(error.cause, depth + 1) }),
  }
}

/** Without where it was thrown: that differs from replay to replay, and is for whoever debugs. */
export function withoutStack({ stack: _stack, cause, ...shown }: ErrorData): ErrorData {
  return cause === undefined ? shown : { ...shown, cause: withoutStack(cause) }
}

/** Turns recorded data back into a throwable error. A recorded NerveError is one again, with its code. */
export function errorFrom(data: ErrorData): Error {
  const cause = data.cause === undefined ? undefined : errorFrom(data.cause)
  if (data.name === 'NerveError' && data.code !== undefined) {
    return new NerveError(data.code as ErrorCode, data.message, {
      ...(data.retry === undefined ? {} : { retry: data.retry }),
      ...(data.data === undefined ? {} : { data: data.data }),
      ...(cause === undefined ? {} : { cause }),
    })
  }
  const error = new Error(data.message, cause === undefined ? undefined : { cause })
  error.name = data.name
  if (data.stack !== undefined) error.stack = data.stack
  if (data.code !== undefined) Object.assign(error, { code: data.code })
  return error
}

export function isNerveError(error: unknown, code?: ErrorCode): error is NerveError {
  return error instanceof NerveError && (code === undefined || error.code === code)
}

export function assertNever(value: never, what: string): never {
  throw new Error(`unexpected ${what}: ${describe(value)}`)
}

export function describe(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return String(value)
  }
}

/** The lines that tell where it happened; the rest is the engine's own. */
function shortStack(stack: string): string {
  return stack.split('\n').slice(0, STACK_LINES).join('\n')
}

function jsonSafe(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  if (Object.keys(data).length === 0) return undefined
  try {
    return JSON.parse(JSON.stringify(data)) as Record<string, unknown>
  } catch {
    return undefined
  }
}
