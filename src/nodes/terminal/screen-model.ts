/**
 * The screen as a person would see it, from `@xterm/headless`. What the model would answer to queries of programs is not
 * passed on: an answer is input, and what is printed must not be able to type.
 */
import type { Terminal } from '@xterm/headless'
import type { ScreenModule } from './load-packages.ts'

export interface TerminalScreen {
  readonly columns: number
  /** The rows from top to bottom, without spaces at their ends. */
  readonly rows: readonly string[]
  readonly cursor: { readonly row: number; readonly column: number; readonly visible: boolean }
  readonly title: string
  /** True while a full-screen program (vim, less) has the screen. */
  readonly alternate: boolean
}

interface Size {
  readonly columns: number
  readonly rows: number
  readonly scrollback: number
}

const MOST_TITLE = 500

export class ScreenModel {
  /** Bytes that are not drawn yet. */
  pending = 0
  #title = ''
  #cursorVisible = true
  #disposed = false
  readonly #terminal: Terminal

  constructor({ Terminal: Model }: ScreenModule, { columns, rows, scrollback }: Size) {
    this.#terminal = new Model({ cols: columns, rows, scrollback, allowProposedApi: true, logLevel: 'off' })
    this.#terminal.onTitleChange((title) => {
      this.#title = title.slice(0, MOST_TITLE)
    })
    this.#cursor('h', true)
    this.#cursor('l', false)
  }

  write(bytes: Uint8Array, drawn: () => void): void {
    this.pending += bytes.length
    this.#terminal.write(bytes, () => {
      this.pending -= bytes.length
      drawn()
    })
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows)
  }

  clear(): void {
    this.#terminal.clear()
  }

  /** The screen, once everything that was written is on it. */
  async look(): Promise<TerminalScreen> {
    if (!this.#disposed) await new Promise<void>((resolve) => this.#terminal.write('', resolve))
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
    this.#disposed = true
    this.#terminal.dispose()
  }

  #cursor(final: string, visible: boolean): void {
    this.#terminal.parser.registerCsiHandler({ prefix: '?', final }, (params) => {
      if (params.includes(25)) this.#cursorVisible = visible
      // The model handles it too.
      return false
    })
  }
}
