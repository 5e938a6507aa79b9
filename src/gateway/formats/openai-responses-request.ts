/** Reads requests of OpenAI's Responses format. */
import type { ModelPart, ModelRequest, ModelTool, Picture, TextPart, Thinking } from '../exchange.ts'
import {
  fieldsOf,
  flagIn,
  listOf,
  looseFields,
  looseText,
  numberIn,
  present,
  refuse,
  setFields,
  textIn,
  textOf,
  type Fields,
} from './fields.ts'
import { pictureAt } from './media.ts'
import { readCallItem, readOutputItem } from './openai-responses-items.ts'
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
const ONLY = ['prompt', 'top_logprobs']
const STATELESS = 'the gateway keeps no conversations; send the whole conversation as input'

export function readResponsesRequest(given: unknown): ModelRequest {
  const body = fieldsOf(given, 'body')
  for (const name of setFields(body, ['previous_response_id', 'conversation'])) refuse(name, STATELESS)
  if (body['background'] === true) refuse('background', 'must be false: the gateway answers while the client waits')
  const collected = turns()
  collected.add('system', [{ type: 'text', text: textIn(body, 'instructions') ?? '' }])
  readInput(body['input'], collected)
  const { system, messages } = collected.done()
  const only = setFields(body, ONLY)
  return {
    model: textOf(body['model'], 'model'),
    system,
    messages: nameResults(messages),
    tools: readTools(body['tools'], 'tools'),
    stream: flagIn(body, 'stream') ?? false,
    ...present({
      toolChoice: readOpenaiChoice(body['tool_choice']),
      parallelTools: flagIn(body, 'parallel_tool_calls'),
      maxTokens: numberIn(body, 'max_output_tokens'),
      temperature: numberIn(body, 'temperature'),
      topP: numberIn(body, 'top_p'),
      json: readJsonReply(looseFields(looseFields(body['text'])['format'])),
      thinking: readReasoningOptions(looseFields(body['reasoning'])),
      verbosity: readVerbosity(looseFields(body['text'])['verbosity']),
      user: textIn(body, 'safety_identifier') ?? textIn(body, 'user'),
      only: only.length === 0 ? undefined : { format: 'openai-responses' as const, fields: only },
    }),
  }
}

function readReasoningOptions(reasoning: Fields): Thinking | undefined {
  const effort = readEffort(reasoning['effort'], 'reasoning.effort')
  const show = looseText(reasoning['summary'] ?? reasoning['generate_summary']) === '' ? {} : { show: true }
  const thinking = { ...effort, ...show }
  return Object.keys(thinking).length === 0 ? undefined : thinking
}

function readTools(tools: unknown, at: string): readonly ModelTool[] {
  return listOf(tools, at).flatMap((given, index) => {
    const tool = fieldsOf(given, `${at}.${index}`)
    if (tool['type'] !== 'namespace') return [readOpenaiTool(tool, `${at}.${index}`, 'openai-responses')]
    const namespace = textOf(tool['name'], `${at}.${index}.name`)
    return readTools(tool['tools'], `${at}.${index}.tools`).map((one) => ({ ...one, namespace }))
  })
}

function readInput(input: unknown, collected: Turns): void {
  if (typeof input === 'string') return collected.add('user', [{ type: 'text', text: input }])
  listOf(input ?? refuse('input', 'is missing'), 'input').forEach((item, index) => {
    readItem(fieldsOf(item, `input.${index}`), `input.${index}`, collected)
  })
}

function readItem(item: Fields, at: string, collected: Turns): void {
  switch (item['type'] ?? 'message') {
    case 'message':
      return readMessage(item, at, collected)
    case 'function_call':
    case 'custom_tool_call':
      textOf(item['call_id'], `${at}.call_id`)
      textOf(item['name'], `${at}.name`)
      return collected.add('assistant', [readCallItem(item)])
    case 'function_call_output':
    case 'custom_tool_call_output':
      return collected.add('user', [readResult(item, at)])
    case 'reasoning':
      return collected.add('assistant', readOutputItem(item))
    default: {
      const role = looseText(item['type']).endsWith('_output') ? 'user' : 'assistant'
      return collected.add(role, [{ type: 'other', format: 'openai-responses', value: item }])
    }
  }
}

function readMessage(item: Fields, at: string, collected: Turns): void {
  const { role, content } = item
  const parts = readContent(content, `${at}.content`)
  if (role === 'user' || role === 'assistant') return collected.add(role, parts)
  if (role === 'system' || role === 'developer') return collected.add('system', parts)
  refuse(`${at}.role`, 'must be user, assistant, system or developer')
}

function readContent(content: unknown, at: string): readonly ModelPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listOf(content, at).map((part, index) => readPart(fieldsOf(part, `${at}.${index}`), `${at}.${index}`))
}

function readPart(part: Fields, at: string): ModelPart {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: textOf(part['text'], `${at}.text`) }
    case 'refusal':
      return { type: 'text', text: textOf(part['refusal'], `${at}.refusal`), refusal: true }
    case 'input_image':
      if (typeof part['image_url'] === 'string')
        return { ...pictureAt(part['image_url'], `${at}.image_url`), ...readDetail(part) }
      return { type: 'other', format: 'openai-responses', value: part }
    case 'input_file':
      return readFile(part, at) ?? { type: 'other', format: 'openai-responses', value: part }
    default:
      return { type: 'other', format: 'openai-responses', value: part }
  }
}

function readFile(part: Fields, at: string): Picture | undefined {
  const name = textIn(part, 'filename', `${at}.filename`)
  const named = name === undefined ? {} : { name }
  const { file_data: data, file_url: url } = part
  if (typeof data === 'string') return { ...pictureAt(data, `${at}.file_data`, 'application/pdf'), ...named }
  if (typeof url === 'string') return { ...pictureAt(url, `${at}.file_url`, 'application/pdf'), ...named }
  return undefined
}

function readResult(item: Fields, at: string): ModelPart {
  const parts = readContent(item['output'], `${at}.output`)
  const known = parts.filter((part): part is TextPart | Picture => part.type === 'text' || part.type === 'file')
  if (known.length < parts.length) return { type: 'other', format: 'openai-responses', value: item }
  return {
    type: 'tool-result',
    id: textOf(item['call_id'], `${at}.call_id`),
    name: looseText(item['name']),
    parts: known.filter((part) => part.type === 'file' || part.text !== ''),
  }
}
