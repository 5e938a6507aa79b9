/** One call of a model: from messages to a reply, with live parts on the way and what it cost at the end. */
import { NerveError } from '../../base/nerve-error.ts'
import type { StepCall } from '../../engine/definition.ts'
import type { Tool } from '../tools/tool.ts'
import { loadAi, providerModel, type Ai, type AiPart, type ModelObject } from './load-ai.ts'
import { estimateTokens, type ChatMessage, type MessagePart, type ModelReply, type ModelTokens } from './message.ts'
import { atOnce, isModelFault, modelError } from './model-error.ts'
import { modelName, type Model, type ModelPlan, type ToolChoice } from './model-options.ts'
import { costOf } from './price.ts'

/** What a call is about, beside the plan of its node. */
export interface ModelRequest {
  readonly system: string | undefined
  readonly messages: readonly ChatMessage[]
  readonly tools: ReadonlyMap<string, Tool>
  readonly toolChoice: ToolChoice
  /** True when the answer is to be JSON that fits the schema of the plan. */
  readonly structured: boolean
}

/** Calls the first model of the plan. */
export function callFirst(plan: ModelPlan, request: ModelRequest, call: StepCall): Promise<ModelReply> {
  return callModel(plan, plan.models[0] as Model, request, call).catch((error: unknown) => {
    throw plan.models.length > 1 && error instanceof NerveError ? atOnce(error) : error
  })
}

/** Calls the others, one after the other, when there are some and `before` is not the fault of the request. */
export async function callOthers(
  plan: ModelPlan,
  request: ModelRequest,
  call: StepCall,
  before: unknown,
): Promise<ModelReply> {
  let last = before
  for (const model of plan.models.slice(1)) {
    if (last !== undefined && !isModelFault(last)) throw last
    call.emit('model-changed', { to: modelName(model) })
    try {
      return await callModel(plan, model, request, call)
    } catch (error) {
      last = error
    }
  }
  throw last
}

async function callModel(plan: ModelPlan, model: Model, request: ModelRequest, call: StepCall): Promise<ModelReply> {
  const name = modelName(model)
  const ai = await loadAi()
  const made = typeof model === 'string' ? await providerModel(model, plan.place) : model
  setAside(plan, request, name, call)
  call.usage({ calls: 1 })
  try {
    const reply = await stoppable(stream(ai, made, { plan, request, call, name }), call.signal)
    charge(plan, reply, call)
    return reply
  } catch (error) {
    call.signal.throwIfAborted()
    throw modelError(error, name)
  }
}

/** Also when a model does not listen to the signal: whoever waits for it goes on. */
function stoppable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    const end = (): void => signal.removeEventListener('abort', stop)
    signal.addEventListener('abort', stop)
    work.then(resolve, reject).finally(end)
  })
}

/** What the call may spend at most, as far as it can be known before. */
function setAside({ maxOutputTokens, price }: ModelPlan, request: ModelRequest, name: string, call: StepCall): void {
  const input = estimateTokens(request.messages, request.system)
  const usd = maxOutputTokens === undefined ? undefined : costOf({ input, output: maxOutputTokens }, name, price)
  call.reserve({ calls: 1, tokens: input + (maxOutputTokens ?? 0), ...(usd === undefined ? {} : { usd }) })
}

function charge({ price, contextWindow }: ModelPlan, { usage, model }: ModelReply, call: StepCall): void {
  const tokens = usage.input + usage.output
  const usd = costOf(usage, model, price)
  call.usage({
    tokens,
    ...(usd === undefined ? {} : { usd }),
    ...(contextWindow === undefined ? {} : { window: Math.min(1, tokens / contextWindow) }),
  })
}

interface Streaming {
  readonly plan: ModelPlan
  readonly request: ModelRequest
  readonly call: StepCall
  readonly name: string
}

async function stream(ai: Ai, model: ModelObject, { plan, request, call, name }: Streaming): Promise<ModelReply> {
  const result = ai.streamText({
    ...plan.settings,
    model,
    ...(request.system === undefined ? {} : { system: request.system }),
    messages: request.messages.filter(saysSomething).map(asSent),
    ...toolSettings(ai, request),
    ...(request.structured && plan.answer !== undefined
      ? { output: ai.Output.object({ schema: ai.jsonSchema(plan.answer.json) }) }
      : {}),
    ...(plan.maxOutputTokens === undefined ? {} : { maxOutputTokens: plan.maxOutputTokens }),
    // Trying again is the step's policy, and what fails is thrown here: neither is for the AI SDK.
    maxRetries: 0,
    onError: () => undefined,
    abortSignal: call.signal,
  })
  const seen = await follow(result.fullStream, call)
  const { messages, modelId } = await result.response
  const said = messages.find(({ role }) => role === 'assistant')
  return {
    message: { id: call.key, role: 'assistant', content: (said?.content ?? '') as string | readonly MessagePart[] },
    finish: seen.finish,
    usage: seen.usage,
    model: modelId ?? name,
    at: Date.now(),
    ...(seen.unreadable.length === 0 ? {} : { unreadable: seen.unreadable }),
  }
}

/** A model may answer with nothing, and then does not take that as a message. */
function saysSomething({ content }: ChatMessage): boolean {
  return content.length > 0
}

/** As the AI SDK takes it: images are files to it. */
function asSent({ role, content }: ChatMessage): { readonly role: string; readonly content: unknown } {
  if (role !== 'user' || typeof content === 'string') return { role, content }
  const parts = content.map((part) => {
    if (part.type !== 'image') return part
    const { image, mediaType = imageType(image) } = part
    return { type: 'file', data: image, mediaType }
  })
  return { role, content: parts }
}

const IMAGE_STARTS = { 'image/png': 'iVBOR', 'image/jpeg': '/9j/', 'image/gif': 'R0lGOD', 'image/webp': 'UklGR' }

function imageType(image: unknown): string {
  const start = image instanceof Uint8Array ? Buffer.from(image.subarray(0, 6)).toString('base64') : String(image)
  return Object.entries(IMAGE_STARTS).find(([, begin]) => start.startsWith(begin))?.[0] ?? 'image/*'
}

function toolSettings(ai: Ai, { tools, toolChoice }: ModelRequest): Readonly<Record<string, unknown>> {
  if (tools.size === 0) return {}
  const offered = [...tools.values()].map(
    ({ name, description, input }) => [name, ai.tool({ description, inputSchema: ai.jsonSchema(input.json) })] as const,
  )
  return {
    tools: Object.fromEntries(offered),
    toolChoice: typeof toolChoice === 'string' ? toolChoice : { type: 'tool', toolName: toolChoice.tool },
  }
}

interface Seen {
  finish: string
  usage: ModelTokens
  readonly unreadable: string[]
}

/** Sends on what comes, until the end. */
async function follow(parts: AsyncIterable<AiPart>, call: StepCall): Promise<Seen> {
  const seen: Seen = { finish: 'unknown', usage: { input: 0, output: 0 }, unreadable: [] }
  for await (const part of parts) {
    switch (part.type) {
      case 'text-delta':
        call.emit('text-delta', part['text'])
        break
      case 'reasoning-delta':
        call.emit('thinking-delta', part['text'])
        break
      case 'tool-call':
        call.emit('tool-call', { id: part['toolCallId'], name: part['toolName'], input: part['input'] })
        if (part['invalid'] === true && typeof part['input'] === 'string')
          seen.unreadable.push(String(part['toolCallId']))
        break
      case 'start-step':
        for (const warning of (part['warnings'] ?? []) as readonly unknown[]) call.emit('model-warning', warning)
        break
      case 'finish':
        seen.finish = String(part['finishReason'])
        seen.usage = tokensOf(part['totalUsage'])
        break
      case 'abort':
        call.signal.throwIfAborted()
        throw new NerveError('interrupted', 'The call of the model was stopped.', { retry: 'later' })
      case 'error':
        throw part['error']
      default:
    }
  }
  return seen
}

function tokensOf(usage: unknown): ModelTokens {
  const { inputTokens, outputTokens, inputTokenDetails } = (usage ?? {}) as Readonly<Record<string, unknown>>
  const { cacheReadTokens, cacheWriteTokens } = (inputTokenDetails ?? {}) as Readonly<Record<string, unknown>>
  return {
    input: amount(inputTokens),
    output: amount(outputTokens),
    ...(amount(cacheReadTokens) === 0 ? {} : { cacheRead: amount(cacheReadTokens) }),
    ...(amount(cacheWriteTokens) === 0 ? {} : { cacheWrite: amount(cacheWriteTokens) }),
  }
}

function amount(given: unknown): number {
  return typeof given === 'number' && given > 0 ? given : 0
}
