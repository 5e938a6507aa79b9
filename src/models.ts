/** The public face of `nerve/models`: models as nodes, conversations, and tools for both. */
export { chat } from './nodes/models/chat.ts'
export type { Chat, ChatForkOptions, ChatInfo, ChatOptions } from './nodes/models/chat.ts'
export type { Compact } from './nodes/models/compaction.ts'
export { llm } from './nodes/models/llm.ts'
export type { LlmOptions } from './nodes/models/llm.ts'
export type { ModelObject, ProviderPlace } from './nodes/models/load-ai.ts'
export { textOf } from './nodes/models/message.ts'
export type {
  ChatMessage,
  FilePart,
  ImagePart,
  MessagePart,
  ModelReply,
  ModelTokens,
  Prompt,
  PromptPart,
  TextPart,
} from './nodes/models/message.ts'
export type { Model, ModelNodeOptions, ToolChoice } from './nodes/models/model-options.ts'
export type { ModelPrice, Pricing } from './nodes/models/price.ts'
export { mcpTools } from './nodes/tools/mcp-tools.ts'
export type { McpToolsOptions } from './nodes/tools/mcp-tools.ts'
export { tool } from './nodes/tools/tool.ts'
export type { Approval, Tool, ToolOptions } from './nodes/tools/tool.ts'
export { askUser, getUserMessages } from './nodes/tools/user-tools.ts'
export type { ValueSchema } from './nodes/tools/value-schema.ts'
