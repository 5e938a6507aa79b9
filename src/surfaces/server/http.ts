/** The contract over HTTP: a route for each name, feeds as server-sent events. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { NerveError } from '../../base/nerve-error.ts'
import { isFeed, isName, isSafe, type Name } from '../../host/contract/contract.ts'
import { shortened } from '../../host/contract/place.ts'
import type { Service } from '../../host/contract/service.ts'
import { encode, errorOnWire, nameAt } from '../../host/contract/wire.ts'
import { bearerIn, takenBack, type Doorkeeper, type Visitor } from './doorkeeper.ts'
import { allowedIn, statusOf, wrongMethod } from './http-status.ts'
import { itemEvent } from './item-text.ts'
import { tooLarge } from './largest.ts'
import { PATIENCE_MS, streamLink } from './link.ts'
import { mountAt, type Mounts } from './mount.ts'
import { openApi } from './open-api.ts'
import { inputFromQuery } from './query-input.ts'
import { readJson } from './read-json.ts'

export interface HttpOptions {
  readonly service: Service
  readonly doorkeeper: Doorkeeper
  readonly maxBody: number
  readonly patience?: number | undefined
  readonly version?: string | undefined
  readonly mounts?: Mounts | undefined
  readonly onProblem: (error: unknown) => void
}

const BEAT_MS = 15_000
/** So many times the most that is taken is read, and thrown away: a client that is still sending would not hear why it is refused. */
const READ_ON = 16
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
    if (request.method === 'OPTIONS') return void response.writeHead(204, { connection: 'close' }).end()
    const visitor = letIn(options.doorkeeper, request, isNear)
    visitor.count()
    // Some answers take their time. Whether the client is still there, TCP finds out.
    if (!unread.has(request.socket)) request.socket.setTimeout(0)
    const { pathname, searchParams } = addressOf(request)
    if (pathname === '/v1/openapi.json') return sendJson(options, response, 200, openApiText(options.version))
    const mount = mountAt(options.mounts, pathname)
    if (mount !== undefined) {
      const body = () => bodyOf(request, options)
      return await mount.answer({ request, response, visitor, body, patience: options.patience })
    }
    const name = routeOf(pathname, request)
    const input = request.method === 'POST' ? await bodyOf(request, options) : inputFromQuery(name, searchParams)
    const isBrief = request.method === 'GET'
    if (isFeed(name)) await sendFeed(options, { name, input: withLastId(input, request), visitor, response, isBrief })
    else await sendResult(options, { name, input, visitor, response })
  } catch (error) {
    sendError(response, error, options)
  }
}

function addressOf({ url = '/' }: IncomingMessage): URL {
  const found = URL.parse(url, 'http://host')
  if (found !== null) return found
  throw new NerveError('bad-input', `${JSON.stringify(url.slice(0, 100))} is not an address.`)
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
  throw wrongMethod(name, methods, method)
}

/** The answers may be read by pages that were allowed to ask: `checkAddress` refused all others. */
function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('cache-control', 'no-store')
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('vary', 'origin')
  if (headers.origin === undefined) return
  response.setHeader('access-control-allow-origin', headers.origin)
  response.setHeader('access-control-allow-headers', headers['access-control-request-headers'] ?? 'authorization')
  response.setHeader('access-control-allow-methods', 'GET, POST, DELETE')
  response.setHeader('access-control-expose-headers', 'mcp-session-id')
}

async function bodyOf(
  request: IncomingMessage,
  { maxBody: most, patience = PATIENCE_MS }: HttpOptions,
): Promise<unknown> {
  // Pages can send other types without asking first.
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new NerveError('bad-input', 'The body has to be JSON: content-type: application/json', {
      data: { reason: 'type' },
    })
  const chunks: Buffer[] = []
  const announced = Number(request.headers['content-length'] ?? 0)
  let length = 0
  const late = setTimeout(() => request.destroy(), patience)
  try {
    if (announced <= READ_ON * most)
      for await (const chunk of request) {
        length += (chunk as Buffer).length
        if (length > READ_ON * most) break
        if (length <= most) chunks.push(chunk as Buffer)
      }
  } catch (cause) {
    throw new NerveError('bad-input', 'The body did not come as a whole.', { cause })
  } finally {
    clearTimeout(late)
  }
  if (Math.max(length, announced) > most) throw tooLarge(most)
  return length === 0 ? {} : readJson(Buffer.concat(chunks), 'The body')
}

/** A browser that lost its feed says by this where it was. */
function withLastId(input: unknown, { headers }: IncomingMessage): unknown {
  const last = headers['last-event-id']
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return typeof last === 'string' && last !== '' && isObject ? { ...input, after: last } : input
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

async function sendResult(options: HttpOptions, { name, input, visitor, response }: Asked): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const text = encode((await options.service.call(name, input, visitor.caller, gone.signal)) ?? null)
  if (!visitor.isWelcome()) throw takenBack()
  if (response.destroyed) return
  response.once('close', visitor.owe(text.length))
  sendJson(options, response, 200, text)
}

async function sendFeed({ service, patience }: HttpOptions, asked: AskedFeed): Promise<void> {
  const { name, input, visitor, response, isBrief } = asked
  const link = streamLink(response, patience)
  response.once('close', visitor.listen())
  const items = await service.feed(name, input, visitor.caller, link.over)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
  response.flushHeaders()
  const beat = setInterval(() => {
    if (visitor.isWelcome()) void link.send(': \n\n')
    else link.close()
  }, BEAT_MS)
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

/** How many answers are on their way to a client. */
const unread = new WeakMap<object, number>()

let document: { readonly version: string | undefined; readonly text: string } | undefined

/** Made once: it takes longer than most that is asked. */
function openApiText(version: string | undefined): string {
  if (document === undefined || document.version !== version)
    document = { version, text: JSON.stringify(openApi(version)) }
  return document.text
}

function sendJson(
  { patience = PATIENCE_MS }: HttpOptions,
  response: ServerResponse,
  status: number,
  text: string,
): void {
  const { socket } = response.req
  unread.set(socket, (unread.get(socket) ?? 0) + 1)
  // Who takes nothing of it for so long is let go.
  socket.setTimeout(patience)
  response.once('close', () => {
    const left = (unread.get(socket) ?? 0) - 1
    if (left > 0) return void unread.set(socket, left)
    unread.delete(socket)
    // Another answer may still be made.
    socket.setTimeout(0)
  })
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(text)
}

function sendError(response: ServerResponse, error: unknown, options: HttpOptions): void {
  const status = statusOf(error)
  // Ours to know of, whoever asked.
  if (status >= 500 && !(error instanceof NerveError)) options.onProblem(error)
  // In the middle of an answer there is no other way to say that it is not whole.
  if (response.headersSent) return void response.destroy()
  if (response.destroyed) return
  if (status === 401) response.setHeader('www-authenticate', 'Bearer')
  if (status === 405 && error instanceof NerveError) response.setHeader('allow', allowedIn(error))
  if (status === 429) response.setHeader('retry-after', '1')
  // What is left of the body is not read, and who was not let in does not stay.
  if ([401, 403, 413, 421].includes(status)) response.setHeader('connection', 'close')
  sendJson(options, response, status, JSON.stringify({ error: errorOnWire(error) }))
}
