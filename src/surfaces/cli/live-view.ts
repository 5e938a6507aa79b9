/** The live tree: spinners, iterations, times, cost, and the question that waits. */
import { showDuration } from '../../base/duration.ts'
import type { RunEvent } from '../../host/api.ts'
import { joined, usageText } from './event-lines.ts'
import { readKeys } from './read-keys.ts'
import type { Output } from './output.ts'
import { NOTHING, briefLines, problemLines, questionLines, typed, typedLine, type Typed } from './prompt.ts'
import type { KnownQuestion, KnownRun, Progress } from './progress.ts'
import { Screen, type Frame, type Terminal } from './screen.ts'
import { renderLine, type Line } from './style.ts'
import { fitLines, treeLines, type TreeLine } from './tree-view.ts'
import type { View, ViewKeys } from './view.ts'

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
/** Drawing may take one part in so many of the time: a run of many thousand steps is not slowed by being watched. */
const DRAWING_SHARE = 20
/** What stays in the terminal when the run is over; `nerve show` has it all. */
const MOST_LAST_LINES = 100

/** When somebody else has answered, what is typed just now is meant for the old question. */
const DEAF_MS = 1_000

interface Asking {
  readonly question: KnownQuestion
  readonly problem: string | undefined
  line: Typed
}

/** The run and its state stay in sight above a question. */
const TREE_ROWS = 2

export class LiveView implements View {
  readonly #progress: Progress
  readonly #screen: Screen
  readonly #keys: ViewKeys
  readonly #color: boolean
  #timer: NodeJS.Timeout
  readonly #restore: () => void
  #beat = 0
  #said: string | undefined
  #asking: Asking | undefined
  #deafUntil = 0
  /** The question that is too long for the window: all of it was written above. */
  #toldAbove: string | undefined

  constructor(
    out: Output,
    progress: Progress,
    keys: ViewKeys,
    terminal: Terminal & { write: unknown } = process.stdout,
  ) {
    this.#progress = progress
    this.#keys = keys
    this.#color = out.color
    this.#screen = new Screen(terminal, { color: out.color, draw: () => this.#draw() })
    if (terminal === process.stdout) this.#screen.capture(process.stdout, process.stderr)
    this.#timer = setTimeout(() => this.#tick(), 0)
    // However the process ends, the terminal gets its cursor and its mode back.
    this.#restore = () => this.close()
    process.once('exit', this.#restore)
  }

  hear(_event: RunEvent): void {
    // The next beat shows it: many events come in one, and the eye needs no more.
  }

  say(text: string): void {
    this.#said = text
    this.#screen.redraw()
  }

  ask(question: KnownQuestion, problem: string | undefined, gone: AbortSignal): Promise<string | undefined> {
    const asking: Asking = { question, problem, line: NOTHING }
    this.#asking = asking
    return new Promise((resolve) => {
      const end = (text: string | undefined): void => {
        stopKeys()
        gone.removeEventListener('abort', dismissed)
        this.#asking = undefined
        this.#screen.redraw()
        resolve(text)
      }
      const dismissed = (): void => {
        this.#deafUntil = performance.now() + DEAF_MS
        end(undefined)
      }
      const stopKeys = readKeys((key) => {
        if (key.ctrl === true && (key.name === 'c' || key.name === 'd')) return this.#keys.interrupt()
        if (key.ctrl === true && key.name === 'z' && this.#keys.leave !== undefined) return this.#keys.leave()
        if (performance.now() < this.#deafUntil) return
        if (key.name !== 'return' && key.name !== 'enter') asking.line = typed(asking.line, key)
        else if (asking.line.text.trim() !== '') return end(asking.line.text.trim())
        this.#screen.redraw()
      })
      gone.addEventListener('abort', dismissed)
      if (gone.aborted) dismissed()
      else this.#screen.redraw()
    })
  }

  close(): void {
    clearTimeout(this.#timer)
    process.off('exit', this.#restore)
    const trees = this.#tree('▸')
    this.#screen.close(trees.flatMap(({ head, lines }) => [head, ...fitLines(lines, MOST_LAST_LINES)]))
  }

  #tick(): void {
    this.#beat += 1
    const began = performance.now()
    this.#screen.redraw()
    const took = performance.now() - began
    this.#timer = setTimeout(() => this.#tick(), Math.max(FRAME_MS, took * DRAWING_SHARE))
  }

  #tree(
    spinner = SPINNER[this.#beat % SPINNER.length] ?? '',
  ): { readonly head: Line; readonly lines: readonly TreeLine[] }[] {
    const options = { now: Date.now(), spinner }
    return this.#progress.roots.map((run) => ({
      head: headLine(this.#progress, run, options),
      lines: treeLines(this.#progress, run, options),
    }))
  }

  #draw(): Frame {
    const { columns, rows } = this.#screen
    const below = this.#below(columns, rows)
    const trees = this.#tree()
    const room = Math.max(1, Math.floor((rows - 1 - below.lines.length) / Math.max(1, trees.length)) - 1)
    const lines = trees.flatMap(({ head, lines: all }) => [head, ...fitLines(all, room)])
    return { ...below, lines: [...lines, ...below.lines] }
  }

  #below(columns: number, rows: number): Frame {
    const said: Line[] = this.#said === undefined ? [] : [[{ text: this.#said, tone: 'warn' }]]
    const asking = this.#asking
    const hint: Line = [{ text: this.#keys.hint, tone: 'dim' }]
    if (asking === undefined) return { lines: said.length === 0 ? [hint] : said }
    const { line, column } = typedLine(asking.line, columns)
    const problem = asking.problem === undefined ? [] : problemLines(asking.problem, columns)
    const rest = [...problem, ...said, line, hint]
    const question = this.#question(asking.question, { columns, room: rows - 1 - TREE_ROWS - rest.length })
    if (performance.now() < this.#deafUntil)
      return { lines: [...question, [{ text: 'Somebody else has answered the one before.', tone: 'warn' }]] }
    return {
      lines: [...question, ...rest],
      caret: { line: 1, column },
    }
  }

  #question(question: KnownQuestion, size: { readonly columns: number; readonly room: number }): readonly Line[] {
    const now = Date.now()
    const whole = questionLines(question, size.columns, now)
    if (whole.length <= size.room) return whole
    if (this.#toldAbove !== question.id) {
      this.#toldAbove = question.id
      const text = whole.map((line) => `${renderLine(line, size.columns - 1, this.#color)}\n`).join('')
      // Not in the middle of a drawing.
      setImmediate(() => this.#screen.above(text))
    }
    return briefLines(question, now, size)
  }
}

function headLine(
  progress: Progress,
  run: KnownRun,
  options: { readonly now: number; readonly spinner: string },
): Line {
  const { timeline } = run
  const status = timeline.status ?? (progress.paused.has(run.run) ? 'paused' : undefined)
  const symbol = status === undefined ? options.spinner : (HEADS[status] ?? '•')
  const time = timeline.started === undefined ? '' : showDuration((timeline.ended ?? options.now) - timeline.started)
  const spent = progress.roots.length === 1 ? usageText(progress.usage()) : ''
  const tone = status === 'failed' ? 'bad' : status === 'completed' ? 'good' : 'ask'
  return [
    { text: `${symbol} `, tone },
    { text: run.definition, tone: 'bold' },
    { text: `  ${joined(run.run, time, spent)}`, tone: 'dim' },
  ]
}

const HEADS: Readonly<Record<string, string>> = {
  completed: '✓',
  'completed-with-failures': '!',
  failed: '✗',
  cancelled: '◦',
  paused: '‖',
}
