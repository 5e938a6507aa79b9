/**
 * A program in a tmux pane, for as long as this process is connected to it. tmux holds the program, not this process.
 *
 * tmux may lose what a program prints at its very end, and how it ended. So a small shell stays after the program, and says
 * it (exit-handshake.ts): the pane is still there, and nothing is lost. It stays until the pane is ended.
 */
import { readFileSync } from 'node:fs'
import { NerveError } from '../../base/nerve-error.ts'
import { parseStat } from '../process-table.ts'
import type { Tree } from '../process-tree.ts'
import { endTree, killBelow } from '../terminal/program-tree.ts'
import type { Exit, PaneFacts, Past, ProcessSize, TerminalProcess } from '../terminal/terminal-process.ts'
import { refused } from './ask-program.ts'
import { CommandBook } from './command-book.ts'
import { dropRecord, pastUntilNow, wholePast } from './pane-record.ts'
import type { TmuxControl } from './tmux-control.ts'
import type { TmuxPanes } from './tmux-panes.ts'
import type { TmuxPlace, TmuxWords } from './tmux-place.ts'

/** How often it is looked whether somebody has ended all of it: that, nobody says. */
const LOOK_MS = 250
const FACTS = ['pane_pid', 'pane_width', 'pane_height', 'pane_dead', 'pane_dead_status', 'pane_dead_signal', 'pane_tty']

interface Facts {
  readonly pid: number
  readonly size: ProcessSize
  readonly tty: string
  readonly exit?: Exit
}

export interface TmuxParts {
  readonly place: TmuxPlace
  readonly panes: TmuxPanes
  readonly control: TmuxControl
  readonly words: TmuxWords
}

export class TmuxProcess implements TerminalProcess {
  readonly exit: Promise<Exit>
  readonly nonce: string
  readonly book: CommandBook
  readonly pane: PaneFacts
  readonly pid: number
  size?: ProcessSize
  past?: Past
  readonly #place: TmuxPlace
  readonly #panes: TmuxPanes
  readonly #control: TmuxControl
  readonly #tree: Tree
  readonly #ended = Promise.withResolvers<Exit>()
  readonly #heard: Buffer[] = []
  #news = Promise.withResolvers<void>()
  #listener: ((bytes: Uint8Array) => void) | undefined
  #onLost: ((error: NerveError) => void) | undefined
  readonly #looks: NodeJS.Timeout
  #over = false
  #leaving = false

  private constructor({ place, panes, control, words }: TmuxParts, pid: number) {
    this.#place = place
    this.#panes = panes
    this.#control = control
    this.pid = pid
    this.nonce = words.nonce
    this.exit = this.#ended.promise
    this.book = new CommandBook(place.folder)
    this.#tree = { mark: words.tree, root: pid, rootEnded: () => this.#over }
    this.pane = {
      mux: 'tmux',
      id: words.pane,
      attach: `${place.program} -L ${place.socket} attach -t ${place.session}`,
    }
    control.onOutput = (pane, bytes) => {
      if (pane === words.pane) this.#take(bytes)
    }
    void control.closed.then((said) => this.#closed(said))
    this.#looks = setInterval(() => {
      if (!isAlive(pid)) void this.#died()
    }, LOOK_MS)
  }

  /** A pane that has just been made. */
  static async born(parts: TmuxParts): Promise<TmuxProcess> {
    const { pid } = await factsOf(parts.panes, parts.words.pane)
    return new TmuxProcess(parts, pid)
  }

  /** A pane that was there, with what it printed. */
  static async found(parts: TmuxParts): Promise<TmuxProcess> {
    const { pid, size, tty, exit } = await factsOf(parts.panes, parts.words.pane)
    const made = new TmuxProcess(parts, pid)
    made.size = size
    made.book.tidy()
    const { folder } = parts.place
    if (exit === undefined)
      made.past = await pastUntilNow(folder, tty, { pieces: made.#heard, more: () => made.#news.promise })
    else {
      made.past = wholePast(folder)
      made.#heard.length = 0
      made.#end(exit)
    }
    return made
  }

  onBytes(listener: (bytes: Uint8Array) => void): void {
    this.#listener = listener
    for (const bytes of this.#heard.splice(0)) listener(bytes)
  }

  onLost(listener: (error: NerveError) => void): void {
    this.#onLost = listener
  }

  write(data: string): void {
    this.#panes.send(this.pane.id, data).catch((error: unknown) => this.#lose(error))
  }

  resize(cols: number, rows: number): void {
    const size = ['-x', String(cols), '-y', String(rows)]
    this.#panes.ask(['resize-window', '-t', this.pane.id, ...size]).catch((error: unknown) => this.#lose(error))
  }

  pause(): void {
    this.#control.pause()
  }

  resume(): void {
    this.#control.resume()
  }

  over(code: number): void {
    this.#end({ code })
  }

  hangUp(): void {
    if (!this.#over) process.kill(this.pid, 'SIGHUP')
  }

  killBelow(): Promise<void> {
    return killBelow(this.#tree, true)
  }

  async detach(): Promise<void> {
    this.#leaving = true
    clearInterval(this.#looks)
    await this.#control.close()
  }

  async stop(): Promise<void> {
    this.#leaving = true
    await endTree(this.#tree)
    await endSession(this.#panes, this.#place.session)
    await this.#control.close()
    dropRecord(this.#place.folder)
    this.#end({})
  }

  #take(bytes: Buffer): void {
    if (this.#listener !== undefined) return this.#listener(bytes)
    this.#heard.push(bytes)
    this.#news.resolve()
    this.#news = Promise.withResolvers<void>()
  }

  async #died(): Promise<void> {
    try {
      clearInterval(this.#looks)
      const { exit = {} } = await factsOf(this.#panes, this.pane.id)
      this.#end(exit)
    } catch (error) {
      this.#lose(error)
    }
  }

  #end(exit: Exit): void {
    clearInterval(this.#looks)
    this.#over = true
    this.#ended.resolve(exit)
  }

  /** The connection is over. If the pane is too, the program has been ended with it. */
  async #closed(said: string): Promise<void> {
    if (this.#leaving || this.#over) return
    const { code } = await this.#panes.tried(['has-session', '-t', `=${this.#place.session}`])
    if (code === 0) this.#lose(new Error(said === '' ? 'it was closed' : said))
    else this.#end({})
  }

  #lose(cause: unknown): void {
    if (this.#leaving || this.#over) return
    const why = cause instanceof Error ? cause.message : String(cause)
    const message = `The connection to the tmux pane of terminal '${this.#place.id}' is lost: ${why}. The program may go on; start() finds it again.`
    this.#onLost?.(new NerveError('pane-failed', message, { cause, retry: 'later', data: { reason: 'gone' } }))
  }
}

/** tmux may forget to take note of the end of a process: it is dead all the same. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'latin1')) !== undefined
  } catch {
    return false
  }
}

/** Asked without the connection, which may say nothing any more. */
async function factsOf(panes: TmuxPanes, pane: string): Promise<Facts> {
  const format = FACTS.map((name) => `#{${name}}`).join('|')
  const args = ['display-message', '-p', '-t', pane, format]
  const { code: failed, stdout: line, stderr } = await panes.tried(args)
  if (failed !== 0) throw refused({ program: 'tmux', args }, stderr)
  const [pid, cols, rows, dead, status = '', signal = '', tty = ''] = line.trimEnd().split('|')
  const size = { cols: Number(cols), rows: Number(rows) }
  if (dead !== '1') return { pid: Number(pid), size, tty }
  const known = status !== '' || signal !== ''
  const exit = known ? { code: signal === '' ? Number(status) : 128 + Number(signal) } : {}
  return { pid: Number(pid), size, tty, exit }
}

/** One that has gone already is no error. */
export async function endSession(panes: TmuxPanes, session: string): Promise<void> {
  const { code, stderr } = await panes.tried(['kill-session', '-t', `=${session}`])
  if (code !== 0 && !/no server|error connecting|can't find session|server exited|lost server/.test(stderr))
    throw new NerveError('pane-failed', `tmux did not end the session ${session}. It said: ${stderr.trim()}`, {
      data: { reason: 'refused', program: 'tmux' },
    })
}
