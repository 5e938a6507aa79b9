/**
 * The port to whatever answers calls: a provider, a script, a recording. A back end gets the call in no provider's words and,
 * for pass-through, as it came; it answers in either way. It knows nothing of clients, budgets or the log.
 */
import type { ModelFailure, ModelReply, ModelRequest, ReplyEvent, WireFormat } from './exchange.ts'

export interface BackendCall {
  /** Aborts when the client leaves, its token is revoked or the gateway closes. */
  readonly signal: AbortSignal
  readonly format: WireFormat
  readonly raw: RawCall
  /** Who calls: the same for every call with one token. */
  readonly client: string
  /** Keeps something for the log: which model was really asked, how many tries it took. */
  readonly note: (more: CallNote) => void
}

/** The call as it came, for back ends that speak its format. */
export interface RawCall {
  /** The body, unpacked. */
  readonly bytes: Uint8Array
  readonly body: unknown
  /** Headers that tell the provider something, and nothing else: no token, no cookie, no host. */
  readonly headers: Readonly<Record<string, string>>
}

export interface CallNote {
  readonly model?: string
  readonly tries?: number
}

export type Answer =
  | { readonly type: 'reply'; readonly reply: ModelReply }
  | { readonly type: 'events'; readonly events: AsyncIterable<ReplyEvent> }
  | { readonly type: 'failed'; readonly failure: ModelFailure }
  | BytesAnswer

/** What a provider sent, word for word, in the client's format. Who takes it reads `body` to its end, or closes it. */
export interface BytesAnswer {
  readonly type: 'bytes'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** True for a stream of server-sent events. */
  readonly stream: boolean
  /** What it says, when it is a failure. */
  readonly failure?: ModelFailure
  /** The gateway asked for the usage and the client did not: what has only the usage is kept from the client. */
  readonly hideUsage?: boolean
  readonly body: AsyncIterable<Uint8Array>
}

export interface Backend {
  /** For the log and for messages. */
  readonly name: string
  /** Models that it can name, for clients that ask. */
  readonly models?: readonly string[]
  /** The model that is really asked when a client asks for this one (default: the same). */
  modelFor?(model: string): string
  /** Throws only for what nobody could foresee; whatever went wrong on the way is a `failed` answer. */
  answer(request: ModelRequest, call: BackendCall): Promise<Answer>
  /** Counts the tokens of a request, if the back end can. */
  countTokens?(request: ModelRequest, call: BackendCall): Promise<number | undefined>
}

/** One piece of text is about four characters; a file costs about as much as a page of text. */
const CHARACTERS_PER_TOKEN = 4
const TOKENS_PER_FILE = 1_600

/** How many tokens a request has, when nobody has counted them. */
export function estimateInput(request: ModelRequest): number {
  let characters = 0
  let files = 0
  const add = (text: string): void => void (characters += text.length)
  request.system.forEach(add)
  for (const { parts } of request.messages)
    for (const part of parts) {
      if (part.type === 'text' || part.type === 'thinking') add(part.text)
      else if (part.type === 'file') files += 1
      else if (part.type === 'tool-call') add(part.name + JSON.stringify(part.input ?? null))
      else if (part.type === 'other') add(JSON.stringify(part.value ?? null))
      else
        for (const one of part.parts)
          if (one.type === 'text') add(one.text)
          else files += 1
    }
  for (const tool of request.tools) add(tool.name + (tool.description ?? '') + JSON.stringify(tool.input ?? null))
  return Math.ceil(characters / CHARACTERS_PER_TOKEN) + files * TOKENS_PER_FILE + request.messages.length
}

export function estimateText(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}
