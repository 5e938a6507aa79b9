/**
 * One run while it is driven: its state, its place in the journal, and what is open in it. Owns the appends of its run
 * (through the committer) and the replay of what is recorded. Knows nothing of stores or of who else is running.
 *
 * Invariants:
 *  1. `state` is the fold of everything appended, in order.
 *  2. While recorded outcomes are being replayed, nothing is handed to the store and no step starts. The replay ends
 *     when the code rests; if the code did not reach what is recorded, the run has diverged and nothing is written.
 *  3. After `close`, nothing is appended.
 */
import type { Clock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import { added, NONE } from '../base/list.ts'
import type { NerveError } from '../base/nerve-error.ts'
import { rowOf, type Row } from '../journal/codec.ts'
import type { Durability, JournalEvent, ResumePlan, RunStatus } from '../journal/events.ts'
import { fold } from '../journal/fold.ts'
import type { RunState } from '../journal/run-state.ts'
import type { CallKind, Outcomes, PlacedEvent } from '../journal/outcomes.ts'
import type { Bus } from './bus.ts'
import type { Call } from './call.ts'
import { Calls } from './calls.ts'
import type { Committer, Handover, Source } from './committer.ts'
import type { AnyDefinition, AnyRunnable, Names } from './definition.ts'
import { Delivery, type Turn } from './delivery.ts'
import { Drains } from './drain.ts'
import type { EngineParts, ExecutionOptions } from './execution-options.ts'
import { Ledger } from './ledger.ts'
import { here, openScope, placeOf, type Place } from './scope.ts'
import { Replay } from './replay-index.ts'
import { ShownHead } from './shown-head.ts'
import { sweep } from './sweep.ts'
import type { Tree } from './tree.ts'
import { RUN_OVER } from './troubles.ts'
import type { OpenWait } from './waits.ts'

/** How long a resting replay may stay short of what is recorded before it counts as diverged. */
const REPLAY_GRACE_MS = 1_000
const REPLAY_LOOK_MS = 20
const NOT_ACTIVE = {}

export class Execution implements Source {
  readonly run: string
  readonly tree: Tree
  readonly definition: AnyDefinition
  readonly state: RunState
  readonly parent: Execution | undefined
  readonly origin: Place | undefined
  /** Where its parent has it. */
  readonly path: string
  /** Its children, by their path, until its journal says how they ended. */
  readonly children = new Map<string, Execution>()
  /** Children that are being read: it does not end before they are there to end with it. */
  readonly opening = new Set<Promise<unknown>>()
  readonly clock: Clock
  readonly bus: Bus
  readonly committer: Committer
  /** What the run may refer to by name: as it was when the run was loaded, and what the run itself has made. */
  readonly names: Names
  made: Map<string, AnyRunnable> | undefined
  readonly ledger: Ledger
  readonly root: Place
  readonly calls: Calls
  readonly waits = new Map<string, OpenWait>()
  listed = false
  /** True when its function has returned or thrown. */
  settled = false
  readonly dry: ExecutionOptions['dry']
  readonly #durability: Durability
  readonly #host: string
  #create: boolean
  #replay: Replay | undefined
  #released: Promise<void> | undefined
  #release: (() => void) | undefined
  #rows: readonly Row[] = NONE
  #events: readonly JournalEvent[] = NONE
  #turns: readonly Turn[] = NONE
  readonly #delivery: Delivery
  #starting: readonly Call[] = NONE
  #settled: { readonly command: number; readonly result: string }[] | undefined
  readonly #ticked: (() => void)[] = []
  #handed = false
  readonly #head: ShownHead
  #closed: NerveError | undefined
  #over: NerveError | undefined
  #controller: AbortController | undefined

  constructor(parts: EngineParts, options: ExecutionOptions) {
    this.clock = parts.clock
    this.bus = parts.bus
    this.committer = parts.committer
    this.calls = new Calls(parts.clock)
    this.names = options.names
    this.run = options.state.run
    this.tree = options.tree
    this.definition = options.definition
    this.state = options.state
    this.parent = options.parent
    this.origin = options.origin
    this.path = options.origin?.path ?? options.state.parent?.path ?? ''
    options.parent?.children.set(this.path, this)
    this.dry = options.dry
    this.#durability = options.durability
    this.#host = options.host
    this.#create = options.fresh
    this.#head = new ShownHead(options.state, this, parts.committer)
    this.ledger = new Ledger(options.state, options.parent?.ledger, () => this.activeNow / 1_000)
    const drains = new Drains()
    this.#delivery = new Delivery(drains, () => this.committer.arm(this))
    this.root = openScope('', { owner: this, drains, parent: undefined })
    if (options.outcomes !== undefined) this.#startReplay(options.outcomes)
  }

  get patient(): boolean {
    return this.#durability === 'power'
  }

  get replaying(): boolean {
    return this.#replay !== undefined
  }

  /** Resolves when the replay has ended; undefined when it has, which is the usual case. */
  get replayEnd(): Promise<void> | undefined {
    return this.#released
  }

  /** What lists show, as far as this process has written it. */
  get shown(): RunStatus | undefined {
    return this.#head.status
  }

  /** Aborts when the run is cancelled. Made when somebody asks for it. */
  get controller(): AbortController {
    this.#controller ??= new AbortController()
    return this.#controller
  }

  /** Why nothing more can be appended: the run is over, or this process gave it up. */
  get closed(): NerveError | undefined {
    return this.#closed ?? (this.state.end === undefined ? undefined : RUN_OVER)
  }

  /** Why nothing starts any more: it cannot be appended to, or is about to end and lets what it stopped come to its end. */
  get over(): NerveError | undefined {
    return this.#over ?? (this.state.end === undefined ? undefined : RUN_OVER)
  }

  /** From here on nothing starts. */
  finish(): void {
    this.#over ??= RUN_OVER
  }

  /** Gives a call its place, and makes it the one that later calls of this flow come after. */
  enter(label: string): Place {
    const place = this.place(label)
    here.enterWith(place)
    return place
  }

  /** Gives a call its place. Whoever asks makes it the one that later calls of this flow come after. */
  place(label: string): Place {
    this.committer.arm(this)
    return placeOf(this.root, label)
  }

  /**
   * Appends an event; `deliver` is called once it is durable, and for the result of a call at `place` when its turn has
   * come. Throws when its value cannot be kept.
   */
  append(event: JournalEvent, deliver?: () => void, place?: Place, time = this.clock.now()): void {
    this.#add(event, time)
    if (deliver !== undefined) this.#turns = added(this.#turns, { seq: this.state.seq, place, deliver })
  }

  /** Appends the result of a call, which is its own turn. Throws as `append` does. */
  complete(event: JournalEvent, call: Call, time: number): void {
    this.#add(event, time)
    call.seq = this.state.seq
    this.#turns = added(this.#turns, call)
  }

  #add(event: JournalEvent, time: number): void {
    const { closed, state } = this
    if (closed !== undefined) throw closed
    const seq = state.seq + 1
    this.#rows = added(this.#rows, rowOf(event, seq, time))
    fold(state, seq, time, event)
    this.#events = added(this.#events, event)
    this.tree.idle = false
    this.committer.arm(this)
  }

  /** Appends and resolves when it is durable, and for the result of a call at `place` when its turn has come. */
  commit(event: JournalEvent, place?: Place): Promise<void> {
    return new Promise((resolve) => this.append(event, resolve, place))
  }

  /** Hands out a recorded result when its turn has come. */
  replayed(place: Place, deliver: () => void, path = place.path): void {
    this.#delivery.replay({ seq: this.#replay?.outcomes.seqs.get(path) ?? 0, place, deliver })
  }

  /** Resolves when the turn of a recorded result has come. */
  turn(place: Place, path = place.path): Promise<void> {
    return new Promise((resolve) => this.replayed(place, resolve, path))
  }

  delivered(turns: readonly Turn[]): void {
    this.#delivery.commit(turns)
  }

  /** Answers a command of another process in the same commit as what was appended for it. */
  settle(command: number, result: string): void {
    this.#settled ??= []
    this.#settled.push({ command, result })
    this.committer.arm(this)
  }

  /** What is recorded at a path, handed out once. A recorded call of another kind counts as changed. */
  take(path: string, kind: CallKind, needed = true): PlacedEvent | undefined {
    return this.#replay?.take(path, kind, needed)
  }

  /** Paths that the replay reached and the journal does not have. */
  get missed(): readonly string[] {
    return this.#replay?.missed ?? []
  }

  /** A recorded outcome that must not be used: its input is another one now. */
  changed(path: string): void {
    this.#replay?.changed.push(path)
  }

  /** Recorded paths below this one need not be reached again: what is above them has its outcome. */
  seal(path: string): void {
    this.#replay?.sealed.add(path)
  }

  begin(call: Call): void {
    this.calls.add(call)
    this.committer.arm(this)
    this.tree.worked(this)
  }

  /** The journal is to say that this call started, unless it ends in this tick. */
  tellStarted(call: Call): void {
    this.#starting = added(this.#starting, call)
  }

  /** Ends a call: the milliseconds the run has worked since it last said so. */
  end(call: Call, now = this.clock.now()): { readonly active?: number } {
    const active = this.calls.end(call, now)
    call.end()
    this.tree.rested(this)
    return active > 0 ? { active } : NOT_ACTIVE
  }

  /** Milliseconds worked since the last event that said so. */
  get activeNow(): number {
    return this.calls.size === 0 ? 0 : this.calls.worked(this.clock.now())
  }

  /** Resolves after the next tick in which something happened in this run. */
  nextTick(): Promise<void> {
    return new Promise((resolve) => this.#ticked.push(resolve))
  }

  /** True while something waits to be committed, or whoever waits for it has not been told yet. */
  get pending(): boolean {
    return this.#rows.length > 0 || this.#handed || this.#delivery.waiting
  }

  handover(): Handover | undefined {
    if (this.#ticked.length > 0) for (const resolve of this.#ticked.splice(0)) resolve()
    this.#handed = false
    if (this.#replay !== undefined || this.#closed !== undefined) return undefined
    this.#appendStarted()
    this.#handed = this.#rows.length > 0
    const head = this.#head.next({
      isFirst: this.#create,
      hasEvents: this.#rows.length > 0,
      isWorking: this.calls.size > 0,
      isIdle: this.state.children.size > 0 && this.tree.idle,
    })
    if (this.#rows.length === 0 && this.#settled === undefined && head === undefined) return undefined
    // With only waits open, one more tick tells whether the run rests, also after a commit of the head alone.
    if (this.calls.size === 0) this.committer.arm(this)
    const handover: Handover = {
      run: this.run,
      epoch: this.tree.epoch,
      rows: this.#rows,
      head,
      create: this.#create ? { host: this.#host } : undefined,
      settle: this.#settled,
      source: this,
      durability: this.#durability,
      events: this.#events,
      turns: this.#turns,
      group: this.tree,
    }
    this.#rows = NONE
    this.#events = NONE
    this.#turns = NONE
    this.#settled = undefined
    this.#create = false
    return handover
  }

  refused(error: NerveError): void {
    this.tree.lose(error)
  }

  rested(): void {
    if (this.#replay !== undefined) this.#lookAtReplay(this.#replay)
    // What waits for its turn is handed out without another commit, after which nobody would look again.
    else if (this.#delivery.waiting) this.committer.arm(this)
    else this.tree.look()
  }

  /** Nothing is appended after this; whatever is open is given up. */
  close(error: NerveError): void {
    if (this.#closed !== undefined) return
    this.#closed = error
    this.#over = error
    this.#head.close()
    this.#replay = undefined
    this.#release?.()
    this.#delivery.forget()
    for (const wait of this.waits.values()) wait.forget()
    this.waits.clear()
    for (const call of this.calls) {
      call.stop('end', error)
      call.over()
    }
    this.calls.clear()
  }

  #appendStarted(): void {
    const starting = this.#starting
    if (starting.length === 0) return
    this.#starting = NONE
    // What began while the run ended is given up by whoever ended it; its journal is closed.
    if (this.closed === undefined) for (const call of starting) if (!call.ended) call.announce()
  }

  #startReplay(outcomes: Outcomes): void {
    this.#replay = new Replay(outcomes)
    this.#released = new Promise((resolve) => {
      this.#release = resolve
    })
    this.committer.arm(this)
  }

  #lookAtReplay(replay: Replay): void {
    const waiting = this.#delivery.waiting
    if (waiting) replay.restsNot()
    if (replay.hasMoved() || waiting) return this.committer.arm(this)
    const unknown = replay.unreached()
    if (unknown.length === 0 && replay.changed.length === 0)
      return this.dry === undefined ? this.endReplay() : this.dry(replay.plan([]))
    // The code may be waiting for something that is not durable, such as reading a file: give it a moment.
    if (!this.settled && replay.restedFor(performance.now(), REPLAY_LOOK_MS) < REPLAY_GRACE_MS) {
      setTimeout(() => this.committer.arm(this), REPLAY_LOOK_MS)
      return
    }
    const report = this.dry ?? ((plan: ResumePlan) => this.tree.diverged(this, plan))
    report(replay.plan(unknown))
  }

  /** Everything recorded has been reached: from here on the run is live. */
  endReplay(): void {
    failpoint('replay-after')
    const left = this.#replay?.outcomes.at.keys() ?? []
    this.#replay = undefined
    sweep(this, left)
    this.#released = undefined
    this.#release?.()
    this.#release = undefined
    this.committer.arm(this)
  }
}
