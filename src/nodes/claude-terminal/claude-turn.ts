/**
 * One prompt, from the moment it may be typed until Claude has ended its turn, has failed, or is given up.
 *
 * The hooks say what happens. The screen says it where they are silent: an interrupted turn has no hook, and in some places
 * hooks are forbidden.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { Redactor } from '../../base/redact.ts'
import type { StepCall } from '../../engine/definition.ts'
import type { Usage } from '../../journal/events.ts'
import type { ParsedScreen, Section } from '../parsers/parser.ts'
import type { ClaudeLife, LifeListener } from './claude-life.ts'
import type { ClaudeResult, ClaudeRule } from './claude-result.ts'
import type { HookEvent, PermissionHook } from './hook-events.ts'
import type { HookReply } from './hook-server.ts'
import { PermissionQuestions } from './permission-questions.ts'
import { typePrompt } from './prompt-typing.ts'
import { untilScreen, watchScreen, type Seen } from './screen-watch.ts'
import { lengthOf, usageSince } from './session-record.ts'

/** What `execute` needs to know of the step it is in; nothing, when it is in none. */
export type ClaudeCall = Partial<Pick<StepCall, 'signal' | 'emit' | 'ask' | 'usage' | 'resumed'>>

export interface TurnWish {
  readonly id: string
  readonly prompt: string
  readonly timeoutMs: number
  readonly call: ClaudeCall
  /** Aborts with the step, and when the node is interrupted. */
  readonly signal: AbortSignal
  readonly redactor: Redactor
}

interface Outcome {
  readonly rule: ClaudeRule
  readonly text?: string
}

/** The screen waits for input for this long before it is believed that no hook comes any more. */
const HOOK_PATIENCE_MS = 1_500
/** The same, when the screen has not shown yet that Claude works. */
const DRAWING_PATIENCE_MS = 10_000
/** The screen is drawn a moment after the hook; a hook of the person may also make Claude go on. */
const SCREEN_PATIENCE_MS = 3_000
/** A dialog that is gone for this long was answered at the screen. */
const DIALOG_GONE_MS = 500
/** After this long without any sign, Enter is pressed again, or there was nothing to wait for. */
const SIGN_PATIENCE_MS = 2_000
const USAGE_PATIENCE_MS = 500
const LONGEST_TIMER_MS = 2 ** 31 - 1
const MOST_ENTERS = 3
const ESCAPE = '\u001b'
const ESCAPE_PATIENCE_MS = 2_500
/** A prompt that was just sent may begin a moment later. */
const ESCAPED_MS = 300

export async function runTurn(life: ClaudeLife, wish: TurnWish): Promise<ClaudeResult> {
  const { call, timeoutMs } = wish
  const own = new AbortController()
  const late = timeoutMs > LONGEST_TIMER_MS ? undefined : setTimeout(() => own.abort(tooLate(wish)), timeoutMs)
  const signal = AbortSignal.any([wish.signal, own.signal])
  const began = performance.now()
  try {
    await typeable(life, wish, signal)
    const from = lengthOf(life.transcript)
    const turn = new Turn(life, wish).run(signal)
    const usage = await spentBy(turn, life, from)
    if (usage !== undefined) call.usage?.(usage)
    const { rule, text } = await turn
    const sections = lastTurn(life.ended ? undefined : await life.look())
    const result = { text: text ?? lastText(sections), sections, session: life.session, rule }
    call.emit?.('stop', { text: result.text })
    return {
      ...result,
      durationMs: Math.round(performance.now() - began),
      ...(usage === undefined ? {} : { usage }),
      ...(rule === 'exit' ? { exitCode: 0 } : {}),
    }
  } finally {
    clearTimeout(late)
  }
}

/** Also a turn that failed has cost something. */
async function spentBy(turn: Promise<Outcome>, life: ClaudeLife, from: number): Promise<Usage | undefined> {
  const hooked = await turn.then(
    ({ rule }) => rule === 'hook',
    () => false,
  )
  return usageSince(life.transcript, life.session, { from, patience: hooked ? USAGE_PATIENCE_MS : 0 })
}

/** Waits until a prompt can be typed: nobody else types, and Claude does nothing else. */
async function typeable(life: ClaudeLife, { id, call }: TurnWish, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const ready = await untilScreen(life, ['ready'], { ms: Number.POSITIVE_INFINITY, signal })
    if (ready === undefined) throw await life.whyEnded()
    const holder = life.terminal.info().writer
    if (holder === undefined) return
    call.emit?.('waiting', { for: holder })
    await handedBack(life, signal)
    if (life.ended) throw new NerveError('terminal-ended', `Claude Code in '${id}' has ended.`)
  }
}

async function handedBack(life: ClaudeLife, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = (): void => reject(signal.reason)
  const forget = life.terminal.watch((part) => {
    if (life.ended || (part.type === 'writer' && part.holder === undefined)) resolve()
  })
  signal.addEventListener('abort', abort)
  if (life.terminal.info().writer === undefined) resolve()
  await promise.finally(() => {
    forget()
    signal.removeEventListener('abort', abort)
  })
}

class Turn implements LifeListener {
  readonly #life: ClaudeLife
  readonly #wish: TurnWish
  readonly #questions: PermissionQuestions
  readonly #over = Promise.withResolvers<Outcome>()
  /** True once a hook came: then the end is told by one too. */
  #hooked = false
  /** True once Claude has the prompt. */
  #begun = false
  /** True once the screen showed something else than the box for input. */
  #worked = false
  #promptId: string | undefined
  #stopped: { readonly text: string; readonly at: number } | undefined
  #lastSign = performance.now()
  #enters = 1

  constructor(life: ClaudeLife, wish: TurnWish) {
    this.#life = life
    this.#wish = wish
    const { call, signal, redactor } = wish
    this.#questions = new PermissionQuestions({ ask: call.ask, signal, redactor })
  }

  async run(signal: AbortSignal): Promise<Outcome> {
    const life = this.#life
    const abort = (): void => this.#over.reject(signal.reason)
    const forget = life.terminal.watch(() => {
      if (life.ended) this.#ended()
    })
    // Rejected while the prompt is typed, it is heard of after that.
    this.#over.promise.catch(() => undefined)
    signal.addEventListener('abort', abort)
    life.listener = this
    let unwatch: (() => void) | undefined
    try {
      await typePrompt(life, this.#wish.prompt, signal)
      this.#sign()
      unwatch = watchScreen(life, (seen) => this.#seen(seen))
      if (life.ended) this.#ended()
      return await this.#over.promise
    } catch (error) {
      this.#questions.end()
      if (signal.aborted) await giveUp(life)
      throw error
    } finally {
      unwatch?.()
      forget()
      signal.removeEventListener('abort', abort)
      life.listener = undefined
      this.#questions.end()
    }
  }

  onEvent(event: HookEvent): void {
    this.#hooked = true
    this.#sign()
    this.#questions.note(event)
    this.#tell(event)
    if (event.type === 'prompt') {
      this.#begun = true
      this.#promptId = event.promptId
      this.#stopped = undefined
    } else if (event.type === 'tool-start') {
      this.#begun = true
      this.#stopped = undefined
    } else if (event.type === 'stop' && this.#isOurs(event.promptId))
      this.#stopped = { text: event.text, at: performance.now() }
    else if (event.type === 'failure') this.#over.reject(failed(this.#wish.id, event))
  }

  async onPermission(event: PermissionHook, gone: AbortSignal): Promise<HookReply> {
    this.#hooked = true
    this.#sign()
    this.#tell(event)
    try {
      return await this.#questions.put(event, gone)
    } finally {
      this.#sign()
    }
  }

  #tell(event: HookEvent): void {
    const { type, ...data } = event
    // The end of a turn is told when it is over for the step too.
    if (type === 'stop' || type === 'failure' || type === 'end') return
    this.#wish.call.emit?.(type, this.#wish.redactor.value(data))
  }

  #sign(): void {
    this.#lastSign = performance.now()
  }

  /** Prompts that come in between, from a person at the screen, belong to the turn. */
  #isOurs(promptId: string | undefined): boolean {
    return promptId === undefined || this.#promptId === undefined || promptId === this.#promptId
  }

  #seen({ screen: { state }, box, forMs }: Seen): void {
    const dialog = state === 'permission' || state === 'asking'
    if (dialog) this.#questions.sees(true)
    else if (state !== 'unknown' && forMs > DIALOG_GONE_MS) this.#questions.sees(false)
    if (dialog || state === 'busy') {
      this.#begun = true
      this.#worked = true
    }
    if (this.#stopped !== undefined) {
      if (state === 'ready' || performance.now() - this.#stopped.at > SCREEN_PATIENCE_MS)
        this.#over.resolve({ rule: 'hook', text: this.#stopped.text })
      return
    }
    const held = this.#life.terminal.info().writer !== undefined
    const quiet = Math.min(forMs, performance.now() - this.#lastSign)
    if (state === 'ready' && this.#questions.open === 0 && !held) this.#quiet(quiet, box)
  }

  /** The screen waits for input, and nothing was said for this long. */
  #quiet(ms: number, box: string): void {
    if (this.#begun) {
      if (ms < (this.#worked ? HOOK_PATIENCE_MS : DRAWING_PATIENCE_MS)) return
      if (this.#hooked) this.#over.reject(interrupted(this.#wish.id))
      else this.#over.resolve({ rule: 'screen' })
    } else if (ms > SIGN_PATIENCE_MS) {
      if (box === '' || this.#enters >= MOST_ENTERS) return this.#over.resolve({ rule: 'screen' })
      this.#enters += 1
      this.#sign()
      this.#life.press('\r').catch(this.#over.reject)
    }
  }

  #ended(): void {
    this.#life.whyEnded().then((why) => {
      if (why.data['exitCode'] === 0) this.#over.resolve({ rule: 'exit' })
      else this.#over.reject(why)
    }, this.#over.reject)
  }
}

/** What a step no longer waits for must not go on. */
async function giveUp(life: ClaudeLife): Promise<void> {
  for (let tries = 0; tries < 2; tries++) {
    await life.press(ESCAPE)
    if (
      (await untilScreen(life, ['ready'], { ms: ESCAPE_PATIENCE_MS, stableMs: ESCAPED_MS })) !== undefined ||
      life.ended
    )
      return
  }
  await life.stop()
}

function lastTurn(screen: ParsedScreen | undefined): readonly Section[] {
  const turn = screen?.sections.at(-1)?.turn
  return screen?.sections.filter((section) => section.turn === turn) ?? []
}

function lastText(sections: readonly Section[]): string {
  return sections.findLast((section) => section.type === 'text')?.text ?? ''
}

export function interrupted(id: string): NerveError {
  return new NerveError('interrupted', `Claude in '${id}' was interrupted before it had ended its turn.`, {
    retry: 'later',
  })
}

function tooLate({ id, timeoutMs }: TurnWish): NerveError {
  return new NerveError(
    'timeout',
    `Claude in '${id}' did not end its turn within ${timeoutMs} ms. It was interrupted.`,
    {
      retry: 'later',
    },
  )
}

const PASSING = new Set(['rate_limit', 'overloaded', 'server_error'])

function failed(id: string, { error, text }: { readonly error: string; readonly text: string }): NerveError {
  return new NerveError('agent-failed', `Claude in '${id}' could not go on (${error}): ${text}`, {
    retry: PASSING.has(error) ? 'later' : 'never',
    data: { error },
  })
}
