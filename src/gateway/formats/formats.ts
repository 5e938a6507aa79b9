/** The formats by name, and the events of a stream. */
import type { ModelRequest, ReplyEvent, WireFormat } from '../exchange.ts'
import { anthropic } from './anthropic.ts'
import type { Format } from './format.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import { sseParser } from './sse.ts'

export const FORMATS: Readonly<Record<WireFormat, Format>> = {
  anthropic,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
}

/** The events of a stream as a provider sends it. */
export async function* readEvents(
  format: Format,
  bytes: AsyncIterable<string | Uint8Array>,
  request: ModelRequest,
): AsyncGenerator<ReplyEvent> {
  const parser = sseParser()
  const reader = format.readStream(request)
  // A loop over what comes at once: `yield*` would wait for each, which costs more than reading it.
  for await (const chunk of bytes) {
    for (const frame of parser.push(chunk)) for (const event of reader.push(frame)) yield event
  }
  for (const frame of parser.end()) for (const event of reader.push(frame)) yield event
  for (const event of reader.end()) yield event
}
