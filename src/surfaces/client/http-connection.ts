/** A host over HTTP. Uses nothing but what browsers have too. */
import { NerveError } from '../../base/nerve-error.ts'
import { decode, encodeInput, pathOf } from '../../host/contract/wire.ts'
import { connectionClosed, connectionLost, errorIn, notReached, type Connection, type Delivery } from './connection.ts'
import { serverSentEvents } from './server-sent-events.ts'

export interface HttpConnectionOptions {
  readonly url: string
  readonly token?: string | undefined
  /** Instead of the global one. */
  readonly fetch?: typeof fetch | undefined
}

export function httpConnection({ url, token: given, fetch: own }: HttpConnectionOptions): Connection {
  const base = baseOf(url)
  const token = given === undefined ? undefined : tokenIn(given)
  const over = new AbortController()
  const get = own ?? ((input: string, init: RequestInit) => fetch(input, init))
  const request = async (name: string, input: unknown, signal: AbortSignal, accept: string): Promise<Response> => {
    const body = encodeInput(input, name)
    const headers = {
      accept,
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    }
    try {
      return await get(`${base}${pathOf(name)}`, { method: 'POST', headers, body, signal, redirect: 'error' })
    } catch (cause) {
      if (signal.aborted) throw connectionClosed(base)
      throw notReached(base, cause)
    }
  }
  const both = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
  return {
    closed: over.signal,
    async call(name, input, signal) {
      const response = await request(name, input, both(signal), 'application/json')
      return resultOf(response, base)
    },
    async *feed(name, input, signal) {
      const response = await request(name, input, both(signal), 'text/event-stream')
      if (!response.ok || response.body === null) {
        await resultOf(response, base)
        throw connectionLost(base)
      }
      yield* deliveries(response.body, base, both(signal))
    },
    close() {
      over.abort()
      return Promise.resolve()
    },
  }
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new NerveError('bad-option', `${JSON.stringify(url)} is not the address of a host: http://127.0.0.1:4400`)
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}`
}

/** One that has no place in a header would be refused there, and shown with why. */
function tokenIn(given: string): string {
  const token = given.trim()
  if (/^[\u0021-\u007E]+$/.test(token)) return token
  throw new NerveError(
    'bad-option',
    'The token is empty, or has signs in it that none has. Take it from: nerve token show NAME',
  )
}

/** What stands before a host says these while the host is away. */
const AWAY: readonly number[] = [502, 503, 504]

async function resultOf(response: Response, base: string): Promise<unknown> {
  const { ok, status } = response
  let text: string
  try {
    text = await response.text()
  } catch (cause) {
    throw connectionLost(base, cause)
  }
  let body: unknown
  try {
    body = decode(text)
  } catch (cause) {
    if (AWAY.includes(status)) throw connectionLost(base, away(status))
    throw new NerveError('bad-output', `${base} answered ${status} with something that is not JSON.`, { cause })
  }
  if (ok) return body
  const error = errorIn(body)
  if (error !== undefined) throw error
  if (AWAY.includes(status)) throw connectionLost(base, away(status))
  throw new NerveError('bad-output', `${base} answered ${status}. Is it a host of Nerve?`)
}

function away(status: number): Error {
  return new Error(`what stands before it answered ${status}`)
}

async function* deliveries(
  body: ReadableStream<Uint8Array>,
  base: string,
  signal: AbortSignal,
): AsyncGenerator<Delivery, void, void> {
  try {
    for await (const { event, data, id } of serverSentEvents(body)) {
      if (event === 'end') return
      if (event === 'error') throw errorIn({ error: decode(data) }) ?? connectionLost(base)
      yield { ...(data === '' ? {} : { item: decode(data) }), ...(id === undefined ? {} : { cursor: id }) }
    }
  } catch (cause) {
    if (signal.aborted) return
    throw cause instanceof NerveError ? cause : connectionLost(base, cause)
  }
  if (!signal.aborted) throw connectionLost(base)
}
