/**
 * A host behind a socket that speaks the line protocol: one JSON value per line. Connects when it is needed, and again.
 * Each feed has a socket of its own, so that one that is read slowly holds up nothing else.
 */
import { connect, type Socket } from 'node:net'
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

export function socketConnection({ to, token, via }: SocketConnectionOptions): Connection {
  const where = 'path' in to ? to.path : `${to.host}:${to.port}`
  const over = new AbortController()
  let line: Promise<Line> | undefined
  const make = async (): Promise<Line> => {
    if (over.signal.aborted) throw connectionClosed(where)
    return open(to, where, { token, via })
  }
  const shared = async (): Promise<Line> => {
    const there = await line?.catch(() => undefined)
    if (there !== undefined && !there.isOver) return there
    line = make()
    return line
  }
  return {
    closed: over.signal,
    async call(name, input, signal) {
      return asked(await shared(), `"call":${JSON.stringify(name)},"input":${encodeInput(input, name)}`, signal)
    },
    async *feed(name, input, signal) {
      const request = `"feed":${JSON.stringify(name)},"input":${encodeInput(input, name)}`
      yield* follow(await make(), request, AbortSignal.any([signal, over.signal]))
    },
    async close() {
      over.abort()
      ;(await line?.catch(() => undefined))?.close()
    },
  }
}

async function open(
  to: SocketConnectionOptions['to'],
  where: string,
  { token, via }: Pick<SocketConnectionOptions, 'token' | 'via'>,
): Promise<Line> {
  const socket = await new Promise<Socket>((resolve, reject) => {
    const made: Socket = connect(to as { path: string }, () => resolve(made))
    made.once('error', (cause) => reject(notReached(where, cause)))
  })
  const line = new Line(socket, where)
  if (token !== undefined) await asked(line, `"token":${JSON.stringify(token)}`, undefined)
  if (via !== undefined) await asked(line, `"via":${JSON.stringify(via)}`, undefined)
  return line
}

function asked(line: Line, request: string, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
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
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
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
