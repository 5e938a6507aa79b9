/**
 * A provider of models on the network. What is already in a format that it speaks goes through as it is, bytes for bytes; the rest is
 * translated. It is asked again only while the client has not had a byte of the answer.
 */
import { backoffDelay } from '../../engine/policy.ts'
import type { Answer, Backend, BackendCall } from '../backend.ts'
import type { ModelFailure, ModelRequest, ReplyEvent } from '../exchange.ts'
import { CallFailed, mayPass } from '../failure.ts'
import { failureFrom } from '../formats/failures.ts'
import { parseJson } from '../formats/fields.ts'
import { FORMATS } from '../formats/formats.ts'
import { sseParser } from '../formats/sse.ts'
import type { Format } from '../formats/format.ts'
import { pause } from '../pause.ts'
import { Breaker } from './breaker.ts'
import type { Endpoint, PresetName } from './presets.ts'
import { providerSettings, type ProviderOptions, type ProviderSettings } from './provider-options.ts'
import { outgoing, type Outgoing } from './outgoing.ts'
import { upstream, type Upstream, type UpstreamAnswer } from './upstream.ts'

const BACKOFF = { initial: 500, max: 8_000 } as const
/** Failures are short; what is longer is no failure of a model. */
const MOST_OF_A_FAILURE = 1_048_576
/** What a client may want to know of the provider's answer. */
const PASSED_HEADERS =
  /^(?:content-type|retry-after(?:-ms)?|x-should-retry|request-id|x-request-id|(?:anthropic|x)-ratelimit-.*|openai-.*)$/

/** A provider by its name, or any that speaks one of the formats, by its `url`. */
export function provider(name: PresetName | (string & {}), options: ProviderOptions = {}): Backend {
  const settings = providerSettings(name, options)
  const shared: Shared = { name, settings, upstream: upstream(), breakers: new Map() }
  const [first] = settings.endpoints
  if (first === undefined) throw new Error('a provider without an endpoint')
  const endpointFor = (call: BackendCall): Endpoint =>
    settings.endpoints.find(({ format }) => format === call.format) ?? first
  return {
    name,
    ...(settings.model === undefined ? {} : { models: [settings.model] }),
    modelFor: (model) => settings.model ?? model,
    answer: (request, call) => ask(shared, { endpoint: endpointFor(call), request, call }),
    countTokens: (request, call) => count(shared, { endpoint: endpointFor(call), request, call }),
  }
}

interface Shared {
  readonly name: string
  readonly settings: ProviderSettings
  readonly upstream: Upstream
  /** One for each model: a limit of one says nothing about another. */
  readonly breakers: Map<string, Breaker>
}

interface Asking {
  readonly endpoint: Endpoint
  readonly request: ModelRequest
  readonly call: BackendCall
}

async function ask(shared: Shared, asking: Asking): Promise<Answer> {
  const { settings, breakers } = shared
  const { clock } = settings
  const { request, call } = asking
  const model = settings.model ?? request.model
  const breaker = breakers.get(model) ?? new Breaker(settings.breaker)
  breakers.set(model, breaker)
  let sending: Outgoing
  try {
    sending = outgoing(settings, asking.endpoint, { ...request, model }, call)
  } catch (error) {
    return { type: 'failed', failure: failureFrom(error) }
  }
  for (let tries = 1; ; tries += 1) {
    const refused = breaker.refuse(clock.now())
    if (refused !== undefined) return { type: 'failed', failure: refused }
    call.note({ model, tries })
    let tried: Tried
    try {
      tried = await attempt(shared, asking, sending)
    } catch (error) {
      breaker.left()
      throw error
    }
    const { failure } = tried
    if (failure === undefined) breaker.passed()
    else breaker.failed(failure, clock.now())
    if (failure === undefined || tries > settings.retries) return tried.answer
    const wait = waitBefore(failure, tries, settings)
    if (wait === undefined) return tried.answer
    await pause(wait, clock, call.signal)
  }
}

/** How long to wait before the next try; undefined when there should be none. */
function waitBefore(failure: ModelFailure, tries: number, settings: ProviderSettings): number | undefined {
  if (!mayPass(failure)) return undefined
  const { clock, longestWait, random } = settings
  const told = failure.retryAt === undefined ? 0 : failure.retryAt - clock.now()
  if (told > longestWait) return undefined
  return Math.max(told, backoffDelay(BACKOFF, tries, random))
}

interface Tried {
  readonly answer: Answer
  readonly failure?: ModelFailure
}

async function attempt(shared: Shared, asking: Asking, sending: Outgoing): Promise<Tried> {
  const { request, call, endpoint } = asking
  const { settings, upstream: to } = shared
  const { timeouts, clock } = settings
  const format = FORMATS[endpoint.format]
  let answer: UpstreamAnswer
  try {
    answer = await to.send({ ...sending, signal: call.signal, timeouts, clock })
    if (answer.status >= 400) return await failed(answer, { format, sending, settings })
    if (sending.passes) return { answer: passed(answer, sending) }
    if (isStream(answer)) return { answer: { type: 'events', events: translated(answer, format, asking) } }
    return { answer: { type: 'reply', reply: format.readReply(await jsonOf(answer), request) } }
  } catch (error) {
    if (call.signal.aborted) throw error
    const failure = error instanceof CallFailed ? error.failure : unreadable(error)
    return { answer: { type: 'failed', failure }, failure }
  }
}

function passed(answer: UpstreamAnswer, { hideUsage }: Outgoing): Answer {
  const { status, headers, body } = answer
  const stream = isStream(answer)
  const length = headers['content-length']
  const all = { ...passedHeaders(headers), ...(stream || length === undefined ? {} : { 'content-length': length }) }
  return { type: 'bytes', status, headers: all, stream, body, ...(hideUsage && stream ? { hideUsage } : {}) }
}

function passedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => PASSED_HEADERS.test(name)))
}

function isStream({ headers }: UpstreamAnswer): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '')
}

interface Failing {
  readonly format: Format
  readonly sending: Outgoing
  readonly settings: ProviderSettings
}

/** Some providers repeat the key in the message that it is wrong. */
async function failed(answer: UpstreamAnswer, { format, sending, settings }: Failing): Promise<Tried> {
  const { key, clock } = settings
  const { status, headers } = answer
  const said = (await textOf(answer, MOST_OF_A_FAILURE)).replaceAll(key ?? '\0', '[redacted]')
  const failure = format.readFailure({ status, headers, body: parsed(said), now: clock.now() })
  if (!sending.passes) return { failure, answer: { type: 'failed', failure } }
  const body = (async function* () {
    yield Buffer.from(said)
  })()
  return { failure, answer: { type: 'bytes', status, headers: passedHeaders(headers), stream: false, body, failure } }
}

/** Written out: each generator around another one is paid for with each token. */
async function* translated(
  answer: UpstreamAnswer,
  format: Format,
  { request, call: { signal } }: Asking,
): AsyncGenerator<ReplyEvent, void> {
  const parser = sseParser()
  const reader = format.readStream(request)
  try {
    for await (const bytes of answer.body)
      for (const frame of parser.push(bytes)) for (const event of reader.push(frame)) yield event
    for (const frame of parser.end()) for (const event of reader.push(frame)) yield event
    for (const event of reader.end()) yield event
  } catch (error) {
    if (signal.aborted) throw error
    yield { type: 'failed', failure: error instanceof CallFailed ? error.failure : unreadable(error) }
  }
}

async function count(shared: Shared, { endpoint, request, call }: Asking): Promise<number | undefined> {
  const { settings, upstream: to } = shared
  const { counting } = FORMATS[endpoint.format]
  if (counting === undefined) return undefined
  const model = settings.model ?? request.model
  const sending = outgoing(settings, endpoint, { ...request, model }, call, (one) => counting.writeRequest(one))
  const answer = await to.send({ ...sending, signal: call.signal, timeouts: settings.timeouts, clock: settings.clock })
  const body = await jsonOf(answer)
  return answer.status >= 400 ? undefined : counting.readCount(body)
}

async function textOf({ body }: UpstreamAnswer, most: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    pieces.push(piece)
    length += piece.length
    if (length > most) break
  }
  return Buffer.concat(pieces).toString()
}

/** No reply of a model is larger. */
const MOST_OF_A_REPLY = 64 * 1_048_576

async function jsonOf(answer: UpstreamAnswer): Promise<unknown> {
  return parsed(await textOf(answer, MOST_OF_A_REPLY))
}

function parsed(text: string): unknown {
  return parseJson(text) ?? text
}

function unreadable(error: unknown): ModelFailure {
  const why = error instanceof Error ? error.message : String(error)
  return { kind: 'server', status: 502, message: `The reply of the provider cannot be read: ${why}` }
}
