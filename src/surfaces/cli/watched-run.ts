/**
 * A run that another process drives, shown here: what happens, and its questions. Only an answer or Ctrl-C changes the run;
 * leaving does not.
 */
import { isNerveError } from '../../base/nerve-error.ts'
import { isLive, type RunEvent, type RunRow } from '../../host/api.ts'
import { Desk } from './desk.ts'
import { EXIT } from './exit-code.ts'
import { outcomeOf, report, type Outcome } from './outcome.ts'
import type { Output } from './output.ts'
import { Progress, type KnownQuestion } from './progress.ts'
import type { Prints } from './prints.ts'
import { me } from './project.ts'
import { readKeys } from './read-keys.ts'
import { isDaemon, type RunHost } from './run-host.ts'
import { pause, unlessEnded } from './until-signal.ts'
import { createView, type View } from './view.ts'

const LOOK_MS = 200
/** So many looks in a row nobody drives the run: one may fall between two owners. */
const ENOUGH_LOOKS = 3
/** So many when it is one that a daemon takes up: it may have just started, and have many. */
const PATIENT_LOOKS = 50

export interface WatchOptions {
  /** Answer choices with the first one. */
  readonly yes?: boolean
  /** Whose run it is: `own` was started here, so Ctrl-C pauses it and a second one cancels; else Ctrl-C leaves. */
  readonly whose?: 'own' | 'other'
  /**
   * `rest`: also ends when the run waits for something that does not come from here. `dead-end`: only where nothing would go on
   * by itself (default: when it ends).
   */
  readonly until?: 'rest' | 'dead-end' | 'end'
  /** How far each run was known before, by its number of events: that much is not told again. */
  readonly past?: ReadonlyMap<string, number>
  /** What it prints is shown too. */
  readonly prints?: Prints
  /** Called with the outcome before it is told. */
  readonly onOutcome?: (outcome: Outcome) => void
}

type End = 'ended' | 'rests' | 'mine' | 'left' | 'stopped'

/** The exit code of the run; undefined when this process has taken it, and has to drive it. */
export async function watchRun(
  host: RunHost,
  out: Output,
  row: RunRow,
  options: WatchOptions = {},
): Promise<number | undefined> {
  const progress = new Progress()
  const watched = new WatchedRun(host, { out, progress, row, options })
  let end: End
  try {
    await watched.open()
    end = await watched.until()
    await options.prints?.close()
  } finally {
    watched.close()
  }
  if (end === 'mine') return undefined
  if (end === 'left' || end === 'stopped') {
    out.data({ type: 'left', run: row.root, ...(end === 'stopped' ? { daemon: 'stopped' } : {}) })
    out.line(
      end === 'left'
        ? `${row.definition} ${row.root} goes on. Come back: nerve attach ${row.root}`
        : `The daemon was stopped. ${row.definition} ${row.root} goes on when there is one: nerve server start`,
    )
    return end === 'left' ? EXIT.done : EXIT.waiting
  }
  const rows = await host.runs({ root: row.root, children: true })
  const now = rows.find(({ run: id }) => id === row.root) ?? row
  const outcome = outcomeOf(now, rows, { end: progress.ends.get(now.run), plan: progress.plans.get(now.run) })
  const code = report(out, outcome)
  options.onOutcome?.(outcome)
  return code
}

interface Parts {
  readonly out: Output
  readonly progress: Progress
  readonly row: RunRow
  readonly options: WatchOptions
}

class WatchedRun {
  readonly #host: RunHost
  readonly #parts: Parts
  readonly #watched = new Set<string>()
  readonly #failed = Promise.withResolvers<never>()
  readonly #over = new AbortController()
  readonly #left = new AbortController()
  readonly #onLeave = (): void => this.#left.abort()
  readonly #onInterrupt = (): void => this.#interrupt()
  #stopKeys: () => void = () => undefined
  #view: View | undefined
  #desk: Desk | undefined
  #ended = false
  #interrupts = 0
  /** Questions from before then are told of with everything else; those that are still open are in the rows. */
  readonly #began = Date.now()
  #open: ReadonlySet<string> = new Set()

  constructor(host: RunHost, parts: Parts) {
    this.#host = host
    this.#parts = parts
    // It is heard where it is waited for, which may be later.
    this.#failed.promise.catch(() => undefined)
    // Who only watches leaves with whoever reads it.
    if (parts.options.whose !== 'own') process.stdout.once('error', this.#onLeave)
    process.on('SIGINT', this.#onInterrupt)
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, this.#onLeave)
  }

  async open(): Promise<void> {
    const { out, progress, options } = this.#parts
    const hint = `Ctrl-Z leaves it running${options.whose === 'own' ? ', Ctrl-C pauses it' : ''}`
    const { until = 'end' } = options
    // What it ends at is told with the outcome.
    const tells = ({ deadline }: KnownQuestion): boolean =>
      until === 'end' || (until === 'dead-end' && deadline !== undefined)
    const keys = { interrupt: this.#onInterrupt, leave: this.#onLeave, hint, tells }
    this.#view = await createView(out, progress, keys)
    const { yes = false } = options
    const isOpen = ({ id, asked }: KnownQuestion): boolean => asked >= this.#began || this.#open.has(id)
    this.#desk = new Desk(this.#host, progress, { view: this.#view, yes, interactive: out.interactive, isOpen })
    if (!out.interactive) return
    // While a question is asked, its own reader hears the keys.
    this.#stopKeys = readKeys(({ name, ctrl }) => {
      if (ctrl === true && (name === 'c' || name === 'd')) this.#interrupt()
      else if ((ctrl === true && name === 'z') || name === 'q') this.#onLeave()
    })
  }

  async until(): Promise<End> {
    const { root } = this.#parts.row
    void this.#watch(root).then(() => (this.#ended = true), this.#failed.reject)
    try {
      for (let alone = 0; ;) {
        if (this.#ended) return 'ended'
        const rows = await unlessEnded(this.#host.runs({ root, children: true }), this.#left.signal)
        if (rows === undefined) return 'left'
        if (rows.some(({ owner }) => owner === this.#host.id)) return 'mine'
        this.#open = new Set(rows.flatMap(({ questions }) => questions.map(({ id }) => id)))
        this.#desk?.look()
        alone = this.#ended || !this.#rests(rows) ? 0 : alone + 1
        if (alone >= (this.#mayBeTaken(rows) ? PATIENT_LOOKS : ENOUGH_LOOKS)) return 'rests'
        await Promise.race([pause(LOOK_MS, this.#left.signal), this.#failed.promise])
      }
    } catch (error) {
      if (isNerveError(error, 'host-closed') && isDaemon(this.#host)) return 'stopped'
      throw error
    }
  }

  close(): void {
    this.#over.abort()
    this.#desk?.close()
    this.#stopKeys()
    this.#view?.close()
    process.stdout.off('error', this.#onLeave)
    process.off('SIGINT', this.#onInterrupt)
    for (const signal of ['SIGTERM', 'SIGHUP']) process.off(signal, this.#onLeave)
  }

  #mayBeTaken(rows: readonly RunRow[]): boolean {
    return isDaemon(this.#host) && rows.some(({ status }) => status === 'queued' || status === 'crashed')
  }

  /** Nothing comes from here, and nothing goes on there. */
  #rests(rows: readonly RunRow[]): boolean {
    if (rows.some(({ status, questions }) => status === 'waiting' && questions.some((one) => this.#desk?.takes(one))))
      return false
    const root = rows.find(({ run }) => run === this.#parts.row.root)
    // How it ended is in its last event, which is on its way.
    if (root?.ended !== undefined) return false
    const { status } = root ?? {}
    const { until = 'end' } = this.#parts.options
    // A daemon goes on with a run that waits, whether it has it in memory or not.
    const isLeft = rows.every(({ owner }) => owner === undefined) && !(isDaemon(this.#host) && status === 'waiting')
    if (until === 'end' || (until === 'dead-end' && isLeft)) return isLeft
    // As where a run is driven in this process: a time is waited for, and a signal at a terminal.
    if (status === 'paused' || status === 'exhausted') return true
    if (status !== 'waiting') return status !== 'running' && status !== 'queued'
    if (until === 'dead-end' && rows.some(({ wake }) => wake !== undefined)) return false
    const asks = rows.some(({ questions }) => questions.length > 0)
    return asks || (rows.some(({ signals }) => signals.length > 0) && !this.#parts.out.live)
  }

  async #watch(run: string): Promise<void> {
    if (this.#watched.has(run)) return
    this.#watched.add(run)
    this.#parts.options.prints?.add(run)
    const handle = await this.#host.handle(run)
    for await (const item of handle.events({ signal: this.#over.signal })) if (!isLive(item)) this.#hear(item)
  }

  #hear(event: RunEvent): void {
    const { progress, options } = this.#parts
    if (event.type === 'child-started') this.#watch(event.child).catch(this.#failed.reject)
    if (!progress.hear(event)) return
    if (event.seq > (options.past?.get(event.run) ?? 0)) this.#view?.hear(event)
    if (event.type.startsWith('question-')) this.#desk?.look()
  }

  #interrupt(): void {
    if (this.#parts.options.whose !== 'own') return this.#onLeave()
    this.#interrupts += 1
    if (this.#interrupts > 2) return this.#onLeave()
    const cancel = this.#interrupts === 2
    this.#view?.say(
      cancel ? 'Cancelling…' : 'Pausing: steps that run are finished. Ctrl-C again cancels the run, Ctrl-Z leaves it.',
    )
    this.#stop(cancel).catch((error: unknown) => {
      // A run that ended meanwhile needs no stopping.
      if (!isNerveError(error, 'run-ended')) this.#view?.say((error as Error).message)
    })
  }

  async #stop(cancel: boolean): Promise<void> {
    const handle = await this.#host.handle(this.#parts.row.root)
    await (cancel ? handle.cancel({ ...me(), reason: 'Ctrl-C' }) : handle.pause(me()))
  }
}
