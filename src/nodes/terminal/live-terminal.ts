/**
 * One life of a terminal: a process on a PTY, and everything that is known of it from what it prints. A reset begins
 * another one.
 *
 * Owns: the process and what it started, the transcript, the log, the screen, the phase that marks tell.
 * Must not know: steps, who may write, how long somebody wants to wait.
 *
 * Invariants: what is printed goes to the log before anything is made of it; after `stop` nothing that it started runs
 * and no descriptor is open; nothing that is printed becomes input, except the two fixed answers, when asked for.
 */
import { randomBytes } from 'node:crypto'
import { NerveError } from '../../base/nerve-error.ts'
import { guardTree, releaseTree } from '../process-guard.ts'
import { ByteLog } from './byte-log.ts'
import type { Capture } from './capture.ts'
import { EscapeParser, type EscapeSink } from './escape-parser.ts'
import { endedWith, withHandshake } from './exit-handshake.ts'
import { loadPty, loadScreen } from './load-packages.ts'
import { MarkReader, type Mark } from './marks.ts'
import { PtyProcess, type Exit } from './pty-process.ts'
import { ScreenModel } from './screen-model.ts'
import { markShell, shellKind, type MarkedShell } from './shell-marks.ts'
import { findCommand, terminalEnvironment, type TerminalPlan } from './terminal-options.ts'
import { Transcript } from './transcript.ts'

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
  readonly transcript: Transcript
  readonly log: ByteLog | undefined
  readonly process: PtyProcess
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
  #paused = false
  #closed = false
  #over = false

  private constructor(parts: Parts) {
    const { plan, process, screen, log, shell, nonce, onPrinted } = parts
    this.#plan = plan
    this.process = process
    this.#screen = screen
    this.log = log
    this.#shell = shell
    this.marked = shell !== undefined
    this.#marks = new MarkReader(nonce)
    this.#nonce = nonce
    this.#onPrinted = onPrinted
    const characters = plan.scrollback * CHARACTERS_PER_LINE
    this.transcript = new Transcript({ lines: plan.scrollback, characters }, plan.cols, plan.rows)
    process.onBytes((bytes) => this.#take(bytes))
    void process.exit.then((exit) => this.#end(exit))
  }

  /** Starts the program. It is not ready yet. */
  static async start(id: string, plan: TerminalPlan, onPrinted: (text: string) => void): Promise<LiveTerminal> {
    const pty = await loadPty()
    const screens = plan.screen ? await loadScreen() : undefined
    const env = terminalEnvironment(plan)
    const file = findCommand(id, plan, env['PATH'] ?? '')
    const kind = plan.marks === 'off' || plan.args.length > 0 ? undefined : shellKind(plan.command)
    const nonce = randomBytes(8).toString('hex')
    const mark = randomBytes(16).toString('hex')
    const log = plan.log === undefined ? undefined : new ByteLog(plan.log, id, plan.logLimit)
    const shell = kind === undefined ? undefined : markShell(kind, { nonce, rc: plan.rc, env })
    try {
      await guardTree(mark)
      const size = { columns: plan.cols, rows: plan.rows, scrollback: plan.scrollback }
      const screen = screens === undefined ? undefined : new ScreenModel(screens, size)
      const own = { file, args: shell?.args ?? plan.args }
      const program = plan.handshake ? withHandshake(own.file, own.args, nonce) : own
      const process = new PtyProcess(pty, { id, ...program, env: { ...env, ...shell?.env }, mark, plan })
      return new LiveTerminal({ plan, process, screen, log, shell, nonce, onPrinted })
    } catch (error) {
      releaseTree(mark)
      shell?.forget()
      log?.close()
      throw error
    }
  }

  /** Marks that were printed by somebody else, or again. */
  get falseMarks(): number {
    return this.#marks.ignored
  }

  get screen(): ScreenModel | undefined {
    return this.#screen
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
    if (this.marked && this.phase !== 'running') {
      this.phase = 'sent'
      this.#awaitsEnd = true
    }
  }

  finish(capture: Capture): void {
    if (this.#capture === capture) this.#capture = undefined
  }

  write(data: string): void {
    this.waits = false
    if (this.ended === undefined && !this.#closed && !this.#over) this.process.write(data)
  }

  resize(cols: number, rows: number): void {
    this.transcript.columns = cols
    this.transcript.rows = rows
    this.#screen?.resize(cols, rows)
    if (this.ended === undefined) this.process.resize(cols, rows)
  }

  /** Ends the program and everything it started. */
  async stop(): Promise<void> {
    this.#closed = true
    this.#resume()
    try {
      await this.process.stop()
    } finally {
      this.#release()
    }
  }

  text(text: string): void {
    this.transcript.text(text)
    this.#capture?.text(text)
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
    else if (this.#plan.answers) this.#answer(final, params)
  }

  osc(payload: string): void {
    if (this.#plan.handshake && endedWith(payload, this.#nonce) !== undefined) return this.#last()
    const mark = this.#marks.read(payload)
    if (mark !== undefined) this.#mark(mark)
  }

  /** The program has ended, and everything it printed is here: what holds the terminal open may go. */
  #last(): void {
    this.#over = true
    this.process.write('\r')
  }

  /** Two rules: a prompt counts only after the end of what was sent, because shells draw prompts again; and an end
   *  without a code says that nothing ran. */
  #mark({ kind, code }: Mark): void {
    this.waits = false
    if (kind === 'C') {
      this.phase = 'running'
      this.#awaitsEnd = true
      this.#capture?.begin()
    } else if (kind === 'D') {
      this.phase = 'prompting'
      this.#awaitsEnd = false
      this.#capture?.end(code)
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
  readonly process: PtyProcess
  readonly screen: ScreenModel | undefined
  readonly log: ByteLog | undefined
  readonly shell: MarkedShell | undefined
  readonly nonce: string
  readonly onPrinted: (text: string) => void
}
