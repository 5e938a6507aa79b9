/** JSON-RPC with a program, one message per line: requests both ways, notifications, and the end of the program. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { LineSplitter } from '../../base/line-splitter.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { endGroup } from './end-program.ts'

export interface RpcProgram {
  /** Whose program it is, for messages. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly started: (pid: number) => void
}

export interface RpcHandlers {
  /** Answers a request of the program; what it throws is told to the program. */
  readonly request: (method: string, params: unknown) => Promise<unknown>
  readonly notification: (method: string, params: unknown) => void
  /** The program has ended, with the last that it said on stderr. */
  readonly ended: (error: NerveError) => void
  readonly heard?: ((message: unknown) => void) | undefined
}

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly code?: number; readonly message?: string; readonly data?: unknown }
}

const STDERR_CHARACTERS = 2_000

export class JsonRpc {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #waiting = new Map<number | string, PromiseWithResolvers<unknown>>()
  readonly #handlers: RpcHandlers
  readonly #name: string
  #next = 0
  #said = ''
  #over: NerveError | undefined

  constructor({ name, command, args, cwd, env, started }: RpcProgram, handlers: RpcHandlers) {
    this.#name = name
    this.#handlers = handlers
    // A group of its own: some programs start themselves again, and all of it has to end.
    this.#child = spawn(command, [...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    if (this.#child.pid !== undefined) started(this.#child.pid)
    this.#child.stderr.on('data', (piece: Buffer) => {
      this.#said = `${this.#said}${piece.toString()}`.slice(-STDERR_CHARACTERS)
    })
    const lines = new LineSplitter()
    this.#child.stdout.on('data', (piece: Buffer) => {
      for (const line of lines.add(piece) ?? []) this.#read(line)
    })
    // What breaks the pipe is the end of the program, which is heard of here.
    this.#child.stdin.on('error', () => undefined)
    this.#child.on('error', (cause) => this.#end(`could not be started: ${cause.message}`))
    this.#child.on('exit', (code, signal) => this.#end(`ended (${signal ?? code ?? '?'})`))
  }

  async request<Result>(method: string, params: unknown = {}): Promise<Result> {
    if (this.#over !== undefined) throw this.#over
    this.#next += 1
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(this.#next, waiting)
    this.#send({ id: this.#next, method, params })
    return waiting.promise as Promise<Result>
  }

  notify(method: string, params?: unknown): void {
    this.#send({ method, ...(params === undefined ? {} : { params }) })
  }

  /** Ends the program: first by ending what it reads. */
  async close(): Promise<void> {
    this.#child.stdin.end()
    await endGroup(this.#child)
  }

  #send(message: Message): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #read(line: string): void {
    const message = parsed(line)
    if (message === undefined) return
    this.#handlers.heard?.(message)
    const { id, method, params, result, error } = message
    if (method !== undefined && id !== undefined) void this.#answer(id, method, params)
    else if (method !== undefined) this.#handlers.notification(method, params)
    else if (id !== undefined) {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(refused(this.#name, error))
    }
  }

  async #answer(id: number | string, method: string, params: unknown): Promise<void> {
    try {
      this.#send({ id, result: (await this.#handlers.request(method, params)) ?? null })
    } catch (error) {
      this.#send({ id, error: { code: -32_603, message: (error as Error).message } })
    }
  }

  #end(how: string): void {
    if (this.#over !== undefined) return
    const said = this.#said.trim()
    this.#over = new NerveError('agent-failed', `${this.#name} ${how}${said === '' ? '' : `: ${said}`}`, {
      retry: 'later',
      data: { reason: 'process' },
    })
    for (const waiting of this.#waiting.values()) waiting.reject(this.#over)
    this.#waiting.clear()
    this.#handlers.ended(this.#over)
  }
}

/** What is no message is something that the program prints on its own. */
function parsed(line: string): Message | undefined {
  try {
    const message = JSON.parse(line) as unknown
    return typeof message === 'object' && message !== null ? message : undefined
  } catch {
    return undefined
  }
}

function refused(name: string, { code, message = 'no reason given', data }: NonNullable<Message['error']>): NerveError {
  return new NerveError('agent-failed', `${name} refused: ${message}`, { retry: 'later', data: { code, detail: data } })
}
