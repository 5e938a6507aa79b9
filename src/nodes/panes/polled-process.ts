/**
 * A program in a pane that says nothing by itself: the pane is looked at again and again, and what has changed is handed
 * on as if it had been printed. It is text, not what the program printed: no marks, no colours, no exit code.
 */
import { NerveError } from '../../base/nerve-error.ts'
import { NO_PROCESS, endTree, killBelow } from '../terminal/program-tree.ts'
import type { TerminalScreen } from '../terminal/terminal-screen.ts'
import type { Exit, PaneFacts, ProcessSize, TerminalProcess } from '../terminal/terminal-process.ts'
import type { PaneInfo, PanePort, PaneView } from './pane-port.ts'

export interface PolledParts {
  readonly port: PanePort
  readonly pane: string
  readonly size: ProcessSize
  /** What everything that the program starts inherits. Missing for a pane that is not ours: it is never ended. */
  readonly tree?: string
}

const LOOK_MS = 150
const ABOVE = 1_000
/** A multiplexer may be busy for a moment. */
const MOST_FAILURES = 3

export class PolledProcess implements TerminalProcess {
  readonly pid = undefined
  readonly exit: Promise<Exit>
  readonly pane: PaneFacts
  readonly size: ProcessSize
  readonly #parts: PolledParts
  readonly #ended = Promise.withResolvers<Exit>()
  #listener: (bytes: Uint8Array) => void = () => undefined
  #onLost: ((error: NerveError) => void) | undefined
  #shown: readonly string[] = ['']
  #looks = 0
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<unknown> = Promise.resolve()
  #sending: Promise<unknown> = Promise.resolve()
  #over = false

  constructor(parts: PolledParts) {
    this.#parts = parts
    this.size = parts.size
    this.exit = this.#ended.promise
    this.pane = { mux: parts.port.kind, id: parts.pane }
  }

  readonly looks = (): number => this.#looks

  onBytes(listener: (bytes: Uint8Array) => void): void {
    this.#listener = listener
    this.#soon(0)
  }

  onLost(listener: (error: NerveError) => void): void {
    this.#onLost = listener
  }

  write(data: string): void {
    const { port, pane } = this.#parts
    this.#sending = this.#sending.then(() => port.send(pane, data)).catch((error: unknown) => this.#lose(error))
  }

  resize(): void {
    // The size of a pane is what the person's window leaves for it.
  }

  pause(): void {
    clearTimeout(this.#timer)
  }

  resume(): void {
    if (!this.#over) this.#soon(0)
  }

  hangUp(): void {
    void this.#kill().catch((error: unknown) => this.#lose(error))
  }

  async killBelow(): Promise<void> {
    const { tree } = this.#parts
    if (tree !== undefined) await killBelow({ mark: tree, root: NO_PROCESS, rootEnded: () => true })
  }

  async detach(): Promise<void> {
    await this.#leave()
    await this.#parts.port.close()
  }

  async stop(): Promise<void> {
    await this.#leave()
    await this.#kill()
    await this.#parts.port.close()
    this.#ended.resolve({})
  }

  async look(): Promise<TerminalScreen> {
    const { port, pane } = this.#parts
    const [view, info] = await Promise.all([port.look(pane, 0), this.#info()])
    const { cols = this.size.cols, title = '' } = info ?? {}
    return { columns: cols, rows: view.rows, cursor: view.cursor, title, alternate: false }
  }

  async #kill(): Promise<void> {
    const { port, pane, tree } = this.#parts
    if (tree === undefined) return
    await endTree({ mark: tree, root: NO_PROCESS, rootEnded: () => true })
    await port.kill(pane)
  }

  async #leave(): Promise<void> {
    this.#over = true
    clearTimeout(this.#timer)
    await Promise.all([this.#looking, this.#sending])
  }

  #soon(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#looking = this.#once()
    }, ms)
  }

  async #once(): Promise<void> {
    try {
      const view = await this.#parts.port.look(this.#parts.pane, ABOVE)
      this.#failures = 0
      if (!this.#over) this.#show(textOf(view))
    } catch (error) {
      await this.#troubled(error)
    }
    if (!this.#over) this.#soon(LOOK_MS)
  }

  async #troubled(error: unknown): Promise<void> {
    this.#failures += 1
    try {
      if ((await this.#info()) === undefined) return this.#gone()
    } catch (cause) {
      error = cause
    }
    if (this.#failures >= MOST_FAILURES) this.#lose(error)
  }

  #gone(): void {
    if (this.#over) return
    this.#over = true
    this.#ended.resolve({})
  }

  async #info(): Promise<PaneInfo | undefined> {
    return (await this.#parts.port.list()).find(({ id }) => id === this.#parts.pane)
  }

  #show(lines: readonly string[]): void {
    const printed = changes(this.#shown, lines)
    this.#shown = lines
    this.#looks += 1
    if (printed !== '') this.#listener(Buffer.from(printed))
  }

  #lose(cause: unknown): void {
    if (this.#over) return
    this.#over = true
    const why = cause instanceof Error ? cause.message : String(cause)
    const message = `The ${this.pane.mux} pane ${this.pane.id} cannot be reached: ${why}`
    this.#onLost?.(new NerveError('pane-failed', message, { cause, retry: 'later', data: { reason: 'gone' } }))
  }
}

/** The text up to the cursor's line; that line as long as the cursor says, because spaces at the ends are not shown. */
function textOf({ lines, rows, cursor }: PaneView): readonly string[] {
  const below = rows.length - 1 - cursor.row
  const last = Math.max(0, lines.length - below)
  const blank = lines.slice(last).every((line) => line === '')
  const kept = blank ? lines.slice(0, last) : [...lines]
  const row = rows[cursor.row] ?? ''
  const end = kept.length - 1
  // A line that goes over several rows is left as it is.
  if (blank && kept[end] === row && cursor.column > row.length) kept[end] = row.padEnd(cursor.column)
  return kept
}

/** What would have to be printed to make the one of the other. */
export function changes(before: readonly string[], after: readonly string[]): string {
  const from = before.slice(scrolled(before, after))
  let same = 0
  while (same < from.length && same < after.length && from[same] === after[same]) same += 1
  if (same === from.length && same === after.length) return ''
  const last = from.at(-1) ?? ''
  // Only the last line has grown, or nothing but new lines has come.
  if (same >= from.length - 1 && (after[from.length - 1] ?? '').startsWith(last) && after.length >= from.length)
    return [(after[from.length - 1] ?? '').slice(last.length), ...after.slice(from.length)].join('\r\n')
  if (same === 0 && before.length > 1) return `\u001b[H\u001b[2J${after.join('\r\n')}`
  const up = from.length - 1 - same
  const rest = after.slice(same).join('\r\n')
  if (up < 0) return `\r\n${rest}`
  return `${up === 0 ? '' : `\u001b[${up}A`}\r\u001b[J${rest}`
}

/** How many of the first lines have gone since. */
function scrolled(before: readonly string[], after: readonly string[]): number {
  for (let gone = 0; gone < before.length - 1; gone += 1) {
    const kept = before.length - 1 - gone
    if (kept > after.length) continue
    let at = 0
    while (at < kept && before[gone + at] === after[at]) at += 1
    if (at === kept) return gone
  }
  return 0
}
