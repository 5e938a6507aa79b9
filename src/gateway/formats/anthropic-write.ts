/** Writes requests in Anthropic's Messages format, for a provider that speaks it. */
import type { ModelMessage, ModelPart, ModelRequest, ModelTool, Picture, Thinking, ToolChoice } from '../exchange.ts'
import { looseFields, present, refuse, type Fields } from './fields.ts'
import type { OutgoingRequest } from './format.ts'
import { isImage } from './media.ts'
import { callsOf, flatName, FREEFORM_SCHEMA, inputObject, translatable } from './turns.ts'

/** The format demands a limit. Every model of the last years can write as much. */
const DEFAULT_MOST_TOKENS = 32_000
const LEAST_BUDGET = 1_024

export function writeAnthropicRequest(given: ModelRequest): OutgoingRequest {
  const request = translatable(given, 'anthropic')
  const thinking = writeThinking(request)
  const budget = thinking?.['budget_tokens']
  const least = typeof budget === 'number' ? budget + LEAST_BUDGET : 0
  // The provider refuses these beside thoughts.
  const sampling = thinking === undefined || thinking['type'] === 'disabled'
  const body = {
    ...writeInput(request),
    max_tokens: Math.max(request.maxTokens ?? DEFAULT_MOST_TOKENS, least),
    ...present({
      thinking,
      temperature: sampling ? request.temperature : undefined,
      top_p: sampling ? request.topP : undefined,
      top_k: sampling ? request.topK : undefined,
      stop_sequences: request.stop,
      metadata: request.user === undefined ? undefined : { user_id: request.user },
      stream: request.stream ? true : undefined,
    }),
  }
  return { path: '/v1/messages', body }
}

export function writeAnthropicCount(given: ModelRequest): OutgoingRequest {
  const request = translatable(given, 'anthropic')
  return {
    path: '/v1/messages/count_tokens',
    body: { ...writeInput(request), ...present({ thinking: writeThinking(request) }) },
  }
}

/** What the model reads: all that counts as input. */
function writeInput(request: ModelRequest): Fields {
  const tools = toolsOf(request)
  const choice = tools.length === 0 ? undefined : writeChoice(request)
  return {
    model: request.model,
    messages: request.messages.flatMap(writeMessage),
    ...present({
      system: writeSystem(request.system),
      tools: tools.length === 0 ? undefined : tools.map(writeTool),
      tool_choice: choice,
      output_config: writeOutput(request),
    }),
  }
}

function writeSystem(system: readonly string[]): unknown {
  return system.length === 0 ? undefined : system.map((text) => ({ type: 'text', text }))
}

/** With calls in the conversation the provider wants tools, though none may be used any more. */
function toolsOf({ tools, toolChoice, messages }: ModelRequest): readonly ModelTool[] {
  if (tools.length === 0) {
    const names = new Set(callsOf(messages).map(flatName))
    return [...names].map((name) => ({ name, input: { type: 'object' } }))
  }
  if (typeof toolChoice !== 'object' || !('tools' in toolChoice)) return tools
  return tools.filter((tool) => toolChoice.tools.includes(tool.name))
}

function writeTool(tool: ModelTool): unknown {
  if (tool.other !== undefined) return tool.other.value
  return {
    name: flatName(tool),
    ...present({ description: tool.description }),
    // The format demands the type.
    input_schema: tool.freeform === undefined ? { type: 'object', ...looseFields(tool.input) } : FREEFORM_SCHEMA,
    ...present({ strict: tool.strict }),
  }
}

function writeChoice({ tools, toolChoice, parallelTools }: ModelRequest): unknown {
  if (tools.length === 0) return { type: 'none' }
  const single = parallelTools === false ? { disable_parallel_tool_use: true } : {}
  if (toolChoice === undefined) return parallelTools === false ? { type: 'auto', ...single } : undefined
  return { ...choiceOf(toolChoice, tools), ...(toolChoice === 'none' ? {} : single) }
}

function choiceOf(choice: ToolChoice, tools: readonly ModelTool[]): Fields {
  if (choice === 'auto' || choice === 'none') return { type: choice }
  if (choice === 'required') return { type: 'any' }
  if ('tools' in choice) return { type: choice.required ? 'any' : 'auto' }
  const tool = tools.find(({ name }) => name === choice.tool)
  return { type: 'tool', name: tool === undefined ? choice.tool : flatName(tool) }
}

function writeOutput({ json, thinking }: ModelRequest): unknown {
  const effort = thinking?.effort
  const config = present({
    format: json?.schema === undefined ? undefined : { type: 'json_schema', schema: json.schema },
    effort: effort === undefined || effort === 'none' ? undefined : effort === 'minimal' ? 'low' : effort,
  })
  return Object.keys(config).length === 0 ? undefined : config
}

function writeThinking(request: ModelRequest): Fields | undefined {
  const { thinking } = request
  if (thinking === undefined) return undefined
  if (thinking.effort === 'none' || thinking.budget === 0) return { type: 'disabled' }
  if (isForced(request.toolChoice)) return undefined
  const display = present({ display: displayOf(thinking) })
  if (thinking.budget === undefined) return { type: 'adaptive', ...display }
  // With a budget, a turn that goes on after tool results must show the thoughts it began with.
  if (!isThoughtful(request.messages)) return undefined
  return { type: 'enabled', budget_tokens: Math.max(thinking.budget, LEAST_BUDGET), ...display }
}

function displayOf({ show }: Thinking): string | undefined {
  return show === undefined ? undefined : show ? 'summarized' : 'omitted'
}

function isForced(choice: ToolChoice | undefined): boolean {
  if (choice === 'required') return true
  return typeof choice === 'object' && ('tool' in choice || choice.required)
}

function isThoughtful(messages: readonly ModelMessage[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant')
  if (last === undefined || !last.parts.some(({ type }) => type === 'tool-call')) return true
  return last.parts.some((part) => part.type === 'thinking' && isProven(part))
}

function isProven({ signature, hidden }: { readonly signature?: string; readonly hidden?: string }): boolean {
  return signature !== undefined || hidden !== undefined
}

function writeMessage({ role, parts }: ModelMessage): readonly unknown[] {
  const content = parts.flatMap(writePart)
  return content.length === 0 ? [] : [{ role, content }]
}

function writePart(part: ModelPart): readonly unknown[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'file':
      return [writeFile(part)]
    case 'thinking':
      // Thoughts of another provider have no proof, and the provider refuses those.
      if (part.hidden !== undefined) return [{ type: 'redacted_thinking', data: part.hidden }]
      return part.signature === undefined ? [] : [{ type: 'thinking', thinking: part.text, signature: part.signature }]
    case 'tool-call':
      return [{ type: 'tool_use', id: plainId(part.id), name: flatName(part), input: inputObject(part.input) }]
    case 'tool-result':
      return [
        {
          type: 'tool_result',
          tool_use_id: plainId(part.id),
          content: part.parts.flatMap(writePart),
          ...(part.failed === true ? { is_error: true } : {}),
        },
      ]
    case 'other':
      return [part.value]
    default:
      return part satisfies never
  }
}

/** The format takes only some characters; calls and results are changed alike. */
function plainId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_')
}

function writeFile(file: Picture): unknown {
  const title = isImage(file) ? {} : present({ title: file.name })
  const type = isImage(file) ? 'image' : 'document'
  if (file.url !== undefined) return { type, source: { type: 'url', url: file.url }, ...title }
  if (file.mediaType === 'text/plain') {
    const text = Buffer.from(file.data ?? '', 'base64').toString()
    return { type, source: { type: 'text', media_type: 'text/plain', data: text }, ...title }
  }
  if (!isImage(file) && file.mediaType !== 'application/pdf') {
    refuse('messages', `have a file of type ${file.mediaType}, which the provider does not read`)
  }
  return { type, source: { type: 'base64', media_type: file.mediaType, data: file.data }, ...title }
}
