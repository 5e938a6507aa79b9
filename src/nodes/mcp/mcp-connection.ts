/**
 * One connection to an MCP server, by `@modelcontextprotocol/client`: the server's process if it is one, and what the
 * server asks for while a call is made. A reset, or the end of the server, is followed by another connection.
 *
 * Invariants: after `close` nothing that the server started runs; a server ends with this process, whatever ends it.
 */
import type { Client, ElicitRequest, ElicitResult, Transport } from '@modelcontextprotocol/client'
import { randomBytes } from 'node:crypto'
import { NerveError } from '../../base/nerve-error.ts'
import { commandEnvironment } from '../bash-environment.ts'
import { importNamed } from '../import-named.ts'
import { guardProcess, guardTree, releaseTree } from '../process-guard.ts'
import { MARK_NAME } from '../process-table.ts'
import { killTree, kinOf } from '../process-tree.ts'
import type { HttpPlan, McpPlan, ProgramPlan } from './mcp-options.ts'

const PACKAGE = '@modelcontextprotocol/client'
const INSTALL = `npm install ${PACKAGE}@2`
const GRACE_MS = 1_000
/** What is kept of what the server says about itself, for the message when it dies. */
const STDERR_CHARACTERS = 2_000

export interface Asked {
  readonly message: string
  /** The form; undefined when the server wants a page to be opened. */
  readonly schema?: unknown
  readonly url?: string
}

export interface ConnectionEvents {
  /** A server wants to know something from a person. */
  readonly asks: (asked: Asked) => Promise<ElicitResult>
  readonly closed: () => void
}

interface Link {
  readonly transport: Transport
  /** Called when the transport has started. */
  readonly started: () => void
  /** Called before it is told to end; what this gives ends what is left. */
  readonly ending: () => Promise<() => Promise<void>>
  /** The last that the server said on stderr. */
  readonly lastWords: () => string
}

export class McpConnection {
  readonly client: Client
  readonly #link: Link
  readonly #id: string

  private constructor(id: string, client: Client, link: Link) {
    this.#id = id
    this.client = client
    this.#link = link
  }

  static async open(id: string, plan: McpPlan, events: ConnectionEvents): Promise<McpConnection> {
    const { Client: ClientClass } = await load<typeof import('@modelcontextprotocol/client')>(PACKAGE)
    const client = new ClientClass(
      { name: 'nerve', version: '1' },
      { capabilities: { elicitation: { form: {}, url: {} } }, versionNegotiation: { mode: 'auto' } },
    )
    client.setRequestHandler('elicitation/create', (request) => events.asks(askedBy(request)))
    const link = 'url' in plan.server ? await overHttp(plan.server) : await asProgram(plan.server)
    const connection = new McpConnection(id, client, link)
    try {
      await client.connect(link.transport, { timeout: plan.startTimeoutMs })
      link.started()
    } catch (cause) {
      const error = connection.failure('did not start', cause)
      await connection.close()
      throw error
    }
    client.onclose = events.closed
    return connection
  }

  /** An error of the server or of the way to it, with what the server said last. */
  failure(what: string, cause: unknown): NerveError {
    const said = this.#link.lastWords()
    const reason = `${(cause as Error).message}${said === '' ? '' : ` It said: ${said}`}`
    return new NerveError('mcp-failed', `The MCP server of '${this.#id}' ${what}: ${reason}`, {
      cause,
      retry: 'later',
      data: { node: this.#id, reason: 'server' },
    })
  }

  async close(): Promise<void> {
    delete this.client.onclose
    const stop = await this.#link.ending()
    try {
      await this.client.close()
    } finally {
      await stop()
    }
  }
}

function askedBy({ params }: ElicitRequest): Asked {
  const { message } = params
  return 'url' in params ? { message, url: params.url } : { message, schema: params.requestedSchema }
}

async function overHttp({ url, headers }: HttpPlan): Promise<Link> {
  const { StreamableHTTPClientTransport } = await load<typeof import('@modelcontextprotocol/client')>(PACKAGE)
  return {
    transport: new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } }),
    started: () => undefined,
    ending: async () => async () => undefined,
    lastWords: () => '',
  }
}

async function asProgram({ command, args, cwd, ...named }: ProgramPlan): Promise<Link> {
  const { StdioClientTransport } = await load<typeof import('@modelcontextprotocol/client/stdio')>(`${PACKAGE}/stdio`)
  const mark = randomBytes(16).toString('hex')
  const above = process.env[MARK_NAME] ?? ''
  const env = { ...commandEnvironment(process.env, named), [MARK_NAME]: above === '' ? mark : `${above}.${mark}` }
  await guardTree(mark)
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env,
    stderr: 'pipe',
    ...(cwd === undefined ? {} : { cwd }),
  })
  let said = ''
  transport.stderr?.on('data', (piece: Buffer) => {
    said = `${said}${piece.toString()}`.slice(-STDERR_CHARACTERS)
  })
  let root: number | undefined
  return {
    transport,
    started: () => {
      root = transport.pid ?? undefined
      if (root !== undefined) guardProcess(mark, root)
    },
    ending: async () => {
      const first = root ?? transport.pid ?? undefined
      const kin = await kinOf(first === undefined ? [] : [first])
      return async () => {
        // The first process may be gone, and its number somebody else's: what it started is found by its mark.
        await killTree({ mark, root: root ?? -1, rootEnded: () => true }, GRACE_MS, kin)
        releaseTree(mark)
      }
    },
    lastWords: () => said.trim(),
  }
}

async function load<Module>(name: string): Promise<Module> {
  try {
    return await importNamed<Module>(name)
  } catch (cause) {
    throw new NerveError('package-missing', `MCP servers need the package ${PACKAGE}. Install it: ${INSTALL}`, {
      data: { package: PACKAGE, install: INSTALL },
      cause,
    })
  }
}
