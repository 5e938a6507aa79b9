/** Somebody who takes webhooks, on loopback. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Notification } from 'nerve/server'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly notification: Notification
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
}

/** `answer` decides what is said to each; without it everything is taken. */
export async function webhookReceiver(
  answer: (received: Received, response: ServerResponse) => void = (_received, response) => void response.end(),
): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      const one = { headers: request.headers, body, notification: JSON.parse(body) as Notification }
      received.push(one)
      answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received }
}
