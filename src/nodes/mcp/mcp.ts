/**
 * An MCP server as a node: its tools are called, its resources read, and what it asks of a person becomes a question. The
 * connection is made when it is first needed, and made again when it was lost.
 */
import type { CallToolResult, ElicitResult, ReadResourceResult, RequestOptions } from '@modelcontextprotocol/client'
import { milliseconds, type Duration } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Node, NodeInfo, StepCall } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import { elicited, questionOf, type FormSchema } from './elicitation.ts'
import { McpConnection, type Asked } from './mcp-connection.ts'
import { planMcp, type McpOptions, type McpPlan } from './mcp-options.ts'

export type McpInput =
  | { readonly tool: string; readonly input?: Readonly<Record<string, unknown>>; readonly timeout?: Duration }
  | { readonly resource: string; readonly timeout?: Duration }

export interface McpResult {
  /** All text of it, one piece per line. */
  readonly text: string
  /** What a tool gives as data. */
  readonly data?: unknown
  /** Everything, as the server sent it: texts, images, links. */
  readonly content: readonly unknown[]
}

export interface McpTool {
  readonly name: string
  readonly description?: string
  /** A JSON Schema. */
  readonly input: unknown
  /** A JSON Schema of `data`. */
  readonly output?: unknown
  /** What the server says about it: `readOnlyHint` and the like. Hints, not promises. */
  readonly hints?: Readonly<Record<string, unknown>>
}

export interface McpResource {
  readonly uri: string
  readonly name: string
  readonly description?: string
  readonly mediaType?: string
}

export interface McpInfo extends NodeInfo {
  readonly connected: boolean
  /** What it was made of; of variables and headers only the names. */
  readonly config: Readonly<Record<string, unknown>>
}

/** What `execute` needs to know of the step it is in; nothing, when it is in none. */
export type McpCall = Partial<Pick<StepCall, 'signal' | 'emit' | 'ask'>>

export interface McpNode extends Node<McpInput, McpResult> {
  start(): Promise<void>
  stop(): Promise<void>
  reset(): Promise<void>
  fork(id: string): McpNode
  info(): McpInfo
  execute(input: McpInput, call?: McpCall): Promise<McpResult>
  tools(): Promise<readonly McpTool[]>
  resources(): Promise<readonly McpResource[]>
}

const ABILITIES = ['start', 'stop', 'reset', 'fork', 'tools', 'resources'] as const

/**
 * A node that calls an MCP server.
 *
 * ```ts
 * import { mcp } from 'nerve/mcp'
 *
 * const files = mcp('files', { command: 'node', args: ['files-server.js'] })
 * ```
 */
export function mcp(id: string, options: McpOptions): McpNode {
  return made(id, planMcp(id, options))
}

function made(id: string, plan: McpPlan, forkedFrom?: string): McpNode {
  if (!isLabel(id))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(id)} is not an id for a node. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  const server = new Server(id, plan)
  return {
    id,
    kind: 'mcp',
    persistent: true,
    policy: plan.policy,
    execute: (input, call = {}) => server.execute(input, call),
    start: async () => void (await server.connection()),
    stop: () => server.stop(),
    reset: async () => {
      await server.stop()
      await server.connection()
    },
    fork: (name) => made(name, plan, id),
    tools: () => server.tools(),
    resources: () => server.resources(),
    info: () => ({
      id,
      kind: 'mcp',
      persistent: true,
      ...(plan.description === undefined ? {} : { description: plan.description }),
      abilities: ABILITIES,
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
      connected: server.connected,
      config: configOf(plan),
    }),
  }
}

class Server {
  readonly #id: string
  readonly #plan: McpPlan
  #open: Promise<McpConnection> | undefined
  #stopping: Promise<void> = Promise.resolve()
  /** The call that is being made: what the server asks meanwhile is asked for it. */
  #call: McpCall = {}
  connected = false

  constructor(id: string, plan: McpPlan) {
    this.#id = id
    this.#plan = plan
  }

  async connection(): Promise<McpConnection> {
    this.#open ??= this.#connect()
    return this.#open
  }

  async stop(): Promise<void> {
    const open = this.#open
    this.#forget()
    // One that did not start has cleaned up after itself.
    const closed = (async () => (await open?.catch(() => undefined))?.close())()
    this.#stopping = Promise.allSettled([this.#stopping, closed]).then(() => undefined)
    await closed
  }

  async tools(): Promise<readonly McpTool[]> {
    const { tools } = await this.#ask((client) => client.listTools())
    return tools.map(({ name, description, inputSchema, outputSchema, annotations }) => ({
      name,
      ...(description === undefined ? {} : { description }),
      input: inputSchema,
      ...(outputSchema === undefined ? {} : { output: outputSchema }),
      ...(annotations === undefined ? {} : { hints: annotations }),
    }))
  }

  async resources(): Promise<readonly McpResource[]> {
    const { resources } = await this.#ask((client) => client.listResources())
    return resources.map(({ uri, name, description, mimeType }) => ({
      uri,
      name,
      ...(description === undefined ? {} : { description }),
      ...(mimeType === undefined ? {} : { mediaType: mimeType }),
    }))
  }

  async execute(input: McpInput, call: McpCall): Promise<McpResult> {
    check(this.#id, input)
    const { timeout } = input
    const options: RequestOptions = {
      timeout: timeout === undefined ? this.#plan.timeoutMs : milliseconds(timeout, 'timeout'),
      resetTimeoutOnProgress: true,
      onprogress: (progress) => call.emit?.('progress', progress),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    }
    this.#call = call
    try {
      if ('resource' in input)
        return read(await this.#ask((client) => client.readResource({ uri: input.resource }, options)))
      const { tool, input: given = {} } = input
      return called(
        this.#id,
        tool,
        await this.#ask((client) => client.callTool({ name: tool, arguments: { ...given } }, options)),
      )
    } catch (error) {
      call.signal?.throwIfAborted()
      throw error
    } finally {
      this.#call = {}
    }
  }

  async #connect(): Promise<McpConnection> {
    await this.#stopping
    try {
      const connection = await McpConnection.open(this.#id, this.#plan, {
        asks: (asked) => this.#elicit(asked),
        closed: () => this.#lost(connection),
      })
      this.connected = true
      return connection
    } catch (error) {
      this.#forget()
      throw error
    }
  }

  /** The server has gone by itself: the next call starts it again. */
  #lost(connection: McpConnection): void {
    this.#forget()
    this.#stopping = connection.close()
  }

  #forget(): void {
    this.#open = undefined
    this.connected = false
  }

  async #ask<Value>(request: (client: McpConnection['client']) => Promise<Value>): Promise<Value> {
    const connection = await this.connection()
    try {
      return await request(connection.client)
    } catch (error) {
      throw connection.failure('refused', error)
    }
  }

  async #elicit({ message, schema, url }: Asked): Promise<ElicitResult> {
    const { ask, signal } = this.#call
    // Nobody is there to be asked: the server goes on without an answer.
    if (ask === undefined) return { action: 'cancel' }
    const common = {
      detail: { node: this.#id, ...(url === undefined ? { schema } : { url }) },
      ...(signal === undefined ? {} : { signal }),
    }
    if (url !== undefined) {
      const done = await ask(`${message} Open ${url}`, { ...common, choices: ['done', 'decline'] })
      return { action: done === 'done' ? 'accept' : 'decline' }
    }
    const form = schema as FormSchema
    return elicited(form, await ask(message, { ...common, ...questionOf(form) }))
  }
}

function check(id: string, input: unknown): asserts input is McpInput {
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  if ((typeof given['tool'] === 'string') !== (typeof given['resource'] === 'string')) return
  throw new NerveError('bad-input', `'${id}' needs { tool, input } to call a tool, or { resource } to read one.`)
}

function called(id: string, tool: string, { content, structuredContent, isError }: CallToolResult): McpResult {
  const text = textOf(content)
  if (isError === true)
    throw new NerveError(
      'mcp-failed',
      `The tool ${tool} of '${id}' failed: ${text === '' ? 'it does not say why' : text}`,
      {
        data: { node: id, tool, reason: 'tool', content },
      },
    )
  return { text, ...(structuredContent === undefined ? {} : { data: structuredContent }), content }
}

function read({ contents }: ReadResourceResult): McpResult {
  return { text: textOf(contents), content: contents }
}

function textOf(pieces: readonly object[]): string {
  return pieces.flatMap((piece) => ('text' in piece && typeof piece.text === 'string' ? [piece.text] : [])).join('\n')
}

function configOf({ server, timeoutMs }: McpPlan): Readonly<Record<string, unknown>> {
  if ('url' in server) return { url: server.url, headers: Object.keys(server.headers), timeout: timeoutMs }
  const { command, args, cwd, env = {}, inherit = [] } = server
  return { command, args, ...(cwd === undefined ? {} : { cwd }), env: Object.keys(env), inherit, timeout: timeoutMs }
}
