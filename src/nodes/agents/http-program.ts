/** A program that serves on loopback: requests to it, its stream of events, and its end. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { LineSplitter } from '../../base/line-splitter.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { AgentProcess, messageIn, MOST_BYTES, tooMuch, type Program, type Surroundings } from './agent-process.ts'

const SAID_CHARACTERS = 10_000

export interface ServingProgram extends Omit<Program, 'args'> {
  readonly args: (port: number) => readonly string[]
  readonly headers: Readonly<Record<string, string>>
}

export class HttpProgram {
  url = ''
  /** True when nothing is heard of the program any more. */
  ended = false
  readonly headers: Readonly<Record<string, string>>
  readonly #name: string
  readonly #process: AgentProcess
  readonly #over: Promise<NerveError>

  private constructor(program: ServingProgram, port: number, options: Surroundings) {
    const over = Promise.withResolvers<NerveError>()
    this.headers = program.headers
    this.#name = program.name
    this.#over = over.promise
    void this.#over.then(() => (this.ended = true))
    this.#process = new AgentProcess({ ...program, args: program.args(port) }, options, over.resolve)
  }

  /** Once it has said where it listens. */
  static async start(program: ServingProgram, options: Surroundings): Promise<HttpProgram> {
    // One that is told to take any port may take its usual one, and with it whoever still speaks to the server before.
    const started = new HttpProgram(program, await freePort(), options)
    const said = await Promise.race([started.#listening(), started.#over])
    if (said instanceof NerveError) throw said
    started.url = said
    return started
  }

  #listening(): Promise<string> {
    const { stdout } = this.#process
    let said = ''
    return new Promise((resolve) => {
      const hear = (piece: Buffer): void => {
        said = `${said}${piece.toString()}`.slice(-SAID_CHARACTERS)
        const found = addressIn(said)
        if (found === undefined) return
        stdout.off('data', hear).resume()
        resolve(found)
      }
      stdout.on('data', hear)
    })
  }

  onEnd(listener: (error: NerveError) => void): void {
    void this.#over.then(listener)
  }

  async request<Result>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Result> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...this.headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as Result
    throw this.#failed(`refused ${method} ${path} (${response.status}): ${text}`)
  }

  /** The stream is open when this returns, so that nothing is missed that happens after. */
  async events<Event>(path: string): Promise<AsyncIterable<Event>> {
    const { body, status } = await fetch(`${this.url}${path}`, { headers: this.headers })
    if (body === null || status !== 200) throw this.#failed(`has no events at ${path} (${status}).`)
    return this.#until(eventsIn(this.#name, body))
  }

  /** One whose events are not heard any more is of no use. */
  async *#until<Event>(events: AsyncIterable<Event>): AsyncGenerator<Event, void> {
    try {
      yield* events
    } finally {
      this.ended = true
    }
  }

  async close(): Promise<void> {
    this.#process.signal('SIGTERM')
    await this.#process.close()
  }

  #failed(how: string): NerveError {
    return new NerveError('agent-failed', `${this.#name} ${how}`, { retry: 'later' })
  }
}

/** Where it says that it listens: not before it has said all of it. */
export function addressIn(said: string): string | undefined {
  return /listening on (https?:\/\/\S+)\s/.exec(said)?.[1]
}

async function* eventsIn<Event>(name: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Event, void> {
  const lines = new LineSplitter(MOST_BYTES)
  for await (const piece of body) {
    const found = lines.add(Buffer.from(piece))
    if (found === undefined) throw tooMuch(name)
    for (const line of found) {
      const event = line.startsWith('data:') ? messageIn(line.slice(5)) : undefined
      if (event !== undefined) yield event as Event
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
