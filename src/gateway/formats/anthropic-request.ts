/** Reads requests of Anthropic's Messages format. */
import type {
  JsonReply,
  ModelMessage,
  ModelPart,
  ModelRequest,
  ModelTool,
  Picture,
  TextPart,
  Thinking,
  ToolChoice,
} from '../exchange.ts'
import { EFFORTS } from '../exchange.ts'
import {
  fieldsOf,
  flagIn,
  isFields,
  listOf,
  looseFields,
  looseText,
  numberIn,
  present,
  refuse,
  setFields,
  textIn,
  textOf,
  textsIn,
  type Fields,
} from './fields.ts'
import type { RequestRoute } from './format.ts'
import { nameResults, turns } from './turns.ts'

/** What changes the answer and has no counterpart elsewhere. */
const ONLY = ['container', 'mcp_servers']

export function readAnthropicRequest(given: unknown, route: RequestRoute): ModelRequest {
  const body = fieldsOf(given, 'body')
  const collected = turns()
  collected.add('system', blocksOf(body['system'], 'system'))
  listOf(body['messages'] ?? refuse('messages', 'is missing'), 'messages').forEach((message, index) => {
    const at = `messages.${index}`
    const { role, content } = fieldsOf(message, at)
    collected.add(roleOf(role, `${at}.role`), blocksOf(content, `${at}.content`))
  })
  const { system, messages } = collected.done()
  const choice = looseFields(body['tool_choice'])
  const only = setFields(body, ONLY)
  return {
    model: textOf(body['model'], 'model'),
    system,
    messages: nameResults(messages),
    tools: listOf(body['tools'], 'tools').map((tool, index) =>
      readTool(fieldsOf(tool, `tools.${index}`), `tools.${index}`),
    ),
    stream: flagIn(body, 'stream') ?? false,
    ...present({
      toolChoice: readChoice(choice),
      parallelTools: flagIn(choice, 'disable_parallel_tool_use') === true ? false : undefined,
      maxTokens: route.operation === 'count' ? numberIn(body, 'max_tokens') : requiredMost(body),
      temperature: numberIn(body, 'temperature'),
      topP: numberIn(body, 'top_p'),
      topK: numberIn(body, 'top_k'),
      stop: textsIn(body, 'stop_sequences'),
      json: readJson(looseFields(body['output_config'])),
      thinking: readThinking(body),
      user: textIn(looseFields(body['metadata']), 'user_id', 'metadata.user_id'),
      only: only.length === 0 ? undefined : { format: 'anthropic' as const, fields: only },
    }),
  }
}

function requiredMost(body: Fields): number {
  return numberIn(body, 'max_tokens') ?? refuse('max_tokens', 'is missing')
}

function roleOf(role: unknown, field: string): ModelMessage['role'] {
  if (role === 'user' || role === 'assistant' || role === 'system') return role
  return refuse(field, 'must be user, assistant or system')
}

function blocksOf(content: unknown, at: string): readonly ModelPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listOf(content, at).map((block, index) => readBlock(fieldsOf(block, `${at}.${index}`), `${at}.${index}`))
}

function readBlock(block: Fields, at: string): ModelPart {
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: textOf(block['text'], `${at}.text`) }
    case 'image':
    case 'document':
      return readFile(block, at) ?? { type: 'other', format: 'anthropic', value: block }
    case 'tool_use':
      return {
        type: 'tool-call',
        id: textOf(block['id'], `${at}.id`),
        name: textOf(block['name'], `${at}.name`),
        input: block['input'] ?? {},
      }
    case 'tool_result':
      return readResult(block, at)
    default:
      return readThought(block) ?? { type: 'other', format: 'anthropic', value: block }
  }
}

/** Thoughts are the same in requests and replies. */
export function readThought(block: Fields): ModelPart | undefined {
  if (block['type'] === 'redacted_thinking') return { type: 'thinking', text: '', hidden: looseText(block['data']) }
  if (block['type'] !== 'thinking') return undefined
  const signature = looseText(block['signature'])
  return { type: 'thinking', text: looseText(block['thinking']), ...(signature === '' ? {} : { signature }) }
}

/** Undefined for files that the provider keeps and for documents made of blocks. */
function readFile(block: Fields, at: string): Picture | undefined {
  const source = fieldsOf(block['source'], `${at}.source`)
  const name = textIn(block, 'title', `${at}.title`)
  const named = name === undefined ? {} : { name }
  if (source['type'] === 'base64') {
    const mediaType = textOf(source['media_type'], `${at}.source.media_type`)
    return { type: 'file', mediaType, data: textOf(source['data'], `${at}.source.data`), ...named }
  }
  if (source['type'] === 'url') {
    const mediaType = block['type'] === 'image' ? 'image/*' : 'application/pdf'
    return { type: 'file', mediaType, url: textOf(source['url'], `${at}.source.url`), ...named }
  }
  if (source['type'] !== 'text') return undefined
  const data = Buffer.from(textOf(source['data'], `${at}.source.data`)).toString('base64')
  return { type: 'file', mediaType: 'text/plain', data, ...named }
}

function readResult(block: Fields, at: string): ModelPart {
  const parts = blocksOf(block['content'], `${at}.content`)
  const known = parts.filter((part): part is TextPart | Picture => part.type === 'text' || part.type === 'file')
  // A result with a part of its own kind (a search result, a reference to a tool) is one as a whole.
  if (known.length < parts.length) return { type: 'other', format: 'anthropic', value: block }
  return {
    type: 'tool-result',
    id: textOf(block['tool_use_id'], `${at}.tool_use_id`),
    name: '',
    parts: known.filter((part) => part.type === 'file' || part.text !== ''),
    ...(flagIn(block, 'is_error', `${at}.is_error`) === true ? { failed: true } : {}),
  }
}

function readTool(tool: Fields, at: string): ModelTool {
  const name = textOf(tool['name'] ?? tool['type'], `${at}.name`)
  const own = (tool['type'] ?? 'custom') !== 'custom'
  if (own) return { name, input: {}, other: { format: 'anthropic', value: tool } }
  return {
    name,
    input: isFields(tool['input_schema'])
      ? tool['input_schema']
      : refuse(`${at}.input_schema`, 'must be a JSON Schema'),
    ...present({
      description: textIn(tool, 'description', `${at}.description`),
      strict: flagIn(tool, 'strict', `${at}.strict`) === true ? true : undefined,
    }),
  }
}

function readChoice(choice: Fields): ToolChoice | undefined {
  switch (choice['type']) {
    case undefined:
      return undefined
    case 'auto':
    case 'none':
      return choice['type']
    case 'any':
      return 'required'
    case 'tool':
      return { tool: textOf(choice['name'], 'tool_choice.name') }
    default:
      return refuse('tool_choice.type', 'must be auto, any, tool or none')
  }
}

function readJson(config: Fields): JsonReply | undefined {
  const format = looseFields(config['format'])
  return format['type'] === 'json_schema' ? { schema: format['schema'] } : undefined
}

function readThinking(body: Fields): Thinking | undefined {
  const config = looseFields(body['thinking'])
  const effort = EFFORTS.find((one) => one === looseFields(body['output_config'])['effort'])
  const show = config['display'] === 'summarized' ? true : config['display'] === 'omitted' ? false : undefined
  const more = present({ effort, show })
  switch (config['type']) {
    case 'enabled':
      return { budget: budgetIn(config), ...more }
    case 'disabled':
      return { ...more, effort: 'none' }
    case undefined:
      return effort === undefined ? undefined : more
    default:
      return more
  }
}

function budgetIn(config: Fields): number {
  const at = 'thinking.budget_tokens'
  return numberIn(config, 'budget_tokens', at) ?? refuse(at, 'is missing')
}
