/** What the AI SDK asks of a model, in no provider's words. Only the part of its specification that is used, in our own types. */
import type { ModelPart, ModelRequest, ModelTool } from '../gateway/exchange.ts'
import { turns } from '../gateway/formats/turns.ts'

/** The options of a call, as the third version of the specification has them. */
export interface SdkCall {
  readonly prompt: readonly SdkMessage[]
  readonly tools?: readonly SdkTool[]
  readonly toolChoice?: { readonly type: 'auto' | 'none' | 'required' | 'tool'; readonly toolName?: string }
  readonly responseFormat?: { readonly type: string; readonly schema?: unknown }
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly abortSignal?: AbortSignal
}

interface SdkMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly SdkPart[]
}

interface SdkTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: unknown
}

interface SdkPart {
  readonly type: string
  readonly text?: string
  readonly data?: unknown
  readonly mediaType?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: unknown
  readonly output?: { readonly type: string; readonly value?: unknown; readonly reason?: string }
}

export function sdkRequest(model: string, call: SdkCall, stream: boolean): ModelRequest {
  const said = turns()
  for (const { role, content } of call.prompt) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    said.add(role === 'tool' ? 'user' : role, parts.flatMap(modelPart))
  }
  const { maxOutputTokens, temperature, responseFormat } = call
  return {
    model,
    ...said.done(),
    tools: (call.tools ?? []).map(modelTool),
    ...(call.toolChoice === undefined ? {} : { toolChoice: choiceOf(call.toolChoice) }),
    ...(maxOutputTokens === undefined ? {} : { maxTokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(responseFormat?.type === 'json' ? { json: { schema: responseFormat.schema } } : {}),
    stream,
  }
}

function choiceOf({ type, toolName = '' }: NonNullable<SdkCall['toolChoice']>): ModelRequest['toolChoice'] & {} {
  return type === 'tool' ? { tool: toolName } : type
}

function modelTool({ name, description, inputSchema }: SdkTool): ModelTool {
  return { name, ...(description === undefined ? {} : { description }), input: inputSchema ?? {} }
}

function modelPart(part: SdkPart): readonly ModelPart[] {
  const { toolCallId: id = '', toolName: name = '', text = '' } = part
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text }]
    case 'reasoning':
      return [{ type: 'thinking', text }]
    case 'file':
      return [filePart(part)]
    case 'tool-call':
      return [{ type: 'tool-call', id, name, input: part.input }]
    case 'tool-result': {
      const failed = part.output?.type.startsWith('error') === true || part.output?.type === 'execution-denied'
      const parts = [{ type: 'text' as const, text: resultText(part.output) }]
      return [{ type: 'tool-result', id, name, parts, ...(failed ? { failed } : {}) }]
    }
    default:
      return []
  }
}

function filePart({ data, mediaType = 'application/octet-stream' }: SdkPart): ModelPart {
  if (data instanceof URL) return { type: 'file', mediaType, url: data.href }
  const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : String(data)
  return { type: 'file', mediaType, data: base64 }
}

function resultText(output: SdkPart['output']): string {
  const value = output?.value ?? output?.reason ?? ''
  if (output?.type !== 'content' || !Array.isArray(value))
    return typeof value === 'string' ? value : JSON.stringify(value)
  return (value as readonly SdkPart[]).map(({ text = '' }) => text).join('\n')
}
