import { writeAnthropicFailure, readAnthropicFailure } from './anthropic-failure.ts'
import { readAnthropicReply, writeAnthropicReply } from './anthropic-reply.ts'
import { readAnthropicRequest } from './anthropic-request.ts'
import { readAnthropicStream, writeAnthropicStream } from './anthropic-stream.ts'
import { writeAnthropicCount, writeAnthropicRequest } from './anthropic-write.ts'
import { count, looseFields, type Fields } from './fields.ts'
import type { Format, ListedModel } from './format.ts'

/** Anthropic's Messages. */
export const anthropic: Format = {
  name: 'anthropic',
  readRequest: readAnthropicRequest,
  writeRequest: writeAnthropicRequest,
  readReply: readAnthropicReply,
  writeReply: writeAnthropicReply,
  readStream: readAnthropicStream,
  writeStream: writeAnthropicStream,
  readFailure: readAnthropicFailure,
  writeFailure: writeAnthropicFailure,
  counting: {
    writeRequest: writeAnthropicCount,
    readCount: (body) => count(looseFields(body)['input_tokens']),
    writeCount: (tokens) => ({ input_tokens: tokens }),
  },
  writeModel,
  writeModels,
}

function writeModel({ id, createdAt = 0, window }: ListedModel): Fields {
  const created = new Date(createdAt).toISOString()
  return { type: 'model', id, display_name: id, created_at: created, max_input_tokens: window ?? null }
}

function writeModels(models: readonly ListedModel[]): Fields {
  const ends = { first_id: models[0]?.id ?? null, last_id: models.at(-1)?.id ?? null }
  return { data: models.map(writeModel), has_more: false, ...ends }
}
