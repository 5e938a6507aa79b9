/** GitHub Copilot, by its SDK: one client, and with it one process, for each session. */
import { randomUUID } from 'node:crypto'
import { allBut, type AgentAdapter, type AgentOpen, type AgentSession, type Lacks, type SessionRef } from './adapter.ts'
import { agentEnvironment, inHome } from './agent-environment.ts'
import { openOrClose } from './agent-process.ts'
import type { Asked, Client, Config, Data, Sdk, Session } from './copilot-sdk.ts'
import { decideCall, type Decided } from './decide-call.ts'
import type { Numbers } from './fields.ts'
import { packageAgent } from './load-package.ts'
import { subjectIn, type Verdict } from './permission.ts'
import { sdkProgram } from './sdk-program.ts'
import { toolKinds } from './tool-kinds.ts'
import { TurnParts, type Parts, type Spent } from './turn-parts.ts'

export interface CopilotOptions {
  /** The file of the SDK (default: the package, as the project has it). */
  readonly sdk?: string
  /** The program (default: the one that the SDK brings). */
  readonly command?: string
}

const MACHINE = `${process.platform}-${process.arch}`

export function copilotAgent({ sdk: file, command }: CopilotOptions = {}): AgentAdapter {
  const wanted = {
    name: 'copilot',
    variables: ['GITHUB_TOKEN', 'GH_TOKEN', 'COPILOT_HOME'],
    capabilities: allBut('structured', 'cost'),
    folders: (env: AgentOpen['env']) => [env['COPILOT_HOME'] ?? inHome(env, '.copilot')].flat(),
    package: '@github/copilot-sdk',
    licence: 'MIT',
    file,
  }
  return packageAgent<Sdk>(wanted, (sdk, options, found) => {
    const runtime = { package: `@github/copilot-sdk-${MACHINE}`, file: ['prebuilds', MACHINE, 'copilot-runtime'] }
    const how = sdkProgram({ name: 'copilot', command, sdk: found, ...runtime }, options)
    return CopilotSession.open(sdk, options, sdk.RuntimeConnection.forStdio(how))
  })
}

class CopilotSession implements AgentSession {
  readonly ref: SessionRef
  native: unknown
  readonly #client: Client
  readonly #options: AgentOpen
  readonly #turn: TurnParts
  #answers: Readonly<Record<string, string>> = {}
  #session: Promise<Session> | undefined
  /** The call that a person thinks about. */
  #deferred: string | undefined
  #holds = false
  #error: string | undefined
  #window: Numbers<'used' | 'size'> = {}

  private constructor(client: Client, id: string, options: AgentOpen) {
    this.#client = client
    this.#turn = new TurnParts(() => client.ping())
    this.#options = options
    this.ref = { agent: 'copilot', id, cwd: options.cwd }
  }

  static async open({ CopilotClient }: Sdk, options: AgentOpen, connection: unknown): Promise<CopilotSession> {
    const { cwd, env, forkFrom, resume, id = randomUUID(), gateway } = options
    const client = new CopilotClient({
      connection,
      env: agentEnvironment(options, {}, () => ({ COPILOT_OFFLINE: 'true' })),
      workingDirectory: cwd,
      logLevel: 'error',
      ...(env['COPILOT_HOME'] === undefined ? {} : { baseDirectory: env['COPILOT_HOME'] }),
      ...(gateway === undefined ? {} : { useLoggedInUser: false }),
    })
    return openOrClose({ close: () => client.stop() }, async () => {
      await client.start()
      const copy = forkFrom && (await client.rpc.sessions.fork({ sessionId: forkFrom.id }))
      const session = new CopilotSession(client, copy?.sessionId ?? resume?.id ?? id, options)
      if (resume === undefined) await session.#enter()
      return session
    })
  }

  /** One that is resumed is entered when it is known what for: only `proceed` wants what was open when its process ended. */
  #enter(continuePendingWork = false): Promise<Session> {
    return (this.#session ??= this.#begin(continuePendingWork))
  }

  async #begin(continuePendingWork: boolean): Promise<Session> {
    const { resume, forkFrom = resume, onNative, native } = this.#options
    const config = { ...configOf(this.#options), ...this.#handlers(), ...native }
    const session = await (forkFrom === undefined
      ? this.#client.createSession({ ...config, sessionId: this.ref.id })
      : this.#client.resumeSession(this.ref.id, { ...config, continuePendingWork }))
    session.on((event) => {
      onNative?.(event)
      this.#hear(event.type, event.data)
    })
    // What was left open before would be waited for, whenever it goes on with something else.
    this.#holds = !continuePendingWork && (await session.rpc.permissions.pendingRequests()).items.length > 0
    this.native = session
    return session
  }

  get ended(): boolean {
    return this.#turn.lost
  }

  prompt(text: string): Parts {
    this.#error = undefined
    return this.#turn.begin(async () => {
      await (await this.#enter()).send({ prompt: text })
      await this.#save()
    })
  }

  proceed(): Parts {
    return this.#turn.begin(async () => {
      const { permissions } = (await this.#enter(true)).rpc
      const last = (await permissions.pendingRequests()).items.at(-1)
      if (last === undefined) throw new Error('what it had asked for is lost')
      const { id, tool, input } = requestOf(last.request)
      this.#turn.toolStart(id, tool, input)
      const result = resultOf(await this.#decide(last.request, ['defer']))
      // When it is allowed, its hook is called again, where it can be given another input.
      await permissions.handlePendingPermissionRequest({ requestId: last.requestId, result })
    })
  }

  #handlers(): Config {
    return {
      hooks: { onPreToolUse: (asked: Omit<Asked, 'kind'>) => this.#hook({ ...asked, kind: 'hook' }) },
      onPermissionRequest: async (asked: Asked) => {
        if (this.#deferred === undefined || asked.toolCallId !== this.#deferred) {
          const decided = await this.#decide(asked, ['editedInput'])
          if (decided.verdict !== 'defer') return resultOf(decided)
        }
        return this.#putOff(asked)
      },
      // The hook has asked the person.
      onUserInputRequest: ({ question, choices = [] }: { question: string; choices?: readonly string[] }) => {
        const answer = this.#answers[question] ?? ''
        return { answer, wasFreeform: !choices.includes(answer) }
      },
    }
  }

  /** Before every tool: here it can be given another input. About tools that are not known, the agent asks by itself. */
  async #hook(asked: Asked): Promise<unknown> {
    const { toolName = '', toolArgs } = asked
    if (kindOf(toolName) === 'other') return undefined
    const toolCallId = this.#turn.idOf(toolName, toolArgs) ?? randomUUID()
    const { verdict, reason, input, answers } = await this.#decide({ ...asked, toolCallId })
    this.#answers = { ...this.#answers, ...answers }
    if (verdict === 'defer') this.#deferred = toolCallId
    const decided = { permissionDecision: verdict === 'defer' ? 'ask' : verdict, permissionDecisionReason: reason }
    return { ...decided, modifiedArgs: answers === undefined ? input : undefined }
  }

  /** Of several calls at once, or of one by an agent of the agent, none can be put off: the others would be lost. */
  async #decide(asked: Asked, lacks: Lacks = []): Promise<Decided> {
    const { toolCallId: call, sessionId: by = this.ref.id } = asked
    const defers = call !== undefined && by === this.ref.id && !this.#holds && (await this.#turn.isAlone())
    const fixed: Lacks = asked.kind === 'hook' ? lacks : [...lacks, 'editedInput']
    return decideCall(this.#options, { ...requestOf(asked), lacks: defers ? fixed : [...fixed, 'defer'] })
  }

  /** What is on disk as open when its process is killed is still open when the session is resumed. */
  async #putOff({ toolCallId }: Asked): Promise<unknown> {
    this.#deferred = toolCallId
    await this.#turn.endAfter(this.#save(), 'deferred')
    return { kind: 'no-result' }
  }

  /** It writes when it likes to: a session that was only just begun would not be there for whoever goes on after a crash. */
  async #save(): Promise<void> {
    await this.#client.rpc.sessions.save({ sessionId: this.ref.id })
  }

  async interrupt(): Promise<void> {
    if (this.#turn.going) await (await this.#enter()).abort()
  }

  async compact(): Spent {
    const { history } = (await this.#enter()).rpc
    return this.#turn.spentBy(() => history.compact())
  }

  async fork(): Promise<SessionRef> {
    return { ...this.ref, id: (await this.#client.rpc.sessions.fork({ sessionId: this.ref.id })).sessionId }
  }

  async close(): Promise<void> {
    this.#turn.end('interrupted')
    // One that is told to end would give up what is still open.
    if (this.#deferred !== undefined) return void (await this.#client.forceStop())
    // One that has ended already cannot be told to.
    await this.#session?.then((session) => session.disconnect()).catch(() => undefined)
    await this.#client.stop()
  }

  #compacted({ inputTokens: input = 0, outputTokens: output = 0 }: Data['compactionTokensUsed'] = {}): void {
    this.#turn.spent({ input, output })
    this.#turn.compacted()
  }

  #hear(type: string, data: Data): void {
    const { toolCallId: id = '', deltaContent: text = '', inputTokens: input = 0, outputTokens: output = 0 } = data
    if (type === 'assistant.message_delta') this.#turn.say(text)
    else if (type === 'assistant.reasoning_delta') this.#turn.think(text)
    else if (type === 'assistant.message') this.#turn.text = data.content || this.#turn.text
    else if (type === 'tool.execution_start') this.#turn.toolStart(id, data.toolName ?? '', data.arguments)
    else if (type === 'tool.execution_complete')
      this.#turn.toolEnd(id, data.success === true, data.result?.content ?? data.error?.message)
    else if (type === 'session.usage_info') this.#window = { used: data.currentTokens ?? 0, size: data.tokenLimit ?? 0 }
    else if (type === 'assistant.usage') this.#turn.spent({ input, output, ...this.#window })
    else if (type === 'session.compaction_complete') this.#compacted(data.compactionTokensUsed)
    else if (type === 'session.error') this.#error = data.message ?? 'it does not say why'
    else if (type === 'session.idle' && data.aborted === true) this.#turn.end('interrupted')
    else if (type === 'session.idle' && this.#error !== undefined) this.#turn.fail(this.#error)
    else if (type === 'session.idle') this.#turn.end('done')
  }
}

function configOf({ cwd, model, system, tools, mcpServers, gateway }: AgentOpen): Config {
  return {
    streaming: true,
    workingDirectory: cwd,
    model,
    systemMessage: system && { mode: 'append', content: system },
    availableTools: tools?.allow,
    excludedTools: tools?.deny,
    mcpServers,
    provider: gateway && { ...PROVIDER, baseUrl: `${gateway.url}/v1`, apiKey: gateway.token },
  }
}

const PROVIDER = { type: 'openai', wireApi: 'completions' }
/** Its tools that do more than look, and the kinds of what it asks for by itself. */
const kindOf = toolKinds({ shell: 'bash powershell', edit: 'create edit apply_patch', question: 'ask_user' })
const kindAsked = toolKinds({ shell: 'shell commands', edit: 'write', read: 'read', fetch: 'url', mcp: 'mcp' })

function requestOf(asked: Asked) {
  const { kind, toolCallId: id = '', toolName: tool = kind, toolArgs, intention = kind } = asked
  if (kind === 'hook') return { id, tool, kind: kindOf(tool), title: subjectIn(toolArgs) ?? tool, input: toolArgs }
  const { fullCommandText: command, fileName: path } = asked
  const input = { ...asked, ...(command === undefined ? {} : { command }), ...(path === undefined ? {} : { path }) }
  return { id, tool, kind: kindAsked(kind), title: subjectIn(input) ?? intention, input }
}

function resultOf({ verdict, reason: feedback }: Verdict): unknown {
  return verdict === 'allow' ? { kind: 'approve-once' } : { kind: 'reject', feedback }
}
