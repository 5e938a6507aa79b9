/** Codex, by its app server: JSON-RPC with the program `codex`. */
import {
  able,
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type SessionRef,
  type TurnEnd,
} from './adapter.ts'
import { needProgram, probeProgram } from './find-program.ts'
import { JsonRpc } from './json-rpc.ts'
import { PartQueue } from './part-queue.ts'
import type { Texts } from './texts.ts'

export interface CodexOptions {
  /** The program (default: `codex` on the PATH, or of the package `@openai/codex`). */
  readonly command?: string
}

const TRIPLES: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
}

export function codexAgent({ command }: CodexOptions = {}): AgentAdapter {
  const machine = `${process.platform}-${process.arch}`
  const program = {
    command,
    name: 'codex',
    packages: [{ package: `@openai/codex-${machine}`, file: `vendor/${TRIPLES[machine] ?? machine}/bin/codex` }],
    install: 'npm install -g @openai/codex',
    licence: 'Apache-2.0',
  }
  return {
    contract: CONTRACT,
    name: 'codex',
    variables: ['OPENAI_API_KEY', 'CODEX_HOME', 'CODEX_API_KEY'],
    capabilities: able('resume', 'fork', 'compact', 'permissions', 'structured', 'gateway'),
    probe: () => probeProgram(program),
    open: (options) => CodexSession.open(needProgram(program), options),
  }
}

interface Item extends Texts<'text' | 'command' | 'status' | 'aggregatedOutput' | 'tool' | 'server'> {
  readonly type: string
  readonly id: string
  readonly changes?: unknown
  readonly arguments?: unknown
}

type Tokens = Readonly<Record<'inputTokens' | 'outputTokens' | 'totalTokens', number>>

interface Usage {
  readonly total: Tokens
  readonly last: Tokens
  readonly modelContextWindow: number | null
}

interface Failure {
  readonly message: string
  readonly codexErrorInfo?: unknown
}

/** What is said in notifications; each has some of it. */
interface Said {
  readonly delta?: string
  readonly item?: Item
  readonly tokenUsage?: Usage
  readonly turn?: { readonly id: string; readonly status: string; readonly error?: Failure | null }
  readonly error?: Failure
  readonly willRetry?: boolean
}

interface Approval extends Texts<'command' | 'cwd'> {
  readonly itemId: string
}

interface Started {
  readonly thread: { readonly id: string }
}

class CodexSession implements AgentSession {
  ref: SessionRef
  readonly native: unknown
  readonly #rpc: JsonRpc
  readonly #options: AgentOpen
  readonly #items = new Map<string, Item>()
  #turn = new PartQueue()
  #turnId: string | undefined
  #compacted: PromiseWithResolvers<void> | undefined
  #counted: Tokens | undefined
  #retries = 0

  private constructor(program: string, options: AgentOpen) {
    this.#options = options
    this.#turn.close()
    this.ref = { agent: 'codex', id: '', cwd: options.cwd }
    this.#rpc = new JsonRpc(
      {
        name: 'codex',
        command: program,
        args: ['app-server', ...configOf(options)],
        cwd: options.cwd,
        env: envOf(options),
        started: options.started,
      },
      {
        request: (method, params) => this.#permit(method, params as Approval),
        notification: (method, params) => this.#hear(method, params as Said),
        ended: (error) => {
          this.#compacted?.reject(error)
          this.#turn.fail(error.message, 'error')
        },
        heard: options.onNative,
      },
    )
    this.native = this.#rpc
  }

  static async open(program: string, options: AgentOpen): Promise<CodexSession> {
    const session = new CodexSession(program, options)
    try {
      await session.#rpc.request('initialize', {
        clientInfo: { name: 'nerve', title: 'Nerve', version: '1' },
        capabilities: { experimentalApi: true },
      })
      session.#rpc.notify('initialized')
      session.ref = { ...session.ref, id: await session.#thread() }
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }

  async #thread(): Promise<string> {
    const { cwd, model, system: developerInstructions, resume, forkFrom, native } = this.#options
    const method = resume !== undefined ? 'thread/resume' : forkFrom !== undefined ? 'thread/fork' : 'thread/start'
    const from = resume ?? forkFrom
    const { thread } = await this.#rpc.request<Started>(method, {
      cwd,
      model,
      developerInstructions,
      // Everything that changes something is asked for, whatever the sandbox would let through.
      approvalPolicy: 'untrusted',
      sandbox: 'workspace-write',
      ...native,
      ...(from === undefined ? {} : { threadId: from.id, excludeTurns: true }),
    })
    return thread.id
  }

  prompt(text: string, { schema }: { readonly schema?: unknown } = {}): AsyncIterable<AgentPart> {
    const turn = new PartQueue()
    this.#turn = turn
    this.#turnId = undefined
    this.#retries = 0
    const input = [{ type: 'text', text, text_elements: [] }]
    this.#rpc
      .request<{ turn: { id: string } }>('turn/start', { threadId: this.ref.id, input, outputSchema: schema })
      .then(
        (started) => {
          this.#turnId = started.turn.id
        },
        (error: Error) => turn.fail(error.message),
      )
    return turn
  }

  async interrupt(): Promise<void> {
    if (this.#turn.ended || this.#turnId === undefined) return
    await this.#rpc.request('turn/interrupt', { threadId: this.ref.id, turnId: this.#turnId })
  }

  async compact(): Promise<void> {
    this.#compacted = Promise.withResolvers()
    await this.#rpc.request('thread/compact/start', { threadId: this.ref.id })
    await this.#compacted.promise
  }

  async fork(): Promise<SessionRef> {
    const from = { threadId: this.ref.id, excludeTurns: true }
    return { ...this.ref, id: (await this.#rpc.request<Started>('thread/fork', from)).thread.id }
  }

  async close(): Promise<void> {
    await this.#rpc.close()
  }

  #hear(method: string, { delta = '', item, tokenUsage, turn, error, willRetry }: Said): void {
    if (method === 'turn/started') this.#turnId = turn?.id
    else if (method === 'item/agentMessage/delta') this.#turn.push({ type: 'text', text: delta })
    else if (/^item\/reasoning\/(text|summaryText)Delta$/.test(method))
      this.#turn.push({ type: 'thinking', text: delta })
    else if (method === 'item/started' && item !== undefined) this.#started(item)
    else if (method === 'item/completed' && item !== undefined) this.#completed(item)
    else if (method === 'thread/tokenUsage/updated' && tokenUsage !== undefined) this.#count(tokenUsage)
    else if (method === 'error' && willRetry === true) {
      this.#retries += 1
      this.#turn.push({ type: 'retry', attempt: this.#retries, message: error?.message ?? '' })
    } else if (method === 'turn/completed') this.#ended(turn)
  }

  #started(item: Item): void {
    this.#items.set(item.id, item)
    const tool = toolOf(item)
    if (tool !== undefined) this.#turn.push({ type: 'tool-start', id: item.id, ...tool })
  }

  #completed(item: Item): void {
    if (item.type === 'agentMessage') this.#turn.text = item.text ?? this.#turn.text
    if (item.type === 'contextCompaction') this.#turn.push({ type: 'compacted' })
    if (toolOf(item) !== undefined)
      this.#turn.toolEnd(item.id, item.status === 'completed', item.aggregatedOutput ?? '')
  }

  /** It tells totals of the thread; the first one after a resume has everything before it. */
  #count({ total, last, modelContextWindow: size }: Usage): void {
    const input = this.#counted === undefined ? last.totalTokens : total.inputTokens - this.#counted.inputTokens
    const output = this.#counted === undefined ? 0 : total.outputTokens - this.#counted.outputTokens
    this.#counted = total
    const window = size === null || size === 0 ? {} : { window: Math.min(1, last.totalTokens / size) }
    this.#turn.push({ type: 'usage', usage: { input, output, ...window } })
  }

  #ended(turn: Said['turn']): void {
    this.#compacted?.resolve()
    this.#compacted = undefined
    if (turn?.status === 'interrupted') this.#turn.end('interrupted')
    else if (turn?.error === undefined || turn.error === null) this.#turn.end('done')
    else this.#turn.fail(turn.error.message, REASONS[String(turn.error.codexErrorInfo)])
  }

  async #permit(method: string, { itemId: id, command, cwd }: Approval): Promise<unknown> {
    const item = this.#items.get(id)
    const shell = method === 'item/commandExecution/requestApproval'
    if (!shell && method !== 'item/fileChange/requestApproval') throw new Error(`${method} is not supported`)
    const line = command ?? item?.command ?? ''
    const asked = shell
      ? ({ kind: 'shell', title: line, input: { command: line, cwd } } as const)
      : ({ kind: 'edit', title: 'change files', input: { changes: item?.changes } } as const)
    const decision = await this.#options.permission({ id, tool: asked.kind, ...asked })
    return { decision: 'allow' in decision && decision.allow ? 'accept' : 'decline' }
  }
}

function toolOf(item: Item): { readonly tool: string; readonly input: unknown } | undefined {
  const { type, command, changes, server, tool } = item
  if (type === 'commandExecution') return { tool: 'shell', input: { command } }
  if (type === 'fileChange') return { tool: 'edit', input: { changes } }
  return type === 'mcpToolCall' ? { tool: `${server ?? ''}.${tool ?? ''}`, input: item.arguments } : undefined
}

const REASONS: Readonly<Record<string, TurnEnd>> = {
  contextWindowExceeded: 'context-full',
  usageLimitExceeded: 'rate-limited',
  rateLimitExceeded: 'rate-limited',
  sessionBudgetExceeded: 'limit',
}

const KEY = 'NERVE_GATEWAY_KEY'

function envOf({ env, gateway }: AgentOpen): Readonly<Record<string, string>> {
  return gateway === undefined ? env : { ...env, [KEY]: gateway.token }
}

/** Its model by another address, and nothing that it would look up elsewhere. */
function configOf({ gateway, mcpServers = {} }: AgentOpen): string[] {
  const own = {
    model_provider: 'nerve',
    'model_providers.nerve.name': 'nerve',
    'model_providers.nerve.base_url': `${gateway?.url ?? ''}/v1`,
    'model_providers.nerve.env_key': KEY,
    'model_providers.nerve.wire_api': 'responses',
    'model_providers.nerve.supports_websockets': false,
    'features.plugins': false,
    'features.apps': false,
    'features.remote_plugin': false,
  }
  const config: [string, unknown][] = gateway === undefined ? [] : Object.entries(own)
  for (const [name, server] of Object.entries(mcpServers)) {
    const { headers: http_headers, ...rest } = { headers: undefined, ...server }
    for (const [field, value] of Object.entries({ ...rest, http_headers }))
      if (value !== undefined) config.push([`mcp_servers.${name}.${field}`, value])
  }
  return config.flatMap(([name, value]) => ['-c', `${name}=${toml(value)}`])
}

function toml(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}=${JSON.stringify(one)}`)
    .join(',')}}`
}
