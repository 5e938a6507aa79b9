/** Claude Code, by its Agent SDK: one streaming query for each session, resumed by its id. */
import { spawn, type SpawnOptions } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  ABILITIES,
  able,
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type AgentUsage,
  type PermissionDecision,
  type SessionRef,
  type ToolKind,
} from './adapter.ts'
import { loadPackage, probePackage } from './load-package.ts'
import { PartQueue } from './part-queue.ts'
import { Queue } from './queue.ts'
import type { Texts } from './texts.ts'

export interface ClaudeOptions {
  /** The file of the SDK (default: the package, as the project has it). */
  readonly sdk?: string
  /** The program (default: the one that the SDK brings). */
  readonly command?: string
}

const PACKAGE = '@anthropic-ai/claude-agent-sdk'
const LICENCE = 'proprietary (the terms of Anthropic)'
const FOREVER_S = 365 * 24 * 3_600

export function claudeAgent({ sdk: file, command }: ClaudeOptions = {}): AgentAdapter {
  const wanted = { name: PACKAGE, agent: 'Claude', install: `npm install ${PACKAGE}`, licence: LICENCE, file }
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
    capabilities: able(...ABILITIES),
    probe: async () => probePackage(wanted),
    open: async (options) => new ClaudeSession(await loadPackage<Sdk>(wanted), options, command),
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

interface Message extends Texts<'subtype' | 'error' | 'result' | 'terminal_reason'> {
  readonly type: string
  readonly parent_tool_use_id?: string | null
  readonly event?: { readonly delta?: Texts<'type' | 'text' | 'thinking'> }
  readonly message?: { readonly content: string | readonly Block[]; readonly usage?: Tokens }
  readonly attempt?: number
  readonly errors?: readonly string[]
  readonly is_error?: boolean
  readonly structured_output?: unknown
  readonly usage?: Tokens
  readonly total_cost_usd?: number
  readonly modelUsage?: Readonly<Record<string, { readonly contextWindow?: number }>>
}

interface Block extends Texts<'id' | 'name' | 'tool_use_id'> {
  readonly type: string
  readonly input?: unknown
  readonly is_error?: boolean
  readonly content?: unknown
}

type Tokens = Readonly<
  Partial<Record<'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens', number>>
>

interface Asked {
  readonly tool_name: string
  readonly tool_input: unknown
  readonly tool_use_id: string
}

class ClaudeSession implements AgentSession {
  readonly ref: SessionRef
  readonly #sdk: Sdk
  readonly #options: AgentOpen
  readonly #command: string | undefined
  #known: boolean
  #query: Query | undefined
  #said: Queue<unknown> | undefined
  #turn = new PartQueue()
  #schema: unknown
  /** What the session had cost when the turn began. It tells sums, also over a resume. */
  #cost: number | undefined
  #used = 0

  constructor(sdk: Sdk, options: AgentOpen, command: string | undefined) {
    const { resume, id, cwd } = options
    this.#sdk = sdk
    this.#turn.close()
    this.#options = options
    this.#command = command
    this.#known = resume !== undefined
    this.ref = { agent: 'claude', id: resume?.id ?? id ?? randomUUID(), cwd }
  }

  get native(): unknown {
    return this.#query
  }

  prompt(text: string, { schema }: { readonly schema?: unknown } = {}): AsyncIterable<AgentPart> {
    this.#turn = new PartQueue()
    // What it must give is said when it starts.
    if (JSON.stringify(schema) !== JSON.stringify(this.#schema)) this.#end()
    this.#schema = schema
    if (this.#query === undefined) this.#start()
    this.#said?.push({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null })
    return this.#turn
  }

  /** A deferred tool is asked for again as soon as the session is resumed. */
  proceed(): AsyncIterable<AgentPart> {
    this.#turn = new PartQueue()
    this.#end()
    this.#start()
    return this.#turn
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.ended) await this.#query?.interrupt()
  }

  async compact(): Promise<void> {
    for await (const part of this.prompt('/compact'))
      if (part.type === 'turn-end' && part.reason !== 'done') throw new Error(part.error ?? 'it could not be compacted')
  }

  async close(): Promise<void> {
    this.#end()
    this.#turn.end('interrupted')
  }

  #end(): void {
    this.#said?.close()
    this.#query?.close()
    this.#query = undefined
  }

  #start(): void {
    const said = new Queue<unknown>()
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
    this.#turn.fail(problem)
  }

  #queryOptions(): Readonly<Record<string, unknown>> {
    const { cwd, model, system: append, tools, mcpServers = {}, native, started, forkFrom } = this.#options
    const { id } = this.ref
    const servers = Object.entries(mcpServers).map(([name, one]) => [
      name,
      { type: 'url' in one ? 'http' : 'stdio', ...one },
    ])
    return {
      cwd,
      env: this.#env(),
      model,
      includePartialMessages: true,
      permissionMode: 'default',
      settingSources: ['project'],
      systemPrompt: { type: 'preset', preset: 'claude_code', append },
      ...(this.#known ? { resume: id } : { sessionId: id, resume: forkFrom?.id, forkSession: forkFrom !== undefined }),
      tools: tools?.allow,
      disallowedTools: tools?.deny,
      outputFormat: this.#schema === undefined ? undefined : { type: 'json_schema', schema: this.#schema },
      pathToClaudeCodeExecutable: this.#command,
      mcpServers: Object.fromEntries(servers),
      canUseTool: async (tool: string, input: unknown, { toolUseID }: { toolUseID: string }) => {
        const decision = await this.#permit(toolUseID, tool, input)
        return 'allow' in decision && decision.allow
          ? { behavior: 'allow', updatedInput: decision.input ?? input }
          : { behavior: 'deny', message: 'reason' in decision ? decision.reason : 'denied' }
      },
      hooks: { PreToolUse: [{ hooks: [(asked: Asked) => this.#hook(asked)], timeout: FOREVER_S, onFailure: 'block' }] },
      spawnClaudeCodeProcess: ({ command, args, ...how }: { command: string; args: string[] } & SpawnOptions) => {
        const child = spawn(command, args, { ...how, stdio: ['pipe', 'pipe', 'ignore'] })
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
    else if (type === 'system' && subtype === 'compact_boundary') this.#turn.push({ type: 'compacted' })
    else if (type === 'system' && subtype === 'api_retry')
      this.#turn.push({ type: 'retry', attempt: message.attempt ?? 1, message: message.error ?? '' })
    else if (type === 'stream_event' && message.parent_tool_use_id === null) this.#delta(event?.delta)
    else if (type === 'assistant' || type === 'user') this.#blocks(message)
    else if (type === 'result') this.#result(message)
  }

  #delta({ type, text = '', thinking = '' }: Texts<'type' | 'text' | 'thinking'> = {}): void {
    if (type === 'text_delta') {
      this.#turn.text += text
      this.#turn.push({ type: 'text', text })
    } else if (type === 'thinking_delta') this.#turn.push({ type: 'thinking', text: thinking })
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
      if (type === 'tool_use') this.#turn.push({ type: 'tool-start', id, tool: name, input })
      if (type === 'tool_result') this.#turn.toolEnd(of, failed !== true, content)
    }
  }

  #result(message: Message): void {
    const {
      result: text = this.#turn.text,
      errors,
      is_error: failed,
      terminal_reason: how = '',
      subtype = '',
    } = message
    this.#turn.push({ type: 'usage', usage: this.#spent(message) })
    const data = message.structured_output
    if (how === 'tool_deferred') this.#turn.end('deferred', { text })
    else if (how.startsWith('aborted')) this.#turn.end('interrupted', { text })
    else if (/max_turns|max_budget/.test(subtype))
      this.#turn.end('limit', { text, error: errors?.join('; ') ?? subtype })
    else if (failed === true || errors !== undefined) this.#turn.fail(errors?.join('; ') ?? text)
    else this.#turn.end('done', data === undefined ? { text } : { text, data })
  }

  #spent({ usage = {}, total_cost_usd: cost = 0, modelUsage = {} }: Message): AgentUsage {
    const size = Math.max(0, ...Object.values(modelUsage).map(({ contextWindow = 0 }) => contextWindow))
    const usd = Math.max(0, cost - (this.#cost ?? (this.#options.resume === undefined ? 0 : cost)))
    this.#cost = cost
    const window = size === 0 || this.#used === 0 ? {} : { window: Math.min(1, this.#used / size) }
    return { input: tokensIn({ ...usage, output_tokens: 0 }), output: usage.output_tokens ?? 0, usd, ...window }
  }
}

const TOOLS: Readonly<Partial<Record<ToolKind, string>>> = {
  shell: 'Bash KillShell',
  edit: 'Edit MultiEdit Write NotebookEdit',
  fetch: 'WebFetch WebSearch',
  question: 'AskUserQuestion',
  read: 'Read Glob Grep LS NotebookRead TodoWrite TodoRead Task BashOutput StructuredOutput',
}
const KINDS = new Map(
  Object.entries(TOOLS).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind as ToolKind])),
)

function kindOf(tool: string): ToolKind {
  return KINDS.get(tool) ?? (tool.startsWith('mcp__') ? 'mcp' : 'other')
}

function titleOf(tool: string, input: unknown): string {
  const { command, file_path: file, url, description } = (input ?? {}) as Readonly<Record<string, unknown>>
  const found = [command, file, url, description].find((one) => typeof one === 'string')
  return typeof found === 'string' ? found : tool
}

function tokensIn(tokens: Tokens): number {
  const { input_tokens: a = 0, output_tokens: b = 0, cache_read_input_tokens: c = 0 } = tokens
  return a + b + c + (tokens.cache_creation_input_tokens ?? 0)
}
