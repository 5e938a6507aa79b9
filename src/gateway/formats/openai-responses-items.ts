/** Items of OpenAI's Responses format: what a reply consists of, and what a conversation is sent back as. */
import type { ModelPart, ModelTool, TextPart, ThinkingPart, ToolCallPart } from '../exchange.ts'
import { looseFields, looseList, looseText, present, type Fields } from './fields.ts'
import { readArguments } from './openai-chat-request.ts'
import { writeArguments } from './openai-chat-write.ts'
import { inputText, toolNamed } from './turns.ts'

/** Ids of items that Nerve made up, so that they are not taken for a provider's. */
const OWN = 'nerve'

export function itemId(prefix: string, reply: string, index: number): string {
  return `${prefix}_${OWN}_${reply}_${index}`
}

/**
 * The provider checks encrypted thoughts against the id of their item, so that both have to come back. They travel as one
 * proof; ids of Nerve's own stay out of it, because they only say where the proof was put.
 */
function sealed(id: string, content: string): string {
  return id === '' || id.startsWith(`rs_${OWN}_`) ? content : `${id}.${content}`
}

function unsealed(proof: string): { readonly id: string; readonly content: string } {
  const match = /^(rs_[\w-]+)\.(.*)$/s.exec(proof)
  return match === null ? { id: `rs_${OWN}_sent`, content: proof } : { id: match[1] ?? '', content: match[2] ?? '' }
}

/** Thoughts with an empty summary that is there are thoughts not shown; without any, they are hidden. */
export function readReasoning(item: Fields): ThinkingPart {
  const said = [...looseList(item['summary']), ...looseList(item['content'])]
  const text = said.map((one) => looseText(one['text'])).join('\n\n')
  const content = looseText(item['encrypted_content'])
  if (content === '') return { type: 'thinking', text }
  const proof = sealed(looseText(item['id']), content)
  return said.length === 0 ? { type: 'thinking', text, hidden: proof } : { type: 'thinking', text, signature: proof }
}

/** In a reply the proof stays sealed under an id of Nerve's own, which is known before the proof is. */
function writeReasoning({ text, signature, hidden }: ThinkingPart, id: string): Fields {
  const content = hidden ?? signature
  return {
    type: 'reasoning',
    id,
    summary: hidden === undefined ? [{ type: 'summary_text', text }] : [],
    ...(content === undefined ? {} : { encrypted_content: content }),
  }
}

/** To the provider it goes back as it came. Undefined for thoughts of others, which have no proof: it refuses those. */
export function writeReasoningBack(part: ThinkingPart): Fields | undefined {
  const proof = part.hidden ?? part.signature
  if (proof === undefined) return undefined
  const { id, content } = unsealed(proof)
  return { ...writeReasoning(part, id), encrypted_content: content }
}

export function readCallItem(item: Fields): ToolCallPart {
  const namespace = looseText(item['namespace'])
  const head = {
    type: 'tool-call',
    id: looseText(item['call_id']),
    name: looseText(item['name']),
    ...(namespace === '' ? {} : { namespace }),
  } as const
  if (item['type'] === 'custom_tool_call') return { ...head, input: looseText(item['input']), freeform: true }
  return { ...head, input: readArguments(looseText(item['arguments'])) }
}

/** A call as its client knows the tool: with its group, and as text where the tool takes text. */
export function callShape(
  call: ToolCallPart,
  tools: readonly ModelTool[],
): { readonly freeform: boolean; readonly head: Fields } {
  const tool = toolNamed(call.name, tools)
  const namespace = call.namespace ?? tool?.namespace
  const freeform = call.freeform === true || tool?.freeform !== undefined
  const type = freeform ? 'custom_tool_call' : 'function_call'
  return { freeform, head: { type, call_id: call.id, name: tool?.name ?? call.name, ...present({ namespace }) } }
}

export function writeCallItem(call: ToolCallPart, tools: readonly ModelTool[]): Fields {
  const { freeform, head } = callShape(call, tools)
  return freeform ? { ...head, input: inputText(call.input) } : { ...head, arguments: writeArguments(call.input) }
}

export function writeOutputText({ text, refusal }: TextPart): Fields {
  return refusal === true
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] }
}

/** The parts of an item of a reply, or of an item that a reply sent and that comes back. */
export function readOutputItem(item: Fields): readonly ModelPart[] {
  switch (item['type']) {
    case 'message':
      return looseList(item['content']).flatMap(readOutputContent)
    case 'reasoning':
      return [readReasoning(item)]
    case 'function_call':
    case 'custom_tool_call':
      return [readCallItem(item)]
    default:
      return [{ type: 'other', format: 'openai-responses', value: item }]
  }
}

function readOutputContent(content: Fields): readonly ModelPart[] {
  if (content['type'] === 'refusal') return [{ type: 'text', text: looseText(content['refusal']), refusal: true }]
  const text = looseText(content['text'])
  return text === '' ? [] : [{ type: 'text', text }]
}

/** An item of a reply; undefined for what the format has no item for. */
export function writeOutputItem(
  part: ModelPart,
  at: { readonly reply: string; readonly index: number },
  tools: readonly ModelTool[],
): Fields | undefined {
  const id = (prefix: string): string => itemId(prefix, at.reply, at.index)
  switch (part.type) {
    case 'text':
      return {
        type: 'message',
        id: id('msg'),
        status: 'completed',
        role: 'assistant',
        content: [writeOutputText(part)],
      }
    case 'thinking':
      return writeReasoning(part, id('rs'))
    case 'tool-call':
      return {
        ...writeCallItem(part, tools),
        id: id(callShape(part, tools).freeform ? 'ctc' : 'fc'),
        status: 'completed',
      }
    case 'other':
      return part.format === 'openai-responses' ? looseFields(part.value) : undefined
    case 'file':
    case 'tool-result':
      return undefined
    default:
      return part satisfies never
  }
}
