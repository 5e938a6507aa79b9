/** Requests as nodes. What is sent to authorize them appears in no result, no error and no journal. */
import { checkKnown } from '../base/check-known.ts'
import { systemClock } from '../base/clock.ts'
import { milliseconds, type Duration } from '../base/duration.ts'
import { NerveError, type RetryHint } from '../base/nerve-error.ts'
import { parseWith, type Schema } from '../base/schema.ts'
import type { Node } from '../engine/definition.ts'
import type { Effect } from '../journal/events.ts'
import { forkable, wholeNumber, type Execution } from './forkable.ts'
import { parseBody, readBody, retryAfter, type ParseAs, type Reading } from './http-response.ts'

export interface HttpOptions<Input = unknown, Body = unknown> {
  readonly description?: string
  /** Where to, or what makes it of the input. Without it, the input is the address. */
  readonly url?: string | ((input: Input) => string)
  /** Default GET. */
  readonly method?: string
  /** What is sent, or what makes it of the input. */
  readonly headers?: Readonly<Record<string, string>> | ((input: Input) => Readonly<Record<string, string>>)
  /** Text and bytes are sent as they are, everything else as JSON. A function makes it of the input. */
  readonly body?: unknown
  /** Checks (and may convert) the body of the answer. */
  readonly schema?: Schema<Body>
  /** How the body is read (default `auto`: as JSON when the server says that it is, else as text). */
  readonly parse?: ParseAs
  /** For each request, with its answer (default 30s). */
  readonly timeout?: Duration
  /** The largest body that is read, unpacked (default 10 MiB). */
  readonly maxBytes?: number
  /** What is a success (default 200 to 299). */
  readonly okStatus?: readonly number[] | ((status: number) => boolean)
  readonly redirect?: 'follow' | 'error' | 'manual'
  /** What may happen to a request in flight at a crash (default `once` for POST and PATCH, else `repeatable`). */
  readonly effect?: Effect
}

export interface HttpResult<Body = unknown> {
  readonly status: number
  /** By their names in small letters. Cookies are left out: they are as good as a password. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

const OPTIONS: readonly (keyof HttpOptions)[] = [
  'description',
  'url',
  'method',
  'headers',
  'body',
  'schema',
  'parse',
  'timeout',
  'maxBytes',
  'okStatus',
  'redirect',
  'effect',
]

const LARGEST_BODY = 10 * 1024 * 1024
const SHOWN_BODY = 2_000

/**
 * A node that makes one HTTP request.
 *
 * ```ts
 * import { http } from 'nerve/nodes'
 *
 * const issues = http('issues', { url: 'https://api.example.com/issues', timeout: '10s' })
 * ```
 */
export function http<Body = unknown>(
  id: string,
  options?: HttpOptions<string, Body> & { readonly url?: undefined },
): Node<string, HttpResult<Body>>
export function http<Input = unknown, Body = unknown>(
  id: string,
  options: HttpOptions<Input, Body> & { readonly url: string | ((input: Input) => string) },
): Node<Input, HttpResult<Body>>
export function http<Input, Body>(id: string, options: HttpOptions<Input, Body> = {}): Node<Input, HttpResult<Body>> {
  check(`http '${id}'`, options as HttpOptions)
  const method = methodOf(options)
  const { description, effect = isCreating(method) ? 'once' : 'repeatable' } = options
  return forkable<Input, HttpResult<Body>>(id, {
    kind: 'http',
    description,
    policy: { effect, recordInput: true },
    execute: (input, execution) => execute(options, input, execution),
  })
}

function methodOf({ method = 'GET' }: Pick<HttpOptions, 'method'>): string {
  return method.toUpperCase()
}

/** A second one of these does something a second time. */
function isCreating(method: string): boolean {
  return method === 'POST' || method === 'PATCH'
}

const PARSERS: readonly ParseAs[] = ['auto', 'json', 'text', 'bytes']

function check(what: string, options: HttpOptions): void {
  checkKnown(what, options, OPTIONS)
  const { method, timeout, maxBytes, okStatus, parse, url, headers } = options
  const wrong = (text: string): never => {
    throw new NerveError('bad-option', `${what}: ${text}`)
  }
  if (method !== undefined && (typeof method !== 'string' || !/^[A-Za-z]+$/.test(method)))
    wrong(`method is ${JSON.stringify(method)}; give GET, POST, PUT, PATCH, DELETE or another.`)
  if (url !== undefined && typeof url !== 'string' && typeof url !== 'function')
    wrong('url must be text, or a function that makes it of the input.')
  if (headers !== undefined && typeof headers !== 'function' && !isFields(headers))
    wrong('headers must be an object of names and values, or a function that makes one of the input.')
  if (options.body !== undefined && ['GET', 'HEAD'].includes(methodOf(options)))
    wrong(`a ${methodOf(options)} has no body: give another method.`)
  if (timeout !== undefined) milliseconds(timeout, `${what}: timeout`)
  wholeNumber(`${what}: maxBytes`, maxBytes, 0)
  if (parse !== undefined && !PARSERS.includes(parse))
    wrong(`parse is ${JSON.stringify(parse)}; give ${PARSERS.join(', ')}.`)
  if (okStatus !== undefined && !Array.isArray(okStatus) && typeof okStatus !== 'function')
    wrong('okStatus must be a list of status codes, or a function that judges one.')
}

function isFields(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function execute<Input, Body>(
  options: HttpOptions<Input, Body>,
  input: Input,
  { id, call, signal }: Execution,
): Promise<HttpResult<Body>> {
  const what = `http '${id}'`
  const url = urlOf(what, options, input)
  const headers = headersOf(what, options, input)
  authorize(url, headers)
  const method = methodOf(options)
  const body = bodyOf(options, input, headers)
  if (isCreating(method) && !headers.has('idempotency-key'))
    headers.set('idempotency-key', encodeURIComponent(call.key))
  const limit = milliseconds(options.timeout ?? '30s')
  const late = new AbortController()
  const from = `${method} ${url.origin}${url.pathname}`
  const disarm = systemClock.at(Date.now() + limit, () => late.abort(tooLate(from, limit)))
  const stop = AbortSignal.any([signal, late.signal])
  const reading: Reading = { maxBytes: options.maxBytes ?? LARGEST_BODY, parse: options.parse ?? 'auto', from }
  try {
    const { redirect = 'follow' } = options
    const response = await fetch(url, {
      method,
      headers,
      redirect,
      signal: stop,
      ...(body === undefined ? {} : { body }),
    })
    const bytes = await readBody(response, reading)
    if (!isOk(options, response.status)) throw refused({ response, bytes, from, secrets: secretsIn(headers, url) })
    const parsed = parseBody(bytes, response.headers.get('content-type') ?? '', reading)
    const checked =
      options.schema === undefined
        ? (parsed as Body)
        : await parseWith(options.schema, parsed, { code: 'bad-output', what: `The answer to ${what}` })
    return { status: response.status, headers: shownHeaders(response.headers), body: checked }
  } catch (error) {
    if (stop.aborted) throw stop.reason
    throw error instanceof NerveError ? error : unreachable(from, error)
  } finally {
    disarm()
  }
}

function urlOf<Input, Body>(what: string, { url }: HttpOptions<Input, Body>, input: Input): URL {
  const given: unknown = typeof url === 'function' ? url(input) : (url ?? input)
  const made = typeof given === 'string' ? URL.parse(given) : null
  if (made !== null && (made.protocol === 'http:' || made.protocol === 'https:')) return made
  // What cannot be read as an address is not shown: it may hold a password.
  throw new NerveError(
    'bad-input',
    `${what} has no address that begins with http:// or https://. Give it as the option url, or as the input of the step.`,
  )
}

function headersOf<Input, Body>(what: string, { headers = {} }: HttpOptions<Input, Body>, input: Input): Headers {
  const given = typeof headers === 'function' ? headers(input) : headers
  const made = new Headers()
  for (const [name, value] of Object.entries(given)) {
    try {
      made.set(name, value)
    } catch {
      // The reason that is given there has the value in it.
      throw new NerveError(
        'bad-input',
        `${what}: the header ${JSON.stringify(name)} has a name or a value that cannot be sent.`,
      )
    }
  }
  return made
}

/** `fetch` refuses a name and a password in the address; they mean this header. */
function authorize(url: URL, headers: Headers): void {
  if (url.username === '' && url.password === '') return
  const pair = [url.username, url.password].map(decodeURIComponent).join(':')
  if (!headers.has('authorization')) headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
  url.username = ''
  url.password = ''
}

function bodyOf<Input, Body>(
  { body }: HttpOptions<Input, Body>,
  input: Input,
  headers: Headers,
): string | Uint8Array<ArrayBuffer> | undefined {
  const made: unknown = typeof body === 'function' ? (body as (input: Input) => unknown)(input) : body
  if (made === undefined || typeof made === 'string') return made
  if (made instanceof Uint8Array) return new Uint8Array(made)
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  return JSON.stringify(made)
}

function isOk({ okStatus }: Pick<HttpOptions, 'okStatus'>, status: number): boolean {
  if (okStatus === undefined) return status >= 200 && status < 300
  return typeof okStatus === 'function' ? okStatus(status) : okStatus.includes(status)
}

function shownHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== 'set-cookie'))
}

interface Refusal {
  readonly response: Response
  readonly bytes: Uint8Array
  readonly from: string
  readonly secrets: readonly string[]
}

/** A status that is no success. One that says when to come back parks the step until then. */
function refused({ response, bytes, from, secrets }: Refusal): NerveError {
  const { status } = response
  const body = redacted(new TextDecoder().decode(bytes.subarray(0, 4 * SHOWN_BODY)), secrets).slice(0, SHOWN_BODY)
  const wait =
    status === 429 || status === 503 ? retryAfter(response.headers.get('retry-after'), Date.now()) : undefined
  if (wait !== undefined)
    return new NerveError('quota', `${from} answered ${status}: it can be asked again in ${wait} ms.`, {
      retry: 'pause',
      data: { status, retryAfter: wait, body },
    })
  const retry: RetryHint = status >= 500 || [408, 425, 429].includes(status) ? 'later' : 'never'
  return new NerveError('http-failed', `${from} answered ${status}. data.body has what it said.`, {
    retry,
    data: { reason: 'status', status, body },
  })
}

const SECRET = /authorization|cookie|token|secret|password|api-?key/i
const SHORTEST_SECRET = 4

/** What was sent that others must not see: servers like to repeat what they were sent. */
function secretsIn(headers: Headers, url: URL): string[] {
  const sent = [...headers].flatMap(([name, value]) => (SECRET.test(name) ? [value, ...value.split(/[\s;,=]+/)] : []))
  const asked = [...url.searchParams].flatMap(([name, value]) => (SECRET.test(name) ? [value] : []))
  return [...sent, ...asked].filter((text) => text.length >= SHORTEST_SECRET).toSorted((a, b) => b.length - a.length)
}

function redacted(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text)
}

function unreachable(from: string, cause: unknown): NerveError {
  const inner = (cause as { cause?: { code?: unknown; message?: unknown } }).cause
  const why = [inner?.code, inner?.message, (cause as Error).message].find(
    (text) => typeof text === 'string' && text !== '',
  )
  return new NerveError('http-failed', `${from} gave no answer: ${String(why)}.`, {
    cause,
    retry: 'later',
    data: { reason: 'network' },
  })
}

function tooLate(from: string, limit: number): NerveError {
  return new NerveError('timeout', `${from} was not done within ${limit} ms.`, {
    retry: 'later',
    data: { reason: 'timeout' },
  })
}
