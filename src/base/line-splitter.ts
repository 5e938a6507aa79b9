/** Cuts a stream of bytes into lines at line feeds alone: other separators of lines are allowed inside JSON. */
export class LineSplitter {
  readonly #longest: number
  #parts: Buffer[] = []
  #length = 0

  constructor(longest = Number.POSITIVE_INFINITY) {
    this.#longest = longest
  }

  /** The lines that are whole now; undefined when one is longer than allowed. */
  add(chunk: Buffer): string[] | undefined {
    return this.cut(chunk)?.map((line) => line.toString('utf8'))
  }

  /** The same, as bytes. */
  cut(chunk: Buffer): Buffer[] | undefined {
    const lines: Buffer[] = []
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at))
      if (this.#length > this.#longest) return undefined
      lines.push(Buffer.concat(this.#parts))
      this.#parts = []
      this.#length = 0
      from = at + 1
    }
    this.#keep(chunk.subarray(from))
    return this.#length > this.#longest ? undefined : lines
  }

  /** How many bytes are left without a line feed. */
  get pending(): number {
    return this.#length
  }

  /** What is left without a line feed. */
  rest(): string {
    return Buffer.concat(this.#parts).toString('utf8')
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return
    this.#parts.push(part)
    this.#length += part.length
  }
}
