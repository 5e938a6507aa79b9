/** A reply as a stream of events, and back: what streams and what comes at once are the same reply. */
import { assertNever } from '../../base/nerve-error.ts'
import type { ModelFailure, ModelPart, ModelReply, ReplyEvent } from '../exchange.ts'
import { parseJson } from './fields.ts'

export function eventsOfReply(reply: ModelReply): readonly ReplyEvent[] {
  const { id, model, usage, createdAt, stop, stopSequence } = reply
  const { thinking: _, ...read } = usage
  const before = { ...read, output: 0 }
  return [
    { type: 'start', id, model, usage: before, ...(createdAt === undefined ? {} : { createdAt }) },
    ...reply.parts.flatMap(eventsOfPart),
    { type: 'end', stop, ...(stopSequence === undefined ? {} : { stopSequence }), usage },
  ]
}

function eventsOfPart(part: ModelPart, at: number): readonly ReplyEvent[] {
  const whole: ReplyEvent = { type: 'part', at, part: emptied(part) }
  const end: ReplyEvent = { type: 'part-end', at }
  switch (part.type) {
    case 'text':
      return [whole, { type: 'text', at, text: part.text }, end]
    case 'thinking': {
      const { text, signature } = part
      const pieces: ReplyEvent[] = text === '' ? [] : [{ type: 'thinking', at, text }]
      if (signature !== undefined) pieces.push({ type: 'signature', at, signature })
      return [whole, ...pieces, end]
    }
    case 'tool-call':
      return [whole, { type: 'input', at, json: JSON.stringify(part.input ?? {}) }, end]
    case 'file':
    case 'tool-result':
    case 'other':
      return [whole, end]
    default:
      return assertNever(part, 'part')
  }
}

/** A part as it begins: what comes in pieces is empty. */
function emptied(part: ModelPart): ModelPart {
  if (part.type === 'text') return { ...part, text: '' }
  if (part.type === 'tool-call') return { ...part, input: {} }
  if (part.type !== 'thinking') return part
  const { signature: _, ...rest } = part
  return { ...rest, text: '' }
}

export type Collected =
  | { readonly type: 'reply'; readonly reply: ModelReply }
  | { readonly type: 'failed'; readonly failure: ModelFailure }

/** Puts a reply together, event by event; for taps that must not hold a stream up. */
export interface ReplyCollector {
  push(event: ReplyEvent): void
  /** What has come so far: a stream that has no end yet is a failure. */
  done(): Collected
}

interface Gathering {
  part: ModelPart
  /** Pieces of text or of JSON, joined when the part is complete. */
  readonly pieces: string[]
  signature?: string
}

export function replyCollector(): ReplyCollector {
  const parts: Gathering[] = []
  let start: Extract<ReplyEvent, { type: 'start' }> = { type: 'start', id: '', model: '' }
  let end: Extract<ReplyEvent, { type: 'end' }> | undefined
  let failure: ModelFailure | undefined
  return {
    push: (event) => {
      if (event.type === 'start') start = event
      else if (event.type === 'end') end = event
      else if (event.type === 'failed') failure ??= event.failure
      else if (event.type === 'part') parts[event.at] = { part: event.part, pieces: [] }
      else addPiece(parts[event.at], event)
    },
    done: () => {
      if (failure !== undefined) return { type: 'failed', failure }
      if (end === undefined) return { type: 'failed', failure: endedEarly() }
      const { id, model, createdAt } = start
      const { stop, stopSequence, usage } = end
      const more = {
        ...(createdAt === undefined ? {} : { createdAt }),
        ...(stopSequence === undefined ? {} : { stopSequence }),
      }
      return { type: 'reply', reply: { id, model, parts: parts.map(complete), stop, usage, ...more } }
    },
  }
}

function addPiece(to: Gathering | undefined, event: ReplyEvent): void {
  if (to === undefined) return
  if (event.type === 'text' || event.type === 'thinking') to.pieces.push(event.text)
  else if (event.type === 'input') to.pieces.push(event.json)
  else if (event.type === 'signature') to.signature = (to.signature ?? '') + event.signature
}

function complete({ part, pieces, signature }: Gathering): ModelPart {
  const text = pieces.join('')
  const signed = signature === undefined ? {} : { signature }
  if (part.type === 'text') return { ...part, text: part.text + text }
  if (part.type === 'thinking') return { ...part, text: part.text + text, ...signed }
  if (part.type !== 'tool-call') return part
  return { ...part, ...signed, ...(text === '' ? {} : { input: parseJson(text) ?? text }) }
}

export function endedEarly(): ModelFailure {
  return { kind: 'server', status: 502, message: 'The stream of the reply ended before the reply did.' }
}

export async function collectReply(events: AsyncIterable<ReplyEvent>): Promise<Collected> {
  const collector = replyCollector()
  for await (const event of events) collector.push(event)
  return collector.done()
}
