/** What a provider sent, as a reply. */
import type { ModelRequest, ReplyEvent } from './exchange.ts'
import type { Format } from './formats/format.ts'
import { replyCollector, type Collected } from './formats/reply-events.ts'
import { sseParser } from './formats/sse.ts'
import { UNKNOWN_USAGE } from './formats/usage.ts'

export interface BytesOf {
  readonly format: Format
  readonly request: ModelRequest
  readonly stream: boolean
  /** A stream that was cut off is a reply as far as it came. */
  readonly broken?: boolean
}

/** Throws when they are no reply of the format. */
export function readBytes(bytes: Uint8Array, { format, request, stream, broken }: BytesOf): Collected {
  if (!stream) return { type: 'reply', reply: format.readReply(JSON.parse(Buffer.from(bytes).toString()), request) }
  const parser = sseParser()
  const reader = format.readStream(request)
  const collector = replyCollector()
  const add = (events: readonly ReplyEvent[]): void => events.forEach((event) => collector.push(event))
  for (const frame of [...parser.push(bytes), ...parser.end()]) add(reader.push(frame))
  add(broken === true ? [{ type: 'end', stop: 'end', usage: UNKNOWN_USAGE }] : reader.end())
  return collector.done()
}
