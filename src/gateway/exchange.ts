/**
 * One call to a model, in no provider's words: what every wire format is read into and written from, and what back ends
 * that are not a provider answer. Data only.
 *
 * Invariant: everything that two formats can both say has a field here, so that a translation loses nothing of it.
 * Normal form, which every reader makes: no empty texts, no empty messages, no two messages of one role in a row, and
 * system text that opens the conversation is in `system`.
 */

export type WireFormat = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini'

export interface ModelRequest {
  readonly model: string
  /** Text that stands above the conversation, piece by piece. */
  readonly system: readonly string[]
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly ModelTool[]
  readonly toolChoice?: ToolChoice
  /** False: at most one tool call in a reply. */
  readonly parallelTools?: boolean
  readonly maxTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly stop?: readonly string[]
  /** The reply must be JSON: of this schema, if there is one. */
  readonly json?: JsonReply
  readonly thinking?: Thinking
  /** How long the reply should be. */
  readonly verbosity?: Verbosity
  readonly stream: boolean
  /** The client wants the usage at the end of the stream; only some formats let it choose. */
  readonly streamUsage?: boolean
  /** Who it is for, as the client names them. */
  readonly user?: string
  /** Fields that change the meaning and that only this format has: a translation refuses them. */
  readonly only?: { readonly format: WireFormat; readonly fields: readonly string[] }
}

export interface JsonReply {
  readonly schema?: unknown
  readonly name?: string
  readonly description?: string
  readonly strict?: boolean
}

export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly tool: string }
  /** Only some of the tools. */
  | { readonly tools: readonly string[]; readonly required: boolean }

export const VERBOSITIES = ['low', 'medium', 'high'] as const
export type Verbosity = (typeof VERBOSITIES)[number]

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** Without budget and effort: as much as the model likes. */
export interface Thinking {
  /** The most tokens to think with; 0 is none. */
  readonly budget?: number
  readonly effort?: Effort
  /** Whether the reply shows the thoughts, or a summary of them. */
  readonly show?: boolean
}

export interface ModelTool {
  readonly name: string
  readonly description?: string
  /** A JSON Schema. */
  readonly input: unknown
  readonly strict?: boolean
  /** Set: the input is plain text, of this grammar if there is one, and not JSON. */
  readonly freeform?: { readonly grammar?: { readonly syntax: string; readonly definition: string } }
  /** The group that it belongs to. */
  readonly namespace?: string
  /** A tool that only its own format has, such as a search that the provider runs, word for word. */
  readonly other?: { readonly format: WireFormat; readonly value: unknown }
}

export interface ModelMessage {
  /** `system`: instructions in the middle of the conversation. */
  readonly role: 'user' | 'assistant' | 'system'
  readonly parts: readonly ModelPart[]
}

export type ModelPart =
  | TextPart
  | Picture
  | ThinkingPart
  | ToolCallPart
  | ToolResultPart
  /** What only its own format can say, word for word. A translation refuses it in a request and leaves it out of a reply. */
  | { readonly type: 'other'; readonly format: WireFormat; readonly value: unknown }

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** The model says why it will not answer. */
  readonly refusal?: true
}

export interface ThinkingPart {
  readonly type: 'thinking'
  readonly text: string
  /** Proves to the provider that the text is its own. */
  readonly signature?: string
  /** Thoughts that only the provider can read, word for word; then `text` is empty. */
  readonly hidden?: string
}

/** An image or another file: its bytes as base64, or where they are; then the type may be `image/*`. */
export interface Picture {
  readonly type: 'file'
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
  /** How closely an image is looked at (`low`, `high`). */
  readonly detail?: string
}

export interface ToolCallPart {
  readonly type: 'tool-call'
  readonly id: string
  readonly name: string
  /** JSON as a value. A string is plain text, of a freeform tool or where the model's JSON was broken. */
  readonly input: unknown
  readonly freeform?: true
  readonly namespace?: string
  /** What a provider wants back with the call, word for word. */
  readonly signature?: string
}

export interface ToolResultPart {
  readonly type: 'tool-result'
  /** The id of the call. */
  readonly id: string
  /** The tool's name; some formats say it, for others it is found by the id. */
  readonly name: string
  readonly parts: readonly (TextPart | Picture)[]
  readonly failed?: boolean
}

export type StopReason = 'end' | 'length' | 'tool' | 'stop-sequence' | 'refused' | 'paused'

export interface ModelUsage {
  /** Everything that was read, cached or not. */
  readonly input: number
  readonly output: number
  /** Of `input`: read from, and written to, the provider's cache. */
  readonly cacheRead?: number
  readonly cacheWrite?: number
  /** Of `output`. */
  readonly thinking?: number
  /** The provider did not say; the numbers are 0. */
  readonly unknown?: true
}

export interface ModelReply {
  readonly id: string
  readonly model: string
  readonly parts: readonly ModelPart[]
  readonly stop: StopReason
  readonly stopSequence?: string
  readonly usage: ModelUsage
  /** In milliseconds since 1970. */
  readonly createdAt?: number
}

/** A reply as it comes. Parts are numbered from 0, begin and end in order, and never overlap. */
export type ReplyEvent =
  | {
      readonly type: 'start'
      readonly id: string
      readonly model: string
      readonly usage?: ModelUsage
      readonly createdAt?: number
    }
  /** A part as it begins: its text is empty and comes in pieces; a file, hidden thoughts and `other` come whole. */
  | { readonly type: 'part'; readonly at: number; readonly part: ModelPart }
  | { readonly type: 'text'; readonly at: number; readonly text: string }
  | { readonly type: 'thinking'; readonly at: number; readonly text: string }
  | { readonly type: 'signature'; readonly at: number; readonly signature: string }
  /** A piece of the JSON text of a tool call's input. None: the input is the one of the part. */
  | { readonly type: 'input'; readonly at: number; readonly json: string }
  | { readonly type: 'part-end'; readonly at: number }
  | {
      readonly type: 'end'
      readonly stop: StopReason
      readonly stopSequence?: string
      readonly usage: ModelUsage
    }
  | { readonly type: 'failed'; readonly failure: ModelFailure }

export type FailureKind =
  | 'bad-request'
  | 'too-large'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'rate-limited'
  | 'budget'
  | 'context-full'
  | 'overloaded'
  | 'timeout'
  | 'server'

/** Why there is no reply. Every format has its own words and status for it. */
export interface ModelFailure {
  readonly kind: FailureKind
  readonly status: number
  readonly message: string
  /** When it may be tried again, in milliseconds since 1970. */
  readonly retryAt?: number
  /** The field of the request that is wrong. */
  readonly field?: string
}
