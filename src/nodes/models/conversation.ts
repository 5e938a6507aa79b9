/**
 * What a chat remembers: the messages so far. It belongs to the chat and outlives runs. Each turn of a run starts with a
 * step that records what is new to that run, and ends with adding what was said; so a replay comes to the same messages, and
 * a chat in a new process gets back what the runs that go on had said.
 *
 * Invariants:
 *  1. One turn at a time, whichever run it is in. A turn whose run this process no longer drives holds up nobody.
 *  2. A turn is added as a whole, or not at all.
 *  3. What is newer is kept: a replay changes nothing that has changed since.
 */
import { existsSync } from 'node:fs'
import { NerveError } from '../../base/nerve-error.ts'
import type { Context } from '../../engine/definition.ts'
import { executionOf, keepState, stopWatch, type StatePart } from '../../engine/run-node.ts'
import { readConversation, writeConversation } from './conversation-file.ts'
import { placeOf, requestsOf, type ChatMessage } from './message.ts'

/** A conversation at one time. */
export interface Remembered {
  readonly messages: readonly ChatMessage[]
  /** How many tokens the model took for it the last time. */
  readonly tokens: number
  /** When it last changed (milliseconds since the epoch); each change is later than the one before. */
  readonly at: number
}

/** What a turn starts from, as far as its run does not know it. */
export interface TurnStart {
  readonly at: number
  /** How many of the messages that the run knows are left; all of them when it is missing. */
  readonly keep?: number
  readonly add?: readonly ChatMessage[]
  readonly tokens?: number
}

/** One turn of a run. */
export interface Turn {
  readonly key: string
  readonly part: StatePart
  /** True for a run that was forked from another: it goes on with a copy of the conversation. */
  readonly own: boolean
  readonly replaying: () => boolean
  readonly over: () => boolean
}

export interface TurnEnd extends Remembered {
  /** When the conversation last changed before the turn. */
  readonly from: number
  /** What was said in the turn. */
  readonly said: readonly ChatMessage[]
}

const NOTHING: Remembered = { messages: [], tokens: 0, at: 0 }
/** Nobody tells when a run is dropped from memory, so it is looked at from time to time. */
const LOOK_MS = 1_000

export class Conversation {
  readonly #name: string
  readonly #file: string | undefined
  #now: Remembered
  #loading: Promise<void> | undefined
  readonly #turns = new Set<Turn>()
  readonly #waiting = new Set<() => void>()
  readonly #known = new WeakMap<object, readonly { readonly part: StatePart; readonly view: Remembered }[]>()

  constructor(name: string, file: string | undefined, messages: readonly ChatMessage[] = []) {
    this.#name = name
    this.#file = file
    this.#now = messages.length === 0 ? NOTHING : { messages, tokens: 0, at: Date.now() }
  }

  get now(): Remembered {
    return this.#now
  }

  get busy(): boolean {
    for (const turn of this.#turns) if (turn.over()) this.#turns.delete(turn)
    return this.#turns.size > 0
  }

  /** True when it is in a file. */
  get kept(): boolean {
    return this.#file !== undefined
  }

  turn(ctx: Context): Turn {
    const execution = executionOf(ctx)
    return {
      key: placeOf(ctx),
      part: keepState(ctx),
      own: execution.state.forkedFrom !== undefined,
      replaying: () => execution.replaying,
      over: stopWatch(ctx),
    }
  }

  /** Waits until the turn may begin, and says what its run does not know. */
  async enter(turn: Turn, signal: AbortSignal): Promise<TurnStart> {
    await this.ready()
    const known = this.#knownTo(turn)
    if (turn.own) return known === undefined ? startOf(this.#now, known) : { at: known.at }
    while (this.busy) await this.#released(turn, signal)
    this.begin(turn)
    return startOf(this.#now, this.#knownTo(turn))
  }

  /** The turn goes on, perhaps in another process than the one in which it began. */
  begin(turn: Turn): void {
    if (!turn.own) this.#turns.add(turn)
  }

  end(turn: Turn): void {
    this.#turns.delete(turn)
    for (const wake of this.#waiting) wake()
  }

  /** The messages that the turn begins with. */
  at(turn: Turn, { keep, add = [], tokens }: TurnStart): { messages: ChatMessage[]; tokens: number } {
    const known = this.#knownTo(turn) ?? NOTHING
    return { messages: [...known.messages.slice(0, keep), ...add], tokens: tokens ?? known.tokens }
  }

  /** Adds what was said in a turn. */
  add(turn: Turn, { from, said, messages, tokens, at }: TurnEnd): void {
    const late = Math.max(at, from + 1)
    const when = turn.own || turn.replaying() ? late : Math.max(late, this.#now.at + 1)
    this.#remember(turn.part, { messages, tokens, at: when })
    if (turn.own || when <= this.#now.at) return
    const others = this.#now.at > from
    this.#now = { messages: others ? [...this.#now.messages, ...said] : messages, tokens, at: when }
  }

  clear(): void {
    this.#change([], 0)
  }

  async save(file: string): Promise<void> {
    await writeConversation(file, { chat: this.#name, ...this.#now })
  }

  async load(file: string): Promise<void> {
    const { messages, tokens } = await readConversation(file)
    this.#change(messages, tokens)
  }

  /** Reads the file that the chat keeps, once. What came from a replay before may be newer. */
  ready(): Promise<void> {
    const file = this.#file
    if (file === undefined) return Promise.resolve()
    this.#loading ??= (async () => {
      if (!existsSync(file)) return
      const read = await readConversation(file)
      if (read.at > this.#now.at) this.#now = read
    })().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  /** Writes that file. */
  async keep(): Promise<void> {
    if (this.#file !== undefined) await this.save(this.#file)
  }

  /** A deep copy of the messages, or of the first of them: so many, or up to the one with this id. */
  copy(at: number | string | undefined): ChatMessage[] {
    const { messages } = this.#now
    const index = typeof at === 'string' ? messages.findIndex(({ id }) => id === at) + 1 : (at ?? messages.length)
    const fits = Number.isInteger(index) && index >= (typeof at === 'string' ? 1 : 0) && index <= messages.length
    if (!fits)
      throw new NerveError(
        'bad-option',
        `Chat '${this.#name}' has no message ${JSON.stringify(at)}; it has ${messages.length}.`,
      )
    const last = messages[index - 1]
    if (last !== undefined && requestsOf(last).length > 0)
      throw new NerveError(
        'bad-option',
        `Message ${index} of chat '${this.#name}' asks for tools, and no conversation can begin with that left open. ` +
          'Fork before it, or after its results.',
      )
    return structuredClone(messages.slice(0, index))
  }

  #change(messages: readonly ChatMessage[], tokens: number): void {
    if (this.busy)
      throw new NerveError('not-ready', `Chat '${this.#name}' is in the middle of a turn. Wait until that has ended.`, {
        retry: 'later',
      })
    // What its file has is no longer wanted.
    this.#loading ??= Promise.resolve()
    this.#now = { messages, tokens, at: Math.max(Date.now(), this.#now.at + 1) }
  }

  #knownTo({ part }: Turn): Remembered | undefined {
    return this.#known.get(part.run)?.findLast((one) => one.part.precedes(part))?.view
  }

  #remember(part: StatePart, view: Remembered): void {
    const before = part.certain ? [] : (this.#known.get(part.run) ?? [])
    this.#known.set(part.run, [...before.filter((one) => one.part.scope !== part.scope), { part, view }])
  }

  async #released({ key }: Turn, signal: AbortSignal): Promise<void> {
    for (const other of this.#turns)
      if (key.startsWith(`${other.key}/`))
        throw new NerveError(
          'bad-option',
          `Chat '${this.#name}' uses itself as a tool, and would wait for itself for ever.`,
        )
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(wake, LOOK_MS)
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
    signal.throwIfAborted()
  }
}

function startOf(now: Remembered, known: Remembered | undefined): TurnStart {
  const { at, messages, tokens } = now
  if (known?.at === at) return { at }
  const before = known?.messages ?? []
  let keep = 0
  while (keep < before.length && before[keep]?.id === messages[keep]?.id) keep += 1
  const add = messages.slice(keep)
  return {
    at,
    ...(keep === before.length ? {} : { keep }),
    ...(add.length === 0 ? {} : { add }),
    ...(tokens === 0 && known === undefined ? {} : { tokens }),
  }
}
