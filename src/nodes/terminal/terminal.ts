/** A program on a PTY, or in a pane of a multiplexer, as a persistent node: a shell, a REPL, anything that a person could use at a screen. */
import { milliseconds, type Duration } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Node, NodeInfo, StepCall } from '../../engine/definition.ts'
import { isLabel } from '../../engine/scope.ts'
import type { PanePlan } from '../panes/pane-options.ts'
import type { TerminalScreen } from './terminal-screen.ts'
import { TerminalKeeper, type Command, type TerminalState } from './terminal-keeper.ts'
import { planTerminal, type TerminalOptions, type TerminalPlan } from './terminal-options.ts'
import type { PaneFacts } from './terminal-process.ts'
import type { TerminalResult } from './terminal-result.ts'

/** A command line, or one that may take another time than the node's. */
export type TerminalInput = string | { readonly line: string; readonly timeout?: Duration }

/** What goes on in a terminal, for those who watch. */
export type TerminalPart =
  | { readonly type: 'output'; readonly text: string }
  | { readonly type: 'resized'; readonly cols: number; readonly rows: number }
  | { readonly type: 'writer'; readonly holder?: string }
  | { readonly type: 'state'; readonly state: TerminalState }

export interface TerminalInfo extends NodeInfo {
  readonly state: TerminalState
  readonly pid?: number
  /** The pane that it runs in, and the command with which a person looks at it. */
  readonly pane?: PaneFacts
  /** True while the shell says where commands begin and end. */
  readonly marked: boolean
  /** Who has taken over. */
  readonly writer?: string
  /** The file with everything that was printed. */
  readonly log?: string
  /** What it was made of; of variables only the names. */
  readonly config: Readonly<Record<string, unknown>>
}

/** What `execute` needs to know of the step it is in; nothing, when it is in none. */
export type TerminalCall = Partial<Pick<StepCall, 'signal' | 'emit' | 'key' | 'attempt' | 'resumed'>>

export interface TerminalNode extends Node<TerminalInput, TerminalResult> {
  readonly state: TerminalState
  start(): Promise<void>
  /** Ends the program and everything that it started. */
  stop(): Promise<void>
  /** Lets go of the program. In a pane it goes on, and is found again when it is next used; on a PTY it ends. */
  detach(): Promise<void>
  /** Stops it and starts it again. */
  reset(): Promise<void>
  /** Ctrl-C. */
  interrupt(): Promise<void>
  fork(id: string): TerminalNode
  info(): TerminalInfo
  /** Types a command line and waits until it is over, or until a program waits for input. */
  execute(input: TerminalInput, call?: TerminalCall): Promise<TerminalResult>
  /** The same, piece by piece as it is printed; it returns the result. */
  stream(input: TerminalInput, call?: TerminalCall): AsyncGenerator<string, TerminalResult, undefined>
  /** Types a command line and does not wait. */
  run(line: string, who?: string): Promise<void>
  /** Types exactly this: keys, not lines. */
  write(data: string, who?: string): Promise<void>
  /** The plain text since it was last read. */
  read(): string
  /** The last lines. */
  readTail(lines?: number): string
  /** Forgets the lines in memory. */
  clearBuffer(): void
  resize(cols: number, rows: number): void
  screen(): Promise<TerminalScreen>
  watch(listener: (part: TerminalPart) => void): () => void
  /** From now on only this one may write; commands of steps wait. */
  takeOver(who: string): void
  handBack(who: string): void
}

const ABILITIES = [
  'start',
  'stop',
  'detach',
  'reset',
  'interrupt',
  'fork',
  'stream',
  'write',
  'read',
  'screen',
] as const
const TAIL_LINES = 20

/**
 * A terminal. Its program starts when it is first needed, and keeps its folder, variables and jobs from one step to the
 * next.
 *
 * ```ts
 * import { terminal } from 'nerve/terminal'
 *
 * const shell = terminal('shell', { command: 'bash' })
 * const { output, exitCode } = await shell.execute('echo hello')
 * await shell.stop()
 * ```
 */
export function terminal(id: string, options: TerminalOptions = {}): TerminalNode {
  if (!isLabel(id))
    throw new NerveError(
      'bad-definition',
      `${JSON.stringify(id)} is not an id for a node. Use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  return made(id, planTerminal(id, options))
}

function made(id: string, plan: TerminalPlan, forkedFrom?: string): TerminalNode {
  const keeper = new TerminalKeeper(id, plan)
  const execute = async (input: TerminalInput, call: TerminalCall = {}): Promise<TerminalResult> =>
    keeper.execute(commandOf(id, input, plan, call), {
      signal: call.signal,
      // Text that nobody hears is not made.
      onText: call.emit === undefined ? undefined : (text) => call.emit?.('output', text),
      onWait: (holder) => call.emit?.('waiting', { for: holder }),
    })
  return {
    id,
    kind: 'terminal',
    persistent: true,
    policy: plan.policy,
    get state() {
      return keeper.state
    },
    execute,
    stream: (input, call) => streamed(execute, input, call),
    start: () => keeper.start(),
    stop: () => keeper.stop(),
    detach: () => keeper.detach(),
    reset: () => keeper.reset(),
    interrupt: () => keeper.interrupt(),
    fork: (name) => {
      if (!isLabel(name)) throw new NerveError('bad-definition', `${JSON.stringify(name)} is not an id for a node.`)
      return made(name, forkedPlan(plan), id)
    },
    run: async (line, who) => keeper.write(`${line}\r`, who),
    write: async (data, who) => keeper.write(data, who),
    read: () => keeper.read(),
    readTail: (lines = TAIL_LINES) => keeper.readTail(lines),
    clearBuffer: () => keeper.clearBuffer(),
    resize: (cols, rows) => keeper.resize(cols, rows),
    screen: () => keeper.screen(),
    watch: (listener) => keeper.watch(listener),
    takeOver: (who) => keeper.takeOver(who),
    handBack: (who) => keeper.handBack(who),
    info: () => ({
      id,
      kind: 'terminal',
      persistent: true,
      ...(plan.description === undefined ? {} : { description: plan.description }),
      abilities: ABILITIES,
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
      ...keeper.facts(),
      config: configOf(plan),
    }),
  }
}

/** A copy has a program of its own, so it cannot have the pane that another one was given. */
function forkedPlan(plan: TerminalPlan): TerminalPlan {
  return plan.in?.pane === undefined ? plan : { ...plan, in: { ...plan.in, pane: undefined } }
}

function commandOf(id: string, input: TerminalInput, plan: TerminalPlan, call: TerminalCall): Command {
  const { line, timeout } = typeof input === 'string' ? { line: input, timeout: undefined } : input
  if (typeof line !== 'string')
    throw new NerveError('bad-input', `Terminal '${id}' needs a command line: a text, or { line, timeout? }.`)
  const { key, attempt = 1, resumed = false } = call
  return {
    line,
    timeoutMs: timeout === undefined ? plan.timeoutMs : milliseconds(timeout, 'timeout'),
    name: key === undefined ? undefined : { key, attempt },
    resumed: resumed && key !== undefined,
  }
}

/** Pieces that come while nobody asks for them are kept; who stops reading interrupts the command. */
async function* streamed(
  execute: TerminalNode['execute'],
  input: TerminalInput,
  call: TerminalCall = {},
): AsyncGenerator<string, TerminalResult, undefined> {
  const pieces: string[] = []
  let news = Promise.withResolvers<void>()
  const own = new AbortController()
  const emit = (type: string, data?: unknown): void => {
    call.emit?.(type, data)
    if (type === 'output') pieces.push(data as string)
    news.resolve()
  }
  const signal = call.signal === undefined ? own.signal : AbortSignal.any([call.signal, own.signal])
  let over = false
  const done = execute(input, { ...call, signal, emit }).finally(() => {
    over = true
    news.resolve()
  })
  done.catch(() => undefined)
  try {
    while (!over || pieces.length > 0) {
      if (pieces.length === 0) await news.promise
      news = Promise.withResolvers<void>()
      yield* pieces.splice(0)
    }
    return await done
  } finally {
    if (!over) {
      own.abort(new NerveError('interrupted', 'Nobody reads the output any more.'))
      await done.catch(() => undefined)
    }
  }
}

function configOf(plan: TerminalPlan): Readonly<Record<string, unknown>> {
  const { command, args, cwd, env, inherit, cols, rows, scrollback, maxOutput, log, marks, rc, readyPattern } = plan
  return {
    ...(plan.in === undefined ? {} : { in: shownPane(plan.in) }),
    command,
    args,
    cwd,
    env: Object.keys(env),
    inherit,
    cols,
    rows,
    scrollback,
    maxOutput,
    marks,
    ...(log === undefined ? {} : { log }),
    ...(rc === undefined ? {} : { rc }),
    ...(readyPattern === undefined ? {} : { readyPattern: String(readyPattern) }),
    ...(Number.isFinite(plan.timeoutMs) ? { timeout: plan.timeoutMs } : {}),
  }
}

function shownPane({ mux, pane, socket, program, project }: PanePlan): Readonly<Record<string, unknown>> {
  return {
    mux,
    ...(pane === undefined ? {} : { pane }),
    ...(socket === undefined ? {} : { socket }),
    ...(program === mux ? {} : { program }),
    ...(mux === 'tmux' && pane === undefined ? { project } : {}),
  }
}
