// A provider that has all its replies ready, in Anthropic's format: one piece for each token, each in a turn of its own.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const frame = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const message = (content: readonly object[]): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'any',
  content,
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 1 },
})
const events = {
  start: frame({ type: 'message_start', ...{ message: message([]) } }),
  block: frame({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
  token: frame({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text: ' token' } } }),
  blockEnd: frame({ type: 'content_block_stop', ...{ index: 0 } }),
  end: frame({ type: 'message_delta', ...{ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } } }),
  stop: frame({ type: 'message_stop' }),
}
const WHOLE = JSON.stringify({ ...message([{ type: 'text', text: ' token' }]), stop_reason: 'end_turn' })

function stream(response: ServerResponse, tokens: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events.start + events.block)
  let sent = 0
  const next = (): void => {
    if (sent === tokens) return void response.end(events.blockEnd + events.end + events.stop)
    sent += 1
    response.write(events.token)
    setImmediate(next)
  }
  next()
}

const server = createServer((incoming, response) => {
  let text = ''
  incoming.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  incoming.on('end', () => {
    const tokens = Number(/Say (\d+)/.exec(text)?.[1])
    if (tokens > 0) stream(response, tokens)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(WHOLE)
  })
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, token: 'none' }))
})
