/**
 * A request without what differs each time it is made: ids of tool calls are numbered in their order, what only says how to
 * deliver the reply is left out, fields are sorted. Requests that ask for the same have one key, whatever format they came in.
 */
import { createHash } from 'node:crypto'
import type { ModelMessage, ModelPart, ModelRequest } from './exchange.ts'

export type NormalRequest = Omit<ModelRequest, 'stream' | 'streamUsage' | 'user'>

export function normalRequest(request: ModelRequest): NormalRequest {
  const { stream: _stream, streamUsage: _usage, user: _user, messages, ...rest } = request
  const ids = new Map<string, string>()
  const numbered = (id: string): string => {
    const known = ids.get(id)
    if (known !== undefined) return known
    const number = `call-${ids.size + 1}`
    ids.set(id, number)
    return number
  }
  return sorted({ ...rest, messages: messages.map((message) => normalMessage(message, numbered)) }) as NormalRequest
}

export function keyOf(request: NormalRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex').slice(0, 16)
}

function normalMessage({ role, parts }: ModelMessage, numbered: (id: string) => string): ModelMessage {
  return { role, parts: parts.map((part) => normalPart(part, numbered)) }
}

/** Signatures belong to one reply of one provider and say nothing about what is asked. */
function normalPart(part: ModelPart, numbered: (id: string) => string): ModelPart {
  if (part.type === 'thinking') return { type: 'thinking', text: part.text }
  if (part.type === 'tool-result') return { ...part, id: numbered(part.id) }
  if (part.type !== 'tool-call') return part
  const { signature: _signature, ...call } = part
  return { ...call, id: numbered(call.id) }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, sorted(one)]))
}
