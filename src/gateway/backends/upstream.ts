/** One request to a provider: bytes out, bytes in, with a limit on every wait. Backpressure goes through to the provider. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Clock } from '../../base/clock.ts'
import { CallFailed } from '../failure.ts'

export interface Timeouts {
  /** Milliseconds until there is a connection, until the answer begins, and between two pieces of it. */
  readonly connect: number
  readonly firstByte: number
  readonly idle: number
}

export interface UpstreamRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal: AbortSignal
  readonly timeouts: Timeouts
  readonly clock: Clock
}

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Whoever takes it reads it to its end, or stops and thereby ends the request. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface Upstream {
  send(request: UpstreamRequest): Promise<UpstreamAnswer>
}

/** Connections are kept and shared by the calls of one back end. */
export function upstream(): Upstream {
  const http = new HttpAgent({ keepAlive: true })
  const https = new HttpsAgent({ keepAlive: true })
  return { send: (request) => send(request, request.url.protocol === 'https:' ? https : http) }
}

function send(call: UpstreamRequest, agent: HttpAgent | HttpsAgent): Promise<UpstreamAnswer> {
  const { url, headers, body, signal, timeouts, clock } = call
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const start = url.protocol === 'https:' ? httpsRequest : httpRequest
    const outgoing = start(url, { method: 'POST', agent, headers: { ...headers, 'content-length': body.length } })
    const give = (error: Error): void => void outgoing.destroy(error)
    const abort = (): void => give(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    let disarm = clock.at(clock.now() + timeouts.connect, () => give(tooSlow(url, 'connect', timeouts.connect)))
    const connected = (): void => {
      disarm()
      disarm = clock.at(clock.now() + timeouts.firstByte, () => give(tooSlow(url, 'answer', timeouts.firstByte)))
    }
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) connected()
      else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', connected)
    })
    outgoing.once('close', () => signal.removeEventListener('abort', abort))
    outgoing.on('error', (error) => {
      disarm()
      reject(signal.aborted ? (signal.reason as Error) : unreachable(url, error))
    })
    outgoing.once('response', (incoming) => {
      disarm()
      resolve({ status: incoming.statusCode ?? 0, headers: headersOf(incoming), body: pieces(incoming, call) })
    })
    outgoing.end(body)
  })
}

const MOST_READY = 65_536

/**
 * What comes, as it is asked for; leaving the loop ends the request. Written out, because a generator over the stream's own iterator
 * takes longer for a piece than everything else that happens to it.
 */
function pieces(
  incoming: IncomingMessage,
  { url, timeouts, clock, signal }: UpstreamRequest,
): AsyncIterable<Uint8Array> {
  const watch = watchdog(timeouts.idle, clock, () => incoming.destroy(tooSlow(url, 'go on', timeouts.idle)))
  const done: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined }
  let waiting: PromiseWithResolvers<IteratorResult<Uint8Array, undefined>> | undefined
  let ready: Uint8Array[] = []
  let length = 0
  let ended: { readonly error?: Error } | undefined
  const hand = (): Promise<IteratorResult<Uint8Array, undefined>> => {
    const [first] = ready
    if (first !== undefined) {
      const value = ready.length === 1 ? first : Buffer.concat(ready)
      ready = []
      length = 0
      return Promise.resolve({ done: false, value })
    }
    if (ended !== undefined) return ended.error === undefined ? Promise.resolve(done) : Promise.reject(ended.error)
    watch.start()
    waiting = Promise.withResolvers()
    if (incoming.isPaused()) incoming.resume()
    return waiting.promise
  }
  const wake = (): void => {
    watch.stop()
    const asked = waiting
    waiting = undefined
    if (asked !== undefined) hand().then(asked.resolve, asked.reject)
  }
  const end = (error?: Error): void => {
    watch.end()
    ended ??= error === undefined ? {} : { error: signal.aborted ? (signal.reason as Error) : unreachable(url, error) }
    wake()
  }
  incoming.on('data', (piece: Uint8Array) => {
    ready.push(piece)
    length += piece.length
    // Little more than what was asked for: whoever reads slowly slows the provider down.
    if (length > MOST_READY) incoming.pause()
    wake()
  })
  incoming.once('end', () => end())
  incoming.once('error', (error) => end(error))
  incoming.once('close', () => end(new Error('the connection was closed')))
  incoming.pause()
  const leave = (): Promise<IteratorResult<Uint8Array, undefined>> => {
    incoming.destroy()
    return Promise.resolve(done)
  }
  return { [Symbol.asyncIterator]: () => ({ next: hand, return: leave }) }
}

/** Barks when a wait is too long. A slow reader does not count, and one timer serves all waits. */
function watchdog(ms: number, clock: Clock, bark: () => void): { start(): void; stop(): void; end(): void } {
  let since: number | undefined
  let disarm: (() => void) | undefined
  const look = (): void => {
    const left = since === undefined ? ms : since + ms - clock.now()
    if (left <= 0) return bark()
    disarm = clock.at(clock.now() + left, look)
  }
  return {
    start() {
      since = clock.now()
      disarm ??= clock.at(since + ms, look)
    },
    stop() {
      since = undefined
    },
    end: () => disarm?.(),
  }
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) if (typeof value === 'string') found[name] = value
  return found
}

function tooSlow(url: URL, what: string, ms: number): CallFailed {
  return new CallFailed({
    kind: 'timeout',
    status: 504,
    message: `${url.host} did not ${what} within ${ms / 1_000} s.`,
  })
}

function unreachable(url: URL, error: Error): CallFailed {
  if (error instanceof CallFailed) return error
  const code = (error as { code?: unknown }).code
  const why = typeof code === 'string' ? code : error.message
  return new CallFailed(
    { kind: 'server', status: 502, message: `${url.host} cannot be reached, or broke off: ${why}.` },
    error,
  )
}
