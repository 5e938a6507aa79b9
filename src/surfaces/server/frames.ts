/**
 * The line protocol for one client, on whatever carries its frames (see host/contract/wire.ts). Requests are answered as
 * they are done, not in order: the id tells which. What cannot be read is answered with an error, and changes nothing.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { Service } from '../../host/contract/service.ts'
import { encode, errorOnWire, type FrameId, type Reply, type Request } from '../../host/contract/wire.ts'
import { takenBack, type Visitor } from './doorkeeper.ts'
import { itemText } from './item-text.ts'
import type { Link } from './link.ts'
import { readJson } from './read-json.ts'

/** How much one client may have under way at once. */
const MOST_OPEN = 256

export interface FramesOptions {
  readonly service: Service
  readonly link: Link
  /** Who it is, where that is known. */
  readonly visitor?: Visitor | undefined
  /** Lets somebody in who gives a token. */
  readonly admit: (secret: string) => Visitor
}

export class Frames {
  readonly #options: FramesOptions
  readonly #open = new Map<FrameId, AbortController>()
  /** Answers that are on their way. */
  readonly #calls = new Set<Promise<void>>()
  #visitor: Visitor | undefined
  #refused = false
  #unnamed = 0

  constructor(options: FramesOptions) {
    this.#options = options
    this.#visitor = options.visitor
    options.link.over.addEventListener('abort', () => {
      for (const one of this.#open.values()) one.abort()
    })
  }

  /** Somebody was let in. */
  get isKnown(): boolean {
    return this.#visitor !== undefined
  }

  /** Says what is wrong with all of it, and ends it. */
  refuse(error: NerveError): void {
    void this.#reply({ error: errorOnWire(error) })
    this.#options.link.close()
  }

  async receive(frame: Buffer): Promise<void> {
    // Who was not let in has nothing more to say, whatever came with it.
    if (this.#refused || isBlank(frame)) return
    let request: Request
    try {
      request = requestIn(frame)
    } catch (error) {
      return this.#tell(error, {})
    }
    const answered = this.#respond(request)
    if (request.feed === undefined) this.#calls.add(answered)
    try {
      await answered
    } finally {
      this.#calls.delete(answered)
    }
  }

  /** Resolves when all that was asked is answered, but for feeds. */
  async settled(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls)
  }

  async #respond(request: Request): Promise<void> {
    try {
      const answered = this.#answer(request)
      // Known before anything is waited for: the next one may have come with it.
      this.#refused = !this.isKnown
      await answered
    } catch (error) {
      await this.#tell(error, request)
    }
  }

  async #tell(error: unknown, { id }: Pick<Request, 'id'>): Promise<void> {
    this.#refused = !this.isKnown
    await this.#reply({ ...(id === undefined ? {} : { id }), error: errorOnWire(error) })
    if (this.#refused) this.#options.link.close()
  }

  async #answer(request: Request): Promise<void> {
    const { id, token, via, stop, call, feed, input } = request
    const own = id === undefined ? {} : { id }
    if (token !== undefined) {
      this.#visitor = this.#options.admit(token)
      return this.#reply({ ...own, result: { scope: this.#visitor.caller.scope } })
    }
    const visitor = this.#welcome()
    if (via !== undefined) return this.#reply({ ...own, result: this.#rename(visitor, via) })
    if (stop === true) return this.#open.get(id ?? '')?.abort()
    visitor.count()
    if (call !== undefined) return this.#during(id, (signal) => this.#call({ name: call, input, own, visitor }, signal))
    if (feed === undefined) throw new NerveError('bad-input', 'A line has neither call, feed, stop nor token.')
    await this.#during(id, (signal) => this.#feed({ name: feed, input, own, visitor }, signal))
    return this.#reply({ ...own, end: true })
  }

  /** A neighbour may say what it is: a journal is read more easily with `cli` in it than with `socket`. */
  #rename(visitor: Visitor, via: string): object {
    if (!visitor.caller.local || !/^[a-z][a-z0-9-]{0,31}$/.test(via))
      throw new NerveError('bad-input', 'via is a short word, and only for callers on the unix socket.')
    this.#visitor = { ...visitor, caller: { ...visitor.caller, via } }
    return { via }
  }

  #welcome(): Visitor {
    const visitor = this.#visitor
    if (visitor === undefined) throw tokenNeeded()
    this.#refuseTakenBack(visitor)
    return visitor
  }

  #refuseTakenBack(visitor: Visitor): void {
    if (visitor.isWelcome()) return
    // Another token may have been given since.
    if (this.#visitor === visitor) this.#visitor = undefined
    throw takenBack()
  }

  /** Does something that the client can stop by its id. */
  async #during<Value>(id: FrameId | undefined, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    this.#unnamed += 1
    const key = id ?? `unnamed ${this.#unnamed}`
    if (this.#open.has(key)) throw new NerveError('bad-input', `The id ${JSON.stringify(id)} is under way already.`)
    if (this.#open.size >= MOST_OPEN)
      throw new NerveError('limit-reached', `${MOST_OPEN} requests are under way on this connection already.`, {
        retry: 'later',
        data: { reason: 'open' },
      })
    const stop = new AbortController()
    if (this.#options.link.over.aborted) stop.abort()
    this.#open.set(key, stop)
    try {
      return await work(stop.signal)
    } finally {
      this.#open.delete(key)
    }
  }

  /** It is under way until there is room for the next answer: who asks and does not read is not answered without end. */
  async #call({ name, input, own, visitor }: Asked, signal: AbortSignal): Promise<void> {
    const result = (await this.#options.service.call(name, input, visitor.caller, signal)) ?? null
    this.#refuseTakenBack(visitor)
    const text = textOf({ ...own, result })
    const read = visitor.owe(text.length)
    try {
      await this.#options.link.send(text)
    } finally {
      read()
    }
  }

  async #feed({ name, input, own, visitor }: Asked, signal: AbortSignal): Promise<void> {
    const id = own.id === undefined ? '' : `"id":${JSON.stringify(own.id)},`
    const leave = visitor.listen()
    try {
      const items = await this.#options.service.feed(name, input, visitor.caller, signal)
      for await (const { item, cursor } of items) {
        this.#refuseTakenBack(visitor)
        const what = item === undefined ? '' : `"item":${itemText(item)}`
        const where = cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)}`
        await this.#options.link.send(`{${id}${what}${what !== '' && where !== '' ? ',' : ''}${where}}\n`)
        if (signal.aborted) return
      }
    } finally {
      leave()
    }
  }

  #reply(reply: Reply): Promise<void> {
    return this.#options.link.send(textOf(reply))
  }
}

export function tokenNeeded(): NerveError {
  return new NerveError('not-allowed', 'A token is needed here: {"token":"…"} as the first line.', {
    data: { reason: 'token' },
  })
}

interface Asked {
  readonly name: string
  readonly input: unknown
  readonly own: { readonly id?: FrameId }
  readonly visitor: Visitor
}

function textOf(reply: Reply): string {
  try {
    return `${encode(reply)}\n`
  } catch (error) {
    const { id } = reply
    return `${JSON.stringify({ ...(id === undefined ? {} : { id }), error: errorOnWire(error) })}\n`
  }
}

function isBlank(frame: Buffer): boolean {
  return frame.length < 16 && frame.toString('latin1').trim() === ''
}

function requestIn(frame: Buffer): Request {
  const found = readJson(frame, 'A line')
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new NerveError('bad-input', 'A line is not a JSON object.')
  const { id, call, feed, token, via, stop } = found as Readonly<Record<string, unknown>>
  const texts = [call, feed, token, via].every((one) => one === undefined || typeof one === 'string')
  const isId = id === undefined || typeof id === 'string' || typeof id === 'number'
  if (texts && isId && (stop === undefined || stop === true)) return found
  throw new NerveError('bad-input', 'id is a text or a number; call, feed, token and via are texts; stop is true.')
}
