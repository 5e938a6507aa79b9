/** OpenCode, by its server: a process of its own for each session, asked over HTTP on loopback, heard over its event stream. */
import { randomBytes } from 'node:crypto'
import {
  able,
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type SessionRef,
  type ToolKind,
} from './adapter.ts'
import { needProgram, probeProgram } from './find-program.ts'
import { HttpProgram } from './http-program.ts'
import { PartQueue } from './part-queue.ts'
import type { Texts } from './texts.ts'

export interface OpencodeOptions {
  /** The program (default: `opencode` on the PATH, or of the package `opencode-ai`). */
  readonly command?: string
}

export function opencodeAgent({ command }: OpencodeOptions = {}): AgentAdapter {
  const program = {
    command,
    name: 'opencode',
    packages: [{ package: `opencode-${process.platform}-${process.arch}`, file: 'bin/opencode' }],
    install: 'npm install -g opencode-ai',
    licence: 'MIT',
  }
  return {
    contract: CONTRACT,
    name: 'opencode',
    variables: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'OPENCODE_CONFIG'],
    capabilities: able('resume', 'fork', 'compact', 'permissions', 'denyReason', 'cost', 'gateway'),
    probe: () => probeProgram(program),
    open: (options) => OpencodeSession.open(needProgram(program), options),
  }
}

interface Part extends Texts<'text' | 'tool' | 'callID'> {
  readonly id: string
  readonly type: string
  readonly messageID: string
  readonly state?: { readonly status: string; readonly input?: unknown } & Texts<'output' | 'error'>
  readonly cost?: number
  readonly tokens?: Readonly<Record<'input' | 'output' | 'reasoning', number>> & {
    readonly cache: Readonly<Record<'read' | 'write', number>>
  }
}

interface Failure {
  readonly name?: string
  readonly data?: { readonly message?: string; readonly statusCode?: number }
}

/** What is said in events; each has some of it. */
interface Said extends Texts<'id' | 'sessionID' | 'partID' | 'messageID' | 'field' | 'delta' | 'permission'> {
  readonly part?: Part
  readonly info?: { readonly id: string; readonly summary?: unknown } & Texts<'role' | 'providerID' | 'modelID'>
  readonly status?: { readonly type: string; readonly attempt?: number; readonly message?: string }
  readonly error?: Failure
  readonly patterns?: readonly string[]
  readonly metadata?: unknown
  readonly tool?: { readonly callID?: string }
}

interface Models {
  readonly providers: readonly {
    readonly id: string
    readonly models: Readonly<Record<string, { readonly limit?: { readonly context?: number } }>>
  }[]
}

interface Made {
  readonly id: string
}

class OpencodeSession implements AgentSession {
  readonly ref: SessionRef
  readonly native: unknown
  readonly #server: HttpProgram
  readonly #options: AgentOpen
  /** The messages that are the agent's answer, and not a summary of its own. */
  readonly #answers = new Map<string, string>()
  readonly #tools = new Map<string, string>()
  readonly #thinking = new Set<string>()
  /** How much each model can remember, in tokens. */
  readonly #sizes = new Map<string, number>()
  #turn = new PartQueue()
  #prompt = ''
  /** The server has taken the prompt: what is heard before belongs to the turn before. */
  #taken = false
  #answered = false
  #sent = 0
  #error: Failure | undefined

  private constructor(server: HttpProgram, id: string, options: AgentOpen) {
    this.#server = server
    this.#options = options
    this.ref = { agent: 'opencode', id, cwd: options.cwd }
    this.native = server
    this.#turn.close()
    server.onEnd((error) => this.#turn.fail(error, 'error'))
  }

  static async open(program: string, options: AgentOpen): Promise<OpencodeSession> {
    const server = await serve(program, options)
    try {
      const { resume, forkFrom } = options
      const made =
        resume !== undefined
          ? server.request<Made>('GET', `/session/${resume.id}`)
          : server.request<Made>('POST', forkFrom === undefined ? '/session' : `/session/${forkFrom.id}/fork`, {})
      const { id } = await made
      const session = new OpencodeSession(server, id, options)
      await session.#listen()
      return session
    } catch (error) {
      await server.close()
      throw error
    }
  }

  prompt(text: string): AsyncIterable<AgentPart> {
    this.#turn = new PartQueue()
    this.#prompt = text
    this.#sent = 0
    this.#send()
    return this.#turn
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.ended) await this.#post('abort', {})
  }

  async compact(): Promise<void> {
    const [model] = [...this.#answers.values()].slice(-1)
    if (model === undefined) return
    const [providerID, ...rest] = model.split('/')
    await this.#post('summarize', { providerID, modelID: rest.join('/') })
  }

  async fork(): Promise<SessionRef> {
    return { ...this.ref, id: (await this.#post<Made>('fork', {})).id }
  }

  async close(): Promise<void> {
    // A command of the agent may outlive the server; it ends with the turn.
    if (!this.#turn.ended) await this.interrupt().catch(() => undefined)
    await this.#server.close()
  }

  #send(): void {
    this.#sent += 1
    this.#taken = false
    this.#answered = false
    this.#error = undefined
    const body = { parts: [{ type: 'text', text: this.#prompt }], system: this.#options.system }
    this.#post('prompt_async', body).catch((error: Error) => this.#turn.fail(error.message))
  }

  #post<Result>(what: string, body: unknown): Promise<Result> {
    return this.#server.request('POST', `/session/${this.ref.id}/${what}`, body)
  }

  async #listen(): Promise<void> {
    const { providers } = await this.#server.request<Models>('GET', '/config/providers')
    for (const { id, models } of providers)
      for (const [name, { limit }] of Object.entries(models)) this.#sizes.set(`${id}/${name}`, limit?.context ?? 0)
    const events = await this.#server.events<{ type: string; properties: Said }>('/event')
    const hear = async (): Promise<void> => {
      for await (const event of events) {
        this.#options.onNative?.(event)
        this.#hear(event.type, event.properties)
      }
    }
    hear().catch((error: Error) => this.#turn.fail(error.message, 'error'))
  }

  #hear(type: string, said: Said): void {
    // Only one session works in this server; what others ask is asked by agents of its agent.
    if (type === 'permission.asked') return void this.#permit(said)
    if (said.sessionID !== this.ref.id) return
    const { info, part, status, messageID = '', partID = '', delta = '' } = said
    if (type === 'message.updated' && info?.role === 'assistant' && info.summary !== true) {
      this.#answered ||= this.#taken && !this.#answers.has(info.id)
      this.#answers.set(info.id, `${info.providerID ?? ''}/${info.modelID ?? ''}`)
    } else if (type === 'message.part.updated' && part !== undefined) this.#part(part)
    else if (type === 'message.part.delta' && said.field === 'text' && this.#answers.has(messageID)) {
      if (this.#thinking.has(partID)) this.#turn.push({ type: 'thinking', text: delta })
      else this.#turn.push({ type: 'text', text: delta })
    } else if (type === 'session.compacted') this.#turn.push({ type: 'compacted' })
    else if (type === 'session.error') this.#error = said.error
    else if (type === 'session.status' && status?.type === 'retry')
      this.#turn.push({ type: 'retry', attempt: status.attempt ?? 1, message: status.message ?? '' })
    else if (type === 'session.idle' && this.#taken) this.#end()
  }

  #part({ id, type, messageID, text = '', tool = '', callID = '', state, tokens, cost = 0 }: Part): void {
    if (type === 'text' && text === this.#prompt) this.#taken = true
    const model = this.#answers.get(messageID)
    if (model === undefined) return
    if (type === 'text') this.#turn.text = text
    else if (type === 'reasoning') this.#thinking.add(id)
    else if (type === 'step-finish' && tokens !== undefined) {
      const input = tokens.input + tokens.cache.read + tokens.cache.write
      const output = tokens.output + tokens.reasoning
      const size = this.#sizes.get(model) ?? 0
      const window = size === 0 ? {} : { window: Math.min(1, (input + output) / size) }
      this.#turn.push({ type: 'usage', usage: { input, output, usd: cost, ...window } })
    } else if (type === 'tool' && state !== undefined && this.#tools.get(callID) !== state.status) {
      this.#tools.set(callID, state.status)
      if (state.status === 'running') this.#turn.push({ type: 'tool-start', id: callID, tool, input: state.input })
      if (state.status === 'completed') this.#turn.toolEnd(callID, true, state.output)
      if (state.status === 'error') this.#turn.toolEnd(callID, false, state.error)
    }
  }

  #end(): void {
    const error = this.#error
    // A compaction that was broken off is made up for first, and the prompt is left without an answer: it is said again.
    if (error === undefined && !this.#answered && this.#sent === 1) this.#send()
    else if (error === undefined) this.#turn.end('done')
    else if (error.name === 'MessageAbortedError') this.#turn.end('interrupted')
    else if (error.name === 'ContextOverflowError') this.#turn.fail(error.data?.message ?? error.name, 'context-full')
    else this.#turn.fail([error.data?.statusCode, error.data?.message ?? error.name].join(' ').trim())
  }

  async #permit({ id = '', permission: tool = '', patterns = [], metadata, tool: used }: Said): Promise<void> {
    try {
      const decision = await this.#options.permission({
        id: used?.callID ?? id,
        tool,
        kind: KINDS[tool] ?? 'other',
        title: patterns.join(' ') || tool,
        input: metadata,
      })
      const reply =
        'allow' in decision && decision.allow
          ? { reply: 'once' }
          : { reply: 'reject', message: ('reason' in decision && decision.reason) || 'denied' }
      await this.#server.request('POST', `/permission/${id}/reply`, reply)
    } catch (error) {
      if (this.#turn.ended) return
      this.#turn.fail((error as Error).message)
      await this.interrupt()
    }
  }
}

const KINDS: Readonly<Record<string, ToolKind>> = { bash: 'shell', edit: 'edit', webfetch: 'fetch', websearch: 'fetch' }
const LOOKS = ['read', 'glob', 'grep', 'list', 'lsp', 'skill', 'task', 'todoread', 'todowrite']

/** Its configuration, beside the one of the user: everything that does more than look is asked for. */
function configOf({ gateway, model, mcpServers = {}, tools, native }: AgentOpen): Readonly<Record<string, unknown>> {
  const own = `nerve/${model ?? 'default'}`
  const [allow, deny] = [tools?.allow ?? ['*'], tools?.deny ?? []]
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${gateway?.url ?? ''}/v1`, apiKey: gateway?.token },
    // It has to know some size: without one it never shortens what it remembers.
    models: { [model ?? 'default']: { limit: { context: 200_000, output: 32_000 } } },
  }
  const mcp = Object.entries(mcpServers).map(([name, one]) => [
    name,
    'url' in one
      ? { type: 'remote', ...one }
      : { type: 'local', command: [one.command, ...(one.args ?? [])], environment: one.env ?? {} },
  ])
  return {
    autoupdate: false,
    permission: { '*': 'ask', question: 'deny', ...Object.fromEntries(LOOKS.map((one) => [one, 'allow'])) },
    tools: Object.fromEntries([
      ['*', allow.includes('*')],
      ...allow.map((one) => [one, true]),
      ...deny.map((one) => [one, false]),
    ]),
    mcp: Object.fromEntries(mcp),
    ...(model === undefined ? {} : { model }),
    ...(gateway === undefined
      ? {}
      : { model: own, small_model: own, enabled_providers: ['nerve'], provider: { nerve: provider } }),
    ...native,
  }
}

/** Nothing is looked up elsewhere when its model is ours. */
const QUIET = { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }

function serve(command: string, options: AgentOpen): Promise<HttpProgram> {
  const { cwd, env, started, gateway } = options
  const password = randomBytes(24).toString('hex')
  return HttpProgram.start({
    name: 'opencode',
    command,
    args: (port) => ['serve', '--hostname=127.0.0.1', `--port=${port}`],
    cwd,
    env: {
      ...(gateway === undefined ? {} : QUIET),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      ...env,
      OPENCODE_CONFIG_CONTENT: JSON.stringify(configOf(options)),
      OPENCODE_SERVER_PASSWORD: password,
    },
    headers: { authorization: `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}` },
    started,
  })
}
