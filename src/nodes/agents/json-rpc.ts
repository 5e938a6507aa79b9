/** JSON-RPC with a program, one message per line: requests both ways, notifications, and the end of the program. */
import { LineSplitter } from '../../base/line-splitter.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { AgentOpen } from './adapter.ts'
import { AgentProcess, messageIn, MOST_BYTES, tooMuch, type Program, type Surroundings } from './agent-process.ts'
import { tolerantly } from './turn-parts.ts'

export interface RpcProgram extends Program {
  /** Answers a request of the program; what it throws is told to the program. */
  readonly request: (method: string, params: unknown) => Promise<unknown>
  readonly notification: (method: string, params: unknown) => void
  /** The program has ended. */
  readonly ended: (error: NerveError) => void
}

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly code?: number; readonly message?: string; readonly data?: unknown }
}

export class JsonRpc {
  readonly #process: AgentProcess
  readonly #waiting = new Map<number | string, PromiseWithResolvers<unknown>>()
  readonly #program: RpcProgram
  readonly #heard: AgentOpen['onNative']
  #next = 0
  #over: NerveError | undefined

  constructor(program: RpcProgram, options: Surroundings & Pick<AgentOpen, 'onNative'>) {
    this.#program = program
    this.#heard = options.onNative
    this.#process = new AgentProcess(program, options, (error) => this.#end(error))
    const lines = new LineSplitter(MOST_BYTES)
    const { stdout } = this.#process
    stdout.on('data', (piece: Buffer) => {
      const found = lines.add(piece)
      for (const line of found ?? []) this.#read(line)
      if (found !== undefined) return
      stdout.destroy()
      this.#process.signal('SIGKILL')
      this.#end(tooMuch(program.name))
    })
  }

  /** True when nothing is heard of the program any more. */
  get ended(): boolean {
    return this.#over !== undefined
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
    this.#process.stdin.end()
    await this.#process.close()
  }

  #send(message: Message): void {
    this.#process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #read(line: string): void {
    const message: Message | undefined = messageIn(line)
    if (message === undefined) return
    const { id, method, result, error } = message
    const params = message.params ?? {}
    tolerantly(() => this.#heard?.(message))
    if (method !== undefined && id !== undefined) void this.#answer(id, method, params)
    else if (method !== undefined) tolerantly(() => this.#program.notification(method, params))
    else if (id !== undefined) {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(refused(this.#program.name, error))
    }
  }

  async #answer(id: number | string, method: string, params: unknown): Promise<void> {
    try {
      this.#send({ id, result: (await this.#program.request(method, params)) ?? null })
    } catch (error) {
      this.#send({ id, error: { code: -32_603, message: (error as Error).message } })
    }
  }

  #end(error: NerveError): void {
    if (this.#over !== undefined) return
    this.#over = error
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
    this.#program.ended(error)
  }
}

/** With all that it says: an agent often tells only there what its model has said. */
function refused(name: string, { code, message = 'no reason given', data }: NonNullable<Message['error']>): NerveError {
  const detail = data === undefined || data === null ? '' : ` ${JSON.stringify(data)}`
  return new NerveError('agent-failed', `${name} refused: ${message}${detail}`, { retry: 'later', data: { code } })
}
