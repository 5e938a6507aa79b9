/** GitHub Copilot, by its SDK: one client, and with it one process, for each session. */
import { randomUUID } from 'node:crypto'
import type { NerveError } from '../../base/nerve-error.ts'
import {
  CONTRACT,
  type AgentAdapter,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type SessionRef,
  type ToolKind,
  type TurnEnd,
} from './adapter.ts'
import { loadPackage, packageVersion } from './load-package.ts'
import { PartQueue } from './part-queue.ts'

export interface CopilotOptions {
  /** The file of the SDK (default: the package, as the project has it). */
  readonly sdk?: string
}

const PACKAGE = '@github/copilot-sdk'
const INSTALL = `npm install ${PACKAGE}`

export function copilotAgent({ sdk: file }: CopilotOptions = {}): AgentAdapter {
  const load = (): Promise<Sdk> => loadPackage({ name: PACKAGE, agent: 'Copilot', install: INSTALL, file })
  return {
    contract: CONTRACT,
    name: 'copilot',
    variables: ['GITHUB_TOKEN', 'GH_TOKEN', 'COPILOT_HOME'],
    capabilities: {
      chosenId: true,
      resume: true,
      fork: true,
      compact: true,
      permissions: true,
      denyReason: true,
      editedInput: false,
      defer: false,
      structured: false,
      cost: false,
      gateway: true,
    },
    async probe() {
      const version = packageVersion(PACKAGE, file)
      return version === undefined
        ? { found: false, problem: `${PACKAGE} was not found`, install: INSTALL, licence: 'MIT' }
        : { found: true, version, install: INSTALL, licence: 'MIT', where: PACKAGE }
    },
    open: async (options) => CopilotSession.open(await load(), options),
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
interface Data {
  readonly deltaContent?: string
  readonly content?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly arguments?: unknown
  readonly success?: boolean
  readonly result?: { readonly content?: string }
  readonly error?: { readonly message?: string }
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly currentTokens?: number
  readonly tokenLimit?: number
  readonly message?: string
  readonly aborted?: boolean
}

interface Asked {
  readonly kind: string
  readonly toolCallId?: string
  readonly intention?: string
  readonly fullCommandText?: string
  readonly fileName?: string
  readonly url?: string
  readonly toolName?: string
}

class CopilotSession implements AgentSession {
  readonly ref: SessionRef
  readonly native: unknown
  readonly #client: Client
  readonly #session: Session
  #turn: PartQueue | undefined
  #text = ''
  #error: string | undefined
  #window = 0

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
    this.#text = ''
    this.#error = undefined
    this.#session
      .send({ prompt: text })
      .catch((error: Error) => turn.end({ reason: 'error', text: '', error: error.message }))
    return turn
  }

  async interrupt(): Promise<void> {
    if (this.#turn !== undefined && !this.#turn.ended) await this.#session.abort()
  }

  async compact(): Promise<void> {
    await this.#session.rpc.history.compact()
  }

  async fork(): Promise<SessionRef> {
    return { ...this.ref, id: (await this.#client.rpc.sessions.fork({ sessionId: this.ref.id })).sessionId }
  }

  async close(): Promise<void> {
    this.#turn?.end({ reason: 'interrupted', text: this.#text })
    await this.#session.disconnect().catch((error: NerveError) => error)
    await this.#client.stop()
  }

  #hear(type: string, data: Data): void {
    const { toolCallId: id = '' } = data
    switch (type) {
      case 'assistant.message_delta':
        this.#turn?.push({ type: 'text', text: data.deltaContent ?? '' })
        return
      case 'assistant.message':
        this.#text = data.content === undefined || data.content === '' ? this.#text : data.content
        return
      case 'assistant.reasoning_delta':
        this.#turn?.push({ type: 'thinking', text: data.deltaContent ?? '' })
        return
      case 'tool.execution_start':
        this.#turn?.push({ type: 'tool-start', id, tool: data.toolName ?? '', input: data.arguments })
        return
      case 'tool.execution_complete':
        this.#turn?.push({
          type: 'tool-end',
          id,
          ok: data.success === true,
          output: data.result?.content ?? data.error?.message ?? '',
        })
        return
      case 'session.usage_info':
        this.#window =
          data.tokenLimit === undefined || data.tokenLimit === 0 ? 0 : (data.currentTokens ?? 0) / data.tokenLimit
        return
      case 'assistant.usage': {
        const window = this.#window === 0 ? {} : { window: Math.min(1, this.#window) }
        this.#turn?.push({
          type: 'usage',
          usage: { input: data.inputTokens ?? 0, output: data.outputTokens ?? 0, ...window },
        })
        return
      }
      case 'session.compaction_complete':
        this.#turn?.push({ type: 'compacted' })
        return
      case 'session.error':
        this.#error = data.message ?? 'it does not say why'
        return
      case 'session.idle':
        this.#turn?.end({
          reason: data.aborted === true ? 'interrupted' : this.#error === undefined ? 'done' : reasonOf(this.#error),
          text: this.#text,
          ...(this.#error === undefined ? {} : { error: this.#error }),
        })
        return
      default:
    }
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

function requestOf(asked: Asked) {
  const { kind, toolCallId = '', intention, fullCommandText, fileName, url, toolName } = asked
  const subject = fullCommandText ?? fileName ?? url
  return {
    id: toolCallId,
    tool: toolName ?? kind,
    kind: KINDS[kind] ?? 'other',
    title: subject ?? intention ?? kind,
    input: {
      ...asked,
      ...(fullCommandText === undefined ? {} : { command: fullCommandText }),
      ...(fileName === undefined ? {} : { path: fileName }),
    },
  } as const
}

function reasonOf(error: string): TurnEnd {
  if (/too long|context.?(window|length)/i.test(error)) return 'context-full'
  return /\b429\b|rate.?limit|quota/i.test(error) ? 'rate-limited' : 'error'
}
