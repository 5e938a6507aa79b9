/**
 * The session of an agent node while it is open: one process at most, and its reference for when there is none.
 *
 * Invariants: two nodes of this process never have the same session open; what an earlier process had running on a session
 * is gone before it is opened again; everything that was started ends with `close`, and with this process.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { NerveError } from '../../base/nerve-error.ts'
import { commandEnvironment } from '../bash-environment.ts'
import { guardProcess, guardTree, releaseTree } from '../process-guard.ts'
import { MARK_NAME } from '../process-table.ts'
import { killTree } from '../process-tree.ts'
import type {
  AgentAdapter,
  AgentOpen,
  AgentSession,
  PermissionDecision,
  PermissionRequest,
  QuestionReply,
  QuestionRequest,
  SessionRef,
} from './adapter.ts'
import { adapterNamed } from './adapters.ts'
import type { AgentPlan } from './agent-options.ts'
import type { Usage } from '../../journal/events.ts'

/** What the step that uses the session does about what happens in it. */
export interface TurnHooks {
  readonly permission: (request: PermissionRequest) => Promise<PermissionDecision>
  readonly question: (request: QuestionRequest) => Promise<QuestionReply>
  readonly native: (event: unknown) => void
  readonly reserve: (wanted: Usage) => void
  readonly usage: (spent: Usage) => void
}

const GRACE_MS = 1_000
export const NOBODY: TurnHooks = {
  permission: async () => ({ allow: false, reason: 'Nobody waits for it.' }),
  question: async () => ({ refused: 'Nobody waits for it.' }),
  native: () => undefined,
  reserve: () => undefined,
  usage: () => undefined,
}

const inUse = new Set<string>()

export class AgentLife {
  ref: SessionRef | undefined
  /** Everything that this life starts can be found by it. */
  mark = ''
  /** Set while a turn goes on. */
  hooks: TurnHooks = NOBODY
  readonly #id: string
  readonly #plan: AgentPlan
  /** For a copy: what it is a copy of. */
  #forkFrom: (() => SessionRef | undefined) | undefined
  #adapter: Promise<AgentAdapter> | undefined
  #open: Promise<AgentSession> | undefined
  #end: (() => Promise<void>) | undefined

  constructor(id: string, plan: AgentPlan, forkFrom?: () => SessionRef | undefined) {
    this.#id = id
    this.#plan = plan
    this.ref = plan.session
    this.#forkFrom = forkFrom
  }

  adapter(): Promise<AgentAdapter> {
    const { use } = this.#plan
    this.#adapter ??= typeof use === 'string' ? adapterNamed(this.#id, use) : Promise.resolve(use)
    return this.#adapter
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** The session, open: the one that is, or the one that is wanted, or a new one. */
  async session(wanted: SessionRef | undefined): Promise<AgentSession> {
    if (wanted !== undefined && this.ref?.id !== wanted.id) {
      await this.close()
      this.ref = wanted
    }
    this.#open ??= this.#start()
    return this.#open
  }

  /** Ends what another process has left running on the session. */
  async endOthers(mark: string): Promise<void> {
    if (mark !== '' && mark !== this.mark) await killTree({ mark, root: -1, rootEnded: () => true }, GRACE_MS)
  }

  async close(): Promise<void> {
    const open = this.#open
    const end = this.#end
    this.#open = undefined
    this.#end = undefined
    try {
      // One that did not open has nothing to close.
      await (await open?.catch(() => undefined))?.close()
    } finally {
      await end?.()
    }
  }

  /** The next session is a new one. */
  async forget(): Promise<void> {
    await this.close()
    this.ref = undefined
    this.#forkFrom = undefined
  }

  async #start(): Promise<AgentSession> {
    const adapter = await this.adapter()
    const held = this.ref === undefined ? undefined : hold(this.#id, this.ref)
    const mark = randomBytes(16).toString('hex')
    const issued = this.#plan.gateway?.token({
      reserve: (wanted) => this.hooks.reserve(wanted),
      usage: (spent) => this.hooks.usage(spent),
    })
    const end = async (): Promise<void> => {
      issued?.revoke()
      await killTree({ mark, root: -1, rootEnded: () => true }, GRACE_MS)
      releaseTree(mark)
      if (held !== undefined) inUse.delete(held)
    }
    try {
      await guardTree(mark)
      const session = await adapter.open(this.#options(adapter, mark, issued?.token))
      this.mark = mark
      this.ref = session.ref
      this.#forkFrom = undefined
      this.#end = end
      return session
    } catch (error) {
      this.#open = undefined
      await end()
      throw error
    }
  }

  /** An agent that is not answered would wait for ever. */
  async #permit(request: PermissionRequest): Promise<PermissionDecision> {
    try {
      return await this.hooks.permission(request)
    } catch (error) {
      return { allow: false, reason: (error as Error).message }
    }
  }

  async #answer(request: QuestionRequest): Promise<QuestionReply> {
    try {
      return await this.hooks.question(request)
    } catch (error) {
      return { refused: (error as Error).message }
    }
  }

  #options(adapter: AgentAdapter, mark: string, token: string | undefined): AgentOpen {
    const { cwd, model, system, tools, mcpServers, gateway, native, env, inherit = [] } = this.#plan
    const above = process.env[MARK_NAME] ?? ''
    const from = this.ref === undefined ? this.#forkFrom?.() : undefined
    return {
      cwd,
      env: {
        ...commandEnvironment(process.env, { env, inherit: [...adapter.variables, ...inherit] }),
        [MARK_NAME]: above === '' ? mark : `${above}.${mark}`,
      },
      // Where a session cannot be resumed, another one begins.
      ...(this.ref === undefined || !adapter.capabilities.resume ? { id: randomUUID() } : { resume: this.ref }),
      ...(from === undefined ? {} : { forkFrom: from }),
      ...(model === undefined ? {} : { model }),
      ...(system === undefined ? {} : { system }),
      ...(tools === undefined ? {} : { tools }),
      ...(mcpServers === undefined ? {} : { mcpServers }),
      ...(native === undefined ? {} : { native }),
      ...(gateway === undefined || token === undefined ? {} : { gateway: { url: gateway.url, token } }),
      permission: (request) => this.#permit(request),
      question: (request) => this.#answer(request),
      started: (pid) => guardProcess(mark, pid),
      onNative: (event) => this.hooks.native(event),
    }
  }
}

function hold(id: string, { agent, id: session }: SessionRef): string {
  const name = `${agent} ${session}`
  if (inUse.has(name))
    throw new NerveError(
      'not-ready',
      `Agent '${id}' cannot go on with session ${session} of ${agent}: another node has it open. Stop that one, or fork it.`,
      { data: { node: id, session } },
    )
  inUse.add(name)
  return name
}
