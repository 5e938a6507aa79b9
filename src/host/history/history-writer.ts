/**
 * Writes the history of one node. Lines are numbered when they are recorded and written in that order, as many at a time as
 * wait. A line that a crash left unfinished stays as it is; the next one begins on a line of its own. One process at a time
 * may write a file: sessions see to that.
 */
import { appendFile, mkdir, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { HistoryEntry, HistoryLine } from './history.ts'
import { parseLine } from './history-reader.ts'
import type { Redactor } from '../../base/redact.ts'

const FIRST_LOOK = 65_536

export interface HistoryWriterOptions {
  readonly file: string
  readonly clock: Clock
  readonly redactor: Redactor
  /** Hears of lines that could not be written. The node's work goes on: nothing depends on its history. */
  readonly onProblem: (error: unknown) => void
}

export class HistoryWriter {
  readonly #options: HistoryWriterOptions
  #last: number
  /** True when the file may end in the middle of a line. */
  #torn: boolean
  #waiting = ''
  #writing: Promise<void> | undefined
  #closed = false

  private constructor(options: HistoryWriterOptions, end: End) {
    this.#options = options
    this.#last = end.seq
    this.#torn = end.torn
  }

  /** Goes on after the last whole line of the file. Without a file, nothing is made until something is recorded. */
  static async open(options: HistoryWriterOptions): Promise<HistoryWriter> {
    return new HistoryWriter(options, await endOf(options.file))
  }

  /** Takes a line and gives its number. It is written soon; `flush` waits for it. */
  record(line: HistoryLine): number {
    if (this.#closed) return this.#last
    const { clock, redactor } = this.#options
    this.#last += 1
    const { operation, input, output, error, buffer, ...rest } = line
    const entry: HistoryEntry = {
      seq: this.#last,
      time: clock.now(),
      operation,
      ...rest,
      ...('input' in line ? { input: redactor.value(input) ?? null } : {}),
      ...(output === undefined ? {} : { output: redactor.value(output) }),
      ...(error === undefined ? {} : { error: redactor.value(error) as NonNullable<HistoryLine['error']> }),
      ...(buffer === undefined ? {} : { buffer: redactor.text(buffer) }),
    }
    this.#waiting += `${JSON.stringify(entry)}\n`
    this.#writing ??= this.#write()
    return this.#last
  }

  /** Resolves when everything recorded so far is written, or was reported as not written. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Writes what waits. Later lines are not taken. */
  async close(): Promise<void> {
    this.#closed = true
    await this.flush()
  }

  async #write(): Promise<void> {
    while (this.#waiting !== '') {
      const text = this.#waiting
      this.#waiting = ''
      try {
        await mkdir(dirname(this.#options.file), { recursive: true, mode: 0o700 })
        await appendFile(this.#options.file, this.#torn ? `\n${text}` : text, { mode: 0o600 })
        this.#torn = false
      } catch (cause) {
        // It may be half written.
        this.#torn = true
        this.#report(cause)
      }
    }
    this.#writing = undefined
  }

  #report(cause: unknown): void {
    const { file, onProblem } = this.#options
    const reason = cause instanceof Error ? cause.message : String(cause)
    onProblem(new NerveError('store-failed', `The history ${file} could not be written: ${reason}`, { cause }))
  }
}

interface End {
  readonly seq: number
  /** True when the file does not end with the end of a line. */
  readonly torn: boolean
}

/** Reads from the end, and further back until there is a whole line. */
async function endOf(file: string): Promise<End> {
  const opened = await openIfThere(file)
  if (opened === undefined) return { seq: 0, torn: false }
  try {
    const { size } = await opened.stat()
    for (let look = FIRST_LOOK; ; look *= 4) {
      const from = Math.max(0, size - look)
      const bytes = Buffer.alloc(size - from)
      await opened.read(bytes, 0, bytes.length, from)
      const lines = bytes.toString('utf8').split('\n')
      const torn = lines.at(-1) !== ''
      const last = lines.findLast((line, at) => (at > 0 || from === 0) && parseLine(line) !== undefined)
      const seq = last === undefined ? undefined : parseLine(last)?.seq
      if (seq !== undefined) return { seq, torn }
      if (from === 0) return { seq: 0, torn }
    }
  } finally {
    await opened.close()
  }
}

async function openIfThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
