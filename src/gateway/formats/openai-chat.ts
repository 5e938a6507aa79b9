import type { Format } from './format.ts'
import { readChatStream } from './openai-chat-read-stream.ts'
import { readChatReply, writeChatReply } from './openai-chat-reply.ts'
import { readChatRequest } from './openai-chat-request.ts'
import { writeChatStream } from './openai-chat-write-stream.ts'
import { writeChatRequest } from './openai-chat-write.ts'
import { readOpenaiFailure, writeOpenaiFailure, writeOpenaiModel, writeOpenaiModels } from './openai-words.ts'

/** OpenAI's Chat Completions, with the fields that compatible providers add. */
export const openaiChat: Format = {
  name: 'openai-chat',
  readRequest: readChatRequest,
  writeRequest: writeChatRequest,
  readReply: readChatReply,
  writeReply: writeChatReply,
  readStream: readChatStream,
  writeStream: writeChatStream,
  readFailure: readOpenaiFailure,
  writeFailure: writeOpenaiFailure,
  writeModel: writeOpenaiModel,
  writeModels: writeOpenaiModels,
}
