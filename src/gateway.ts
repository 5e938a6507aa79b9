/** The door to the model gateway. */
export { createGateway, type Gateway, type GatewayOptions, type ModelRoute } from './gateway/gateway.ts'
export type { GatewayToken, TokenOptions } from './gateway/clients.ts'
export type { Answer, Backend, BackendCall, BytesAnswer, CallNote, RawCall } from './gateway/backend.ts'
export { provider } from './gateway/backends/provider.ts'
export type { ProviderOptions } from './gateway/backends/provider-options.ts'
export { scripted, type ScriptedOptions } from './gateway/backends/scripted.ts'
export { record, type RecordOptions } from './gateway/backends/record.ts'
export { replay, type ReplayOptions } from './gateway/backends/replay.ts'
export { parseScript } from './gateway/script/read-script.ts'
export type {
  Pace,
  Script,
  ScriptCall,
  ScriptFailure,
  ScriptFunction,
  ScriptMatch,
  ScriptRule,
  ScriptStep,
  TranscriptView,
} from './gateway/script/script.ts'
export { PRICES, costOf, priceOf, type Price, type PriceList } from './gateway/prices.ts'
export { modelError } from './gateway/failure.ts'
export type { ExchangeLog, LogOptions, LoggedExchange } from './gateway/exchange-log.ts'
export type {
  FailureKind,
  ModelFailure,
  ModelMessage,
  ModelPart,
  ModelReply,
  ModelRequest,
  ModelTool,
  ModelUsage,
  ReplyEvent,
  StopReason,
  WireFormat,
} from './gateway/exchange.ts'
