/**
 * A node in the care of a session: one that is started and stopped, tells what it is doing, and writes its history. It is
 * executed wherever the node would be, also in graphs that hold the node itself, so that it does one thing at a time whoever
 * asks.
 *
 * Start, stop and reset come one after the other, and each has its time: none can hold up the next for ever.
 */
import { systemClock, type Clock } from '../../base/clock.ts'
import { milliseconds, showDuration, type Duration } from '../../base/duration.ts'
import { NerveError, errorData, type ErrorData } from '../../base/nerve-error.ts'
import type { Schema } from '../../base/schema.ts'
import type { AnyNode, Node, NodeInfo, Policy, StepCall } from '../../engine/definition.ts'
import { beginRecording, runOf, type HistorySink } from '../history/recorder.ts'
import { bounded } from './bounded.ts'
import type { NodeConfig, RecordedConfig } from './node-factory.ts'
import type { Lineage } from './lineage.ts'

export type NodeState = 'created' | 'starting' | 'ready' | 'busy' | 'stopping' | 'stopped' | 'error'

export interface StateChange {
  readonly node: string
  readonly from: NodeState
  readonly to: NodeState
  readonly time: number
  /** What led to the state `error`. */
  readonly error?: ErrorData
}

export interface ManagedInfo extends NodeInfo {
  readonly state: NodeState
  readonly error?: ErrorData
  /** What it was made from, without secrets; only nodes that the factory made have it. */
  readonly config?: NodeConfig
  /** What the configuration leaves out, as paths in it: secrets, and what is not data. */
  readonly omitted?: readonly string[]
  readonly lineage?: Lineage
  /** The runs that execute it, in the order in which they came. A persistent node works for the first. */
  readonly runs?: readonly string[]
}

export interface ManageOptions {
  /** Its name, when that is not the node's id. */
  readonly name?: string
  readonly clock?: Clock
  /** How long it may take to start (default 30s) and to stop (default 5s). */
  readonly startTimeout?: Duration
  readonly stopTimeout?: Duration
  readonly history?: HistorySink
  readonly config?: RecordedConfig
  readonly lineage?: Lineage
  readonly onState?: (change: StateChange) => void
  /** Hears of listeners that throw. */
  readonly onProblem?: (error: unknown) => void
}

/** What some nodes offer beside being executed: typing into a terminal, reading its screen. */
export type NodeUse = 'write' | 'run' | 'read'

export class ManagedNode implements Node {
  readonly id: string
  readonly kind: string
  readonly persistent: boolean
  readonly policy?: Policy
  readonly input?: Schema<unknown>
  readonly parser?: (output: unknown) => unknown
  readonly recall?: (output: unknown) => void
  /** A copy of the node, not in anybody's care yet. */
  readonly fork?: (id: string) => AnyNode
  readonly lineage: Lineage | undefined
  readonly config: RecordedConfig | undefined
  /** The node itself. */
  readonly node: AnyNode
  readonly #options: ManageOptions
  readonly #clock: Clock
  readonly #listeners = new Set<(change: StateChange) => void>()
  /** What stops each execution, and the run that it is for. */
  readonly #running = new Map<AbortController, string>()
  #state: NodeState = 'created'
  #error: unknown
  #turn: Promise<unknown> = Promise.resolve()

  constructor(node: AnyNode, options: ManageOptions = {}) {
    this.node = node
    this.id = options.name ?? node.id
    this.kind = node.kind
    this.persistent = node.persistent
    if (node.policy !== undefined) this.policy = node.policy as Policy
    if (node.input !== undefined) this.input = node.input as Schema<unknown>
    if (node.parser !== undefined) this.parser = (output) => node.parser?.(output)
    if (node.recall !== undefined) this.recall = (output) => node.recall?.(output)
    if (node.fork !== undefined) this.fork = (id) => node.fork?.(id) as AnyNode
    this.lineage = options.lineage
    this.config = options.config
    this.#options = options
    this.#clock = options.clock ?? systemClock
    if (options.onState !== undefined) this.#listeners.add(options.onState)
  }

  get state(): NodeState {
    // A program may have ended by itself: then it is not ready, although nobody here has stopped it.
    const { state: own } = this.node as { readonly state?: unknown }
    return this.#state === 'ready' && own === 'stopped' ? own : this.#state
  }

  /** Hears of every change of state, until it is taken back by what this returns. */
  onState(listener: (change: StateChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  info(): ManagedInfo {
    return {
      ...this.node.info(),
      id: this.id,
      state: this.state,
      ...(this.#running.size === 0 ? {} : { runs: [...this.#running.values()] }),
      ...(this.#state === 'error' ? { error: errorData(this.#error) } : {}),
      ...this.config,
      ...(this.lineage === undefined ? {} : { lineage: this.lineage, forkedFrom: this.lineage.forkedFrom }),
    }
  }

  async execute(input: unknown, call: StepCall): Promise<unknown> {
    await this.#awake()
    this.#insist()
    const interrupt = new AbortController()
    const recording = this.#record('send', { input, call })
    this.#running.set(interrupt, runOf(call))
    this.#settle()
    try {
      const output: unknown = await this.node.execute(input, around(call, recording.emit, interrupt.signal))
      recording.ended(output)
      return output
    } catch (error) {
      recording.failed(error)
      throw error
    } finally {
      this.#running.delete(interrupt)
      this.#settle()
    }
  }

  /** Makes it ready. Does nothing when it is. */
  start(): Promise<void> {
    return this.#inTurn(() => this.#begin())
  }

  async #begin(): Promise<void> {
    if (this.state === 'ready' || this.state === 'busy') return
    await this.#through('starting', 'start', () => this.node.start?.())
    this.#become('ready')
    this.#settle()
  }

  /** Ends it, whatever it is doing. Does nothing when it has been stopped, or was never started. */
  stop(): Promise<void> {
    return this.#inTurn(() => this.#end())
  }

  async #end(): Promise<void> {
    if (this.#state === 'stopped') return
    if (this.#state !== 'created') {
      for (const one of this.#running.keys()) one.abort(interrupted(this.id, 'stopped'))
      const recording = this.#record('close')
      await this.#through('stopping', 'stop', () => this.node.stop?.()).then(recording.ended, (error: unknown) => {
        recording.failed(error)
        throw error
      })
    }
    this.#become('stopped')
  }

  /** Lets go of it: what can live without this process is left running, everything else is stopped. */
  detach(): Promise<void> {
    const { detach, stop } = this.node as { detach?: () => Promise<void> | void; stop?: unknown }
    return this.#inTurn(async () => {
      if (detach === undefined && (stop !== undefined || this.#running.size > 0)) return this.#end()
      const began = this.#state !== 'created' && this.#state !== 'stopped'
      if (began) await this.#through('stopping', 'stop', () => detach?.call(this.node))
      this.#become('stopped')
    })
  }

  /** As new: by its own reset, or else by stopping and starting it. What it is doing is interrupted. */
  async reset(): Promise<void> {
    if (this.node.reset === undefined) {
      await this.stop()
      return this.start()
    }
    return this.#inTurn(async () => {
      if (this.#running.size > 0) await this.interrupt()
      await this.#through('starting', 'reset', () => this.node.reset?.())
      this.#become('ready')
      this.#settle()
    })
  }

  /** Ctrl-C: by its own interrupt, or else through the signal of what it executes. It stays ready. */
  async interrupt(): Promise<void> {
    const recording = this.#record('interrupt')
    try {
      if (this.node.interrupt !== undefined) await this.node.interrupt()
      else for (const one of this.#running.keys()) one.abort(interrupted(this.id, 'interrupted'))
    } catch (error) {
      recording.failed(error)
      throw error
    }
    recording.ended(undefined)
  }

  /** Uses what the node offers beside being executed. It does not wait for what the node is doing. */
  async use(what: NodeUse, ...given: readonly unknown[]): Promise<unknown> {
    const method = (this.node as unknown as Readonly<Record<string, unknown>>)[what]
    if (typeof method !== 'function')
      throw new NerveError('bad-option', `Node '${this.id}' (${this.kind}) has no ${what}().`)
    // What one that has stopped has printed can still be read.
    if (what !== 'read' || this.state !== 'stopped') {
      await this.#awake()
      this.#insist()
    }
    const recording = this.#record(what, given.length === 0 ? {} : { input: given.length === 1 ? given[0] : given })
    try {
      const output: unknown = await (method.apply(this.node, [...given]) as unknown)
      recording.ended(output)
      return output
    } catch (error) {
      recording.failed(error)
      throw error
    }
  }

  #record(operation: 'send' | 'interrupt' | 'close' | NodeUse, more: { input?: unknown; call?: StepCall } = {}) {
    return beginRecording(this.#options.history, { operation, now: () => this.#clock.now(), ...more })
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#turn.then(work)
    // Whoever asked for it hears that it failed.
    this.#turn = result.catch(() => undefined)
    return result
  }

  /** One of the changes that take time. When it fails or is late, the state is `error`. */
  async #through(
    state: 'starting' | 'stopping',
    what: 'start' | 'stop' | 'reset',
    work: () => Promise<void> | void,
  ): Promise<void> {
    const { startTimeout = '30s', stopTimeout = '5s' } = this.#options
    const ms = milliseconds(what === 'stop' ? stopTimeout : startTimeout, `${what}Timeout`)
    this.#become(state)
    try {
      await bounded(this.#clock, ms, work, () => late(this.id, what, ms))
    } catch (error) {
      this.#error = error
      this.#become('error')
      throw error
    }
  }

  /** Only one that was never started is started by being used: one that was stopped was meant to be. */
  async #awake(): Promise<void> {
    if (this.#state !== 'created' && this.#state !== 'starting') return
    await this.#inTurn(async () => {
      if (this.#state === 'created') await this.#begin()
    })
  }

  /** Asked right before something begins: whatever was waited for, it may have been stopped meanwhile. */
  #insist(): void {
    if (this.#state === 'ready' || this.#state === 'busy') return
    throw new NerveError(
      'not-ready',
      `Node '${this.id}' is ${this.#state === 'error' ? 'in the state error' : this.#state}. ` +
        'Start it again with start() or reset().',
      { data: { node: this.id, state: this.#state }, cause: this.#state === 'error' ? this.#error : undefined },
    )
  }

  /** Ready or busy, by what runs. */
  #settle(): void {
    if (this.#state !== 'ready' && this.#state !== 'busy') return
    this.#become(this.#running.size > 0 ? 'busy' : 'ready')
  }

  #become(to: NodeState): void {
    const from = this.#state
    if (from === to) return
    this.#state = to
    const error = to === 'error' ? { error: errorData(this.#error) } : {}
    const change: StateChange = { node: this.id, from, to, time: this.#clock.now(), ...error }
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (problem) {
        this.#options.onProblem?.(problem)
      }
    }
  }
}

/** The call as the node gets it: it also hears of an interrupt of the node, and its live parts are kept. */
function around(call: StepCall, emit: StepCall['emit'], interrupt: AbortSignal): StepCall {
  const { key, attempt, resumed, path } = call
  return {
    key,
    attempt,
    resumed,
    path,
    signal: AbortSignal.any([call.signal, interrupt]),
    usage: (spent) => call.usage(spent),
    reserve: (wanted) => call.reserve(wanted),
    emit,
    keep: (value) => call.keep(value),
    get kept() {
      return call.kept
    },
    park: (prompt, options) => call.park(prompt, options),
    get answer() {
      return call.answer
    },
    ask: (prompt, options) => call.ask(prompt, options),
  }
}

function interrupted(id: string, how: string): NerveError {
  return new NerveError('interrupted', `Node '${id}' was ${how}.`, { retry: 'later' })
}

function late(id: string, what: string, ms: number): NerveError {
  return new NerveError('timeout', `Node '${id}' did not ${what} within ${showDuration(ms)}.`, { data: { node: id } })
}
