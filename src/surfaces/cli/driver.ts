/**
 * Drives runs in this process and shows them until they end or rest: `run`, `resume`, `answer`, `signal` and `fork` are
 * all this. Owns the signals of the process meanwhile: Ctrl-C once pauses and parks, twice cancels. SIGTERM and a closed window pause and
 * park too, and never cancel: they come several times, from the shell, the system and whoever watches over processes.
 */
import type { NerveError } from '../../base/nerve-error.ts'
import { isNerveError } from '../../base/nerve-error.ts'
import type { Handle, Host, RunEvent, RunRow } from '../../host/api.ts'
import type { ResumePlan } from '../../journal/events.ts'
import { Desk } from './desk.ts'
import { endProcess } from './end-process.ts'
import { EXIT } from './exit-code.ts'
import { outcomeOf, type Outcome } from './outcome.ts'
import type { Output } from './output.ts'
import { me } from './project.ts'
import { Progress } from './progress.ts'
import { createView, type View } from './view.ts'

/** How long steps that run may go on after Ctrl-C before the run is parked without them; they run again on resume. */
const PAUSE_GRACE_MS = 5_000
const IDLE_LOOK_MS = 100
const ENDS = ['SIGTERM', 'SIGHUP'] as const

export interface DriverOptions {
  /** Answer choices with the first one. */
  readonly yes?: boolean
  /** Nobody watches: stay for as long as a time can wake the run. */
  readonly detached?: boolean
}

export class Driver {
  readonly progress = new Progress()
  readonly #host: Host
  readonly #out: Output
  readonly #options: DriverOptions
  readonly #roots = new Set<string>()
  readonly #heard = new Set<string>()
  readonly #early: RunEvent[] = []
  readonly #unsubscribe: () => void
  readonly #onInterrupt = (): void => this.#interrupt()
  readonly #onEnd = (): void => this.#leave()
  #view: View | undefined
  #desk: Desk | undefined
  #changes = 0
  #wakeups: (() => void)[] = []
  #interrupts = 0
  #graceOver = false
  readonly #graceEnded = Promise.withResolvers<undefined>()
  #grace: NodeJS.Timeout | undefined

  private constructor(host: Host, out: Output, options: DriverOptions) {
    this.#host = host
    this.#out = out
    this.#options = options
    this.#unsubscribe = host.subscribe({ live: false }, (heard) => this.#hear(heard as RunEvent))
    process.on('SIGINT', this.#onInterrupt)
    for (const signal of ENDS) process.on(signal, this.#onEnd)
  }

  static async open(host: Host, out: Output, options: DriverOptions = {}): Promise<Driver> {
    const driver = new Driver(host, out, options)
    const view = await createView(out, driver.progress, {
      interrupt: driver.#onInterrupt,
      hint: 'Ctrl-C pauses it',
    })
    driver.#view = view
    driver.#desk = new Desk(host, driver.progress, {
      view,
      yes: options.yes ?? false,
      interactive: out.interactive,
    })
    return driver
  }

  /** Reads what is recorded of a run tree, so that the view shows it whole. */
  async past(root: string): Promise<void> {
    const rows = await this.#host.runs({ root, children: true })
    for (const row of rows.toReversed()) {
      for (const { run, seq, time, event } of await this.#host.journal(row.run))
        this.progress.hear({ ...event, run, seq, time })
    }
    for (const event of this.#early.splice(0)) this.#hear(event)
  }

  /** True when something happened in this run in this process. */
  heard(run: string): boolean {
    return this.#heard.has(run)
  }

  /** Drives on until the run ends, or rests in a way that this process cannot help. */
  async until(handle: Handle): Promise<Outcome> {
    this.#roots.add(handle.id)
    for (;;) {
      const mark = this.#changes
      this.#desk?.look()
      const trouble = await this.#rest(handle)
      if (trouble !== undefined && trouble.code !== 'diverged') throw trouble
      const rows = await this.#host.runs({ root: handle.id, children: true })
      const row = rows.find((one) => one.run === handle.id)
      if (row === undefined) throw new Error(`run ${handle.id} is gone`)
      const plan = (trouble?.data['plan'] as ResumePlan | undefined) ?? this.progress.plans.get(row.run)
      if (trouble !== undefined || this.#graceOver || !this.#stays(row, rows))
        return outcomeOf(row, rows, { end: this.progress.ends.get(row.run), plan })
      await this.#change(mark, row.status === 'running' ? IDLE_LOOK_MS : undefined)
    }
  }

  /** Ends the showing and gives the signals back. */
  close(): void {
    this.#unsubscribe()
    clearTimeout(this.#grace)
    process.off('SIGINT', this.#onInterrupt)
    for (const signal of ENDS) process.off(signal, this.#onEnd)
    this.#desk?.close()
    this.#view?.close()
  }

  #hear(event: RunEvent): void {
    this.#heard.add(event.run)
    if (!this.progress.runs.has(event.run) && event.type !== 'run-created') {
      this.#early.push(event)
    } else if (this.progress.hear(event)) {
      this.#view?.hear(event)
      if (event.type.startsWith('question-')) this.#desk?.look()
    }
    this.#changed()
  }

  /** The trouble that ended the driving, if any. */
  #rest(handle: Handle): Promise<NerveError | undefined> {
    const rested = handle.rest().then(
      () => undefined,
      (error: unknown) => {
        if (isNerveError(error)) return error
        throw error
      },
    )
    return Promise.race([rested, this.#graceEnded.promise])
  }

  #stays(row: RunRow, rows: readonly RunRow[]): boolean {
    if (row.status === 'running' || row.status === 'queued') return true
    if (row.status !== 'waiting') return false
    const questions = rows.flatMap((one) => one.questions)
    const signals = rows.flatMap((one) => one.signals)
    const timed = rows.some((one) => one.wake !== undefined)
    if (this.#interrupts > 0) return true
    if (questions.some((question) => this.#desk?.takes(question) === true)) return true
    if (this.#options.detached === true && timed) return true
    return questions.length === 0 && (signals.length === 0 || this.#out.live)
  }

  #changed(): void {
    this.#changes += 1
    const wakeups = this.#wakeups
    this.#wakeups = []
    for (const wake of wakeups) wake()
  }

  #change(mark: number, most: number | undefined): Promise<void> {
    if (this.#changes !== mark) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = most === undefined ? undefined : setTimeout(resolve, most)
      this.#wakeups.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #interrupt(): void {
    this.#interrupts += 1
    if (this.#roots.size === 0 || this.#interrupts > 2) endProcess(this.#interrupts > 2 ? EXIT.cancelled : 130)
    this.#desk?.close()
    if (this.#interrupts === 1)
      return this.#pause('Pausing: steps that run have a moment to finish. Ctrl-C again cancels the run.')
    clearTimeout(this.#grace)
    this.#grace = undefined
    this.#view?.say('Cancelling…')
    for (const root of this.#roots) void this.#stop(root, true)
  }

  #leave(): void {
    if (this.#roots.size === 0) endProcess(130)
    this.#desk?.close()
    if (this.#interrupts > 0) return this.#bound()
    this.#interrupts = 1
    this.#pause('Pausing, because this process is to end: steps that run have a moment to finish.')
  }

  #pause(why: string): void {
    this.#view?.say(why)
    this.#bound()
    for (const root of this.#roots) void this.#stop(root, false)
  }

  /** However long steps take, this process ends. */
  #bound(): void {
    this.#grace ??= setTimeout(() => this.#endGrace(), PAUSE_GRACE_MS)
  }

  async #stop(root: string, cancel: boolean): Promise<void> {
    try {
      const handle = await this.#host.handle(root)
      await (cancel ? handle.cancel({ ...me(), reason: 'Ctrl-C' }) : handle.pause(me()))
    } catch (error) {
      // A run that ended meanwhile needs no stopping.
      if (!isNerveError(error, 'run-ended')) this.#view?.say((error as Error).message)
    }
    this.#changed()
  }

  #endGrace(): void {
    this.#graceOver = true
    this.#graceEnded.resolve(undefined)
    this.#changed()
  }
}
