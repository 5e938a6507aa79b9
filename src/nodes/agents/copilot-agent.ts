/** GitHub Copilot, by its SDK: one client, and with it one process, for each session. */
import { randomUUID } from 'node:crypto'
import {
  able,
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type PermissionRequest,
  type SessionRef,
  type ToolKind,
} from './adapter.ts'
import { loadPackage, probePackage } from './load-package.ts'
import { PartQueue } from './part-queue.ts'
import type { Texts } from './texts.ts'

export interface CopilotOptions {
  /** The file of the SDK (default: the package, as the project has it). */
  readonly sdk?: string
}

const PACKAGE = '@github/copilot-sdk'

export function copilotAgent({ sdk: file }: CopilotOptions = {}): AgentAdapter {
  const wanted = { name: PACKAGE, agent: 'Copilot', install: `npm install ${PACKAGE}`, licence: 'MIT', file }
  return {
    contract: CONTRACT,
    name: 'copilot',
    variables: ['GITHUB_TOKEN', 'GH_TOKEN', 'COPILOT_HOME'],
    capabilities: able('chosenId', 'resume', 'fork', 'compact', 'permissions', 'denyReason', 'gateway'),
    probe: async () => probePackage(wanted),
    open: async (options) => CopilotSession.open(await loadPackage<Sdk>(wanted), options),
  }
}

/** The part of the SDK that is used. */
interface Sdk {
  readonly CopilotClient: new (options: Readonly<Record<string, unknown>>) => Client
}

interface Client {
  start(): Promise<void>
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
interface Data extends Texts<'deltaContent' | 'content' | 'toolCallId' | 'toolName' | 'message'> {
  readonly arguments?: unknown
  readonly success?: boolean
  readonly aborted?: boolean
  readonly result?: Texts<'content'>
  readonly error?: Texts<'message'>
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly currentTokens?: number
  readonly tokenLimit?: number
}

interface Asked extends Texts<'toolCallId' | 'intention' | 'fullCommandText' | 'fileName' | 'url' | 'toolName'> {
  readonly kind: string
}

class CopilotSession implements AgentSession {
  readonly ref: SessionRef
  readonly native: unknown
  readonly #client: Client
  readonly #session: Session
  #turn = new PartQueue()
  #error: string | undefined
  #window = 0

  private constructor(client: Client, session: Session, options: AgentOpen) {
    this.#client = client
    this.#session = session
    this.native = session
    this.#turn.close()
    this.ref = { agent: 'copilot', id: session.sessionId, cwd: options.cwd }
    session.on((event) => {
      options.onNative?.(event)
      this.#hear(event.type, event.data)
    })
  }

  static async open({ CopilotClient }: Sdk, options: AgentOpen): Promise<CopilotSession> {
    const { cwd, env, forkFrom, resume, id = randomUUID(), gateway } = options
    const client = new CopilotClient({
      env: gateway === undefined ? env : { ...env, COPILOT_OFFLINE: 'true' },
      workingDirectory: cwd,
      logLevel: 'error',
      ...(env['COPILOT_HOME'] === undefined ? {} : { baseDirectory: env['COPILOT_HOME'] }),
      ...(gateway === undefined ? {} : { useLoggedInUser: false }),
    })
    try {
      await client.start()
      const config = configOf(options)
      const known =
        forkFrom === undefined ? resume?.id : (await client.rpc.sessions.fork({ sessionId: forkFrom.id })).sessionId
      const session =
        known === undefined
          ? await client.createSession({ ...config, sessionId: id })
          : await client.resumeSession(known, config)
      return new CopilotSession(client, session, options)
    } catch (error) {
      await client.stop()
      throw error
    }
  }

  prompt(text: string): AsyncIterable<AgentPart> {
    const turn = new PartQueue()
    this.#turn = turn
    this.#error = undefined
    this.#session.send({ prompt: text }).catch((error: Error) => turn.fail(error.message))
    return turn
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.ended) await this.#session.abort()
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
    const { currentTokens: used = 0, tokenLimit: size = 0 } = data
    if (type === 'assistant.message_delta') this.#turn.push({ type: 'text', text })
    else if (type === 'assistant.reasoning_delta') this.#turn.push({ type: 'thinking', text })
    else if (type === 'assistant.message') this.#turn.text = data.content || this.#turn.text
    else if (type === 'tool.execution_start')
      this.#turn.push({ type: 'tool-start', id, tool: data.toolName ?? '', input: data.arguments })
    else if (type === 'tool.execution_complete')
      this.#turn.toolEnd(id, data.success === true, data.result?.content ?? data.error?.message)
    else if (type === 'session.usage_info') this.#window = size === 0 ? 0 : Math.min(1, used / size)
    else if (type === 'assistant.usage') {
      const window = this.#window === 0 ? {} : { window: this.#window }
      this.#turn.push({ type: 'usage', usage: { input, output, ...window } })
    } else if (type === 'session.compaction_complete') this.#turn.push({ type: 'compacted' })
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
      const decision = await permission(requestOf(asked))
      if ('allow' in decision && decision.allow) return { kind: 'approve-once' }
      return { kind: 'reject', feedback: 'reason' in decision ? decision.reason : 'denied' }
    },
    ...native,
  }
}

const KINDS: Readonly<Record<string, ToolKind>> = {
  shell: 'shell',
  write: 'edit',
  read: 'read',
  url: 'fetch',
  mcp: 'mcp',
}

function requestOf(asked: Asked): PermissionRequest {
  const { kind, toolCallId = '', intention, fullCommandText: command, fileName: path, url, toolName } = asked
  return {
    id: toolCallId,
    tool: toolName ?? kind,
    kind: KINDS[kind] ?? 'other',
    title: command ?? path ?? url ?? intention ?? kind,
    input: { ...asked, ...(command === undefined ? {} : { command }), ...(path === undefined ? {} : { path }) },
  }
}
