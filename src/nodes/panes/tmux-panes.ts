/** Panes of tmux: through a connection in control mode once there is one, by single commands until then. */
import { setTimeout as delay } from 'node:timers/promises'
import { asked, tried, type Told } from './ask-program.ts'
import type { PaneInfo, PanePort, PaneView, PaneWish } from './pane-port.ts'
import { TmuxControl, keys, word } from './tmux-control.ts'
import { linesOf } from './wezterm-panes.ts'

export interface TmuxOptions {
  readonly program?: string | undefined
  /** The name of the server's socket. */
  readonly socket: string
  /** What the server has of our environment, when it is started. */
  readonly env: Readonly<Record<string, string>>
}

/** Each byte is a word of a command, and what tmux does with its words takes longer the more there are. */
const CHUNK = 512
const LIST = ['#{pane_id}', '#{pane_width}', '#{pane_height}', '#{pane_active}#{window_active}', '#{pane_current_path}']
const NOBODY = /no server running|error connecting|can't find (?:session|pane|window)|no current (?:session|target)/
/** A server that is on its way out, because its last pane has ended: the next try finds none. */
const LEAVING = /server exited|lost server/
const MOST_TRIES = 20
const AGAIN_MS = 50

export class TmuxPanes implements PanePort {
  readonly kind = 'tmux'
  readonly #program: string
  readonly #socket: string
  readonly #env: Readonly<Record<string, string>>
  #control: TmuxControl | undefined

  constructor({ program = 'tmux', socket, env }: TmuxOptions) {
    this.#program = program
    this.#socket = socket
    this.#env = env
  }

  /** Each pane has a session of its own. The first one is where the connection is, and whose output it hears. */
  async spawn(wish: PaneWish, session?: string): Promise<string> {
    const { cols, rows, cwd, file, args } = wish
    const name = session === undefined ? [] : ['-s', session]
    const size = ['-x', String(cols), '-y', String(rows)]
    const rest = [...name, ...size, '-c', cwd.replaceAll('#', '##'), '--', file, ...args]
    if (this.#control !== undefined) {
      const [id = ''] = await this.ask(['new-session', '-d', '-P', '-F', '#{pane_id}', ...rest])
      return id
    }
    await this.connect(['new-session', ...rest])
    const [id = ''] = await this.ask(['display-message', '-p', '#{pane_id}'])
    return id
  }

  get control(): TmuxControl | undefined {
    return this.#control
  }

  async connect(args: readonly string[]): Promise<TmuxControl> {
    const control = await this.#opened(args)
    this.#control = control
    void control.closed.then(() => {
      if (this.#control === control) this.#control = undefined
    })
    return control
  }

  async list(): Promise<readonly PaneInfo[]> {
    const lines = await this.#askIfThere(['list-panes', '-a', '-F', [...LIST, '#{pane_title}'].join('\t')])
    return lines.map((line) => {
      const [id = '', cols, rows, active, cwd = '', ...title] = line.split('\t')
      const place = cwd === '' ? {} : { cwd }
      return { id, cols: Number(cols), rows: Number(rows), title: title.join('\t'), ...place, active: active === '11' }
    })
  }

  async send(pane: string, data: string): Promise<void> {
    const bytes = Buffer.from(data)
    // A person may have left it in the mode in which keys move through the text.
    const calm = this.ask(['copy-mode', '-q', '-t', pane])
    const sent = [calm]
    for (let at = 0; at < bytes.length; at += CHUNK)
      sent.push(this.ask(['send-keys', '-t', pane, '-H', ...keys(bytes.subarray(at, at + CHUNK))]))
    await Promise.all(sent)
  }

  async look(pane: string, above: number): Promise<PaneView> {
    const place = ['display-message', '-p', '-t', pane, '#{cursor_y} #{cursor_x} #{cursor_flag} #{pane_height}']
    const [lines, screen, where] = await Promise.all([
      this.ask(['capture-pane', '-p', '-J', '-S', String(-above), '-t', pane]),
      this.ask(['capture-pane', '-p', '-t', pane]),
      this.ask(place),
    ])
    const [row = '0', column = '0', shown, height] = (where[0] ?? '').split(' ')
    const rows = Array.from({ length: Number(height) }, (_, at) => screen[at] ?? '')
    const cursor = { row: Number(row), column: Number(column), visible: shown === '1' }
    return { lines: lines.map((line) => line.trimEnd()), rows, cursor }
  }

  async focus(pane: string): Promise<void> {
    await this.ask(['select-window', '-t', pane])
    await this.ask(['select-pane', '-t', pane])
  }

  async kill(pane: string): Promise<void> {
    if ((await this.list()).some(({ id }) => id === pane)) await this.#askIfThere(['kill-pane', '-t', pane])
  }

  async close(): Promise<void> {
    await this.#control?.close()
  }

  /** One command; gives the lines that it printed. */
  async ask(args: readonly string[]): Promise<readonly string[]> {
    if (this.#control === undefined) return linesOf(await asked(this.#asking(args)))
    const [name = '', ...rest] = args
    return this.#control.ask(name, ...rest.map(word))
  }

  /** One command, by itself: also when there is no server, and no connection to it. */
  async tried(args: readonly string[]): Promise<Told> {
    for (let left = MOST_TRIES; ; left -= 1) {
      const told = await tried(this.#asking(args))
      if (told.code === 0 || left === 0 || !LEAVING.test(told.stderr)) return told
      await delay(AGAIN_MS)
    }
  }

  /** True when what tmux said means that there is no such thing, and nothing worse. */
  static isNobody(said: string): boolean {
    return NOBODY.test(said)
  }

  async #opened(args: readonly string[]): Promise<TmuxControl> {
    for (let left = MOST_TRIES; ; left -= 1) {
      const control = new TmuxControl({ program: this.#program, socket: this.#socket, args, env: this.#env })
      try {
        await control.opened()
        return control
      } catch (error) {
        if (left === 0 || !LEAVING.test((error as Error).message)) throw error
      }
      await delay(AGAIN_MS)
    }
  }

  async #askIfThere(args: readonly string[]): Promise<readonly string[]> {
    if (this.#control !== undefined) return this.ask(args)
    const { code, stdout, stderr } = await this.tried(args)
    if (code === 0) return linesOf(stdout)
    if (TmuxPanes.isNobody(stderr)) return []
    return this.ask(args)
  }

  #asking(args: readonly string[]) {
    return { program: this.#program, args: ['-u', '-L', this.#socket, '-f', '/dev/null', ...args], env: this.#env }
  }
}
