/** Replies of OpenAI's Responses format, at once. */
import type { ModelPart, ModelReply, ModelRequest, ModelUsage, StopReason } from '../exchange.ts'
import { count, looseFields, looseList, looseText, type Fields } from './fields.ts'
import { readOutputItem, writeOutputItem } from './openai-responses-items.ts'
import { openaiUsage, readUsage, writeOpenaiUsage } from './usage.ts'

const USAGE = { input: 'input_tokens', output: 'output_tokens' } as const

export function readResponsesUsage(usage: unknown): ModelUsage {
  return readUsage(usage, (said) => openaiUsage(said, USAGE))
}

/** The format has no stop reason: it follows from the status and from what the reply has. */
export function readResponsesStop(response: Fields, called: boolean, refused: boolean): StopReason {
  const reason = looseFields(response['incomplete_details'])['reason']
  if (response['status'] === 'incomplete') return reason === 'content_filter' ? 'refused' : 'length'
  return called ? 'tool' : refused ? 'refused' : 'end'
}

export function readResponsesReply(body: unknown): ModelReply {
  const response = looseFields(body)
  const parts = looseList(response['output']).flatMap(readOutputItem)
  const called = parts.some(({ type }) => type === 'tool-call')
  const created = count(response['created_at'])
  return {
    id: looseText(response['id']),
    model: looseText(response['model']),
    parts,
    stop: readResponsesStop(response, called, parts.some(isRefusal)),
    usage: readResponsesUsage(response['usage']),
    ...(created === 0 ? {} : { createdAt: created * 1_000 }),
  }
}

export function isRefusal(part: ModelPart): boolean {
  return part.type === 'text' && part.refusal === true
}

export function writeResponsesReply(reply: ModelReply, request: ModelRequest): Fields {
  const output = reply.parts.flatMap(
    (part, index) => writeOutputItem(part, { reply: reply.id, index }, request.tools) ?? [],
  )
  return {
    ...writeResponse(reply, request),
    ...writeStatus(reply.stop, reply.parts.some(isRefusal)),
    output,
    usage: writeResponsesUsage(reply.usage),
  }
}

/** A reply that stopped short is one of another status. */
export function writeStatus(stop: StopReason, refusal: boolean): Fields {
  if (stop === 'length') return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  if (stop === 'refused' && !refusal) return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }
  return { status: 'completed', incomplete_details: null }
}

export function writeResponsesUsage(usage: ModelUsage): Fields | null {
  return writeOpenaiUsage(usage, USAGE)
}

/** What the format says around a reply, before any of it is there. */
export function writeResponse(reply: Pick<ModelReply, 'id' | 'model' | 'createdAt'>, request: ModelRequest): Fields {
  return {
    id: reply.id,
    object: 'response',
    created_at: Math.floor((reply.createdAt ?? 0) / 1_000),
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: request.system[0] ?? null,
    max_output_tokens: request.maxTokens ?? null,
    model: reply.model,
    output: [],
    parallel_tool_calls: request.parallelTools ?? true,
    previous_response_id: null,
    store: false,
    temperature: request.temperature ?? null,
    text: { format: { type: 'text' } },
    tool_choice: typeof request.toolChoice === 'string' ? request.toolChoice : 'auto',
    tools: [],
    top_p: request.topP ?? null,
    truncation: 'disabled',
    usage: null,
    metadata: {},
  }
}
