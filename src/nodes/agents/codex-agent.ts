/** Codex, by its app server: JSON-RPC with the program `codex`. */
import { allBut, type AgentAdapter, type AgentOpen, type AgentSession, type SessionRef } from './adapter.ts'
import { agentEnvironment, inHome } from './agent-environment.ts'
import { openOrClose } from './agent-process.ts'
import { toolOf, usedUpUntil, type Asked, type Item, type Made, type Said, type Started } from './codex-api.ts'
import { programAgent, type ProgramOptions } from './find-program.ts'
import { JsonRpc } from './json-rpc.ts'
import { mcpServersAs } from './mcp-servers.ts'
import { verdictOf } from './permission.ts'
import { answersTo } from './questions.ts'
import { commandIn } from './shell-command.ts'
import { Sums } from './sum.ts'
import { TurnParts, type Parts, type Reasons, type Spent } from './turn-parts.ts'

export type CodexOptions = ProgramOptions

const TRIPLES: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
}

export function codexAgent({ command }: CodexOptions = {}): AgentAdapter {
  const machine = `${process.platform}-${process.arch}`
  const wanted = {
    command,
    name: 'codex',
    variables: ['OPENAI_API_KEY', 'CODEX_HOME', 'CODEX_API_KEY'],
    capabilities: allBut('chosenId', 'denyReason', 'editedInput', 'defer', 'cost'),
    folders: (env: AgentOpen['env']) => [env['CODEX_HOME'] ?? inHome(env, '.codex')].flat(),
    packages: [{ package: `@openai/codex-${machine}`, file: `vendor/${TRIPLES[machine] ?? machine}/bin/codex` }],
    install: 'npm install -g @openai/codex',
    licence: 'Apache-2.0',
  }
  return programAgent(wanted, (program, options) => CodexSession.open(program, options))
}

class CodexSession implements AgentSession {
  ref: SessionRef
  readonly native: unknown
  readonly #rpc: JsonRpc
  readonly #options: AgentOpen
  readonly #items = new Map<string, Item>()
  readonly #turn = new TurnParts()
  /** What each thread has used, also before it was resumed. */
  readonly #sums = new Sums()
  #turnId: string | undefined
  #compacted: PromiseWithResolvers<void> | undefined

  private constructor(program: string, options: AgentOpen) {
    this.#options = options
    this.ref = { agent: 'codex', id: '', cwd: options.cwd }
    this.#rpc = new JsonRpc(
      {
        name: 'codex',
        command: program,
        args: ['app-server', ...configOf(options)],
        request: (method, params) => this.#asked(method, params as Asked),
        notification: (method, params) => this.#hear(method, params as Said),
        ended: (error) => {
          this.#compacted?.reject(error)
          this.#turn.fail(error.message, 'error')
        },
      },
      { ...options, env: agentEnvironment(options, {}, ({ token }) => ({ [KEY]: token })) },
    )
    this.native = this.#rpc
  }

  static async open(program: string, options: AgentOpen): Promise<CodexSession> {
    const session = new CodexSession(program, options)
    return openOrClose(session, async () => {
      await session.#rpc.request('initialize', {
        clientInfo: { name: 'nerve', title: 'Nerve', version: '1' },
        capabilities: { experimentalApi: true },
      })
      session.#rpc.notify('initialized')
      session.ref = { ...session.ref, id: await session.#thread() }
      return session
    })
  }

  async #thread(): Promise<string> {
    const { cwd, model, system: developerInstructions, resume, forkFrom, native, wrap, mcpServers } = this.#options
    const method = resume !== undefined ? 'thread/resume' : forkFrom !== undefined ? 'thread/fork' : 'thread/start'
    const from = resume ?? forkFrom
    const servers = mcpServersAs(mcpServers, (one) =>
      'url' in one ? { url: one.url, http_headers: one.headers } : one,
    )
    const { thread } = await this.#rpc.request<Started>(method, {
      cwd,
      model,
      developerInstructions,
      // Everything that changes something is asked for, whatever the sandbox would let through.
      approvalPolicy: 'untrusted',
      // Its own sandbox cannot be made inside of another: it would go on without one.
      sandbox: wrap === undefined ? 'workspace-write' : 'danger-full-access',
      ...native,
      // Not on the command line, which everybody can see: their variables and headers may be secrets.
      config: { mcp_servers: servers, ...(native?.['config'] as object | undefined) },
      ...(from === undefined ? {} : { threadId: from.id, excludeTurns: true }),
    })
    return thread.id
  }

  prompt(text: string, { schema }: { readonly schema?: unknown } = {}): Parts {
    this.#turnId = undefined
    const input = [{ type: 'text', text, text_elements: [] }]
    const sandboxPolicy = this.#options.wrap && { type: 'externalSandbox', networkAccess: 'enabled' }
    const told = { threadId: this.ref.id, input, outputSchema: schema, sandboxPolicy }
    return this.#turn.begin(() => this.#rpc.request('turn/start', told))
  }

  get ended(): boolean {
    return this.#rpc.ended
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.going || this.#turnId === undefined) return
    await this.#rpc.request('turn/interrupt', { threadId: this.ref.id, turnId: this.#turnId })
  }

  compact(): Spent {
    const { promise } = (this.#compacted = Promise.withResolvers())
    const ask = () => this.#rpc.request('thread/compact/start', { threadId: this.ref.id })
    return this.#turn.spentBy(() => Promise.all([ask(), promise]))
  }

  async fork(): Promise<SessionRef> {
    const from = { threadId: this.ref.id, excludeTurns: true }
    return { ...this.ref, id: (await this.#rpc.request<Started>('thread/fork', from)).thread.id }
  }

  async close(): Promise<void> {
    await this.#rpc.close()
  }

  #hear(method: string, said: Said): void {
    const { threadId: thread = this.ref.id, delta = '', item, tokenUsage, rateLimits, turn, error, willRetry } = said
    if (tokenUsage !== undefined) this.#count(tokenUsage, thread)
    else if (rateLimits !== undefined) this.#turn.limitedUntil(usedUpUntil(rateLimits))
    else if (method === 'item/started' && item !== undefined) this.#started(item)
    else if (method === 'item/completed' && item !== undefined && toolOf(item) !== undefined)
      this.#turn.toolEnd(item.id, item.status === 'completed', item.aggregatedOutput)
    // An agent of the agent has a thread of its own: what it says, and when it ends, is for the agent.
    else if (thread !== this.ref.id) return
    else if (method === 'turn/started') this.#turnId = turn?.id
    else if (method === 'item/agentMessage/delta') this.#turn.say(delta)
    else if (/^item\/reasoning\/(text|summaryText)Delta$/.test(method)) this.#turn.think(delta)
    else if (method === 'item/completed' && item?.type === 'agentMessage')
      this.#turn.text = item.text ?? this.#turn.text
    else if (method === 'item/completed' && item?.type === 'contextCompaction') this.#turn.compacted()
    else if (method === 'error' && willRetry === true) this.#turn.retry(error?.message)
    else if (method === 'turn/completed') this.#ended(turn)
  }

  #started(item: Item): void {
    this.#items.set(item.id, item)
    const tool = toolOf(item)
    if (tool !== undefined) this.#turn.toolStart(item.id, tool.tool, tool.input)
  }

  #count({ total, last, modelContextWindow: size }: NonNullable<Said['tokenUsage']>, thread: string): void {
    const input = this.#sums.added(`${thread} input`, total.inputTokens, last.inputTokens)
    const output = this.#sums.added(`${thread} output`, total.outputTokens, last.outputTokens)
    const window = thread === this.ref.id ? { used: last.totalTokens, size: size ?? 0 } : {}
    this.#turn.spent({ input, output, ...window })
  }

  #ended(turn: Said['turn']): void {
    if (turn?.error) this.#compacted?.reject(new Error(turn.error.message))
    this.#compacted?.resolve()
    this.#compacted = undefined
    if (turn?.status === 'interrupted') this.#turn.end('interrupted')
    else if (turn?.error === undefined || turn.error === null) this.#turn.end('done')
    else this.#turn.fail(turn.error.message, REASONS[String(turn.error.codexErrorInfo)])
  }

  async #asked(method: string, { itemId: id, questions, command, cwd }: Asked): Promise<unknown> {
    if (questions !== undefined) return this.#answer(id, questions)
    const item = this.#items.get(id)
    const shell = method === 'item/commandExecution/requestApproval'
    if (!shell && method !== 'item/fileChange/requestApproval') throw new Error(`${method} is not supported`)
    const line = commandIn(command ?? item?.command ?? '')
    const { changes = [] } = item ?? {}
    const paths = changes.flatMap(({ path, kind }) => [path, kind?.move_path ?? []].flat())
    const asked = shell
      ? ({ kind: 'shell', title: line, input: { command: line, cwd } } as const)
      : ({ kind: 'edit', title: paths.join(' ') || 'change files', input: { changes, paths } } as const)
    const { verdict } = verdictOf(await this.#options.permission({ id, tool: asked.kind, ...asked }))
    return { decision: verdict === 'allow' ? 'accept' : 'decline' }
  }

  async #answer(id: string, questions: readonly Made[]): Promise<unknown> {
    const answers = await answersTo(this.#options, { id, tool: 'request_user_input' }, { questions })
    return { answers: Object.fromEntries(questions.map((one, at) => [one.id, { answers: answers[at] }])) }
  }
}

const REASONS: Reasons = {
  contextWindowExceeded: 'context-full',
  usageLimitExceeded: 'rate-limited',
  rateLimitExceeded: 'rate-limited',
  sessionBudgetExceeded: 'limit',
}

const KEY = 'NERVE_GATEWAY_KEY'
/** Without it, it asks the person only while it makes a plan. */
const ASKS: [string, unknown] = ['features.default_mode_request_user_input', true]

/** Its model by another address, and nothing that it would look up elsewhere. */
function configOf({ gateway }: AgentOpen): string[] {
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
  const config: [string, unknown][] = [ASKS, ...(gateway === undefined ? [] : Object.entries(own))]
  return config.flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`])
}
