import { count, looseFields } from './fields.ts'
import type { Format } from './format.ts'
import { readResponsesStream } from './openai-responses-read-stream.ts'
import { readResponsesReply, writeResponsesReply } from './openai-responses-reply.ts'
import { readResponsesRequest } from './openai-responses-request.ts'
import { writeResponsesStream } from './openai-responses-write-stream.ts'
import { writeResponsesCount, writeResponsesRequest } from './openai-responses-write.ts'
import { readOpenaiFailure, writeOpenaiFailure, writeOpenaiModel, writeOpenaiModels } from './openai-words.ts'

/** OpenAI's Responses, without its memory: every request brings the whole conversation. */
export const openaiResponses: Format = {
  name: 'openai-responses',
  readRequest: readResponsesRequest,
  writeRequest: writeResponsesRequest,
  readReply: readResponsesReply,
  writeReply: writeResponsesReply,
  readStream: readResponsesStream,
  writeStream: writeResponsesStream,
  readFailure: readOpenaiFailure,
  writeFailure: writeOpenaiFailure,
  counting: {
    writeRequest: writeResponsesCount,
    readCount: (body) => count(looseFields(body)['input_tokens']),
    writeCount: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
  writeModel: writeOpenaiModel,
  writeModels: writeOpenaiModels,
}
