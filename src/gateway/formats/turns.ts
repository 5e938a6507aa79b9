/** Brings messages into the normal form of the exchange, and finds in them what some formats leave out. */
import type { ModelMessage, ModelPart, ModelRequest, ModelTool, ToolCallPart, WireFormat } from '../exchange.ts'
import { refuse } from './fields.ts'

export interface Turns {
  add(role: ModelMessage['role'], parts: readonly ModelPart[]): void
  /** System text before the first message, piece by piece, and the messages. */
  done(): { readonly system: readonly string[]; readonly messages: readonly ModelMessage[] }
}

export function turns(): Turns {
  const system: string[] = []
  const messages: { role: ModelMessage['role']; parts: ModelPart[] }[] = []
  return {
    add: (role, given) => {
      const parts = given.filter((part) => part.type !== 'text' || part.text !== '')
      const last = messages.at(-1)
      if (parts.length === 0) return
      if (role === 'system' && last === undefined) system.push(...textsOf(parts))
      else if (last?.role === role) last.parts.push(...parts)
      else messages.push({ role, parts })
    },
    done: () => ({ system, messages }),
  }
}

function textsOf(parts: readonly ModelPart[]): readonly string[] {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
}

export function callsOf(messages: readonly ModelMessage[]): readonly ToolCallPart[] {
  return messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool-call'))
}

/** Results name their tool: where the format says only the id, the call with that id does. */
export function nameResults(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const names = new Map(callsOf(messages).map(({ id, name }) => [id, name]))
  const named = (part: ModelPart): ModelPart =>
    part.type === 'tool-result' && part.name === '' ? { ...part, name: names.get(part.id) ?? part.id } : part
  return messages.map(({ role, parts }) => ({ role, parts: parts.map(named) }))
}

/** The request as a provider can be told it. What only another format can say is refused; tools that another provider runs itself are left out. */
export function translatable(request: ModelRequest, format: WireFormat): ModelRequest {
  const { only } = request
  const field = only?.format === format ? undefined : only?.fields[0]
  if (field !== undefined) refuse(field, `cannot be said in the format of the provider (${format}); leave it out`)
  for (const { parts } of request.messages) {
    const part = parts.find((one) => one.type === 'other' && one.format !== format)
    if (part?.type === 'other')
      refuse('messages', `have a part that only ${part.format} has, and the provider speaks ${format}`)
  }
  const tools = request.tools.filter((tool) => !isForeign(tool, format))
  const { toolChoice, parallelTools: _, ...rest } = request
  if (typeof toolChoice === 'object' && 'tool' in toolChoice && toolNamed(toolChoice.tool, tools) === undefined) {
    refuse('tool_choice', `${toolChoice.tool} is no tool of this request that the provider could be told of`)
  }
  return tools.length === 0 ? { ...rest, tools } : { ...request, tools }
}

function isForeign({ other }: ModelTool, format: WireFormat): boolean {
  return other !== undefined && other.format !== format
}

/** Tools that take plain text, for formats where every tool takes JSON: the text is the one field. */
export const FREEFORM_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
} as const

export function isFreeform(call: ToolCallPart, tools: readonly ModelTool[]): boolean {
  return call.freeform === true || tools.some(({ name, freeform }) => name === call.name && freeform !== undefined)
}

/** The input of a call as an object, for formats that know nothing else. */
export function inputObject(input: unknown): unknown {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { input: input ?? '' }
}

/** The input of a call to a freeform tool as the text that it is. */
export function inputText(input: unknown): string {
  if (typeof input === 'string') return input
  const inner = (input as { readonly input?: unknown } | null)?.input
  return typeof inner === 'string' ? inner : JSON.stringify(input ?? '')
}

/** The name of a tool where the format has no groups. */
export function flatName({ name, namespace }: { readonly name: string; readonly namespace?: string }): string {
  if (namespace === undefined) return name
  return namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`
}

/** The tool that a choice or a call means: by its own name, or by the one that it has where there are no groups. */
export function toolNamed(name: string, tools: readonly ModelTool[]): ModelTool | undefined {
  return tools.find((tool) => tool.name === name) ?? tools.find((tool) => flatName(tool) === name)
}
