/** One command line in a live terminal, from the moment it may be typed until it is over, waits, or is given up. */
import { NerveError } from '../../base/nerve-error.ts'
import type { CommandName } from '../panes/command-book.ts'
import type { Capture } from './capture.ts'
import type { LiveTerminal } from './live-terminal.ts'
import { untilReady } from './readiness.ts'
import type { TerminalPlan } from './terminal-options.ts'
import type { ReadyRule, TerminalResult } from './terminal-result.ts'

export interface CommandWish {
  readonly id: string
  readonly line: string
  readonly plan: TerminalPlan
  readonly timeoutMs: number
  /** The step that it is a command of. */
  readonly name?: CommandName | undefined
  /** True when somebody typed something since the last prompt: it is not a part of this command. */
  readonly typed: boolean
  readonly signal?: AbortSignal | undefined
  readonly onText?: ((text: string) => void) | undefined
}

const PASTE_PATIENCE_MS = 250
const INTERRUPT_PATIENCE_MS = 1_000
const PASTE_BEGIN = '\u001b[200~'
const PASTE_END = '\u001b[201~'

/** Types the line and waits. When it is aborted, the command is interrupted, and killed if it does not care. */
export async function runCommand(live: LiveTerminal, wish: CommandWish): Promise<TerminalResult> {
  const { line, plan, signal, timeoutMs } = wish
  await settled(live, wish)
  const capture = live.newCapture(wish.onText)
  const nested = !live.marked || live.phase === 'running'
  if (line.includes('\n') || line.includes('\t')) await pasteMode(live)
  const began = performance.now()
  if (wish.name !== undefined) book(live, wish.name, { capture, nested })
  live.begin(capture)
  try {
    const ready = untilReady(live, { timeoutMs, pattern: plan.readyPattern, signal })
    live.write(`${wish.typed && !nested ? '\u0005\u0015' : ''}${typing(line, live.bracketed)}\r`)
    const rule = await ready
    live.waits = rule === 'paste' || rule === 'kernel' || rule === 'stable'
    return result(live, capture, { rule, line: nested ? line : undefined, began })
  } catch (error) {
    await giveUp(live)
    throw error
  } finally {
    live.finish(capture)
  }
}

/** Before it is typed: who comes after a crash must not type it again. */
function book(
  live: LiveTerminal,
  name: CommandName,
  { capture, nested }: { readonly capture: Capture; readonly nested: boolean },
): void {
  live.process.book?.add({ ...name, turn: live.turn, nested })
  if (!nested) live.booked?.add(live.turn, capture)
}

/** A command that somebody else began must be over before the next one is typed; one that waits for input gets it. */
async function settled(live: LiveTerminal, { id, plan, timeoutMs, signal }: CommandWish): Promise<void> {
  if (!live.marked || live.waits || live.phase === 'continuation') return
  const rule = await untilReady(live, { timeoutMs, pattern: plan.readyPattern, signal })
  if (rule === 'exit') throw terminalEnded(id, live)
  if (rule === 'timeout')
    throw new NerveError('timeout', `Terminal '${id}' was still busy with something else. Interrupt it, or wait.`, {
      retry: 'later',
    })
  live.waits = rule !== 'marks'
}

/** Some shells switch it on a moment after their prompt is there. */
async function pasteMode(live: LiveTerminal): Promise<void> {
  if (live.bracketed || !live.marked || live.phase !== 'ready') return
  const { promise, resolve } = Promise.withResolvers<void>()
  const forget = live.onChange(() => {
    if (live.bracketed) resolve()
  })
  const late = setTimeout(resolve, PASTE_PATIENCE_MS)
  await promise
  forget()
  clearTimeout(late)
}

/** Several lines go in as one paste, so that they are one command; a paste cannot end itself. */
function typing(line: string, bracketed: boolean): string {
  if (!line.includes('\n') && !line.includes('\t')) return line
  if (!bracketed) return line.replaceAll('\n', '\r')
  return PASTE_BEGIN + line.replaceAll(PASTE_END, '') + PASTE_END
}

export interface Outcome {
  readonly rule: ReadyRule
  /** What was typed, when its echo is a part of what was printed. */
  readonly line: string | undefined
  readonly began: number
}

export function result(live: LiveTerminal, capture: Capture, { rule, line, began }: Outcome): TerminalResult {
  const text = capture.transcript.toString()
  const exitCode = rule === 'exit' ? live.ended?.code : rule === 'marks' ? capture.exitCode : undefined
  const { dropped } = capture.transcript
  return {
    output: line === undefined || dropped > 0 ? text : withoutEcho(text, line),
    ...(exitCode === undefined ? {} : { exitCode }),
    rule,
    durationMs: Math.round(performance.now() - began),
    ...(rule === 'marks' && live.phase === 'continuation' ? { continuation: true as const } : {}),
    ...(dropped === 0 ? {} : { dropped }),
  }
}

/** Programs that read lines show what is typed. */
function withoutEcho(text: string, line: string): string {
  const echo = line.replaceAll('\r', '')
  return text.startsWith(`${echo}\n`) ? text.slice(echo.length + 1) : text
}

export async function giveUp(live: LiveTerminal): Promise<void> {
  if (live.ended !== undefined || live.failure !== undefined) return
  const calm = (): Promise<ReadyRule> => untilReady(live, { timeoutMs: INTERRUPT_PATIENCE_MS })
  live.write('\u0003')
  if ((await calm()) !== 'timeout') return
  await live.process.killBelow()
  await calm()
}

export function terminalEnded(id: string, live: LiveTerminal): NerveError {
  const code = live.ended?.code
  const last = live.transcript.tail(5).trim()
  return new NerveError(
    'terminal-ended',
    `The program in terminal '${id}' has ended${code === undefined ? '' : ` with exit code ${code}`}. reset() starts it again.${last === '' ? '' : ` It last said: ${last.slice(-500)}`}`,
    { data: { ...(code === undefined ? {} : { exitCode: code }) } },
  )
}
