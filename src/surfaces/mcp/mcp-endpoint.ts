/**
 * MCP over Streamable HTTP, for both eras of the protocol. Requests of today's clients stand for themselves; those of clients
 * that begin with a handshake belong to a session, which ends when its client says so, or says nothing for a while.
 *
 * Invariant: a session is used by nobody but whoever began it, and with no other rights.
 */
import { randomUUID } from 'node:crypto'
import {
  WebStandardStreamableHTTPServerTransport as Transport,
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type AuthInfo,
  type McpHttpHandler,
  type McpServer,
} from '@modelcontextprotocol/server'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { Client } from '../client/client.ts'
import type { Visitor } from '../server/doorkeeper.ts'
import { wrongMethod } from '../server/http-status.ts'
import type { Mount, Visit } from '../server/mount.ts'
import { createMcpServer } from './mcp-server.ts'
import type { ClientFor, McpMountOptions } from './mcp-mount.ts'
import { sendResponse, webRequest } from './web-exchange.ts'

const IDLE_MS = 30 * 60_000
/** Of each token, so that nobody takes them from others. */
const MOST_SESSIONS = 64
/** How the library begins what it says of a request that is none. */
const REJECTED = 'Rejected inbound request'
const METHODS: readonly string[] = ['GET', 'POST', 'DELETE']

interface Session {
  readonly id: string
  readonly owner: Visitor['caller']
  readonly transport: Transport
  readonly server: McpServer
  readonly client: Client
  /** Answers that are being sent: while there is one, somebody listens. */
  open: number
  timer?: NodeJS.Timeout
}

export class McpEndpoint implements Mount {
  readonly #clientFor: ClientFor
  readonly #options: McpMountOptions
  readonly #today: McpHttpHandler
  readonly #sessions = new Map<string, Session>()
  /** Whose sessions are being made. */
  readonly #beginning = new Map<string, Visitor['caller']>()

  constructor(clientFor: ClientFor, options: McpMountOptions) {
    this.#clientFor = clientFor
    this.#options = { ...options, onProblem: onceEach(options.onProblem) }
    this.#today = createMcpHandler(({ authInfo }) => this.#serverForOne(visitorIn(authInfo)), {
      legacy: 'reject',
      // What is wrong with a request is told to who sent it, and fills no log.
      onerror: (error) => void (error.message.startsWith(REJECTED) || options.onProblem?.(error)),
    })
  }

  async answer(visit: Visit): Promise<void> {
    const { request, visitor } = visit
    if (!METHODS.includes(request.method ?? '')) throw wrongMethod('MCP', METHODS, request.method)
    const parsedBody = request.method === 'POST' ? await visit.body() : undefined
    const asked = webRequest(visit)
    const more = { parsedBody, authInfo: authOf(visitor) }
    if (await isLegacyRequest(asked, parsedBody)) return this.#answerInSession(visit, asked, parsedBody)
    return sendResponse(visit, await this.#today.fetch(asked, more))
  }

  async close(): Promise<void> {
    await this.#today.close()
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session)))
  }

  /** A server that lives as long as one request, and its client with it. */
  async #serverForOne(visitor: Visitor): Promise<McpServer> {
    const { server, client } = await this.#make(visitor)
    server.server.onclose = () => this.#closeClient(client)
    return server
  }

  async #make({ caller, ...visitor }: Visitor): Promise<{ readonly server: McpServer; readonly client: Client }> {
    const client = this.#clientFor({ caller, ...visitor })
    try {
      const { scope, local } = caller
      return { client, server: await createMcpServer(client, { ...this.#options, scope, local }) }
    } catch (error) {
      await client.close()
      throw error
    }
  }

  async #answerInSession(visit: Visit, asked: Request, parsedBody: unknown): Promise<void> {
    const id = asked.headers.get('mcp-session-id')
    const session = id === null ? await this.#begin(visit.visitor, parsedBody) : this.#find(id, visit.visitor)
    session.open += 1
    clearTimeout(session.timer)
    try {
      await sendResponse(visit, await session.transport.handleRequest(asked, { parsedBody }))
    } finally {
      session.open -= 1
      this.#endLater(session)
    }
  }

  #find(id: string, { caller }: Visitor): Session {
    const session = this.#sessions.get(id)
    if (session !== undefined && isSame(session.owner, caller)) return session
    // This status tells clients to begin again.
    throw new NerveError('not-found', 'There is no such session here. It may have ended: begin a new one.')
  }

  async #begin(visitor: Visitor, body: unknown): Promise<Session> {
    if (!isInitializeRequest(body))
      throw new NerveError('bad-input', 'A request of this revision of the protocol needs a session: initialize first.')
    const owners = [...[...this.#sessions.values()].map(({ owner }) => owner), ...this.#beginning.values()]
    if (owners.filter((owner) => isSame(owner, visitor.caller)).length >= (this.#options.maxSessions ?? MOST_SESSIONS))
      throw new NerveError('limit-reached', 'There are too many sessions of this token here. End some of them.', {
        retry: 'later',
      })
    const id = randomUUID()
    this.#beginning.set(id, visitor.caller)
    try {
      return await this.#enter(id, visitor)
    } finally {
      this.#beginning.delete(id)
    }
  }

  async #enter(id: string, visitor: Visitor): Promise<Session> {
    const transport = new Transport({ sessionIdGenerator: () => id })
    const session: Session = { id, owner: visitor.caller, transport, ...(await this.#make(visitor)), open: 0 }
    this.#sessions.set(id, session)
    session.server.server.onclose = () => {
      clearTimeout(session.timer)
      this.#sessions.delete(id)
      this.#closeClient(session.client)
    }
    await session.server.connect(transport)
    return session
  }

  /** Nobody listens: if nothing comes for a while, nobody is there. */
  #endLater(session: Session): void {
    if (session.open > 0 || this.#sessions.get(session.id) !== session) return
    const wasRefused = session.transport.sessionId === undefined
    const idle = wasRefused ? 0 : (this.#options.idle ?? IDLE_MS)
    session.timer = setTimeout(() => void this.#end(session), idle).unref()
  }

  /** What it still does is aborted. Its runs go on. */
  async #end({ server }: Session): Promise<void> {
    try {
      await server.close()
    } catch (error) {
      this.#options.onProblem?.(error)
    }
  }

  #closeClient(client: Client): void {
    client.close().catch((error: unknown) => this.#options.onProblem?.(error))
  }
}

/** What is wrong with a workflow is wrong for every request, and is told once. */
function onceEach(onProblem: McpMountOptions['onProblem']): McpMountOptions['onProblem'] {
  if (onProblem === undefined) return undefined
  const told = new Set<string>()
  return (error) => {
    if (isNerveError(error) && told.has(error.message)) return
    if (isNerveError(error)) told.add(error.message)
    onProblem(error)
  }
}

function isSame(one: Visitor['caller'], other: Visitor['caller']): boolean {
  return one.by === other.by && one.scope === other.scope && one.local === other.local
}

const VISITOR = 'visitor'

/** The way in which the library passes on who asks. What it calls a token goes nowhere. */
function authOf(visitor: Visitor): AuthInfo {
  const { by = '', scope } = visitor.caller
  return { token: '', clientId: by, scopes: [scope], extra: { [VISITOR]: visitor } }
}

function visitorIn(auth: AuthInfo | undefined): Visitor {
  return auth?.extra?.[VISITOR] as Visitor
}
