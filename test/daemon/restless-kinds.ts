/**
 * Clients that nobody here wrote, or that anybody could write in a minute: each reads the feed of all runs in its way, from a
 * place on, until it is cut off. On the socket of the user, and with a token on the port.
 */
import { spawn } from 'node:child_process'
import { request } from 'node:http'
import { connect as connectSocket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { WebSocket } from 'ws'

/** The ways in to a daemon that comes and goes. */
export interface Doors {
  readonly socket: string
  /** The port is another one each time that it starts. */
  readonly url: () => string
  readonly token: string
}

/** Something that reads until it is cut off: gives items and places, and ends or throws when it is over. */
export interface Reading {
  readonly lines: AsyncIterable<{ item?: unknown; cursor?: string }>
  readonly cut: () => void
}

export type Kind = (doors: Doors, after: string) => Reading

const input = (after: string): object => ({ after, type: '*' })

/** Lines on the socket, dropped without a word. */
const lines: Kind = ({ socket }, after) => {
  const there = connectSocket(socket)
  there.on('error', () => undefined)
  there.write(`${JSON.stringify({ id: 1, feed: 'events', input: input(after) })}\n`)
  return { lines: jsonLines(there), cut: () => there.destroy() }
}

/** Server-sent events over HTTP on the socket. */
const events: Kind = ({ socket }, after) => {
  const asked = request({ socketPath: socket, path: '/v1/events', headers: { 'last-event-id': after } })
  asked.on('error', () => undefined).end()
  return { lines: sseLines(responseOf(asked)), cut: () => asked.destroy() }
}

/** curl, killed. */
const curl: Kind = ({ socket }, after) => {
  const args = ['-sSN', '--unix-socket', socket, '-H', `last-event-id: ${after}`, 'http://nerve/v1/events']
  const child = spawn('curl', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  return { lines: sseLines(Promise.resolve(child.stdout)), cut: () => child.kill('SIGKILL') }
}

const webSocket: Kind = ({ socket }, after) => {
  const there = new WebSocket('ws://nerve/v1/socket', { createConnection: () => connectSocket(socket) })
  there.on('error', () => undefined)
  there.on('open', () => there.send(JSON.stringify({ id: 1, feed: 'events', input: input(after) })))
  return { lines: messagesOf(there), cut: () => there.terminate() }
}

/** Lines on the port, where the first one is the token. */
const linesWithToken: Kind = ({ url, token }, after) => {
  const { port, hostname } = new URL(url())
  const there = connectSocket(Number(port), hostname)
  there.on('error', () => undefined)
  there.write(`${JSON.stringify({ token })}\n${JSON.stringify({ id: 1, feed: 'events', input: input(after) })}\n`)
  return { lines: jsonLines(there), cut: () => there.destroy() }
}

/** Server-sent events on the port. */
const eventsWithToken: Kind = ({ url, token }, after) => {
  const headers = { authorization: `Bearer ${token}`, 'last-event-id': after }
  const asked = request(`${url()}/v1/events`, { headers, agent: false })
  asked.on('error', () => undefined).end()
  return { lines: sseLines(responseOf(asked)), cut: () => asked.destroy() }
}

export const KINDS: Readonly<Record<string, Kind>> = {
  lines,
  events,
  curl,
  webSocket,
  'lines with a token': linesWithToken,
  'events with a token': eventsWithToken,
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
