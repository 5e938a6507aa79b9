/** Writes requests in OpenAI's Responses format, for a provider that speaks it. */
import type {
  ModelMessage,
  ModelPart,
  ModelRequest,
  ModelTool,
  Picture,
  TextPart,
  Thinking,
  ToolChoice,
  ToolResultPart,
} from '../exchange.ts'
import { present, type Fields } from './fields.ts'
import type { OutgoingRequest } from './format.ts'
import { addressOf, isImage } from './media.ts'
import { writeCallItem, writeOutputText, writeReasoningBack } from './openai-responses-items.ts'
import { effortOf, writeJsonReply } from './openai-words.ts'
import { callsOf, isFreeform, toolNamed, translatable } from './turns.ts'

export function writeResponsesRequest(given: ModelRequest): OutgoingRequest {
  const request = translatable(given, 'openai-responses')
  const body = {
    ...writeInput(request),
    // Nothing is kept there, so that thoughts must come along, encrypted, to be sent back.
    store: false,
    ...present({
      include: isThinking(request.thinking) ? ['reasoning.encrypted_content'] : undefined,
      max_output_tokens: request.maxTokens,
      temperature: request.temperature,
      top_p: request.topP,
      user: request.user,
      stream: request.stream ? true : undefined,
    }),
  }
  return { path: '/responses', body }
}

export function writeResponsesCount(request: ModelRequest): OutgoingRequest {
  return { path: '/responses/input_tokens', body: writeInput(translatable(request, 'openai-responses')) }
}

function isThinking(thinking: Thinking | undefined): boolean {
  return thinking !== undefined && effortOf(thinking) !== 'none'
}

/** What the model reads: all that counts as input. */
function writeInput(request: ModelRequest): Fields {
  const { system, tools, thinking, toolChoice } = request
  const [instructions, ...rest] = system
  const freeform = new Set(callsOf(request.messages).flatMap((call) => (isFreeform(call, tools) ? [call.id] : [])))
  const developer = rest.map((text) => writeMessage('developer', [{ type: 'input_text', text }]))
  return {
    model: request.model,
    input: [...developer, ...request.messages.flatMap((message) => writeTurn(message, tools, freeform))],
    ...present({
      instructions,
      tools: tools.length === 0 ? undefined : writeTools(tools),
      tool_choice: toolChoice === undefined ? undefined : writeChoice(toolChoice, tools),
      parallel_tool_calls: request.parallelTools,
      text: writeText(request),
      reasoning: thinking === undefined ? undefined : writeThinking(thinking),
    }),
  }
}

function writeThinking(thinking: Thinking): Fields {
  return present({ effort: effortOf(thinking), summary: thinking.show === true ? 'auto' : undefined })
}

function writeText({ json, verbosity }: ModelRequest): unknown {
  const text = present({ format: json === undefined ? undefined : writeFormat(json), verbosity })
  return Object.keys(text).length === 0 ? undefined : text
}

function writeFormat(json: NonNullable<ModelRequest['json']>): Fields {
  return json.schema === undefined ? { type: 'json_object' } : { type: 'json_schema', ...writeJsonReply(json) }
}

function writeTools(tools: readonly ModelTool[]): readonly unknown[] {
  const groups = Map.groupBy(tools, ({ namespace }) => namespace ?? '')
  return [...groups].flatMap(([name, members]) => {
    const written = members.map(writeTool)
    return name === '' ? written : [{ type: 'namespace', name, description: name, tools: written }]
  })
}

function writeTool({ name, description, input, strict, freeform, other }: ModelTool): unknown {
  if (other !== undefined) return other.value
  const head = { name, ...present({ description }) }
  if (freeform === undefined) return { type: 'function', ...head, parameters: input, strict: strict ?? false }
  const { grammar } = freeform
  return { type: 'custom', ...head, ...(grammar === undefined ? {} : { format: { type: 'grammar', ...grammar } }) }
}

function writeChoice(choice: ToolChoice, tools: readonly ModelTool[]): unknown {
  if (typeof choice === 'string') return choice
  if ('tool' in choice) return named(choice.tool, tools)
  const mode = choice.required ? 'required' : 'auto'
  return { type: 'allowed_tools', mode, tools: choice.tools.map((name) => named(name, tools)) }
}

function named(name: string, tools: readonly ModelTool[]): Fields {
  const tool = toolNamed(name, tools)
  return { type: tool?.freeform === undefined ? 'function' : 'custom', name: tool?.name ?? name }
}

function writeMessage(role: string, content: readonly unknown[]): Fields {
  return { type: 'message', role, content }
}

/** One turn is several items: each call, result and thought is one, and so are texts and files in a row. */
function writeTurn(
  { role, parts }: ModelMessage,
  tools: readonly ModelTool[],
  freeform: ReadonlySet<string>,
): readonly unknown[] {
  const items: unknown[] = []
  let content: unknown[] = []
  const flush = (): void => {
    if (content.length > 0) items.push(writeMessage(role === 'system' ? 'developer' : role, content))
    content = []
  }
  for (const part of parts) {
    const said = part.type === 'text' || part.type === 'file' ? writeContent(part, role) : undefined
    if (said !== undefined) content.push(said)
    else {
      const item = writeItem(part, tools, freeform)
      if (item === undefined) continue
      flush()
      items.push(item)
    }
  }
  flush()
  return items
}

function writeItem(part: ModelPart, tools: readonly ModelTool[], freeform: ReadonlySet<string>): unknown {
  switch (part.type) {
    case 'tool-call':
      return writeCallItem(part, tools)
    case 'tool-result':
      return writeResult(part, freeform.has(part.id))
    case 'thinking':
      return writeReasoningBack(part)
    case 'other':
      return part.value
    case 'text':
    case 'file':
      return undefined
    default:
      return part satisfies never
  }
}

function writeResult({ id, parts }: ToolResultPart, freeform: boolean): unknown {
  const [first] = parts
  const plain = parts.length === 0 ? '' : parts.length === 1 && first?.type === 'text' ? first.text : undefined
  const output = plain ?? parts.map((part) => writeContent(part, 'user'))
  return { type: freeform ? 'custom_tool_call_output' : 'function_call_output', call_id: id, output }
}

function writeContent(part: TextPart | Picture, role: ModelMessage['role']): unknown {
  if (part.type === 'file') return writeFile(part)
  return role === 'assistant' ? writeSaid(part) : { type: 'input_text', text: part.text }
}

function writeSaid(part: TextPart): Fields {
  const { logprobs: _, ...content } = writeOutputText(part)
  return content
}

function writeFile(file: Picture): unknown {
  if (isImage(file)) return { type: 'input_image', detail: file.detail ?? 'auto', image_url: addressOf(file) }
  const where = file.data === undefined ? { file_url: file.url } : { file_data: addressOf(file) }
  return { type: 'input_file', ...where, ...present({ filename: file.name }) }
}
