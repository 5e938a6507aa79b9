/** Providers that Nerve knows by name: where they are, what they speak, and which variable has the key. */
import type { WireFormat } from '../exchange.ts'

export interface Endpoint {
  readonly format: WireFormat
  /** The address that the provider's own client takes. */
  readonly url: string
}

export interface Preset {
  /** The first one is what other formats are translated to. */
  readonly endpoints: readonly Endpoint[]
  /** The name of the environment variable that has the key. */
  readonly key: string
  /** True when the key is sent as `Authorization: Bearer`, whatever the format. */
  readonly bearer?: boolean
}

export const PRESETS = {
  anthropic: {
    endpoints: [{ format: 'anthropic', url: 'https://api.anthropic.com' }],
    key: 'ANTHROPIC_API_KEY',
  },
  openai: {
    endpoints: [
      { format: 'openai-responses', url: 'https://api.openai.com/v1' },
      { format: 'openai-chat', url: 'https://api.openai.com/v1' },
    ],
    key: 'OPENAI_API_KEY',
  },
  openrouter: {
    endpoints: [{ format: 'openai-chat', url: 'https://openrouter.ai/api/v1' }],
    key: 'OPENROUTER_API_KEY',
  },
  glm: {
    endpoints: [
      { format: 'anthropic', url: 'https://api.z.ai/api/anthropic' },
      { format: 'openai-chat', url: 'https://api.z.ai/api/paas/v4' },
    ],
    key: 'ZAI_API_KEY',
    bearer: true,
  },
  gemini: {
    endpoints: [{ format: 'gemini', url: 'https://generativelanguage.googleapis.com' }],
    key: 'GEMINI_API_KEY',
  },
} as const satisfies Readonly<Record<string, Preset>>

export type PresetName = keyof typeof PRESETS
