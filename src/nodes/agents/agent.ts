/**
 * A coding agent as a node: each execution is a turn of its session, which goes on from step to step, from run to run, and
 * after a crash.
 */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import type { Node, NodeInfo, StepCall } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import type { AgentPart, AgentSession, AgentTurnEnd, AgentUsage, SessionRef } from './adapter.ts'
import { AgentLife } from './agent-life.ts'
import { planAgent, type AgentNodeOptions, type AgentPlan } from './agent-options.ts'
import { answered, Asking, type Open, type PutOff } from './asking.ts'
import { toldOfAnswer, toldOfInterruption } from './told-again.ts'
import { notePut, takePut } from './session-lease.ts'
import { driveTurn, turnError } from './turn.ts'
import { SaidAnything, untilAborted } from './turn-parts.ts'
import { wholeText } from './whole-text.ts'

export type AgentInput =
  | string
  | {
      readonly prompt: string
      /** The session that takes it: one that is there, or a `new` one (default: the one that the node is in). */
      readonly session?: SessionRef | 'new'
    }

export interface AgentResult<Value = unknown> {
  /** The last that the agent said. */
  readonly text: string
  /** What it gave as data, where a schema wants it. */
  readonly data?: Value
  readonly session: SessionRef
  readonly usage: AgentUsage
}

export interface AgentInfo extends NodeInfo {
  readonly session?: SessionRef
  /** What it was made of; of variables only the names. */
  readonly config: Readonly<Record<string, unknown>>
}

export interface AgentNode<Value = never> extends Node<AgentInput, AgentResult<Value>> {
  /** The session that it is in, once it has one. */
  readonly session: SessionRef | undefined
  start(): Promise<void>
  /** Ends its process. The session stays, and the next turn resumes it. */
  stop(): Promise<void>
  /** Begins another session. */
  reset(): Promise<void>
  interrupt(): Promise<void>
  /** Shortens what the agent remembers. */
  compact(): Promise<void>
  fork(id: string): AgentNode<Value>
  info(): AgentInfo
  /** The vendor's own session object, while one is open. */
  native(): Promise<unknown>
}

/** What a step keeps for whoever goes on with it. */
interface Kept {
  readonly ref: SessionRef
  readonly mark: string
  /** The session was made for this step: agents write it down when they like to, so it may not be there for whoever goes on. */
  readonly fresh?: true
  /** What a person thinks about. */
  readonly put?: PutOff
}

const ABILITIES = ['start', 'stop', 'reset', 'interrupt', 'compact', 'fork'] as const

/**
 * A coding agent.
 *
 * ```ts
 * import { agent } from 'nerve/agents'
 *
 * const coder = agent('coder', { use: 'claude', permission: { allow: ['read', 'shell(npm test)'] } })
 * ```
 */
export function agent<Value = never>(id: string, options: AgentNodeOptions<Value>): AgentNode<Value> {
  return made(id, planAgent(id, options))
}

function made<Value>(id: string, plan: AgentPlan, from?: { id: string; life: AgentLife }): AgentNode<Value> {
  if (!isLabel(id))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(id)} is not an id for a node. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  const life = new AgentLife(id, plan, from === undefined ? undefined : () => from.life.ref)
  const turns = new Turns(id, plan, life)
  return {
    id,
    kind: 'agent',
    persistent: true,
    policy: plan.policy as never,
    get session() {
      return life.ref
    },
    execute: (input, call) => turns.execute(input, call) as Promise<AgentResult<Value>>,
    recall: (output) => {
      // A step may have made something else of the result; and one that is in a session already has been used since.
      const session = (output as Partial<AgentResult> | undefined)?.session
      if (typeof session?.id === 'string' && typeof session.agent === 'string') life.ref ??= session
    },
    start: async () => void (await life.session(undefined)),
    stop: () => life.close(),
    reset: () => life.forget(),
    interrupt: () => life.interrupt(),
    compact: () => turns.compact(),
    fork: (name) => made<Value>(name, { ...plan, session: undefined }, { id, life }),
    native: async () => (await life.session(undefined)).native,
    info: () => ({
      id,
      kind: 'agent',
      persistent: true,
      ...(plan.description === undefined ? {} : { description: plan.description }),
      abilities: ABILITIES,
      ...(from === undefined ? {} : { forkedFrom: from.id }),
      ...(life.ref === undefined ? {} : { session: life.ref }),
      config: configOf(plan),
    }),
  }
}

class Turns {
  readonly #id: string
  readonly #plan: AgentPlan
  readonly #life: AgentLife

  constructor(id: string, plan: AgentPlan, life: AgentLife) {
    this.#id = id
    this.#plan = plan
    this.#life = life
  }

  async execute(input: AgentInput, call: StepCall): Promise<AgentResult> {
    this.#checkFree()
    try {
      return await this.#turn(input, call, call.kept as Kept | undefined)
    } finally {
      this.#life.endTurn()
    }
  }

  async #turn(input: AgentInput, call: StepCall, before: Kept | undefined): Promise<AgentResult> {
    const { prompt, session: wanted } = toldOf(this.#id, input)
    if (before !== undefined) await this.#life.endOthers(before.mark)
    else if (wanted === 'new') await this.#life.forget()
    const usage: { input: number; output: number; usd: number; window: number } = {
      input: 0,
      output: 0,
      usd: 0,
      window: 0,
    }
    const spend = (spent: AgentUsage): void => this.#spend(call, usage, spent)
    const put = before?.put === undefined ? undefined : answered(before.put, call.answer)
    const asking = await this.#asking(call, put)
    const unanswered = asking.open(put)
    if (before !== undefined && unanswered !== undefined) return this.#park(call, before.ref, unanswered)
    this.#life.beginTurn({
      permission: (request) => asking.permission(request),
      question: (request) => asking.question(request),
      native: (event) => call.emit('native', { agent: this.#life.ref?.agent, event }),
      reserve: (wanted) => call.reserve(wanted),
      usage: (spent) => call.usage(spent),
    })
    const session = await this.#open(before, wanted === 'new' ? undefined : wanted, call)
    const fresh = this.#life.fresh || before?.fresh === true
    // Before anything is said: whoever goes on after a crash must know where.
    await call.keep({ ref: session.ref, mark: this.#life.mark, ...(fresh ? { fresh } : {}) } satisfies Kept)
    const again = call.resumed || before !== undefined
    const told = put === undefined ? (again ? toldOfInterruption(prompt) : prompt) : toldOfAnswer(prompt, put)
    const { end, anything } = await this.#say(session, { told, goesOn: put !== undefined }, call, spend)
    if (end.reason === 'error' && before?.fresh === true && !anything) {
      await this.#life.renew()
      return this.#turn(input, call, undefined)
    }
    const result = await this.#result({ session, asking, first: end }, call, spend)
    await this.#mindWindow(session, usage.window, call, spend)
    return { ...result, session: session.ref, usage: shownUsage(usage) }
  }

  /** Goes on with what was put off, where it is still there; else it is told what there is to do. */
  async #say(
    session: AgentSession,
    { told, goesOn }: { readonly told: string; readonly goesOn: boolean },
    call: StepCall,
    spend: (usage: AgentUsage) => void,
  ): Promise<{ readonly end: AgentTurnEnd; readonly anything: boolean }> {
    const isThere = takePut(session.ref, this.#id, call.key)
    if (goesOn && isThere && session.proceed !== undefined) {
      const said = new SaidAnything(session.proceed())
      const end = await this.#drive(session, said, call, spend)
      // It may have been used by somebody else than a step.
      if (end.reason !== 'error' || said.anything) return { end, anything: said.anything }
    }
    const said = new SaidAnything(this.#prompt(session, told))
    return { end: await this.#drive(session, said, call, spend), anything: said.anything }
  }

  /** A session that was only just made when its host died may not be there: then another one takes its place. */
  async #open(before: Kept | undefined, wanted: SessionRef | undefined, call: StepCall): Promise<AgentSession> {
    try {
      return await this.#life.session(before?.ref ?? wanted, call.signal)
    } catch (error) {
      if (before?.fresh !== true || call.signal.aborted || !isNerveError(error, 'agent-failed')) throw error
      await this.#life.renew()
      return this.#life.session(undefined, call.signal)
    }
  }

  /** One that did not end its turn may still be at it, whatever it was told: then its process ends. */
  async #drive(...turn: Parameters<typeof driveTurn>): Promise<AgentTurnEnd> {
    try {
      return await driveTurn(...turn)
    } catch (error) {
      await this.#life.close()
      turn[2].signal.throwIfAborted()
      throw error
    }
  }

  async compact(): Promise<void> {
    this.#checkFree()
    const session = await this.#life.session(undefined)
    if (session.compact === undefined)
      throw new NerveError(
        'bad-option',
        `Agent '${this.#id}' cannot be told to compact: its agent does that by itself.`,
      )
    takePut(session.ref, this.#id, '')
    await session.compact()
  }

  /** Whatever is said to an agent in the middle of a turn ends that turn. */
  #checkFree(): void {
    if (!this.#life.busy) return
    throw new NerveError('not-ready', `Agent '${this.#id}' is in the middle of a turn. Wait until that has ended.`, {
      data: { node: this.#id },
    })
  }

  #prompt(session: AgentSession, text: string): AsyncIterable<AgentPart> {
    const { value } = this.#plan
    return session.prompt(wholeText(text), value === undefined ? {} : { schema: value.json })
  }

  async #asking(call: StepCall, before: PutOff | undefined): Promise<Asking> {
    const { permission: plan, cwd, parks } = this.#plan
    return new Asking({ node: this.#id, agent: await this.#life.adapter(), plan, cwd, call, parks, before })
  }

  /** The process ends, the question stays, and the answer brings the session back. */
  async #park(call: StepCall, ref: SessionRef, { put, prompt, options }: Open): Promise<never> {
    await this.#life.close()
    // In one commit: an answer is never taken for another request.
    return call.park(prompt, { ...options, keep: { ref, mark: '', put } satisfies Kept })
  }

  /** Asks again for data that fits, a few times. What it puts off meanwhile waits without it, as in any turn. */
  async #result(
    { session, asking, first }: { session: AgentSession; asking: Asking; first: AgentTurnEnd },
    call: StepCall,
    spend: (usage: AgentUsage) => void,
  ): Promise<{ text: string; data?: unknown }> {
    let end = first
    for (let left = this.#plan.reasks; ; left -= 1) {
      const open = end.reason === 'deferred' ? asking.open(asking.put) : undefined
      if (open !== undefined) {
        notePut(session.ref, this.#id, call.key)
        return this.#park(call, session.ref, open)
      }
      if (end.reason !== 'done') {
        call.signal.throwIfAborted()
        throw turnError(this.#id, end)
      }
      const { value } = this.#plan
      if (value === undefined) return { text: end.text }
      const checked = await value.check(end.data ?? jsonIn(end.text))
      if ('value' in checked) return { text: end.text, data: checked.value }
      const problems = checked.problems.join('; ')
      if (left === 0)
        throw new NerveError('bad-output', `Agent '${this.#id}' did not give data that fits its schema: ${problems}`, {
          data: { node: this.#id, problems: checked.problems },
        })
      const again = `That is not the data that is wanted: ${problems}. Answer with nothing but JSON of this JSON Schema: ${JSON.stringify(value.json)}`
      end = await this.#drive(session, this.#prompt(session, again), call, spend)
    }
  }

  async #mindWindow(
    session: AgentSession,
    window: number,
    call: StepCall,
    spend: (usage: AgentUsage) => void,
  ): Promise<void> {
    if (window < this.#plan.compactAt || session.compact === undefined) return
    call.emit('context-window', { window, compactAt: this.#plan.compactAt })
    try {
      spend((await untilAborted(session.compact(), call.signal)) ?? {})
    } catch (error) {
      // The turn is done, and what it gave counts. The next one begins in a process of its own.
      call.emit('context-window', { window, error: (error as Error).message })
      await this.#life.close()
      call.signal.throwIfAborted()
    }
  }

  #spend(
    call: StepCall,
    total: { input: number; output: number; usd: number; window: number },
    spent: AgentUsage,
  ): void {
    const { input = 0, output = 0, usd = 0, window = 0 } = spent
    total.input += input
    total.output += output
    total.usd += usd
    total.window = window === 0 ? total.window : window
    // What goes through the gateway is counted there.
    const counted = this.#plan.gateway === undefined
    call.usage({
      ...(counted && input + output > 0 ? { tokens: input + output } : {}),
      ...(counted && usd > 0 ? { usd } : {}),
      ...(window > 0 ? { window } : {}),
    })
  }
}

function toldOf(id: string, input: unknown): { readonly prompt: string; readonly session?: SessionRef | 'new' } {
  const told = (typeof input === 'string' ? { prompt: input } : (input ?? {})) as Exclude<AgentInput, string>
  const { prompt, session } = told
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw new NerveError('bad-input', `Agent '${id}' needs something to do: a text, or { prompt }.`)
  if (session !== undefined && session !== 'new' && typeof session.id !== 'string')
    throw new NerveError('bad-input', `Agent '${id}': session must be that of an earlier result, or new.`)
  return told
}

/** The first JSON in a text: agents like to wrap it. */
function jsonIn(text: string): unknown {
  const fenced = /```(?:json)?\s*\n(.*?)```/s.exec(text)?.[1]
  for (const candidate of [text, fenced, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)]) {
    if (candidate === undefined || candidate.trim() === '') continue
    try {
      return JSON.parse(candidate) as unknown
    } catch {
      // The next one may be it.
    }
  }
  return undefined
}

function shownUsage({
  input,
  output,
  usd,
  window,
}: {
  input: number
  output: number
  usd: number
  window: number
}): AgentUsage {
  return { input, output, ...(usd === 0 ? {} : { usd }), ...(window === 0 ? {} : { window }) }
}

function configOf(plan: AgentPlan): Readonly<Record<string, unknown>> {
  const { use, cwd, model, env = {}, inherit = [], tools, session, sandbox } = plan
  return {
    use: typeof use === 'string' ? use : use.name,
    cwd,
    ...(model === undefined ? {} : { model }),
    ...(tools === undefined ? {} : { tools }),
    ...(session === undefined ? {} : { session }),
    ...(sandbox === 'none' ? {} : { sandbox }),
    env: Object.keys(env),
    inherit,
  }
}
