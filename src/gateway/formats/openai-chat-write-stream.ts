/** Writes streams of OpenAI's Chat Completions format. */
import type { ModelPart, ModelRequest, ReplyEvent, ToolCallPart } from '../exchange.ts'
import { parseJson, type Fields } from './fields.ts'
import type { StreamWriter } from './format.ts'
import { CHAT_USAGE, writeChatStop } from './openai-chat-reply.ts'
import { writeDetail } from './openai-chat-thoughts.ts'
import { writeArguments, writeCallSignature } from './openai-chat-write.ts'
import { writeOpenaiError } from './openai-words.ts'
import { sseFrame } from './sse.ts'
import { flatName, inputText, isFreeform } from './turns.ts'
import { writeOpenaiUsage } from './usage.ts'

/** What is open, and how far the numbers have come. */
interface Writing {
  part: ModelPart | undefined
  /** The number of the call, and of the thought. */
  call: number
  thought: number
  refused: boolean
  /** The input of the open call so far, and whether any of it was sent. */
  input: string
}

export function writeChatStream(request: ModelRequest): StreamWriter {
  const state: Writing = { part: undefined, call: -1, thought: -1, refused: false, input: '' }
  let head: Fields = {}
  const nothing = request.streamUsage === true ? { usage: null } : {}
  const chunk = (delta: Fields | undefined, finish: string | null = null): string => {
    if (delta === undefined) return ''
    return sseFrame({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...nothing })
  }
  return (event) => {
    switch (event.type) {
      case 'start': {
        const created = Math.floor((event.createdAt ?? 0) / 1_000)
        head = { id: event.id, object: 'chat.completion.chunk', created, model: event.model }
        return chunk({ role: 'assistant', content: '' })
      }
      case 'end': {
        const usage = writeOpenaiUsage(event.usage, CHAT_USAGE)
        const last = request.streamUsage === true && usage !== null ? sseFrame({ ...head, choices: [], usage }) : ''
        return chunk({}, writeChatStop(event.stop, state.refused)) + last + sseFrame('[DONE]')
      }
      case 'failed':
        return sseFrame({ error: writeOpenaiError(event.failure) })
      case 'part':
        state.part = event.part
        return chunk(openPart(event.part, state, request))
      default:
        return chunk(writePiece(event, state, request))
    }
  }
}

function openPart(part: ModelPart, state: Writing, request: ModelRequest): Fields | undefined {
  if (part.type === 'thinking') {
    state.thought += 1
    return part.hidden === undefined ? undefined : { reasoning_details: [writeDetail(part, state.thought)] }
  }
  if (part.type === 'text') state.refused ||= part.refusal === true
  if (part.type !== 'tool-call') return undefined
  state.call += 1
  state.input = ''
  const type = isFreeform(part, request.tools) ? 'custom' : 'function'
  const empty = type === 'custom' ? { input: '' } : { arguments: '' }
  const call = { id: part.id, type, [type]: { name: flatName(part), ...empty }, ...writeCallSignature(part.signature) }
  return { tool_calls: [{ index: state.call, ...call }] }
}

type Piece = Exclude<ReplyEvent, { type: 'start' | 'part' | 'end' | 'failed' }>

function writePiece(event: Piece, state: Writing, { tools }: ModelRequest): Fields | undefined {
  const { part } = state
  switch (event.type) {
    case 'text':
      return part?.type === 'text' && part.refusal === true ? { refusal: event.text } : { content: event.text }
    case 'thinking':
      return { reasoning_content: event.text, reasoning_details: [thought(event.text, state)] }
    case 'signature':
      if (part?.type === 'thinking')
        return { reasoning_details: [{ ...thought('', state), signature: event.signature }] }
      return { tool_calls: [{ index: state.call, ...writeCallSignature(event.signature) }] }
    case 'input':
      state.input += event.json
      if (part?.type !== 'tool-call' || isFreeform(part, tools)) return undefined
      return { tool_calls: [{ index: state.call, function: { arguments: event.json } }] }
    case 'part-end':
      return part?.type === 'tool-call' ? closeCall(part, state, isFreeform(part, tools)) : undefined
    default:
      return event satisfies never
  }
}

function thought(text: string, state: Writing): Fields {
  return writeDetail({ type: 'thinking', text }, state.thought)
}

/** What is left to say of a call: all the text of a freeform one, or an input that did not come in pieces. */
function closeCall(part: ToolCallPart, { call, input }: Writing, freeform: boolean): Fields | undefined {
  if (freeform) {
    const text = inputText(input === '' ? part.input : (parseJson(input) ?? input))
    return { tool_calls: [{ index: call, custom: { input: text } }] }
  }
  if (input !== '') return undefined
  return { tool_calls: [{ index: call, function: { arguments: writeArguments(part.input) } }] }
}
