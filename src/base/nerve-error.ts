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
/** Of those in one. */
const MAX_ERRORS = 5
const HEAD_LINES = 8
const FRAMES = 10

/** Of whatever was thrown, also of what throws when it is looked at: a run must be able to say that it failed. */
export function errorData(error: unknown, depth = 0): ErrorData {
  try {
    return error instanceof Error ? dataOf(error, depth) : { name: 'Error', message: describe(error) }
  } catch {
    return { name: 'Error', message: 'something was thrown that cannot be read' }
  }
}

function dataOf(error: Error, depth: number): ErrorData {
  const code = (error as { code?: unknown }).code
  const data = error instanceof NerveError ? jsonSafe(error.data) : undefined
  // Any code may have put something else there, and prepareStackTrace does.
  const { name, message, stack }: { name: unknown; message: unknown; stack?: unknown } = error
  const cause = depth >= MAX_CAUSES ? undefined : causeOf(error, depth + 1)
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: describe(message),
    ...(typeof code === 'string' ? { code } : {}),
    ...(error instanceof NerveError && error.retry !== 'never' ? { retry: error.retry } : {}),
    ...(data === undefined ? {} : { data }),
    ...(typeof stack === 'string' ? { stack: shortStack(stack) } : {}),
    ...(cause === undefined ? {} : { cause }),
  }
}

/** Several errors in one, as of `Promise.any` or a name with several addresses, are its cause when it has no other. */
function causeOf(error: Error, depth: number): ErrorData | undefined {
  if (error.cause !== undefined) return errorData(error.cause, depth)
  const { errors } = error as { errors?: unknown }
  if (!(error instanceof AggregateError) || !Array.isArray(errors)) return undefined
  const [first, ...more] = errors.slice(0, MAX_ERRORS).map((each) => errorData(each, depth))
  if (first === undefined || more.length === 0) return first
  return { name: 'Error', message: [first, ...more].map(errorText).join('; ') }
}

/** What it says, and why: the message of `fetch` alone does not tell that nobody listens there. */
export function errorText(error: ErrorData): string {
  let text = error.message
  for (let { cause } = error; cause !== undefined; cause = cause.cause)
    // Messages often hold what they were caused by.
    if (!text.includes(cause.message)) text = text === '' ? cause.message : `${text}: ${cause.message}`
  return text === '' ? (error.code ?? error.name) : text
}

/** Without where it was thrown: that differs from replay to replay, and is for whoever debugs. */
export function withoutStack({ stack: _stack, cause, ...shown }: ErrorData): ErrorData {
  return cause === undefined ? shown : { ...shown, cause: withoutStack(cause) }
}

/** Turns recorded data back into a throwable error. A recorded NerveError is one again, with its code. */
export function errorFrom(data: ErrorData): Error {
  const cause = data.cause === undefined ? undefined : errorFrom(data.cause)
  if (data.name === 'NerveError' && data.code !== undefined) {
    const error = new NerveError(data.code as ErrorCode, data.message, {
      ...(data.retry === undefined ? {} : { retry: data.retry }),
      ...(data.data === undefined ? {} : { data: data.data }),
      ...(cause === undefined ? {} : { cause }),
    })
    if (data.stack !== undefined) error.stack = data.stack
    return error
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

/** The lines that tell where it happened, also below a long message; the rest is the engine's own. */
function shortStack(stack: string): string {
  const lines = stack.split('\n')
  const first = lines.findIndex((line) => /^\s+at /.test(line))
  const head = lines.slice(0, first === -1 ? HEAD_LINES : Math.min(first, HEAD_LINES))
  return [...head, ...(first === -1 ? [] : lines.slice(first, first + FRAMES))].join('\n')
}

function jsonSafe(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  if (Object.keys(data).length === 0) return undefined
  try {
    return JSON.parse(JSON.stringify(data)) as Record<string, unknown>
  } catch {
    return undefined
  }
}
