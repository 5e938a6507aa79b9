/** What is said to models and by them, as data that a journal keeps. The parts have the form of the AI SDK's messages. */
import { NerveError } from '../../base/nerve-error.ts'
import { shown } from '../../base/shown.ts'
import type { Context } from '../../engine/definition.ts'
import { pathHere } from '../../engine/run-node.ts'

export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

export interface ImagePart {
  readonly type: 'image'
  /** An address, a data URL, base64, or the bytes. */
  readonly image: string | Uint8Array
  readonly mediaType?: string
}

export interface FilePart {
  readonly type: 'file'
  /** An address, a data URL, base64, or the bytes. */
  readonly data: string | Uint8Array
  readonly mediaType: string
  readonly filename?: string
}

export type PromptPart = TextPart | ImagePart | FilePart

/** What a person or a program says to a model. */
export type Prompt = string | readonly PromptPart[]

/** A part of a message: text, what the model thought, a tool call, its result, or what only one provider has. */
export interface MessagePart {
  readonly type: string
  readonly [field: string]: unknown
}

export interface ChatMessage {
  /** Tells where it came from: the run and the step. */
  readonly id: string
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string | readonly MessagePart[]
}

/** A tool that a model asks for. */
export interface ToolRequest {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface ModelTokens {
  readonly input: number
  readonly output: number
  /** Of the input: what the provider had in its cache, and what it put there. */
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

/** What one call of a model gave. */
export interface ModelReply {
  readonly message: ChatMessage
  /** Why it ended: `stop`, `tool-calls`, `length`, `content-filter`, … */
  readonly finish: string
  readonly usage: ModelTokens
  /** The model that answered, as its provider calls it. */
  readonly model: string
  /** When (milliseconds since the epoch). */
  readonly at: number
  /** The ids of tool calls whose input was no JSON. */
  readonly unreadable?: readonly string[]
}

/** The ids of messages tell where they are from: the run, and the part of it. */
export function placeOf(ctx: Context): string {
  const path = pathHere()
  return path === '' ? ctx.runId : `${ctx.runId}/${path}`
}

const KINDS: Readonly<Record<string, string>> = { text: 'text', image: 'image', file: 'data' }

/** The prompt, when it is one. */
export function checkPrompt(what: string, given: unknown): Prompt {
  if (typeof given === 'string' && given !== '') return given
  if (Array.isArray(given) && given.length > 0 && given.every(isPromptPart)) return given
  throw new NerveError(
    'bad-input',
    `The input of ${what} is ${given === '' ? 'empty' : shown(given)}. Give a text or a list of parts ` +
      `({ type: 'text', text }, { type: 'image', image }, { type: 'file', data, mediaType }), or the option prompt, which makes one of it.`,
  )
}

function isPromptPart(part: unknown): part is PromptPart {
  if (typeof part !== 'object' || part === null) return false
  const fields = part as Readonly<Record<string, unknown>>
  const field = KINDS[String(fields['type'])]
  const value = field === undefined ? undefined : fields[field]
  return typeof value === 'string' || (value instanceof Uint8Array && field !== 'text')
}

export function userMessage(id: string, prompt: Prompt): ChatMessage {
  return { id, role: 'user', content: typeof prompt === 'string' ? prompt : prompt.map((part) => ({ ...part })) }
}

export function partsOf({ content }: Pick<ChatMessage, 'content'>): readonly MessagePart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The words of a message. */
export function textOf(message: Pick<ChatMessage, 'content'>): string {
  return partsOf(message)
    .flatMap((part) => (part.type === 'text' ? [String(part['text'])] : []))
    .join('')
}

/** The tools that a message asks for, but those that the provider runs itself. */
export function requestsOf(message: ChatMessage): readonly ToolRequest[] {
  return partsOf(message).flatMap((part) =>
    part.type === 'tool-call' && part['providerExecuted'] !== true
      ? [{ id: String(part['toolCallId']), name: String(part['toolName']), input: part['input'] }]
      : [],
  )
}

/** About four characters are a token, and an image costs about as much as a page. For limits, not for bills. */
export function estimateTokens(messages: readonly Pick<ChatMessage, 'content'>[], more = ''): number {
  let characters = more.length
  let files = 0
  for (const message of messages)
    for (const part of partsOf(message)) {
      if (part.type === 'text' || part.type === 'reasoning') characters += String(part['text']).length
      else if (part.type === 'image' || part.type === 'file') files += 1
      else characters += JSON.stringify(part).length
    }
  return Math.ceil(characters / 4) + files * 1_600 + messages.length
}
