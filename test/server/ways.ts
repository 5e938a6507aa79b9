/** Every way to a host under test, with a client at its end. */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { connect, connectHttp, type Client } from 'nerve/client'
import { createClient } from '../../src/surfaces/client/client.ts'
import type { Connection } from '../../src/surfaces/client/connection.ts'
import { serviceConnection } from '../../src/surfaces/client/service-connection.ts'
import type { UnderTest } from './host-under-test.ts'

export interface Way {
  readonly open: (under: UnderTest) => Promise<Client> | Client
  /** Whether what only neighbours may do can be done here. */
  readonly near: boolean
}

const own = { scope: 'control', local: true, via: 'sdk' } as const

export const WAYS: Readonly<Record<string, Way>> = {
  'in process': {
    near: true,
    open: ({ service }) => createClient(serviceConnection(service, { caller: own, close: () => Promise.resolve() })),
  },
  'a unix socket': { near: true, open: ({ socket }) => connect(socket) },
  TCP: { near: false, open: ({ url, token }) => connect(url.replace('http:', 'tcp:'), { token }) },
  HTTP: { near: false, open: ({ url, token }) => connectHttp(url, token) },
  'a WebSocket': { near: false, open: async (under) => createClient(await webSocketConnection(under)) },
}

/** The line protocol in messages of a WebSocket: what a page in a browser would do. */
async function webSocketConnection({ url, token }: UnderTest): Promise<Connection> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/socket`, {
    headers: { authorization: `Bearer ${token}` },
  })
  await once(socket, 'open')
  let last = 0
  const hears = new Map<number, (reply: Record<string, unknown>) => void>()
  socket.on('message', (data) => {
    const reply = JSON.parse((data as Buffer).toString()) as { id: number }
    hears.get(reply.id)?.(reply)
  })
  const ask = (frame: object, hear: (reply: Record<string, unknown>) => void): number => {
    last += 1
    hears.set(last, hear)
    socket.send(JSON.stringify({ id: last, ...frame }))
    return last
  }
  const failed = (error: unknown): Error => Object.assign(new Error((error as Error).message), error)
  const over = new AbortController()
  return {
    closed: over.signal,
    call: (call, input) =>
      new Promise((resolve, reject) =>
        ask({ call, input }, ({ result, error }) => (error === undefined ? resolve(result) : reject(failed(error)))),
      ),
    async *feed(feed, input, signal) {
      const got: Record<string, unknown>[] = []
      let news = Promise.withResolvers<void>()
      const id = ask({ feed, input }, (reply) => {
        got.push(reply)
        news.resolve()
      })
      const stop = (): void => socket.send(JSON.stringify({ id, stop: true }))
      signal.addEventListener('abort', stop)
      let isOver = false
      try {
        for (;;) {
          await news.promise
          news = Promise.withResolvers()
          for (const reply of got.splice(0)) {
            isOver = reply['error'] !== undefined || reply['end'] === true
            if (reply['error'] !== undefined) throw failed(reply['error'])
            if (isOver) return
            yield reply
          }
        }
      } finally {
        signal.removeEventListener('abort', stop)
        if (!isOver) stop()
      }
    },
    close: async () => {
      over.abort()
      socket.close()
      await once(socket, 'close')
    },
  }
}
