/** GitHub Copilot, by its SDK: one client, and with it one process, for each session. */
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { isProgram } from '../program-on-path.ts'
import {
  able,
  type AgentAdapter,
  type AgentOpen,
  type AgentSession,
  type PermissionRequest,
  type SessionRef,
} from './adapter.ts'
import { agentEnvironment, inHome } from './agent-environment.ts'
import { openOrClose } from './agent-process.ts'
import type { Numbers, Texts } from './fields.ts'
import { packageAgent, packageFolder } from './load-package.ts'
import { subjectIn, verdictOf } from './permission.ts'
import { toolKinds } from './tool-kinds.ts'
import { TurnParts, type Parts } from './turn-parts.ts'

export interface CopilotOptions {
  /** The file of the SDK (default: the package, as the project has it). */
  readonly sdk?: string
  /** The program (default: the one that the SDK brings). */
  readonly command?: string
}

const LOOK_MS = 1_000

export function copilotAgent({ sdk: file, command }: CopilotOptions = {}): AgentAdapter {
  const wanted = {
    name: 'copilot',
    variables: ['GITHUB_TOKEN', 'GH_TOKEN', 'COPILOT_HOME'],
    capabilities: able('chosenId', 'resume', 'fork', 'compact', 'permissions', 'denyReason', 'gateway', 'sandbox'),
    folders: (env: AgentOpen['env']) => [env['COPILOT_HOME'] ?? inHome(env, '.copilot')].flat(),
    package: '@github/copilot-sdk',
    licence: 'MIT',
    file,
  }
  return packageAgent<Sdk>(wanted, (sdk, options, found) =>
    CopilotSession.open(sdk, options, command ?? (options.wrap === undefined ? undefined : programBeside(found))),
  )
}

/** The part of the SDK that is used. */
interface Sdk {
  readonly CopilotClient: new (options: Readonly<Record<string, unknown>>) => Client
  readonly RuntimeConnection: { forStdio(how: { path?: string; args?: readonly string[] }): unknown }
}

interface Client {
  start(): Promise<void>
  ping(): Promise<unknown>
  stop(): Promise<unknown>
  createSession(config: Readonly<Record<string, unknown>>): Promise<Session>
  resumeSession(id: string, config: Readonly<Record<string, unknown>>): Promise<Session>
  readonly rpc: { readonly sessions: { fork(given: { sessionId: string }): Promise<{ sessionId: string }> } }
}

interface Session {
  readonly sessionId: string
  on(listener: (event: { readonly type: string; readonly data: Data }) => void): unknown
  send(message: { prompt: string }): Promise<unknown>
  abort(): Promise<unknown>
  disconnect(): Promise<unknown>
  readonly rpc: { readonly history: { compact(): Promise<unknown> } }
}

/** What is said in events; each has some of it. */
interface Data
  extends
    Texts<'deltaContent' | 'content' | 'toolCallId' | 'toolName' | 'message'>,
    Numbers<'inputTokens' | 'outputTokens' | 'currentTokens' | 'tokenLimit'> {
  readonly arguments?: unknown
  readonly success?: boolean
  readonly aborted?: boolean
  readonly result?: Texts<'content'>
  readonly error?: Texts<'message'>
}

interface Asked extends Texts<'toolCallId' | 'intention' | 'fullCommandText' | 'fileName' | 'url' | 'toolName'> {
  readonly kind: string
}

class CopilotSession implements AgentSession {
  readonly ref: SessionRef
  readonly native: unknown
  ended = false
  readonly #client: Client
  readonly #session: Session
  readonly #turn = new TurnParts()
  #error: string | undefined
  #window: Numbers<'used' | 'size'> = {}

  private constructor(client: Client, session: Session, options: AgentOpen) {
    this.#client = client
    this.#session = session
    this.native = session
    this.ref = { agent: 'copilot', id: session.sessionId, cwd: options.cwd }
    session.on((event) => {
      options.onNative?.(event)
      this.#hear(event.type, event.data)
    })
  }

  static async open(sdk: Sdk, options: AgentOpen, program: string | undefined): Promise<CopilotSession> {
    const { cwd, env, forkFrom, resume, id = randomUUID(), gateway } = options
    const client = new sdk.CopilotClient({
      connection: sdk.RuntimeConnection.forStdio(runtimeOf(program, options)),
      env: agentEnvironment(options, {}, () => ({ COPILOT_OFFLINE: 'true' })),
      workingDirectory: cwd,
      logLevel: 'error',
      ...(env['COPILOT_HOME'] === undefined ? {} : { baseDirectory: env['COPILOT_HOME'] }),
      ...(gateway === undefined ? {} : { useLoggedInUser: false }),
    })
    return openOrClose({ close: () => client.stop() }, async () => {
      await client.start()
      const config = configOf(options)
      const known =
        forkFrom === undefined ? resume?.id : (await client.rpc.sessions.fork({ sessionId: forkFrom.id })).sessionId
      const session =
        known === undefined
          ? await client.createSession({ ...config, sessionId: id })
          : await client.resumeSession(known, config)
      return new CopilotSession(client, session, options)
    })
  }

  prompt(text: string): Parts {
    this.#error = undefined
    this.#watch()
    return this.#turn.begin(() => this.#session.send({ prompt: text }))
  }

  /** The SDK does not tell that its process has ended: whoever waits for the turn would wait for ever. */
  #watch(): void {
    const lost = ({ message }: Error): void => {
      this.ended = true
      this.#turn.fail(message, 'error')
    }
    const look = setInterval(() => {
      if (this.#turn.going) this.#client.ping().catch(lost)
      else clearInterval(look)
    }, LOOK_MS).unref()
  }

  async interrupt(): Promise<void> {
    if (this.#turn.going) await this.#session.abort()
  }

  async compact(): Promise<void> {
    await this.#session.rpc.history.compact()
  }

  async fork(): Promise<SessionRef> {
    return { ...this.ref, id: (await this.#client.rpc.sessions.fork({ sessionId: this.ref.id })).sessionId }
  }

  async close(): Promise<void> {
    this.#turn.end('interrupted')
    // One that has ended already cannot be told to.
    await this.#session.disconnect().catch(() => undefined)
    await this.#client.stop()
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
    else if (type === 'session.compaction_complete') this.#turn.compacted()
    else if (type === 'session.error') this.#error = data.message ?? 'it does not say why'
    else if (type === 'session.idle' && data.aborted === true) this.#turn.end('interrupted')
    else if (type === 'session.idle' && this.#error !== undefined) this.#turn.fail(this.#error)
    else if (type === 'session.idle') this.#turn.end('done')
  }
}

function configOf({
  cwd,
  model,
  system,
  tools,
  mcpServers,
  gateway,
  native,
  permission,
}: AgentOpen): Readonly<Record<string, unknown>> {
  return {
    streaming: true,
    workingDirectory: cwd,
    ...(model === undefined ? {} : { model }),
    ...(system === undefined ? {} : { systemMessage: { mode: 'append', content: system } }),
    ...(tools?.allow === undefined ? {} : { availableTools: tools.allow }),
    ...(tools?.deny === undefined ? {} : { excludedTools: tools.deny }),
    ...(mcpServers === undefined ? {} : { mcpServers }),
    ...(gateway === undefined
      ? {}
      : { provider: { type: 'openai', wireApi: 'completions', baseUrl: `${gateway.url}/v1`, apiKey: gateway.token } }),
    onPermissionRequest: async (asked: Asked) => {
      const { verdict, reason: feedback } = verdictOf(await permission(requestOf(asked)))
      return verdict === 'allow' ? { kind: 'approve-once' } : { kind: 'reject', feedback }
    },
    ...native,
  }
}

const kindOf = toolKinds({ shell: 'shell', edit: 'write', read: 'read', fetch: 'url', mcp: 'mcp' })

function requestOf(asked: Asked): PermissionRequest {
  const { kind, toolCallId = '', intention, fullCommandText: command, fileName: path, toolName } = asked
  const input = { ...asked, ...(command === undefined ? {} : { command }), ...(path === undefined ? {} : { path }) }
  const title = subjectIn(input) ?? intention ?? kind
  return { id: toolCallId, tool: toolName ?? kind, kind: kindOf(kind), title, input }
}

/** The program that the SDK would start by itself. */
function programBeside(file: string | undefined): string | undefined {
  const machine = `${process.platform}-${process.arch}`
  const folder = file === undefined ? undefined : packageFolder(`@github/copilot-sdk-${machine}`, dirname(file))
  const program = join(folder ?? '', 'prebuilds', machine, 'copilot-runtime')
  return folder !== undefined && isProgram(program) ? program : undefined
}

/** The SDK starts it; so in a sandbox it is told that the program is bwrap. */
function runtimeOf(program: string | undefined, { wrap }: AgentOpen): { path?: string; args?: readonly string[] } {
  if (wrap === undefined) return program === undefined ? {} : { path: program }
  if (program !== undefined) {
    const { file: path, args } = wrap({ file: program, args: [] })
    return { path, args }
  }
  const why = 'the program that its SDK starts was not found, and nothing is started without its sandbox'
  throw new NerveError('sandbox-missing', `copilot: ${why}. Say where it is: copilotAgent({ command }).`)
}
