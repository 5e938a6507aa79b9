/**
 * Panes of WezTerm, by `wezterm cli`. It tells nothing by itself: it is asked, and answers with what is on the screen. No
 * exit codes, no process ids.
 */
import { asked, tried } from './ask-program.ts'
import type { PaneInfo, PanePort, PaneView, PaneWish } from './pane-port.ts'

export interface WezTermOptions {
  readonly program?: string | undefined
  /** The socket of the instance (default: the one of this process's own pane, or the running one). */
  readonly socket?: string | undefined
}

/** What `wezterm cli list --format json` gives, as far as it is used. */
interface Listed {
  readonly pane_id: number
  readonly size: { readonly rows: number; readonly cols: number }
  readonly title: string
  readonly cwd: string
  readonly cursor_x: number
  readonly cursor_y: number
  readonly cursor_visibility: string
  readonly is_active: boolean
}

/** More at once could be cut by the pipe to its server. */
const CHUNK = 8 * 1024
/** A program that prints all the time moves its cursor all the time. */
const MOST_LOOKS = 3

export class WezTermPanes implements PanePort {
  readonly kind = 'wezterm'
  readonly #program: string
  readonly #env: Readonly<Record<string, string | undefined>>
  /** Where they were last. Text and cursor are asked for one after the other: where it has moved since, they may not belong together. */
  readonly #cursors = new Map<string, PaneView['cursor']>()

  constructor({ program = 'wezterm', socket }: WezTermOptions) {
    this.#program = program
    this.#env = { ...process.env, ...(socket === undefined ? {} : { WEZTERM_UNIX_SOCKET: socket }) }
  }

  async spawn({ cwd, file, args }: PaneWish): Promise<string> {
    return (await this.#cli(['spawn', '--cwd', cwd, '--', file, ...args])).trim()
  }

  async list(): Promise<readonly PaneInfo[]> {
    return (await this.#listed()).map((one) => ({
      id: String(one.pane_id),
      cols: one.size.cols,
      rows: one.size.rows,
      title: one.title,
      ...(one.cwd === '' ? {} : { cwd: pathOf(one.cwd) }),
      active: one.is_active,
    }))
  }

  async send(pane: string, data: string): Promise<void> {
    // Not as a paste: then it would not be what was typed, and Enter would be no Enter.
    for (const piece of pieces(data, CHUNK)) await this.#cli(['send-text', '--pane-id', pane, '--no-paste'], piece)
  }

  async look(pane: string, above: number): Promise<PaneView> {
    for (let looks = 1; ; looks += 1) {
      const before = this.#cursors.get(pane)
      const lines = linesOf(await this.#cli(['get-text', '--pane-id', pane, '--start-line', String(-above)]))
      const found = (await this.#listed()).find((one) => String(one.pane_id) === pane)
      const cursor = cursorOf(found)
      this.#cursors.set(pane, cursor)
      // The text ends with the screen, and the screen is as high as it is, also where nothing is on it.
      const rows = lines.slice(Math.max(0, lines.length - (found?.size.rows ?? 0)))
      const stood = before?.row === cursor.row && before.column === cursor.column
      if (stood || looks === MOST_LOOKS) return { lines, rows, cursor }
    }
  }

  async focus(pane: string): Promise<void> {
    await this.#cli(['activate-pane', '--pane-id', pane])
  }

  async kill(pane: string): Promise<void> {
    this.#cursors.delete(pane)
    const { code, stderr } = await tried(this.#asking(['kill-pane', '--pane-id', pane]))
    if (code === 0) return
    if ((await this.list()).some(({ id }) => id === pane)) throw new Error(stderr)
  }

  async close(): Promise<void> {
    // Every question is a process of its own.
  }

  async #listed(): Promise<readonly Listed[]> {
    return JSON.parse(await this.#cli(['list', '--format', 'json'])) as Listed[]
  }

  #cli(args: readonly string[], input?: string): Promise<string> {
    return asked({ ...this.#asking(args), ...(input === undefined ? {} : { input }) })
  }

  #asking(args: readonly string[]) {
    return { program: this.#program, args: ['cli', '--no-auto-start', ...args], env: this.#env }
  }
}

function cursorOf(found: Listed | undefined): PaneView['cursor'] {
  const { cursor_y: row = 0, cursor_x: column = 0, cursor_visibility: visibility } = found ?? {}
  return { row, column, visible: visibility !== 'Hidden' }
}

/** Pieces that do not cut a character in two. */
export function pieces(data: string, size: number): string[] {
  const found: string[] = []
  for (let at = 0; at < data.length;) {
    let end = Math.min(at + size, data.length)
    const last = data.charCodeAt(end - 1)
    if (end < data.length && last >= 0xd800 && last <= 0xdbff) end -= 1
    found.push(data.slice(at, end))
    at = end
  }
  return found
}

export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''))
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function pathOf(cwd: string): string {
  return URL.canParse(cwd) ? decodeURIComponent(new URL(cwd).pathname) : cwd
}
