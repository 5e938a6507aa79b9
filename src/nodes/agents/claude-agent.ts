/** Claude Code, by its Agent SDK: one streaming query for each session, resumed by its id. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type AgentUsage,
  type PermissionDecision,
  type SessionRef,
  type ToolKind,
  type TurnEnd,
} from './adapter.ts'
import { loadPackage, packageVersion } from './load-package.ts'
import { PartQueue } from './part-queue.ts'

export interface ClaudeOptions {
  /** The file of the SDK (default: the package, as the project has it). */
  readonly sdk?: string
  /** The program (default: the one that the SDK brings). */
  readonly command?: string
}

const PACKAGE = '@anthropic-ai/claude-agent-sdk'
const INSTALL = `npm install ${PACKAGE}`
const FOREVER_S = 365 * 24 * 3_600

export function claudeAgent({ sdk: file, command }: ClaudeOptions = {}): AgentAdapter {
  const load = (): Promise<Sdk> => loadPackage({ name: PACKAGE, agent: 'Claude', install: INSTALL, file })
  return {
    contract: CONTRACT,
    name: 'claude',
    variables: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'ANTHROPIC_BASE_URL',
      'CLAUDE_CONFIG_DIR',
      'CLAUDE_CODE_OAUTH_TOKEN',
    ],
    capabilities: {
      chosenId: true,
      resume: true,
      fork: true,
      compact: true,
      permissions: true,
      denyReason: true,
      editedInput: true,
      defer: true,
      structured: true,
      cost: true,
      gateway: true,
    },
    async probe() {
      const version = packageVersion(PACKAGE, file)
      const licence = 'proprietary (the terms of Anthropic)'
      return version === undefined
        ? { found: false, problem: `${PACKAGE} was not found`, install: INSTALL, licence }
        : { found: true, version, install: INSTALL, licence, where: PACKAGE }
    },
    open: async (options) => new ClaudeSession(await load(), options, command),
  }
}

/** The part of the SDK that is used, and the parts of its messages that are read. */
interface Sdk {
  query(params: { prompt: AsyncIterable<unknown>; options: Readonly<Record<string, unknown>> }): Query
}

interface Query extends AsyncIterable<Message> {
  interrupt(): Promise<void>
  close(): void
}

interface Message {
  readonly type: string
  readonly subtype?: string
  readonly parent_tool_use_id?: string | null
  readonly event?: { readonly delta?: { readonly type?: string; readonly text?: string; readonly thinking?: string } }
  readonly message?: { readonly content: string | readonly Block[]; readonly usage?: Tokens }
  readonly attempt?: number
  readonly error?: string
  readonly result?: string
  readonly errors?: readonly string[]
  readonly is_error?: boolean
  readonly terminal_reason?: string
  readonly structured_output?: unknown
  readonly usage?: Tokens
  readonly total_cost_usd?: number
  readonly modelUsage?: Readonly<Record<string, { readonly contextWindow?: number }>>
}

interface Block {
  readonly type: string
  readonly id?: string
  readonly name?: string
  readonly input?: unknown
  readonly tool_use_id?: string
  readonly is_error?: boolean
  readonly content?: unknown
}

interface Tokens {
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly cache_read_input_tokens?: number
  readonly cache_creation_input_tokens?: number
}

class ClaudeSession implements AgentSession {
  readonly ref: SessionRef
  readonly #sdk: Sdk
  readonly #options: AgentOpen
  readonly #command: string | undefined
  #known: boolean
  #query: Query | undefined
  #said: Inbox | undefined
  #turn: PartQueue | undefined
  #schema: unknown
  #text = ''
  /** What the session had cost when the turn began. It tells sums, also over a resume. */
  #cost: number | undefined
  #used = 0

  constructor(sdk: Sdk, options: AgentOpen, command: string | undefined) {
    const { resume, id, cwd } = options
    this.#sdk = sdk
    this.#options = options
    this.#command = command
    this.#known = resume !== undefined
    this.ref = { agent: 'claude', id: resume?.id ?? id ?? randomUUID(), cwd }
  }

  get native(): unknown {
    return this.#query
  }

  prompt(text: string, { schema }: { readonly schema?: unknown } = {}): AsyncIterable<AgentPart> {
    const turn = this.#begin()
    // What it must give is said when it starts.
    if (JSON.stringify(schema) !== JSON.stringify(this.#schema)) this.#end()
    this.#schema = schema
    if (this.#query === undefined) this.#start()
    this.#said?.push({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null })
    return turn
  }

  /** A deferred tool is asked for again as soon as the session is resumed. */
  proceed(): AsyncIterable<AgentPart> {
    const turn = this.#begin()
    this.#end()
    this.#start()
    return turn
  }

  async interrupt(): Promise<void> {
    if (this.#turn !== undefined && !this.#turn.ended) await this.#query?.interrupt()
  }

  async compact(): Promise<void> {
    for await (const part of this.prompt('/compact'))
      if (part.type === 'turn-end' && part.reason !== 'done') throw new Error(part.error ?? 'it could not be compacted')
  }

  async close(): Promise<void> {
    this.#end()
    this.#turn?.end({ reason: 'interrupted', text: this.#text })
  }

  #begin(): PartQueue {
    this.#turn = new PartQueue()
    this.#text = ''
    return this.#turn
  }

  #end(): void {
    this.#said?.end()
    this.#query?.close()
    this.#query = undefined
  }

  #start(): void {
    const said = new Inbox()
    const query = this.#sdk.query({ prompt: said, options: this.#queryOptions() })
    this.#said = said
    this.#query = query
    void this.#listen(query)
  }

  async #listen(query: Query): Promise<void> {
    let problem = 'it ended'
    try {
      for await (const message of query) {
        this.#options.onNative?.(message)
        this.#hear(message)
      }
    } catch (error) {
      problem = (error as Error).message
    }
    if (this.#query !== query) return
    this.#query = undefined
    this.#turn?.end({ reason: reasonOf(problem), text: this.#text, error: problem })
  }

  #queryOptions(): Readonly<Record<string, unknown>> {
    const { cwd, model, system, tools, mcpServers = {}, native, started, forkFrom } = this.#options
    const fresh =
      forkFrom === undefined
        ? { sessionId: this.ref.id }
        : { resume: forkFrom.id, forkSession: true, sessionId: this.ref.id }
    return {
      cwd,
      env: this.#env(),
      includePartialMessages: true,
      permissionMode: 'default',
      settingSources: ['project'],
      systemPrompt: { type: 'preset', preset: 'claude_code', ...(system === undefined ? {} : { append: system }) },
      ...(this.#known ? { resume: this.ref.id } : fresh),
      ...(model === undefined ? {} : { model }),
      ...(tools?.allow === undefined ? {} : { allowedTools: tools.allow }),
      ...(tools?.deny === undefined ? {} : { disallowedTools: tools.deny }),
      ...(this.#schema === undefined ? {} : { outputFormat: { type: 'json_schema', schema: this.#schema } }),
      ...(this.#command === undefined ? {} : { pathToClaudeCodeExecutable: this.#command }),
      mcpServers: Object.fromEntries(
        Object.entries(mcpServers).map(([name, one]) => [
          name,
          'url' in one ? { type: 'http', ...one } : { type: 'stdio', ...one },
        ]),
      ),
      canUseTool: async (tool: string, input: unknown, { toolUseID }: { toolUseID: string }) => {
        const decision = await this.#permit(toolUseID, tool, input)
        return 'allow' in decision && decision.allow
          ? { behavior: 'allow', updatedInput: decision.input ?? input }
          : { behavior: 'deny', message: 'reason' in decision ? decision.reason : 'denied' }
      },
      hooks: { PreToolUse: [{ hooks: [(asked: Asked) => this.#hook(asked)], timeout: FOREVER_S, onFailure: 'block' }] },
      spawnClaudeCodeProcess: ({ command, args, env, cwd: where, signal }: Spawn) => {
        const child = spawn(command, args, { cwd: where, env, signal, stdio: ['pipe', 'pipe', 'ignore'] })
        if (child.pid !== undefined) started(child.pid)
        return child
      },
      ...native,
    }
  }

  #env(): Readonly<Record<string, string>> {
    const { env, gateway } = this.#options
    const quiet = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }
    if (gateway === undefined) return { ...quiet, ...env }
    return { ...quiet, ...env, ANTHROPIC_BASE_URL: gateway.url, ANTHROPIC_API_KEY: gateway.token }
  }

  /** Before every tool that does more than look: here a decision can also be put off. */
  async #hook({ tool_name: tool, tool_input: input, tool_use_id: id }: Asked): Promise<unknown> {
    if (kindOf(tool) === 'read' || kindOf(tool) === 'question') return {}
    const decision = await this.#permit(id, tool, input)
    const said =
      'defer' in decision
        ? { permissionDecision: 'defer' }
        : decision.allow
          ? { permissionDecision: 'allow', ...(decision.input === undefined ? {} : { updatedInput: decision.input }) }
          : { permissionDecision: 'deny', permissionDecisionReason: decision.reason ?? 'denied' }
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...said } }
  }

  async #permit(id: string, tool: string, input: unknown): Promise<PermissionDecision> {
    try {
      return await this.#options.permission({ id, tool, kind: kindOf(tool), title: titleOf(tool, input), input })
    } catch (error) {
      return { allow: false, reason: (error as Error).message }
    }
  }

  #hear(message: Message): void {
    const { type, subtype, event } = message
    if (type === 'system' && subtype === 'init') this.#known = true
    else if (type === 'system' && subtype === 'compact_boundary') this.#turn?.push({ type: 'compacted' })
    else if (type === 'system' && subtype === 'api_retry')
      this.#turn?.push({ type: 'retry', attempt: message.attempt ?? 1, message: message.error ?? '' })
    else if (type === 'stream_event' && message.parent_tool_use_id === null) this.#delta(event?.delta)
    else if (type === 'assistant' || type === 'user') this.#blocks(message)
    else if (type === 'result') this.#result(message)
  }

  #delta(delta: { readonly type?: string; readonly text?: string; readonly thinking?: string } = {}): void {
    if (delta.type === 'text_delta') {
      this.#text += delta.text ?? ''
      this.#turn?.push({ type: 'text', text: delta.text ?? '' })
    } else if (delta.type === 'thinking_delta') this.#turn?.push({ type: 'thinking', text: delta.thinking ?? '' })
  }

  #blocks({ message }: Message): void {
    if (message?.usage !== undefined) this.#used = tokensIn(message.usage)
    if (message === undefined || typeof message.content === 'string') return
    for (const {
      type,
      id = '',
      name = '',
      input,
      tool_use_id: of = '',
      is_error: failed,
      content,
    } of message.content) {
      if (type === 'tool_use') this.#turn?.push({ type: 'tool-start', id, tool: name, input })
      if (type !== 'tool_result') continue
      const output = typeof content === 'string' ? content : JSON.stringify(content ?? '')
      this.#turn?.push({ type: 'tool-end', id: of, ok: failed !== true, output })
    }
  }

  #result(message: Message): void {
    const {
      result = this.#text,
      errors,
      is_error: failed,
      terminal_reason: terminal = '',
      structured_output: data,
    } = message
    this.#turn?.push({ type: 'usage', usage: this.#spent(message) })
    const error = failed === true || errors !== undefined ? (errors?.join('; ') ?? result) : undefined
    this.#turn?.end({
      reason: endOf(message.subtype ?? '', terminal, error),
      text: result,
      ...(data === undefined ? {} : { data }),
      ...(error === undefined ? {} : { error }),
    })
  }

  #spent({ usage = {}, total_cost_usd: cost = 0, modelUsage = {} }: Message): AgentUsage {
    const size = Math.max(0, ...Object.values(modelUsage).map(({ contextWindow = 0 }) => contextWindow))
    const usd = Math.max(0, cost - (this.#cost ?? (this.#options.resume === undefined ? 0 : cost)))
    this.#cost = cost
    const window = size === 0 || this.#used === 0 ? {} : { window: Math.min(1, this.#used / size) }
    return { input: tokensIn({ ...usage, output_tokens: 0 }), output: usage.output_tokens ?? 0, usd, ...window }
  }
}

/** What is said to the agent, as it comes. */
class Inbox implements AsyncIterable<unknown> {
  readonly #messages: unknown[] = []
  #news = Promise.withResolvers<void>()
  #ended = false

  push(message: unknown): void {
    this.#messages.push(message)
    this.#news.resolve()
  }

  end(): void {
    this.#ended = true
    this.#news.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void> {
    for (;;) {
      if (this.#messages.length > 0) yield this.#messages.shift()
      else if (this.#ended) return
      else {
        await this.#news.promise
        this.#news = Promise.withResolvers()
      }
    }
  }
}

interface Asked {
  readonly tool_name: string
  readonly tool_input: unknown
  readonly tool_use_id: string
}

interface Spawn {
  readonly command: string
  readonly args: string[]
  readonly cwd?: string
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

const KINDS: Readonly<Record<string, ToolKind>> = {
  Bash: 'shell',
  KillShell: 'shell',
  Edit: 'edit',
  MultiEdit: 'edit',
  Write: 'edit',
  NotebookEdit: 'edit',
  WebFetch: 'fetch',
  WebSearch: 'fetch',
  AskUserQuestion: 'question',
  ...Object.fromEntries(
    [
      'Read',
      'Glob',
      'Grep',
      'LS',
      'NotebookRead',
      'TodoWrite',
      'TodoRead',
      'Task',
      'BashOutput',
      'StructuredOutput',
    ].map((one) => [one, 'read'] as const),
  ),
}

function kindOf(tool: string): ToolKind {
  return KINDS[tool] ?? (tool.startsWith('mcp__') ? 'mcp' : 'other')
}

function titleOf(tool: string, input: unknown): string {
  const { command, file_path: file, url, description } = (input ?? {}) as Readonly<Record<string, unknown>>
  const found = [command, file, url, description].find((one) => typeof one === 'string')
  return typeof found === 'string' ? found : tool
}

function tokensIn({
  input_tokens: a = 0,
  output_tokens: b = 0,
  cache_read_input_tokens: c = 0,
  cache_creation_input_tokens: d = 0,
}: Tokens): number {
  return a + b + c + d
}

function endOf(subtype: string, terminal: string, error: string | undefined): TurnEnd {
  if (terminal === 'tool_deferred') return 'deferred'
  if (terminal.startsWith('aborted')) return 'interrupted'
  if (/max_turns|max_budget/.test(subtype)) return 'limit'
  return error === undefined ? 'done' : reasonOf(error)
}

function reasonOf(error: string): TurnEnd {
  if (/too long|context.?(window|length)/i.test(error)) return 'context-full'
  return /\b429\b|rate.?limit/i.test(error) ? 'rate-limited' : 'error'
}
