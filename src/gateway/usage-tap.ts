/**
 * Reads the usage out of bytes that pass by, and touches nothing else. Frames that do not name usage are not even decoded: a stream of
 * a thousand pieces must cost what sending it costs.
 */
import type { ModelUsage, WireFormat } from './exchange.ts'
import { readAnthropicUsage } from './formats/anthropic-reply.ts'
import { isFields, looseFields, parseJson, type Fields } from './formats/fields.ts'
import { readGeminiUsage } from './formats/gemini-reply.ts'
import { CHAT_USAGE } from './formats/openai-chat-reply.ts'
import { readResponsesUsage } from './formats/openai-responses-reply.ts'
import { openaiUsage, usageOf } from './formats/usage.ts'

export interface UsageTap {
  /** Looks at a piece and returns what of it the client may have. */
  take(bytes: Uint8Array): Uint8Array
  /** What is left when the stream ends. */
  end(): Uint8Array
  /** As far as the provider has said. */
  readonly usage: ModelUsage | undefined
  /** How many frames there were: about the tokens of the reply, when nobody counts them. */
  readonly frames: number
}

const NOTHING = new Uint8Array()
const LINE = 10
const RETURN = 13
const MARK = Buffer.from('"usage')
/** A reply that is longer than this passes, but is not looked at. */
const MOST_KEPT = 8 * 1_048_576

/** For a stream of server-sent events. */
export function streamTap(format: WireFormat, hideUsage = false): UsageTap {
  let rest: Buffer = Buffer.alloc(0)
  let usage: ModelUsage | undefined
  let frames = 0
  const look = (frame: Buffer): boolean => {
    frames += 1
    if (!frame.includes(MARK)) return true
    const data = dataOf(frame)
    const found = usageIn(format, data)
    if (found !== undefined) usage = merged(usage, found)
    return !(hideUsage && found !== undefined && isOnlyUsage(data))
  }
  const split = (bytes: Uint8Array): Uint8Array => {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    const shown: Buffer[] = []
    let from = 0
    for (let to = frameEnd(all, from); to !== -1; to = frameEnd(all, from)) {
      const frame = all.subarray(from, to)
      if (look(frame) && hideUsage) shown.push(frame)
      from = to
    }
    rest = all.subarray(from)
    if (rest.length > MOST_KEPT) {
      shown.push(rest)
      rest = Buffer.alloc(0)
    }
    return hideUsage ? Buffer.concat(shown) : bytes
  }
  return {
    take: split,
    end: () => (rest.length > 0 && look(rest) && hideUsage ? rest : NOTHING),
    get usage() {
      return usage
    },
    get frames() {
      return frames
    },
  }
}

/** For a reply that comes at once. */
export function wholeTap(format: WireFormat): UsageTap {
  const pieces: Uint8Array[] = []
  let length = 0
  let usage: ModelUsage | undefined
  return {
    take(bytes) {
      length += bytes.length
      if (length <= MOST_KEPT) pieces.push(bytes)
      return bytes
    },
    end() {
      if (length <= MOST_KEPT) usage = usageIn(format, looseFields(parseJson(Buffer.concat(pieces).toString())))
      return NOTHING
    },
    get usage() {
      return usage
    },
    frames: 0,
  }
}

/** Where the frame that begins here ends: after an empty line. -1 when it is not complete. */
function frameEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LINE, from); at !== -1; at = bytes.indexOf(LINE, at + 1)) {
    const next = bytes[at + 1]
    if (next === LINE) return at + 2
    if (next === RETURN && bytes[at + 2] === LINE) return at + 3
  }
  return -1
}

function dataOf(frame: Buffer): Fields {
  const lines = frame.toString().split(/\r?\n/)
  const data = lines.flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
  return looseFields(parseJson(data.join('\n')))
}

/** The chunk that has no choice and all of the usage. */
function isOnlyUsage(data: Fields): boolean {
  return Array.isArray(data['choices']) && data['choices'].length === 0
}

/** Where each format tells its usage, in a reply or in a frame of one. */
const TOLD: Readonly<Record<WireFormat, (data: Fields) => unknown>> = {
  anthropic: (data) => looseFields(data['message'])['usage'] ?? data['usage'],
  'openai-chat': (data) => data['usage'],
  'openai-responses': (data) => looseFields(data['response'])['usage'] ?? data['usage'],
  gemini: (data) => data['usageMetadata'],
}

const READ: Readonly<Record<WireFormat, (usage: Fields) => ModelUsage>> = {
  anthropic: readAnthropicUsage,
  'openai-chat': (usage) => openaiUsage(usage, CHAT_USAGE),
  'openai-responses': readResponsesUsage,
  gemini: readGeminiUsage,
}

function usageIn(format: WireFormat, data: Fields): ModelUsage | undefined {
  const told = TOLD[format](data)
  return isFields(told) ? usageOf(READ[format](told)) : undefined
}

/** A stream may tell its input at the beginning and its output at the end; numbers only grow. */
function merged(before: ModelUsage | undefined, now: ModelUsage): ModelUsage {
  if (before === undefined) return now
  const larger = (name: 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'thinking'): number =>
    Math.max(before[name] ?? 0, now[name] ?? 0)
  return usageOf({
    input: larger('input'),
    output: larger('output'),
    cacheRead: larger('cacheRead'),
    cacheWrite: larger('cacheWrite'),
    thinking: larger('thinking'),
  })
}
