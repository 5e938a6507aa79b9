/** What a terminal is made of: options, checked once, with their defaults. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { checkKnown } from '../../base/check-known.ts'
import { milliseconds, type Duration } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Policy } from '../../engine/definition.ts'
import { checkEnvironment } from '../bash-environment.ts'
import { checkTexts, wholeNumber } from '../forkable.ts'
import { planPane, type PaneOptions, type PanePlan } from '../panes/pane-options.ts'
import type { PaneKind } from '../panes/pane-port.ts'
import type { TerminalResult } from './terminal-result.ts'
import { needsHandshake } from './exit-handshake.ts'
import { shellKind, type Shell } from './shell-marks.ts'

export interface TerminalOptions {
  readonly description?: string
  /** The program (default: the person's shell if it is bash, zsh or fish, otherwise bash). */
  readonly command?: string
  readonly args?: readonly string[]
  /** The pane that it runs in: one of tmux, WezTerm or kitty, which goes on without us (default: none, a PTY of our own). */
  readonly in?: PaneKind | PaneOptions
  /** Where it starts (default: the folder of this process). */
  readonly cwd?: string
  /** Variables for it, beside the few that every terminal gets. Their values are never recorded. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of variables of this process that it gets too. */
  readonly inherit?: readonly string[]
  readonly cols?: number
  readonly rows?: number
  /** How many lines are kept in memory (default 300). */
  readonly scrollback?: number
  /** How many characters of the output of one command are kept (default 1,000,000): the last ones. */
  readonly maxOutput?: number
  /** A folder: everything that is printed goes there too, byte for byte, into `ID.log`. */
  readonly log?: string
  /** When the log becomes `ID.log.1` and a new one begins, in bytes (default 64 MiB). */
  readonly logLimit?: number
  /** `auto`: shells that can, say where commands begin and end. */
  readonly marks?: 'auto' | 'off'
  /** A file that a marked shell reads first, such as the person's own `.bashrc`. Without it, it reads none. */
  readonly rc?: string
  /** What the last line looks like when a program that gives no better sign waits for input. */
  readonly readyPattern?: RegExp
  /** How long `execute` waits (default: as long as it takes). What was started goes on. */
  readonly timeout?: Duration
  /** How long the program may take until it is ready for the first input (default 15s). */
  readonly startTimeout?: Duration
  /** False: no model of the screen is kept, `screen()` is refused, and more fits through (default true). */
  readonly screen?: boolean
  /** Answers `what are you` and `where is the cursor`, with nothing but fixed text and numbers (default: only fish, at its prompt). */
  readonly answers?: boolean
  readonly policy?: Policy<TerminalResult>
}

export interface TerminalPlan {
  readonly description: string | undefined
  readonly in: PanePlan | undefined
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly inherit: readonly string[]
  readonly cols: number
  readonly rows: number
  readonly scrollback: number
  readonly maxOutput: number
  readonly log: string | undefined
  readonly logLimit: number
  readonly marks: 'auto' | 'off'
  readonly rc: string | undefined
  readonly readyPattern: RegExp | undefined
  readonly timeoutMs: number
  readonly startTimeoutMs: number
  readonly screen: boolean
  /** `shell`: only while the shell itself may have asked, not while a program runs in it. */
  readonly answers: boolean | 'shell'
  /** True where the last output could be lost otherwise. */
  readonly handshake: boolean
  readonly policy: Policy<TerminalResult>
}

const KNOWN = [
  'description',
  'in',
  'command',
  'args',
  'cwd',
  'env',
  'inherit',
  'cols',
  'rows',
  'scrollback',
  'maxOutput',
  'log',
  'logLimit',
  'marks',
  'rc',
  'readyPattern',
  'timeout',
  'startTimeout',
  'screen',
  'answers',
  'policy',
] as const satisfies readonly (keyof TerminalOptions)[]

const ALLOWED = /^(?:PATH|HOME|LANG|LC_[A-Z]+|TMPDIR|SHELL|USER|LOGNAME)$/
const FOREVER = Number.POSITIVE_INFINITY

export function planTerminal(id: string, options: TerminalOptions): TerminalPlan {
  const what = `terminal '${id}'`
  checkKnown(what, options, KNOWN)
  checkTexts(what, options, ['description', 'command', 'cwd', 'log', 'rc'])
  checkEnvironment(what, options)
  checkShapes(what, options)
  const command = options.command ?? defaultShell()
  const args = options.args ?? []
  const number = (name: 'scrollback' | 'maxOutput' | 'logLimit', otherwise: number): number =>
    Math.max(1, wholeNumber(`${what}: ${name}`, options[name], otherwise))
  const pane = options.in === undefined ? undefined : planPane(what, options.in)
  const marks = options.marks ?? 'auto'
  const resumes = survives(pane) && markable({ command, args, marks }) !== undefined
  return {
    description: options.description,
    in: pane,
    command,
    args,
    cwd: resolve(options.cwd ?? '.'),
    env: options.env ?? {},
    inherit: options.inherit ?? [],
    ...screenSize(what, options.cols ?? 120, options.rows ?? 40),
    scrollback: number('scrollback', 300),
    maxOutput: number('maxOutput', 1_000_000),
    log: options.log === undefined ? undefined : resolve(options.log),
    logLimit: number('logLimit', 64 * 1024 * 1024),
    marks,
    rc: options.rc === undefined ? undefined : resolve(options.rc),
    readyPattern: stateless(options.readyPattern),
    timeoutMs: options.timeout === undefined ? FOREVER : milliseconds(options.timeout, 'timeout'),
    startTimeoutMs: milliseconds(options.startTimeout ?? '15s', 'startTimeout'),
    screen: options.screen ?? true,
    // Multiplexers answer by themselves.
    answers: pane === undefined && (options.answers ?? (shellKind(command) === 'fish' ? 'shell' : false)),
    handshake: pane === undefined ? needsHandshake() : survives(pane),
    policy: { effect: resumes ? 'resumable' : 'once', recordInput: true, ...options.policy },
  }
}

function checkShapes(what: string, { args, marks, readyPattern }: TerminalOptions): void {
  if (marks !== undefined && marks !== 'auto' && marks !== 'off')
    throw new NerveError('bad-option', `${what}: marks is ${JSON.stringify(marks)}; give 'auto' or 'off'.`)
  if (args !== undefined && !(Array.isArray(args) && args.every((one) => typeof one === 'string')))
    throw new NerveError('bad-option', `${what}: args must be a list of texts.`)
  if (readyPattern !== undefined && !(readyPattern instanceof RegExp))
    throw new NerveError('bad-option', `${what}: readyPattern must be a regular expression, which only code can make.`)
}

/** True when its program goes on after a crash and is found again, with what it printed. */
export function survives(pane: PanePlan | undefined): boolean {
  return pane?.mux === 'tmux' && pane.pane === undefined
}

/** The shell that can be made to print marks, if the program is one. */
export function markable({
  command,
  args,
  marks,
}: Pick<TerminalPlan, 'command' | 'args' | 'marks'>): Shell | undefined {
  return marks === 'off' || args.length > 0 ? undefined : shellKind(command)
}

export function screenSize(what: string, cols: number, rows: number): { cols: number; rows: number } {
  for (const [name, value] of Object.entries({ cols, rows }))
    if (!Number.isInteger(value) || value < 2 || value > 1_000)
      throw new NerveError('bad-option', `${what}: ${name} is ${String(value)}; give a whole number from 2 to 1000.`)
  return { cols, rows }
}

/** A pattern with `g` or `y` would remember where it was. */
function stateless(pattern: RegExp | undefined): RegExp | undefined {
  return pattern === undefined ? undefined : new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, ''))
}

function defaultShell(): string {
  const own = process.env['SHELL'] ?? ''
  return shellKind(own) === undefined ? 'bash' : own
}

/** The environment of the program: little of this process's, then what was asked for by name. */
export function terminalEnvironment({ env, inherit }: Pick<TerminalPlan, 'env' | 'inherit'>): Record<string, string> {
  const made: Record<string, string> = {}
  for (const [name, value] of Object.entries(process.env))
    if (value !== undefined && (ALLOWED.test(name) || inherit.includes(name))) made[name] = value
  if (made['LANG'] === undefined && made['LC_ALL'] === undefined) made['LANG'] = 'C.UTF-8'
  return { ...made, TERM: 'xterm-256color', ...env }
}

/** The file that a command is. Said before it is started: what a PTY says of a missing program is hard to read. */
export function findCommand(id: string, { command, cwd }: TerminalPlan, path: string): string {
  if (!isFolder(cwd))
    throw new NerveError(
      'command-failed',
      `Terminal '${id}' cannot start in ${cwd}: there is no such folder. Give another cwd.`,
      {
        data: { reason: 'cwd', cwd },
      },
    )
  const places = command.includes('/') ? [''] : path.split(delimiter)
  for (const place of places) {
    const file = isAbsolute(command) ? command : join(place === '' ? cwd : place, command)
    if (isProgram(file)) return file
  }
  throw new NerveError(
    'command-failed',
    `Terminal '${id}' cannot start ${JSON.stringify(command)}: there is no such program${command.includes('/') ? '' : ' in PATH'}. Install it, or give another command.`,
    { data: { reason: 'program', command } },
  )
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
