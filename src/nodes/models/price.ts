import type { ModelTokens } from './message.ts'

/** Dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number
  readonly output: number
  /** Input from the provider's cache, and into it (default: as `input`). */
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

/** What calls cost, or what says it for a model; nothing when the price is not known. */
export type Pricing = ModelPrice | ((tokens: ModelTokens, model: string) => number | null | undefined)

/** What a call costs in dollars; undefined when nobody knows. */
export function costOf(tokens: ModelTokens, model: string, pricing: Pricing | undefined): number | undefined {
  if (pricing === undefined) return undefined
  if (typeof pricing === 'function') return pricing(tokens, model) ?? undefined
  const { input, output, cacheRead = 0, cacheWrite = 0 } = tokens
  const fresh = Math.max(0, input - cacheRead - cacheWrite)
  const dollars =
    fresh * pricing.input +
    cacheRead * (pricing.cacheRead ?? pricing.input) +
    cacheWrite * (pricing.cacheWrite ?? pricing.input) +
    output * pricing.output
  return dollars / 1_000_000
}
