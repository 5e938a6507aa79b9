/** A call as it goes to a provider: as it came when that will do, else written anew in a format that the provider speaks. */
import type { BackendCall } from '../backend.ts'
import type { ModelRequest, WireFormat } from '../exchange.ts'
import { FORMATS } from '../formats/formats.ts'
import type { OutgoingRequest } from '../formats/format.ts'
import type { Endpoint } from './presets.ts'
import type { ProviderSettings } from './provider-options.ts'

export interface Outgoing {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** True when the answer is in the client's own format. */
  readonly passes: boolean
  readonly hideUsage: boolean
}

const ANTHROPIC_VERSION = '2023-06-01'

export function outgoing(
  settings: ProviderSettings,
  endpoint: Endpoint,
  request: ModelRequest,
  call: BackendCall,
  write: (request: ModelRequest) => OutgoingRequest = (one) => FORMATS[endpoint.format].writeRequest(one),
): Outgoing {
  const passes = endpoint.format === call.format
  const { path, body } = write(request)
  const given = passes ? ownBody(request, call) : undefined
  return {
    url: new URL(endpoint.url.replace(/\/+$/, '') + path),
    headers: {
      'content-type': 'application/json',
      // What comes packed cannot be looked at while it passes.
      'accept-encoding': 'identity',
      accept: request.stream ? 'text/event-stream' : 'application/json',
      ...(endpoint.format === 'anthropic' ? { 'anthropic-version': ANTHROPIC_VERSION } : {}),
      ...(passes ? call.raw.headers : {}),
      ...settings.headers,
      ...authorization(endpoint.format, settings),
    },
    body: given?.bytes ?? Buffer.from(JSON.stringify(body)),
    passes,
    hideUsage: given?.hideUsage ?? false,
  }
}

/** The client's own bytes, unless something in them has to be different. */
function ownBody(request: ModelRequest, { raw, format }: BackendCall): { bytes: Uint8Array; hideUsage: boolean } {
  const body = raw.body as Readonly<Record<string, unknown>>
  const otherModel = typeof body['model'] === 'string' && body['model'] !== request.model
  // A stream of this format tells its usage only when asked to; budgets need it.
  const hideUsage = format === 'openai-chat' && request.stream && request.streamUsage !== true
  if (!otherModel && !hideUsage) return { bytes: raw.bytes, hideUsage }
  const options = hideUsage
    ? { stream_options: { ...(body['stream_options'] as object | null), include_usage: true } }
    : {}
  const changed = { ...body, ...(otherModel ? { model: request.model } : {}), ...options }
  return { bytes: Buffer.from(JSON.stringify(changed)), hideUsage }
}

function authorization(format: WireFormat, { key, bearer }: ProviderSettings): Record<string, string> {
  if (key === undefined) return {}
  if (bearer || format === 'openai-chat' || format === 'openai-responses') return { authorization: `Bearer ${key}` }
  return format === 'anthropic' ? { 'x-api-key': key } : { 'x-goog-api-key': key }
}
