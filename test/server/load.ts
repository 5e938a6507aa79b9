/** Many readers and many runs, against a server in a process of its own. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { connect, type Client } from 'nerve/client'

export interface Memory {
  readonly heapUsed: number
  readonly rss: number
  readonly peak: number
  readonly cpu: { readonly user: number; readonly system: number }
  readonly problems: readonly string[]
}

export interface LoadedServer {
  readonly url: string
  readonly token: string
  readonly client: Client
  /** After a collection of garbage. */
  readonly memory: () => Promise<Memory>
  readonly end: () => Promise<void>
}

export async function startLoadedServer(): Promise<LoadedServer> {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-load-'))
  const worker = fork(join(import.meta.dirname, 'load-worker.ts'), [dir], {
    execArgv: ['--conditions=nerve-source', '--expose-gc'],
  })
  const heard = nextMessage<{ url: string; token: string; socket: string }>(worker)
  const { url, token, socket } = await heard
  const client = await connect(socket)
  return {
    url,
    token,
    client,
    memory: () => {
      const told = nextMessage<Memory>(worker)
      worker.send('memory')
      return told
    },
    end: async () => {
      await client.close()
      const over = worker.exitCode === null ? once(worker, 'exit') : undefined
      if (worker.connected) worker.send('stop')
      await over
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function nextMessage<Message>(worker: ChildProcess): Promise<Message> {
  const { promise, resolve, reject } = Promise.withResolvers<Message>()
  worker.once('message', (message) => resolve(message as Message))
  worker.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  return promise
}

/** Reads server-sent events of all runs, and keeps account of each run: what comes has to be the next of its run. */
class Subscriber {
  readonly last = new Map<string, number>()
  events = 0
  ended = 0
  /** What came twice, or in a wrong order, or after a gap. */
  readonly wrong: string[] = []
  readonly #close: () => void
  #rest = ''
  #started: () => void = () => undefined

  readonly started = new Promise<void>((resolve) => (this.#started = resolve))

  constructor({ url, token }: LoadedServer) {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const request = get(`${url}/v1/events`, { agent: false, headers }, (response) => {
      response.setEncoding('utf8').on('data', (text: string) => this.#take(text))
      response.on('error', () => undefined)
    })
    request.on('error', (error) => this.wrong.push(error.message))
    this.#close = () => request.destroy()
  }

  close(): void {
    this.#close()
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data: ')) this.#event(line)
      // The first thing that is told is where it begins: from there on nothing may be missing.
      else if (line.startsWith('id: ')) this.#started()
    }
  }

  #event(line: string): void {
    const seq = Number(/"seq":(\d+)/.exec(line)?.[1])
    const run = /"run":"([^"]+)"/.exec(line)?.[1] ?? ''
    const before = this.last.get(run) ?? 0
    if (seq !== before + 1) this.wrong.push(`${run}: ${seq} after ${before}`)
    this.last.set(run, seq)
    this.events += 1
    if (line.includes('"type":"run-completed"')) this.ended += 1
  }
}

export interface FanOut {
  readonly subscribers: number
  readonly runs: number
  readonly steps: number
  readonly ms: number
}

export interface FanOutFigures {
  readonly events: number
  readonly deliveries: number
  readonly seconds: number
  readonly memory: Memory
}

/** Starts all runs at once while everybody listens. Every subscriber has to get every event once, in order. */
export async function fanOut(server: LoadedServer, wanted: FanOut): Promise<FanOutFigures> {
  const subscribers = Array.from({ length: wanted.subscribers }, () => new Subscriber(server))
  try {
    await Promise.all(subscribers.map((one) => one.started))
    const began = performance.now()
    const { steps, ms } = wanted
    const runs = await Promise.all(
      Array.from({ length: wanted.runs }, () => server.client.runs.start('steady', { steps, ms })),
    )
    await expect
      .poll(() => subscribers.filter(({ ended }) => ended < wanted.runs).length, { timeout: 500_000, interval: 50 })
      .toBe(0)
    const seconds = (performance.now() - began) / 1_000
    const lengths = new Map<string, number>()
    for (const { id } of runs) lengths.set(id, (await server.client.call('runs.journal', { run: id })).length)
    const events = [...lengths.values()].reduce((sum, length) => sum + length, 0)
    for (const { wrong, last } of subscribers) {
      expect(wrong).toEqual([])
      expect(last).toEqual(lengths)
    }
    return { events, deliveries: events * subscribers.length, seconds, memory: await server.memory() }
  } finally {
    for (const one of subscribers) one.close()
  }
}
