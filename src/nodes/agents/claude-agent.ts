/** Claude Code, by its Agent SDK: one streaming query for each session, resumed by its id. */
import { randomUUID } from 'node:crypto'
import { allBut, type AgentAdapter, type AgentOpen, type AgentSession, type SessionRef } from './adapter.ts'
import { agentEnvironment, inHome, switchedOn } from './agent-environment.ts'
import { spawnFor, type Spawning } from './agent-process.ts'
import { rejectedUntil, type Asked, type Message, type Query, type Sdk } from './claude-sdk.ts'
import { ClaudeSpending, sizeIn, tokensIn } from './claude-spending.ts'
import { decideCall } from './decide-call.ts'
import { packageAgent } from './load-package.ts'
import { mcpServersAs } from './mcp-servers.ts'
import { Queue } from './queue.ts'
import { toolKinds } from './tool-kinds.ts'
import { hearAll, TurnParts, untilDone, type Parts, type Spent } from './turn-parts.ts'

export interface ClaudeOptions {
  /** The file of the SDK (default: the package, as the project has it). */
  readonly sdk?: string
  /** The program (default: the one that the SDK brings). */
  readonly command?: string
}

const VARIABLES = 'ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL CLAUDE_CONFIG_DIR CLAUDE_CODE_OAUTH_TOKEN'
/** What would go on after a turn would be heard by nobody, and begin turns of its own: nothing of it is in the background. */
const OFF = 'DISABLE_AUTOUPDATER CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CODE_DISABLE_BACKGROUND_TASKS'
const TOLD_ELSE = 'It was told something else.'
const FOREVER_S = 365 * 24 * 3_600
/** How long one that has started may take to ask again for what was put off. */
const ASK_AGAIN_MS = 5_000

export function claudeAgent({ sdk: file, command }: ClaudeOptions = {}): AgentAdapter {
  const wanted = {
    name: 'claude',
    variables: VARIABLES.split(' '),
    capabilities: allBut(),
    folders: (env: AgentOpen['env']) => [env['CLAUDE_CONFIG_DIR'] ?? inHome(env, '.claude', '.claude.json')].flat(),
    package: '@anthropic-ai/claude-agent-sdk',
    licence: 'proprietary (the terms of Anthropic)',
    file,
  }
  return packageAgent<Sdk>(wanted, async (sdk, options) => {
    const native = { pathToClaudeCodeExecutable: command, ...options.native }
    return new ClaudeSession(sdk, { ...options, native })
  })
}

class ClaudeSession implements AgentSession {
  readonly ref: SessionRef
  readonly #sdk: Sdk
  readonly #options: AgentOpen
  readonly #turn = new TurnParts()
  readonly #spending = new ClaudeSpending()
  #known: boolean
  #query: Query | undefined
  #said = new Queue<unknown>()
  /** A turn that was put off before, and that nobody goes on with: it goes on by itself when the session is resumed. */
  #left: 'unknown' | 'none' | 'ending' | 'awaited' = 'none'
  #schema: unknown
  #used = 0

  constructor(sdk: Sdk, options: AgentOpen) {
    const { resume, id, cwd } = options
    this.#sdk = sdk
    this.#options = options
    this.#known = resume !== undefined
    this.ref = { agent: 'claude', id: resume?.id ?? id ?? randomUUID(), cwd }
  }

  get native(): unknown {
    return this.#query
  }

  prompt(text: string, { schema }: { readonly schema?: unknown } = {}): Parts {
    return this.#turn.begin(async () => {
      // What it must give is said when it starts.
      const other = JSON.stringify(schema) !== JSON.stringify(this.#schema)
      this.#schema = schema
      if (other || this.#query === undefined) void this.#start('unknown')
      this.#said.push({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null })
    })
  }

  /** A deferred tool is asked for again as soon as the session is resumed. A turn that begins meanwhile has its own time for it. */
  proceed(): Parts {
    return this.#turn.begin(async () => {
      const query = await this.#start('awaited')
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS).unref())
      if (this.#left !== 'awaited' || this.#query !== query) return
      this.#end()
      throw new Error('what it had asked for is lost')
    })
  }

  async interrupt(): Promise<void> {
    if (this.#turn.going) await this.#query?.interrupt()
  }

  compact(): Spent {
    return untilDone(this.prompt('/compact'))
  }

  async close(): Promise<void> {
    this.#end()
    this.#turn.end('interrupted')
  }

  #end(): void {
    this.#said.close()
    this.#query?.close()
    this.#query = undefined
  }

  /** Settles when it is there, and it is known what it has spent before. */
  async #start(left: 'unknown' | 'awaited'): Promise<Query> {
    this.#end()
    this.#left = left
    this.#said = new Queue<unknown>()
    const query = (this.#query = this.#sdk.query({ prompt: this.#said, options: this.#queryOptions() }))
    void this.#listen(query)
    if (this.#known || this.#options.forkFrom !== undefined) await this.#spending.goOn(query)
    return query
  }

  async #listen(query: Query): Promise<void> {
    const problem = await hearAll(query, this.#options, (message) => this.#hear(message))
    query.close()
    if (this.#query !== query) return
    this.#query = undefined
    this.#turn.fail(problem)
  }

  #queryOptions(): Readonly<Record<string, unknown>> {
    const { cwd, model, system: append, tools, mcpServers, native, forkFrom } = this.#options
    const { id } = this.ref
    return {
      cwd,
      env: agentEnvironment(this.#options, switchedOn(OFF), ({ url, token }) => ({
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: token,
      })),
      model,
      includePartialMessages: true,
      permissionMode: 'default',
      settingSources: ['project'],
      systemPrompt: { type: 'preset', preset: 'claude_code', append },
      ...(this.#known ? { resume: id } : { sessionId: id, resume: forkFrom?.id, forkSession: forkFrom !== undefined }),
      tools: tools?.allow,
      disallowedTools: tools?.deny,
      outputFormat: this.#schema === undefined ? undefined : { type: 'json_schema', schema: this.#schema },
      mcpServers: mcpServersAs(mcpServers, (one) => ({ type: 'url' in one ? 'http' : 'stdio', ...one })),
      canUseTool: async (tool: string, input: unknown, { toolUseID }: { toolUseID: string }) => {
        if (this.#left === 'ending') return { behavior: 'deny', message: TOLD_ELSE }
        const call = { id: toolUseID, tool, kind: kindOf(tool), input, lacks: ['defer'] } as const
        const { verdict, reason: message, input: updatedInput = input } = await decideCall(this.#options, call)
        return verdict === 'allow' ? { behavior: 'allow', updatedInput } : { behavior: 'deny', message }
      },
      hooks: { PreToolUse: [{ hooks: [(asked: Asked) => this.#hook(asked)], timeout: FOREVER_S, onFailure: 'block' }] },
      spawnClaudeCodeProcess: (wanted: Spawning) => spawnFor(wanted, '--mcp-config', this.#options),
      ...native,
    }
  }

  /** Before every tool that does more than look. Here a decision can also be put off; of several calls at once it cannot. */
  async #hook({ tool_name: tool, tool_input: input, tool_use_id: id, agent_id: agent }: Asked): Promise<unknown> {
    const kind = kindOf(tool)
    if (kind === 'read') return {}
    this.#left = this.#left === 'none' || this.#left === 'awaited' ? 'none' : 'ending'
    if (this.#left === 'ending') return { continue: false, stopReason: TOLD_ELSE }
    const lacks = agent === undefined && (await this.#turn.isAlone()) ? [] : (['defer'] as const)
    const { verdict, reason, input: updatedInput } = await decideCall(this.#options, { id, tool, kind, input, lacks })
    const decided = { permissionDecision: verdict, permissionDecisionReason: reason, updatedInput }
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decided } }
  }

  #hear(message: Message): void {
    const { type, subtype, event: { type: event, delta = {} } = {} } = message
    const begins = this.#left === 'awaited' || type === 'stream_event' || type === 'assistant'
    if (this.#left !== 'ending' && begins) this.#left = 'none'
    if (type === 'system' && subtype === 'init') this.#known = true
    else if (type === 'system' && subtype === 'compact_boundary') this.#turn.compacted()
    else if (type === 'system' && subtype === 'api_retry') this.#turn.retry(message.error)
    else if (type === 'rate_limit_event') this.#turn.limitedUntil(rejectedUntil(message.rate_limit_info))
    else if (type === 'stream_event' && message.parent_tool_use_id === null) {
      if (event === 'message_start') this.#turn.messageBegan()
      if (event === 'message_stop') this.#turn.messageEnded()
      if (delta.type === 'text_delta') this.#turn.say(delta.text ?? '')
      if (delta.type === 'thinking_delta') this.#turn.think(delta.thinking ?? '')
    } else if (type === 'assistant' || type === 'user') this.#blocks(message.message ?? {})
    else if (type === 'result' && this.#left === 'ending') this.#left = 'none'
    else if (type === 'result') this.#result(message)
  }

  #blocks({ content = [], usage, stop_reason: stopped }: NonNullable<Message['message']>): void {
    if (typeof stopped === 'string') this.#turn.messageEnded()
    if (usage !== undefined) this.#used = tokensIn(usage)
    for (const one of typeof content === 'string' ? [] : content) {
      if (one.type === 'tool_use') this.#turn.toolStart(one.id ?? '', one.name ?? '', one.input)
      if (one.type === 'tool_result') this.#turn.toolEnd(one.tool_use_id ?? '', one.is_error !== true, one.content)
    }
  }

  #result(message: Message): void {
    const { result: text = this.#turn.text, errors, is_error: failed, terminal_reason: how = '' } = message
    const { subtype = '', structured_output: data } = message
    const error = errors?.join('; ')
    this.#spend(message)
    if (how === 'tool_deferred') this.#turn.end('deferred', { text })
    else if (how.startsWith('aborted')) this.#turn.end('interrupted', { text })
    else if (/max_turns|max_budget/.test(subtype)) this.#turn.end('limit', { text, error: error ?? subtype })
    else if (failed === true || error !== undefined) this.#turn.fail(error ?? text)
    else this.#turn.end('done', data === undefined ? { text } : { text, data })
  }

  #spend({ usage = {}, total_cost_usd: cost = 0, modelUsage = {} }: Message): void {
    const output = usage.output_tokens ?? 0
    const spent = this.#spending.added(cost, modelUsage, { input: tokensIn(usage) - output, output })
    this.#turn.spent({ ...spent, used: this.#used, size: sizeIn(modelUsage) })
  }
}

const kindOf = toolKinds({
  shell: 'Bash KillShell',
  edit: 'Edit MultiEdit Write NotebookEdit',
  fetch: 'WebFetch WebSearch',
  mcp: 'mcp__*',
  question: 'AskUserQuestion',
  read: 'Read Glob Grep LS NotebookRead TodoWrite TodoRead Agent Task ToolSearch ListAgents BashOutput StructuredOutput',
})
