/** The line protocol over WebSockets: one frame per message. For browsers, whose first message has the token. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { NerveError } from '../../base/nerve-error.ts'
import type { Service } from '../../host/contract/service.ts'
import { bearerIn, type Doorkeeper } from './doorkeeper.ts'
import { Frames, type FramesOptions } from './frames.ts'
import { statusOf } from './http-status.ts'
import { LARGEST_UNKNOWN } from './largest.ts'
import { PATIENCE_MS, endSoon, type Link } from './link.ts'

export interface WebSocketOptions {
  readonly service: Service
  readonly doorkeeper: Doorkeeper
  readonly maxBody: number
  readonly patience?: number | undefined
  readonly onProblem: (error: unknown) => void
}

const PATH = '/v1/socket'
/** More than this unsent, and the client is waited for. */
const MOST_UNSENT = 65_536
const TOKEN_MS = 10_000

export interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly isNear: boolean
}

const made = new WeakMap<object, WebSockets>()

/** The ones of a server, made for its first client. */
export function webSockets(options: WebSocketOptions): WebSockets {
  const there = made.get(options.doorkeeper) ?? new WebSockets(options)
  made.set(options.doorkeeper, there)
  return there
}

class WebSockets {
  readonly #options: WebSocketOptions
  readonly #server: WebSocketServer

  constructor(options: WebSocketOptions) {
    this.#options = options
    this.#server = new WebSocketServer({
      ...{ noServer: true, maxPayload: options.maxBody, perMessageDeflate: false },
      // The library answers every ping, whether its answers are read or not.
      autoPong: false,
    })
  }

  /** Takes over a connection, or refuses it with the status that a request would get. */
  take({ request, socket, head, isNear }: Upgrade): void {
    try {
      const { doorkeeper } = this.#options
      if (!isNear) doorkeeper.checkAddress(request.headers, request.socket)
      if ((request.url ?? '').split('?')[0] !== PATH)
        throw new NerveError('not-found', `There is no WebSocket here: it is at ${PATH}.`)
      const secret = bearerIn(request.headers)
      const from = request.socket.remoteAddress ?? ''
      const admit = (token: string) => doorkeeper.withToken(token, from, 'websocket')
      const visitor = isNear ? doorkeeper.neighbour() : secret === undefined ? undefined : admit(secret)
      this.#server.handleUpgrade(request, socket, head, (client) => {
        const frames = this.#serve(client, { visitor, admit })
        putOutTalkers(client, socket, frames)
      })
    } catch (error) {
      endSoon(socket, `HTTP/1.1 ${statusOf(error)} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
    }
  }

  #serve(client: WebSocket, who: Pick<FramesOptions, 'visitor' | 'admit'>): Frames {
    const { service, onProblem, patience } = this.#options
    const link = webSocketLink(client, patience)
    const frames = new Frames({ service, link, ...who })
    const late = setTimeout(() => {
      if (!frames.isKnown) client.close(1008, 'no token')
    }, TOKEN_MS)
    client.on('close', () => clearTimeout(late))
    // A client that breaks the protocol is closed by the library; the error is its own.
    client.on('error', () => client.terminate())
    client.on('ping', (data) => {
      if (client.readyState === client.OPEN && client.bufferedAmount <= MOST_UNSENT) client.pong(data)
    })
    client.on('message', (data, isBinary) => {
      if (isBinary) return client.close(1003, 'text only')
      frames.receive(data as Buffer).catch(onProblem)
      const room = link.full()
      if (room === undefined || client.isPaused) return
      client.pause()
      void room.then(() => client.resume())
    })
    return frames
  }
}

/** The library keeps what is not a whole message yet, as much as anybody may send. Who was not let in has a token to say, and no more. */
function putOutTalkers(client: WebSocket, socket: Duplex, frames: Frames): void {
  let said = 0
  const count = (chunk: Buffer): void => {
    said += chunk.length
    if (frames.isKnown) socket.off('data', count)
    else if (said > LARGEST_UNKNOWN) client.terminate()
  }
  socket.on('data', count)
}

function webSocketLink(client: WebSocket, patience = PATIENCE_MS): Link {
  const gone = new AbortController()
  let room: Promise<void> | undefined
  client.once('close', () => gone.abort())
  return {
    over: gone.signal,
    send: (text) => {
      if (client.readyState !== client.OPEN) return Promise.resolve()
      const sent = Promise.withResolvers<void>()
      client.send(text.trimEnd(), () => sent.resolve())
      if (client.bufferedAmount <= MOST_UNSENT) return Promise.resolve()
      const timer = setTimeout(() => client.terminate(), patience)
      const waiting = sent.promise.then(() => {
        clearTimeout(timer)
        if (room === waiting) room = undefined
      })
      room = waiting
      return waiting
    },
    full: () => room,
    close: () => client.close(1008),
  }
}
