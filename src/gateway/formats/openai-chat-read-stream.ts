/** Reads streams of OpenAI's Chat Completions format. */
import type { ModelPart, ReplyEvent } from '../exchange.ts'
import { count, isFields, looseFields, looseList, looseText, parseJson, type Fields } from './fields.ts'
import type { StreamReader } from './format.ts'
import { chatCalls, type ChatCalls } from './openai-chat-calls.ts'
import { CHAT_USAGE, readChatStop } from './openai-chat-reply.ts'
import { readDetail } from './openai-chat-thoughts.ts'
import { readOpenaiFailure } from './openai-words.ts'
import { partStream, type PartStream } from './part-stream.ts'
import { endedEarly } from './reply-events.ts'
import { openaiUsage, readUsage } from './usage.ts'

interface Reading {
  readonly parts: PartStream
  readonly calls: ChatCalls
  started: boolean
  refused: boolean
  finish: string
  usage?: unknown
}

export function readChatStream(): StreamReader {
  const parts = partStream()
  const state: Reading = { parts, calls: chatCalls(parts), started: false, refused: false, finish: '' }
  let ended = false
  const finish = (): readonly ReplyEvent[] => {
    if (ended) return []
    ended = true
    const rest = [...state.calls.tell(true), ...parts.leave()]
    if (state.finish === '') return [...rest, { type: 'failed', failure: endedEarly() }]
    const usage = readUsage(state.usage, (said) => openaiUsage(said, CHAT_USAGE))
    return [...rest, { type: 'end', stop: readChatStop(state.finish, state.calls.seen, state.refused), usage }]
  }
  return {
    end: finish,
    push: ({ data }) => {
      if (ended) return []
      if (data.trim() === '[DONE]') return finish()
      const chunk = looseFields(parseJson(data))
      if ((chunk['error'] ?? undefined) === undefined) return readChunk(chunk, state)
      ended = true
      const failure = readOpenaiFailure({ status: 0, headers: {}, body: chunk, now: 0 })
      return [...parts.leave(), { type: 'failed', failure }]
    },
  }
}

function readChunk(chunk: Fields, state: Reading): readonly ReplyEvent[] {
  if (isFields(chunk['usage'])) state.usage = chunk['usage']
  const choice = looseFields(looseList(chunk['choices'])[0])
  state.finish = looseText(choice['finish_reason']) || state.finish
  return [...readStart(chunk, state), ...readDelta(looseFields(choice['delta']), state)]
}

function readStart(chunk: Fields, state: Reading): readonly ReplyEvent[] {
  if (state.started) return []
  state.started = true
  const created = count(chunk['created'])
  const more = created === 0 ? {} : { createdAt: created * 1_000 }
  return [{ type: 'start', id: looseText(chunk['id']), model: looseText(chunk['model']), ...more }]
}

function readDelta(delta: Fields, state: Reading): readonly ReplyEvent[] {
  const { parts, calls } = state
  const enter = (key: string, part: ModelPart): readonly ReplyEvent[] =>
    parts.open === key ? [] : [...calls.tell(true), ...parts.enter(key, () => part)]
  const details = looseList(delta['reasoning_details'])
  const events = details.flatMap((detail) => readThought(detail, enter, parts))
  const thought = details.length > 0 ? '' : looseText(delta['reasoning_content']) || looseText(delta['reasoning'])
  if (thought !== '') events.push(...enter('thinking', { type: 'thinking', text: '' }), ...parts.thinking(thought))
  const text = looseText(delta['content'])
  if (text !== '') events.push(...enter('text', { type: 'text', text: '' }), ...parts.text(text))
  const refusal = looseText(delta['refusal'])
  if (refusal !== '') {
    state.refused = true
    events.push(...enter('refusal', { type: 'text', text: '', refusal: true }), ...parts.text(refusal))
  }
  looseList(delta['tool_calls']).forEach((call) => calls.take(call))
  return [...events, ...calls.tell(false)]
}

type Enter = (key: string, part: ModelPart) => readonly ReplyEvent[]

function readThought(detail: Fields, enter: Enter, parts: PartStream): readonly ReplyEvent[] {
  const key = `thinking ${count(detail['index'])}`
  return readDetail(detail).flatMap(({ text, signature = '', ...rest }) => [
    ...enter(key, { ...rest, text: '' }),
    ...parts.thinking(text),
    ...parts.signature(signature),
  ])
}
