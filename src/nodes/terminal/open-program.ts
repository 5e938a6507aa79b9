/** Starts the program of a terminal where its plan says, or finds the one that is there. */
import { randomBytes } from 'node:crypto'
import { KittyPanes } from '../panes/kitty-panes.ts'
import { launcherOf } from '../panes/launcher.ts'
import { digest, paneIdentity, type PanePlan } from '../panes/pane-options.ts'
import type { PanePort } from '../panes/pane-port.ts'
import { PolledProcess } from '../panes/polled-process.ts'
import { TmuxPanes } from '../panes/tmux-panes.ts'
import { endTmux, findTmux, spawnTmux, type TmuxPlace } from '../panes/tmux-place.ts'
import type { TmuxProcess } from '../panes/tmux-process.ts'
import { WezTermPanes } from '../panes/wezterm-panes.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { guardTree, releaseTree } from '../process-guard.ts'
import { MARK_NAME } from '../process-table.ts'
import { withHandshake } from './exit-handshake.ts'
import { loadPty } from './load-packages.ts'
import { PtyProcess } from './pty-process.ts'
import { markShell, type MarkedShell } from './shell-marks.ts'
import { findCommand, markable, survives, terminalEnvironment, type TerminalPlan } from './terminal-options.ts'
import type { TerminalProcess } from './terminal-process.ts'

export interface OpenedProgram {
  readonly process: TerminalProcess
  /** The secret of its marks. */
  readonly nonce: string
  /** True when it is a shell that prints marks. */
  readonly marked: boolean
  /** The shell that has just been started, as long as its start-up file is there. */
  readonly shell?: MarkedShell | undefined
}

export function openProgram(id: string, plan: TerminalPlan): Promise<OpenedProgram> {
  if (plan.in === undefined) return onPty(id, plan)
  return survives(plan.in) ? inTmux(id, plan, plan.in) : inPane(id, plan, plan.in)
}

/** Ends what earlier processes left running for this node. */
export async function endLeft(id: string, plan: TerminalPlan): Promise<void> {
  if (plan.in !== undefined && survives(plan.in)) await endTmux(placeOf(id, plan, plan.in))
}

interface Dressed {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly nonce: string
  readonly shell: MarkedShell | undefined
}

/** The program with everything that it is started with. */
function dressed(id: string, plan: TerminalPlan, marks: boolean): Dressed {
  const env = terminalEnvironment(plan)
  const file = findCommand(id, plan, env['PATH'] ?? '')
  const kind = marks ? markable(plan) : undefined
  const nonce = randomBytes(8).toString('hex')
  const shell = kind === undefined ? undefined : markShell(kind, { nonce, rc: plan.rc, env })
  return { file, args: shell?.args ?? plan.args, env: { ...env, ...shell?.env }, nonce, shell }
}

async function onPty(id: string, plan: TerminalPlan): Promise<OpenedProgram> {
  const pty = await loadPty()
  const { file, args, env, nonce, shell } = dressed(id, plan, true)
  const mark = randomBytes(16).toString('hex')
  try {
    await guardTree(mark)
    const program = plan.handshake ? withHandshake(file, args, nonce) : { file, args }
    const process = new PtyProcess(pty, { id, ...program, env, mark, plan })
    return { process, nonce, marked: shell !== undefined, shell }
  } catch (error) {
    releaseTree(mark)
    shell?.forget()
    throw error
  }
}

async function inTmux(id: string, plan: TerminalPlan, pane: PanePlan): Promise<OpenedProgram> {
  const place = placeOf(id, plan, pane)
  const found = await findTmux(place)
  if (found !== undefined) return opened(found, plan)
  const { file, args, env, nonce, shell } = dressed(id, plan, true)
  try {
    const { cwd, cols, rows } = plan
    const { TERM } = { TERM: 'screen-256color', ...plan.env }
    const program = withHandshake(file, args, nonce)
    const made = await spawnTmux(place, { ...program, env: { ...env, TERM }, nonce, cwd, cols, rows })
    if (made !== undefined) return { ...opened(made, plan), shell }
  } catch (error) {
    shell?.forget()
    throw error
  }
  shell?.forget()
  const others = await findTmux(place)
  if (others !== undefined) return opened(others, plan)
  throw new NerveError('pane-failed', `The pane of terminal '${id}' was made and ended by somebody else.`, {
    retry: 'later',
    data: { reason: 'gone' },
  })
}

function opened(process: TmuxProcess, plan: TerminalPlan): OpenedProgram {
  return { process, nonce: process.nonce, marked: markable(plan) !== undefined }
}

function placeOf(id: string, plan: TerminalPlan, { project, program }: PanePlan): TmuxPlace {
  const { command, args, cwd, marks, rc, env, inherit } = plan
  const made = digest(JSON.stringify([command, args, cwd, marks, rc, Object.keys(env).toSorted(), inherit])).slice(
    0,
    16,
  )
  return { ...paneIdentity(project, id), id, program, env: terminalEnvironment({ env: {}, inherit: [] }), made }
}

/** Panes that can only be looked at: their programs have no marks. */
async function inPane(id: string, plan: TerminalPlan, pane: PanePlan): Promise<OpenedProgram> {
  const port = portOf(pane)
  const process = pane.pane === undefined ? await spawned(id, plan, port) : await given(id, port, pane.pane)
  return { process, nonce: '', marked: false }
}

function portOf({ mux, program, socket }: PanePlan): PanePort {
  if (mux === 'wezterm') return new WezTermPanes({ program, socket })
  if (mux === 'kitty') return new KittyPanes({ program, socket })
  return new TmuxPanes({ program, socket: socket ?? 'default', env: terminalEnvironment({ env: {}, inherit: [] }) })
}

async function spawned(id: string, plan: TerminalPlan, port: PanePort): Promise<PolledProcess> {
  const { file, args, env } = dressed(id, plan, false)
  const { TERM: _, ...rest } = env
  const tree = randomBytes(16).toString('hex')
  const own = plan.env['TERM'] === undefined ? rest : env
  const launcher = launcherOf({ file, args, env: { ...own, [MARK_NAME]: tree } })
  try {
    const { cwd, cols, rows } = plan
    const made = await port.spawn({ cwd, cols, rows, file: launcher.file, args: launcher.args })
    const size = (await port.list()).find((one) => one.id === made) ?? { cols, rows }
    return new PolledProcess({ port, pane: made, size: { cols: size.cols, rows: size.rows }, tree })
  } catch (error) {
    launcher.forget()
    throw error
  }
}

async function given(id: string, port: PanePort, pane: string): Promise<PolledProcess> {
  const found = (await port.list()).find((one) => one.id === pane)
  if (found === undefined)
    throw new NerveError('pane-failed', `Terminal '${id}': ${port.kind} has no pane ${pane}.`, {
      data: { reason: 'missing-pane', pane },
    })
  return new PolledProcess({ port, pane, size: { cols: found.cols, rows: found.rows } })
}
