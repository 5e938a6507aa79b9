/** Taking up what dead hosts left, and waking parked runs when their time comes. */
import { NerveError } from '../base/nerve-error.ts'
import type { Engine } from './engine.ts'
import { Mailbox } from './mailbox.ts'
import { storedRest } from './stored-rest.ts'

const POLL_MS = 100
/** How long the taking up of one run may hold up that of the others. */
const TAKE_MS = 5_000
/** When a run could not be woken, because its definition is not here: how long until due runs are looked at again. */
const WAKE_AGAIN_MS = 10_000

export interface Recovered {
  readonly recovered: readonly string[]
  /** Runs that could not be taken up, and why. */
  readonly left: readonly { readonly run: string; readonly reason: string }[]
}

/** Drives on every run that its host held when it died, and those whose time has come. */
export async function recoverRuns(engine: Engine): Promise<Recovered> {
  const { store, ownership, clock } = engine
  const dead = await ownership.dead()
  const resting = await store.heads({ status: ['waiting', 'paused', 'exhausted'], owned: true })
  const busy = await store.heads({ status: ['queued', 'running'] })
  const due = await store.heads({ dueBy: clock.now() })
  // After the owners were read: whoever owns a run made itself known before, so one who is not there now is dead.
  const living = await ownership.living()
  const wanted = new Set<string>()
  for (const { head, owner } of resting) {
    if (owner === undefined || engine.isDriven(head.root, owner, living) || head.run !== head.root) continue
    // It may have had a result and not its next step when its process died, or its store failed.
    if (head.status === 'waiting') wanted.add(head.root)
    else await store.release(head.root, owner.host)
  }
  for (const { head, owner } of busy) {
    if (head.run === head.root && !engine.isDriven(head.root, owner, living)) wanted.add(head.root)
  }
  for (const { head, owner } of due) {
    if (!engine.isDriven(head.root, owner, living)) wanted.add(head.root)
  }
  const result = await takeAll(engine, wanted)
  for (const host of dead) await store.forgetHost(host)
  return result
}

/** False when it takes too long: a file that waits for something must not keep the other runs from going on. */
async function inTime({ clock }: Engine, taken: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>()
  const disarm = clock.at(clock.now() + TAKE_MS, () => resolve(false))
  try {
    return await Promise.race([taken.then(() => true), late])
  } finally {
    disarm()
  }
}

async function takeAll(engine: Engine, roots: Iterable<string>): Promise<Recovered> {
  const recovered: string[] = []
  const left: { run: string; reason: string }[] = []
  for (const root of roots) {
    if (engine.isLoading(root)) continue
    try {
      if (await inTime(engine, engine.take(root))) recovered.push(root)
      else left.push({ run: root, reason: 'The file of its definition is still being loaded.' })
    } catch (error) {
      if (!(error instanceof NerveError)) throw error
      if (error.code !== 'owned-elsewhere' && error.code !== 'run-ended')
        left.push({ run: root, reason: error.message })
    }
  }
  return { recovered, left }
}

/** Looks after parked runs and posted commands for as long as the host is open. */
export class Keeper {
  readonly #engine: Engine
  readonly #onProblem: (error: unknown) => void
  readonly #mailbox: Mailbox
  #poll: NodeJS.Timeout | undefined
  #version = -1
  #busy = false
  #disarm: (() => void) | undefined
  #wakeAt: number | undefined
  #isLater = false
  #closed = false
  /** Runs that this host had to give up, and what looks at them again. */
  readonly #givenUp = new Set<string>()
  #disarmAgain: (() => void) | undefined

  constructor(engine: Engine, onProblem: (error: unknown) => void) {
    this.#engine = engine
    this.#onProblem = onProblem
    this.#mailbox = new Mailbox(engine, onProblem)
    engine.onParked = () => void this.schedule().catch(onProblem)
    engine.onGivenUp = (root) => {
      this.#givenUp.add(root)
      this.#takeAgainLater()
    }
    engine.onTaken = () => {
      this.#version = -1
      // It may be the one that the others waited for.
      if (this.#isLater) engine.onParked()
    }
    this.#poll = setInterval(() => void this.#look().catch(onProblem), POLL_MS)
    this.#poll.unref()
    // Whoever waits for a run keeps the process alive, also when only another process can bring it on.
    // It may have come to rest before somebody waited for that.
    engine.watchers.onWaiting = () => {
      this.#version = -1
    }
    engine.watchers.onWatching = (watching) => void (watching ? this.#poll?.ref() : this.#poll?.unref())
  }

  /** Arms one timer for the parked run that wants to be woken first. */
  async schedule(): Promise<void> {
    if (this.#closed) return
    const at = await this.#engine.store.nextWake()
    if (at === this.#wakeAt || this.#closed) return
    this.#disarm?.()
    this.#wakeAt = at
    this.#disarm =
      at === undefined ? undefined : this.#engine.clock.at(at, () => void this.#wake().catch(this.#onProblem))
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#poll)
    this.#disarm?.()
    this.#disarmAgain?.()
  }

  /** A store that has failed may take writes again. */
  #takeAgainLater(): void {
    const { clock } = this.#engine
    this.#disarmAgain ??= clock.at(clock.now() + WAKE_AGAIN_MS, () => void this.#takeAgain())
  }

  async #takeAgain(): Promise<void> {
    this.#disarmAgain = undefined
    for (const root of [...this.#givenUp]) {
      if (this.#closed) return
      try {
        if (await this.#isLeft(root)) await this.#engine.take(root)
        this.#givenUp.delete(root)
      } catch (error) {
        // Somebody else has it, or it cannot be driven here: that was said when it was found out first.
        if (error instanceof NerveError && error.code !== 'store-failed') this.#givenUp.delete(root)
      }
    }
    if (this.#givenUp.size > 0 && !this.#closed) this.#takeAgainLater()
  }

  /** True while nobody drives it, and nobody holds it back. */
  async #isLeft(root: string): Promise<boolean> {
    const { store, ownership } = this.#engine
    const found = await store.find(root)
    if (found === undefined || this.#engine.isDriven(root, found.owner, await ownership.living())) return false
    const { status } = found.head
    return status === 'running' || status === 'queued' || status === 'waiting'
  }

  async #wake(): Promise<void> {
    this.#wakeAt = undefined
    this.#isLater = false
    if (this.#closed) return
    const due = await this.#engine.store.heads({ dueBy: this.#engine.clock.now() })
    const roots = new Set(due.filter(({ owner }) => owner === undefined).map(({ head }) => head.root))
    const { left } = await takeAll(this.#engine, roots)
    for (const one of left)
      this.#onProblem(new NerveError('definition-missing', `Run ${one.run} could not be woken: ${one.reason}`))
    // What could not be woken, or is being loaded, stays due; the others must not wait for it.
    if (left.length === 0 && ![...roots].some((root) => this.#engine.isLoading(root))) return this.schedule()
    const later = this.#engine.clock.now() + WAKE_AGAIN_MS
    this.#wakeAt = later
    this.#isLater = true
    this.#disarm = this.#engine.clock.at(later, () => void this.#wake().catch(this.#onProblem))
  }

  async #look(): Promise<void> {
    if (this.#busy || this.#closed) return
    const version = this.#engine.store.version()
    if (version === this.#version) return
    this.#busy = true
    try {
      this.#version = version
      await this.#mailbox.look()
      await this.#tellWatchers()
    } finally {
      this.#busy = false
    }
  }

  /** Runs that ended, or came to rest, in another process, for those who wait for them here. */
  async #tellWatchers(): Promise<void> {
    const engine = this.#engine
    const { watchers } = engine
    const here = engine.driven()
    for (const run of [...watchers.watched].filter((one) => !here.has(one))) {
      const state = await storedRest(engine, run)
      if (state === undefined || engine.live(state.root) !== undefined) continue
      if (state.end === undefined) watchers.rested(run, state)
      else watchers.ended(run, state)
    }
  }
}
