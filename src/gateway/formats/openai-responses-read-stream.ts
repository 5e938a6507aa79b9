/** Reads streams of OpenAI's Responses format. */
import type { ModelPart, ReplyEvent } from '../exchange.ts'
import { count, looseFields, looseText, parseJson, type Fields } from './fields.ts'
import type { StreamReader } from './format.ts'
import { readCallItem, readOutputItem, readReasoning } from './openai-responses-items.ts'
import { readResponsesStop, readResponsesUsage } from './openai-responses-reply.ts'
import { readOpenaiFailure } from './openai-words.ts'
import { partStream, type PartStream } from './part-stream.ts'
import { endedEarly } from './reply-events.ts'

interface Reading {
  readonly parts: PartStream
  /** Items of which something was told before their end. */
  readonly told: Set<string>
  started: boolean
  called: boolean
  refused: boolean
  /** The text of the open thought, to part one summary from the next. */
  thought: { key: string; section: string } | undefined
}

export function readResponsesStream(): StreamReader {
  const parts = partStream()
  const state: Reading = { parts, told: new Set(), started: false, called: false, refused: false, thought: undefined }
  let ended = false
  const fail = (body: unknown): readonly ReplyEvent[] => {
    ended = true
    const failure = body === undefined ? endedEarly() : readOpenaiFailure({ status: 0, headers: {}, body, now: 0 })
    return [...parts.leave(), { type: 'failed', failure }]
  }
  return {
    end: () => (ended ? [] : fail(undefined)),
    push: ({ data }) => {
      const event = looseFields(parseJson(data))
      const response = looseFields(event['response'])
      switch (ended ? undefined : event['type']) {
        case 'response.created':
        case 'response.in_progress':
          return readStart(response, state)
        case 'response.completed':
        case 'response.incomplete':
          ended = true
          return [...readStart(response, state), ...parts.leave(), readEnd(response, state)]
        case 'response.failed':
          return fail({ error: response['error'] ?? { message: 'The provider gave up the reply.' } })
        case 'error':
          return fail(event['error'] === undefined ? { error: event } : event)
        default:
          return readItemEvent(event, state)
      }
    },
  }
}

function readStart(response: Fields, state: Reading): readonly ReplyEvent[] {
  if (state.started) return []
  state.started = true
  const created = count(response['created_at'])
  const more = created === 0 ? {} : { createdAt: created * 1_000 }
  return [{ type: 'start', id: looseText(response['id']), model: looseText(response['model']), ...more }]
}

function readEnd(response: Fields, state: Reading): ReplyEvent {
  const stop = readResponsesStop(response, state.called, state.refused)
  return { type: 'end', stop, usage: readResponsesUsage(response['usage']) }
}

function readItemEvent(event: Fields, state: Reading): readonly ReplyEvent[] {
  const item = String(count(event['output_index']))
  const piece = looseText(event['delta'])
  switch (event['type']) {
    case 'response.output_item.added':
      return beginItem(item, looseFields(event['item']), state)
    case 'response.output_text.delta':
      return readText(`${item} ${count(event['content_index'])}`, { type: 'text', text: '' }, piece, state)
    case 'response.refusal.delta':
      return readText(
        `${item} ${count(event['content_index'])}`,
        { type: 'text', text: '', refusal: true },
        piece,
        state,
      )
    case 'response.reasoning_summary_text.delta':
      return readThought(item, `summary ${count(event['summary_index'])}`, piece, state)
    case 'response.reasoning_text.delta':
      return readThought(item, `content ${count(event['content_index'])}`, piece, state)
    case 'response.function_call_arguments.delta':
      return state.parts.open === item ? state.parts.input(piece) : []
    case 'response.custom_tool_call_input.delta':
      return state.parts.open === item ? state.parts.input(JSON.stringify(piece).slice(1, -1)) : []
    case 'response.output_item.done':
      return endItem(item, looseFields(event['item']), state)
    default:
      return []
  }
}

function beginItem(key: string, item: Fields, state: Reading): readonly ReplyEvent[] {
  if (item['type'] !== 'function_call' && item['type'] !== 'custom_tool_call') return []
  state.called = true
  const call = { ...readCallItem(item), input: {} }
  const events = state.parts.enter(key, () => call)
  return call.freeform === true ? [...events, ...state.parts.input('"')] : events
}

function readText(key: string, part: ModelPart, piece: string, state: Reading): readonly ReplyEvent[] {
  if (piece === '') return []
  state.told.add(key.split(' ')[0] ?? '')
  state.refused ||= part.type === 'text' && part.refusal === true
  return [...state.parts.enter(key, () => part), ...state.parts.text(piece)]
}

function readThought(key: string, section: string, piece: string, state: Reading): readonly ReplyEvent[] {
  const { parts } = state
  const events = parts.enter(key, () => ({ type: 'thinking', text: '' }))
  const next = state.thought?.key === key && state.thought.section !== section
  state.thought = { key, section }
  state.told.add(key)
  return [...events, ...parts.thinking(next ? `\n\n${piece}` : piece)]
}

/** What is left of an item at its end: the proof of thoughts, or all of it if nothing came in pieces. */
function endItem(key: string, item: Fields, state: Reading): readonly ReplyEvent[] {
  const { parts } = state
  if (item['type'] === 'custom_tool_call' && parts.open === key) return [...parts.input('"'), ...parts.leave()]
  if (item['type'] === 'function_call' && parts.open === key) return parts.leave()
  if (!state.told.has(key))
    return readOutputItem(item).flatMap((part, at) => wholePart(`${key} whole ${at}`, part, state))
  const { signature = '' } = item['type'] === 'reasoning' ? readReasoning(item) : {}
  return [...parts.signature(signature), ...parts.leave()]
}

function wholePart(key: string, part: ModelPart, { parts }: Reading): readonly ReplyEvent[] {
  if (part.type === 'text') {
    return [...parts.enter(key, () => ({ ...part, text: '' })), ...parts.text(part.text), ...parts.leave()]
  }
  if (part.type !== 'thinking') return [...parts.enter(key, () => part), ...parts.leave()]
  const { text, signature = '', ...rest } = part
  const pieces = [
    ...parts.enter(key, () => ({ ...rest, text: '' })),
    ...parts.thinking(text),
    ...parts.signature(signature),
  ]
  return [...pieces, ...parts.leave()]
}
