/**
 * The last lines of a terminal, redrawn in place. Owns the cursor while it is open and gives it back on every way out.
 * What others print meanwhile (a workflow's console.log) goes above the frame instead of through it.
 */
import { columnsOf, renderLine, sizeOf, type Line } from './style.ts'

const HIDE = '\u001B[?25l'
const SHOW = '\u001B[?25h'
/** What is pasted comes between marks. */
const MARK_PASTES = '\u001B[?2004h'
const MARK_NO_PASTES = '\u001B[?2004l'
const BEGIN = '\u001B[?2026h'
const END = '\u001B[?2026l'

/** What a screen needs of a terminal: process.stdout is one. */
export interface Terminal {
  readonly columns?: number
  readonly rows?: number
  write(text: string): boolean
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

export interface Caret {
  /** Counted from the end of the frame: 0 is its last line. */
  readonly line: number
  readonly column: number
}

export interface Frame {
  readonly lines: readonly Line[]
  /** Where a person types; without it the cursor is hidden. */
  readonly caret?: Caret
}

export class Screen {
  readonly #terminal: Terminal
  readonly #color: boolean
  readonly #draw: () => Frame
  readonly #write: (text: string) => void
  readonly #restore: (() => void)[] = []
  #shown: string[] = []
  #caret: Caret | undefined
  #held = ''
  #open = true

  constructor(terminal: Terminal, options: { readonly color: boolean; readonly draw: () => Frame }) {
    this.#terminal = terminal
    this.#color = options.color
    this.#draw = options.draw
    const write = terminal.write.bind(terminal)
    this.#write = (text) => void write(text)
    const resized = (): void => this.redraw()
    terminal.on('resize', resized)
    this.#restore.push(() => terminal.off('resize', resized))
    this.#write(`${MARK_PASTES}${HIDE}`)
  }

  get columns(): number {
    return Math.max(10, sizeOf(this.#terminal).columns)
  }

  get rows(): number {
    return Math.max(4, sizeOf(this.#terminal).rows)
  }

  /** Sends what is written to these streams above the frame, until the screen is closed. */
  capture(...streams: { write: unknown }[]): void {
    for (const stream of streams) {
      const write = stream.write
      stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
        this.above(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'))
        const called = typeof encoding === 'function' ? encoding : done
        if (typeof called === 'function') process.nextTick(called)
        return true
      }
      this.#restore.push(() => {
        stream.write = write
      })
    }
  }

  above(text: string): void {
    this.#held += text
    const end = this.#held.lastIndexOf('\n') + 1
    if (end === 0 || !this.#open) return
    const whole = this.#held.slice(0, end)
    this.#held = this.#held.slice(end)
    this.#write(`${BEGIN}${this.#wipe()}${whole}${this.#frame()}${END}`)
  }

  redraw(): void {
    if (!this.#open) return
    this.#write(`${BEGIN}${this.#wipe()}${this.#frame()}${END}`)
  }

  /** Leaves these lines where the frame was, and the cursor below them. */
  close(last: readonly Line[]): void {
    if (!this.#open) return
    const wipe = this.#wipe()
    this.#open = false
    for (const restore of this.#restore.toReversed()) restore()
    const held = this.#held === '' ? '' : `${this.#held}\n`
    const lines = last.map((line) => `${renderLine(line, this.columns, this.#color)}\n`).join('')
    this.#write(`${wipe}${held}${lines}${MARK_NO_PASTES}${SHOW}`)
  }

  /** Goes back to the first cell of the frame and clears it. A narrowed terminal has wrapped the old lines. */
  #wipe(): string {
    if (this.#shown.length === 0) return ''
    const below = this.#caret?.line ?? 0
    const above = this.#shown.slice(0, this.#shown.length - below)
    const up = above.reduce((sum, line) => sum + rowsOf(line, this.columns), 0) - 1
    return `${up > 0 ? `\u001B[${up}A` : ''}\r\u001B[J`
  }

  #frame(): string {
    const { lines, caret } = this.#draw()
    const shown = lines.slice(-(this.rows - 1)).map((line) => renderLine(line, this.columns - 1, this.#color))
    const move =
      caret === undefined
        ? HIDE
        : `${caret.line > 0 ? `\u001B[${caret.line}A` : ''}\r${caret.column > 0 ? `\u001B[${Math.min(caret.column, this.columns - 1)}C` : ''}${SHOW}`
    this.#shown = shown
    this.#caret = caret
    return `${shown.join('\n')}${move}`
  }
}

// oxlint-disable-next-line no-control-regex -- the colours that renderLine adds
const PAINT = /\u001B\[\d+m/g

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(columnsOf(line.replace(PAINT, '')) / columns))
}
