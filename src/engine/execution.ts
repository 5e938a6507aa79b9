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
import type { NerveError } from '../base/nerve-error.ts'
import { encodeEvent, type Row } from '../journal/codec.ts'
import type { Durability, Entry, JournalEvent, ResumePlan } from '../journal/events.ts'
import { fold, type RunState } from '../journal/fold.ts'
import { headOf } from '../journal/head.ts'
import { callKind, isBeside, type CallKind, type Outcomes, type PlacedEvent } from '../journal/outcomes.ts'
import type { Append } from '../journal/port.ts'
import type { Bus } from './bus.ts'
import type { Call } from './call.ts'
import type { Committer, Handover, Source } from './committer.ts'
import type { AnyDefinition } from './definition.ts'
import { Ledger } from './ledger.ts'
import { enter, openScope, type Place, type Scope } from './scope.ts'
import type { Tree } from './tree.ts'
import type { OpenWait } from './waits.ts'

/** How long a resting replay may stay short of what is recorded before it counts as diverged. */
const REPLAY_GRACE_MS = 1_000
const REPLAY_LOOK_MS = 20

export interface ExecutionOptions {
  readonly tree: Tree
  readonly definition: AnyDefinition
  readonly state: RunState
  readonly outcomes: Outcomes | undefined
  readonly parent: Execution | undefined
  /** For a child: the scope of the parent run that started it. */
  readonly at?: Scope
  readonly durability: Durability
  readonly host: string
  /** The run exists only in memory so far: its first commit creates it. */
  readonly fresh: boolean
  /** Replays only, and never writes or starts anything: called with what was found when the code rests. */
  readonly dry?: (plan: ResumePlan) => void
}

export interface EngineParts {
  readonly clock: Clock
  readonly bus: Bus
  readonly committer: Committer
}

type Replay = {
  readonly outcomes: Outcomes
  readonly sealed: Set<string>
  readonly changed: string[]
  readonly missed: string[]
  hits: number
  seen: number
  restingSince: number | undefined
}

export class Execution implements Source {
  readonly run: string
  readonly tree: Tree
  readonly definition: AnyDefinition
  readonly state: RunState
  readonly parent: Execution | undefined
  readonly at: Scope | undefined
  readonly clock: Clock
  readonly bus: Bus
  readonly committer: Committer
  readonly ledger: Ledger
  readonly root: Place
  readonly calls = new Set<Call>()
  readonly waits = new Map<string, OpenWait>()
  readonly controller = new AbortController()
  readonly #dry: ExecutionOptions['dry']
  readonly #durability: Durability
  readonly #host: string
  #create: boolean
  #replay: Replay | undefined
  #released: Promise<void> | undefined
  #release: (() => void) | undefined
  #rows: Row[] = []
  #entries: Entry[] = []
  #delivered: (() => void)[] = []
  #starting: Call[] = []
  #settled: { readonly command: number; readonly result: string }[] = []
  #headVersion = 0
  #headIdle = false
  #closed: NerveError | undefined
  #activeMark = 0

  constructor(parts: EngineParts, options: ExecutionOptions) {
    this.clock = parts.clock
    this.bus = parts.bus
    this.committer = parts.committer
    this.run = options.state.run
    this.tree = options.tree
    this.definition = options.definition
    this.state = options.state
    this.parent = options.parent
    this.at = options.at
    this.#dry = options.dry
    this.#durability = options.durability
    this.#host = options.host
    this.#create = options.fresh
    this.#headVersion = options.state.headVersion
    this.ledger = new Ledger(options.state, options.parent?.ledger)
    this.root = openScope(this, '', undefined)
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

  get closed(): NerveError | undefined {
    return this.#closed
  }

  enter(label: string): Place {
    this.committer.arm(this)
    return enter(this.root, label)
  }

  /** Appends an event; `delivered` is called once it is durable. Throws when its value cannot be kept. */
  append(event: JournalEvent, delivered?: () => void): void {
    if (this.#closed !== undefined) throw this.#closed
    const seq = this.state.seq + 1
    const time = this.clock.now()
    this.#rows.push(encodeEvent(event, seq, time))
    fold(this.state, seq, time, event)
    this.#entries.push({ run: this.run, seq, time, event })
    if (delivered !== undefined) this.#delivered.push(delivered)
    this.committer.arm(this)
  }

  /** Appends and resolves when it is durable. */
  commit(event: JournalEvent): Promise<void> {
    return new Promise((resolve) => this.append(event, resolve))
  }

  /** Answers a command of another process in the same commit as what was appended for it. */
  settle(command: number, result: string): void {
    this.#settled.push({ command, result })
    this.committer.arm(this)
  }

  /** What is recorded at a path, handed out once. A recorded call of another kind counts as changed. */
  take(path: string, kind: CallKind): PlacedEvent | undefined {
    const replay = this.#replay
    if (replay === undefined) return undefined
    const event = replay.outcomes.at.get(path)
    if (event === undefined) {
      replay.missed.push(path)
      return undefined
    }
    replay.outcomes.at.delete(path)
    replay.hits += 1
    if (callKind(event) === kind) return event
    replay.changed.push(path)
    return undefined
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
    if (this.calls.size === 0) this.#activeMark = call.started
    this.calls.add(call)
    if (!call.announced) this.#starting.push(call)
    this.committer.arm(this)
    this.tree.worked(this)
  }

  /** Ends a call: the milliseconds the run has worked since it last said so. */
  end(call: Call): { readonly active?: number } {
    const now = this.clock.now()
    const active = now - this.#activeMark
    this.#activeMark = now
    this.calls.delete(call)
    call.end()
    this.tree.rested(this)
    return active > 0 ? { active } : {}
  }

  /** Milliseconds worked since the last event that said so. */
  get activeNow(): number {
    return this.calls.size === 0 ? 0 : this.clock.now() - this.#activeMark
  }

  handover(): Handover | undefined {
    if (this.#replay !== undefined || this.#closed !== undefined) return undefined
    this.#appendStarted()
    // With only waits open, one more tick tells whether the run rests.
    if (this.#rows.length > 0 && this.calls.size === 0) this.committer.arm(this)
    const head = this.#headIfChanged()
    if (this.#rows.length === 0 && this.#settled.length === 0 && head === undefined) return undefined
    const append: Append = {
      run: this.run,
      epoch: this.tree.epoch,
      rows: this.#rows,
      ...(head === undefined ? {} : { head }),
      ...(this.#create ? { create: { host: this.#host } } : {}),
      ...(this.#settled.length === 0 ? {} : { settle: this.#settled }),
    }
    const handover = { append, durability: this.#durability, entries: this.#entries, delivered: this.#delivered }
    this.#rows = []
    this.#entries = []
    this.#delivered = []
    this.#settled = []
    this.#create = false
    return handover
  }

  refused(error: NerveError): void {
    this.tree.lose(error)
  }

  rested(): void {
    if (this.#replay !== undefined) this.#lookAtReplay(this.#replay)
    else this.tree.look()
  }

  /** Nothing is appended after this; whatever is open is given up. */
  close(error: NerveError): void {
    if (this.#closed !== undefined) return
    this.#closed = error
    this.#replay = undefined
    this.#release?.()
    for (const wait of this.waits.values()) wait.forget()
    this.waits.clear()
    for (const call of this.calls) call.stop('end', error)
    this.calls.clear()
  }

  #appendStarted(): void {
    const starting = this.#starting
    if (starting.length === 0) return
    this.#starting = []
    for (const call of starting) {
      if (!call.ended) this.append(call.startedEvent)
    }
  }

  #headIfChanged(): Append['head'] {
    const idle = this.state.children.size > 0 && this.tree.idle
    if (!this.#create && this.#headVersion === this.state.headVersion && this.#headIdle === idle) return undefined
    this.#headVersion = this.state.headVersion
    this.#headIdle = idle
    return headOf(this.state, idle)
  }

  #startReplay(outcomes: Outcomes): void {
    this.#replay = { outcomes, sealed: new Set(), changed: [], missed: [], hits: 0, seen: -1, restingSince: undefined }
    this.#released = new Promise((resolve) => {
      this.#release = resolve
    })
    this.committer.arm(this)
  }

  #lookAtReplay(replay: Replay): void {
    if (replay.hits !== replay.seen) {
      replay.seen = replay.hits
      replay.restingSince = undefined
      this.committer.arm(this)
      return
    }
    const unknown = this.#unreached(replay)
    if (unknown.length === 0 && replay.changed.length === 0)
      return this.#dry === undefined ? this.endReplay() : this.#dry(this.#plan(replay, []))
    // The code may be waiting for something that is not durable, such as reading a file: give it a moment.
    const now = performance.now()
    replay.restingSince ??= now
    if (now - replay.restingSince < REPLAY_GRACE_MS && !this.tree.settledRuns.has(this.run)) {
      setTimeout(() => this.committer.arm(this), REPLAY_LOOK_MS)
      return
    }
    const report = this.#dry ?? ((plan: ResumePlan) => this.tree.diverged(this, plan))
    report(this.#plan(replay, unknown))
  }

  /** Everything recorded has been reached: from here on the run is live. */
  endReplay(): void {
    this.#replay = undefined
    this.#released = undefined
    this.#release?.()
    this.#release = undefined
    this.committer.arm(this)
  }

  #plan(replay: Replay, unknown: readonly string[]): ResumePlan {
    return { keep: replay.hits - replay.changed.length, rerun: replay.changed, unknown }
  }

  #unreached(replay: Replay): readonly string[] {
    if (replay.outcomes.at.size === 0) return []
    const { sealed, outcomes } = replay
    const paths: string[] = []
    for (const path of outcomes.at.keys()) {
      if (outcomes.ignored.has(path) || isBeside(path) || isSealed(path, sealed)) continue
      paths.push(path)
    }
    return paths
  }
}

/** True when a path lies below a sealed one. */
function isSealed(path: string, sealed: ReadonlySet<string>): boolean {
  if (sealed.size === 0) return false
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    if (sealed.has(path.slice(0, at))) return true
  return false
}
