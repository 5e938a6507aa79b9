/** Replies of Google's Gemini format. A stream is replies in pieces, so that a reply at once is a stream of one piece. */
import { NerveError } from '../../base/nerve-error.ts'
import type { ModelPart, ModelReply, ModelRequest, ModelUsage, ReplyEvent, StopReason } from '../exchange.ts'
import { count, isFields, looseFields, looseList, looseText, parseJson, present, type Fields } from './fields.ts'
import type { StreamReader, StreamWriter } from './format.ts'
import { readGeminiFailure, writeGeminiError } from './gemini-failure.ts'
import { field, readGeminiPart, signatureIn, writeGeminiPart } from './gemini-parts.ts'
import { callId } from './gemini-request.ts'
import { partStream, type PartStream } from './part-stream.ts'
import { endedEarly, replyCollector } from './reply-events.ts'
import { sseFrame } from './sse.ts'
import { callsOf, flatName, inputObject } from './turns.ts'
import { readUsage } from './usage.ts'

const STOPS: Readonly<Record<string, StopReason>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  CONTINUATION: 'paused',
  OTHER: 'end',
  MALFORMED_FUNCTION_CALL: 'end',
  UNEXPECTED_TOOL_CALL: 'end',
  TOO_MANY_TOOL_CALLS: 'end',
}

function writeStop(stop: StopReason): string {
  return stop === 'length' ? 'MAX_TOKENS' : stop === 'refused' ? 'SAFETY' : 'STOP'
}

export function readGeminiUsage(usage: Fields): ModelUsage {
  const thinking = count(usage['thoughtsTokenCount'])
  return {
    input: count(usage['promptTokenCount']) + count(usage['toolUsePromptTokenCount']),
    // Thoughts are beside the answer here, not part of it.
    output: count(usage['candidatesTokenCount']) + thinking,
    cacheRead: count(usage['cachedContentTokenCount']),
    thinking,
  }
}

function writeUsage({ input, output, cacheRead, thinking = 0, unknown }: ModelUsage): Fields | undefined {
  if (unknown === true) return undefined
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - thinking,
    totalTokenCount: input + output,
    ...present({ cachedContentTokenCount: cacheRead }),
    ...(thinking === 0 ? {} : { thoughtsTokenCount: thinking }),
  }
}

interface Reading {
  readonly parts: PartStream
  /** How many calls there were before, in the conversation and in this reply. */
  calls: number
  called: boolean
  /** Thoughts that have their proof are complete: the next thought is another. */
  thoughts: number
  started: boolean
  finish: string
  usage?: unknown
}

export function readGeminiStream(request: ModelRequest): StreamReader {
  const parts = partStream()
  const calls = callsOf(request.messages).length
  const state: Reading = { parts, calls, called: false, thoughts: 0, started: false, finish: '' }
  let ended = false
  return {
    push: ({ data }) => {
      const chunk = looseFields(parseJson(data))
      if (ended) return []
      if (chunk['error'] === undefined) return readChunk(chunk, state)
      ended = true
      const failure = readGeminiFailure({ status: 0, headers: {}, body: chunk, now: 0 })
      return [...parts.leave(), { type: 'failed', failure }]
    },
    end: () => {
      if (ended) return []
      ended = true
      if (state.finish === '') return [...parts.leave(), { type: 'failed', failure: endedEarly() }]
      const stop = STOPS[state.finish] ?? 'refused'
      const usage = readUsage(state.usage, readGeminiUsage)
      return [...parts.leave(), { type: 'end', stop: stop === 'end' && state.called ? 'tool' : stop, usage }]
    },
  }
}

function readChunk(chunk: Fields, state: Reading): readonly ReplyEvent[] {
  const candidate = looseFields(looseList(chunk['candidates'])[0])
  const blocked = looseText(looseFields(chunk['promptFeedback'])['blockReason'])
  state.finish = looseText(candidate['finishReason']) || state.finish || blocked
  if (isFields(chunk['usageMetadata'])) state.usage = chunk['usageMetadata']
  const parts = looseList(looseFields(candidate['content'])['parts'])
  return [...readStart(chunk, state), ...parts.flatMap((part) => readPart(part, state))]
}

function readStart(chunk: Fields, state: Reading): readonly ReplyEvent[] {
  if (state.started) return []
  state.started = true
  return [{ type: 'start', id: looseText(chunk['responseId']), model: looseText(chunk['modelVersion']) }]
}

function readPart(given: Fields, state: Reading): readonly ReplyEvent[] {
  const { parts } = state
  const call = field(given, 'functionCall')
  if (call !== undefined) return readCall(looseFields(call), given, state)
  const part = readGeminiPart(given) ?? ({ type: 'other', format: 'gemini', value: given } as const)
  if (part.type === 'text') {
    return part.text === ''
      ? []
      : [...parts.enter('text', () => ({ type: 'text', text: '' })), ...parts.text(part.text)]
  }
  if (part.type !== 'thinking' || part.hidden !== undefined)
    return [...parts.enter('whole', () => part), ...parts.leave()]
  if (part.text === '' && part.signature === undefined) return []
  const events = parts.enter(`thinking ${state.thoughts}`, () => ({ type: 'thinking', text: '' }))
  if (part.signature !== undefined) state.thoughts += 1
  return [...events, ...parts.thinking(part.text), ...parts.signature(part.signature ?? '')]
}

function readCall({ id, name, args }: Fields, part: Fields, state: Reading): readonly ReplyEvent[] {
  const { parts } = state
  const own = looseText(id) || callId(state.calls)
  state.calls += 1
  state.called = true
  const call = { type: 'tool-call', id: own, name: looseText(name), input: {}, ...signatureIn(part) } as const
  return [...parts.enter(own, () => call), ...parts.input(JSON.stringify(args ?? {})), ...parts.leave()]
}

export function readGeminiReply(body: unknown, request: ModelRequest): ModelReply {
  const reader = readGeminiStream(request)
  const collector = replyCollector()
  const events = [...reader.push({ data: JSON.stringify(body) }), ...reader.end()]
  events.forEach((event) => collector.push(event))
  const collected = collector.done()
  if (collected.type === 'failed')
    throw new NerveError('model-failed', `The provider's reply is none: ${collected.failure.message}`)
  return collected.reply
}

/** What the format says of a part of a reply; undefined for what it cannot. */
function writePart(part: ModelPart): Fields | undefined {
  if (part.type !== 'tool-call') return writeGeminiPart(part)
  const call = { id: part.id, name: flatName(part), args: inputObject(part.input) }
  return { functionCall: call, ...present({ thoughtSignature: part.signature }) }
}

export function writeGeminiReply(reply: ModelReply): Fields {
  const parts = reply.parts.map(writePart).filter((part) => part !== undefined)
  return writeChunk(reply, parts, { finish: writeStop(reply.stop), usage: writeUsage(reply.usage) })
}

interface Ending {
  readonly finish: string
  readonly usage: Fields | undefined
}

function writeChunk(
  head: { readonly id: string; readonly model: string },
  parts: readonly Fields[],
  end?: Ending,
): Fields {
  const candidate = {
    content: { role: 'model', parts },
    ...(end === undefined ? {} : { finishReason: end.finish }),
    index: 0,
  }
  return {
    candidates: [candidate],
    ...present({ usageMetadata: end?.usage }),
    modelVersion: head.model,
    responseId: head.id,
  }
}

export function writeGeminiStream(): StreamWriter {
  let head = { id: '', model: '' }
  let part: ModelPart | undefined
  let input = ''
  const chunk = (piece: Fields | undefined): string => (piece === undefined ? '' : sseFrame(writeChunk(head, [piece])))
  return (event) => {
    switch (event.type) {
      case 'start':
        head = event
        return ''
      case 'part':
        part = event.part
        input = ''
        return isInPieces(part) ? '' : chunk(writePart(part))
      case 'text':
        return chunk({ text: event.text })
      case 'thinking':
        return chunk({ text: event.text, thought: true })
      case 'signature':
        if (part?.type === 'tool-call') part = { ...part, signature: (part.signature ?? '') + event.signature }
        return part?.type === 'thinking' ? chunk({ text: '', thought: true, thoughtSignature: event.signature }) : ''
      case 'input':
        input += event.json
        return ''
      case 'part-end':
        if (part?.type !== 'tool-call') return ''
        return chunk(writePart(input === '' ? part : { ...part, input: parseJson(input) ?? input }))
      case 'end':
        return sseFrame(
          writeChunk(head, [{ text: '' }], { finish: writeStop(event.stop), usage: writeUsage(event.usage) }),
        )
      case 'failed':
        return sseFrame(writeGeminiError(event.failure, 0))
      default:
        return event satisfies never
    }
  }
}

/** Calls come in pieces too, but the format wants them whole. */
function isInPieces(part: ModelPart): boolean {
  return part.type === 'text' || part.type === 'tool-call' || (part.type === 'thinking' && part.hidden === undefined)
}
