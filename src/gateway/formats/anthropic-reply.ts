/** Replies of Anthropic's Messages format, at once. */
import type { ModelPart, ModelReply, ModelUsage, StopReason } from '../exchange.ts'
import { count, looseFields, looseList, looseText, type Fields } from './fields.ts'
import { readThought } from './anthropic-request.ts'
import { flatName, inputObject } from './turns.ts'
import { readUsage } from './usage.ts'

const STOPS: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  tool: 'tool_use',
  'stop-sequence': 'stop_sequence',
  refused: 'refusal',
  paused: 'pause_turn',
}

export function readAnthropicStop(reason: unknown): StopReason {
  if (reason === 'model_context_window_exceeded') return 'length'
  const found = Object.entries(STOPS).find(([, word]) => word === reason)
  return (found?.[0] as StopReason | undefined) ?? 'end'
}

export function writeAnthropicStop(stop: StopReason): string {
  return STOPS[stop]
}

export function readAnthropicReply(body: unknown): ModelReply {
  const reply = looseFields(body)
  const sequence = looseText(reply['stop_sequence'])
  return {
    id: looseText(reply['id']),
    model: looseText(reply['model']),
    parts: looseList(reply['content']).map(readReplyBlock).filter(isSaid),
    stop: readAnthropicStop(reply['stop_reason']),
    ...(sequence === '' ? {} : { stopSequence: sequence }),
    usage: readUsage(reply['usage'], readAnthropicUsage),
  }
}

export function readReplyBlock(block: Fields): ModelPart {
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: looseText(block['text']) }
    case 'tool_use':
      return {
        type: 'tool-call',
        id: looseText(block['id']),
        name: looseText(block['name']),
        input: block['input'] ?? {},
      }
    default:
      return readThought(block) ?? { type: 'other', format: 'anthropic', value: block }
  }
}

function isSaid(part: ModelPart): boolean {
  return part.type !== 'text' || part.text !== ''
}

/** What was cached is not part of the input here, but beside it. */
export function readAnthropicUsage(usage: Fields): ModelUsage {
  const cacheRead = count(usage['cache_read_input_tokens'])
  const cacheWrite = count(usage['cache_creation_input_tokens'])
  return {
    input: count(usage['input_tokens']) + cacheRead + cacheWrite,
    output: count(usage['output_tokens']),
    cacheRead,
    cacheWrite,
    thinking: count(looseFields(usage['output_tokens_details'])['thinking_tokens']),
  }
}

export function writeAnthropicUsage({ input, output, cacheRead = 0, cacheWrite = 0, thinking }: ModelUsage): Fields {
  return {
    input_tokens: Math.max(0, input - cacheRead - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    ...(thinking === undefined ? {} : { output_tokens_details: { thinking_tokens: thinking } }),
  }
}

export function writeAnthropicReply(reply: ModelReply): Fields {
  return {
    id: reply.id,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content: reply.parts.flatMap((part) => writeReplyBlock(part) ?? []),
    stop_reason: writeAnthropicStop(reply.stop),
    stop_sequence: reply.stopSequence ?? null,
    usage: writeAnthropicUsage(reply.usage),
  }
}

/** Undefined for what the format has no block for. */
export function writeReplyBlock(part: ModelPart): Fields | undefined {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'thinking':
      if (part.hidden !== undefined) return { type: 'redacted_thinking', data: part.hidden }
      return { type: 'thinking', thinking: part.text, signature: part.signature ?? '' }
    case 'tool-call':
      return { type: 'tool_use', id: part.id, name: flatName(part), input: inputObject(part.input) }
    case 'other':
      return part.format === 'anthropic' ? looseFields(part.value) : undefined
    case 'file':
    case 'tool-result':
      return undefined
    default:
      return part satisfies never
  }
}
