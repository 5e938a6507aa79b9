/** Which pane a terminal's program runs in: options, checked once, and what identifies the pane for ever. */
import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { checkKnown } from '../../base/check-known.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { PaneKind } from './pane-port.ts'

export interface PaneOptions {
  readonly mux: PaneKind
  /** A pane that is there already, by its id. It is used as it is, and never ended. */
  readonly pane?: string
  /** Which instance: the socket's name (tmux), its file (WezTerm), its address (kitty). */
  readonly socket?: string
  /** The multiplexer's own program (default: its name). */
  readonly program?: string
  /** The folder of the project (tmux): a node is found again by it and its id (default: the project around this folder). */
  readonly project?: string
}

export interface PanePlan {
  readonly mux: PaneKind
  readonly pane: string | undefined
  readonly socket: string | undefined
  readonly program: string
  readonly project: string
}

const KINDS: readonly unknown[] = ['tmux', 'wezterm', 'kitty'] satisfies PaneKind[]
const KNOWN = ['mux', 'pane', 'socket', 'program', 'project'] as const satisfies readonly (keyof PaneOptions)[]

export function planPane(what: string, given: PaneKind | PaneOptions): PanePlan {
  const options: PaneOptions = typeof given === 'string' ? { mux: given } : given
  checkKnown(`${what}: in`, options, KNOWN)
  const { mux, pane, socket, program = mux, project } = options
  if (!KINDS.includes(mux))
    throw new NerveError(
      'bad-option',
      `${what}: in is ${JSON.stringify(mux)}; give 'tmux', 'wezterm' or 'kitty', or an object with mux.`,
    )
  if (mux === 'tmux' && socket !== undefined && pane === undefined)
    throw new NerveError(
      'bad-option',
      `${what}: Nerve's own panes have their own tmux server; socket is for a given pane.`,
    )
  return { mux, pane, socket, program, project: projectAround(project) }
}

/** The nearest folder from here upwards that has .nerve; else that has package.json or .git; else this one. */
function projectAround(given: string | undefined): string {
  const here = realpathSync(process.cwd())
  if (given !== undefined) {
    const dir = resolve(here, given)
    return existsSync(dir) ? realpathSync(dir) : dir
  }
  const folders = [here]
  for (let at = here; dirname(at) !== at; at = dirname(at)) folders.push(dirname(at))
  const has = (...names: string[]) => folders.find((folder) => names.some((name) => existsSync(join(folder, name))))
  return has('.nerve') ?? has('package.json', '.git') ?? here
}

export interface PaneIdentity {
  /** The name of the project's tmux server. */
  readonly socket: string
  /** The name of the node's tmux session. */
  readonly session: string
  /** What the pane must say of itself. */
  readonly owner: string
  /** Where what it prints is kept. */
  readonly folder: string
}

/** Names that two nodes share only if they are the same node of the same project. */
export function paneIdentity(project: string, id: string): PaneIdentity {
  const owner = digest(`${project}\0${id}`)
  const readable = id.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 40)
  const session = `${readable}-${owner.slice(0, 10)}`
  return {
    socket: `nerve-${digest(project).slice(0, 12)}`,
    session,
    owner,
    folder: join(project, '.nerve', 'panes', session),
  }
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
