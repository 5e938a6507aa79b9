/**
 * The gateway: a server on loopback that speaks the formats of model providers to whatever agent or program is pointed at it, and has
 * calls answered by back ends. It owns its socket, its clients and its log; it knows nothing of runs but what a token says.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock, type Clock } from '../base/clock.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Backend } from './backend.ts'
import { Clients, type GatewayToken, type TokenOptions } from './clients.ts'
import { tokenIn, wrongVisitor } from './doorkeeper.ts'
import type { ModelFailure, WireFormat } from './exchange.ts'
import { ExchangeLogger, type ExchangeLog, type LogOptions } from './exchange-log.ts'
import { failureOf } from './formats/failures.ts'
import { FORMATS } from './formats/formats.ts'
import { routeOf } from './formats/route.ts'
import { writeRecord } from './gateway-record.ts'
import { PRICES, type Price } from './prices.ts'
import { serveCall, type Service } from './serve-call.ts'

export interface ModelRoute {
  /** The models it is for; `*` stands for any letters (default: all). The first route that fits is taken. */
  readonly model?: string
  readonly backend: Backend
}

export interface GatewayOptions {
  /** Who answers: one back end, or one for some models and another for others. */
  readonly backend?: Backend
  readonly routes?: readonly ModelRoute[]
  /** Default: a free one. */
  readonly port?: number
  /** `127.0.0.1` or `::1`: a gateway is not reached from other machines. */
  readonly host?: '127.0.0.1' | '::1'
  /** Prices by model, over those of Nerve. */
  readonly prices?: Readonly<Record<string, Price>>
  readonly log?: Omit<LogOptions, 'onProblem'>
  /** The largest body that is taken, in bytes (default 64 MiB). */
  readonly maxBody?: number
  /** How many tokens are reserved for a reply when the client names no limit (default 4096). */
  readonly assumedOutput?: number
  readonly clock?: Clock
  /** Hears of what no client can be told: bugs of back ends, a log that cannot be written. */
  readonly onProblem?: (error: unknown) => void
}

export interface Gateway {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly port: number
  /** Makes a token: what a client gives as its API key. One for each node of a run. */
  token(options?: TokenOptions): GatewayToken
  readonly log: ExchangeLog
  /** Ends all calls, and resolves when the log is written and the port is free. */
  close(): Promise<void>
}

const LARGEST_BODY = 64 * 1_048_576

export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { clock = systemClock, host = '127.0.0.1', onProblem = warn } = options
  const routes = routesOf(options)
  const clients = new Clients()
  const logger = new ExchangeLogger({ ...options.log, onProblem }, () => clock.now())
  const service: Service = {
    backendFor: (model) => routes.find(({ fits }) => fits(model))?.backend,
    prices: { ...PRICES.models, ...options.prices },
    logger,
    clock,
    maxBody: options.maxBody ?? LARGEST_BODY,
    assumedOutput: options.assumedOutput ?? 4_096,
    onProblem,
  }
  const house: House = { service, clients, backends: routes.map(({ backend }) => backend), open: 0 }
  const server = createServer((incoming, response) => {
    house.open += 1
    response.once('close', () => (house.open -= 1))
    visit(house, incoming, response).catch((error: unknown) => {
      onProblem(error)
      response.destroy()
    })
  })
  // Clients keep connections: one that is closed just when it is used again costs them a call.
  server.keepAliveTimeout = 60_000
  await listen(server, options.port ?? 0, host)
  const { port } = server.address() as AddressInfo
  const url = `http://${host === '::1' ? '[::1]' : host}:${port}`
  const names = house.backends.map(({ name }) => name)
  const started = { pid: process.pid, url, backends: names, started: clock.now() }
  const forget = options.log?.folder === undefined ? undefined : await writeRecord(options.log.folder, started)
  return {
    url,
    port,
    token: (more = {}) => clients.create(more),
    log: logger,
    async close() {
      clients.end()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      await logger.flush()
      await forget?.()
    },
  }
}

interface House {
  readonly service: Service
  readonly clients: Clients
  readonly backends: readonly Backend[]
  open: number
}

async function visit(house: House, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming
  const route = routeOf(method, url, headers)
  const format = FORMATS[route?.format ?? likelyFormat(incoming)]
  const refuse = (failure: ModelFailure): void => {
    const { status, headers: more, body } = format.writeFailure(failure, house.service.clock.now())
    // Its body is not read: the connection cannot be used again.
    json(response.setHeader('connection', 'close'), { status, headers: more, body })
  }
  const wrong = wrongVisitor(incoming)
  if (wrong !== undefined) return refuse(wrong)
  if (/^\/health\/?(?:\?|$)/.test(url) && method === 'GET') return health(house, response)
  const token = tokenIn(incoming)
  const client = token === undefined ? undefined : house.clients.find(token)
  if (client === undefined)
    return refuse(
      failureOf('unauthorized', 'This is no token of the gateway. Give one as the API key: gateway.token() makes it.'),
    )
  if (route === undefined)
    return refuse(failureOf('not-found', `The gateway has nothing at ${method} ${url.split('?')[0]}.`))
  if (route.operation === 'models') {
    const ids = [...new Set(house.backends.flatMap(({ models = [] }) => models))]
    return json(response, { status: 200, body: format.writeModels(ids.map((id) => ({ id }))) })
  }
  return serveCall(house.service, { incoming, response, format, route, client })
}

interface JsonAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

function json(response: ServerResponse, { status, headers, body }: JsonAnswer): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function health({ open, backends, service }: House, response: ServerResponse): void {
  const body = { status: 'ok', backends: backends.map(({ name }) => name), open: open - 1, at: service.clock.now() }
  json(response, { status: 200, body })
}

/** In whose words to refuse what has no route. */
function likelyFormat({ headers }: IncomingMessage): WireFormat {
  if (headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined) return 'anthropic'
  return headers['x-goog-api-key'] === undefined ? 'openai-chat' : 'gemini'
}

interface Fitting {
  readonly fits: (model: string) => boolean
  readonly backend: Backend
}

function routesOf({ backend, routes = [] }: GatewayOptions): readonly Fitting[] {
  const all = backend === undefined ? routes : [...routes, { backend }]
  if (all.length === 0)
    throw new NerveError('bad-option', 'A gateway needs somebody who answers: give backend, or routes.')
  return all.map(({ model = '*', backend: to }) => {
    const pattern = new RegExp(`^${model.split('*').map(escape).join('.*')}$`, 'i')
    return { backend: to, fits: (asked) => pattern.test(asked) }
  })
}

function escape(text: string): string {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another program uses it' : cause.message
      reject(
        new NerveError(
          'not-ready',
          `The gateway cannot listen on ${host}:${port}: ${why}. Give another port, or none.`,
          { cause },
        ),
      )
    })
    server.listen(port, host, () => resolve())
  })
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { code: 'NERVE_GATEWAY' })
}
