/**
 * A host for other processes: one contract on a unix socket (the default), and on a TCP port where somebody asks for it.
 * Both speak the line protocol and HTTP, with server-sent events and WebSockets: the first byte tells which.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import { createServer, isIP, type AddressInfo, type Server as NetServer, type Socket } from 'node:net'
import { rmSync } from 'node:fs'
import { NerveError } from '../../base/nerve-error.ts'
import { LineSplitter } from '../../base/line-splitter.ts'
import type { Service } from '../../host/contract/service.ts'
import { Doorkeeper } from './doorkeeper.ts'
import { Frames, tokenNeeded } from './frames.ts'
import { LARGEST_UNKNOWN, largest, tooLarge } from './largest.ts'
import { PATIENCE_MS, endSoon, streamLink } from './link.ts'
import type { Mounts } from './mount.ts'
import type { Rate } from './rate-limit.ts'
import { listenPrivately, prepareSocket } from './socket-file.ts'
import type { Tokens } from './tokens.ts'

export interface ServerOptions {
  readonly service: Service
  /** Where the unix socket is to be. */
  readonly socket?: string
  /** A TCP port as well. Callers need a token. */
  readonly tcp?: TcpOptions
  readonly tokens?: Tokens
  /** Names by which this host is called in addresses, beside loopback and its own address. */
  readonly hosts?: readonly string[]
  /** Where pages may come from that use it. Its own pages always may. */
  readonly origins?: readonly string[]
  /** The most bytes of a request (default 1 MiB, and 256 MiB on the unix socket). */
  readonly maxBody?: number
  /** How often a token may ask (default 500 a second, 1,000 at once). */
  readonly rate?: Rate
  /** The most characters of answers that wait to be read by a token (default 128 Mi). Then it gets no more. */
  readonly maxUnread?: number
  /** How long a client that does not read, or does not say what it wants, is waited for, in ms (default 30,000). Then it is let go. */
  readonly patience?: number
  /** The most connections at once (default 4,096). */
  readonly maxConnections?: number
  /** What else is served over HTTP, by path. */
  readonly mounts?: Mounts
  /** Shown in the OpenAPI document. */
  readonly version?: string
  readonly onProblem?: (error: unknown) => void
}

export interface TcpOptions {
  /** 0 takes a free one. */
  readonly port: number
  /** The address to listen at (default 127.0.0.1). */
  readonly host?: string
  /** Says that it is meant to be reached from other machines. */
  readonly beyondLoopback?: boolean
}

type Problems = (error: unknown) => void

export interface Server {
  readonly socket: string | undefined
  /** The address of the TCP port: http://127.0.0.1:4400 */
  readonly url: string | undefined
  /** How many clients are connected now. */
  readonly connections: number
  /** Makes the unix socket again, when somebody has removed its file. Who is connected stays so. */
  listenAgain(): Promise<void>
  close(): Promise<void>
}

/** Also of those that wait to be taken in: on a unix socket, who finds no room there is turned away at once. */
const MAX_CONNECTIONS = 4_096
/** Cursors of many runs are long, and come in a header. */
const MAX_HEADER = 65_536

export async function startServer(options: ServerOptions): Promise<Server> {
  check(options)
  const { socket, tcp, onProblem = (error: unknown) => process.emitWarning(error as Error) } = options
  const entrance = new Entrance({ ...options, onProblem })
  const listen = (door: NetServer, where: string | TcpOptions) => listenAt(door, where, onProblem)
  let near: NetServer | undefined
  let far: NetServer | undefined
  try {
    const path = socket === undefined ? undefined : await prepareSocket(socket)
    if (path !== undefined) near = await listen(entrance.door(true), path)
    if (tcp !== undefined) far = await listen(entrance.door(false), { ...tcp, host: plainAddress(tcp.host) })
    return {
      socket: path,
      url: far === undefined ? undefined : urlOf(far.address() as AddressInfo),
      get connections() {
        return entrance.connections
      },
      listenAgain: async () => {
        if (path === undefined) return
        near?.close()
        near = await listen(entrance.door(true), await prepareSocket(path))
      },
      close: async () => {
        entrance.close()
        await Promise.all(
          [near, far].map((one) => new Promise<void>((done) => void (one?.close(() => done()) ?? done()))),
        )
        await Promise.all(Object.values(options.mounts ?? {}).map((mount) => mount.close()))
        if (path !== undefined) rmSync(path, { force: true })
      },
    }
  } catch (error) {
    near?.close()
    far?.close()
    throw error
  }
}

function check({ socket, tcp, tokens }: ServerOptions): void {
  if (socket === undefined && tcp === undefined)
    throw new NerveError('bad-option', 'A server needs a socket, a TCP port, or both.')
  if (tcp === undefined) return
  if (tokens === undefined)
    throw new NerveError('bad-option', 'A TCP port needs tokens: every program on this machine can reach it.')
  if (!isLoopback(plainAddress(tcp.host)) && tcp.beyondLoopback !== true)
    throw new NerveError(
      'not-allowed',
      `${tcp.host} can be reached from other machines. If that is meant, say so: beyondLoopback (--beyond-loopback). Tokens and everything else ` +
        'travel unencrypted; put a proxy with TLS in front of it, or use an SSH tunnel.',
      { data: { reason: 'host' } },
    )
}

/** As systems write it: without the brackets that addresses of pages have around it. */
function plainAddress(host = '127.0.0.1'): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** Names that only begin like loopback may be anywhere. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** A command that starts a daemon as it was before has said nothing of a port. */
const IN_USE = 'it is in use by another program. Give another port: nerve server start --http PORT'

function listenAt(server: NetServer, where: string | TcpOptions, onProblem: Problems): Promise<NetServer> {
  return new Promise((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const place = typeof where === 'string' ? where : `${where.host}:${where.port}`
      const why = cause.code === 'EADDRINUSE' ? IN_USE : cause.message
      reject(new NerveError('bad-option', `The host cannot listen at ${place}: ${why}`, { cause }))
    }
    server.once('error', failed)
    server.once('listening', () => {
      server.off('error', failed)
      // Somebody could not be taken in, as when the system has nothing left for them: the others stay.
      server.on('error', onProblem)
      resolve(server)
    })
    const backlog = MAX_CONNECTIONS
    if (typeof where === 'string') listenPrivately(where, () => server.listen({ path: where, backlog }))
    else server.listen({ port: where.port, host: where.host, backlog })
  })
}

function urlOf({ address, port, family }: AddressInfo): string {
  return `http://${family === 'IPv6' || isIP(address) === 6 ? `[${address}]` : address}:${port}`
}

/** Takes clients in. */
class Entrance {
  readonly #options: ServerOptions
  readonly #doorkeeper: Doorkeeper
  readonly #onProblem: Problems
  readonly #sockets = new Set<Socket>()
  readonly #patience: number
  #http: Promise<HttpServer> | undefined

  constructor(options: ServerOptions & { readonly onProblem: Problems }) {
    this.#options = options
    this.#patience = options.patience ?? PATIENCE_MS
    this.#onProblem = options.onProblem
    this.#doorkeeper = new Doorkeeper(options)
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** `isNear`: only the user can open it. */
  door(isNear: boolean): NetServer {
    const settings = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000, allowHalfOpen: true }
    const server = createServer(settings, (socket) => this.#enter(socket, isNear))
    server.maxConnections = this.#options.maxConnections ?? MAX_CONNECTIONS
    return server
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #enter(socket: Socket, isNear: boolean): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // A client that breaks off is no trouble of ours.
    socket.on('error', () => socket.destroy())
    const late = setTimeout(() => socket.destroy(), this.#patience)
    socket.once('close', () => clearTimeout(late))
    socket.once('readable', () => {
      clearTimeout(late)
      const first = socket.read() as Buffer | null
      if (first === null) return void socket.destroy()
      socket.unshift(first)
      if (isLineProtocol(first)) this.#serveLines(socket, isNear)
      else
        this.#serveHttp(socket, isNear).catch((error: unknown) => {
          this.#onProblem(error)
          socket.destroy()
        })
    })
  }

  #serveLines(socket: Socket, isNear: boolean): void {
    const { service, patience, maxBody } = this.#options
    const link = { ...streamLink(socket, patience), close: () => endSoon(socket) }
    const from = socket.remoteAddress ?? ''
    const admit = (secret: string) => this.#doorkeeper.withToken(secret, from, 'tcp')
    const visitor = isNear ? this.#doorkeeper.neighbour() : undefined
    const frames = new Frames({ service, link, admit, visitor })
    const most = largest(maxBody, isNear)
    const lines = new LineSplitter(most)
    const late = setTimeout(() => {
      if (!frames.isKnown) socket.destroy()
    }, this.#patience)
    socket.once('close', () => clearTimeout(late))
    socket.once('end', () => this.#answerLast(socket, frames))
    socket.on('data', (chunk) => {
      const whole = lines.cut(chunk)
      for (const line of whole ?? []) frames.receive(line).catch(this.#onProblem)
      const isStranger = !frames.isKnown && lines.pending > LARGEST_UNKNOWN
      if (whole === undefined || isStranger) {
        socket.removeAllListeners('data')
        frames.refuse(isStranger ? tokenNeeded() : tooLarge(most))
        return
      }
      // Who does not read the answers is not asked for more.
      const room = link.full()
      if (room === undefined) return
      socket.pause()
      void room.then(() => socket.resume())
    })
  }

  /** Who says no more, as scripts do, wants to hear what they have asked for; who has gone does not, and looks the same for a while. */
  #answerLast(socket: Socket, frames: Frames): void {
    const late = setTimeout(() => socket.destroy(), this.#patience)
    socket.once('close', () => clearTimeout(late))
    void frames.settled().then(() => socket.end())
  }

  async #serveHttp(socket: Socket, isNear: boolean): Promise<void> {
    this.#http ??= this.#makeHttp()
    const http = await this.#http
    const wait = (): NodeJS.Timeout => setTimeout(() => socket.destroy(), this.#patience)
    const arrival = { isNear, open: 0, wait, late: wait() }
    socket.once('close', () => clearTimeout(arrival.late))
    arrivals.set(socket, arrival)
    http.emit('connection', socket)
  }

  async #makeHttp(): Promise<HttpServer> {
    // Loaded by the first who needs it: most clients are neighbours, who do not.
    const [{ createServer: createHttp }, { answerHttp }] = await Promise.all([import('node:http'), import('./http.ts')])
    const { maxBody } = this.#options
    const given = { ...this.#options, doorkeeper: this.#doorkeeper, onProblem: this.#onProblem }
    const near = { ...given, maxBody: largest(maxBody, true) }
    const far = { ...given, maxBody: largest(maxBody, false) }
    const settings = {
      ...{ maxHeaderSize: MAX_HEADER, keepAliveTimeout: this.#patience },
      // Some clients offer to go on in another version of HTTP with every request.
      shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket',
    }
    const server = createHttp(settings, (request, response) => {
      const isNear = entered(request, response)
      void answerHttp(isNear ? near : far, { request, response, isNear })
    })
    server.timeout = 2 * this.#patience
    server.on('upgrade', (request, socket, head) => {
      const isNear = entered(request)
      import('./websocket.ts')
        .then(({ webSockets }) => webSockets(far).take({ request, socket, head, isNear }))
        .catch((error: unknown) => {
          this.#onProblem(error)
          socket.destroy()
        })
    })
    return server
  }
}

/** A connection for HTTP: where it came in, how many of its requests are not answered, and what ends it when none comes. */
interface Arrival {
  readonly isNear: boolean
  open: number
  readonly wait: () => NodeJS.Timeout
  late: NodeJS.Timeout
}

const arrivals = new WeakMap<Socket, Arrival>()

/** A whole request has come. Tells whether it is a neighbour's; and the next one has to come as soon as the first had to. */
function entered({ socket }: IncomingMessage, response?: ServerResponse): boolean {
  const arrival = arrivals.get(socket)
  if (arrival === undefined) return false
  clearTimeout(arrival.late)
  arrival.open += 1
  response?.once('close', () => {
    arrival.open -= 1
    if (arrival.open === 0 && !socket.destroyed) arrival.late = arrival.wait()
  })
  return arrival.isNear
}

/** Lines are JSON objects. Requests begin with a letter. */
function isLineProtocol([first]: Buffer): boolean {
  return first === 0x7b || first === 0x20 || first === 0x0a || first === 0x0d || first === 0x09
}
