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
import { foldAll, statusOf } from '../journal/fold.ts'
import { emptyState, isNewFork, type RunState } from '../journal/run-state.ts'
import { outcomesOf } from '../journal/outcomes.ts'
import type { JournalStore, Owner, RunHead } from '../journal/port.ts'
import { Bus } from './bus.ts'
import { ChildRuns } from './child-runs.ts'
import { Drain, giveUp, leave, loaded } from './closing.ts'
import { Committer } from './committer.ts'
import type { AnyDefinition, Names } from './definition.ts'
import { drive } from './drive.ts'
import { Execution } from './execution.ts'
import type { ExecutionOptions } from './execution-options.ts'
import { Ownership } from './ownership.ts'
import { Residents } from './residents.ts'
import { firstCommit } from './first-commit.ts'
import { checkInput, createdEvent, type StartOptions } from './start.ts'
import { Tree, type TreeEvents } from './tree.ts'
import { Turns } from './turns.ts'
import { PARKED, definitionMissing, divergence, givenUp, ownedElsewhere, runEnded } from './troubles.ts'
import { Watchers } from './watchers.ts'
import { readEntries } from './reader.ts'

export interface EngineOptions {
  readonly store: JournalStore
  readonly clock: Clock
  readonly durability: Durability
  /** Finds the definition of a recorded run; undefined when it cannot be had. */
  readonly resolve: (name: string, source: string | undefined) => Promise<AnyDefinition | undefined>
  /** What runs of a definition may refer to by name, asked when one is loaded. Their children have the same. */
  readonly names: (definition: AnyDefinition) => Names
  /** How many waiting runs stay in memory (default 256). */
  readonly maxResident?: number
  readonly onProblem: (error: unknown) => void
}

export class Engine implements TreeEvents {
  readonly store: JournalStore
  readonly clock: Clock
  readonly bus: Bus
  readonly committer: Committer
  readonly ownership: Ownership
  readonly watchers = new Watchers()
  readonly children: ChildRuns
  readonly #options: EngineOptions
  readonly #live = new Map<string, Tree>()
  readonly #loading = new Map<string, Promise<Tree>>()
  readonly #turns = new Turns()
  readonly #residents: Residents
  #closing: Promise<void> | undefined
  #drain: Drain | undefined
  /** Called when a parked run may have to be woken at a time. */
  onParked: () => void = () => undefined
  /** Called when a run was given up because its store failed. */
  onGivenUp: (root: string) => void = () => undefined
  /** Called when a run was taken: commands may have been posted to it before. */
  onTaken: () => void = () => undefined

  constructor(options: EngineOptions) {
    this.#options = options
    this.store = options.store
    this.clock = options.clock
    this.bus = new Bus(options.onProblem)
    this.committer = new Committer(options.store, this.bus)
    this.ownership = new Ownership(newId(options.clock.now()), options.store, options.clock)
    this.children = new ChildRuns(this)
    this.#residents = new Residents(options.maxResident ?? 256, (tree) => void this.park(tree).catch(options.onProblem))
  }

  names(definition: AnyDefinition): Names {
    return this.#options.names(definition)
  }

  /** Starts a run. A start that fails leaves nothing behind. */
  async start(definition: AnyDefinition, options: StartOptions): Promise<Execution> {
    this.#checkOpen()
    const input = await checkInput(definition, options.input, this.names(definition))
    const run = newId(this.clock.now())
    const execution = await this.createRun(
      definition,
      run,
      createdEvent(definition, { ...options, input }, { root: run, depth: 0 }),
    )
    drive(execution, this.children)
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
    this.#checkOpen()
    const tree = new Tree(run, 1, this)
    const execution = this.execution(tree, {
      definition,
      state: emptyState(run),
      durability: created.durability,
      fresh: true,
    })
    tree.add(execution)
    this.#live.set(run, tree)
    await firstCommit(execution, this.watchers, {
      events: [created, ...more.map(({ event }) => event)],
      undo: () => {
        this.#live.delete(run)
        tree.close(PARKED)
      },
    })
    return execution
  }

  abandoned(parent: Execution, child: string): void {
    this.children.endAbandoned(parent, child).catch(this.#options.onProblem)
  }

  ended(tree: Tree, execution: Execution): void {
    if (tree.executions.size === 0) {
      this.#live.delete(tree.root)
      this.#residents.remove(tree)
      this.#drain?.look()
    }
    this.watchers.ended(execution.run, execution.state)
  }

  live(root: string): Tree | undefined {
    return this.#live.get(root)
  }

  /** The runs that are in memory. */
  driven(): ReadonlySet<string> {
    return new Set([...this.#live.values()].flatMap((tree) => [...tree.executions.keys()]))
  }

  /** True when some living process drives this run tree. */
  isDriven(root: string, owner: Owner | undefined, living: ReadonlySet<string>): boolean {
    if (owner === undefined || !living.has(owner.host)) return false
    return owner.host !== this.ownership.host || this.#live.has(root)
  }

  /** A run tree that is in memory, and stays there until it rests again. */
  keep(root: string): Tree | undefined {
    this.#checkOpen()
    const live = this.#live.get(root)
    if (live !== undefined) this.#residents.remove(live)
    return live
  }

  /** What a tree was kept for is done: when that set nothing going, it may be parked as before. */
  letRest(root: string): void {
    const tree = this.#live.get(root)
    if (tree?.idle === true) this.#mayPark(tree)
  }

  /** Takes a recorded run and drives it on. Used for recovery, answers to parked runs and timers alike. */
  async take(root: string): Promise<Tree> {
    const known = this.keep(root) ?? this.#loading.get(root)
    if (known !== undefined) return known
    const started = this.#take(root).finally(() => this.#loading.delete(root))
    this.#loading.set(root, started)
    return started
  }

  /** True while a run is being taken. */
  isLoading(root: string): boolean {
    return this.#loading.has(root)
  }

  /** The state and entries of a run as they are stored. */
  async stored(run: string): Promise<{ readonly state: RunState; readonly entries: Entry[] }> {
    const entries = await readEntries(this.store, run)
    return { state: foldAll(run, entries), entries }
  }

  /** For work on a stored run: one at a time, and never while the run is being taken, which would fence one of them. */
  async alone<Value>(root: string, work: () => Promise<Value>): Promise<Value> {
    while (this.#loading.has(root)) await this.#loading.get(root)?.catch(() => undefined)
    return this.#turns.take(root, work)
  }

  /** Claims a stored run to write to it without driving it. Whoever calls this must call `letGo`. */
  async open(root: string, definition: AnyDefinition): Promise<Tree> {
    const tree = new Tree(root, await this.#claim(root), this)
    try {
      const { state } = await this.stored(root)
      tree.add(this.execution(tree, { definition, state, durability: state.durability, fresh: false }))
    } catch (error) {
      await this.store.release(root, this.ownership.host)
      throw error
    }
    tree.idle = true
    return tree
  }

  /** `keep` is for whoever takes the run next: if this process died in between, nobody would know of its work. */
  async letGo(tree: Tree, keep = false): Promise<void> {
    await this.committer.drained()
    tree.close(PARKED)
    if (keep) return failpoint('release-after')
    await this.store.release(tree.root, this.ownership.host)
    failpoint('release-after')
    this.onParked()
  }

  /** Drops a resting tree from memory. It stays what it is in the journal. */
  async park(tree: Tree): Promise<void> {
    if (this.#live.get(tree.root) !== tree || !tree.idle || tree.commands > 0) return
    failpoint('park-before')
    this.#live.delete(tree.root)
    this.#residents.remove(tree)
    tree.close(PARKED)
    await this.#turns.take(tree.root, () => this.store.release(tree.root, this.ownership.host))
    failpoint('release-after')
    this.onParked()
  }

  /** Starts nothing new from here on, and gives what runs so many milliseconds to come to an end. Then: `close`. */
  async drain(ms: number): Promise<void> {
    this.#drain ??= new Drain(this.#live)
    await loaded(this.#loading)
    await this.#drain.wait(ms)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#drain?.end()
    await loaded(this.#loading, this.#turns.taken)
    await this.committer.drained()
    const error = new NerveError('host-closed', 'The host was closed. The run goes on when a host takes it up again.')
    for (const tree of this.#live.values())
      if (leave(tree, error, this.#drain !== undefined)) await this.store.release(tree.root, this.ownership.host)
    this.#live.clear()
    this.watchers.close(error)
    await this.committer.drained()
    await this.ownership.close()
    await this.store.close()
  }

  idle(tree: Tree): void {
    this.#drain?.look()
    const state = tree.rootExecution?.state
    if (state === undefined) return
    for (const execution of tree.executions.values()) this.watchers.rested(execution.run, execution.state)
    this.#mayPark(tree)
  }

  #mayPark(tree: Tree): void {
    const state = tree.rootExecution?.state
    if (state === undefined || this.#drain !== undefined || tree.commands > 0) return
    if (statusOf(state) === 'running' && state.waits.size === 0 && state.children.size === 0) return
    this.#residents.add(tree)
  }

  lost(tree: Tree, error: NerveError): void {
    if (this.#live.get(tree.root) === tree) this.#live.delete(tree.root)
    this.#residents.remove(tree)
    for (const run of tree.executions.keys()) this.watchers.failed(run, error)
    if (error.code === 'ownership-lost') return
    void this.#turns.take(tree.root, () => this.#giveUp(tree, error))
  }

  /** Its store has failed. One that does not take this either leaves the claim to be found by. */
  async #giveUp(tree: Tree, error: NerveError): Promise<void> {
    const { root } = tree
    await giveUp(tree, this.store, this.ownership.host).catch(() => undefined)
    const isKnown = await this.store.find(root).then(
      (found) => found !== undefined,
      () => true,
    )
    // Of a start that failed its caller was told, and nothing is left.
    if (!isKnown) return
    this.#options.onProblem(givenUp(root, error))
    this.onGivenUp(root)
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
    this.#turns.take(tree.root, paused).catch(this.#options.onProblem)
  }

  async #take(root: string): Promise<Tree> {
    await this.#turns.free(root)
    failpoint('recover-before')
    const found = await this.store.find(root)
    if (found === undefined || found.head.run !== root) throw new NerveError('not-found', `There is no run ${root}.`)
    if (found.head.ended !== undefined) throw runEnded(root, found.head.status)
    const definition = await this.#definition(found.head)
    this.#checkOpen()
    const tree = new Tree(root, await this.#claim(root), this)
    failpoint('claim-after')
    try {
      const taken = await this.#takeUp(tree, definition)
      this.onTaken()
      return taken
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
    const execution = this.execution(tree, { definition, state, outcomes, durability: state.durability, fresh: false })
    const crashed = !isNewFork(state) && (statusOf(state) === 'running' || state.inFlight.size > 0)
    tree.add(execution)
    this.#live.set(root, tree)
    if (state.cancelRequested) {
      await this.children.openBelow(execution)
      execution.endReplay()
      tree.cancelled(execution)
      return tree
    }
    if (crashed) execution.append({ type: 'run-recovered', owner: this.ownership.host, epoch: tree.epoch })
    drive(execution, this.children)
    return tree
  }

  async #definition(state: Pick<RunHead, 'run' | 'definition' | 'source'>): Promise<AnyDefinition> {
    const found = await this.#options.resolve(state.definition, state.source)
    if (found !== undefined) return found
    throw definitionMissing(state)
  }

  async #claim(root: string): Promise<number> {
    const epoch = await this.ownership.claim(root)
    if (epoch !== undefined) return epoch
    throw ownedElsewhere(root)
  }

  /** A run as it is driven, or only written to. */
  execution(tree: Tree, given: Given): Execution {
    const { durability = this.#options.durability, outcomes, parent, ...rest } = given
    const { host } = this.ownership
    const names = parent?.names ?? this.names(given.definition)
    return new Execution(this, { ...rest, tree, outcomes, parent, durability, host, names })
  }

  #checkOpen(): void {
    if ((this.#closing ?? this.#drain) !== undefined) throw new NerveError('host-closed', 'The host is closed.')
  }
}

type Given = Pick<ExecutionOptions, 'definition' | 'state' | 'fresh'> &
  Partial<Pick<ExecutionOptions, 'outcomes' | 'parent' | 'origin'>> & {
    readonly durability: Durability | undefined
  }
