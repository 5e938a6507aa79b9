import { count, looseFields, type Fields } from './fields.ts'
import type { Format, ListedModel } from './format.ts'
import { readGeminiFailure, writeGeminiFailure } from './gemini-failure.ts'
import { readGeminiReply, readGeminiStream, writeGeminiReply, writeGeminiStream } from './gemini-reply.ts'
import { readGeminiRequest } from './gemini-request.ts'
import { writeGeminiCount, writeGeminiRequest } from './gemini-write.ts'

/** Google's generateContent and streamGenerateContent. */
export const gemini: Format = {
  name: 'gemini',
  readRequest: readGeminiRequest,
  writeRequest: writeGeminiRequest,
  readReply: readGeminiReply,
  writeReply: writeGeminiReply,
  readStream: readGeminiStream,
  writeStream: writeGeminiStream,
  readFailure: readGeminiFailure,
  writeFailure: writeGeminiFailure,
  counting: {
    writeRequest: writeGeminiCount,
    readCount: (body) => count(looseFields(body)['totalTokens']),
    writeCount: (tokens) => ({ totalTokens: tokens }),
  },
  writeModel,
  writeModels: (models) => ({ models: models.map(writeModel) }),
}

function writeModel({ id, window }: ListedModel): Fields {
  return {
    name: `models/${id}`,
    version: '1',
    displayName: id,
    ...(window === undefined ? {} : { inputTokenLimit: window }),
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
  }
}
