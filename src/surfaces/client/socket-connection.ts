/**
 * A host behind a socket that speaks the line protocol: one JSON value per line. Connects when it is needed, and again.
 * Each feed has a socket of its own, so that one that is read slowly holds up nothing else.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { LineSplitter } from '../../base/line-splitter.ts'
import { decode, encodeInput, type Reply } from '../../host/contract/wire.ts'
import { connectionClosed, connectionLost, errorIn, notReached, type Connection, type Delivery } from './connection.ts'

export interface SocketConnectionOptions {
  /** Where to: the path of a unix socket, or a host and a port. */
  readonly to: { readonly path: string } | { readonly host: string; readonly port: number }
  readonly token?: string | undefined
  /** What journals call this way, on a unix socket. */
  readonly via?: string | undefined
}

type Answer = (reply: Reply | Error) => void

/** One socket, for as long as it lives. */
class Line {
  readonly socket: Socket
  readonly #where: string
  readonly #waiting = new Map<number, Answer>()
  readonly #lines = new LineSplitter()
  #last = 0
  #over: Error | undefined

  constructor(socket: Socket, where: string) {
    this.socket = socket
    this.#where = where
    socket.on('error', (error) => this.#fail(connectionLost(where, error)))
    socket.on('close', () => this.#fail(connectionLost(where)))
    socket.on('data', (chunk) => this.#receive(chunk))
  }

  get isOver(): boolean {
    return this.#over !== undefined
  }

  /** Sends a request. What comes for it is answered, until it is forgotten. */
  ask(request: string, answer: Answer): number {
    this.#last += 1
    const id = this.#last
    if (this.#over !== undefined) queueMicrotask(() => answer(this.#over as Error))
    else {
      this.#waiting.set(id, answer)
      this.socket.write(`{"id":${id},${request}}\n`)
    }
    return id
  }

  forget(id: number): void {
    this.#waiting.delete(id)
  }

  /** Tells the host that nobody waits for this any more. */
  stop(id: number): void {
    this.forget(id)
    if (this.#over === undefined) this.socket.write(`{"id":${id},"stop":true}\n`)
  }

  close(): void {
    this.#fail(connectionClosed(this.#where))
  }

  #receive(chunk: Buffer): void {
    for (const line of this.#lines.add(chunk) ?? []) {
      try {
        this.#take(decode(line) as Reply)
      } catch (cause) {
        this.#fail(connectionLost(this.#where, cause))
      }
    }
  }

  #take(reply: Reply): void {
    const error = reply.id === undefined ? errorIn(reply) : undefined
    // What belongs to no request is about the connection as a whole.
    if (error !== undefined) this.#fail(error)
    else this.#waiting.get(Number(reply.id))?.(reply)
  }

  #fail(error: Error): void {
    if (this.#over !== undefined) return
    this.#over = error
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const answer of waiting) answer(error)
    this.socket.destroy()
  }
}

/** A line that calls share, and how many are under way on it. */
interface Shared {
  readonly line: Promise<Line>
  calls: number
}

/** A host takes 256 requests at once on a connection: there is another one for more. */
const MOST_CALLS = 200

async function isGone({ line }: Shared): Promise<boolean> {
  return (await line.catch(() => undefined))?.isOver !== false
}

export function socketConnection({ to, token, via }: SocketConnectionOptions): Connection {
  const where = 'path' in to ? to.path : `${to.host}:${to.port}`
  const over = new AbortController()
  const lines = new Set<Shared>()
  const make = async (signal: AbortSignal = over.signal): Promise<Line> => {
    if (over.signal.aborted) throw connectionClosed(where)
    return open(where, { to, token, via }, signal)
  }
  const share = (): Shared => {
    const free = [...lines].find(({ calls }) => calls < MOST_CALLS)
    const one = free ?? { line: make(), calls: 0 }
    lines.add(one)
    return one
  }
  const call = async (request: string, signal: AbortSignal | undefined): Promise<unknown> => {
    const one = share()
    one.calls += 1
    try {
      const line = await one.line
      if (!line.isOver) return await asked(line, request, signal)
    } catch (error) {
      if (await isGone(one)) lines.delete(one)
      throw error
    } finally {
      one.calls -= 1
    }
    lines.delete(one)
    return call(request, signal)
  }
  return {
    closed: over.signal,
    async call(name, input, signal) {
      return call(`"call":${JSON.stringify(name)},"input":${encodeInput(input, name)}`, signal)
    },
    async *feed(name, input, signal) {
      const request = `"feed":${JSON.stringify(name)},"input":${encodeInput(input, name)}`
      const either = AbortSignal.any([signal, over.signal])
      yield* follow(await make(either), request, either)
    },
    async close() {
      over.abort()
      for (const { line } of lines) (await line.catch(() => undefined))?.close()
    },
  }
}

async function open(where: string, { to, token, via }: SocketConnectionOptions, signal: AbortSignal): Promise<Line> {
  const line = new Line(await reached(to, where, signal), where)
  try {
    if (token !== undefined) await asked(line, `"token":${JSON.stringify(token)}`, signal)
    if (via !== undefined) await asked(line, `"via":${JSON.stringify(via)}`, signal)
    return line
  } catch (error) {
    line.close()
    throw error
  }
}

/** Of many who come in the same moment, a unix socket turns away those for whom there is no room to wait. */
const ROOM_MS = 10_000
const ROOM_LOOK_MS = 20

async function reached(to: SocketConnectionOptions['to'], where: string, signal: AbortSignal): Promise<Socket> {
  for (const deadline = Date.now() + ROOM_MS; ;) {
    try {
      return await connected(to, signal)
    } catch (cause) {
      if (signal.aborted) throw connectionClosed(where)
      if ((cause as NodeJS.ErrnoException).code !== 'EAGAIN' || Date.now() > deadline) throw notReached(where, cause)
      await delay(ROOM_LOOK_MS * (0.5 + Math.random()))
    }
  }
}

async function connected(to: SocketConnectionOptions['to'], signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  const made: Socket = connect(to as { path: string })
  const giveUp = (): void => void made.destroy(signal.reason as Error)
  signal.addEventListener('abort', giveUp)
  try {
    await once(made, 'connect')
    return made
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

function asked(line: Line, request: string, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // It may have been given up while the line was made: nothing of it is sent then.
    if (signal?.aborted === true) return reject(signal.reason as Error)
    const id = line.ask(request, (reply) => {
      signal?.removeEventListener('abort', abort)
      line.forget(id)
      const error = reply instanceof Error ? reply : errorIn(reply)
      if (error === undefined) resolve((reply as Reply).result)
      else reject(error)
    })
    const abort = (): void => {
      line.stop(id)
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** How many items may wait here before the socket is not read any more. */
const MOST_WAITING = 256

async function* follow(line: Line, request: string, signal: AbortSignal): AsyncGenerator<Delivery, void, void> {
  const replies: (Reply | Error)[] = []
  let wake: () => void = () => undefined
  const rouse = (): void => wake()
  line.ask(request, (reply) => {
    replies.push(reply)
    if (replies.length >= MOST_WAITING) line.socket.pause()
    wake()
  })
  signal.addEventListener('abort', rouse)
  try {
    while (!signal.aborted) {
      const reply = replies.shift()
      if (reply === undefined) {
        line.socket.resume()
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      const error = reply instanceof Error ? reply : errorIn(reply)
      if (error !== undefined) throw error
      const { item, cursor, end } = reply as Reply
      if (end === true) return
      yield { ...(item === undefined ? {} : { item }), ...(cursor === undefined ? {} : { cursor }) }
    }
  } finally {
    signal.removeEventListener('abort', rouse)
    line.close()
  }
}
