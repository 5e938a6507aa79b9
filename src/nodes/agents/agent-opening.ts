/**
 * One opening of an agent's session, from its start to its end.
 *
 * Owns: the mark by which everything that was started for it is found, and the hold on the session.
 *
 * Invariants: nothing of it is left when `close` has settled, or when it could not be opened; nobody else is let into the session before
 * that; it opens in time or not at all; it ends with this process.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { guardProcess, guardTree, releaseTree } from '../process-guard.ts'
import { kinOf } from '../process-tree.ts'
import type { AgentOpen, AgentSession, SessionRef } from './adapter.ts'
import { signalGroup } from './agent-process.ts'
import { endTree, leaseSession } from './session-lease.ts'
import { untilAborted } from './turn-parts.ts'

/** How long an agent may take to end when it is told to; then it is ended. */
const CLOSE_MS = 10_000

export interface OpeningPlan {
  /** The id of the node. */
  readonly node: string
  readonly startTimeoutMs: number
  /** Everything that it starts has to carry the mark. */
  readonly prepare: (mark: string) => Promise<Prepared>
}

export interface Prepared {
  /** The session that is gone on with; undefined for another one. */
  readonly resume: SessionRef | undefined
  readonly open: (own: Pick<AgentOpen, 'started' | 'givenUp'>) => Promise<AgentSession>
  /** Called when nothing of it is left. */
  readonly over: () => void
}

export class AgentOpening {
  /** Everything that is started for it can be found by it. */
  readonly mark = randomBytes(16).toString('hex')
  readonly session: Promise<AgentSession>
  readonly #plan: OpeningPlan
  readonly #givenUp = new AbortController()
  readonly #holds = new Map<string, () => void>()
  readonly #pids: number[] = []
  #over: (() => void) | undefined
  /** The session, once it is open. */
  opened: AgentSession | undefined
  #closing: Promise<void> | undefined

  constructor(plan: OpeningPlan) {
    this.#plan = plan
    this.session = this.#open()
    // Whoever waits for it hears of it.
    this.session.catch(() => undefined)
  }

  /** True when nothing can be said to it any more. */
  get ended(): boolean {
    return this.#closing !== undefined || this.opened?.ended === true
  }

  /** At any time, also while it opens. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { node } = this.#plan
    this.#givenUp.abort(
      new NerveError('interrupted', `Agent '${node}' was stopped while it started.`, { retry: 'later' }),
    )
    const session = await this.session.catch(() => undefined)
    // What did not open has been ended already.
    if (session === undefined) return
    const kin = await kinOf(this.#pids)
    // What cannot be told to end is ended all the same.
    await atMost(
      CLOSE_MS,
      session.close().catch(() => undefined),
    )
    await this.#end(kin)
  }

  async #open(): Promise<AgentSession> {
    let opening: Promise<AgentSession> | undefined
    try {
      const { resume, open, over } = await this.#plan.prepare(this.mark)
      this.#over = over
      if (resume !== undefined) await this.#hold(resume)
      await guardTree(this.mark)
      this.#givenUp.signal.throwIfAborted()
      opening = open({ started: (pid) => this.#started(pid), givenUp: this.#givenUp.signal })
      const session = await this.#inTime(opening)
      await this.#hold(session.ref)
      this.opened = session
      return session
    } catch (error) {
      this.#givenUp.abort(error)
      const kin = await kinOf(this.#pids)
      if (opening !== undefined) await endTree(this.mark, kin)
      // One that opens after all is closed at once, and what it has started until then ends with it.
      const stray = opening?.then((session) => session.close()).catch(() => undefined)
      await atMost(CLOSE_MS, stray ?? Promise.resolve())
      await this.#end(kin)
      throw isNerveError(error) ? error : notOpened(this.#plan.node, error)
    }
  }

  #started(pid: number): void {
    this.#pids.push(pid)
    if (this.#givenUp.signal.aborted) signalGroup({ pid }, 'SIGKILL')
    else guardProcess(this.mark, pid)
  }

  async #hold(ref: SessionRef): Promise<void> {
    const name = `${ref.agent} ${ref.id}`
    if (this.#holds.has(name)) return
    this.#holds.set(name, await leaseSession(ref, { node: this.#plan.node, mark: this.mark }))
  }

  async #inTime(opening: Promise<AgentSession>): Promise<AgentSession> {
    const { node, startTimeoutMs } = this.#plan
    const late = setTimeout(() => this.#givenUp.abort(tooLate(node, startTimeoutMs)), startTimeoutMs)
    try {
      return await untilAborted(opening, this.#givenUp.signal)
    } finally {
      clearTimeout(late)
    }
  }

  async #end(kin: ReadonlySet<string>): Promise<void> {
    await endTree(this.mark, kin)
    releaseTree(this.mark)
    for (const letGo of this.#holds.values()) letGo()
    this.#holds.clear()
    this.#over?.()
  }
}

/** Waits for the work, but not longer; false when it is not done by then. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<boolean> {
  const enough = new AbortController()
  const late = delay(ms, false, { signal: enough.signal }).catch(() => false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    enough.abort()
  }
}

/** What an SDK throws may go on for pages. */
function notOpened(node: string, cause: unknown): NerveError {
  const [said = ''] = String((cause as Error).message).split('\n')
  return new NerveError('agent-failed', `Agent '${node}' could not be started: ${said}`, {
    cause,
    retry: 'later',
    data: { node, reason: 'start' },
  })
}

function tooLate(node: string, ms: number): NerveError {
  return new NerveError(
    'agent-failed',
    `Agent '${node}' did not start within ${ms / 1_000} s, and was ended. Start its program by hand to see what it waits for, or give it longer: startTimeout.`,
    { retry: 'later', data: { node, reason: 'start' } },
  )
}
