/** Any agent that speaks the Agent Client Protocol: JSON-RPC with its program. */
import { setTimeout as delay } from 'node:timers/promises'
import {
  able,
  type AgentAdapter,
  type AgentCapabilities,
  type AgentOpen,
  type AgentSession,
  type McpServerOptions,
  type SessionRef,
  type TurnEnd,
} from './adapter.ts'
import { inputOf, withPiece, type AcpCall } from './acp-call.ts'
import { agentEnvironment } from './agent-environment.ts'
import { openOrClose } from './agent-process.ts'
import type { Numbers } from './fields.ts'
import { programAgent } from './find-program.ts'
import { JsonRpc } from './json-rpc.ts'
import { mcpServersAs } from './mcp-servers.ts'
import { verdictOf } from './permission.ts'
import { toolKinds } from './tool-kinds.ts'
import { TurnParts, untilDone, type Parts, type Spent } from './turn-parts.ts'

export interface AcpOptions {
  readonly name: string
  /** The program: a file, or a name on the PATH. */
  readonly command: string
  readonly args?: readonly string[]
  /** What it can do beyond asking for permissions; the protocol does not tell all of it before it is started. */
  readonly capabilities?: Partial<AgentCapabilities>
  /** Files and folders that it must be able to write beside its cwd: where its sessions and settings are. */
  readonly folders?: (env: Readonly<Record<string, string>>) => readonly string[]
  /** Names of variables of this process that it needs. */
  readonly variables?: readonly string[]
  /** Variables that point it at another model. */
  readonly gatewayEnv?: (gateway: { readonly url: string; readonly token: string }) => Readonly<Record<string, string>>
  /** Arguments that choose a model; without them a model cannot be chosen. */
  readonly modelArgs?: (model: string) => readonly string[]
  /** A mode of its own to work in. */
  readonly mode?: string
  /** Its command for shortening what it remembers. */
  readonly compact?: string
  readonly install?: string
  readonly licence?: string
}

const QUIET_MS = 300

export function acpAgent(options: AcpOptions): AgentAdapter {
  const { command, args = [], variables = [], install = `install ${command}`, gatewayEnv, compact } = options
  const wanted = {
    ...options,
    variables,
    install,
    capabilities: {
      ...able('permissions', 'sandbox'),
      gateway: gatewayEnv !== undefined,
      compact: compact !== undefined,
      ...options.capabilities,
    },
    // A script is started by its interpreter, and asked for its version in the same way.
    first: args[0]?.includes('/') === true ? [args[0]] : [],
  }
  return programAgent(wanted, (program, open) => AcpSession.open({ ...options, command: program }, open))
}

interface Update extends Partial<AcpCall>, Numbers<'used' | 'size'> {
  readonly sessionUpdate: string
  readonly cost?: Numbers<'amount'>
}

interface Prompted {
  readonly stopReason: string
  readonly usage?: Numbers<'inputTokens' | 'outputTokens'>
  readonly _meta?: { readonly quota?: { readonly token_count?: Numbers<'input_tokens' | 'output_tokens'> } }
}

class AcpSession implements AgentSession {
  ref: SessionRef
  readonly native: unknown
  readonly #rpc: JsonRpc
  readonly #acp: AcpOptions
  readonly #options: AgentOpen
  readonly #turn = new TurnParts()
  readonly #calls = new Map<string, AcpCall>()
  /** A tool was called since it has said something. */
  #called = false
  #cancelled = false
  /** What it is told before its first prompt: the protocol has no other place for it. */
  #system: string | undefined
  #heard = false
  #cost = 0
  #window: Numbers<'used' | 'size'> = {}

  private constructor(acp: AcpOptions, options: AgentOpen) {
    const { cwd, model, resume, system } = options
    this.#acp = acp
    this.#options = options
    this.#system = resume === undefined ? system : undefined
    this.ref = { agent: acp.name, id: '', cwd }
    this.#rpc = new JsonRpc(
      {
        name: acp.name,
        command: acp.command,
        args: [...(acp.args ?? []), ...(model === undefined ? [] : (acp.modelArgs?.(model) ?? []))],
        request: (method, params) => this.#asked(method, params),
        notification: (method, params) => {
          if (method === 'session/update') this.#hear((params as { update: Update }).update)
        },
        ended: (error) => this.#turn.fail(error.message, 'error'),
      },
      { ...options, env: agentEnvironment(options, {}, (gateway) => acp.gatewayEnv?.(gateway) ?? {}) },
    )
    this.native = this.#rpc
  }

  static async open(acp: AcpOptions, options: AgentOpen): Promise<AcpSession> {
    const session = new AcpSession(acp, options)
    return openOrClose(session, async () => {
      await session.#rpc.request('initialize', {
        protocolVersion: 1,
        clientInfo: { name: 'nerve', version: '1' },
        clientCapabilities: {},
      })
      session.ref = { ...session.ref, id: await session.#enter() }
      if (acp.mode !== undefined)
        await session.#rpc.request('session/set_mode', { sessionId: session.ref.id, modeId: acp.mode })
      return session
    })
  }

  async #enter(): Promise<string> {
    const { cwd, resume, forkFrom, mcpServers } = this.#options
    const place = { cwd, mcpServers: Object.values(mcpServersAs(mcpServers, serverOf)) }
    if (resume !== undefined) {
      await this.#rpc.request('session/load', { sessionId: resume.id, ...place })
      // All that was said is told again; by some agents only after their answer. None of it belongs to the next turn.
      do {
        this.#heard = false
        await delay(QUIET_MS)
      } while (this.#heard)
      return resume.id
    }
    const [method, more] = forkFrom === undefined ? ['session/new', {}] : ['session/fork', { sessionId: forkFrom.id }]
    return (await this.#rpc.request<{ sessionId: string }>(method, { ...place, ...more })).sessionId
  }

  prompt(text: string): Parts {
    const before = this.#cost
    const said = this.#system === undefined ? [text] : [this.#system, text]
    this.#system = undefined
    this.#calls.clear()
    this.#cancelled = false
    const prompt = said.map((one) => ({ type: 'text', text: one }))
    return this.#turn.begin(
      () => this.#rpc.request<Prompted>('session/prompt', { sessionId: this.ref.id, prompt }),
      (prompted) => {
        this.#spend(prompted, before)
        this.#turn.end(endOf(prompted.stopReason))
      },
    )
  }

  get ended(): boolean {
    return this.#rpc.ended
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.going) return
    this.#cancelled = true
    this.#rpc.notify('session/cancel', { sessionId: this.ref.id })
  }

  compact(): Spent {
    return untilDone(this.prompt(this.#acp.compact ?? '/compact'))
  }

  async close(): Promise<void> {
    await this.#rpc.close()
  }

  #spend({ usage, _meta: meta }: Prompted, before: number): void {
    const counted = meta?.quota?.token_count
    this.#turn.spent({
      input: usage?.inputTokens ?? counted?.input_tokens ?? 0,
      output: usage?.outputTokens ?? counted?.output_tokens ?? 0,
      ...(this.#cost > before ? { usd: this.#cost - before } : {}),
      ...this.#window,
    })
  }

  #hear(update: Update): void {
    this.#heard = true
    const { sessionUpdate, content, toolCallId, used = 0, size = 0, cost } = update
    const text = (content as { text?: string } | undefined)?.text ?? ''
    if (sessionUpdate === 'agent_message_chunk') this.#say(text)
    else if (sessionUpdate === 'agent_thought_chunk') this.#turn.think(text)
    else if (sessionUpdate.startsWith('tool_call') && toolCallId !== undefined) this.#tool({ ...update, toolCallId })
    else if (sessionUpdate === 'usage_update') {
      this.#cost = cost?.amount ?? this.#cost
      this.#window = { used, size }
    }
  }

  /** Nothing tells where a message ends but that a tool is called. */
  #say(text: string): void {
    if (this.#called) this.#turn.text = ''
    this.#called = false
    this.#turn.say(text)
  }

  #tool(piece: AcpCall): AcpCall {
    this.#called = true
    const call = withPiece(this.#calls.get(piece.toolCallId), piece)
    const { toolCallId: id, status, kind = 'tool', name = kind, title, rawInput = { title } } = call
    this.#calls.set(id, call)
    this.#turn.toolStart(id, name, rawInput)
    if (status === 'completed' || status === 'failed')
      this.#turn.toolEnd(id, status === 'completed', call.rawOutput ?? call.content)
    return call
  }

  async #asked(method: string, params: unknown): Promise<unknown> {
    if (method !== 'session/request_permission') throw new Error(`${method} is not supported`)
    const { toolCall, options } = params as {
      readonly toolCall: AcpCall
      readonly options: readonly { readonly optionId: string; readonly kind: string }[]
    }
    const call = this.#tool({ ...toolCall, status: 'pending' })
    const { toolCallId: id, kind: named = 'tool', name: tool = named, title = named } = call
    const kind = kindOf(named)
    const input = inputOf({ ...call, title }, kind)
    const { verdict } = verdictOf(await this.#options.permission({ id, tool, kind, title, input }))
    const wanted = this.#cancelled ? 'cancelled' : verdict === 'allow' ? 'allow_once' : 'reject_once'
    const optionId = options.find((one) => one.kind === wanted)?.optionId
    return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
  }
}

const kindOf = toolKinds({ shell: 'execute', edit: 'edit delete move', read: 'read search', fetch: 'fetch' })

function serverOf(server: McpServerOptions, name: string): unknown {
  const pairs = (given: Readonly<Record<string, string>> = {}) =>
    Object.entries(given).map(([one, value]) => ({ name: one, value }))
  if ('url' in server) return { type: 'http', name, url: server.url, headers: pairs(server.headers) }
  return { name, command: server.command, args: server.args ?? [], env: pairs(server.env) }
}

function endOf(reason: string): TurnEnd {
  if (reason === 'end_turn') return 'done'
  if (reason === 'cancelled') return 'interrupted'
  return reason.startsWith('max') ? 'limit' : 'error'
}
