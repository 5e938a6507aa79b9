/**
 * The engine: the only writer of journals. Starts runs, loads them again, drives them, parks them.
 * Owns the runs that are live in this process. Knows nothing of files, terminals or networks.
 *
 * Invariants:
 *  1. A run is driven only while this host holds its claim; a refused append ends the driving at once.
 *  2. A run that waits need not be in memory: parking drops it, and an answer, a signal or its time loads it again.
 *  3. Nothing is acknowledged before it is committed.
 */
import type { Clock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import { newId } from '../base/ids.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Durability, Entry, ResumePlan, RunCreated } from '../journal/events.ts'
import { emptyState, foldAll, statusOf, type RunState } from '../journal/fold.ts'
import { outcomesOf } from '../journal/outcomes.ts'
import type { JournalStore, RunHead } from '../journal/port.ts'
import { Bus } from './bus.ts'
import type { ChildStart, ChildStarter } from './child.ts'
import { Committer } from './committer.ts'
import type { AnyDefinition } from './definition.ts'
import { drive } from './drive.ts'
import { Execution } from './execution.ts'
import { Ownership } from './ownership.ts'
import { Residents } from './residents.ts'
import type { Place } from './scope.ts'
import { checkBudget, checkInput, createdEvent, type StartOptions } from './start.ts'
import { Tree, type TreeEvents } from './tree.ts'
import { divergence, parked, runEnded } from './troubles.ts'
import { Watchers } from './watchers.ts'
import { readEntries } from './reader.ts'

export interface EngineOptions {
  readonly store: JournalStore
  readonly clock: Clock
  readonly durability: Durability
  /** Finds the definition of a recorded run; undefined when it cannot be had. */
  readonly resolve: (name: string, source: string | undefined) => Promise<AnyDefinition | undefined>
  /** How many waiting runs stay in memory (default 256). */
  readonly maxResident?: number
  readonly onProblem: (error: unknown) => void
}

export class Engine implements TreeEvents, ChildStarter {
  readonly store: JournalStore
  readonly clock: Clock
  readonly bus: Bus
  readonly committer: Committer
  readonly ownership: Ownership
  readonly watchers = new Watchers()
  readonly #options: EngineOptions
  readonly #live = new Map<string, Tree>()
  readonly #loading = new Map<string, Promise<Tree>>()
  readonly #parking = new Map<string, Promise<void>>()
  readonly #residents: Residents
  #closed = false
  /** Called when a parked run may have to be woken at a time. */
  onParked: () => void = () => undefined

  constructor(options: EngineOptions) {
    this.#options = options
    this.store = options.store
    this.clock = options.clock
    this.bus = new Bus(options.onProblem)
    this.committer = new Committer(options.store, this.bus)
    this.ownership = new Ownership(newId(options.clock.now()), options.store, options.clock)
    this.#residents = new Residents(options.maxResident ?? 256, (tree) => void this.park(tree).catch(options.onProblem))
  }

  /** Starts a run. A start that fails leaves nothing behind. */
  async start(definition: AnyDefinition, options: StartOptions): Promise<Execution> {
    this.#checkOpen()
    const input = await checkInput(definition, options.input)
    const run = newId(this.clock.now())
    const execution = await this.createRun(
      definition,
      run,
      createdEvent(definition, { ...options, input }, { root: run, depth: 0 }),
    )
    drive(execution, this)
    return execution
  }

  /** Writes the first event of a root run, followed by others (for forks). */
  async createRun(
    definition: AnyDefinition,
    run: string,
    created: RunCreated,
    more: readonly Entry[] = [],
  ): Promise<Execution> {
    await this.ownership.announce()
    const tree = new Tree(run, 1, this)
    const execution = this.#execution(tree, {
      definition,
      state: emptyState(run),
      durability: created.durability,
      fresh: true,
    })
    tree.add(execution)
    this.#live.set(run, tree)
    await this.#created(tree, execution, created, more)
    return execution
  }

  async create(parent: Execution, place: Place, start: ChildStart): Promise<Execution> {
    const { definition, options } = start
    const input = await checkInput(definition, start.input)
    checkBudget(options.budget)
    const run = newId(this.clock.now())
    const { tree, state } = parent
    const created = createdEvent(
      definition,
      { ...options, input, ...(state.durability === undefined ? {} : { durability: state.durability }) },
      { root: tree.root, depth: state.depth + 1, parent: { run: parent.run, path: place.path } },
    )
    const execution = this.#execution(tree, {
      definition,
      state: emptyState(run),
      parent,
      place,
      durability: state.durability,
      fresh: true,
    })
    tree.add(execution)
    const after = place.after === undefined ? {} : { after: place.after }
    // Appended in one tick, so in one commit: there is never a child without its parent's word of it.
    parent.append({ type: 'child-started', path: place.path, run, definition: definition.name, ...after })
    await execution.commit(created)
    drive(execution, this)
    return execution
  }

  async load(parent: Execution, place: Place, run: string, definition: AnyDefinition): Promise<Execution> {
    const { tree } = parent
    const entries = await readEntries(this.store, run)
    const state = foldAll(run, entries)
    const outcomes = outcomesOf(entries)
    const execution = this.#execution(tree, {
      definition,
      state,
      outcomes,
      parent,
      place,
      durability: state.durability,
      fresh: false,
    })
    if (state.end !== undefined) return execution
    tree.add(execution)
    drive(execution, this)
    return execution
  }

  async finished(execution: Execution): Promise<void> {
    if (execution.state.end === undefined) await this.watchers.end(execution.run)
  }

  ended(tree: Tree, execution: Execution): void {
    if (tree.executions.size === 0) {
      this.#live.delete(tree.root)
      this.#residents.remove(tree)
    }
    this.watchers.ended(execution.run, execution.state)
  }

  live(root: string): Tree | undefined {
    return this.#live.get(root)
  }

  get liveTrees(): Iterable<Tree> {
    return this.#live.values()
  }

  /** Takes a recorded run and drives it on. Used for recovery, answers to parked runs and timers alike. */
  async take(root: string): Promise<Tree> {
    this.#checkOpen()
    const live = this.#live.get(root)
    if (live !== undefined) {
      this.#residents.remove(live)
      return live
    }
    const loading = this.#loading.get(root)
    if (loading !== undefined) return loading
    const started = this.#take(root).finally(() => this.#loading.delete(root))
    this.#loading.set(root, started)
    return started
  }

  /** The state and entries of a run as they are stored. */
  async stored(run: string): Promise<{ readonly state: RunState; readonly entries: Entry[] }> {
    const entries = await readEntries(this.store, run)
    return { state: foldAll(run, entries), entries }
  }

  /** Claims a stored run to write to it without driving it. Whoever calls this must call `letGo`. */
  async open(root: string, definition: AnyDefinition): Promise<Tree> {
    const tree = new Tree(root, await this.#claim(root), this)
    const { state } = await this.stored(root)
    tree.add(this.#execution(tree, { definition, state, durability: state.durability, fresh: false }))
    tree.idle = true
    return tree
  }

  async openChild(tree: Tree, run: string, definition: AnyDefinition): Promise<Execution> {
    const { state } = await this.stored(run)
    const parent = state.parent === undefined ? undefined : tree.executions.get(state.parent.run)
    const execution = this.#execution(tree, { definition, state, parent, durability: state.durability, fresh: false })
    tree.add(execution)
    return execution
  }

  async letGo(tree: Tree): Promise<void> {
    await this.committer.drained()
    tree.close(parked(tree.root))
    await this.store.release(tree.root, this.ownership.host)
    this.onParked()
  }

  /** Drops a resting tree from memory. It stays what it is in the journal. */
  async park(tree: Tree): Promise<void> {
    if (this.#live.get(tree.root) !== tree || !tree.idle) return
    failpoint('park-before')
    this.#live.delete(tree.root)
    this.#residents.remove(tree)
    tree.close(parked(tree.root))
    const released = this.store.release(tree.root, this.ownership.host)
    this.#parking.set(tree.root, released)
    await released.finally(() => this.#parking.delete(tree.root))
    this.onParked()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled(this.#loading.values())
    await this.committer.drained()
    const error = new NerveError('host-closed', 'The host was closed. The run goes on when a host takes it up again.')
    for (const tree of this.#live.values()) {
      tree.close(error)
      await this.store.release(tree.root, this.ownership.host)
    }
    this.#live.clear()
    this.watchers.close(error)
    await this.committer.drained()
    await this.ownership.close()
    await this.store.close()
  }

  idle(tree: Tree): void {
    const root = tree.rootExecution
    if (root === undefined) return
    const { state } = root
    const status = statusOf(state)
    for (const execution of tree.executions.values()) this.watchers.rested(execution.run, execution.state)
    if (status === 'running' && state.waits.size === 0 && state.children.size === 0) return
    this.#residents.add(tree)
  }

  lost(tree: Tree, error: NerveError): void {
    this.#live.delete(tree.root)
    this.#residents.remove(tree)
    for (const run of tree.executions.keys()) this.watchers.failed(run, error)
  }

  diverged(tree: Tree, execution: Execution, plan: ResumePlan): void {
    this.#live.delete(tree.root)
    const { state, definition } = execution
    const error = divergence(tree.root, plan)
    tree.close(error)
    const paused = async (): Promise<void> => {
      await this.store.release(tree.root, this.ownership.host)
      const bare = await this.open(tree.root, definition)
      const root = bare.rootExecution
      if (root !== undefined && !root.state.paused) await root.commit({ type: 'run-paused', reason: 'diverged', plan })
      await this.letGo(bare)
      this.watchers.failed(tree.root, error)
      this.watchers.failed(state.run, error)
    }
    paused().catch(this.#options.onProblem)
  }

  async #take(root: string): Promise<Tree> {
    await this.#parking.get(root)
    failpoint('recover-before')
    const found = await this.store.find(root)
    if (found === undefined || found.head.run !== root) throw new NerveError('not-found', `There is no run ${root}.`)
    if (found.head.ended !== undefined) throw runEnded(root, found.head.status)
    const definition = await this.#definition(found.head)
    const tree = new Tree(root, await this.#claim(root), this)
    failpoint('claim-after')
    try {
      return await this.#takeUp(tree, definition)
    } catch (error) {
      this.#live.delete(root)
      await this.store.release(root, this.ownership.host)
      throw error
    }
  }

  async #takeUp(tree: Tree, definition: AnyDefinition): Promise<Tree> {
    const { root } = tree
    const { state, entries } = await this.stored(root)
    if (state.end !== undefined) throw runEnded(root, state.end)
    const outcomes = outcomesOf(entries)
    const execution = this.#execution(tree, { definition, state, outcomes, durability: state.durability, fresh: false })
    const crashed = statusOf(state) === 'running'
    tree.add(execution)
    this.#live.set(root, tree)
    if (state.cancelRequested) {
      execution.endReplay()
      for (const { head } of (await this.store.heads({ root })).toReversed()) {
        if (head.run !== root && head.ended === undefined) await this.openChild(tree, head.run, definition)
      }
      tree.cancelAll()
      return tree
    }
    if (crashed) execution.append({ type: 'run-recovered', owner: this.ownership.host, epoch: tree.epoch })
    drive(execution, this)
    return tree
  }

  async #definition(state: Pick<RunHead, 'run' | 'definition' | 'source'>): Promise<AnyDefinition> {
    const found = await this.#options.resolve(state.definition, state.source)
    if (found !== undefined) return found
    const where =
      state.source === undefined
        ? 'Give it to createHost({ definitions: [...] })'
        : `Its file was ${state.source}; put it back`
    throw new NerveError(
      'definition-missing',
      `Run ${state.run} needs the definition '${state.definition}', which is not here. ${where}, then resume the run.`,
    )
  }

  async #claim(root: string): Promise<number> {
    const epoch = await this.ownership.claim(root)
    if (epoch !== undefined) return epoch
    throw new NerveError(
      'owned-elsewhere',
      `Run ${root} is being driven by another process. Watch it with: nerve events ${root} --follow`,
      { retry: 'later' },
    )
  }

  #created(tree: Tree, execution: Execution, created: RunCreated, more: readonly Entry[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const forget = this.watchers.onFailure(execution.run, reject)
      const committed = (): void => {
        forget()
        resolve()
      }
      try {
        execution.append(created, more.length === 0 ? committed : undefined)
        for (const [index, entry] of more.entries())
          execution.append(entry.event, index === more.length - 1 ? committed : undefined)
      } catch (error) {
        forget()
        this.#live.delete(tree.root)
        tree.close(parked(tree.root))
        reject(error)
      }
    })
  }

  #execution(tree: Tree, given: Given): Execution {
    return new Execution(this, {
      tree,
      definition: given.definition,
      state: given.state,
      outcomes: given.outcomes,
      parent: given.parent,
      ...(given.place === undefined ? {} : { at: given.place.scope }),
      durability: given.durability ?? this.#options.durability,
      host: this.ownership.host,
      fresh: given.fresh,
    })
  }

  #checkOpen(): void {
    if (this.#closed) throw new NerveError('host-closed', 'The host is closed.')
  }
}

interface Given {
  readonly definition: AnyDefinition
  readonly state: RunState
  readonly outcomes?: ReturnType<typeof outcomesOf>
  readonly parent?: Execution | undefined
  readonly place?: Place
  readonly durability: Durability | undefined
  readonly fresh: boolean
}
