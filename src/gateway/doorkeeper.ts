/**
 * Who may come in. A gateway is for programs on this machine that were given a token: a page in a browser, which can reach loopback
 * too, names itself by its Origin, or by a Host that it made point here.
 */
import type { IncomingMessage } from 'node:http'
import type { ModelFailure } from './exchange.ts'
import { failureOf } from './formats/failures.ts'

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** Why a request is refused before anybody looks at its token. */
export function wrongVisitor({ headers, socket }: IncomingMessage): ModelFailure | undefined {
  const port = socket.localPort ?? 0
  const own = LOOPBACK.map((name) => `${name}:${port}`)
  const host = headers.host?.toLowerCase()
  if (host === undefined || !own.includes(host))
    return failureOf('forbidden', `The gateway answers as ${own[0]}, and not as ${JSON.stringify(host ?? '')}.`)
  const { origin } = headers
  if (origin !== undefined && !own.some((name) => origin === `http://${name}`))
    return failureOf('forbidden', `Pages of ${JSON.stringify(origin)} may not use the gateway.`)
  return undefined
}

/** The token, wherever the client's format puts its key. */
export function tokenIn({ headers, url }: IncomingMessage): string | undefined {
  const bearer = /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  const key = single(headers['x-api-key']) ?? single(headers['x-goog-api-key'])
  return key ?? bearer ?? new URLSearchParams(url?.split('?')[1] ?? '').get('key') ?? undefined
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined
}
