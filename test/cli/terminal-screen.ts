/** A terminal just large enough for tests: what a person would see after all that was written. */
export class TerminalScreen {
  readonly columns: number
  readonly rows: number
  /** Every line ever begun; the cursor never leaves the last `rows` of them. */
  readonly lines: string[][] = [[]]
  cursorHidden = false
  written = ''
  #row = 0
  #column = 0
  #listeners: (() => void)[] = []

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
  }

  on(_event: 'resize', listener: () => void): void {
    this.#listeners.push(listener)
  }

  off(_event: 'resize', listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener)
  }

  get listening(): number {
    return this.#listeners.length
  }

  get text(): string {
    return this.lines
      .map((line) =>
        Array.from(line, (cell) => cell ?? ' ')
          .join('')
          .trimEnd(),
      )
      .join('\n')
  }

  write(text: string): boolean {
    this.written += text
    // oxlint-disable-next-line no-control-regex -- control sequences are what it reads
    for (const [part] of text.matchAll(/\u001B\[[?\d;]*[A-Za-z]|[^]/gu)) this.#put(part)
    return true
  }

  #put(part: string): void {
    if (part === '\r') this.#column = 0
    else if (part === '\n') this.#down()
    else if (part.length > 1 && part.startsWith('\u001B')) this.#control(part)
    else {
      // Past the edge a terminal wraps.
      if (this.#column >= this.columns) this.#down()
      this.#line()[this.#column] = part
      this.#column += 1
    }
  }

  #down(): void {
    this.#row += 1
    this.#column = 0
    if (this.lines[this.#row] === undefined) this.lines[this.#row] = []
  }

  #line(): string[] {
    return this.lines[this.#row]!
  }

  #control(sequence: string): void {
    const count = Number(/\d+/.exec(sequence)?.[0] ?? 1)
    const top = Math.max(0, this.lines.length - this.rows)
    switch (sequence.at(-1)) {
      case 'A':
        this.#row = Math.max(top, this.#row - count)
        return
      case 'C':
        this.#column = Math.min(this.columns - 1, this.#column + count)
        return
      case 'J':
        this.#line().length = this.#column
        this.lines.length = this.#row + 1
        return
      case 'h':
      case 'l':
        if (sequence.includes('?25')) this.cursorHidden = sequence.endsWith('l')
        return
      case 'm':
        return
      default:
        throw new Error(`a control sequence that this terminal does not know: ${JSON.stringify(sequence)}`)
    }
  }
}
