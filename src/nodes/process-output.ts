/** What is kept of one stream of a command: the last bytes in memory, all of them in a file when there are more. */
import { isUtf8 } from 'node:buffer'
import { closeSync, openSync, writeSync } from 'node:fs'

export interface OutputLimits {
  /** Bytes kept in memory: the last ones. */
  readonly maxOutput: number
  /** Bytes kept in the file: the first ones. */
  readonly maxSpill: number
  /** Makes room for the file, when one is needed, and says where it is to be. */
  readonly file: () => string
}

export interface Kept {
  readonly text: string
  /** True when there was more than the text. */
  readonly truncated: boolean
  /** The file with the raw bytes: when there was more than the text, or when the text cannot hold them. */
  readonly spill?: string
  /** Bytes that are not in the file either. */
  readonly dropped: number
}

const FIRST_SIZE = 4096

export class Output {
  readonly #limits: OutputLimits
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** Twice what is kept: then the end is moved to the front only once in a while. */
  #buffer = Buffer.alloc(0)
  #length = 0
  #total = 0
  #file: number | undefined
  #path: string | undefined
  #spilled = 0

  constructor(limits: OutputLimits) {
    this.#limits = limits
  }

  /** Takes the next bytes, and returns what text they complete. Throws when the file cannot be written. */
  take(chunk: Buffer): string {
    this.#total += chunk.length
    if (this.#file === undefined && this.#total > this.#limits.maxOutput) this.#startSpill()
    if (this.#file !== undefined) this.#spill(this.#file, chunk)
    this.#keep(chunk)
    return this.#decoder.decode(chunk, { stream: true })
  }

  /** What an unfinished character at the very end becomes. */
  rest(): string {
    return this.#decoder.decode()
  }

  end(): Kept {
    const { maxOutput } = this.#limits
    const truncated = this.#total > maxOutput
    const bytes = this.#buffer.subarray(Math.max(0, this.#length - maxOutput), this.#length)
    const whole = truncated ? bytes.subarray(characterStart(bytes)) : bytes
    if (this.#file === undefined && !isUtf8(whole)) this.#startSpill()
    this.close()
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole)
    const dropped = this.#path === undefined && !truncated ? 0 : this.#total - this.#spilled
    return { text, truncated, dropped, ...(this.#path === undefined ? {} : { spill: this.#path }) }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #keep(chunk: Buffer): void {
    const { maxOutput } = this.#limits
    const piece = chunk.length > maxOutput ? chunk.subarray(chunk.length - maxOutput) : chunk
    if (this.#length + piece.length > 2 * maxOutput) {
      const end = Math.min(this.#length, maxOutput)
      this.#buffer.copyWithin(0, this.#length - end, this.#length)
      this.#length = end
    }
    this.#makeRoom(this.#length + piece.length)
    piece.copy(this.#buffer, this.#length)
    this.#length += piece.length
  }

  #makeRoom(size: number): void {
    if (size <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.min(2 * this.#limits.maxOutput, Math.max(FIRST_SIZE, 2 * size)))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }

  /** What was kept until now is everything until now. */
  #startSpill(): void {
    if (this.#limits.maxSpill === 0) return
    const path = this.#limits.file()
    this.#file = openSync(path, 'wx', 0o600)
    this.#path = path
    this.#spill(this.#file, this.#buffer.subarray(0, this.#length))
  }

  #spill(file: number, bytes: Buffer): void {
    const fitting = bytes.subarray(0, Math.max(0, this.#limits.maxSpill - this.#spilled))
    for (let at = 0; at < fitting.length;) at += writeSync(file, fitting, at)
    this.#spilled += fitting.length
  }
}

/** Where the first whole character begins, when the text was cut inside of one. */
function characterStart(bytes: Buffer): number {
  let at = 0
  while (at < 3 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1
  return at
}
