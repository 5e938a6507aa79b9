/**
 * The host: the process that owns runs. Wires the engine to a store, a clock and the definitions it may drive.
 * Everything a surface can do, it does through this. What few runs need is loaded when it is asked for, so that `import
 * 'nerve'` stays quick.
 */
import { resolve } from 'node:path'
import { checkKnown } from '../base/check-known.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { demandNode } from '../base/demand-node.ts'
import { milliseconds, type Duration } from '../base/duration.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Heard, Subscription } from '../engine/bus.ts'
import { command } from '../engine/commands.ts'
import type { AnyDefinition, AnyRunnable, Definition } from '../engine/definition.ts'
import { Engine } from '../engine/engine.ts'
import type { ForkOptions } from '../engine/fork.ts'
import { Keeper, recoverRuns, type Recovered } from '../engine/recovery.ts'
import type { Replayed } from '../engine/replay.ts'
import { isDefinition } from '../engine/run-node.ts'
import { checkStart, type StartOptions } from '../engine/start.ts'
import { divergence } from '../engine/troubles.ts'
import type { Actor, Durability, Entry, ResumePlan } from '../journal/events.ts'
import type { JournalStore } from '../journal/port.ts'
import { inboxRows, type InboxRow, type RunRow } from '../projections/runs.ts'
import { Sources, isBuiltIn, placed, recorded } from './definition-source.ts'
import { lookAgain } from './look-again.ts'
import { listRuns, rowOf, type RunFilter } from './list-runs.ts'
import { openStore } from './open-store.ts'
import { createRegistry, type Registry } from './registry.ts'
import { Recalled } from './recalled.ts'
import type { SessionPlan } from './sessions/session.ts'
import { createHandle, runOfQuestion, type Handle, type HandleParts, type ResumeOptions } from './handle.ts'

export interface HostOptions {
  /** The project folder; the database is `.nerve/nerve.db` in it (default: the current folder). */
  readonly dir?: string
  /** `memory` keeps nothing beyond the process; or a store of your own (default: SQLite in `dir`). */
  readonly store?: 'sqlite' | 'memory' | JournalStore
  /** `process` survives kill -9 (default), `power` also a power cut. */
  readonly durability?: Durability
  /** What this host may drive when it finds runs of these names. */
  readonly definitions?: readonly AnyRunnable[]
  /** What is known by name, when several hosts share it or it is loaded from a folder. */
  readonly registry?: Registry
  /** Sessions that are opened when a run first needs something of them. Recorded ones are found without being named. */
  readonly sessions?: readonly SessionPlan[]
  /** Take up what dead hosts left (default true). */
  readonly recover?: boolean
  /** Wake parked runs when their time comes (default true). Without it, a host drives only what it is told to. */
  readonly wake?: boolean
  /** How many waiting runs stay in memory (default 256). */
  readonly maxResident?: number
  readonly clock?: Clock
  /** Hears of trouble that belongs to no caller: failing subscribers, runs that could not be woken. */
  readonly onProblem?: (error: unknown) => void
}

const HOST = [
  ...(['dir', 'store', 'durability', 'definitions', 'registry', 'sessions'] as const),
  ...(['recover', 'wake', 'maxResident', 'clock', 'onProblem'] as const),
]

export type StartMore = Omit<StartOptions, 'input'>

export interface Host {
  /** What rows call the owner of the runs that this host drives. */
  readonly id: string
  /** What was taken up when this host started. */
  readonly recovered: Recovered
  /** The project folder; a host that keeps nothing there, and was not given one, has none. */
  readonly dir: string | undefined
  /** What this host knows by name. */
  readonly registry: Registry
  /** Makes definitions and nodes known: recorded runs can be driven, and steps can refer to them by name. */
  register(...more: readonly AnyRunnable[]): void
  start<Input, Output>(
    definition: Definition<Input, Output>,
    input?: NoInfer<Input>,
    options?: StartMore,
  ): Promise<Handle<Output>>
  /** A run in your hand, by its id or the beginning of it. */
  handle<Output = unknown>(run: string): Promise<Handle<Output>>
  runs(filter?: RunFilter): Promise<RunRow[]>
  run(run: string): Promise<RunRow>
  /** The journal of a run. */
  journal(run: string): Promise<readonly Entry[]>
  inbox(): Promise<InboxRow[]>
  /** A number that changes when another process has written to the same store. */
  changes(): number
  answer(question: string, value: unknown, actor?: Actor): Promise<void>
  subscribe(wanted: Subscription, listener: (heard: Heard) => void): () => void
  /** Sends subscribers a live part, of no run (its `run` is empty) unless one is said. Not durable. */
  emit(path: string, type: string, data?: unknown, run?: string): void
  /** What resuming over the current code would do. Changes nothing. */
  plan(run: string, definition?: AnyDefinition): Promise<ResumePlan>
  /** Runs the current code over a recorded run, with no effects, and tells where they differ. */
  replay(run: string, definition?: AnyDefinition): Promise<Replayed>
  export(run: string): Promise<string>
  import(text: string): Promise<Handle>
  /** Removes runs that ended longer ago than this, with their children. */
  gc(options: { readonly olderThan: Duration }): Promise<{ readonly removed: readonly string[] }>
  /** Takes up every run that nobody drives. */
  recover(): Promise<Recovered>
  /** `grace`: starts nothing new, and gives steps that run this long to finish; a next host goes on from there. */
  close(options?: { readonly grace?: Duration }): Promise<void>
}

/**
 * Opens a host in this process.
 *
 * ```ts
 * import { createHost, workflow } from 'nerve'
 *
 * const greet = workflow('greet', async (ctx, name: string) => ctx.step('write', () => `Hello ${name}`))
 * const host = await createHost({ store: 'memory' })
 * const run = await host.start(greet, 'Ada')
 * console.log(await run.result())
 * await host.close()
 * ```
 */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  demandNode()
  checkKnown('createHost', options, HOST)
  const clock = options.clock ?? systemClock
  const registry = options.registry ?? createRegistry()
  const onProblem =
    options.onProblem ?? ((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)))
  const store = await openStore(options.store ?? 'sqlite', options.dir)
  const recalled = new Recalled(options.sessions ?? [])
  const sources = new Sources()
  const engine: Engine = new Engine({
    store,
    clock,
    durability: options.durability ?? 'process',
    resolve: (name, source) => host.definition(name, placed(host.dir, { source }).source),
    names: (definition) => sources.before(recalled.behind(registry.names), definition),
    ...(options.maxResident === undefined ? {} : { maxResident: options.maxResident }),
    onProblem,
  })
  const keeper = new Keeper(engine, onProblem)
  if (options.wake === false) engine.onParked = engine.onGivenUp = () => undefined
  const wakes = options.wake !== false
  const host: LocalHost = new LocalHost(engine, keeper, {
    registry,
    dir: projectFolder(options),
    recalled,
    sources,
    wakes,
    onProblem,
  })
  host.register(...(options.definitions ?? []))
  if (options.recover !== false) await host.recover()
  return host
}

function projectFolder({ dir, store = 'sqlite' }: HostOptions): string | undefined {
  return dir === undefined && store !== 'sqlite' ? undefined : resolve(dir ?? '.')
}

interface LocalParts extends Pick<Host, 'registry' | 'dir'> {
  readonly recalled: Recalled
  readonly sources: Sources
  readonly wakes: boolean
  readonly onProblem: (error: unknown) => void
}

class LocalHost implements Host {
  recovered: Recovered = { recovered: [], left: [] }
  readonly #engine: Engine
  readonly #keeper: Keeper
  readonly #parts: HandleParts
  readonly #recalled: Recalled
  readonly #sources: Sources
  readonly #wakes: boolean
  readonly #onProblem: (error: unknown) => void
  #notAgain: () => void = () => undefined
  #isClosed = false
  readonly id: string
  readonly dir: string | undefined
  readonly registry: Registry

  constructor(engine: Engine, keeper: Keeper, { registry, dir, recalled, sources, wakes, onProblem }: LocalParts) {
    this.id = engine.ownership.host
    this.#engine = engine
    this.#keeper = keeper
    this.#recalled = recalled
    this.#sources = sources
    this.#wakes = wakes
    this.#onProblem = onProblem
    this.registry = registry
    this.dir = dir
    this.#parts = {
      engine,
      fork: (run, options) => this.#fork(run, options),
      resume: (run, options) => this.#resume(run, options),
    }
  }

  register(...more: readonly AnyRunnable[]): void {
    this.registry.replace(...more)
  }

  async start<Input, Output>(
    definition: Definition<Input, Output>,
    input?: Input,
    options: StartMore = {},
  ): Promise<Handle<Output>> {
    checkStart(definition, options)
    const { source } = options
    const start = { ...recorded(this.dir, options), ...(input === undefined ? {} : { input }) }
    if (source !== undefined) await this.#sources.know(source, definition)
    const names = this.#sources.before(this.registry.names, definition)
    await this.#recalled.look(this, definition, names)
    this.#recalled.check(definition, names)
    // One from a file is found there again; two files may each have one of this name.
    const execution = await (source === undefined
      ? this.#registered(definition, () => this.#engine.start(definition, start))
      : this.#engine.start(definition, start))
    return createHandle<Output>(this.#parts, execution.run)
  }

  /** Makes a definition known first, because a name that is taken by something else must leave no run behind. */
  async #registered<Value>(definition: AnyDefinition, work: () => Promise<Value>): Promise<Value> {
    const known = this.registry.names.get(definition.name)
    this.registry.replace(definition)
    try {
      return await work()
    } catch (error) {
      if (known === undefined) this.registry.remove(definition.name)
      else this.registry.replace(known)
      throw error
    }
  }

  async handle<Output>(run: string): Promise<Handle<Output>> {
    return createHandle<Output>(this.#parts, (await this.run(run)).run)
  }

  async runs(filter: RunFilter = {}): Promise<RunRow[]> {
    return (await listRuns(this.#engine, filter)).map((row) => placed(this.dir, row))
  }

  async run(id: string): Promise<RunRow> {
    await this.#engine.committer.listed()
    const found = await this.#engine.store.find(id)
    if (found === undefined)
      throw new NerveError(
        'not-found',
        `There is no run ${id}, or more than one begins like that. List them with: nerve ps`,
      )
    return placed(this.dir, await rowOf(this.#engine, found))
  }

  async journal(run: string): Promise<readonly Entry[]> {
    return (await this.#engine.stored((await this.run(run)).run)).entries
  }

  async inbox(): Promise<InboxRow[]> {
    await this.#engine.committer.listed()
    return inboxRows(await this.#engine.store.heads({ asking: true }))
  }

  changes(): number {
    return this.#engine.store.version()
  }

  async answer(question: string, value: unknown, actor: Actor = {}): Promise<void> {
    await command(this.#engine, runOfQuestion(question), { verb: 'answer', question, value, ...actor })
  }

  subscribe(wanted: Subscription, listener: (heard: Heard) => void): () => void {
    return this.#engine.bus.subscribe(wanted, listener)
  }

  emit(path: string, type: string, data?: unknown, run = ''): void {
    this.#engine.bus.part({ live: true, run, path, type, ...(data === undefined ? {} : { data }) })
  }

  async plan(run: string, definition?: AnyDefinition): Promise<ResumePlan> {
    return (await this.replay(run, definition)).plan
  }

  async replay(run: string, definition?: AnyDefinition): Promise<Replayed> {
    const row = await this.run(run)
    const { entries } = await this.#engine.stored(row.run)
    const { replayRun } = await import('../engine/replay.ts')
    const current = definition ?? (await this.#definition(row))
    const { clock } = this.#engine
    return replayRun(current, entries, { clock, names: this.#engine.names(current) })
  }

  async export(run: string): Promise<string> {
    const lines: string[] = []
    const { exportRun } = await import('../engine/transfer.ts')
    for await (const line of exportRun(this.#engine, (await this.run(run)).root)) lines.push(line)
    return `${lines.join('\n')}\n`
  }

  async import(text: string): Promise<Handle> {
    const { importRun } = await import('../engine/transfer.ts')
    return createHandle(this.#parts, await importRun(this.#engine, text))
  }

  async gc(options: { readonly olderThan: Duration }): Promise<{ readonly removed: readonly string[] }> {
    const { store, clock } = this.#engine
    const before = clock.now() - milliseconds(options.olderThan, 'olderThan')
    const ended = await store.heads({
      status: ['completed', 'completed-with-failures', 'failed', 'cancelled'],
      updatedBefore: before,
    })
    const removed: string[] = []
    for (const { head } of ended) {
      if (head.run !== head.root) continue
      for (const one of await store.heads({ root: head.root })) removed.push(one.head.run)
    }
    if (removed.length > 0) {
      await store.remove(removed)
      const { removeSpills } = await import('../nodes/spill-folder.ts')
      removeSpills(removed)
    }
    return { removed }
  }

  async recover(): Promise<Recovered> {
    this.recovered = await recoverRuns(this.#engine)
    if (this.#wakes) await this.#keeper.schedule()
    const notYet = await lookAgain(this.#engine, this.#onProblem)
    this.#notAgain()
    if (this.#isClosed) notYet()
    else this.#notAgain = notYet
    return this.recovered
  }

  async close({ grace }: { readonly grace?: Duration } = {}): Promise<void> {
    if (grace !== undefined) await this.#engine.drain(milliseconds(grace, 'grace'))
    this.#isClosed = true
    this.#notAgain()
    this.#keeper.close()
    await this.#engine.close()
    await this.#recalled.close()
  }

  /** Finds the definition of a recorded run; undefined when it is not here. */
  async definition(name: string, source: string | undefined): Promise<AnyDefinition | undefined> {
    const known = this.registry
    await this.#recalled.look(this)
    // What Nerve brings along is never something else of the same name.
    const there = isBuiltIn(source) ? undefined : known.names.get(name)
    const found = isDefinition(there)
      ? there
      : source === undefined
        ? undefined
        : await this.#sources.find(source, name)
    if (found === undefined) return this.#recalled.sending(name)
    this.#recalled.check(found, this.#sources.before(known.names, found))
    return found
  }

  async #definition(row: RunRow): Promise<AnyDefinition> {
    const found = await this.definition(row.definition, row.source)
    if (found !== undefined) return found
    throw new NerveError(
      'definition-missing',
      `The definition '${row.definition}' of run ${row.run} is not here. Register it, or give its file.`,
    )
  }

  async #fork(run: string, options: ForkOptions): Promise<string> {
    const row = await this.run(run)
    const { forkRun } = await import('../engine/fork.ts')
    const id = await forkRun(this.#engine, row.run, await this.#definition(row), options)
    await this.#engine.take(id)
    return id
  }

  async #resume(run: string, options: ResumeOptions): Promise<void> {
    const { accept, from, budget, ...actor } = options
    const row = await this.run(run)
    if (accept === true || from !== undefined) {
      const { acceptPlan } = await import('./resume.ts')
      await acceptPlan(this.#engine, row.root, { plan: await this.plan(row.root), from, actor })
    } else {
      const plan = row.status === 'paused' ? await this.#pausedPlan(row) : undefined
      if (plan !== undefined) throw divergence(row.run, plan)
    }
    await command(this.#engine, row.run, { verb: 'resume', ...actor, ...(budget === undefined ? {} : { budget }) })
  }

  /** For a run that was paused because its code had changed: the plan, unless the code fits again. */
  async #pausedPlan(row: RunRow): Promise<ResumePlan | undefined> {
    const entries = await this.journal(row.root)
    const paused = entries.findLast(({ event }) => event.type === 'run-paused')?.event
    if (paused?.type !== 'run-paused' || paused.reason !== 'diverged') return undefined
    const plan = await this.plan(row.root)
    return plan.rerun.length === 0 && plan.unknown.length === 0 ? undefined : plan
  }
}
