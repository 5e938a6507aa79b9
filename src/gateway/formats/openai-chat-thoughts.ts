/**
 * Thoughts in Chat Completions: OpenAI has no field for them, others have. `reasoning_content` (or `reasoning`) is the
 * text; `reasoning_details` is a list with the provider's proofs, which go back as they came.
 */
import type { ModelPart, ThinkingPart } from '../exchange.ts'
import { looseList, looseText, type Fields } from './fields.ts'

export function readChatThoughts(message: Fields): readonly ThinkingPart[] {
  const details = looseList(message['reasoning_details']).flatMap(readDetail)
  if (details.length > 0) return details
  const text = looseText(message['reasoning_content']) || looseText(message['reasoning'])
  return text === '' ? [] : [{ type: 'thinking', text }]
}

/** One entry of the list. Streams bring it in pieces of the same shape. */
export function readDetail(detail: Fields): readonly ThinkingPart[] {
  const signature = looseText(detail['signature'])
  const signed = signature === '' ? {} : { signature }
  switch (detail['type']) {
    case 'reasoning.encrypted':
      return [{ type: 'thinking', text: '', hidden: looseText(detail['data']) }]
    case 'reasoning.text':
      return [{ type: 'thinking', text: looseText(detail['text']), ...signed }]
    case 'reasoning.summary':
      return [{ type: 'thinking', text: looseText(detail['summary']), ...signed }]
    default:
      return []
  }
}

export function writeChatThoughts(parts: readonly ModelPart[]): Fields {
  const thoughts = parts.filter((part) => part.type === 'thinking')
  if (thoughts.length === 0) return {}
  const text = thoughts.map((part) => part.text).join('')
  const plain = thoughts.length === 1 && thoughts.every(({ signature, hidden }) => (signature ?? hidden) === undefined)
  return {
    ...(text === '' ? {} : { reasoning_content: text }),
    ...(plain ? {} : { reasoning_details: thoughts.map(writeDetail) }),
  }
}

export function writeDetail({ text, signature, hidden }: ThinkingPart, index: number): Fields {
  if (hidden !== undefined) return { type: 'reasoning.encrypted', data: hidden, index }
  return { type: 'reasoning.text', text, ...(signature === undefined ? {} : { signature }), index }
}
