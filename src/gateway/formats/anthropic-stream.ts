/** Replies of Anthropic's Messages format, as a stream. */
import type { ModelFailure, ReplyEvent } from '../exchange.ts'
import { readAnthropicFailure, writeAnthropicError } from './anthropic-failure.ts'
import {
  readAnthropicStop,
  readAnthropicUsage,
  readReplyBlock,
  writeAnthropicStop,
  writeAnthropicUsage,
  writeReplyBlock,
} from './anthropic-reply.ts'
import { count, looseFields, looseText, parseJson, type Fields } from './fields.ts'
import type { StreamReader, StreamWriter } from './format.ts'
import { partStream, type PartStream } from './part-stream.ts'
import { endedEarly } from './reply-events.ts'
import { sseFrame } from './sse.ts'
import { readUsage } from './usage.ts'

export function readAnthropicStream(): StreamReader {
  const parts = partStream()
  let usage: Fields | undefined
  let stop: Fields | undefined
  let ended = false
  const finish = (): readonly ReplyEvent[] => {
    if (ended) return []
    ended = true
    if (stop === undefined) return [...parts.leave(), { type: 'failed', failure: endedEarly() }]
    const sequence = looseText(stop['stop_sequence'])
    return [
      ...parts.leave(),
      {
        type: 'end',
        stop: readAnthropicStop(stop['stop_reason']),
        ...(sequence === '' ? {} : { stopSequence: sequence }),
        usage: readUsage(usage, readAnthropicUsage),
      },
    ]
  }
  return {
    end: finish,
    push: (frame) => {
      const data = looseFields(parseJson(frame.data))
      switch (ended ? undefined : data['type']) {
        case 'message_start': {
          const message = looseFields(data['message'])
          usage = merged(usage, message['usage'])
          return [readStart(message)]
        }
        case 'content_block_start':
        case 'content_block_delta':
        case 'content_block_stop':
          return readBlockEvent(data, parts)
        case 'message_delta':
          usage = merged(usage, data['usage'])
          if (looseText(looseFields(data['delta'])['stop_reason']) !== '') stop = looseFields(data['delta'])
          return []
        case 'message_stop':
          return finish()
        case 'error':
          ended = true
          return [...parts.leave(), { type: 'failed', failure: failureIn(data) }]
        default:
          return []
      }
    },
  }
}

function readStart(message: Fields): ReplyEvent {
  const usage = readUsage(message['usage'], readAnthropicUsage)
  return { type: 'start', id: looseText(message['id']), model: looseText(message['model']), usage }
}

/** The end of a stream says again what the start said, or leaves it out. */
function merged(before: Fields | undefined, more: unknown): Fields | undefined {
  const said = Object.entries(looseFields(more)).filter(([, value]) => value !== null && value !== undefined)
  return before === undefined && said.length === 0 ? undefined : { ...before, ...Object.fromEntries(said) }
}

function failureIn(data: Fields): ModelFailure {
  return readAnthropicFailure({ status: 0, headers: {}, body: data, now: 0 })
}

function readBlockEvent(data: Fields, parts: PartStream): readonly ReplyEvent[] {
  const key = String(count(data['index']))
  if (data['type'] === 'content_block_stop') return parts.open === key ? parts.leave() : []
  if (data['type'] === 'content_block_start') return startBlock(key, looseFields(data['content_block']), parts)
  const delta = looseFields(data['delta'])
  switch (delta['type']) {
    case 'text_delta': {
      const text = looseText(delta['text'])
      return text === '' ? [] : [...parts.enter(key, () => ({ type: 'text', text: '' })), ...parts.text(text)]
    }
    case 'thinking_delta':
      return parts.thinking(looseText(delta['thinking']))
    case 'signature_delta':
      return parts.signature(looseText(delta['signature']))
    case 'input_json_delta':
      return parts.input(looseText(delta['partial_json']))
    default:
      return []
  }
}

/** A text is opened by its first piece: one that stays empty is none. */
function startBlock(key: string, block: Fields, parts: PartStream): readonly ReplyEvent[] {
  const part = readReplyBlock(block)
  if (part.type === 'text') {
    return part.text === '' ? [] : [...parts.enter(key, () => ({ type: 'text', text: '' })), ...parts.text(part.text)]
  }
  if (part.type !== 'thinking') return parts.enter(key, () => part)
  const { signature = '', text, ...rest } = part
  return [...parts.enter(key, () => ({ ...rest, text: '' })), ...parts.thinking(text), ...parts.signature(signature)]
}

export function writeAnthropicStream(): StreamWriter {
  let index = -1
  let silent = false
  const block = (type: string, more: Fields): string =>
    silent ? '' : sseFrame({ type: `content_block_${type}`, index, ...more }, `content_block_${type}`)
  return (event) => {
    switch (event.type) {
      case 'start':
        return writeStart(event)
      case 'part': {
        const content = writeReplyBlock(event.part)
        silent = content === undefined
        if (content === undefined) return ''
        index += 1
        return block('start', { content_block: content })
      }
      case 'text':
        return block('delta', { delta: { type: 'text_delta', text: event.text } })
      case 'thinking':
        return block('delta', { delta: { type: 'thinking_delta', thinking: event.text } })
      case 'signature':
        return block('delta', { delta: { type: 'signature_delta', signature: event.signature } })
      case 'input':
        return block('delta', { delta: { type: 'input_json_delta', partial_json: event.json } })
      case 'part-end':
        return block('stop', {})
      case 'end':
        return writeEnd(event)
      case 'failed':
        return sseFrame(writeAnthropicError(event.failure), 'error')
      default:
        return event satisfies never
    }
  }
}

function writeStart({ id, model, usage }: Extract<ReplyEvent, { type: 'start' }>): string {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: writeAnthropicUsage(usage ?? { input: 0, output: 0 }),
  }
  return sseFrame({ type: 'message_start', message }, 'message_start')
}

function writeEnd({ stop, stopSequence, usage }: Extract<ReplyEvent, { type: 'end' }>): string {
  const delta = { stop_reason: writeAnthropicStop(stop), stop_sequence: stopSequence ?? null }
  const last = { type: 'message_delta', delta, usage: writeAnthropicUsage(usage) }
  return sseFrame(last, 'message_delta') + sseFrame({ type: 'message_stop' }, 'message_stop')
}
