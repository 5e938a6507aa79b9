/**
 * What a Claude in a terminal keeps from one life of its process to the next: the state, the conversation, the queue of
 * prompts, who writes, who watches.
 *
 * Invariants: one prompt at a time; a process that ended by itself is started again by the next prompt, with the same
 * conversation, and one that was stopped is not.
 */
import { NerveError } from '../../base/nerve-error.ts'
import { createRedactor, type Redactor } from '../../base/redact.ts'
import type { TerminalNode, TerminalPart } from '../terminal/terminal.ts'
import type { TerminalState } from '../terminal/terminal-keeper.ts'
import { screenSize } from '../terminal/terminal-options.ts'
import { Writer } from '../terminal/writer.ts'
import { ClaudeLife, endLeft } from './claude-life.ts'
import type { ClaudePlan } from './claude-options.ts'
import type { ClaudeResult } from './claude-result.ts'
import { interrupted, runTurn, type ClaudeCall } from './claude-turn.ts'
import { untilScreen } from './screen-watch.ts'

const ESCAPE = '\u001b'
/** What a prompt begins with when the step was cut off before. */
const CUT_OFF =
  'You were cut off while you worked on the following, maybe more than once. Look at what is done already, then finish it:'

export class ClaudeKeeper {
  readonly #id: string
  readonly #plan: ClaudePlan
  readonly #redactor: Redactor
  readonly #writer = new Writer()
  readonly #watchers = new Set<(part: TerminalPart) => void>()
  #session: string
  #state: TerminalState = 'created'
  #life: ClaudeLife | undefined
  #starting: Promise<ClaudeLife> | undefined
  #stopping: Promise<void> | undefined
  #stopped = false
  #queue: Promise<unknown> = Promise.resolve()
  #turn: AbortController | undefined
  #size: { readonly cols: number; readonly rows: number } | undefined

  constructor(id: string, plan: ClaudePlan) {
    this.#id = id
    this.#plan = plan
    this.#session = plan.session
    this.#redactor = createRedactor({ env: { ...process.env, ...plan.options.env } })
  }

  get state(): TerminalState {
    return this.#state
  }

  get session(): string {
    return this.#life?.session ?? this.#session
  }

  facts(): { readonly state: TerminalState; readonly pid?: number; readonly writer?: string } {
    const pid = this.#life?.terminal.info().pid
    const { holder } = this.#writer
    return {
      state: this.#state,
      ...(pid === undefined ? {} : { pid }),
      ...(holder === undefined ? {} : { writer: holder }),
    }
  }

  async start(): Promise<void> {
    await this.#stopping
    this.#stopped = false
    await this.#alive()
  }

  execute(prompt: string, timeoutMs: number, call: ClaudeCall): Promise<ClaudeResult> {
    const turn = this.#queue.then(() => this.#execute(prompt, timeoutMs, call))
    this.#queue = turn.catch(() => undefined)
    return turn
  }

  /** Escape. Also for those who have not taken over: stopping must always be possible. */
  async interrupt(): Promise<void> {
    if (this.#turn !== undefined) return this.#turn.abort(interrupted(this.#id))
    const life = this.#life
    // At an empty box, a second Escape would open a page.
    if (life !== undefined && !life.ended && (await life.look()).state !== 'ready') await life.press(ESCAPE)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined
    })
    await this.#stopping
  }

  /** The terminal of the life that is there, started if none ever was. */
  async terminal(): Promise<TerminalNode> {
    return (this.#life ?? (await this.#alive())).terminal
  }

  /** The terminal of the life that is there, if there is one. */
  get screen(): TerminalNode | undefined {
    return this.#life?.terminal
  }

  resize(cols: number, rows: number): void {
    this.#size = screenSize(`claudeTerminal '${this.#id}'`, cols, rows)
    this.#life?.terminal.resize(cols, rows)
  }

  takeOver(who: string): void {
    this.#writer.takeOver(this.#id, who)
    this.#life?.terminal.takeOver(who)
  }

  handBack(who: string): void {
    this.#writer.handBack(this.#id, who)
    this.#life?.terminal.handBack(who)
  }

  watch(listener: (part: TerminalPart) => void): () => void {
    this.#watchers.add(listener)
    return () => this.#watchers.delete(listener)
  }

  async #execute(prompt: string, timeoutMs: number, call: ClaudeCall): Promise<ClaudeResult> {
    call.signal?.throwIfAborted()
    const life = await this.#alive()
    const own = new AbortController()
    const signal = call.signal === undefined ? own.signal : AbortSignal.any([call.signal, own.signal])
    const whole = call.resumed === true ? `${CUT_OFF}\n\n${prompt}` : prompt
    this.#turn = own
    this.#become('busy')
    try {
      const wish = { id: this.#id, prompt: whole, timeoutMs, call, signal, redactor: this.#redactor }
      return await runTurn(life, wish)
    } finally {
      this.#turn = undefined
      if (this.#life === life && this.#state === 'busy') this.#become(life.ended ? 'stopped' : 'ready')
    }
  }

  async #alive(): Promise<ClaudeLife> {
    await this.#stopping
    if (this.#stopped)
      throw new NerveError(
        'terminal-ended',
        `Claude in '${this.#id}' was stopped. start() goes on with its conversation.`,
      )
    if (this.#life !== undefined && !this.#life.ended && this.#starting === undefined) return this.#life
    this.#starting ??= this.#begin().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #begin(): Promise<ClaudeLife> {
    this.#become('starting')
    try {
      this.#session = this.session
      await this.#life?.stop()
      const life = await ClaudeLife.start(this.#id, this.#plan, this.#session, (one, part) => this.#pass(one, part))
      this.#life = life
      if (this.#size !== undefined) life.terminal.resize(this.#size.cols, this.#size.rows)
      if (this.#writer.holder !== undefined) life.terminal.takeOver(this.#writer.holder)
      await this.#ready(life)
      this.#become('ready')
      return life
    } catch (error) {
      this.#become('error')
      throw error
    }
  }

  /** Dialogs that come before the first prompt are for people; they may be answered at the screen, in time. */
  async #ready(life: ClaudeLife): Promise<void> {
    const ms = this.#plan.startTimeoutMs
    if (!this.#stopped && (await untilScreen(life, ['ready'], { ms })) !== undefined) return
    try {
      if (life.ended || this.#stopped) throw await life.whyEnded()
      const { question, raw } = await life.look()
      const shows = question?.prompt ?? raw.trim().slice(-500)
      throw new NerveError(
        'not-ready',
        `Claude Code in '${this.#id}' was not ready for a prompt within ${ms} ms. Its screen says: ${shows}. If it is the first time that it runs in ${this.#plan.cwd}, run it there once by hand, with the same configDir, and answer what it asks.`,
        { data: { cwd: this.#plan.cwd, configDir: this.#plan.configDir } },
      )
    } finally {
      await life.stop()
    }
  }

  async #stop(): Promise<void> {
    // A start that is under way is cut short where it waits, and let come to its end; then there is something to stop.
    if (this.#starting !== undefined) {
      await this.#life?.stop()
      await this.#starting.catch(() => undefined)
    }
    const life = this.#life
    // What an earlier process left in a pane ends too.
    if (life === undefined) return endLeft(this.#id, this.#plan)
    this.#become('stopping')
    this.#session = life.session
    await life.stop()
    this.#become('stopped')
  }

  /** States of the terminal are not those of the node; only that it has ended is one for both. */
  #pass(life: ClaudeLife, part: TerminalPart): void {
    if (part.type !== 'state') return this.#tell(part)
    if (this.#life === life && part.state === 'stopped' && (this.#state === 'ready' || this.#state === 'busy'))
      this.#become('stopped')
  }

  #become(state: TerminalState): void {
    if (this.#state === state) return
    this.#state = state
    this.#tell({ type: 'state', state })
  }

  #tell(part: TerminalPart): void {
    for (const watcher of this.#watchers)
      try {
        watcher(part)
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : String(error))
      }
  }
}
