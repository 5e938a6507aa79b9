/** Any agent that speaks the Agent Client Protocol: JSON-RPC with its program. */
import { setTimeout as delay } from 'node:timers/promises'
import type { NerveError } from '../../base/nerve-error.ts'
import {
  able,
  CONTRACT,
  type AgentAdapter,
  type AgentCapabilities,
  type AgentOpen,
  type AgentPart,
  type AgentSession,
  type AgentUsage,
  type SessionRef,
  type ToolKind,
  type TurnEnd,
} from './adapter.ts'
import { needProgram, probeProgram } from './find-program.ts'
import { JsonRpc } from './json-rpc.ts'
import { PartQueue } from './part-queue.ts'

export interface AcpOptions {
  readonly name: string
  /** The program: a file, or a name on the PATH. */
  readonly command: string
  readonly args?: readonly string[]
  /** What it can do beyond asking for permissions; the protocol does not tell all of it before it is started. */
  readonly capabilities?: Partial<AgentCapabilities>
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
  const { name, command, args = [], install = `install ${command}`, licence, gatewayEnv, compact } = options
  // A script is started by its interpreter, and asked for its version in the same way.
  const first = args[0]?.includes('/') === true ? [args[0]] : []
  const program = { name, command, install, licence, first }
  return {
    contract: CONTRACT,
    name,
    variables: options.variables ?? [],
    capabilities: {
      ...able('permissions'),
      gateway: gatewayEnv !== undefined,
      compact: compact !== undefined,
      ...options.capabilities,
    },
    probe: () => probeProgram(program),
    open: (open) => AcpSession.open({ ...options, command: needProgram(program) }, open),
  }
}

interface ToolCall {
  readonly toolCallId: string
  readonly title?: string
  readonly kind?: string
  readonly name?: string
  readonly status?: string
  readonly rawInput?: unknown
  readonly rawOutput?: unknown
  readonly content?: unknown
}

interface Update extends Partial<ToolCall> {
  readonly sessionUpdate: string
  readonly used?: number
  readonly size?: number
  readonly cost?: { readonly amount?: number }
}

interface Prompted {
  readonly stopReason: string
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number }
  readonly _meta?: {
    readonly quota?: { readonly token_count?: { readonly input_tokens?: number; readonly output_tokens?: number } }
  }
}

class AcpSession implements AgentSession {
  ref: SessionRef
  readonly native: unknown
  readonly #rpc: JsonRpc
  readonly #acp: AcpOptions
  readonly #options: AgentOpen
  readonly #begun = new Set<string>()
  #turn = new PartQueue()
  /** What it is told before its first prompt: the protocol has no other place for it. */
  #system: string | undefined
  #heard = false
  #cost = 0
  #window = 0

  private constructor(acp: AcpOptions, options: AgentOpen) {
    const { cwd, env, gateway, started, model, resume, system } = options
    this.#acp = acp
    this.#options = options
    this.#system = resume === undefined ? system : undefined
    this.#turn.close()
    this.ref = { agent: acp.name, id: '', cwd }
    const args = [...(acp.args ?? []), ...(model === undefined ? [] : (acp.modelArgs?.(model) ?? []))]
    const more = gateway === undefined ? {} : acp.gatewayEnv?.(gateway)
    this.#rpc = new JsonRpc(
      { name: acp.name, command: acp.command, args, cwd, env: { ...env, ...more }, started },
      {
        request: (method, params) => this.#asked(method, params),
        notification: (method, params) => {
          if (method === 'session/update') this.#hear((params as { update: Update }).update)
        },
        ended: (error) => this.#turn.fail(error.message, 'error'),
        heard: options.onNative,
      },
    )
    this.native = this.#rpc
  }

  static async open(acp: AcpOptions, options: AgentOpen): Promise<AcpSession> {
    const session = new AcpSession(acp, options)
    try {
      await session.#rpc.request('initialize', {
        protocolVersion: 1,
        clientInfo: { name: 'nerve', version: '1' },
        clientCapabilities: {},
      })
      session.ref = { ...session.ref, id: await session.#enter() }
      if (acp.mode !== undefined)
        await session.#rpc.request('session/set_mode', { sessionId: session.ref.id, modeId: acp.mode })
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }

  async #enter(): Promise<string> {
    const { cwd, resume, forkFrom, mcpServers = {} } = this.#options
    const place = { cwd, mcpServers: Object.entries(mcpServers).map(([name, one]) => serverOf(name, one)) }
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

  prompt(text: string): AsyncIterable<AgentPart> {
    const turn = new PartQueue()
    const before = this.#cost
    const prompt = [...(this.#system === undefined ? [] : [this.#system]), text].map((one) => ({
      type: 'text',
      text: one,
    }))
    this.#turn = turn
    this.#system = undefined
    this.#rpc.request<Prompted>('session/prompt', { sessionId: this.ref.id, prompt }).then(
      (prompted) => {
        turn.push({ type: 'usage', usage: this.#spent(prompted, before) })
        turn.end(endOf(prompted.stopReason))
      },
      (error: NerveError) => turn.fail([error.message, JSON.stringify(error.data['detail'] ?? '')].join(' ')),
    )
    return turn
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.ended) this.#rpc.notify('session/cancel', { sessionId: this.ref.id })
  }

  async compact(): Promise<void> {
    for await (const part of this.prompt(this.#acp.compact ?? '/compact'))
      if (part.type === 'turn-end' && part.reason !== 'done') throw new Error(part.error ?? 'it could not be compacted')
  }

  async close(): Promise<void> {
    await this.#rpc.close()
  }

  #spent({ usage, _meta: meta }: Prompted, before: number): AgentUsage {
    const counted = meta?.quota?.token_count
    return {
      input: usage?.inputTokens ?? counted?.input_tokens ?? 0,
      output: usage?.outputTokens ?? counted?.output_tokens ?? 0,
      ...(this.#cost > before ? { usd: this.#cost - before } : {}),
      ...(this.#window === 0 ? {} : { window: this.#window }),
    }
  }

  #hear(update: Update): void {
    this.#heard = true
    const { sessionUpdate, content, toolCallId, used = 0, size = 0, cost } = update
    const text = (content as { text?: string } | undefined)?.text ?? ''
    if (sessionUpdate === 'agent_message_chunk') {
      this.#turn.text += text
      this.#turn.push({ type: 'text', text })
    } else if (sessionUpdate === 'agent_thought_chunk') this.#turn.push({ type: 'thinking', text })
    else if (sessionUpdate.startsWith('tool_call') && toolCallId !== undefined) this.#tool({ ...update, toolCallId })
    else if (sessionUpdate === 'usage_update') {
      this.#cost = cost?.amount ?? this.#cost
      this.#window = size === 0 ? this.#window : Math.min(1, used / size)
    }
  }

  #tool(call: ToolCall): void {
    const { toolCallId: id, status, kind = 'tool', name = kind, title, rawInput = { title } } = call
    if (!this.#begun.has(id)) this.#turn.push({ type: 'tool-start', id, tool: name, input: rawInput })
    this.#begun.add(id)
    if (status === 'completed' || status === 'failed')
      this.#turn.toolEnd(id, status === 'completed', call.rawOutput ?? call.content)
  }

  async #asked(method: string, params: unknown): Promise<unknown> {
    if (method !== 'session/request_permission') throw new Error(`${method} is not supported`)
    const { toolCall, options } = params as {
      readonly toolCall: ToolCall
      readonly options: readonly { readonly optionId: string; readonly kind: string }[]
    }
    this.#tool({ ...toolCall, status: 'pending' })
    const { toolCallId: id, kind: named = 'tool', name: tool = named, title = named } = toolCall
    const kind = KINDS[named] ?? 'other'
    const input = toolCall.rawInput ?? (kind === 'shell' ? { command: title } : { title })
    const decision = await this.#options.permission({ id, tool, kind, title, input })
    const wanted = 'allow' in decision && decision.allow ? 'allow_once' : 'reject_once'
    const optionId = options.find((one) => one.kind === wanted)?.optionId
    return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
  }
}

const KINDS: Readonly<Record<string, ToolKind>> = {
  execute: 'shell',
  edit: 'edit',
  delete: 'edit',
  move: 'edit',
  read: 'read',
  search: 'read',
  fetch: 'fetch',
}

function serverOf(name: string, server: NonNullable<AgentOpen['mcpServers']>[string]): unknown {
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
