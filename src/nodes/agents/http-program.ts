/** A program that serves on loopback: requests to it, its stream of events, and its end. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { NerveError } from '../../base/nerve-error.ts'
import { endGroup, signalGroup } from './end-program.ts'

export interface ServingProgram {
  /** Whose program it is, for messages. */
  readonly name: string
  readonly command: string
  readonly args: (port: number) => readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly started: (pid: number) => void
}

export class HttpProgram {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly #name: string
  readonly #child: ChildProcess

  private constructor({ name, headers }: ServingProgram, child: ChildProcess, url: string) {
    this.#name = name
    this.#child = child
    this.url = url
    this.headers = headers
  }

  /** Once it has said where it listens. */
  static async start(program: ServingProgram): Promise<HttpProgram> {
    const { name, command, args, cwd, env, started } = program
    // One that is told to take any port may take its usual one, and with it whoever still speaks to the server before.
    const port = await freePort()
    const child = spawn(command, [...args(port)], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    if (child.pid !== undefined) started(child.pid)
    const url = await new Promise<string>((resolve, reject) => {
      let said = ''
      child.stdout.on('data', (piece: Buffer) => {
        said += piece.toString()
        const [, found] = /listening on (http\S+)/.exec(said) ?? []
        if (found !== undefined) resolve(found)
      })
      const fail = (how: string): void =>
        reject(new NerveError('agent-failed', `${name} ${how} ${said.trim()}`.trim(), { retry: 'later' }))
      child.on('error', (cause) => fail(`could not be started: ${cause.message}`))
      child.on('exit', (code, signal) => fail(`ended (${signal ?? code ?? '?'})`))
    })
    return new HttpProgram(program, child, url)
  }

  onEnd(listener: (error: string) => void): void {
    this.#child.on('exit', (code, signal) => listener(`${this.#name} ended (${signal ?? code ?? '?'})`))
  }

  async request<Result>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Result> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...this.headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as Result
    throw new NerveError('agent-failed', `${this.#name} refused ${method} ${path} (${response.status}): ${text}`, {
      retry: 'later',
    })
  }

  /** The stream is open when this returns, so that nothing is missed that happens after. */
  async events<Event>(path: string): Promise<AsyncIterable<Event>> {
    const { body, status } = await fetch(`${this.url}${path}`, { headers: this.headers })
    if (body === null || status !== 200)
      throw new NerveError('agent-failed', `${this.#name} has no events at ${path} (${status}).`, { retry: 'later' })
    return eventsIn(body)
  }

  async close(): Promise<void> {
    signalGroup(this.#child, 'SIGTERM')
    await endGroup(this.#child)
  }
}

async function* eventsIn<Event>(body: AsyncIterable<Uint8Array>): AsyncGenerator<Event, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of body) {
    const lines = `${rest}${decoder.decode(piece, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) yield JSON.parse(line.slice(5)) as Event
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
