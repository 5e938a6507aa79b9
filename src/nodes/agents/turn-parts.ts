/**
 * The parts of a session's turns on their way from an adapter to whoever drives it: one turn at a time, which ends once. What
 * a vendor says while no turn goes on is nobody's.
 */
import type { AgentOpen, AgentPart, AgentTurnEnd, AgentUsage, TurnEnd } from './adapter.ts'
import { Queue } from './queue.ts'

export type Parts = AsyncIterable<AgentPart>

/** What some work that is no turn has spent. */
export type Spent = Promise<Required<Pick<AgentUsage, 'input' | 'output' | 'usd'>>>

/** What a vendor calls the ways in which a turn can end. */
export type Reasons = Readonly<Record<string, TurnEnd>>

/** How often it is asked whether the agent is still there. */
const LOOK_MS = 1_000

export class TurnParts {
  /** The last that the agent said, so far. */
  text = ''
  /** The agent is not there any more. */
  lost = false
  readonly #ping: (() => Promise<unknown>) | undefined
  #queue: Queue<AgentPart> | undefined
  readonly #tools = new Map<string, { readonly call: string; state: 'started' | 'asked' | 'ended' }>()
  #retries = 0
  #message: PromiseWithResolvers<void> | undefined
  #freeAt = 0
  /** What some work beside turns has spent so far. */
  #aside: Record<'input' | 'output' | 'usd', number> | undefined

  /** `ping` is for SDKs that do not tell that their process has ended: whoever waits for the turn would wait for ever. */
  constructor(ping?: () => Promise<unknown>) {
    this.#ping = ping
  }

  get going(): boolean {
    return this.#queue !== undefined
  }

  /** The agent says something: tools that it wants may begin before all of it is said. */
  messageBegan(): void {
    this.#message = Promise.withResolvers()
  }

  messageEnded(): void {
    this.#message?.resolve()
  }

  /** Whether only one call of a tool goes on. Not so while an agent of the agent works, because that is a call as well. */
  async isAlone(): Promise<boolean> {
    await this.#message?.promise
    return [...this.#tools.values()].filter(({ state }) => state !== 'ended').length <= 1
  }

  /** The id of a call that goes on, for agents that ask about it without saying its id. Each is given once. */
  idOf(tool: string, input: unknown): string | undefined {
    const call = callOf(tool, input)
    const [id, found] = [...this.#tools].find(([, one]) => one.state === 'started' && one.call === call) ?? []
    if (found !== undefined) found.state = 'asked'
    return id
  }

  /** Begins a turn by sending something to the agent. What comes of the sending is lost when the turn is over by then. */
  begin<Sent>(send: () => Promise<Sent>, sent?: (result: Sent) => void): Parts {
    this.end('interrupted')
    const queue = new Queue<AgentPart>()
    this.#queue = queue
    this.text = ''
    this.#tools.clear()
    this.#retries = 0
    const ifOurs = (then: () => void): void => (this.#queue === queue ? then() : undefined)
    send().then(
      (result) => ifOurs(() => sent?.(result)),
      (error: Error) => ifOurs(() => this.fail(error.message)),
    )
    this.#watch(queue)
    return queue
  }

  #watch(queue: Queue<AgentPart>): void {
    const ping = this.#ping
    if (ping === undefined) return
    const lost = ({ message }: Error): void => {
      this.lost = true
      if (this.#queue === queue) this.fail(message, 'error')
    }
    const look = setInterval(() => {
      if (this.#queue === queue) ping().catch(lost)
      else clearInterval(look)
    }, LOOK_MS).unref()
  }

  say(text: string): void {
    this.text += text
    this.#push({ type: 'text', text })
  }

  think(text: string): void {
    this.#push({ type: 'thinking', text })
  }

  /** Some agents tell of a tool several times; it starts and ends once. */
  toolStart(id: string, tool: string, input: unknown): void {
    if (this.#tools.has(id)) return
    this.#tools.set(id, { call: callOf(tool, input), state: 'started' })
    this.#push({ type: 'tool-start', id, tool, input })
  }

  toolEnd(id: string, ok: boolean, output?: unknown): void {
    if (this.#tools.get(id)?.state === 'ended') return
    this.#tools.set(id, { call: '', state: 'ended' })
    const said = output ?? ''
    this.#push({ type: 'tool-end', id, ok, output: typeof said === 'string' ? said : JSON.stringify(said) })
  }

  retry(message = ''): void {
    this.#retries += 1
    this.#push({ type: 'retry', attempt: this.#retries, message })
  }

  /** What was spent, and, where it is known, how many tokens of how many are in the context window. */
  spent({ used = 0, size = 0, ...usage }: Omit<AgentUsage, 'window'> & { used?: number; size?: number }): void {
    const window = used === 0 || size === 0 ? {} : { window: Math.min(1, used / size) }
    this.#push({ type: 'usage', usage: { ...usage, ...window } })
    if (this.#aside !== undefined) addTo(this.#aside, usage)
  }

  /** What some work has spent that is no turn. */
  async spentBy(work: () => Promise<unknown>): Spent {
    const spent = (this.#aside = { input: 0, output: 0, usd: 0 })
    try {
      await work()
      return spent
    } finally {
      this.#aside = undefined
    }
  }

  compacted(): void {
    this.#push({ type: 'compacted' })
  }

  end(reason: TurnEnd, more: Partial<AgentTurnEnd> = {}): void {
    this.messageEnded()
    this.#push({ text: this.text, ...more, type: 'turn-end', reason })
    this.#queue?.close()
    this.#queue = undefined
  }

  /** The vendor takes nothing more before this time (seconds since 1970); 0 when it does. */
  limitedUntil(seconds: number): void {
    this.#freeAt = seconds * 1_000
  }

  /** What must be done before the turn ends; when it cannot be, the turn has failed. */
  async endAfter(done: Promise<unknown>, reason: TurnEnd): Promise<void> {
    await done.then(
      () => this.end(reason),
      (error: Error) => this.fail(error.message),
    )
  }

  /** The end of a turn that an error has ended: what it says is often all that tells one from another. */
  fail(error: string, reason: TurnEnd = reasonOf(error)): void {
    const isOver = reason !== 'rate-limited' || this.#freeAt <= Date.now()
    this.end(reason, isOver ? { error } : { error, retryAt: this.#freeAt })
  }

  #push(part: AgentPart): void {
    this.#queue?.push(part)
  }
}

function callOf(tool: string, input: unknown): string {
  return `${tool} ${JSON.stringify(input)}`
}

function reasonOf(error: string): TurnEnd {
  if (/too long|context.?(window|length)/i.test(error)) return 'context-full'
  return /\b429\b|rate.?limit|usage limit|hit your .*limit|quota|too many requests/i.test(error)
    ? 'rate-limited'
    : 'error'
}

/** For agents that are told to compact by a prompt. Says what that has spent. */
export async function untilDone(parts: Parts): Spent {
  const spent = { input: 0, output: 0, usd: 0 }
  for await (const part of parts) {
    if (part.type === 'usage') addTo(spent, part.usage)
    if (part.type === 'turn-end' && part.reason !== 'done') throw new Error(part.error ?? `the turn was ${part.reason}`)
  }
  return spent
}

function addTo(sum: Record<'input' | 'output' | 'usd', number>, { input = 0, output = 0, usd = 0 }: AgentUsage): void {
  sum.input += input
  sum.output += output
  sum.usd += usd
}

/** Hears something that a vendor says. What cannot be understood is no error: it may be new. */
export function tolerantly(hear: () => void): void {
  try {
    hear()
  } catch {
    // It is among the native messages, for whoever wants to know.
  }
}

/** The same messages, of which the first has to come in time. */
async function* startedIn<Message>(
  messages: AsyncIterable<Message>,
  ms: number | undefined,
): AsyncGenerator<Message, void> {
  const each = messages[Symbol.asyncIterator]()
  const late = new AbortController()
  const timer = ms === undefined ? undefined : setTimeout(() => late.abort(notStarted(ms)), ms)
  try {
    for (;;) {
      const next = await untilAborted(each.next(), late.signal)
      clearTimeout(timer)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    clearTimeout(timer)
  }
}

function notStarted(ms: number): Error {
  return new Error(`it did not start within ${ms / 1_000} s`)
}

/** Hears every message of a stream, and says how it ended. */
export async function hearAll<Message>(
  messages: AsyncIterable<Message>,
  { onNative, startTimeoutMs }: Pick<AgentOpen, 'onNative' | 'startTimeoutMs'>,
  hear: (message: Message) => void,
): Promise<string> {
  try {
    for await (const message of startedIn(messages, startTimeoutMs)) {
      tolerantly(() => onNative?.(message))
      tolerantly(() => hear(message))
    }
    return 'it ended'
  } catch (error) {
    return (error as Error).message
  }
}

/** The same parts, and whether the agent has said or done anything. */
export class SaidAnything implements Parts {
  anything = false
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AgentPart, void> {
    for await (const part of this.#parts) {
      this.anything ||= part.type !== 'turn-end' && part.type !== 'usage'
      yield part
    }
  }
}

/** What comes of some work, unless the signal aborts before it is done. */
export async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const over = Promise.withResolvers<never>()
  const stop = (): void => over.reject(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  try {
    return await Promise.race([work, over.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
