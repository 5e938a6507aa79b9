/**
 * The screen as a person would see it, from `@xterm/headless`. What the model would answer to queries of programs is not
 * passed on: an answer is input, and what is printed must not be able to type.
 *
 * It is drawn when somebody looks, or when much is to be drawn: lines that nobody can see any more are then left out.
 */
import type { Terminal } from '@xterm/headless'
import type { ScreenModule } from './load-packages.ts'
import type { TerminalScreen } from './terminal-screen.ts'
import { openEnd, readPrinted, withoutUnseen } from './unseen-lines.ts'

interface Size {
  readonly columns: number
  readonly rows: number
  readonly scrollback: number
  /** Bytes that may wait to be drawn. */
  readonly mostHeld?: number
}

const MOST_TITLE = 500
const MOST_HELD = 256 * 1024
const MOST_PIECES = 1_000

export class ScreenModel {
  /** Bytes that are being drawn. */
  pending = 0
  #title = ''
  #cursorVisible = true
  #margins = false
  #held: Uint8Array[] = []
  #heldSize = 0
  #ground = true
  /** How much is under way that may change how lines scroll. */
  #changing = 0
  #gone: Promise<void> | undefined
  /** Who is told whenever something was drawn, whatever made it be drawn. */
  #drawn: (() => void) | undefined
  readonly #mostHeld: number
  readonly #terminal: Terminal

  constructor({ Terminal: Model }: ScreenModule, { columns, rows, scrollback, mostHeld = MOST_HELD }: Size) {
    this.#mostHeld = mostHeld
    this.#terminal = new Model({ cols: columns, rows, scrollback, allowProposedApi: true, logLevel: 'off' })
    this.#terminal.onTitleChange((title) => {
      this.#title = title.slice(0, MOST_TITLE)
    })
    this.#cursor('h', true)
    this.#cursor('l', false)
    this.#terminal.parser.registerCsiHandler({ final: 'r' }, ([top = 0, bottom = 0]) => {
      // The alternate screen has margins of its own.
      if (this.#terminal.buffer.active.type === 'normal')
        this.#margins = !(Number(top) <= 1 && (bottom === 0 || Number(bottom) >= this.#terminal.rows))
      return false
    })
  }

  write(bytes: Uint8Array, drawn: () => void): void {
    if (this.#gone !== undefined) return
    this.#drawn = drawn
    this.#held.push(bytes)
    this.#heldSize += bytes.length
    // A program may print one character at a time: each would cost more than it holds.
    if (this.#held.length > MOST_PIECES) this.#held = [Buffer.concat(this.#held)]
    if (this.#heldSize > this.#mostHeld) this.#draw(true)
  }

  resize(columns: number, rows: number): void {
    if (this.#gone !== undefined) return
    this.#then(() => {
      this.#changing -= 1
      // The model forgets them too.
      this.#margins = false
      this.#terminal.resize(columns, rows)
    })
    // How many lines can be seen is not known until then.
    this.#changing += 1
  }

  clear(): void {
    this.#then(() => this.#terminal.clear())
  }

  /** The screen, once everything that was written is on it. */
  async look(): Promise<TerminalScreen> {
    await (this.#gone ?? this.#caughtUp())
    const { active } = this.#terminal.buffer
    const row = (at: number): string => active.getLine(active.baseY + at)?.translateToString(true) ?? ''
    return {
      columns: this.#terminal.cols,
      rows: Array.from({ length: this.#terminal.rows }, (_, at) => row(at)),
      cursor: { row: active.cursorY, column: active.cursorX, visible: this.#cursorVisible },
      title: this.#title,
      alternate: active.type === 'alternate',
    }
  }

  dispose(): void {
    this.#gone ??= this.#caughtUp().then(() => this.#terminal.dispose())
  }

  #caughtUp(): Promise<void> {
    return new Promise((resolve) => this.#then(resolve))
  }

  /** Does something when everything that was written until now is drawn. */
  #then(next: () => void): void {
    if (this.#gone !== undefined) return
    this.#draw(false)
    this.#terminal.write('', next)
  }

  /** Draws what is held; when only because it is much, without a sequence that may not be whole. */
  #draw(much: boolean): void {
    if (this.#heldSize === 0) return
    const held = Buffer.concat(this.#held)
    const all = held.toString('latin1')
    const end = much ? openEnd(all) : all.length
    this.#held = end === all.length ? [] : [Buffer.from(held.subarray(end))]
    this.#heldSize = all.length - end
    const { text, ground, changes, linesFrom } = readPrinted(all.slice(0, end), this.#ground)
    this.#ground = ground
    const scrolls = !changes && this.#changing === 0 && !this.#margins && this.#terminal.buffer.active.type === 'normal'
    const shown = scrolls && linesFrom !== undefined ? withoutUnseen(text, linesFrom, this.#reach()) : text
    this.pending += shown.length
    if (changes) this.#changing += 1
    this.#terminal.write(Buffer.from(shown, 'latin1'), () => {
      this.pending -= shown.length
      if (changes) this.#changing -= 1
      this.#drawn?.()
    })
  }

  /** After so many line ends nothing is left of what was there: down to the last row, and then all of it out. */
  #reach(): number {
    return 2 * this.#terminal.rows + (this.#terminal.options.scrollback ?? 0)
  }

  #cursor(final: string, visible: boolean): void {
    this.#terminal.parser.registerCsiHandler({ prefix: '?', final }, (params) => {
      if (params.includes(25)) this.#cursorVisible = visible
      // The model handles it too.
      return false
    })
  }
}
