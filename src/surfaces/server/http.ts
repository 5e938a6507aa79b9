/** The contract over HTTP: a route for each name, feeds as server-sent events. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { NerveError } from '../../base/nerve-error.ts'
import { isFeed, isName, isSafe, type Name } from '../../host/contract/contract.ts'
import { shortened } from '../../host/contract/place.ts'
import type { Service } from '../../host/contract/service.ts'
import { encode, errorOnWire, nameAt } from '../../host/contract/wire.ts'
import { bearerIn, type Doorkeeper, type Visitor } from './doorkeeper.ts'
import { statusOf } from './http-status.ts'
import { itemEvent } from './item-text.ts'
import { streamLink } from './link.ts'
import { mountAt, type Mounts } from './mount.ts'
import { openApi } from './open-api.ts'
import { inputFromQuery } from './query-input.ts'

export interface HttpOptions {
  readonly service: Service
  readonly doorkeeper: Doorkeeper
  readonly maxBody: number
  readonly patience?: number | undefined
  readonly version?: string | undefined
  readonly mounts?: Mounts | undefined
  readonly onProblem: (error: unknown) => void
}

const BODY_MS = 30_000
const BEAT_MS = 15_000
/** Of the cursor of a reader that says where it was by a header. */
const MOST_IN_HEADER = 32_768

/** Answers one request. `isNear`: it came through a socket that only the user can open. */
export async function answerHttp(
  options: HttpOptions,
  { request, response, isNear }: { request: IncomingMessage; response: ServerResponse; isNear: boolean },
): Promise<void> {
  try {
    // Looked at first: who does not belong here learns nothing else.
    if (!isNear) options.doorkeeper.checkAddress(request.headers, request.socket)
    allowOrigin(request, response)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    const visitor = letIn(options.doorkeeper, request, isNear)
    visitor.count()
    // Some answers take their time. Whether the client is still there, TCP finds out.
    request.socket.setTimeout(0)
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    if (pathname === '/v1/openapi.json') return sendJson(response, 200, JSON.stringify(openApi(options.version)))
    const mount = mountAt(options.mounts, pathname)
    if (mount !== undefined) {
      const body = () => bodyOf(request, options.maxBody)
      return await mount.answer({ request, response, visitor, body, patience: options.patience })
    }
    const name = routeOf(pathname, request)
    const input =
      request.method === 'POST' ? await bodyOf(request, options.maxBody) : inputFromQuery(name, searchParams)
    const isBrief = request.method === 'GET'
    if (isFeed(name)) await sendFeed(options, { name, input: withLastId(input, request), visitor, response, isBrief })
    else sendJson(response, 200, encode((await call(options, { name, input, visitor, response })) ?? null))
  } catch (error) {
    sendError(response, error, options)
  }
}

function letIn(doorkeeper: Doorkeeper, request: IncomingMessage, isNear: boolean): Visitor {
  if (isNear) return doorkeeper.neighbour()
  return doorkeeper.withToken(bearerIn(request.headers), request.socket.remoteAddress ?? '', 'http')
}

function routeOf(path: string, { method }: IncomingMessage): Name {
  const name = nameAt(path) ?? ''
  if (!isName(name))
    throw new NerveError(
      'not-found',
      `There is nothing at ${JSON.stringify(path.slice(0, 100))}. See: /v1/openapi.json`,
    )
  const methods = isSafe(name) ? ['GET', 'POST'] : ['POST']
  if (methods.includes(method ?? '')) return name
  throw new NerveError('bad-input', `${name} takes ${methods.join(' and ')}, not ${method}.`, {
    data: { reason: 'method' },
  })
}

/** The answers may be read by pages that were allowed to ask: `checkAddress` refused all others. */
function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('cache-control', 'no-store')
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('vary', 'origin')
  if (headers.origin === undefined) return
  response.setHeader('access-control-allow-origin', headers.origin)
  response.setHeader('access-control-allow-headers', 'authorization, content-type, last-event-id')
  response.setHeader('access-control-allow-methods', 'GET, POST')
}

async function bodyOf(request: IncomingMessage, most: number): Promise<unknown> {
  // Pages can send other types without asking first.
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new NerveError('bad-input', 'The body has to be JSON: content-type: application/json', {
      data: { reason: 'type' },
    })
  const chunks: Buffer[] = []
  let length = Number(request.headers['content-length'] ?? 0) > most ? Number.POSITIVE_INFINITY : 0
  const late = setTimeout(() => request.destroy(), BODY_MS)
  try {
    if (length <= most)
      for await (const chunk of request) {
        length += (chunk as Buffer).length
        if (length > most) break
        chunks.push(chunk as Buffer)
      }
  } finally {
    clearTimeout(late)
  }
  if (length > most)
    throw new NerveError('limit-reached', `The body is larger than ${most} bytes.`, { data: { reason: 'size' } })
  const text = Buffer.concat(chunks).toString('utf8')
  try {
    return text.trim() === '' ? {} : JSON.parse(text)
  } catch {
    throw new NerveError('bad-input', 'The body is not JSON.')
  }
}

/** A browser that lost its feed says by this where it was. */
function withLastId(input: unknown, { headers }: IncomingMessage): unknown {
  const last = headers['last-event-id']
  return typeof last === 'string' && last !== '' && typeof input === 'object' ? { ...input, after: last } : input
}

interface Asked {
  readonly name: Name
  readonly input: unknown
  readonly visitor: Visitor
  readonly response: ServerResponse
}

interface AskedFeed extends Asked {
  /** Cursors come back in a header. */
  readonly isBrief: boolean
}

function call({ service }: HttpOptions, { name, input, visitor, response }: Asked): Promise<unknown> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return service.call(name, input, visitor.caller, gone.signal)
}

async function sendFeed({ service, patience }: HttpOptions, asked: AskedFeed): Promise<void> {
  const { name, input, visitor, response, isBrief } = asked
  const link = streamLink(response, patience)
  const items = await service.feed(name, input, visitor.caller, link.over)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
  response.flushHeaders()
  const beat = setInterval(() => void link.send(': \n\n'), BEAT_MS)
  try {
    for await (const { item, cursor: whole } of items) {
      const cursor = isBrief && whole !== undefined ? shortened(whole, MOST_IN_HEADER) : whole
      if (link.over.aborted || !visitor.isWelcome()) return
      await link.send(item === undefined ? `id: ${cursor ?? ''}\n\n` : itemEvent(item, cursor))
    }
    await link.send('event: end\ndata: {}\n\n')
  } catch (error) {
    await link.send(`event: error\ndata: ${JSON.stringify(errorOnWire(error))}\n\n`)
  } finally {
    clearInterval(beat)
    link.close()
  }
}

function sendJson(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(text)
}

function sendError(response: ServerResponse, error: unknown, { onProblem }: HttpOptions): void {
  const status = statusOf(error)
  // Ours to know of, whoever asked.
  if (status >= 500 && !(error instanceof NerveError)) onProblem(error)
  if (response.headersSent || response.destroyed) return
  if (status === 401) response.setHeader('www-authenticate', 'Bearer')
  if (status === 429) response.setHeader('retry-after', '1')
  // What is left of the body is not read.
  if (status === 413 || status === 421) response.setHeader('connection', 'close')
  sendJson(response, status, JSON.stringify({ error: errorOnWire(error) }))
}
