/** OpenCode, by its server: a process of its own for each session, asked over HTTP on loopback, heard over its event stream. */
import { randomBytes } from 'node:crypto'
import { allBut, type AgentAdapter, type AgentOpen, type AgentSession, type SessionRef } from './adapter.ts'
import { agentEnvironment, switchedOn, usualFolders } from './agent-environment.ts'
import { openOrClose } from './agent-process.ts'
import { programAgent, type ProgramOptions } from './find-program.ts'
import { HttpProgram } from './http-program.ts'
import { mcpServersAs } from './mcp-servers.ts'
import { spendingOf, type Failure, type Message, type Part, type Provider, type Said } from './opencode-api.ts'
import { subjectIn, verdictOf } from './permission.ts'
import { answersTo } from './questions.ts'
import { toolKinds } from './tool-kinds.ts'
import { hearAll, TurnParts, type Parts, type Spent } from './turn-parts.ts'

export type OpencodeOptions = ProgramOptions

export function opencodeAgent({ command }: OpencodeOptions = {}): AgentAdapter {
  const wanted = {
    command,
    name: 'opencode',
    variables: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'OPENCODE_CONFIG'],
    capabilities: allBut('chosenId', 'editedInput', 'defer', 'structured'),
    folders: (env: AgentOpen['env']) => usualFolders(env, 'opencode'),
    packages: [{ package: `opencode-${process.platform}-${process.arch}`, file: 'bin/opencode' }],
    install: 'npm install -g opencode-ai',
    licence: 'MIT',
  }
  return programAgent(wanted, (program, options) => OpencodeSession.open(program, options))
}

/** What came of a prompt so far. What is heard before the server has taken it belongs to the turn before. */
const nothingOf = (prompt: string, times: number) => ({
  ...{ prompt, times, taken: false, answered: false, interrupted: false },
  error: undefined as Failure | undefined,
})

class OpencodeSession implements AgentSession {
  readonly ref: SessionRef
  readonly native: unknown
  readonly #server: HttpProgram
  readonly #options: AgentOpen
  /** The messages that are the agent's answer, and not a summary of its own. */
  readonly #answers = new Map<string, string>()
  readonly #thinking = new Set<string>()
  /** How much each model can remember, in tokens. */
  readonly #sizes = new Map<string, number>()
  readonly #turn = new TurnParts()
  /** The sessions of the agents of its agent. */
  readonly #helpers = new Set<string>()
  #asked = nothingOf('', 0)

  private constructor(server: HttpProgram, id: string, options: AgentOpen) {
    this.#server = server
    this.#options = options
    this.ref = { agent: 'opencode', id, cwd: options.cwd }
    this.native = server
    server.onEnd((error) => this.#turn.fail(error.message, 'error'))
  }

  static async open(program: string, options: AgentOpen): Promise<OpencodeSession> {
    const server = await serve(program, options)
    const { resume, forkFrom } = options
    return openOrClose(server, async () => {
      const { id } =
        resume !== undefined
          ? await server.request<{ id: string }>('GET', `/session/${resume.id}`)
          : await server.request<{ id: string }>(
              'POST',
              forkFrom === undefined ? '/session' : `/session/${forkFrom.id}/fork`,
              {},
            )
      const session = new OpencodeSession(server, id, options)
      await session.#listen()
      return session
    })
  }

  get ended(): boolean {
    return this.#server.ended
  }

  prompt(text: string): Parts {
    return this.#turn.begin(() => this.#ask(text, 1))
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.going) return
    this.#asked.interrupted = true
    await this.#post('abort', {})
  }

  async compact(): Spent {
    const [model] = [...this.#answers.values()].slice(-1)
    if (model === undefined) return spendingOf({})
    const [providerID, ...rest] = model.split('/')
    await this.#post('summarize', { providerID, modelID: rest.join('/') })
    // Its events come later than its answer.
    const said = await this.#server.request<readonly Message[]>('GET', `/session/${this.ref.id}/message?limit=5`)
    return spendingOf(said.findLast(({ info }) => info.summary === true)?.info ?? {})
  }

  async fork(): Promise<SessionRef> {
    return { ...this.ref, id: (await this.#post<{ id: string }>('fork', {})).id }
  }

  async close(): Promise<void> {
    // A command of the agent may outlive the server; it ends with the turn.
    await this.interrupt().catch(() => undefined)
    await this.#server.close()
  }

  async #ask(prompt: string, times: number): Promise<void> {
    this.#asked = nothingOf(prompt, times)
    await this.#post('prompt_async', { parts: [{ type: 'text', text: prompt }], system: this.#options.system })
  }

  #post<Result>(what: string, body: unknown): Promise<Result> {
    return this.#server.request('POST', `/session/${this.ref.id}/${what}`, body)
  }

  async #listen(): Promise<void> {
    const { providers } = await this.#server.request<{ providers: readonly Provider[] }>('GET', '/config/providers')
    for (const { id, models } of providers)
      for (const [name, { limit }] of Object.entries(models)) this.#sizes.set(`${id}/${name}`, limit?.context ?? 0)
    const events = await this.#server.events<{ type: string; properties: Said }>('/event')
    const heard = hearAll(events, this.#options, (event) => this.#hear(event.type, event.properties))
    void heard.then((problem) => this.#turn.fail(problem, 'error'))
  }

  #hear(type: string, said: Said): void {
    // Only one session works in this server; what others ask is asked by agents of its agent.
    if (type === 'permission.asked') return void this.#reply(`permission/${said.id ?? ''}`, this.#permit(said))
    if (type === 'question.asked') return void this.#reply(`question/${said.id ?? ''}`, this.#answer(said))
    const { sessionID = '', info, part, status, messageID = '', partID = '', delta = '' } = said
    const { parentID = '' } = info ?? {}
    if (type === 'session.created' && [this.ref.id, ...this.#helpers].includes(parentID)) this.#helpers.add(sessionID)
    if (part?.type === 'step-finish' && this.#helpers.has(sessionID)) this.#spend(part)
    if (sessionID !== this.ref.id) return
    if (type === 'message.updated' && info?.role === 'assistant' && info.summary !== true) {
      this.#asked.answered ||= this.#asked.taken && !this.#answers.has(info.id)
      this.#answers.set(info.id, `${info.providerID ?? ''}/${info.modelID ?? ''}`)
    } else if (type === 'message.part.updated' && part !== undefined) this.#part(part)
    else if (type === 'message.part.delta' && said.field === 'text' && this.#answers.has(messageID)) {
      if (this.#thinking.has(partID)) this.#turn.think(delta)
      else this.#turn.say(delta)
    } else if (type === 'session.compacted') this.#turn.compacted()
    else if (type === 'session.error') this.#asked.error = said.error
    else if (type === 'session.status' && status?.type === 'retry') this.#turn.retry(status.message)
    else if (type === 'session.idle' && this.#asked.taken) this.#end()
  }

  #spend(part: Part, size = 0): void {
    this.#turn.spent({ ...spendingOf(part), size })
  }

  #part(part: Part): void {
    const { id = '', type, messageID = '', text = '', tool = '', callID = '', state } = part
    if (type === 'text' && text === this.#asked.prompt) this.#asked.taken = true
    const model = this.#answers.get(messageID)
    if (model === undefined) return
    if (type === 'text') this.#turn.text = text
    else if (type === 'reasoning') this.#thinking.add(id)
    else if (type === 'step-finish') this.#spend(part, this.#sizes.get(model))
    else if (type === 'tool' && state !== undefined) {
      if (state.status === 'running') this.#turn.toolStart(callID, tool, state.input)
      if (state.status === 'completed') this.#turn.toolEnd(callID, true, state.output)
      if (state.status === 'error') this.#turn.toolEnd(callID, false, state.error)
    }
  }

  #end(): void {
    const { prompt, times, answered, interrupted, error } = this.#asked
    // Not always does it say so itself.
    if (interrupted) return this.#turn.end('interrupted')
    // A compaction that was broken off is made up for first, and the prompt is left without an answer: it is said again.
    if (error === undefined && !answered && times === 1)
      this.#ask(prompt, 2).catch((cause: Error) => this.#turn.fail(cause.message))
    else if (error === undefined) this.#turn.end('done')
    else if (error.name === 'MessageAbortedError') this.#turn.end('interrupted')
    else if (error.name === 'ContextOverflowError') this.#turn.fail(error.data?.message ?? error.name, 'context-full')
    else this.#turn.fail([error.data?.statusCode, error.data?.message ?? error.name].join(' ').trim())
  }

  async #permit({ permission: tool = '', patterns = [], metadata: input, ...said }: Said): Promise<unknown> {
    const title = subjectIn(input) ?? (patterns.join(' ') || tool)
    const asked = { id: callOf(said), tool, kind: kindOf(tool), title, input }
    const { verdict, reason: message } = verdictOf(await this.#options.permission(asked))
    return verdict === 'allow' ? { reply: 'once' } : { reply: 'reject', message }
  }

  async #answer(said: Said): Promise<unknown> {
    return { answers: await answersTo(this.#options, { id: callOf(said), tool: 'question' }, said) }
  }

  async #reply(to: string, reply: Promise<unknown>): Promise<void> {
    try {
      await this.#server.request('POST', `/${to}/reply`, await reply)
    } catch (error) {
      // What it had asked may have ended with its turn.
      if (!this.#asked.interrupted) this.#turn.fail((error as Error).message)
    }
  }
}

const callOf = ({ id = '', tool }: Said): string => tool?.callID ?? id
const each = (names: readonly string[], value: unknown) => Object.fromEntries(names.map((one) => [one, value]))
const kindOf = toolKinds({ shell: 'bash', edit: 'edit', fetch: 'webfetch websearch' })
const LOOKS = ['read', 'glob', 'grep', 'list', 'lsp', 'question', 'skill', 'task', 'todoread', 'todowrite']

/** Its configuration, beside the one of the user: everything that does more than look is asked for. */
function configOf({ gateway, model, mcpServers, tools, native }: AgentOpen): Readonly<Record<string, unknown>> {
  const own = `nerve/${model ?? 'default'}`
  const [allow, deny] = [tools?.allow ?? ['*'], tools?.deny ?? []]
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${gateway?.url ?? ''}/v1`, apiKey: gateway?.token },
    // It has to know some size: without one it never shortens what it remembers.
    models: { [model ?? 'default']: { limit: { context: 200_000, output: 32_000 } } },
  }
  return {
    autoupdate: false,
    permission: { '*': 'ask', ...each(LOOKS, 'allow') },
    tools: { '*': allow.includes('*'), ...each(allow, true), ...each(deny, false) },
    mcp: mcpServersAs(mcpServers, (one) =>
      'url' in one
        ? { type: 'remote', ...one }
        : { type: 'local', command: [one.command, ...(one.args ?? [])], environment: one.env ?? {} },
    ),
    model,
    ...(gateway === undefined
      ? {}
      : { model: own, small_model: own, enabled_providers: ['nerve'], provider: { nerve: provider } }),
    ...native,
  }
}

/** Nothing is looked up elsewhere when its model is ours. */
const QUIET = switchedOn('OPENCODE_DISABLE_MODELS_FETCH OPENCODE_DISABLE_LSP_DOWNLOAD')

function serve(command: string, options: AgentOpen): Promise<HttpProgram> {
  const password = randomBytes(24).toString('hex')
  const own = { OPENCODE_CONFIG_CONTENT: JSON.stringify(configOf(options)), OPENCODE_SERVER_PASSWORD: password }
  return HttpProgram.start(
    {
      name: 'opencode',
      command,
      args: (port) => ['serve', '--hostname=127.0.0.1', `--port=${port}`],
      headers: { authorization: `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}` },
    },
    { ...options, env: { ...agentEnvironment(options, { OPENCODE_DISABLE_AUTOUPDATE: '1' }, () => QUIET), ...own } },
  )
}
