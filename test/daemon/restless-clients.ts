/**
 * Clients of every kind that read the feed of all runs, and are closed or killed and come back again and again. Each keeps
 * account of every durable event that it got, in the order in which it came.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'nerve/client'
import { expect } from 'vitest'
import { WebSocket } from 'ws'
import { Account } from '../server/reading.ts'

/** Something that reads until it is cut off: gives items and places, and ends or throws when it is over. */
interface Reading {
  readonly lines: AsyncIterable<{ item?: unknown; cursor?: string }>
  readonly cut: () => void
}

type Kind = (socket: string, after: string) => Reading

const input = (after: string): object => ({ after, type: '*' })

/** Lines on the socket, dropped without a word. */
const lines: Kind = (socket, after) => {
  const there = connectSocket(socket)
  there.on('error', () => undefined)
  there.write(`${JSON.stringify({ id: 1, feed: 'events', input: input(after) })}\n`)
  return { lines: jsonLines(there), cut: () => there.destroy() }
}

/** Server-sent events over HTTP on the socket. */
const events: Kind = (socket, after) => {
  const asked = request({ socketPath: socket, path: '/v1/events', headers: { 'last-event-id': after } })
  asked.on('error', () => undefined).end()
  return { lines: sseLines(responseOf(asked)), cut: () => asked.destroy() }
}

/** curl, killed. */
const curl: Kind = (socket, after) => {
  const args = ['-sSN', '--unix-socket', socket, '-H', `last-event-id: ${after}`, 'http://nerve/v1/events']
  const child = spawn('curl', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  return { lines: sseLines(Promise.resolve(child.stdout)), cut: () => child.kill('SIGKILL') }
}

const webSocket: Kind = (socket, after) => {
  const there = new WebSocket(`ws+unix://${socket}:/v1/socket`)
  there.on('error', () => undefined)
  there.on('open', () => there.send(JSON.stringify({ id: 1, feed: 'events', input: input(after) })))
  return { lines: messagesOf(there), cut: () => there.terminate() }
}

const KINDS: Readonly<Record<string, Kind>> = { lines, events, curl, webSocket }

/** What is recorded of each run. */
export type Journals = ReadonlyMap<string, readonly Entry[]>

interface Entry {
  readonly seq: number
  readonly type: string
  readonly path?: string
  readonly id?: string
  readonly prompt?: string
}

export interface Restless {
  readonly name: string
  /** How often it came back. */
  readonly visits: () => number
  /** Reads what is left, and ends. */
  readonly finish: () => Promise<void>
  /** What it saw is what is recorded. */
  readonly expectRight: (journals: Journals) => void
}

/** One of each kind that reads the feed of all runs; `chance` gives numbers from 0 to 1. */
export async function restlessClients(socket: string, chance: () => number): Promise<readonly Restless[]> {
  const kinds = Object.entries(KINDS).map(([name, kind]) => restless(name, kind, { socket, chance }))
  return [...kinds, await sdk(socket, chance)]
}

/** Every event of every run, once each and in order. */
function expectAll(name: string, account: Account, journals: Journals): void {
  for (const [run, entries] of journals)
    expect({ name, run, seen: account.seen.get(run) }).toEqual({ name, run, seen: entries.map(({ seq }) => seq) })
}

/** A way to the daemon that can be cut. */
async function unreliable(
  socket: string,
): Promise<{ readonly path: string; readonly cut: () => void; readonly close: () => void }> {
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connectSocket(socket)
    const leave = (): void => {
      open.delete(near)
      near.destroy()
      far.destroy()
    }
    for (const one of [near, far]) one.on('error', () => undefined).on('close', leave)
    open.add(near)
    near.pipe(far).pipe(near)
  })
  const path = `${socket}.unreliable`
  await once(server.listen(path), 'listening')
  const cut = (): void => {
    for (const one of open) one.destroy()
  }
  return { path, cut, close: () => void server.close() }
}

/** A program that does nothing about it: the client comes back by itself. */
async function sdk(socket: string, chance: () => number): Promise<Restless> {
  const way = await unreliable(socket)
  const client = await connect(way.path)
  let timer: NodeJS.Timeout
  const cutLater = (): void => {
    timer = setTimeout(
      () => {
        way.cut()
        cutLater()
      },
      20 + chance() * 600,
    )
  }
  cutLater()
  const account = new Account()
  const over = new AbortController()
  let lost = 0
  let cursor = '0'
  const reading = (async () => {
    const feed = client.events({
      after: '0',
      signal: over.signal,
      onLost: () => (lost += 1),
      onCursor: (at) => (cursor = at),
    })
    for await (const item of feed) account.add(item)
    await client.close()
  })()
  const finish = async (): Promise<void> => {
    clearTimeout(timer)
    over.abort()
    await reading
    way.close()
    await readRest(socket, cursor, account)
  }
  const name = 'sdk'
  return { name, visits: () => lost, finish, expectRight: (journals) => expectAll(name, account, journals) }
}

function restless(
  name: string,
  kind: Kind,
  { socket, chance }: { readonly socket: string; readonly chance: () => number },
): Restless {
  const account = new Account()
  let cursor = '0'
  let over = false
  let visits = 0
  let cut: () => void = () => undefined
  const visit = async (): Promise<void> => {
    visits += 1
    const reading = kind(socket, cursor)
    ;({ cut } = reading)
    const timer = setTimeout(reading.cut, 20 + chance() * 600)
    try {
      for await (const line of reading.lines) {
        if (line.item !== undefined) account.add(line.item as never)
        cursor = line.cursor ?? cursor
      }
    } catch {
      // Cut in the middle of something: what did not come whole did not come.
    } finally {
      clearTimeout(timer)
      reading.cut()
    }
  }
  const coming = (async () => {
    while (!over) {
      await visit()
      // The daemon may be gone.
      await delay(20)
    }
  })()
  const finish = async (): Promise<void> => {
    over = true
    cut()
    await coming
    await readRest(socket, cursor, account)
  }
  return { name, visits: () => visits, finish, expectRight: (journals) => expectAll(name, account, journals) }
}

async function readRest(socket: string, cursor: string, account: Account): Promise<void> {
  const client = await connect(socket)
  for await (const item of client.events({ after: cursor, once: true })) account.add(item)
  await client.close()
}

/** Also ends when what it reads was cut off. */
function linesIn(stream: Readable): AsyncIterable<string> {
  const found = createInterface({ input: stream })
  stream.once('close', () => found.close())
  return found
}

async function* jsonLines(stream: Readable): AsyncGenerator<{ item?: unknown; cursor?: string }> {
  for await (const line of linesIn(stream)) {
    const frame = whole(line)
    if (frame !== undefined) yield frame
  }
}

async function* sseLines(body: Promise<Readable>): AsyncGenerator<{ item?: unknown; cursor?: string }> {
  let id: string | undefined
  let data: string | undefined
  for await (const line of linesIn(await body)) {
    if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('data: ')) data = line.slice(6)
    else if (line === '') {
      const item = data === undefined ? undefined : whole(data)
      yield { ...(item === undefined ? {} : { item }), ...(id === undefined ? {} : { cursor: id }) }
      id = data = undefined
    }
  }
}

function messagesOf(there: WebSocket): AsyncIterable<{ item?: unknown; cursor?: string }> {
  const queue: string[] = []
  let wake: () => void = () => undefined
  let closed = false
  there.on('message', (data) => {
    queue.push((data as Buffer).toString())
    wake()
  })
  there.on('close', () => {
    closed = true
    wake()
  })
  return (async function* () {
    for (;;) {
      const next = queue.shift()
      if (next !== undefined) yield whole(next) ?? {}
      else if (closed) return
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  })()
}

function responseOf(asked: ReturnType<typeof request>): Promise<Readable> {
  return new Promise((resolve, reject) => {
    asked.on('response', resolve).on('error', reject)
  })
}

/** A line that was cut short is no line. */
function whole(text: string): { item?: unknown; cursor?: string } | undefined {
  try {
    return JSON.parse(text) as { item?: unknown; cursor?: string }
  } catch {
    return undefined
  }
}
