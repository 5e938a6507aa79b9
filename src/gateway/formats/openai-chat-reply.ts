/** Replies of OpenAI's Chat Completions format, at once. */
import type { ModelPart, ModelReply, ModelRequest, StopReason } from '../exchange.ts'
import { count, looseFields, looseList, looseText, type Fields } from './fields.ts'
import { readChatCall } from './openai-chat-request.ts'
import { readChatThoughts, writeChatThoughts } from './openai-chat-thoughts.ts'
import { writeChatCall } from './openai-chat-write.ts'
import { openaiUsage, readUsage, writeOpenaiUsage } from './usage.ts'

export const CHAT_USAGE = { input: 'prompt_tokens', output: 'completion_tokens' } as const

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'tool',
  function_call: 'tool',
  content_filter: 'refused',
}

/** A refusal in words ends as usual here, and a few providers say `stop` where they call tools. */
export function readChatStop(reason: unknown, called: boolean, refused: boolean): StopReason {
  const stop = STOPS[looseText(reason)] ?? 'end'
  if (stop !== 'end') return stop
  return called ? 'tool' : refused ? 'refused' : 'end'
}

export function writeChatStop(stop: StopReason, refusal: boolean): string {
  switch (stop) {
    case 'length':
      return 'length'
    case 'tool':
      return 'tool_calls'
    case 'refused':
      return refusal ? 'stop' : 'content_filter'
    case 'end':
    case 'stop-sequence':
    case 'paused':
      return 'stop'
    default:
      return stop satisfies never
  }
}

export function readChatReply(body: unknown): ModelReply {
  const reply = looseFields(body)
  const choice = looseFields(looseList(reply['choices'])[0])
  const message = looseFields(choice['message'])
  const parts = readMessageParts(message)
  const created = count(reply['created'])
  return {
    id: looseText(reply['id']),
    model: looseText(reply['model']),
    parts,
    stop: readChatStop(
      choice['finish_reason'],
      looseList(message['tool_calls']).length > 0,
      looseText(message['refusal']) !== '',
    ),
    usage: readUsage(reply['usage'], (usage) => openaiUsage(usage, CHAT_USAGE)),
    ...(created === 0 ? {} : { createdAt: created * 1_000 }),
  }
}

function readMessageParts(message: Fields): readonly ModelPart[] {
  const text = looseText(message['content'])
  const refusal = looseText(message['refusal'])
  return [
    ...readChatThoughts(message),
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...(refusal === '' ? [] : [{ type: 'text', text: refusal, refusal: true } as const]),
    ...looseList(message['tool_calls']).map((call, index) => readChatCall(call, `tool_calls.${index}`)),
  ]
}

export function writeChatReply(reply: ModelReply, { tools }: ModelRequest): Fields {
  const texts = reply.parts.filter((part) => part.type === 'text')
  const said = texts.filter(({ refusal }) => refusal === undefined).map(({ text }) => text)
  const refused = texts.filter(({ refusal }) => refusal === true).map(({ text }) => text)
  const calls = reply.parts.filter((part) => part.type === 'tool-call').map((call) => writeChatCall(call, tools))
  const message = {
    role: 'assistant',
    content: said.length === 0 ? null : said.join(''),
    refusal: refused.length === 0 ? null : refused.join(''),
    ...writeChatThoughts(reply.parts),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const finish_reason = writeChatStop(reply.stop, refused.length > 0)
  return {
    id: reply.id,
    object: 'chat.completion',
    created: Math.floor((reply.createdAt ?? 0) / 1_000),
    model: reply.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    ...(reply.usage.unknown === true ? {} : { usage: writeOpenaiUsage(reply.usage, CHAT_USAGE) }),
  }
}
