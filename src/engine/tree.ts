/**
 * A run and its children while this host drives them: one owner, one budget, one hold, one cancel.
 * Owns what applies to all of them at once. Knows nothing of stores.
 *
 * Invariants:
 *  1. While `hold` is set, no attempt of any step in the tree starts.
 *  2. A tree is idle when no function runs or is about to be tried again, nothing is replayed, and nothing waits to
 *     be committed.
 */
import type { Clock } from '../base/clock.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Actor, Budget, ResumePlan } from '../journal/events.ts'
import { statusOf } from '../journal/fold.ts'
import { tellEnd } from './child.ts'
import type { Execution } from './execution.ts'
import type { Shortage } from './ledger.ts'
import { isWithin, type Scope } from './scope.ts'
import { RUN_OVER } from './troubles.ts'

/** What the engine wants to hear of a tree. */
export interface TreeEvents {
  idle(tree: Tree): void
  ended(tree: Tree, execution: Execution): void
  lost(tree: Tree, error: NerveError): void
  diverged(tree: Tree, execution: Execution, plan: ResumePlan): void
  abandoned(parent: Execution, child: string): void
}

/** How long a cancelled run may take to clean up before it is reported as cancelled all the same. */
const CANCEL_GRACE_MS = 5_000

/** `closing`: the host is about to end, and leaves the rest to the next one. */
export type HoldReason = 'paused' | 'exhausted' | 'closing'

interface Hold {
  readonly promise: Promise<void>
  readonly release: () => void
}

export class Tree {
  readonly root: string
  readonly epoch: number
  readonly executions = new Map<string, Execution>()
  /** How many commands are being performed on it: it stays in memory for them. */
  commands = 0
  lost: NerveError | undefined
  readonly #events: TreeEvents
  #hold: Hold | undefined
  #idle = false
  #looking = false
  #busy = 0
  #reasons = new Set<HoldReason>()
  readonly #blamed = new WeakMap<Error, string>()
  #disarm: (() => void) | undefined

  constructor(root: string, epoch: number, events: TreeEvents) {
    this.root = root
    this.epoch = epoch
    this.#events = events
  }

  /** Resolves when work may start again; undefined when it may now. */
  get hold(): Promise<void> | undefined {
    return this.#hold?.promise
  }

  get idle(): boolean {
    return this.#idle
  }

  set idle(idle: boolean) {
    const woken = this.#idle && !idle
    this.#idle = idle
    if (woken) this.#armParents()
  }

  /** Lists say of a run whose children all wait that it waits: they are told when that changes, and it says nothing itself. */
  #armParents(): Execution[] {
    const parents = [...this.executions.values()].filter((execution) => execution.state.children.size > 0)
    for (const execution of parents) execution.committer.arm(execution)
    return parents
  }

  get rootExecution(): Execution | undefined {
    return this.executions.get(this.root)
  }

  add(execution: Execution): void {
    this.executions.set(execution.run, execution)
    this.idle = false
    if (execution.state.paused) this.setHold('paused', true)
    if (execution.state.exhausted !== undefined) this.setHold('exhausted', true)
  }

  setHold(reason: HoldReason, on: boolean): void {
    if (on) this.#reasons.add(reason)
    else this.#reasons.delete(reason)
    if (this.#reasons.size > 0 && this.#hold === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#hold = { promise, release: resolve }
    } else if (this.#reasons.size === 0) {
      this.#hold?.release()
      this.#hold = undefined
    }
  }

  /** The tree is not at rest while this is on its way: a child of it is being read, or waited for. */
  async busy<Value>(work: Promise<Value>): Promise<Value> {
    this.#busy += 1
    try {
      return await work
    } finally {
      this.#busy -= 1
      // Nothing else may come to make anybody look.
      for (const execution of this.executions.values()) execution.committer.arm(execution)
    }
  }

  /** A function has started in this run. */
  worked(execution: Execution): void {
    this.idle = false
    const { calls, ledger, clock } = execution
    if (ledger.limited && (calls.size === 1 || calls.asking > 0)) this.#watchTime(clock)
  }

  /** A function has begun to wait for a person, or goes on. */
  asked({ ledger, clock }: Execution): void {
    if (ledger.limited) this.#watchTime(clock)
  }

  rested(execution: Execution): void {
    if (execution.calls.size === 0 && this.#disarm !== undefined) this.#watchTime(execution.clock)
  }

  /** Arms what stops the work when the time budget is spent. Runs that work side by side spend it together. */
  #watchTime(clock: Clock): void {
    this.#disarm?.()
    this.#disarm = undefined
    const working = this.#working()
    const left = Math.min(...working.map((one) => one.ledger.millisecondsLeft()))
    if (left === Infinity) return
    this.#disarm = clock.at(clock.now() + Math.max(1, left / working.length), () => this.#lookAtTime(clock))
  }

  #lookAtTime(clock: Clock): void {
    for (const execution of this.#working()) {
      const shortage = execution.ledger.shortage({ seconds: 0.001 })
      if (shortage?.dimension !== 'seconds') continue
      const error = this.exhaust(shortage, [...execution.calls][0]?.path ?? '')
      for (const one of this.executions.values()) for (const call of one.calls) call.stop('budget', error)
      return
    }
    this.#watchTime(clock)
  }

  #working(): Execution[] {
    return [...this.executions.values()].filter((one) => one.calls.busy && one.ledger.limited)
  }

  /** Looks whether the tree has come to rest. */
  look(): void {
    if (this.#looking || !this.#isQuiet()) return
    this.#looking = true
    // Whoever was told of a commit goes on in this turn of the event loop; only after it can the tree be at rest.
    setImmediate(() => {
      this.#looking = false
      if (this.#isQuiet()) this.#rest()
    })
  }

  #isQuiet(): boolean {
    if (this.idle || this.lost !== undefined || this.#busy > 0) return false
    for (const execution of this.executions.values()) {
      if (execution.closed !== undefined || execution.calls.size > 0 || execution.pending) return false
      if (execution.replaying || (isRetrying(execution) && !this.#reasons.has('closing'))) return false
      if (this.#hold === undefined && isElsewhere(execution)) return false
    }
    return true
  }

  #rest(): void {
    this.idle = true
    const parents = this.#armParents()
    const told = (): void => {
      if (this.idle && this.lost === undefined) this.#events.idle(this)
    }
    // Whoever hears that the tree rests finds it so in the lists, also runs whose children all wait.
    if (parents[0] === undefined) told()
    else void parents[0].committer.drained().then(told)
  }

  /** Stops a part of a run: its functions, its waits, its children. */
  stopScope(execution: Execution, scope: Scope, error: unknown): void {
    scope.stopped ??= error
    for (const call of execution.calls) if (isWithin(call.place.scope, scope)) call.stop('scope', error)
    for (const wait of [...execution.waits.values()]) if (isWithin(wait.scope, scope)) wait.withdraw(error)
    for (const child of execution.children.values()) {
      const at = child.origin?.scope ?? execution.root.scope
      if (isWithin(at, scope)) this.cancelRun(child, { by: 'parent', reason: 'its branch was stopped' })
    }
  }

  /** Cancels a run and everything below it. */
  cancelRun(execution: Execution, why: Actor & { readonly reason?: string }): void {
    if (execution.closed !== undefined || execution.state.cancelRequested || execution.state.end !== undefined) return
    for (const child of execution.children.values())
      this.cancelRun(child, { by: 'parent', ...(why.reason === undefined ? {} : { reason: why.reason }) })
    execution.append({ type: 'cancel-requested', ...why })
    const error = new NerveError(
      'cancelled',
      `Run ${execution.run} was cancelled${why.reason === undefined ? '' : `: ${why.reason}`}.`,
    )
    execution.root.scope.stopped = error
    // From here on the code reaches nothing of what is recorded and not replayed yet.
    if (execution.replaying) execution.endReplay()
    execution.controller.abort(error)
    for (const call of execution.calls) call.stop('cancel', error)
    for (const wait of [...execution.waits.values()]) wait.withdraw(error)
    if (execution === this.rootExecution) this.#letGo()
    const timer = setTimeout(() => this.cancelled(execution), CANCEL_GRACE_MS)
    timer.unref()
  }

  /** The cancelled run has cleaned up, or had its time to. */
  cancelled(execution: Execution): void {
    if (execution.closed !== undefined) return
    // What they have said of what they spent by now counts.
    for (const call of execution.calls) call.over()
    this.endChildren(execution)
    execution.append({ type: 'run-cancelled' }, () => this.ended(execution))
  }

  /** The code of a run has ended: children that it did not wait for are cancelled. */
  cancelChildren(execution: Execution): void {
    for (const child of execution.children.values()) this.cancelRun(child, { by: 'parent', reason: 'its parent ended' })
  }

  /** A run is about to end, and its children with it: what they spent is in its journal before that ends. */
  endChildren(execution: Execution): void {
    this.cancelChildren(execution)
    for (const child of [...execution.children.values()]) {
      this.cancelled(child)
      tellEnd(child)
    }
  }

  ended(execution: Execution): void {
    this.executions.delete(execution.run)
    this.rested(execution)
    execution.close(RUN_OVER)
    this.#events.ended(this, execution)
  }

  /** The budget has no room for what was wanted: nothing new starts in the tree until it is raised. */
  exhaust(shortage: Shortage, path: string): NerveError {
    const { dimension, used, limit, ledger } = shortage
    const { run } = ledger.state
    const error = new NerveError(
      'budget-exhausted',
      `The budget of run ${run} is spent: ${dimension} ${round(used)} of ${limit}. Resume it with a larger one: nerve resume ${run} --budget ${dimension}=N`,
      { retry: 'pause', data: { dimension, used, limit, run } },
    )
    if (!this.#reasons.has('exhausted')) {
      this.setHold('exhausted', true)
      const owner = this.executions.get(run)
      for (let at = owner; at !== undefined; at = at.parent) {
        const of = at === owner ? {} : { of: run }
        at.append({ type: 'budget-exhausted', dimension, used, limit, path, ...of })
      }
    }
    return error
  }

  raise(execution: Execution, budget: Budget | undefined, actor: Actor): void {
    if (budget !== undefined) execution.append({ type: 'budget-raised', budget, ...actor })
    for (const one of this.executions.values()) {
      if (one.state.exhausted !== undefined || one.state.paused) one.append({ type: 'run-resumed', ...actor })
    }
    this.setHold('exhausted', false)
    this.setHold('paused', false)
    this.idle = false
  }

  warn(warning: Shortage): void {
    const { dimension, used, limit, ledger } = warning
    this.executions.get(ledger.state.run)?.append({ type: 'budget-warned', dimension, used, limit })
  }

  /** Remembers which step an error came from, for the message of the run that dies of it. */
  blame(error: Error, path: string): void {
    this.#blamed.set(error, path)
  }

  blamed(error: unknown): string | undefined {
    return this.#blamed.get(error as Error)
  }

  diverged(execution: Execution, plan: ResumePlan): void {
    this.#events.diverged(this, execution, plan)
  }

  /** The child that a run has open at a path is in a part of it that the code does not go into again. */
  abandon(execution: Execution, path: string, child: string): void {
    // What is in memory ends with its parent, or goes on.
    if (!execution.children.has(path)) this.#events.abandoned(execution, child)
  }

  /** This process may not write to the tree any more: everything in it is given up. */
  lose(error: NerveError): void {
    if (this.lost !== undefined) return
    this.lost = error
    this.close(error)
    this.#events.lost(this, error)
  }

  close(error: NerveError): void {
    this.#disarm?.()
    this.#disarm = undefined
    for (const execution of this.executions.values()) execution.close(error)
    // Whoever waits for it looks again, finds none, and then that the run is closed.
    this.#letGo()
  }

  #letGo(): void {
    this.#reasons.clear()
    this.#hold?.release()
    this.#hold = undefined
  }
}

/** True when nothing durable is open although the run goes on: its code waits for something that is not durable. */
function isElsewhere({ state }: Execution): boolean {
  return statusOf(state) === 'running' && state.waits.size === 0 && state.children.size === 0
}

/** True while a failed attempt waits to be tried again. */
export function isRetrying({ state, waits }: Execution): boolean {
  // The journal has the wait until the next attempt starts; when its time has come, a hold may still keep that back.
  for (const [path, wait] of state.waits) if (wait.kind === 'retry' && waits.has(path)) return true
  return false
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
