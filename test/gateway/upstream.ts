/** A provider on loopback that does what a test tells it, and remembers what it was sent. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface FakeUpstream {
  readonly url: string
  readonly received: Received[]
  /** How many answers are being sent now, and how many clients have left before the end. */
  readonly counts: { open: number; left: number }
}

export type Behaviour = (response: ServerResponse, received: Received, number: number) => void | Promise<void>

export const KEY = 'sk-upstream-0123456789abcdef'
export const ENV = { UPSTREAM_KEY: KEY }

export async function fakeUpstream(behave: Behaviour): Promise<FakeUpstream> {
  const received: Received[] = []
  const counts = { open: 0, left: 0 }
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('end', () => {
      const one = { url: incoming.url ?? '', headers: incoming.headers, body: Buffer.concat(pieces).toString() }
      received.push(one)
      counts.open += 1
      response.once('close', () => {
        counts.open -= 1
        if (!response.writableFinished) counts.left += 1
      })
      void behave(response, one, received.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, counts }
}

export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-4-5',
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1_000, output_tokens: 200 },
}

const frame = (data: { type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

export const OPENING =
  frame({
    type: 'message_start',
    message: { ...MESSAGE, content: [], usage: { input_tokens: 1_000, output_tokens: 1 } },
  } as never) + frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never)
export const delta = (text: string): string =>
  frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never)
export const CLOSING =
  frame({ type: 'content_block_stop', index: 0 } as never) +
  frame({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 200 },
  } as never) +
  frame({ type: 'message_stop' })

export function sendStream(response: ServerResponse, ...texts: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(OPENING + texts.map(delta).join('') + CLOSING)
}
