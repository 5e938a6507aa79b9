/**
 * One life of a terminal: a program, and everything that is known of it from what it prints. A reset begins another one.
 *
 * Owns: the process and what it started, the transcript, the log, the screen, the phase that marks tell.
 * Must not know: where the program runs, steps, who may write, how long somebody wants to wait.
 *
 * Invariants: what is printed goes to the log before anything is made of it; after `stop` nothing that it started runs
 * and no descriptor is open; nothing that is printed becomes input, except the two fixed answers, when asked for.
 */
import { NerveError } from '../../base/nerve-error.ts'
import { BookedCommands } from './booked-commands.ts'
import { ByteLog } from './byte-log.ts'
import { Capture } from './capture.ts'
import { EscapeParser, type EscapeSink } from './escape-parser.ts'
import { endedWith } from './exit-handshake.ts'
import { loadScreen } from './load-packages.ts'
import { MarkReader, type Mark } from './marks.ts'
import { openProgram, type OpenedProgram } from './open-program.ts'
import { ScreenModel } from './screen-model.ts'
import type { TerminalScreen } from './terminal-screen.ts'
import type { MarkedShell } from './shell-marks.ts'
import type { TerminalPlan } from './terminal-options.ts'
import type { Exit, Past, ProcessSize, TerminalProcess } from './terminal-process.ts'
import { lineEnds, Transcript } from './transcript.ts'

/** `prompting`: a command has ended, and the prompt is not there yet. Without marks it stays `starting`. */
export type Phase = 'starting' | 'prompting' | 'ready' | 'sent' | 'running' | 'continuation'

const PAUSE_ABOVE = 512 * 1024
const RESUME_BELOW = 128 * 1024
/** What is kept of one line, when lines are what is limited: a line may be any length. */
const CHARACTERS_PER_LINE = 1_000

export class LiveTerminal implements EscapeSink {
  phase: Phase = 'starting'
  marked: boolean
  /** True while the program takes pasted text as one piece. */
  bracketed = false
  /** How often it has said so. */
  pasteTurns = 0
  /** When something was last printed. */
  printedAt = performance.now()
  /** True when a program other than the shell is known to wait for input. */
  waits = false
  ended: Exit | undefined
  failure: NerveError | undefined
  /** True when the way to the program is lost. The program may go on. */
  lost = false
  readonly transcript: Transcript
  readonly log: ByteLog | undefined
  readonly process: TerminalProcess
  readonly size: ProcessSize
  /** What became of commands of steps, where that outlives a process. */
  readonly booked: BookedCommands | undefined
  readonly #screen: ScreenModel | undefined
  readonly #marks: MarkReader
  readonly #nonce: string
  readonly #shell: MarkedShell | undefined
  readonly #plan: TerminalPlan
  readonly #parser = new EscapeParser(this)
  readonly #decoder = new TextDecoder()
  readonly #listeners = new Set<() => void>()
  readonly #onPrinted: (text: string) => void
  #capture: Capture | undefined
  #awaitsEnd = false
  /** True while it is read what was printed before this process came. */
  #replaying = false
  #paused = false
  #closed = false
  #over = false

  private constructor(parts: Parts) {
    const { plan, size, program, screen, log, onPrinted } = parts
    const { process, shell, nonce } = program
    this.#plan = plan
    this.process = process
    this.size = size
    this.#screen = screen
    this.log = log
    this.#shell = shell
    this.marked = program.marked
    this.#marks = new MarkReader(nonce)
    this.#nonce = nonce
    this.#onPrinted = onPrinted
    const characters = plan.scrollback * CHARACTERS_PER_LINE
    this.transcript = new Transcript({ lines: plan.scrollback, characters }, size.cols, size.rows)
    const { book, past } = process
    this.booked = book === undefined ? undefined : new BookedCommands(book.all(), () => this.newCapture())
    if (past !== undefined) this.#replay(past)
    process.onBytes((bytes) => this.#take(bytes))
    process.onLost?.((error) => this.#lose(error))
    void process.exit.then((exit) => this.#end(exit))
  }

  /** Starts the program, or finds it. It is not ready yet. */
  static async start(id: string, plan: TerminalPlan, onPrinted: (text: string) => void): Promise<LiveTerminal> {
    const screens = plan.screen ? await loadScreen() : undefined
    const log = plan.log === undefined ? undefined : new ByteLog(plan.log, id, plan.logLimit)
    let program: OpenedProgram | undefined
    try {
      program = await openProgram(id, plan)
      const size = program.process.size ?? { cols: plan.cols, rows: plan.rows }
      const { cols: columns, rows } = size
      const kept = program.process.look !== undefined || screens === undefined
      const screen = kept ? undefined : new ScreenModel(screens, { columns, rows, scrollback: plan.scrollback })
      return new LiveTerminal({ plan, size, program, screen, log, onPrinted })
    } catch (error) {
      await program?.process.detach()
      log?.close()
      throw error
    }
  }

  /** Marks that were printed by somebody else, or again. */
  get falseMarks(): number {
    return this.#marks.ignored
  }

  /** The number of the prompt that was last heard of. */
  get turn(): number {
    return this.#marks.turn
  }

  get screen(): ScreenModel | undefined {
    return this.#screen
  }

  /** The screen; undefined when none is kept. */
  async look(): Promise<TerminalScreen | undefined> {
    return this.process.look === undefined ? this.#screen?.look() : this.process.look()
  }

  newCapture(onText?: (text: string) => void): Capture {
    const limits = { lines: Number.MAX_SAFE_INTEGER, characters: this.#plan.maxOutput }
    return new Capture(limits, { cols: this.transcript.columns, rows: this.transcript.rows }, onText)
  }

  /** Hears of every change, until it is told to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Collects what is printed from here on: what a command prints, when the shell says where that begins. */
  begin(capture: Capture): void {
    this.#capture = capture
    capture.open = !this.marked || this.phase === 'running'
    if (this.marked && this.phase !== 'running') this.#sent()
  }

  #sent(): void {
    this.phase = 'sent'
    this.#awaitsEnd = true
  }

  finish(capture: Capture): void {
    if (this.#capture === capture) this.#capture = undefined
  }

  write(data: string): void {
    this.waits = false
    if (this.ended === undefined && !this.#closed && !this.#over) this.process.write(data)
  }

  /** Types what is no command of ours. A line that is sent to a shell may begin a command: what comes next waits for it. */
  type(data: string): void {
    if (this.marked && this.phase === 'ready' && /[\r\n]$/.test(data)) this.#sent()
    this.write(data)
  }

  resize(cols: number, rows: number): void {
    this.transcript.columns = cols
    this.transcript.rows = rows
    this.#screen?.resize(cols, rows)
    if (this.ended === undefined) this.process.resize(cols, rows)
  }

  /** Lets go of the program; where it can, it goes on. */
  detach(): Promise<void> {
    this.failure ??= new NerveError('interrupted', 'The terminal was let go. What runs in it may go on.', {
      retry: 'later',
    })
    return this.#close(() => this.process.detach())
  }

  /** Ends the program and everything it started. */
  stop(): Promise<void> {
    return this.#close(() => this.process.stop())
  }

  async #close(how: () => Promise<void>): Promise<void> {
    this.#closed = true
    this.#resume()
    try {
      await how()
    } finally {
      this.#release()
    }
  }

  text(text: string): void {
    const ends = lineEnds(text)
    this.transcript.text(text, ends)
    this.#capture?.text(text, ends)
  }

  control(code: number): void {
    this.transcript.control(code)
    this.#capture?.control(code)
  }

  escape(sequence: string): void {
    this.transcript.escape(sequence)
    this.#capture?.escape(sequence)
  }

  csi(final: string, params: string): void {
    this.transcript.csi(final, params)
    this.#capture?.csi(final, params)
    if (params === '?2004' && final === 'h') {
      this.bracketed = true
      this.pasteTurns += 1
    } else if (params === '?2004' && final === 'l') this.bracketed = false
    else if (this.#plan.answers === true || (this.#plan.answers === 'shell' && this.phase !== 'running'))
      this.#answer(final, params)
  }

  osc(payload: string): void {
    const code = this.#plan.handshake ? endedWith(payload, this.#nonce) : undefined
    if (code !== undefined) return this.#last(code)
    const mark = this.#marks.read(payload)
    if (mark !== undefined) this.#mark(mark)
  }

  /** The program has ended, and everything it printed is here: what holds the terminal open may go. */
  #last(code: number): void {
    this.#over = true
    if (this.process.over === undefined) this.process.write('\r')
    else this.process.over(code)
  }

  /** Two rules: a prompt counts only after the end of what was sent, because shells draw prompts again; and an end
   *  without a code says that nothing ran. */
  #mark({ kind, code }: Mark): void {
    this.waits = false
    if (kind === 'C') {
      this.phase = 'running'
      this.#awaitsEnd = true
      if (this.#replaying) this.#capture = this.booked?.began(this.turn)
      else this.#capture?.begin()
    } else if (kind === 'D') {
      this.phase = 'prompting'
      this.#awaitsEnd = false
      this.#capture?.end(code)
      this.booked?.ended(this.turn - 1, this.#capture)
      if (this.#replaying) this.#capture = undefined
    } else if (kind === 'B' && !this.#awaitsEnd) {
      this.phase = 'ready'
      this.#shell?.forget()
    } else if (kind === 'P' && this.phase === 'sent') this.phase = 'continuation'
    else if (kind === 'U') {
      this.marked = false
      this.#shell?.forget()
    }
  }

  #answer(final: string, params: string): void {
    if (final === 'c' && (params === '' || params === '0')) this.write('\u001b[?1;2c')
    else if (final === 'n' && params === '5') this.write('\u001b[0n')
    else if (final === 'n' && params === '6')
      void this.#screen?.look().then(({ cursor }) => this.write(`\u001b[${cursor.row + 1};${cursor.column + 1}R`))
  }

  #take(bytes: Uint8Array): void {
    try {
      this.log?.write(bytes)
    } catch (cause) {
      this.#fail(cause)
    }
    this.printedAt = performance.now()
    this.#screen?.write(bytes, () => this.#drawn())
    if ((this.#screen?.pending ?? 0) > PAUSE_ABOVE && !this.#paused) {
      this.#paused = true
      this.process.pause()
    }
    this.#read(this.#decoder.decode(bytes, { stream: true }))
  }

  /** Makes of what was printed earlier what it would have been. Nobody hears of it: it is no news. */
  #replay({ bytes, cut }: Past): void {
    this.#replaying = this.#marks.skips = true
    if (cut) this.#capture = this.booked?.beganBefore()
    this.#screen?.write(bytes, () => this.#drawn())
    this.#parser.read(this.#decoder.decode(bytes, { stream: true }))
    this.#replaying = this.#marks.skips = false
  }

  #read(text: string): void {
    this.#parser.read(text)
    this.#capture?.flush()
    this.#onPrinted(text)
    this.#changed()
  }

  #drawn(): void {
    if (this.#paused && (this.#screen?.pending ?? 0) < RESUME_BELOW) this.#resume()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.process.resume()
  }

  /** What is printed can no longer be kept: better no terminal than one that forgets. */
  #fail(cause: unknown): void {
    this.failure ??= new NerveError(
      'command-failed',
      `The log ${this.log?.file ?? ''} cannot be written: ${(cause as Error).message}. Make room, then reset the terminal.`,
      { cause, retry: 'later', data: { reason: 'output' } },
    )
    this.process.hangUp()
  }

  #lose(error: NerveError): void {
    this.lost = true
    this.failure ??= error
    this.#changed()
  }

  #end(exit: Exit): void {
    this.ended = exit
    const rest = this.#decoder.decode()
    if (rest !== '') this.#read(rest)
    this.#shell?.forget()
    this.log?.close()
    this.#changed()
  }

  #release(): void {
    this.#shell?.forget()
    this.log?.close()
    this.#screen?.dispose()
    this.#changed()
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}

interface Parts {
  readonly plan: TerminalPlan
  readonly size: ProcessSize
  readonly program: OpenedProgram
  readonly screen: ScreenModel | undefined
  readonly log: ByteLog | undefined
  readonly onPrinted: (text: string) => void
}
