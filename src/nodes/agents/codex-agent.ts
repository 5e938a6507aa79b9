/** Codex, by its app server: JSON-RPC with the program `codex`. */
import { NerveError } from '../../base/nerve-error.ts'
import {
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type SessionRef,
  type TurnEnd,
} from './adapter.ts'
import { findProgram, versionOf } from './find-program.ts'
import { JsonRpc } from './json-rpc.ts'
import { PartQueue } from './part-queue.ts'

export interface CodexOptions {
  /** The program (default: `codex` on the PATH, or of the package `@openai/codex`). */
  readonly command?: string
}

const INSTALL = 'npm install -g @openai/codex'
const TRIPLES: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
}

export function codexAgent({ command }: CodexOptions = {}): AgentAdapter {
  const machine = `${process.platform}-${process.arch}`
  const file = `vendor/${TRIPLES[machine] ?? machine}/bin/codex`
  const find = (): string | undefined =>
    findProgram({ command, name: 'codex', packages: [{ package: `@openai/codex-${machine}`, file }] })
  return {
    contract: CONTRACT,
    name: 'codex',
    variables: ['OPENAI_API_KEY', 'CODEX_HOME', 'CODEX_API_KEY'],
    capabilities: {
      chosenId: false,
      resume: true,
      fork: true,
      compact: true,
      permissions: true,
      denyReason: true,
      editedInput: false,
      defer: false,
      structured: true,
      cost: false,
      gateway: true,
    },
    async probe() {
      const where = find()
      const version = where === undefined ? undefined : await versionOf(where)
      const found = version !== undefined
      return {
        found,
        install: INSTALL,
        licence: 'Apache-2.0',
        ...(found ? { version } : { problem: where === undefined ? 'codex was not found' : `${where} does not run` }),
        ...(where === undefined ? {} : { where }),
      }
    },
    async open(options) {
      const program = find()
      if (program === undefined)
        throw new NerveError('package-missing', `Codex was not found. Install it: ${INSTALL}`, {
          data: { install: INSTALL },
        })
      return CodexSession.open(program, options)
    },
  }
}

interface Item {
  readonly type: string
  readonly id: string
  readonly text?: string
  readonly command?: string
  readonly status?: string
  readonly aggregatedOutput?: string | null
  readonly changes?: unknown
  readonly tool?: string
  readonly server?: string
  readonly arguments?: unknown
}

interface Usage {
  readonly total: { readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number }
  readonly last: { readonly totalTokens: number }
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
  readonly threadId?: string
}

interface Approval {
  readonly itemId: string
  readonly command?: string | null
  readonly cwd?: string | null
}

class CodexSession implements AgentSession {
  ref: SessionRef
  readonly native: unknown
  readonly #rpc: JsonRpc
  readonly #options: AgentOpen
  readonly #items = new Map<string, Item>()
  #turn: PartQueue | undefined
  #turnId: string | undefined
  #compacted: PromiseWithResolvers<void> | undefined
  #counted: { readonly inputTokens: number; readonly outputTokens: number } | undefined
  #text = ''
  #retries = 0

  private constructor(program: string, options: AgentOpen) {
    this.#options = options
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
        ended: (error) => this.#fail(error),
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
    const { cwd, model, system, resume, forkFrom } = this.#options
    const settings = {
      cwd,
      // Everything that changes something is asked for, whatever the sandbox would let through.
      approvalPolicy: 'untrusted',
      sandbox: 'workspace-write',
      ...(model === undefined ? {} : { model }),
      ...(system === undefined ? {} : { developerInstructions: system }),
      ...this.#options.native,
    }
    const [method, more] =
      resume !== undefined
        ? ['thread/resume', { threadId: resume.id, excludeTurns: true }]
        : forkFrom !== undefined
          ? ['thread/fork', { threadId: forkFrom.id, excludeTurns: true }]
          : ['thread/start', {}]
    const { thread } = await this.#rpc.request<{ thread: { id: string } }>(method, { ...settings, ...more })
    return thread.id
  }

  prompt(text: string, { schema }: { readonly schema?: unknown } = {}): AsyncIterable<AgentPart> {
    const turn = this.#begin()
    const input = [{ type: 'text', text, text_elements: [] }]
    const outputSchema = schema === undefined ? {} : { outputSchema: schema }
    this.#rpc.request<{ turn: { id: string } }>('turn/start', { threadId: this.ref.id, input, ...outputSchema }).then(
      (started) => {
        this.#turnId = started.turn.id
      },
      (error: Error) => turn.end({ reason: 'error', text: '', error: error.message }),
    )
    return turn
  }

  async interrupt(): Promise<void> {
    if (this.#turn === undefined || this.#turn.ended || this.#turnId === undefined) return
    await this.#rpc.request('turn/interrupt', { threadId: this.ref.id, turnId: this.#turnId })
  }

  async compact(): Promise<void> {
    this.#compacted = Promise.withResolvers()
    await this.#rpc.request('thread/compact/start', { threadId: this.ref.id })
    await this.#compacted.promise
  }

  async fork(): Promise<SessionRef> {
    const { thread } = await this.#rpc.request<{ thread: { id: string } }>('thread/fork', {
      threadId: this.ref.id,
      excludeTurns: true,
    })
    return { ...this.ref, id: thread.id }
  }

  async close(): Promise<void> {
    await this.#rpc.close()
  }

  #begin(): PartQueue {
    this.#turn = new PartQueue()
    this.#turnId = undefined
    this.#text = ''
    this.#retries = 0
    return this.#turn
  }

  #hear(method: string, said: Said): void {
    switch (method) {
      case 'turn/started':
        this.#turnId = said.turn?.id
        return
      case 'item/agentMessage/delta':
        this.#turn?.push({ type: 'text', text: said.delta ?? '' })
        return
      case 'item/reasoning/textDelta':
      case 'item/reasoning/summaryTextDelta':
        this.#turn?.push({ type: 'thinking', text: said.delta ?? '' })
        return
      case 'item/started':
        if (said.item !== undefined) this.#started(said.item)
        return
      case 'item/completed':
        if (said.item !== undefined) this.#completed(said.item)
        return
      case 'thread/tokenUsage/updated':
        if (said.tokenUsage !== undefined) this.#count(said.tokenUsage)
        return
      case 'error':
        if (said.willRetry === true) {
          this.#retries += 1
          this.#turn?.push({ type: 'retry', attempt: this.#retries, message: said.error?.message ?? '' })
        }
        return
      case 'turn/completed':
        this.#ended(said)
        return
      default:
    }
  }

  #started(item: Item): void {
    this.#items.set(item.id, item)
    const tool = toolOf(item)
    if (tool !== undefined) this.#turn?.push({ type: 'tool-start', id: item.id, ...tool })
  }

  #completed(item: Item): void {
    if (item.type === 'agentMessage') this.#text = item.text ?? this.#text
    if (item.type === 'contextCompaction') this.#turn?.push({ type: 'compacted' })
    if (toolOf(item) !== undefined)
      this.#turn?.push({
        type: 'tool-end',
        id: item.id,
        ok: item.status === 'completed',
        output: item.aggregatedOutput ?? '',
      })
  }

  /** It tells totals of the thread; the first one after a resume has everything before it. */
  #count({ total, last, modelContextWindow }: Usage): void {
    const before = this.#counted ?? { inputTokens: total.inputTokens, outputTokens: total.outputTokens }
    const first = this.#counted === undefined ? last.totalTokens : 0
    this.#counted = total
    const input = first > 0 ? first : total.inputTokens - before.inputTokens
    const output = first > 0 ? 0 : total.outputTokens - before.outputTokens
    const window =
      modelContextWindow === null || modelContextWindow === 0
        ? {}
        : { window: Math.min(1, last.totalTokens / modelContextWindow) }
    this.#turn?.push({ type: 'usage', usage: { input, output, ...window } })
  }

  #ended({ turn }: Said): void {
    this.#compacted?.resolve()
    this.#compacted = undefined
    const error = turn?.error ?? undefined
    this.#turn?.end({
      reason: turn?.status === 'interrupted' ? 'interrupted' : error === undefined ? 'done' : reasonOf(error),
      text: this.#text,
      ...(error === undefined ? {} : { error: error.message }),
    })
  }

  #fail(error: NerveError): void {
    this.#compacted?.reject(error)
    this.#turn?.end({ reason: 'error', text: this.#text, error: error.message })
  }

  async #permit(method: string, params: Approval): Promise<unknown> {
    const item = this.#items.get(params.itemId)
    const command = method === 'item/commandExecution/requestApproval'
    if (!command && method !== 'item/fileChange/requestApproval') throw new Error(`${method} is not supported`)
    const tool = item === undefined ? undefined : toolOf(item)
    const line = params.command ?? item?.command ?? ''
    const input = command ? { command: line, cwd: params.cwd } : tool?.input
    const decision = await this.#options.permission({
      id: params.itemId,
      tool: tool?.tool ?? method,
      kind: command ? 'shell' : 'edit',
      title: command ? line : 'change files',
      input,
    })
    return { decision: 'allow' in decision && decision.allow ? 'accept' : 'decline' }
  }
}

function toolOf(item: Item): { readonly tool: string; readonly input: unknown } | undefined {
  switch (item.type) {
    case 'commandExecution':
      return { tool: 'shell', input: { command: item.command } }
    case 'fileChange':
      return { tool: 'edit', input: { changes: item.changes } }
    case 'mcpToolCall':
      return { tool: `${item.server ?? ''}.${item.tool ?? ''}`, input: item.arguments }
    default:
      return undefined
  }
}

function reasonOf({ codexErrorInfo, message }: Failure): TurnEnd {
  if (codexErrorInfo === 'contextWindowExceeded' || /context.?(length|window)|too long/i.test(message))
    return 'context-full'
  if (codexErrorInfo === 'usageLimitExceeded' || codexErrorInfo === 'rateLimitExceeded') return 'rate-limited'
  return codexErrorInfo === 'sessionBudgetExceeded' ? 'limit' : 'error'
}

const KEY = 'NERVE_GATEWAY_KEY'

function envOf({ env, gateway }: AgentOpen): Readonly<Record<string, string>> {
  return gateway === undefined ? env : { ...env, [KEY]: gateway.token }
}

/** Its model by another address, and nothing that it would look up elsewhere. */
function configOf({ gateway, mcpServers = {} }: AgentOpen): string[] {
  const config: string[] = []
  if (gateway !== undefined) {
    const provider = {
      name: 'nerve',
      base_url: `${gateway.url}/v1`,
      env_key: KEY,
      wire_api: 'responses',
      supports_websockets: false,
    }
    config.push(
      'model_provider="nerve"',
      ...Object.entries(provider).map(([name, value]) => `model_providers.nerve.${name}=${JSON.stringify(value)}`),
    )
    config.push('features.plugins=false', 'features.apps=false', 'features.remote_plugin=false')
  }
  for (const [name, server] of Object.entries(mcpServers)) {
    const fields =
      'url' in server
        ? { url: server.url, http_headers: server.headers }
        : { command: server.command, args: server.args, env: server.env }
    for (const [field, value] of Object.entries(fields))
      if (value !== undefined) config.push(`mcp_servers.${name}.${field}=${toml(value)}`)
  }
  return config.flatMap((one) => ['-c', one])
}

function toml(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}=${JSON.stringify(one)}`)
    .join(',')}}`
}
