/**
 * What was printed, as plain text: lines as long as the program wrote them, whatever the width of the screen. Carriage
 * returns, backspaces, erasing and moves of the cursor are applied; what a full-screen program draws on the alternate
 * screen is left out. Bounded: the oldest goes first, and it is counted.
 */

export interface TranscriptLimits {
  readonly lines: number
  readonly characters: number
}

/** A place in the text that stays what it is while older lines go. */
export interface Place {
  readonly line: number
  readonly column: number
}

const MOST_MOVE = 1_000

export class Transcript {
  /** Characters that were let go. */
  dropped = 0
  columns: number
  rows: number
  readonly #limits: TranscriptLimits
  #lines: string[] = ['']
  /** How many lines were let go, or cleared, before the first one here. */
  #before = 0
  #size = 0
  #row = 0
  #column = 0
  #returned = false
  #alternate = false

  constructor(limits: TranscriptLimits, columns: number, rows: number) {
    this.#limits = limits
    this.columns = columns
    this.rows = rows
  }

  get alternate(): boolean {
    return this.#alternate
  }

  /** Where the text ends. */
  get end(): Place {
    return { line: this.#before + this.#lines.length - 1, column: this.#lines.at(-1)?.length ?? 0 }
  }

  toString(): string {
    return this.#lines.join('\n')
  }

  since({ line, column }: Place): string {
    if (line < this.#before) return this.toString()
    const [first = '', ...rest] = this.#lines.slice(line - this.#before)
    return [first.slice(column), ...rest].join('\n')
  }

  tail(lines: number): string {
    const last = this.#lines.at(-1) === '' ? this.#lines.length - 1 : this.#lines.length
    return this.#lines.slice(Math.max(0, last - lines), last).join('\n')
  }

  clear(): void {
    this.#before += this.#lines.length
    this.#lines = ['']
    this.#size = this.#row = this.#column = 0
  }

  text(text: string): void {
    if (this.#alternate) return
    this.#returned = false
    const line = this.#lines[this.#row] ?? ''
    const until = this.#column + text.length
    const start = line.length < this.#column ? line.padEnd(this.#column) : line
    const whole =
      start.length === this.#column ? start + text : start.slice(0, this.#column) + text + start.slice(until)
    this.#put(whole)
    this.#column = until
    if (this.#size > this.#limits.characters * 1.25) this.#shrink()
  }

  control(code: number): void {
    if (this.#alternate) return
    if (code === 0x0d) this.#return()
    else if (code === 0x0a || code === 0x0b || code === 0x0c) this.#newLine()
    else if (code === 0x08) this.#column = Math.max(0, this.#column - 1)
    else if (code === 0x09) this.text('\t')
  }

  escape(sequence: string): void {
    if (sequence === 'c') {
      this.#alternate = false
      this.clear()
    } else if (sequence === 'M' && !this.#alternate) this.#row = Math.max(0, this.#row - 1)
  }

  csi(final: string, params: string): void {
    if (params.startsWith('?')) return this.#mode(final, params)
    if (this.#alternate) return
    const given = Number.parseInt(params, 10)
    const count = Math.min(Number.isNaN(given) || given === 0 ? 1 : given, MOST_MOVE)
    if (final === 'K') this.#eraseLine(Number.isNaN(given) ? 0 : given)
    else if (final === 'J') this.#eraseScreen(Number.isNaN(given) ? 0 : given)
    else if (final === 'H' || final === 'f') this.#goTo(count, Number.parseInt(params.split(';')[1] ?? '1', 10))
    else if (final === 'P' || final === 'X' || final === '@') this.#editLine(final, count)
    else this.#move(final, count)
  }

  #mode(final: string, params: string): void {
    if (!/^\?(?:.*;)?(?:47|1047|1049)(?:;|$)/.test(params)) return
    if (final === 'h') this.#alternate = true
    else if (final === 'l') this.#alternate = false
  }

  #move(final: string, count: number): void {
    if (final === 'A' || final === 'F') this.#row = Math.max(0, this.#row - count)
    else if (final === 'B' || final === 'E') this.#goDown(count)
    else if (final === 'C') this.#column = Math.min(this.#column + count, Math.max(this.#column, this.columns * 2))
    else if (final === 'D') this.#column = Math.max(0, this.#column - count)
    else if (final === 'G') this.#column = Math.min(count, this.columns) - 1
    if (final === 'E' || final === 'F') this.#column = 0
  }

  /** The screen is taken for the last lines of the text. */
  #goTo(row: number, column: number): void {
    const top = Math.max(0, this.#lines.length - this.rows)
    const wanted = top + Math.min(row, this.rows) - 1
    if (wanted > this.#row) this.#goDown(wanted - this.#row)
    this.#row = wanted
    this.#column = Math.min(Math.max(Number.isNaN(column) ? 1 : column, 1), this.columns) - 1
  }

  #goDown(count: number): void {
    this.#row += count
    while (this.#lines.length <= this.#row) this.#lines.push('')
    if (this.#lines.length > this.#limits.lines * 1.25 + 16) this.#shrink()
  }

  /** A line that is longer than the screen is several rows of it; the cursor goes back within the last one. */
  #return(): void {
    this.#returned = true
    this.#column = this.#column === 0 ? 0 : Math.floor((this.#column - 1) / this.columns) * this.columns
  }

  #newLine(): void {
    this.#column = this.#returned ? 0 : this.#column % this.columns
    this.#returned = false
    this.#goDown(1)
  }

  #put(line: string): void {
    this.#size += line.length - (this.#lines[this.#row]?.length ?? 0)
    this.#lines[this.#row] = line
  }

  #eraseLine(which: number): void {
    const line = this.#lines[this.#row] ?? ''
    if (which === 0) this.#put(line.slice(0, this.#column))
    else if (which === 1) this.#put(' '.repeat(Math.min(this.#column + 1, line.length)) + line.slice(this.#column + 1))
    else this.#put('')
  }

  #eraseScreen(which: number): void {
    if (which === 2 || which === 3) return this.clear()
    if (which !== 0) return
    this.#eraseLine(0)
    for (const line of this.#lines.splice(this.#row + 1)) this.#size -= line.length
  }

  #editLine(final: string, count: number): void {
    const line = this.#lines[this.#row] ?? ''
    const before = line.slice(0, this.#column)
    if (final === 'P') this.#put(before + line.slice(this.#column + count))
    else if (final === '@') this.#put(before + ' '.repeat(count) + line.slice(this.#column))
    else if (line.length > this.#column)
      this.#put(before + ' '.repeat(Math.min(count, line.length - before.length)) + line.slice(this.#column + count))
  }

  #shrink(): void {
    let gone = Math.max(0, this.#lines.length - this.#limits.lines)
    let size = this.#size
    for (let at = 0; at < gone; at += 1) size -= this.#lines[at]?.length ?? 0
    while (size > this.#limits.characters && gone < this.#row) {
      size -= this.#lines[gone]?.length ?? 0
      gone += 1
    }
    this.dropped += this.#size - size + gone
    this.#lines.splice(0, gone)
    this.#before += gone
    this.#row = Math.max(0, this.#row - gone)
    this.#size = size
    if (size > this.#limits.characters) this.#shorten(size - this.#limits.characters)
  }

  /** One line alone is too long: its beginning goes. */
  #shorten(excess: number): void {
    const cut = Math.ceil(excess / this.columns) * this.columns
    const line = this.#lines[this.#row] ?? ''
    const gone = Math.min(cut, line.length)
    this.dropped += gone
    this.#size -= gone
    // A copy: a slice would keep the long line in memory.
    this.#lines[this.#row] = Buffer.from(line.slice(gone)).toString()
    this.#column = Math.max(0, this.#column - gone)
  }
}
