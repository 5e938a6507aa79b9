/**
 * The session of an agent node: one process at most that has it open, and its reference for when there is none.
 *
 * Invariants: no two processes of this machine have the same session open; what an earlier process had running on a session
 * is gone before it is opened again; everything that was started ends with `close`, and with this process.
 */
import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { NerveError } from '../../base/nerve-error.ts'
import type { Usage } from '../../journal/events.ts'
import { commandEnvironment } from '../bash-environment.ts'
import { MARK_NAME } from '../process-table.ts'
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
import { AgentOpening, atMost, type Prepared } from './agent-opening.ts'
import type { AgentPlan } from './agent-options.ts'
import { enterAgentSandbox } from './agent-sandbox.ts'
import { endTree } from './session-lease.ts'
import { untilAborted } from './turn-parts.ts'
import { wholeText } from './whole-text.ts'

/** What the step that uses the session does about what happens in it. */
export interface TurnHooks {
  readonly permission: (request: PermissionRequest) => Promise<PermissionDecision>
  readonly question: (request: QuestionRequest) => Promise<QuestionReply>
  readonly native: (event: unknown) => void
  readonly reserve: (wanted: Usage) => void
  readonly usage: (spent: Usage) => void
}

/** How long an agent may take to end its turn when it is interrupted. */
const INTERRUPT_MS = 5_000

const NOBODY: TurnHooks = {
  permission: async () => ({ allow: false, reason: 'Nobody waits for it.' }),
  question: async () => ({ refused: 'Nobody waits for it.' }),
  native: () => undefined,
  reserve: () => undefined,
  usage: () => undefined,
}

export class AgentLife {
  ref: SessionRef | undefined
  /** True when the session was made for the turn that goes on. */
  fresh = false
  #hooks: TurnHooks = NOBODY
  /** Settles when the turn is over. */
  #turn: PromiseWithResolvers<void> | undefined
  /** Aborts when what the agent has asked is not to be answered any more. */
  #asking = new AbortController()
  readonly #id: string
  readonly #plan: AgentPlan
  /** For a copy: what it is a copy of. */
  #forkFrom: (() => SessionRef | undefined) | undefined
  #adapter: Promise<AgentAdapter> | undefined
  #opening: AgentOpening | undefined

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

  /** True while a turn goes on. */
  get busy(): boolean {
    return this.#hooks !== NOBODY
  }

  beginTurn(hooks: TurnHooks): void {
    this.#hooks = hooks
    this.#turn ??= Promise.withResolvers()
  }

  /** What the agent still wants after its turn is nobody's. */
  endTurn(): void {
    this.#hooks = NOBODY
    this.fresh = false
    this.#turn?.resolve()
    this.#turn = undefined
  }

  /** Everything that works in the session now can be found by it. */
  get mark(): string {
    return this.#opening?.mark ?? ''
  }

  /** The session, open: the one that is, or the one that is wanted, or a new one. */
  async session(wanted: SessionRef | undefined, signal?: AbortSignal): Promise<AgentSession> {
    const another = wanted !== undefined && this.ref?.id !== wanted.id
    if (another || this.#opening?.ended === true) await this.close()
    if (another) this.ref = wanted
    const opening = (this.#opening ??= this.#start())
    const giveUp = (): void => void this.#closeOne(opening)
    signal?.addEventListener('abort', giveUp)
    try {
      signal?.throwIfAborted()
      return await opening.session
    } catch (error) {
      throw signal?.aborted === true ? (signal.reason as unknown) : error
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** Stops what goes on. One that does not listen is ended. */
  async interrupt(): Promise<void> {
    const opening = this.#opening
    if (opening === undefined) return
    const told = Promise.all([opening.opened?.interrupt(), this.#turn?.promise])
    // One that waits for an answer may not hear of anything else before it has one.
    this.#asking.abort(new Error('It was interrupted.'))
    this.#asking = new AbortController()
    const heard = opening.opened !== undefined && (await atMost(INTERRUPT_MS, told).catch(() => false))
    if (!heard) await this.#closeOne(opening)
  }

  /** Ends what another process has left running on the session. */
  async endOthers(mark: string): Promise<void> {
    if (mark !== '' && mark !== this.mark) await endTree(mark)
  }

  async close(): Promise<void> {
    if (this.#opening !== undefined) await this.#closeOne(this.#opening)
  }

  /** The next session is another one, which knows what this one knew when it began. */
  async renew(): Promise<void> {
    await this.close()
    this.ref = undefined
  }

  /** The next session is a new one. */
  async forget(): Promise<void> {
    await this.renew()
    this.#forkFrom = undefined
  }

  #start(): AgentOpening {
    const opening = new AgentOpening({
      node: this.#id,
      startTimeoutMs: this.#plan.startTimeoutMs,
      prepare: (mark) => this.#prepare(mark),
    })
    opening.session.then(
      ({ ref }) => {
        if (this.#opening === opening) this.ref = ref
      },
      () => {
        if (this.#opening === opening) this.#opening = undefined
      },
    )
    return opening
  }

  /** It is there until nothing of it is left: what is opened meanwhile would be refused. */
  async #closeOne(opening: AgentOpening): Promise<void> {
    try {
      await opening.close()
    } finally {
      if (this.#opening === opening) this.#opening = undefined
    }
  }

  async #prepare(mark: string): Promise<Prepared> {
    const adapter = await this.adapter()
    // Where a session cannot be resumed, another one begins.
    const resume = adapter.capabilities.resume ? this.ref : undefined
    const { env, inherit = [], cwd, sandbox, gateway, startTimeoutMs } = this.#plan
    if ((await stat(cwd).catch(() => undefined))?.isDirectory() !== true) throw noFolder(this.#id, cwd)
    const above = process.env[MARK_NAME] ?? ''
    const own = {
      ...commandEnvironment(process.env, { env, inherit: [...adapter.variables, ...inherit] }),
      [MARK_NAME]: above === '' ? mark : `${above}.${mark}`,
    }
    const wrap = await enterAgentSandbox(adapter, sandbox, { cwd, env: own })
    const issued = gateway?.token({
      reserve: (wanted) => this.#hooks.reserve(wanted),
      usage: (spent) => this.#hooks.usage(spent),
    })
    this.fresh = resume === undefined
    return {
      resume,
      open: (more) =>
        adapter.open({
          ...this.#options(resume),
          ...more,
          startTimeoutMs,
          cwd,
          env: own,
          ...(wrap === undefined ? {} : { wrap }),
          ...(gateway === undefined || issued === undefined
            ? {}
            : { gateway: { url: gateway.url, token: issued.token } }),
        }),
      over: () => issued?.revoke(),
    }
  }

  /** An agent that is not answered would wait for ever. */
  async #permit(request: PermissionRequest): Promise<PermissionDecision> {
    try {
      return wholeText(await untilAborted(this.#hooks.permission(request), this.#asking.signal))
    } catch (error) {
      return { allow: false, reason: (error as Error).message }
    }
  }

  async #answer(request: QuestionRequest): Promise<QuestionReply> {
    try {
      return wholeText(await untilAborted(this.#hooks.question(request), this.#asking.signal))
    } catch (error) {
      return { refused: (error as Error).message }
    }
  }

  #options(resume: SessionRef | undefined): Omit<AgentOpen, 'cwd' | 'env' | 'started'> {
    const { model, system, tools, mcpServers, native } = this.#plan
    const from = this.ref === undefined ? this.#forkFrom?.() : undefined
    return {
      ...(resume === undefined ? { id: randomUUID() } : { resume }),
      ...(from === undefined ? {} : { forkFrom: from }),
      ...(model === undefined ? {} : { model }),
      ...(system === undefined ? {} : { system: wholeText(system) }),
      ...(tools === undefined ? {} : { tools }),
      ...(mcpServers === undefined ? {} : { mcpServers }),
      ...(native === undefined ? {} : { native }),
      permission: (request) => this.#permit(request),
      question: (request) => this.#answer(request),
      onNative: (event) => this.#hooks.native(event),
    }
  }
}

/** The system says of a program that it is not there when it is the folder. */
function noFolder(node: string, cwd: string): NerveError {
  return new NerveError(
    'agent-failed',
    `Agent '${node}' works in ${cwd}, which is not a folder. Make it, or give another cwd.`,
    { data: { node, reason: 'cwd' } },
  )
}
