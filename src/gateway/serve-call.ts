/** One call of a client: read, reserve, ask, answer, settle, log. In this order, and each at most once. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import { describe } from '../base/nerve-error.ts'
import type { Usage } from '../journal/events.ts'
import { estimateInput, type Answer, type Backend, type BackendCall, type CallNote } from './backend.ts'
import { ClientAnswer, type Sent } from './client-answer.ts'
import type { Client, Reservation } from './clients.ts'
import type { ModelFailure, ModelRequest, ModelUsage } from './exchange.ts'
import { COLLECTED_BODY, type ExchangeLogger, type LoggedExchange } from './exchange-log.ts'
import { CallFailed } from './failure.ts'
import { failureFrom, failureOf } from './formats/failures.ts'
import { present } from './formats/fields.ts'
import type { Format, RequestRoute } from './formats/format.ts'
import { costOf, priceOf, type Price } from './prices.ts'
import { readRequestBody, type RequestBody } from './request-body.ts'

export interface Service {
  readonly backendFor: (model: string) => Backend | undefined
  readonly prices: Readonly<Record<string, Price>>
  readonly logger: ExchangeLogger
  readonly clock: Clock
  readonly maxBody: number
  readonly assumedOutput: number
  readonly onProblem: (error: unknown) => void
}

export interface Visit {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly format: Format
  readonly route: RequestRoute
  readonly client: Client
}

/** Headers that mean something to a provider. Everything else stays here. */
const TOLD_HEADERS = /^(?:anthropic-(?:version|beta)|openai-beta|x-goog-api-client|user-agent|http-referer|x-title)$/

export async function serveCall(service: Service, visit: Visit): Promise<void> {
  const { incoming, format, route } = visit
  const call = new Call(service, visit)
  const read = await readRequestBody(incoming, service.maxBody)
  if ('failure' in read) return call.refuse(read.failure)
  let request: ModelRequest
  try {
    request = format.readRequest(read.body, route)
  } catch (error) {
    return call.refuse(failureFrom(error), read)
  }
  call.read(request, read)
  const backend = service.backendFor(request.model)
  if (backend === undefined)
    return call.refuse(failureOf('not-found', `No route of the gateway has the model '${request.model}'.`))
  if (route.operation === 'count') return call.count(backend)
  return call.run(backend)
}

class Call {
  readonly #service: Service
  readonly #visit: Visit
  readonly #at: number
  readonly #controller = new AbortController()
  #answer: ClientAnswer | undefined
  #request: ModelRequest | undefined
  #body: RequestBody | undefined
  #backend: Backend | undefined
  #note: CallNote = {}

  constructor(service: Service, visit: Visit) {
    this.#service = service
    this.#visit = visit
    this.#at = service.clock.now()
    const { response, client } = visit
    client.begin(this.#controller)
    response.once('close', () => {
      client.leave(this.#controller)
      if (!response.writableFinished) this.#controller.abort(new Error('the client left'))
    })
  }

  read(request: ModelRequest, body: RequestBody): void {
    this.#request = request
    this.#body = body
  }

  refuse(failure: ModelFailure, body?: RequestBody): void {
    const { response, format } = this.#visit
    this.#body ??= body
    const { status, headers, body: text } = format.writeFailure(failure, this.#service.clock.now())
    // What is left of a body that is too large is not waited for.
    if (failure.kind === 'too-large') response.setHeader('connection', 'close')
    response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(text))
    this.#log({ status, failure })
  }

  async count(backend: Backend): Promise<void> {
    const { response, format } = this.#visit
    const request = this.#request as ModelRequest
    const counted = await backend.countTokens?.(request, this.#context()).catch(() => undefined)
    const body = format.counting?.writeCount(counted ?? estimateInput(request))
    if (body === undefined) return this.refuse(failureOf('not-found', 'This format has no count of tokens.'))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  async run(backend: Backend): Promise<void> {
    const { client, format, response } = this.#visit
    const { clock, onProblem } = this.#service
    this.#backend = backend
    const request = this.#request as ModelRequest
    let reservation: Reservation
    try {
      reservation = client.reserve(this.#wanted(request))
    } catch (error) {
      return this.refuse(failureOf('budget', error instanceof Error ? error.message : describe(error)))
    }
    reservation.spend({ calls: 1 })
    const onUsage = (used: ModelUsage): void => reservation.spend(this.#charge(used, request))
    const answer = new ClientAnswer(response, { format, request, now: () => clock.now(), onUsage })
    this.#answer = answer
    let sent: Sent | undefined
    try {
      sent = await answer.send(await this.#ask(backend, request))
    } catch (error) {
      sent = this.#brokenOff(error, onProblem)
    }
    const { usage, estimated } = this.#usage(request, sent)
    if (usage !== undefined) onUsage(usage)
    reservation.end()
    this.#log({
      status: response.statusCode,
      ...(sent.failure === undefined ? {} : { failure: sent.failure }),
      ...(usage === undefined ? {} : { usage, usd: this.#cost(usage, request), ...(estimated ? { estimated } : {}) }),
    })
  }

  async #ask(backend: Backend, request: ModelRequest): Promise<Answer> {
    try {
      return await backend.answer(request, this.#context())
    } catch (error) {
      if (this.#controller.signal.aborted) throw error
      this.#service.onProblem(error)
      return { type: 'failed', failure: failureFrom(error) }
    }
  }

  #context(): BackendCall {
    const { format, client, incoming } = this.#visit
    const { bytes, body } = this.#body as RequestBody
    const headers = Object.entries(incoming.headers).filter(
      ([name, value]) => TOLD_HEADERS.test(name) && typeof value === 'string',
    )
    return {
      signal: this.#controller.signal,
      format: format.name,
      raw: { bytes, body, headers: Object.fromEntries(headers) as Record<string, string> },
      client: client.id,
      note: (more) => void (this.#note = { ...this.#note, ...more }),
    }
  }

  /** The client has left, or the answer ended before its end: whoever still listens must not take it for a whole one. */
  #brokenOff(error: unknown, onProblem: (error: unknown) => void): Sent {
    const { response } = this.#visit
    const answer = this.#answer as ClientAnswer
    if (this.#controller.signal.aborted) {
      response.destroy()
      return answer.sent
    }
    const known = error instanceof CallFailed
    if (!known) onProblem(error)
    const failure = known ? error.failure : failureFrom(error)
    if (!answer.begun) return answer.fail(failure)
    response.destroy()
    return { ...answer.sent, failure }
  }

  #wanted(request: ModelRequest): Usage {
    return this.#charge(
      { input: estimateInput(request), output: request.maxTokens ?? this.#service.assumedOutput },
      request,
    )
  }

  #charge(usage: ModelUsage, request: ModelRequest): Usage {
    const usd = this.#cost(usage, request)
    return { calls: 1, tokens: usage.input + usage.output, ...(usd === null ? {} : { usd }) }
  }

  /** What was used: as the provider says, else as far as it can be counted here. Nothing when no reply began. */
  #usage(request: ModelRequest, { usage, pieces, failure }: Sent): { usage?: ModelUsage; estimated: boolean } {
    const whole = this.#visit.response.writableFinished || this.#visit.response.writableEnded
    if (usage !== undefined && usage.unknown !== true && whole) return { usage, estimated: false }
    const known = usage?.unknown === true ? undefined : usage
    const begun = known !== undefined || pieces > 0 || (failure === undefined && whole)
    if (!begun) return { estimated: false }
    const input = known?.input ?? estimateInput(request)
    return { usage: { ...known, input, output: Math.max(known?.output ?? 0, pieces) }, estimated: true }
  }

  #cost(usage: ModelUsage, { model }: ModelRequest): number | null {
    const asked = this.#note.model ?? this.#backend?.modelFor?.(model) ?? model
    return costOf(usage, priceOf(asked, this.#service.prices))
  }

  #log(more: {
    status: number
    failure?: ModelFailure
    usage?: ModelUsage
    usd?: number | null
    estimated?: true
  }): void {
    const { clock, logger } = this.#service
    const { client, format, response } = this.#visit
    const { failure, ...rest } = more
    const now = clock.now()
    const aborted = this.#controller.signal.aborted && !response.writableFinished
    const head = {
      id: newId(this.#at),
      at: this.#at,
      durationMs: now - this.#at,
      format: format.name,
      client: client.id,
      ...present({ run: client.run, path: client.path, backend: this.#backend?.name, tries: this.#note.tries }),
      ...present({ model: this.#request?.model, stream: this.#request?.stream, askedModel: this.#note.model }),
      ...(this.#answer?.firstByteAt === undefined ? {} : { firstByteMs: this.#answer.firstByteAt - this.#at }),
      ...(failure === undefined ? {} : { failure: { kind: failure.kind, message: failure.message } }),
      ...(aborted ? { aborted } : {}),
      ...rest,
    } satisfies LoggedExchange
    const request = this.#body?.bytes.subarray(0, COLLECTED_BODY)
    const answer = this.#answer
    logger.add(() => ({ ...head, ...present({ request: request?.toString(), reply: answer?.body }) }))
  }
}
