/**
 * Which commands of steps were typed into a pane. It is written before a command is typed, so that whoever comes after a
 * crash knows: what is not here was never typed; what is here belongs to the prompt of that number, and the marks of the
 * shell tell what became of it.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a command is known by: the step and its attempt. */
export interface CommandName {
  readonly key: string
  readonly attempt: number
}

export interface BookedCommand extends CommandName {
  /** The number of the prompt at which it was typed. */
  readonly turn: number
  /** True when it was typed to a program, not to the shell: no mark tells of it. */
  readonly nested: boolean
}

/** Far more than can be in flight: what is forgotten here would be taken for never typed. */
const MOST = 5_000

export class CommandBook {
  readonly #file: string

  constructor(folder: string) {
    this.#file = join(folder, 'commands.jsonl')
  }

  /** In the order in which they were typed. A line that was not finished when its writer died was not typed either. */
  all(): readonly BookedCommand[] {
    const lines = this.#text().split('\n')
    lines.pop()
    return lines.map((line) => JSON.parse(line) as BookedCommand)
  }

  find({ key, attempt }: CommandName): BookedCommand | undefined {
    return this.all().findLast((one) => one.key === key && one.attempt === attempt)
  }

  add(command: BookedCommand): void {
    appendFileSync(this.#file, `${JSON.stringify(command)}\n`, { mode: 0o600 })
  }

  /** Makes it shorter, and whole again. For when nobody adds to it. */
  tidy(): void {
    const text = this.#text()
    const all = this.all()
    if (all.length <= MOST && (text === '' || text.endsWith('\n'))) return
    const kept = all.slice(-MOST / 2).map((one) => `${JSON.stringify(one)}\n`)
    writeFileSync(`${this.#file}.new`, kept.join(''), { mode: 0o600 })
    renameSync(`${this.#file}.new`, this.#file)
  }

  #text(): string {
    try {
      return readFileSync(this.#file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
      throw error
    }
  }
}
