/**
 * Panes (kitty calls them windows) of kitty, by `kitty @`. It needs `allow_remote_control` and `listen_on` in kitty's
 * configuration. It tells nothing by itself: it is asked, and answers with what is on the screen.
 *
 * What it lists has the whole environment of every program: nothing of that is kept or said.
 */
import { asked, tried } from './ask-program.ts'
import type { PaneInfo, PanePort, PaneView, PaneWish } from './pane-port.ts'
import { pieces } from './wezterm-panes.ts'

export interface KittyOptions {
  readonly program?: string | undefined
  /** Where it listens, such as `unix:/tmp/kitty` (default: `KITTY_LISTEN_ON`). */
  readonly socket?: string | undefined
}

interface Listed {
  readonly tabs: readonly {
    readonly is_active_tab?: boolean
    readonly is_active?: boolean
    readonly windows: readonly {
      readonly id: number
      readonly columns: number
      readonly lines: number
      readonly title: string
      readonly cwd: string
      readonly is_active_window?: boolean
      readonly is_active?: boolean
    }[]
  }[]
}

const CHUNK = 8 * 1024
// oxlint-disable-next-line no-control-regex -- what kitty adds behind the text to say where the cursor is.
const CURSOR = /\u001b\[\?25([hl])\u001b\[(\d+);(\d+)H(?:\u001b\[[\d?; ]*[a-z])*\n?$/

export class KittyPanes implements PanePort {
  readonly kind = 'kitty'
  readonly #program: string
  readonly #to: readonly string[]

  constructor({ program = 'kitty', socket }: KittyOptions) {
    this.#program = program
    this.#to = socket === undefined ? [] : ['--to', socket]
  }

  async spawn({ cwd, file, args }: PaneWish): Promise<string> {
    return (await this.#ask(['launch', '--type=tab', '--cwd', cwd, '--keep-focus', file, ...args])).trim()
  }

  async list(): Promise<readonly PaneInfo[]> {
    const listed = JSON.parse(await this.#ask(['ls'])) as readonly Listed[]
    return listed.flatMap(({ tabs }) =>
      tabs.flatMap((tab) =>
        tab.windows.map((one) => ({
          id: String(one.id),
          cols: one.columns,
          rows: one.lines,
          title: one.title,
          cwd: one.cwd,
          active: (tab.is_active_tab ?? tab.is_active) === true && (one.is_active_window ?? one.is_active) === true,
        })),
      ),
    )
  }

  async send(pane: string, data: string): Promise<void> {
    for (const piece of pieces(data, CHUNK)) await this.#ask(['send-text', '--match', `id:${pane}`, '--stdin'], piece)
  }

  async look(pane: string, above: number): Promise<PaneView> {
    const wish = ['get-text', '--match', `id:${pane}`, '--extent', 'all', '--add-cursor', '--add-wrap-markers']
    return viewOf(await this.#ask(wish), await this.#height(pane), above)
  }

  async focus(pane: string): Promise<void> {
    await this.#ask(['focus-window', '--match', `id:${pane}`])
  }

  async kill(pane: string): Promise<void> {
    const { code, stderr } = await tried(this.#asking(['close-window', '--match', `id:${pane}`]))
    if (code === 0 || !(await this.list()).some(({ id }) => id === pane)) return
    throw new Error(stderr)
  }

  async close(): Promise<void> {
    // Every question is a process of its own.
  }

  async #height(pane: string): Promise<number> {
    return (await this.list()).find(({ id }) => id === pane)?.rows ?? 0
  }

  #ask(args: readonly string[], input?: string): Promise<string> {
    return asked({ ...this.#asking(args), ...(input === undefined ? {} : { input }) })
  }

  #asking(args: readonly string[]) {
    return { program: this.#program, args: ['@', ...this.#to, ...args] }
  }
}

/** Rows end with a return, lines with a return and a line break; the rest says where the cursor is. */
export function viewOf(text: string, height: number, above: number): PaneView {
  const [found = '', shown = 'h', row = '1', column = '1'] = CURSOR.exec(text) ?? []
  const body = text.slice(0, text.length - found.length)
  const rows = body.split(/\r\n?|\n/).map(trimmed)
  if (body.endsWith('\r')) rows.pop()
  const first = Math.max(0, rows.length - height)
  const lines = body.split(/\r?\n/).map((line) => trimmed(line.replaceAll('\r', '')))
  return {
    lines: lines.slice(-(above + height)),
    rows: rows.slice(first),
    cursor: { row: Number(row) - 1, column: Number(column) - 1, visible: shown === 'h' },
  }
}

function trimmed(line: string): string {
  return line.trimEnd()
}
