/**
 * A model that says what a script says, as an object that `llm`, `chat` and the AI SDK take: in this process, with no server, no
 * port and no key. The scripts are those of the gateway, and a reply is a function of the transcript here too.
 */
import { ReadableStream } from 'node:stream/web'
import { systemClock, type Clock } from '../base/clock.ts'
import type { BackendCall } from '../gateway/backend.ts'
import { scripted, type ScriptedOptions } from '../gateway/backends/scripted.ts'
import type { ModelFailure, ModelRequest, ModelUsage, ReplyEvent, StopReason } from '../gateway/exchange.ts'
import { mayPass } from '../gateway/failure.ts'
import { eventsOfReply } from '../gateway/formats/reply-events.ts'
import type { Script, ScriptFunction } from '../gateway/script/script.ts'
import type { ModelObject } from '../nodes/models/load-ai.ts'
import { sdkRequest, type SdkCall } from './sdk-request.ts'

export interface ScriptedModel extends ModelObject {
  /** What it was asked, call by call. */
  readonly asked: readonly ModelRequest[]
}

/** A part of a stream, as the AI SDK has it. */
type SdkPart = { readonly type: string } & Readonly<Record<string, unknown>>

/**
 * ```ts
 * import { createHost } from 'nerve'
 * import { llm } from 'nerve/models'
 * import { scriptedModel } from 'nerve/testing'
 *
 * const model = scriptedModel({ rules: [{ when: { user: 'France' }, say: 'Paris.' }] })
 * const host = await createHost({ store: 'memory' })
 * console.log(await (await host.start(llm('capital', { model }), 'The capital of France?')).result()) // => Paris.
 * await host.close()
 * ```
 */
export function scriptedModel(script: Script | ScriptFunction, options: ScriptedOptions = {}): ScriptedModel {
  const backend = scripted(script, options)
  const { clock = systemClock } = options
  const asked: ModelRequest[] = []
  const parts = async (call: SdkCall): Promise<AsyncIterable<SdkPart>> => {
    const request = sdkRequest(backend.name, call, true)
    asked.push(request)
    const answer = await backend.answer(request, backendCall(call))
    if (answer.type === 'failed') throw callError(answer.failure, clock)
    if (answer.type === 'bytes') throw new Error('a script that answers in bytes')
    return sdkParts(answer.type === 'reply' ? eventsOfReply(answer.reply) : answer.events, clock)
  }
  const model = {
    specificationVersion: 'v3',
    provider: 'nerve',
    modelId: backend.name,
    supportedUrls: {},
    asked,
    doStream: async (call: SdkCall) => ({ stream: ReadableStream.from(await parts(call)) }),
    doGenerate: async (call: SdkCall) => generated(await parts(call)),
  }
  return model
}

function backendCall({ abortSignal }: SdkCall): BackendCall {
  return {
    signal: abortSignal ?? new AbortController().signal,
    format: 'openai-chat',
    raw: { bytes: new Uint8Array(), body: undefined, headers: {} },
    client: 'in this process',
    note: () => undefined,
  }
}

type Events = Iterable<ReplyEvent> | AsyncIterable<ReplyEvent>

async function* sdkParts(events: Events, clock: Clock): AsyncGenerator<SdkPart, void> {
  let open: { readonly kind: string; readonly id: string; readonly name: string } | undefined
  let json = ''
  yield { type: 'stream-start', warnings: [] }
  for await (const event of events) {
    switch (event.type) {
      case 'start':
        yield { type: 'response-metadata', id: event.id, modelId: event.model }
        break
      case 'part': {
        const { part, at } = event
        const call = part.type === 'tool-call' ? part : undefined
        open = { kind: KINDS[part.type] ?? '', id: call?.id ?? String(at), name: call?.name ?? '' }
        json = ''
        if (open.kind !== '') yield { type: `${open.kind}-start`, id: open.id }
        break
      }
      case 'text':
      case 'thinking':
        yield { type: `${open?.kind}-delta`, id: open?.id, delta: event.text }
        break
      case 'input':
        json += event.json
        break
      case 'part-end':
        if (open?.kind !== '') yield { type: `${open?.kind}-end`, id: open?.id }
        else if (open.name !== '') yield { type: 'tool-call', toolCallId: open.id, toolName: open.name, input: json }
        break
      case 'end':
        yield {
          type: 'finish',
          finishReason: { unified: ENDS[event.stop], raw: event.stop },
          usage: usageOf(event.usage),
        }
        break
      case 'failed':
        yield { type: 'error', error: callError(event.failure, clock) }
        break
      default:
    }
  }
}

const KINDS: Readonly<Record<string, string>> = { text: 'text', thinking: 'reasoning' }

const ENDS: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  length: 'length',
  tool: 'tool-calls',
  'stop-sequence': 'stop',
  refused: 'content-filter',
  paused: 'other',
}

function usageOf({ input, output, cacheRead, cacheWrite, thinking }: ModelUsage): Readonly<Record<string, unknown>> {
  return {
    inputTokens: { total: input, noCache: input - (cacheRead ?? 0) - (cacheWrite ?? 0), cacheRead, cacheWrite },
    outputTokens: { total: output, text: output - (thinking ?? 0), reasoning: thinking },
  }
}

/** As the AI SDK's providers throw it. */
function callError(failure: ModelFailure, clock: Clock): Error {
  const { status, message, retryAt } = failure
  const wait = retryAt === undefined ? {} : { 'retry-after-ms': String(Math.max(0, retryAt - clock.now())) }
  return Object.assign(new Error(message), {
    name: 'AI_APICallError',
    statusCode: status,
    responseHeaders: wait,
    isRetryable: mayPass(failure),
  })
}

/** The same reply, all at once. */
async function generated(parts: AsyncIterable<SdkPart>): Promise<Readonly<Record<string, unknown>>> {
  const content: SdkPart[] = []
  let text = ''
  for await (const part of parts) {
    if (part.type === 'error') throw part['error']
    if (part.type.endsWith('-start')) text = ''
    else if (part.type.endsWith('-delta')) text += String(part['delta'])
    else if (part.type.endsWith('-end')) content.push({ type: part.type.slice(0, -'-end'.length), text })
    else if (part.type === 'tool-call') content.push(part)
    else if (part.type === 'finish')
      return { content, finishReason: part['finishReason'], usage: part['usage'], warnings: [] }
  }
  throw new Error('a reply without an end')
}
