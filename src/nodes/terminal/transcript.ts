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

/** A text that was not looked at yet, and how many lines end in it. */
interface Piece {
  readonly text: string
  readonly ends: number
}

const MOST_MOVE = 1_000

export class Transcript {
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
  #dropped = 0
  /** What was printed after the last line. Of a flood most is let go as it came, without being taken apart. */
  #queue: Piece[] = []
  #queued = { characters: 0, lines: 0 }

  constructor(limits: TranscriptLimits, columns: number, rows: number) {
    this.#limits = limits
    this.columns = columns
    this.rows = rows
  }

  get alternate(): boolean {
    return this.#alternate
  }

  /** Characters that were let go. */
  get dropped(): number {
    this.#settle()
    return this.#dropped
  }

  /** Where the text ends. */
  get end(): Place {
    this.#settle()
    return { line: this.#before + this.#lines.length - 1, column: this.#lines.at(-1)?.length ?? 0 }
  }

  toString(): string {
    this.#settle()
    return this.#lines.join('\n')
  }

  since({ line, column }: Place): string {
    this.#settle()
    if (line < this.#before) return this.toString()
    const [first = '', ...rest] = this.#lines.slice(line - this.#before)
    return [first.slice(column), ...rest].join('\n')
  }

  tail(lines: number): string {
    this.#settle()
    const last = this.#lines.at(-1) === '' ? this.#lines.length - 1 : this.#lines.length
    return this.#lines.slice(Math.max(0, last - lines), last).join('\n')
  }

  clear(): void {
    this.#settle()
    this.#before += this.#lines.length
    this.#lines = ['']
    this.#size = this.#row = this.#column = 0
  }

  /** Text, with line ends (`\r\n`) in it. Whoever has counted them need not do it again. */
  text(text: string, ends = lineEnds(text)): void {
    if (this.#alternate) return
    const atEnd = this.#row === this.#lines.length - 1 && this.#column === this.#lines[this.#row]?.length
    if (!atEnd) return this.#print(text)
    this.#returned = false
    this.#queue.push({ text, ends })
    this.#queued.characters += text.length
    this.#queued.lines += ends
    if (this.#isTooMuch(this.#queued)) this.#relieve()
  }

  control(code: number): void {
    if (this.#alternate) return
    if (code === 0x09) return this.text('\t')
    this.#settle()
    if (code === 0x0d) this.#return()
    else if (code === 0x0a || code === 0x0b || code === 0x0c) this.#newLine()
    else if (code === 0x08) this.#column = Math.max(0, this.#column - 1)
  }

  escape(sequence: string): void {
    this.#settle()
    if (sequence === 'c') {
      this.#alternate = false
      this.clear()
    } else if (sequence === 'M' && !this.#alternate) this.#row = Math.max(0, this.#row - 1)
  }

  csi(final: string, params: string): void {
    // Colours are not kept.
    if (final === 'm') return
    this.#settle()
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
    this.#bound()
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

  /** Takes apart what is queued. */
  #settle(): void {
    if (this.#queue.length === 0) return
    const text = this.#queue.length === 1 ? (this.#queue[0]?.text ?? '') : this.#queue.map((one) => one.text).join('')
    this.#queue = []
    this.#queued = { characters: 0, lines: 0 }
    this.#print(text)
  }

  /** Lets go of all that is before the last lines of the queue, when these alone are as many as are kept. */
  #relieve(): void {
    const { lines, characters } = this.#limits
    const kept = { characters: 0, lines: 0 }
    let from = this.#queue.length
    let piece: Piece | undefined
    while ((from > 0 && !(kept.lines > lines || kept.characters > characters)) || piece?.ends === 0) {
      from -= 1
      piece = this.#queue[from]
      kept.characters += piece?.text.length ?? 0
      kept.lines += piece?.ends ?? 0
    }
    if (piece === undefined || from <= 0) return this.#settle()
    const end = piece.text.indexOf('\n') + 1
    const gone = {
      characters: this.#queued.characters - kept.characters + end,
      lines: this.#queued.lines - kept.lines + 1,
    }
    this.#dropped += this.#size + this.#lines.length - 1 + gone.characters - gone.lines
    this.#before += this.#lines.length - 1 + gone.lines
    this.#lines = ['']
    this.#size = this.#row = this.#column = 0
    this.#queue = [{ text: piece.text.slice(end), ends: piece.ends - 1 }, ...this.#queue.slice(from + 1)]
    this.#queued = { characters: kept.characters - end, lines: kept.lines - 1 }
  }

  #print(text: string): void {
    const lines = text.split('\r\n')
    this.#write(lines[0] ?? '')
    if (lines.length === 1) return
    if (this.#row === this.#lines.length - 1) return this.#append(lines)
    for (const line of lines.slice(1)) {
      this.#column = 0
      this.#goDown(1)
      this.#write(line)
    }
  }

  #write(text: string): void {
    if (text === '') return
    this.#returned = false
    const line = this.#lines[this.#row] ?? ''
    const until = this.#column + text.length
    const start = line.length < this.#column ? line.padEnd(this.#column) : line
    const whole =
      start.length === this.#column ? start + text : start.slice(0, this.#column) + text + start.slice(until)
    this.#put(whole)
    this.#column = until
    this.#bound()
  }

  /** New lines after the last one; the first of these is there already. */
  #append(lines: readonly string[]): void {
    for (let at = 1; at < lines.length; at += 1) {
      const line = lines[at] ?? ''
      this.#lines.push(line)
      this.#size += line.length
    }
    this.#row = this.#lines.length - 1
    this.#column = this.#lines[this.#row]?.length ?? 0
    this.#returned = false
    this.#bound()
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

  #bound(): void {
    if (this.#isTooMuch({ characters: this.#size, lines: this.#lines.length })) this.#shrink()
  }

  /** A quarter more than the limit is let in, so that lines go in groups. */
  #isTooMuch({ characters, lines }: TranscriptLimits): boolean {
    return characters > this.#limits.characters * 1.25 || lines > this.#limits.lines * 1.25 + 16
  }

  #shrink(): void {
    let gone = Math.max(0, this.#lines.length - this.#limits.lines)
    let size = this.#size
    for (let at = 0; at < gone; at += 1) size -= this.#lines[at]?.length ?? 0
    while (size > this.#limits.characters && gone < this.#row) {
      size -= this.#lines[gone]?.length ?? 0
      gone += 1
    }
    this.#dropped += this.#size - size + gone
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
    this.#dropped += gone
    this.#size -= gone
    // A copy: a slice would keep the long line in memory.
    this.#lines[this.#row] = Buffer.from(line.slice(gone)).toString()
    this.#column = Math.max(0, this.#column - gone)
  }
}

export function lineEnds(text: string): number {
  let ends = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) ends += 1
  return ends
}
