/**
 * Child runs as the engine makes them, loads them again, and ends those whose code does not go on: cancelled ones, and those in a
 * part of their parent that is over.
 */
import { newId } from '../base/ids.ts'
import { emptyState } from '../journal/run-state.ts'
import { outcomesOf } from '../journal/outcomes.ts'
import { tellEnd, type ChildStart, type ChildStarter } from './child.ts'
import type { AnyDefinition } from './definition.ts'
import { drive } from './drive.ts'
import type { Engine } from './engine.ts'
import type { Execution } from './execution.ts'
import { whenFree } from './held-back.ts'
import { isStopped, type Place } from './scope.ts'
import { checkBudget, checkInput, createdEvent } from './start.ts'

interface Recorded {
  readonly run: string
  readonly definition: AnyDefinition
}

export class ChildRuns implements ChildStarter {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async create(parent: Execution, place: Place, start: ChildStart): Promise<Execution> {
    const { definition, options } = start
    const input = await checkInput(definition, start.input, parent.names)
    checkBudget(options.budget)
    // While a schema looked at the input, its parent may have been stopped.
    return whenFree(parent, place.scope, () => this.#begin(parent, place, { definition, input, options }))
  }

  async #begin(parent: Execution, place: Place, { definition, input, options }: ChildStart): Promise<Execution> {
    const run = newId(this.#engine.clock.now())
    const { tree, state } = parent
    const { durability } = state
    const created = createdEvent(
      definition,
      { ...options, input, ...(durability === undefined ? {} : { durability }) },
      { root: tree.root, depth: state.depth + 1, parent: { run: parent.run, path: place.path } },
    )
    const given = { definition, state: emptyState(run), parent, origin: place, durability, fresh: true }
    const execution = this.#engine.execution(tree, given)
    tree.add(execution)
    const after = place.after === undefined ? {} : { after: place.after }
    // Appended in one tick, so in one commit: there is never a child without its parent's word of it.
    parent.append({ type: 'child-started', path: place.path, child: run, definition: definition.name, ...after })
    await execution.commit(created)
    drive(execution, this)
    return execution
  }

  load(parent: Execution, place: Place, run: string, definition: AnyDefinition): Promise<Execution> {
    return opening(parent, this.#load(parent, place, { run, definition }))
  }

  async #load(parent: Execution, place: Place, { run, definition }: Recorded): Promise<Execution> {
    const { tree } = parent
    const { state, entries } = await tree.busy(this.#engine.stored(run))
    // Given up by this process while the child was read.
    if (parent.closed !== undefined && parent.state.end === undefined) throw parent.closed
    const { durability } = state
    const given = { definition, state, parent, origin: place, durability, fresh: false }
    // What has ended is not replayed: its end is all that its parent wants.
    if (state.end !== undefined) return this.#engine.execution(tree, given)
    const execution = this.#engine.execution(tree, { ...given, outcomes: outcomesOf(entries) })
    tree.add(execution)
    const isWanted = parent.over === undefined && !isStopped(place.scope)
    if (state.cancelRequested || !isWanted) await this.#cancelLoaded(execution)
    else drive(execution, this)
    return execution
  }

  async finished(execution: Execution): Promise<void> {
    if (execution.state.end === undefined) await this.#engine.watchers.end(execution.run)
  }

  /** Loads everything that is recorded below a run as open, also what has ended without its parent's word of it. */
  async openBelow(execution: Execution): Promise<void> {
    for (const [path, run] of execution.state.children) {
      const child = execution.children.get(path) ?? (await this.#open(execution, run))
      await this.openBelow(child)
    }
  }

  /** Ends the child that a run has open at a path which its code does not reach again, and says so in its journal. */
  endAbandoned(parent: Execution, run: string): Promise<void> {
    return opening(parent, this.#endAbandoned(parent, run))
  }

  async #endAbandoned(parent: Execution, run: string): Promise<void> {
    const child = await this.#open(parent, run)
    if (child.state.end === undefined) await this.#cancelLoaded(child)
    if (parent.closed === undefined && parent.children.get(child.path) === child) tellEnd(child)
  }

  /** Ends a run that was loaded and is not driven, with everything below it. */
  async #cancelLoaded(execution: Execution): Promise<void> {
    const { tree, state } = execution
    await this.openBelow(execution)
    if (execution.replaying) execution.endReplay()
    if (!state.cancelRequested) tree.cancelRun(execution, { by: 'parent', reason: 'its branch was stopped' })
    tree.cancelled(execution)
  }

  /** Loads a recorded child without driving it. One that has ended is there for its parent to say so. */
  async #open(parent: Execution, run: string): Promise<Execution> {
    const { tree, definition } = parent
    const { state } = await this.#engine.stored(run)
    const { durability } = state
    const execution = this.#engine.execution(tree, { definition, state, parent, durability, fresh: false })
    if (state.end === undefined) tree.add(execution)
    return execution
  }
}

/** The parent does not end before this is done: what is being read ends with it. */
async function opening<Value>(parent: Execution, work: Promise<Value>): Promise<Value> {
  parent.opening.add(work)
  try {
    return await work
  } finally {
    parent.opening.delete(work)
  }
}
