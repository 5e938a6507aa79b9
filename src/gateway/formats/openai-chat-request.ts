/** Reads requests of OpenAI's Chat Completions format. */
import type { ModelPart, ModelRequest, Picture, TextPart, ToolCallPart } from '../exchange.ts'
import {
  fieldsOf,
  flagIn,
  isFields,
  listOf,
  looseFields,
  looseText,
  numberIn,
  parseJson,
  present,
  refuse,
  setFields,
  textIn,
  textOf,
  textsIn,
  type Fields,
} from './fields.ts'
import { pictureAt } from './media.ts'
import { readChatThoughts } from './openai-chat-thoughts.ts'
import {
  readDetail,
  readEffort,
  readJsonReply,
  readOpenaiChoice,
  readOpenaiTool,
  readVerbosity,
} from './openai-words.ts'
import { nameResults, turns, type Turns } from './turns.ts'

/** What changes the answer and has no counterpart elsewhere. */
const ONLY = ['audio', 'logit_bias', 'logprobs', 'web_search_options', 'functions', 'function_call']

export function readChatRequest(given: unknown): ModelRequest {
  const body = fieldsOf(given, 'body')
  if ((numberIn(body, 'n') ?? 1) > 1) refuse('n', 'must be 1: the gateway gives one reply')
  const collected = turns()
  listOf(body['messages'] ?? refuse('messages', 'is missing'), 'messages').forEach((message, index) =>
    readMessage(fieldsOf(message, `messages.${index}`), `messages.${index}`, collected),
  )
  const { system, messages } = collected.done()
  const only = setFields(body, ONLY)
  const stop = typeof body['stop'] === 'string' ? [body['stop']] : textsIn(body, 'stop')
  return {
    model: textOf(body['model'], 'model'),
    system,
    messages: nameResults(messages),
    tools: listOf(body['tools'], 'tools').map((tool, index) =>
      readChatTool(fieldsOf(tool, `tools.${index}`), `tools.${index}`),
    ),
    stream: flagIn(body, 'stream') ?? false,
    ...present({
      toolChoice: readOpenaiChoice(unwrapChoice(body['tool_choice'])),
      parallelTools: flagIn(body, 'parallel_tool_calls'),
      maxTokens: numberIn(body, 'max_completion_tokens') ?? numberIn(body, 'max_tokens'),
      temperature: numberIn(body, 'temperature'),
      topP: numberIn(body, 'top_p'),
      seed: numberIn(body, 'seed'),
      presencePenalty: numberIn(body, 'presence_penalty'),
      frequencyPenalty: numberIn(body, 'frequency_penalty'),
      stop: stop?.length === 0 ? undefined : stop,
      json: readJsonReply(unwrapFormat(looseFields(body['response_format']))),
      thinking: readEffort(body['reasoning_effort'] ?? looseFields(body['reasoning'])['effort'], 'reasoning_effort'),
      verbosity: readVerbosity(body['verbosity']),
      streamUsage: flagIn(looseFields(body['stream_options']), 'include_usage', 'stream_options.include_usage'),
      user: textIn(body, 'safety_identifier') ?? textIn(body, 'user'),
      only: only.length === 0 ? undefined : { format: 'openai-chat' as const, fields: only },
    }),
  }
}

/** Here the name lies one level deeper than in Responses; the rest is the same. */
function unwrapChoice(choice: unknown): unknown {
  if (!isFields(choice)) return choice
  const inner = choice['function'] ?? choice['custom'] ?? choice['allowed_tools']
  if (!isFields(inner)) return choice
  const tools = Array.isArray(inner['tools']) ? { tools: inner['tools'].map(unwrapChoice) } : {}
  return { ...inner, ...tools, type: choice['type'] }
}

function unwrapFormat(format: Fields): Fields {
  return { ...looseFields(format['json_schema']), type: format['type'] }
}

function readChatTool(tool: Fields, at: string): ReturnType<typeof readOpenaiTool> {
  if (tool['type'] === 'function') {
    return readOpenaiTool(
      { ...fieldsOf(tool['function'], `${at}.function`), type: 'function' },
      `${at}.function`,
      'openai-chat',
    )
  }
  if (tool['type'] !== 'custom') return readOpenaiTool(tool, at, 'openai-chat')
  const custom = fieldsOf(tool['custom'], `${at}.custom`)
  const format = looseFields(custom['format'])
  const grammar = isFields(format['grammar']) ? { format: { ...format['grammar'], type: 'grammar' } } : {}
  return readOpenaiTool({ ...custom, ...grammar, type: 'custom' }, `${at}.custom`, 'openai-chat')
}

function readMessage(message: Fields, at: string, collected: Turns): void {
  switch (message['role']) {
    case 'system':
    case 'developer':
      return collected.add('system', readContent(message['content'], `${at}.content`))
    case 'user':
      return collected.add('user', readContent(message['content'], `${at}.content`))
    case 'tool':
      return collected.add('user', [readResult(message, at)])
    case 'assistant':
      return collected.add('assistant', readAssistant(message, at))
    default:
      return refuse(`${at}.role`, 'must be system, developer, user, assistant or tool')
  }
}

function readAssistant(message: Fields, at: string): readonly ModelPart[] {
  const refusal = looseText(message['refusal'])
  const calls = listOf(message['tool_calls'], `${at}.tool_calls`)
  return [
    ...readChatThoughts(message),
    ...readContent(message['content'], `${at}.content`),
    ...(refusal === '' ? [] : [{ type: 'text', text: refusal, refusal: true } as const]),
    ...calls.map((call, index) =>
      readChatCall(fieldsOf(call, `${at}.tool_calls.${index}`), `${at}.tool_calls.${index}`),
    ),
  ]
}

export function readChatCall(call: Fields, at: string): ToolCallPart {
  const id = textOf(call['id'], `${at}.id`)
  if (call['type'] === 'custom') {
    const { name, input } = fieldsOf(call['custom'], `${at}.custom`)
    return { type: 'tool-call', id, name: textOf(name, `${at}.custom.name`), input: looseText(input), freeform: true }
  }
  const { name, arguments: json } = fieldsOf(call['function'], `${at}.function`)
  const input = readArguments(looseText(json))
  return { type: 'tool-call', id, name: textOf(name, `${at}.function.name`), input, ...readCallSignature(call) }
}

export function readCallSignature(call: Fields): { readonly signature?: string } {
  const signature = looseText(looseFields(looseFields(call['extra_content'])['google'])['thought_signature'])
  return signature === '' ? {} : { signature }
}

/** Arguments as a value. What is not JSON stays the text that it is: models write such, and clients send it back. */
export function readArguments(json: string): unknown {
  return json.trim() === '' ? {} : (parseJson(json) ?? json)
}

function readResult(message: Fields, at: string): ModelPart {
  const content = readContent(message['content'], `${at}.content`)
  const parts = content.filter((part): part is TextPart | Picture => part.type === 'text' || part.type === 'file')
  return {
    type: 'tool-result',
    id: textOf(message['tool_call_id'], `${at}.tool_call_id`),
    name: '',
    parts: parts.filter((part) => part.type === 'file' || part.text !== ''),
  }
}

function readContent(content: unknown, at: string): readonly ModelPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listOf(content, at).map((part, index) => readPart(fieldsOf(part, `${at}.${index}`), `${at}.${index}`))
}

function readPart(part: Fields, at: string): ModelPart {
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: textOf(part['text'], `${at}.text`) }
    case 'refusal':
      return { type: 'text', text: textOf(part['refusal'], `${at}.refusal`), refusal: true }
    case 'image_url': {
      const image = fieldsOf(part['image_url'], `${at}.image_url`)
      const field = `${at}.image_url.url`
      return { ...pictureAt(textOf(image['url'], field), field), ...readDetail(image) }
    }
    case 'input_audio': {
      const { data, format } = fieldsOf(part['input_audio'], `${at}.input_audio`)
      const mediaType = `audio/${textOf(format, `${at}.input_audio.format`)}`
      return { type: 'file', mediaType, data: textOf(data, `${at}.input_audio.data`) }
    }
    case 'file': {
      const file = fieldsOf(part['file'], `${at}.file`)
      if (typeof file['file_data'] !== 'string') return { type: 'other', format: 'openai-chat', value: part }
      const name = textIn(file, 'filename', `${at}.file.filename`)
      return { ...pictureAt(file['file_data'], `${at}.file.file_data`), ...(name === undefined ? {} : { name }) }
    }
    default:
      return { type: 'other', format: 'openai-chat', value: part }
  }
}
