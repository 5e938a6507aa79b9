/**
 * Runs a state graph, step by step. In one step all active nodes run side by side on the same state; then their updates
 * go into it in the order in which the nodes were declared; then the ways out decide what is active next.
 *
 * Invariants:
 *  1. A node runs once in a step, however many ways led to it (one for items runs once for each item).
 *  2. What follows from the results of a step follows from the journal alone, so that a replay takes the same way.
 *  3. The state is not in the journal: it is made again from the results of the nodes. Nothing here looks at all of it.
 *  4. Every durable call is made from where the run began. So each comes after all that was delivered before it, and a
 *     node can have its next turn under the same label, whichever of the nodes beside it was the last to end.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, Context } from '../../engine/definition.ts'
import { decide, limitReached } from '../control/control.ts'
import { caught, type Caught } from './caught.ts'
import { mergeUpdates, type Values } from './channel.ts'
import type { Exit, Loop, Plan, PlanNode, Route } from './plan.ts'
import type { Edit, Position } from './position.ts'
import { END, isSend, readResult, type StateSignal } from './result.ts'
import { saveCheckpoint, type Saving } from './saving.ts'
import { slots } from './slots.ts'
import { checkSettled, runNode, type Branch, type Setting } from './work.ts'

/** What a run looks like between two steps. */
export interface Observed<State = Values> {
  /** How many steps have ended. */
  readonly step: number
  /** The nodes that ran in the last of them. */
  readonly nodes: readonly string[]
  readonly state: State
  /** The nodes that run next. */
  readonly next: readonly string[]
}

export interface RunSettings {
  readonly maxSteps: number
  readonly onLimit: 'fail' | 'stop'
  readonly maxParallel: number
  readonly window: number
  readonly saving: Saving | undefined
  readonly swap: ReadonlyMap<AnyRunnable | string, AnyRunnable> | undefined
  readonly edits: readonly Edit[]
  readonly observe: ((seen: Observed) => void) | undefined
}

/** The state to start with, or where to go on. */
export type Begin = { readonly state: Values } | { readonly position: Position }

/** The state at the end. */
export function runPlan(ctx: Context, plan: Plan, begin: Begin, settings: RunSettings): Promise<Values> {
  return new StateRun(ctx, plan, settings).run(begin)
}

interface Outcome {
  readonly node: PlanNode
  readonly results: readonly unknown[]
  readonly error?: Error
}

/** A decision that is due: a route, or whether a loop goes round again. */
type Decision = { readonly route: Route } | { readonly loop: Loop }

class StateRun {
  readonly #ctx: Context
  readonly #plan: Plan
  readonly #settings: RunSettings
  #state: Values = {}
  #step = 0
  #active = new Map<string, unknown[]>()
  #joins = new Map<string, Set<string>>()
  #loops = new Map<string, number>()
  readonly #log: Values[] | undefined
  readonly #here = AsyncLocalStorage.snapshot()

  constructor(ctx: Context, plan: Plan, settings: RunSettings, log?: Values[]) {
    this.#ctx = ctx
    this.#plan = plan
    this.#settings = settings
    this.#log = log
  }

  async run(begin: Begin): Promise<Values> {
    if ('position' in begin) this.#goOn(begin.position)
    else this.#state = begin.state
    await this.#arrive([], 'position' in begin ? undefined : this.#plan.entry)
    const { maxSteps } = this.#settings
    for (let done = 0; this.#active.size > 0; done += 1) {
      if (done === maxSteps && this.#limit()) break
      const nodes = this.#next()
      const outcomes = await this.#runAll(nodes)
      this.#step += 1
      this.#active = new Map()
      await this.#arrive(nodes, this.#merge(outcomes))
      await this.#save(nodes)
    }
    return this.#state
  }

  #goOn({ step, state, active, joins, loops }: Position): void {
    this.#step = step
    this.#state = state
    this.#active = new Map(active)
    this.#joins = new Map([...joins].map(([id, seen]) => [id, new Set(seen)]))
    this.#loops = new Map(loops)
  }

  /** In the order in which they were declared. */
  #next(): PlanNode[] {
    const nodes: PlanNode[] = []
    for (const id of this.#active.keys()) nodes.push(this.#plan.nodes.get(id) as PlanNode)
    return nodes.length < 2 ? nodes : nodes.sort((a, b) => a.index - b.index)
  }

  async #runAll(nodes: readonly PlanNode[]): Promise<readonly Outcome[]> {
    const { maxParallel, window, swap } = this.#settings
    const at: Setting = {
      ctx: this.#ctx,
      plan: this.#plan,
      state: this.#state,
      slots: slots(maxParallel),
      window,
      swap,
      branch: this.#branch,
    }
    const [only] = nodes
    if (nodes.length === 1 && only !== undefined) return [await this.#run(at, only)]
    // First those without items, so that none of them waits for a slot that an item has: what begins when an item ends
    // would not be known to come after it, because an item is in a scope of its own.
    const started = new Map<PlanNode, Promise<Outcome>>()
    for (const node of nodes) if (node.takes !== 'item') started.set(node, this.#start(at, node))
    for (const node of nodes) if (node.takes === 'item') started.set(node, this.#run(at, node))
    return Promise.all(nodes.map((node) => started.get(node) as Promise<Outcome>))
  }

  /** Who waits for a person needs no slot. */
  #start(at: Setting, node: PlanNode): Promise<Outcome> {
    return node.work.type === 'wait' ? this.#run(at, node) : at.slots.take(() => this.#run(at, node))
  }

  async #run(at: Setting, node: PlanNode): Promise<Outcome> {
    const subjects = this.#active.get(node.id) ?? []
    const run = (): Promise<readonly unknown[]> => this.#here(() => runNode(at, node, subjects))
    if (node.handler === undefined) return { node, results: await run() }
    const ended = await this.#caught(node.id, run)
    return 'value' in ended ? { node, results: ended.value } : { node, results: [], error: ended.error }
  }

  #caught<Value>(id: string, run: () => Promise<Value>): Promise<Caught<Value>> {
    return caught(this.#ctx, { label: `${id}!`, run, here: this.#here })
  }

  readonly #branch = async (plan: Plan, state: Values): Promise<Branch> => {
    const updates: Values[] = []
    const settings = { ...this.#settings, saving: undefined, edits: [], observe: undefined }
    const end = await new StateRun(this.#ctx, plan, settings, updates).run({ state })
    return { updates, state: end }
  }

  /** Makes the next state, tells what is to be told, and gives the ways out. */
  #merge(outcomes: readonly Outcome[]): readonly Exit[] {
    const updates: Values[] = []
    const exits: Exit[] = []
    const signals: { readonly node: string; readonly signal: StateSignal }[] = []
    for (const { node, results, error } of outcomes) {
      let along = false
      if (error !== undefined) this.#handle(node.handler as string, error)
      for (const result of results) {
        const settled = readResult(node.id, result)
        checkSettled(this.#plan, node, settled)
        if (settled.update !== undefined) updates.push(settled.update)
        for (const signal of settled.signals ?? []) signals.push({ node: node.id, signal })
        if (settled.targets === undefined) along = true
        else
          for (const target of settled.targets)
            exits.push(
              isSend(target)
                ? { type: 'send', node: target['nerve:send'], item: target.item }
                : { type: 'to', node: target },
            )
      }
      if (along || (error === undefined && results.length === 0)) exits.push(...node.exits)
    }
    this.#state = mergeUpdates(this.#plan.channels, this.#state, updates)
    if (this.#log !== undefined) for (const update of updates) this.#log.push(update)
    for (const { node, signal } of signals) {
      const { type, ...data } = signal
      this.#emit(type, { node, ...data })
    }
    return exits
  }

  /** Applies what somebody outside changed here, and finds out what is next. Without exits, what is next is known. */
  async #arrive(nodes: readonly PlanNode[], exits: readonly Exit[] | undefined): Promise<void> {
    const { edits, observe } = this.#settings
    let ways = exits
    for (const { step, update, asNode } of edits) {
      if (step !== this.#step) continue
      this.#state = mergeUpdates(this.#plan.channels, this.#state, [update])
      if (asNode === undefined) continue
      this.#active = new Map()
      ways = this.#plan.nodes.get(asNode)?.exits ?? []
    }
    if (ways !== undefined && ways.length > 0) await this.#follow(ways)
    observe?.({
      step: this.#step,
      nodes: nodes.map(({ id }) => id),
      state: this.#state,
      next: this.#next().map(({ id }) => id),
    })
  }

  /** Follows ways out to the nodes that they lead to, through all decisions on the way. */
  async #follow(exits: readonly Exit[]): Promise<void> {
    let open = exits
    while (open.length > 0) {
      const due = new Map<string, Decision>()
      for (const exit of open) this.#take(exit, due)
      if (due.size === 0) return
      const decisions = [...due.values()]
      const [only] = decisions
      const ways =
        decisions.length === 1 && only !== undefined
          ? [await this.#decide(only)]
          : await Promise.all(decisions.map((decision) => this.#decide(decision)))
      open = ways.flat()
    }
  }

  #take(exit: Exit, due: Map<string, Decision>): void {
    switch (exit.type) {
      case 'to':
        if (exit.node !== END && !this.#active.has(exit.node)) this.#active.set(exit.node, [])
        return
      case 'send': {
        const items = this.#active.get(exit.node)
        if (items === undefined) this.#active.set(exit.node, [exit.item])
        else items.push(exit.item)
        return
      }
      case 'join': {
        const { id, from, to } = exit.join
        const seen = this.#joins.get(id) ?? new Set()
        seen.add(exit.from)
        if (seen.size < from.length) this.#joins.set(id, seen)
        else {
          this.#joins.delete(id)
          this.#take({ type: 'to', node: to }, due)
        }
        return
      }
      case 'route':
        due.set(exit.route.id, { route: exit.route })
        return
      case 'loop': {
        const { id } = exit.loop
        this.#loops.set(id, exit.again ? (this.#loops.get(id) ?? 0) + 1 : 0)
        due.set(id, { loop: exit.loop })
      }
    }
  }

  async #decide(decision: Decision): Promise<readonly Exit[]> {
    const { handler } = 'route' in decision ? decision.route : decision.loop
    const choose = (): Promise<readonly Exit[]> =>
      'route' in decision ? this.#choose(decision.route) : this.#goRound(decision.loop)
    if (handler === undefined) return choose()
    const ended = await this.#caught('route' in decision ? decision.route.id : decision.loop.id, choose)
    if ('value' in ended) return ended.value
    this.#handle(handler, ended.error)
    return []
  }

  async #choose(route: Route): Promise<readonly Exit[]> {
    const { id, choose } = route
    const choice = this.#here(() => decide(this.#ctx, `${id}?`, () => choose(this.#state), choose))
    return route.exits(await choice)
  }

  async #goRound(loop: Loop): Promise<readonly Exit[]> {
    const { id, until, max } = loop
    const iteration = this.#loops.get(id) ?? 0
    const ask = async (): Promise<boolean> => Boolean(await until(this.#state, { iteration }))
    const over = await this.#here(() => decide(this.#ctx, `${id}?`, ask, until))
    if (over !== true && iteration < max) return loop.body
    this.#loops.delete(id)
    if (over !== true) {
      this.#here(() => limitReached(this.#ctx, id, max))
      if (loop.onMax === 'fail')
        throw new NerveError('limit-reached', `Loop '${id}' went round ${max} times, and is not where it should be.`)
    }
    return loop.after
  }

  #handle(handler: string, error: Error): void {
    if (!this.#active.has(handler)) this.#active.set(handler, [error])
  }

  /** True when it ends here instead of failing. */
  #limit(): boolean {
    const { maxSteps, onLimit } = this.#settings
    this.#here(() => limitReached(this.#ctx, this.#plan.name, maxSteps))
    if (onLimit === 'stop') return true
    const next = this.#next().map(({ id }) => `'${id}'`)
    throw new NerveError(
      'limit-reached',
      `State graph '${this.#plan.name}' has not ended after ${maxSteps} steps; next would be ${next.join(', ')}. ` +
        'If it should go on for longer, compile it with a larger maxSteps.',
      { data: { steps: maxSteps } },
    )
  }

  async #save(nodes: readonly PlanNode[]): Promise<void> {
    const { saving } = this.#settings
    if (saving === undefined) return
    const position = {
      step: this.#step,
      state: this.#state,
      active: new Map(this.#next().map(({ id }) => [id, this.#active.get(id) ?? []])),
      joins: this.#joins,
      loops: this.#loops,
    }
    const moment = { plan: this.#plan, position, nodes: nodes.map(({ id }) => id), here: this.#here }
    const saved = await saveCheckpoint(this.#ctx, saving, moment)
    this.#emit(saved.name, saved.data)
    if (saved.fails !== undefined) throw saved.fails
  }

  #emit(name: string, data: unknown): void {
    this.#here(() => this.#ctx.emit(name, data))
  }
}
