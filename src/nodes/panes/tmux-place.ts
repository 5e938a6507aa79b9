/**
 * The pane of a node in tmux: found again by whoever has the same project and id, made when there is none.
 *
 * Invariants: a pane is believed by what it says of itself, not by its name alone; the program starts only after the pane
 * has said it and its record is kept; a pane that never said it was never used, and is ended.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError } from '../../base/nerve-error.ts'
import { MARK_NAME } from '../process-table.ts'
import { NO_PROCESS, endTree } from '../terminal/program-tree.ts'
import { refused } from './ask-program.ts'
import { launcherOf, quoted } from './launcher.ts'
import type { PaneIdentity } from './pane-options.ts'
import { dropRecord, newRecord, recordCommand } from './pane-record.ts'
import { plain } from './tmux-control.ts'
import { TmuxPanes } from './tmux-panes.ts'
import { TmuxProcess, endSession } from './tmux-process.ts'

export interface TmuxPlace extends PaneIdentity {
  readonly id: string
  readonly program: string
  /** What the server gets of our environment. */
  readonly env: Readonly<Record<string, string>>
  /** What the pane's program must have been made of to be the node's. */
  readonly made: string
}

export interface TmuxLaunch {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly cols: number
  readonly rows: number
  /** The secret of its marks. */
  readonly nonce: string
}

/** What a pane says of itself. It outlives the process that said it. */
export interface TmuxWords {
  readonly pane: string
  readonly owner: string
  readonly made: string
  readonly nonce: string
  /** What everything that its program starts inherits, so that it can be found. */
  readonly tree: string
}

const WORDS = ['pane', 'owner', 'made', 'nonce', 'tree'] as const satisfies readonly (keyof TmuxWords)[]
const BIRTH_MS = 2_000
const LOOK_MS = 50

/** The node's pane, if it has one. */
export async function findTmux(place: TmuxPlace): Promise<TmuxProcess | undefined> {
  const panes = panesOf(place)
  const words = await settledWords(panes, place)
  if (words === undefined) return undefined
  check(place, words)
  const control = await panes.connect(['attach-session', '-t', `=${place.session}`])
  try {
    return await TmuxProcess.found({ place, panes, control, words })
  } catch (error) {
    await control.close()
    throw error
  }
}

/** A new pane. Undefined when somebody else was faster. */
export async function spawnTmux(place: TmuxPlace, launch: TmuxLaunch): Promise<TmuxProcess | undefined> {
  const panes = panesOf(place)
  const tree = randomBytes(16).toString('hex')
  const go = `nerve-${tree}`
  // The environment of this process may belong to a tree that ends with it; the pane does not.
  const env = { ...launch.env, [MARK_NAME]: tree }
  const launcher = launcherOf({ ...launch, env, first: `${quoted(place.program)} wait-for ${go}` })
  try {
    const pane = await panes.spawn({ ...launch, file: launcher.file, args: launcher.args }, place.session)
    const words = { pane, owner: place.owner, made: place.made, nonce: launch.nonce, tree }
    newRecord(place.folder)
    await prepare(panes, place, words)
    const control = panes.control
    if (control === undefined) throw new NerveError('pane-failed', 'tmux is gone.', { data: { reason: 'gone' } })
    const made = await TmuxProcess.born({ place, panes, control, words })
    await panes.ask(['wait-for', '-S', go])
    return made
  } catch (error) {
    launcher.forget()
    await panes.close()
    if (error instanceof NerveError && error.message.includes('duplicate session')) return undefined
    await endSession(panes, place.session)
    throw error
  }
}

/** Ends the node's pane and everything in it, without being connected to it. */
export async function endTmux(place: TmuxPlace): Promise<void> {
  const panes = panesOf(place)
  const words = await wordsOf(panes, place.session)
  if (words === undefined) return
  if (words.tree !== '') {
    const { code, stdout } = await panes.tried(['display-message', '-p', '-t', words.pane, '#{pane_pid} #{pane_dead}'])
    const [pid, dead] = stdout.trim().split(' ')
    const gone = code !== 0 || dead !== '0'
    await endTree({ mark: words.tree, root: gone ? NO_PROCESS : Number(pid), rootEnded: () => gone })
  }
  await endSession(panes, place.session)
  dropRecord(place.folder)
}

function panesOf({ program, socket, env }: TmuxPlace): TmuxPanes {
  return new TmuxPanes({ program, socket, env })
}

async function prepare(panes: TmuxPanes, { folder, session }: TmuxPlace, words: TmuxWords): Promise<void> {
  const { pane } = words
  const setUp: readonly (readonly string[])[] = [
    ['set-option', '-w', '-t', pane, 'remain-on-exit', 'on'],
    ['set-option', '-w', '-t', pane, 'automatic-rename', 'off'],
    // People may look at it with screens of other sizes.
    ['set-option', '-w', '-t', pane, 'window-size', 'manual'],
    ['pipe-pane', '-O', '-t', pane, plain(recordCommand(folder))],
    ...WORDS.map((name) => ['set-option', '-t', session, `@nerve_${name}`, words[name]]),
  ]
  await Promise.all(setUp.map((command) => panes.ask(command)))
}

/** What the pane says; nothing when there is none. One that is being made by another process is waited for. */
async function settledWords(panes: TmuxPanes, { session }: TmuxPlace): Promise<TmuxWords | undefined> {
  const deadline = performance.now() + BIRTH_MS
  for (;;) {
    const words = await wordsOf(panes, session)
    if (words === undefined || words.tree !== '') return words
    if (performance.now() > deadline) break
    await delay(LOOK_MS)
  }
  await endSession(panes, session)
  return undefined
}

async function wordsOf(panes: TmuxPanes, session: string): Promise<TmuxWords | undefined> {
  const format = WORDS.map((name) => `#{@nerve_${name}}`).join('|')
  const args = ['list-sessions', '-F', format, '-f', `#{==:#{session_name},${session}}`]
  const { code, stdout, stderr } = await panes.tried(args)
  if (code !== 0 && !TmuxPanes.isNobody(stderr)) throw refused({ program: 'tmux', args }, stderr)
  const line = code === 0 ? stdout.split('\n')[0] : undefined
  if (line === undefined || line === '') return undefined
  const [pane = '', owner = '', made = '', nonce = '', tree = ''] = line.split('|')
  return { pane, owner, made, nonce, tree }
}

function check({ id, owner, made, session, socket }: TmuxPlace, words: TmuxWords): void {
  if (words.owner !== owner)
    throw new NerveError(
      'pane-failed',
      `The tmux session ${session} (tmux -L ${socket}) is not that of terminal '${id}'. End it: tmux -L ${socket} kill-session -t ${session}`,
      { data: { reason: 'owner' } },
    )
  if (words.made !== made)
    throw new NerveError(
      'pane-failed',
      `The pane of terminal '${id}' runs something else than it is now made of: another command, folder or marks. reset() ends it and starts anew; or make the node as it was.`,
      { data: { reason: 'changed' } },
    )
}
