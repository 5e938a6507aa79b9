/** One attempt of one step while it runs: what its function receives, and what it has spent. */
import { createRedactor } from '../base/redact.ts'
import type { StepStarted, Usage } from '../journal/events.ts'
import type { AnyNode, StepCall } from './definition.ts'
import type { Turn } from './delivery.ts'
import type { Execution } from './execution.ts'
import { Parked } from './parked.ts'
import { checkUsage } from './policy.ts'
import type { Inside, Place } from './scope.ts'
import { askInside, hasEnded, withdrawAll } from './step-question.ts'

const SPENDABLE = ['usd', 'tokens', 'calls'] as const

/** How long the function of a stopped call has to come to its end and to say what it spent. */
const LAST_WORDS_MS = 5_000

export type StopReason = 'scope' | 'budget' | 'cancel' | 'interrupt' | 'timeout' | 'end'

export interface CallStart {
  /** 1 for the first attempt. */
  readonly number: number
  readonly aside: Usage
  /** True when an earlier process had begun this attempt. */
  readonly resumed: boolean
  readonly fallback: boolean
  /** What the journal is to say of what runs and what it was given. */
  readonly told?: { readonly node: AnyNode | undefined; readonly input: unknown }
}

const NOTHING: Usage = {}

export class Call implements StepCall, Inside, Turn {
  readonly owner: Execution
  readonly place: Place
  readonly started: number
  /** Where its result is in the journal. */
  seq = 0
  ended = false
  /** True when the journal already says that it started. */
  announced = false
  /** How many of its questions are open, and how many it has put. */
  asking = 0
  asked = 0
  /** True when whoever waits for it has been told that it was stopped. */
  givenUp = false
  readonly #start: CallStart
  #controller: AbortController | undefined
  #spent: { usd: number; tokens: number; calls: number; window: number } | undefined
  #aside: Usage
  #abandon: ((error: unknown) => void) | undefined
  #output: unknown
  #resolve: ((output: never) => void) | undefined
  #stopped: { readonly reason: StopReason; readonly error: unknown } | undefined
  /** True when its function can hear that it is stopped, or says what it spends. */
  #heeds = false
  #isOver = false
  #whenOver: (() => void) | undefined

  constructor(execution: Execution, place: Place, start: CallStart) {
    this.owner = execution
    this.place = place
    this.#start = start
    this.#aside = start.aside
    this.started = execution.clock.now()
  }

  get path(): string {
    return this.place.path
  }

  get inStep(): string {
    return this.place.path
  }

  get attempt(): number {
    return this.#start.number
  }

  get resumed(): boolean {
    return this.#start.resumed
  }

  get key(): string {
    return `${this.owner.run}/${this.path}`
  }

  get signal(): AbortSignal {
    this.#heeds = true
    this.#controller ??= new AbortController()
    if (this.#stopped !== undefined) this.#controller.abort(this.#stopped.error)
    return this.#controller.signal
  }

  get usage(): (spent: Usage) => void {
    this.#heeds = true
    return (spent) => this.#use(spent)
  }

  get reserve(): (wanted: Usage) => void {
    this.#heeds = true
    return (wanted) => this.#reserve(wanted)
  }

  get emit(): (type: string, data?: unknown) => void {
    const { bus, run } = this.owner
    return (type, data) => bus.part({ live: true, run, path: this.path, type, data })
  }

  get kept(): unknown {
    return this.owner.state.kept.get(this.path)
  }

  get keep(): (value: unknown) => Promise<void> {
    return async (value) => {
      this.throwIfStopped()
      if (this.ended) throw hasEnded(this.path)
      this.announce()
      const { path, attempt } = this
      await this.owner.commit({ type: 'step-kept', path, attempt, ...(value === undefined ? {} : { value }) })
    }
  }

  get answer(): unknown {
    return this.owner.state.answered.get(this.path)
  }

  get park(): StepCall['park'] {
    return (prompt, options) => {
      throw new Parked(prompt, options)
    }
  }

  get ask(): StepCall['ask'] {
    return (prompt, options) => askInside(this, prompt, options)
  }

  /** What the journal says while the attempt is in flight. */
  get startedEvent(): StepStarted {
    const { path, attempt, place } = this
    const { fallback, told } = this.#start
    const after = place.after === undefined ? {} : { after: place.after }
    const kind = fallback ? ({ kind: 'fallback' } as const) : {}
    return { type: 'step-started', path, attempt, ...after, ...kind, ...(told === undefined ? {} : shown(told)) }
  }

  /** Says in the journal that it started, if that does not say so yet. */
  announce(): void {
    if (this.announced) return
    this.announced = true
    this.owner.append(this.startedEvent)
  }

  get stopped(): StopReason | undefined {
    return this.#stopped?.reason
  }

  /** What the attempt has spent so far, or nothing. */
  get spent(): Usage | undefined {
    const spent = this.#spent
    if (spent === undefined) return undefined
    const { usd, tokens, calls, window } = spent
    return {
      ...(usd === 0 ? {} : { usd }),
      ...(tokens === 0 ? {} : { tokens }),
      ...(calls === 0 ? {} : { calls }),
      ...(window === 0 ? {} : { window }),
    }
  }

  /** Keeps what the function returned until it is durable and its turn has come. */
  returned<Output>(output: Output, resolve: (output: Output) => void): void {
    this.#output = output
    this.#resolve = resolve
  }

  deliver(): void {
    this.#resolve?.(this.#output as never)
  }

  throwIfStopped(): void {
    if (this.#stopped !== undefined) throw this.#stopped.error
  }

  /** Lets the attempt be given up before its function has ended. */
  onStop(abandon: (error: unknown) => void): void {
    this.#abandon = abandon
    if (this.#stopped !== undefined) this.#giveUp(this.#stopped.error)
  }

  stop(reason: StopReason, error: unknown): void {
    if (this.ended || this.#stopped !== undefined) return
    this.#stopped = { reason, error }
    this.#controller?.abort(error)
    this.#giveUp(error)
  }

  #giveUp(error: unknown): void {
    if (this.#abandon === undefined) return
    this.#abandon(error)
    this.givenUp = true
  }

  /**
   * Calls back when the function of this stopped call has ended, or has had its time to: what it spends until then counts. One
   * that neither hears of the stop nor says what it spends is not waited for.
   */
  letEnd(then: () => void): void {
    const { clock, closed } = this.owner
    if (this.#isOver || !this.#heeds || closed !== undefined) return then()
    const disarm = clock.at(clock.now() + LAST_WORDS_MS, () => this.over())
    this.#whenOver = () => {
      disarm()
      then()
    }
  }

  /** The function of this stopped call has ended, or is waited for no longer. */
  over(): void {
    this.#isOver = true
    const then = this.#whenOver
    this.#whenOver = undefined
    then?.()
  }

  /** Gives back what was set aside. Called once, when the outcome is in the journal's queue. */
  end(): void {
    this.ended = true
    if (this.asking > 0) withdrawAll(this)
    this.owner.ledger.setAside(this.#aside, -1)
    this.#aside = NOTHING
  }

  #use(usage: Usage): void {
    if (this.ended) return
    checkUsage(usage, `Step '${this.path}': usage`)
    const spent = (this.#spent ??= { usd: 0, tokens: 0, calls: 0, window: 0 })
    for (const dimension of SPENDABLE) spent[dimension] += usage[dimension] ?? 0
    spent.window = Math.max(spent.window, usage.window ?? 0)
    this.#holdAtLeast(spent)
  }

  #reserve(wanted: Usage): void {
    // What is set aside for an attempt that has ended would never be given back.
    this.throwIfStopped()
    if (this.ended) throw hasEnded(this.path)
    checkUsage(wanted, `Step '${this.path}': reserve`)
    const spent = this.#spent ?? { usd: 0, tokens: 0, calls: 0 }
    const target = {
      usd: spent.usd + (wanted.usd ?? 0),
      tokens: spent.tokens + (wanted.tokens ?? 0),
      calls: spent.calls + (wanted.calls ?? 0),
    }
    const more = this.#beyond(target)
    // What was set aside before the step started needs no room a second time.
    const shortage = Object.keys(more).length === 0 ? undefined : this.owner.ledger.shortage(more)
    if (shortage !== undefined) {
      const error = this.owner.tree.exhaust(shortage, this.path)
      this.stop('budget', error)
      throw error
    }
    this.#holdAtLeast(target)
  }

  #beyond(target: Usage): Usage {
    const more: Record<string, number> = {}
    for (const dimension of SPENDABLE) {
      const over = (target[dimension] ?? 0) - (this.#aside[dimension] ?? 0)
      if (over > 0) more[dimension] = over
    }
    return more
  }

  #holdAtLeast(target: Usage): void {
    const more = this.#beyond(target)
    this.owner.ledger.setAside(more, 1)
    const aside: Record<string, number> = { ...this.#aside }
    for (const [dimension, amount] of Object.entries(more))
      aside[dimension] = (aside[dimension] ?? 0) + (amount as number)
    this.#aside = aside
  }
}

function shown({ node, input }: NonNullable<CallStart['told']>): Pick<StepStarted, 'node' | 'input'> {
  return {
    ...(node === undefined ? {} : { node: { id: node.id, kind: node.kind } }),
    ...(input === undefined ? {} : { input: createRedactor().value(input) }),
  }
}
