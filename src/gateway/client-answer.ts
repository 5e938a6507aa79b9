/**
 * Writes an answer to a client in the client's own format. It never holds more than the client has room for: a slow client slows the
 * back end down, and one that leaves ends it.
 */
import type { ServerResponse } from 'node:http'
import type { Answer, BytesAnswer } from './backend.ts'
import type { ModelFailure, ModelReply, ModelRequest, ModelUsage, ReplyEvent } from './exchange.ts'
import { COLLECTED_BODY } from './exchange-log.ts'
import type { Format } from './formats/format.ts'
import { collectReply, eventsOfReply } from './formats/reply-events.ts'
import { inPieces } from './pieces.ts'
import { readBytes } from './read-bytes.ts'
import { streamTap, wholeTap } from './usage-tap.ts'

/** What became of an answer. */
export interface Sent {
  readonly usage?: ModelUsage
  /** How many pieces of a stream were sent: about the tokens of the reply, when nobody counts them. */
  readonly pieces: number
  readonly failure?: ModelFailure
}

export interface AnswerOptions {
  readonly format: Format
  readonly request: ModelRequest
  readonly now: () => number
  /** Told what is used as soon as it is known, before the client can know it: who has its answer may be gone at once. */
  readonly onUsage: (usage: ModelUsage) => void
}

/** Small pieces that come at once are sent at once, up to so many characters. */
const MOST_AT_ONCE = 16_384

export class ClientAnswer {
  readonly #response: ServerResponse
  readonly #options: AnswerOptions
  readonly #collected: Uint8Array[] = []
  #collectedBytes = 0
  #pending = ''
  #flush: NodeJS.Immediate | undefined
  #stream = false
  /** As far as it has come, also when sending was broken off. */
  #sent: { usage: ModelUsage | undefined; pieces: number } = { usage: undefined, pieces: 0 }
  firstByteAt: number | undefined

  constructor(response: ServerResponse, options: AnswerOptions) {
    this.#response = response
    this.#options = options
  }

  /** What was sent before it was broken off. */
  get sent(): Sent {
    const { usage, pieces } = this.#sent
    return { pieces, ...(usage === undefined ? {} : { usage }) }
  }

  /** True when the client has had something that cannot be taken back. */
  get begun(): boolean {
    return this.#response.headersSent
  }

  async send(answer: Answer): Promise<Sent> {
    switch (answer.type) {
      case 'failed':
        return this.fail(answer.failure)
      case 'bytes':
        return this.#sendBytes(answer)
      case 'reply':
        if (this.#options.request.stream) return this.#sendEvents(asStream(answer.reply))
        return this.#sendReply(answer.reply)
      case 'events': {
        if (this.#options.request.stream) return this.#sendEvents(answer.events)
        const collected = await collectReply(answer.events)
        return collected.type === 'failed' ? this.fail(collected.failure) : this.#sendReply(collected.reply)
      }
    }
  }

  fail(failure: ModelFailure): Sent {
    const { status, headers, body } = this.#options.format.writeFailure(failure, this.#options.now())
    this.#json(status, body, headers)
    return { failure, pieces: 0 }
  }

  /** What the client got, for the log: the parts of a stream put together, so that a secret in pieces is found. */
  get body(): unknown {
    const bytes = Buffer.concat(this.#collected)
    const { format, request } = this.#options
    if (this.#stream) {
      try {
        const read = readBytes(bytes, { format, request, stream: true, broken: true })
        if (read.type === 'reply') return read.reply.parts
      } catch {
        // A format that this one only passes on may hold what its reader does not know: the bytes themselves will do.
      }
    }
    return bytes.toString()
  }

  #sendReply(reply: ModelReply): Sent {
    this.#used(reply.usage)
    this.#json(200, this.#options.format.writeReply(reply, this.#options.request))
    return { usage: reply.usage, pieces: 0 }
  }

  #json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    const bytes = Buffer.from(JSON.stringify(body))
    this.#begin(status, { ...headers, 'content-type': 'application/json', 'content-length': String(bytes.length) })
    this.#collect(bytes)
    this.#response.end(bytes)
  }

  async #sendEvents(events: AsyncIterable<ReplyEvent>): Promise<Sent> {
    const { format, request } = this.#options
    const write = format.writeStream(request)
    let failure: ModelFailure | undefined
    for await (const event of events) {
      if (event.type === 'failed') failure = event.failure
      if (failure !== undefined && !this.#stream) return this.fail(failure)
      this.#note(event)
      if (!this.#stream) this.#begin(200, STREAM)
      this.#stream = true
      const room = this.#write(write(event))
      if (room !== undefined) await room
      if (failure !== undefined) break
    }
    await this.#flushed()
    this.#response.end()
    return { ...this.sent, ...(failure === undefined ? {} : { failure }) }
  }

  #note(event: ReplyEvent): void {
    if (event.type === 'text' || event.type === 'thinking' || event.type === 'input') this.#sent.pieces += 1
    else if (event.type === 'start' || event.type === 'end') this.#used(event.usage)
  }

  #used(usage: ModelUsage | undefined): void {
    if (usage === undefined || usage === this.#sent.usage) return
    this.#sent.usage = usage
    if (usage.unknown !== true) this.#options.onUsage(usage)
  }

  async #sendBytes({ status, headers, body, stream, failure, hideUsage }: BytesAnswer): Promise<Sent> {
    const tap = stream ? streamTap(this.#options.format.name, hideUsage) : wholeTap(this.#options.format.name)
    this.#stream = stream
    const take = async (bytes: Uint8Array): Promise<void> => {
      this.#collect(bytes)
      if (bytes.length > 0 && !this.#response.write(bytes)) await this.#drained()
    }
    for await (const bytes of body) {
      if (this.firstByteAt === undefined) this.#begin(status, headers)
      const shown = tap.take(bytes)
      this.#used(tap.usage)
      this.#sent.pieces = tap.frames
      await take(shown)
    }
    if (this.firstByteAt === undefined) this.#begin(status, headers)
    const rest = tap.end()
    this.#used(tap.usage)
    await take(rest)
    this.#response.end()
    return { ...this.sent, ...(failure === undefined ? {} : { failure }) }
  }

  #begin(status: number, headers: Readonly<Record<string, string>>): void {
    this.firstByteAt = this.#options.now()
    this.#response.writeHead(status, headers)
  }

  /** Undefined when there is room for more, as mostly. */
  #write(text: string): Promise<void> | undefined {
    this.#pending += text
    if (this.#pending.length > MOST_AT_ONCE) return this.#flushed()
    // Sent when nothing more comes in this turn.
    this.#flush ??= setImmediate(() => this.#out())
    return this.#response.writableNeedDrain ? this.#drained() : undefined
  }

  async #flushed(): Promise<void> {
    if (!this.#out()) await this.#drained()
  }

  #out(): boolean {
    clearImmediate(this.#flush)
    this.#flush = undefined
    if (this.#pending === '' || this.#response.destroyed) return true
    const bytes = Buffer.from(this.#pending)
    this.#pending = ''
    this.#collect(bytes)
    return this.#response.write(bytes)
  }

  #collect(bytes: Uint8Array): void {
    if (this.#collectedBytes >= COLLECTED_BODY) return
    const room = bytes.subarray(0, COLLECTED_BODY - this.#collectedBytes)
    this.#collected.push(Buffer.from(room))
    this.#collectedBytes += room.length
  }

  /** Resolves when the client has taken what was sent; rejects when it has left. */
  #drained(): Promise<void> {
    const response = this.#response
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        response.off('drain', settle).off('close', settle)
        if (response.destroyed) reject(new ClientLeft())
        else resolve()
      }
      if (response.destroyed) reject(new ClientLeft())
      else response.once('drain', settle).once('close', settle)
    })
  }
}

/** Nobody waits for the answer any more. */
class ClientLeft extends Error {
  override readonly name = 'ClientLeft'
  override readonly message = 'the client left'
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

async function* asStream(reply: ModelReply): AsyncGenerator<ReplyEvent> {
  yield* inPieces(eventsOfReply(reply))
}
