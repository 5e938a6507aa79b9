/** Writes requests in OpenAI's Chat Completions format, for a provider that speaks it. */
import type {
  ModelMessage,
  ModelPart,
  ModelRequest,
  ModelTool,
  Picture,
  TextPart,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
} from '../exchange.ts'
import { present, type Fields } from './fields.ts'
import type { OutgoingRequest } from './format.ts'
import { addressOf, isImage } from './media.ts'
import { writeChatThoughts } from './openai-chat-thoughts.ts'
import { effortOf, writeJsonReply } from './openai-words.ts'
import { flatName, inputText, isFreeform, toolNamed, translatable } from './turns.ts'

export function writeChatRequest(given: ModelRequest): OutgoingRequest {
  const request = translatable(given, 'openai-chat')
  const { tools, thinking, json } = request
  const body = {
    model: request.model,
    messages: [...writeSystem(request.system), ...request.messages.flatMap((message) => writeMessage(message, tools))],
    ...present({
      tools: tools.length === 0 ? undefined : tools.map(writeTool),
      tool_choice: request.toolChoice === undefined ? undefined : writeChoice(request.toolChoice, tools),
      parallel_tool_calls: request.parallelTools,
      [mostTokensField(request.model)]: request.maxTokens,
      temperature: request.temperature,
      top_p: request.topP,
      seed: request.seed,
      presence_penalty: request.presencePenalty,
      frequency_penalty: request.frequencyPenalty,
      stop: request.stop,
      response_format: json === undefined ? undefined : writeFormat(json),
      reasoning_effort: thinking === undefined ? undefined : effortOf(thinking),
      verbosity: request.verbosity,
      user: request.user,
      ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
  }
  return { path: '/chat/completions', body }
}

/** OpenAI's newer models refuse the old name; others know only that. */
function mostTokensField(model: string): string {
  return /^(gpt-|chatgpt-|codex|o\d)/.test(model.split('/').at(-1) ?? '') ? 'max_completion_tokens' : 'max_tokens'
}

function writeFormat(json: NonNullable<ModelRequest['json']>): Fields {
  return json.schema === undefined
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: writeJsonReply(json) }
}

function writeTool(tool: ModelTool): unknown {
  if (tool.other !== undefined) return tool.other.value
  const head = { name: flatName(tool), ...present({ description: tool.description }) }
  if (tool.freeform === undefined) {
    return { type: 'function', function: { ...head, parameters: tool.input, ...present({ strict: tool.strict }) } }
  }
  const { grammar } = tool.freeform
  return {
    type: 'custom',
    custom: { ...head, ...(grammar === undefined ? {} : { format: { type: 'grammar', grammar } }) },
  }
}

function writeChoice(choice: ToolChoice, tools: readonly ModelTool[]): unknown {
  if (typeof choice === 'string') return choice
  if ('tool' in choice) return named(choice.tool, tools)
  const mode = choice.required ? 'required' : 'auto'
  return { type: 'allowed_tools', allowed_tools: { mode, tools: choice.tools.map((name) => named(name, tools)) } }
}

function named(name: string, tools: readonly ModelTool[]): Fields {
  const tool = toolNamed(name, tools)
  const type = tool?.freeform === undefined ? 'function' : 'custom'
  return { type, [type]: { name: tool === undefined ? name : flatName(tool) } }
}

function writeSystem(system: readonly string[]): readonly unknown[] {
  return system.length === 0 ? [] : [{ role: 'system', content: writeTexts(system) }]
}

/** One text as it is, because not every provider takes a list. */
function writeTexts(texts: readonly string[]): unknown {
  return texts.length === 1 ? texts[0] : texts.map((text) => ({ type: 'text', text }))
}

function writeMessage({ role, parts }: ModelMessage, tools: readonly ModelTool[]): readonly unknown[] {
  if (role === 'assistant') return writeAssistant(parts, tools)
  const results = parts.filter((part) => part.type === 'tool-result')
  const rest = parts.filter((part) => part.type !== 'tool-result')
  // A result is a text here; the files of results follow as the user's.
  const files = results.flatMap((result) => result.parts.filter((part) => part.type === 'file'))
  const content = [...files, ...rest].flatMap(writePart)
  const plain = content.length === 1 && rest[0]?.type === 'text' && files.length === 0 ? rest[0].text : content
  return [...results.map(writeResult), ...(content.length === 0 ? [] : [{ role, content: plain }])]
}

function writeResult({ id, parts }: ToolResultPart): unknown {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const said = texts.length === 0 ? [parts.length === 0 ? '' : '(see the file below)'] : texts
  return { role: 'tool', tool_call_id: id, content: writeTexts(said) }
}

function writeAssistant(parts: readonly ModelPart[], tools: readonly ModelTool[]): readonly unknown[] {
  const texts = parts.filter((part) => part.type === 'text')
  const calls = parts.filter((part) => part.type === 'tool-call').map((call) => writeChatCall(call, tools))
  const thoughts = writeChatThoughts(parts)
  if (texts.length === 0 && calls.length === 0 && Object.keys(thoughts).length === 0) return []
  return [
    {
      role: 'assistant',
      content: texts.length === 0 ? null : writeSaid(texts),
      ...thoughts,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ]
}

function writeSaid(texts: readonly TextPart[]): unknown {
  const [only] = texts
  if (texts.length === 1 && only?.refusal === undefined) return only?.text
  return texts.map(({ text, refusal }) =>
    refusal === true ? { type: 'refusal', refusal: text } : { type: 'text', text },
  )
}

export function writeChatCall(call: ToolCallPart, tools: readonly ModelTool[]): Fields {
  const { id, signature } = call
  const name = flatName(call)
  if (isFreeform(call, tools)) return { id, type: 'custom', custom: { name, input: inputText(call.input) } }
  return {
    id,
    type: 'function',
    function: { name, arguments: writeArguments(call.input) },
    ...writeCallSignature(signature),
  }
}

export function writeCallSignature(signature: string | undefined): Fields {
  return signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }
}

export function writeArguments(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? {})
}

function writePart(part: ModelPart): readonly unknown[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'file':
      return [writeFile(part)]
    case 'other':
      return [part.value]
    case 'thinking':
    case 'tool-call':
    case 'tool-result':
      return []
    default:
      return part satisfies never
  }
}

function writeFile(file: Picture): unknown {
  if (isImage(file))
    return { type: 'image_url', image_url: { url: addressOf(file), ...present({ detail: file.detail }) } }
  const audio = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(file.mediaType)?.[1]
  if (audio !== undefined && file.data !== undefined) {
    return { type: 'input_audio', input_audio: { data: file.data, format: audio === 'mpeg' ? 'mp3' : audio } }
  }
  return { type: 'file', file: { file_data: addressOf(file), ...present({ filename: file.name }) } }
}
