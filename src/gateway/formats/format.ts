/**
 * What a wire format is: pure functions between the JSON of a provider and the neutral exchange. No I/O, no clock: the
 * time arrives as an argument. A reader throws `bad-input` that names the field; a writer does when the exchange says
 * what its format cannot.
 */
import type { ModelFailure, ModelReply, ModelRequest, ReplyEvent, WireFormat } from '../exchange.ts'
import type { SseFrame } from './sse.ts'

export interface Format {
  readonly name: WireFormat
  readRequest(body: unknown, route: RequestRoute): ModelRequest
  writeRequest(request: ModelRequest): OutgoingRequest
  readReply(body: unknown, request: ModelRequest): ModelReply
  writeReply(reply: ModelReply, request: ModelRequest): unknown
  readStream(request: ModelRequest): StreamReader
  writeStream(request: ModelRequest): StreamWriter
  readFailure(answer: FailedAnswer): ModelFailure
  writeFailure(failure: ModelFailure, now: number): FailureAnswer
  /** How many tokens a request has. Undefined: the format has no such call. */
  readonly counting?: Counting
  writeModel(model: ListedModel): unknown
  writeModels(models: readonly ListedModel[]): unknown
}

/** What the address says of a request; see `routeOf`. */
export interface RequestRoute {
  readonly operation: 'call' | 'stream' | 'count'
  /** The model, where the path names it. */
  readonly model?: string
}

export interface OutgoingRequest {
  /** What follows the base address, which is the one that the provider's own client takes (OpenAI's ends with `/v1`). */
  readonly path: string
  readonly body: unknown
}

/** Turns frames into events, one after the other. After `end` nothing more is asked. */
export interface StreamReader {
  push(frame: SseFrame): readonly ReplyEvent[]
  /** The stream has ended: what is still open, and a failure if it ended too early. */
  end(): readonly ReplyEvent[]
}

/** The text to send for an event, often none. What follows the event that ends the reply is in its text. */
export type StreamWriter = (event: ReplyEvent) => string

export interface FailedAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Parsed JSON, or the text if it is not JSON. */
  readonly body: unknown
  readonly now: number
}

export interface FailureAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface Counting {
  writeRequest(request: ModelRequest): OutgoingRequest
  readCount(body: unknown): number
  writeCount(tokens: number): unknown
}

export interface ListedModel {
  readonly id: string
  /** In milliseconds since 1970. */
  readonly createdAt?: number
  /** The most tokens it reads. */
  readonly window?: number
}
