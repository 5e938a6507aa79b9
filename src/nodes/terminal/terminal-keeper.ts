/**
 * What a terminal node keeps from one life of its program to the next: the state, the queue of commands, who writes, who
 * watches.
 *
 * Invariants: one command at a time; one writer at a time; a start that fails leaves nothing behind; `stop` can be called
 * at any time, and more than once.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { CommandName } from '../panes/command-book.ts'
import { runCommand, terminalEnded } from './command-run.ts'
import { LiveTerminal } from './live-terminal.ts'
import { endLeft } from './open-program.ts'
import { untilReady } from './readiness.ts'
import { resumeCommand } from './resumed-command.ts'
import type { TerminalScreen } from './terminal-screen.ts'
import { screenSize, survives, type TerminalPlan } from './terminal-options.ts'
import type { TerminalResult } from './terminal-result.ts'
import type { PaneFacts } from './terminal-process.ts'
import type { Place } from './transcript.ts'
import type { TerminalPart } from './terminal.ts'
import { Writer } from './writer.ts'

export type TerminalState = 'created' | 'starting' | 'ready' | 'busy' | 'stopping' | 'stopped' | 'error'

export interface Command {
  readonly line: string
  readonly timeoutMs: number
  /** The step that it is a command of. */
  readonly name?: CommandName | undefined
  /** True when an earlier process had begun it. */
  readonly resumed?: boolean
}

interface Listening {
  readonly signal?: AbortSignal | undefined
  readonly onText: ((text: string) => void) | undefined
  readonly onWait: (holder: string) => void
}

const BEGINNING: Place = { line: 0, column: 0 }

export class TerminalKeeper {
  readonly #id: string
  readonly #plan: TerminalPlan
  readonly #writer = new Writer()
  readonly #watchers = new Set<(part: TerminalPart) => void>()
  #state: TerminalState = 'created'
  #live: LiveTerminal | undefined
  #starting: Promise<LiveTerminal> | undefined
  #stopping: Promise<void> | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #read = BEGINNING
  #typed = false
  #size: { readonly cols: number; readonly rows: number }

  constructor(id: string, plan: TerminalPlan) {
    this.#id = id
    this.#plan = plan
    this.#size = { cols: plan.cols, rows: plan.rows }
  }

  get state(): TerminalState {
    return this.#state
  }

  facts(): {
    readonly state: TerminalState
    readonly marked: boolean
    readonly pid?: number
    readonly pane?: PaneFacts
    readonly writer?: string
    readonly log?: string
  } {
    const live = this.#live
    return {
      state: this.#state,
      marked: live?.marked ?? false,
      ...(live?.process.pid === undefined || live.ended !== undefined ? {} : { pid: live.process.pid }),
      ...(live?.process.pane === undefined ? {} : { pane: live.process.pane }),
      ...(this.#writer.holder === undefined ? {} : { writer: this.#writer.holder }),
      ...(live?.log === undefined ? {} : { log: live.log.file }),
    }
  }

  async start(): Promise<void> {
    await this.#stopping
    if (this.#state !== 'ready' && this.#state !== 'busy') await this.#startedAgain()
  }

  /** Waits for its turn, and for whoever has taken over. */
  execute(command: Command, listening: Listening): Promise<TerminalResult> {
    const turn = this.#queue.then(() => this.#execute(command, listening))
    this.#queue = turn.catch(() => undefined)
    return turn
  }

  async write(data: string, who: string | undefined): Promise<void> {
    this.#writer.check(this.#id, who)
    const live = await this.#started()
    if (live.ended !== undefined) throw terminalEnded(this.#id, live)
    this.#writer.check(this.#id, who)
    this.#typed = true
    live.type(data)
  }

  /** Also for those who do not hold it: stopping must always be possible; also of what another process has begun. */
  async interrupt(): Promise<void> {
    const live = this.#live ?? (survives(this.#plan.in) ? await this.#started() : undefined)
    live?.write('\u0003')
  }

  async stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined
    })
    await this.#stopping
  }

  /** Lets go: what can go on without this process does, and is found again when it is next needed. */
  async detach(): Promise<void> {
    await this.#starting?.catch(() => undefined)
    await this.#stopping
    const live = this.#live
    if (live === undefined) return
    this.#live = undefined
    await live.detach()
    this.#become('created')
  }

  async reset(): Promise<void> {
    await this.stop()
    await this.start()
  }

  read(): string {
    const text = this.#live?.transcript
    if (text === undefined) return ''
    const found = text.since(this.#read)
    this.#read = text.end
    return found
  }

  readTail(lines: number): string {
    return this.#live?.transcript.tail(lines) ?? ''
  }

  clearBuffer(): void {
    const live = this.#live
    if (live === undefined) return
    live.transcript.clear()
    if (this.#state !== 'stopped') live.screen?.clear()
    this.#read = live.transcript.end
  }

  resize(cols: number, rows: number): void {
    this.#size = screenSize(`terminal '${this.#id}'`, cols, rows)
    if (this.#state !== 'stopped') this.#live?.resize(cols, rows)
    this.#tell({ type: 'resized', cols, rows })
  }

  async screen(): Promise<TerminalScreen> {
    if (!this.#plan.screen)
      throw new NerveError('bad-option', `Terminal '${this.#id}' keeps no screen: it was made with screen: false.`)
    const screen = await (this.#live ?? (await this.#started())).look()
    if (screen === undefined) throw new NerveError('terminal-ended', `Terminal '${this.#id}' has no screen.`)
    return screen
  }

  watch(listener: (part: TerminalPart) => void): () => void {
    this.#watchers.add(listener)
    return () => this.#watchers.delete(listener)
  }

  takeOver(who: string): void {
    this.#writer.takeOver(this.#id, who)
    this.#tell({ type: 'writer', holder: who })
  }

  handBack(who: string): void {
    this.#writer.handBack(this.#id, who)
    this.#tell({ type: 'writer' })
  }

  async #execute({ line, timeoutMs, name, resumed = false }: Command, on: Listening): Promise<TerminalResult> {
    on.signal?.throwIfAborted()
    const live = await this.#started()
    if (this.#writer.holder !== undefined) {
      on.onWait(this.#writer.holder)
      await this.#writer.free(on.signal)
    }
    if (live.ended !== undefined && !resumed) throw terminalEnded(this.#id, live)
    if (live.failure !== undefined) throw live.failure
    const typed = this.#typed || resumed
    this.#typed = false
    if (live.ended === undefined) this.#become('busy')
    try {
      const { signal, onText } = on
      const wish = { id: this.#id, line, plan: this.#plan, timeoutMs, typed, name, signal, onText }
      const known = resumed ? await resumeCommand(live, wish) : undefined
      return known ?? (await runCommand(live, wish))
    } finally {
      if (this.#live === live && this.#state === 'busy') this.#become(live.ended === undefined ? 'ready' : 'stopped')
    }
  }

  /** The program, started if it never was. One that has ended is given as it is: only `start` and `reset` begin again. */
  async #started(): Promise<LiveTerminal> {
    await this.#stopping
    if (this.#live !== undefined && this.#state !== 'error') return this.#live
    return this.#startedAgain()
  }

  #startedAgain(): Promise<LiveTerminal> {
    this.#starting ??= this.#begin().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #begin(): Promise<LiveTerminal> {
    this.#become('starting')
    try {
      // What an earlier life has left running ends with it; what only was lost is looked for.
      await (this.#live?.lost === true ? this.#live.detach() : this.#live?.stop())
      const plan = { ...this.#plan, ...this.#size }
      const live = await LiveTerminal.start(this.#id, plan, (text) => this.#tell({ type: 'output', text }))
      await this.#ready(live)
      this.#live = live
      this.#size = live.size
      this.#read = BEGINNING
      this.#typed = false
      this.#become(live.ended === undefined ? 'ready' : 'stopped')
      live.onChange(() => {
        if (live.lost && this.#live === live && this.#state !== 'error') this.#become('error')
      })
      void live.process.exit.then(() => {
        if (this.#live === live && (this.#state === 'ready' || this.#state === 'busy')) this.#become('stopped')
      })
      return live
    } catch (error) {
      this.#become('error')
      throw error
    }
  }

  /** A program that says nothing and gives no sign is taken for ready in the end; a marked shell must say so. */
  async #ready(live: LiveTerminal): Promise<void> {
    // One that was there may be busy, or over: that is found, not waited for.
    if (live.process.past !== undefined && live.phase !== 'starting') return
    try {
      const { startTimeoutMs: timeoutMs, readyPattern: pattern } = this.#plan
      const rule = await untilReady(live, { timeoutMs, pattern })
      if (rule === 'exit') throw terminalEnded(this.#id, live)
      if (rule === 'timeout' && live.marked)
        throw new NerveError(
          'timeout',
          `The shell in terminal '${this.#id}' showed no prompt within ${timeoutMs} ms. Look at its rc file, give startTimeout, or marks: 'off'. It last said: ${live.transcript.tail(5).slice(-500)}`,
        )
    } catch (error) {
      await live.stop()
      throw error
    }
  }

  async #stop(): Promise<void> {
    // A start that is under way is let come to its end; then there is something to stop.
    await this.#starting?.catch(() => undefined)
    const live = this.#live
    if (live === undefined) return endLeft(this.#id, this.#plan)
    this.#become('stopping')
    await live.stop()
    this.#become('stopped')
  }

  #become(state: TerminalState): void {
    this.#state = state
    this.#tell({ type: 'state', state })
  }

  /** One watcher that fails must not keep the others, or the terminal, from going on; the process hears of it. */
  #tell(part: TerminalPart): void {
    for (const watcher of this.#watchers)
      try {
        watcher(part)
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : String(error))
      }
  }
}
