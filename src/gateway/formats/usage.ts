import type { ModelUsage } from '../exchange.ts'
import { count, isFields, type Fields } from './fields.ts'

/** The usage of a reply, with nothing about what was not used. */
export function usageOf(given: ModelUsage): ModelUsage {
  const { input, output, cacheRead = 0, cacheWrite = 0, thinking = 0, unknown } = given
  return {
    input,
    output,
    ...(cacheRead > 0 ? { cacheRead } : {}),
    ...(cacheWrite > 0 ? { cacheWrite } : {}),
    ...(thinking > 0 ? { thinking } : {}),
    ...(unknown === true ? { unknown } : {}),
  }
}

export const UNKNOWN_USAGE: ModelUsage = { input: 0, output: 0, unknown: true }

/** Reads with `read` if the provider said something. */
export function readUsage(given: unknown, read: (usage: Fields) => ModelUsage): ModelUsage {
  return isFields(given) ? usageOf(read(given)) : UNKNOWN_USAGE
}

/** OpenAI's two formats differ in the names only: what was cached is part of the input, thoughts are part of the output. */
export function openaiUsage(usage: Fields, names: OpenaiUsageNames): ModelUsage {
  const into = usage[`${names.input}_details`]
  const out = usage[`${names.output}_details`]
  return {
    input: count(usage[names.input]),
    output: count(usage[names.output]),
    cacheRead: isFields(into) ? count(into['cached_tokens']) : 0,
    cacheWrite: isFields(into) ? count(into['cache_write_tokens']) : 0,
    thinking: isFields(out) ? count(out['reasoning_tokens']) : 0,
  }
}

export interface OpenaiUsageNames {
  readonly input: string
  readonly output: string
}

/** Null where nobody knows it. */
export function writeOpenaiUsage(usage: ModelUsage, names: OpenaiUsageNames): Fields | null {
  if (usage.unknown === true) return null
  return {
    [names.input]: usage.input,
    [`${names.input}_details`]: { cached_tokens: usage.cacheRead ?? 0, cache_write_tokens: usage.cacheWrite ?? 0 },
    [names.output]: usage.output,
    [`${names.output}_details`]: { reasoning_tokens: usage.thinking ?? 0 },
    total_tokens: usage.input + usage.output,
  }
}
