/**
 * What models cost. Prices are data with a date: they change, and a table that is wrong is worse than none. A model that is not
 * listed under its own name costs `null`: never the price of another that is called nearly so.
 */
import type { ModelUsage } from './exchange.ts'

/** Dollars for a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  /** Input from the provider's cache, and into it (default: as `input`). */
  readonly cacheRead?: number
  readonly cacheWrite?: number
  /** What a call costs whose input is longer than this. */
  readonly above?: { readonly tokens: number; readonly price: Omit<Price, 'above'> }
}

export interface PriceList {
  /** When these prices were read, as YYYY-MM-DD. */
  readonly date: string
  readonly models: Readonly<Record<string, Price>>
}

const claude = (input: number, output: number, cacheRead = input / 10): Price => ({
  input,
  output,
  cacheRead,
  cacheWrite: input * 1.25,
})

/** As the providers publish them for calls without batch or priority terms. */
export const PRICES: PriceList = {
  date: '2026-11-16',
  models: {
    'claude-fable-5-1': claude(10, 50, 0.25),
    'claude-fable-5': claude(10, 50),
    'claude-opus-5-5': claude(4, 20, 0.2),
    'claude-opus-5': claude(5, 25),
    'claude-opus-4-8': claude(5, 25),
    'claude-opus-4-7': claude(5, 25),
    'claude-opus-4-6': claude(5, 25),
    'claude-opus-4-5': claude(5, 25),
    'claude-sonnet-5-5': claude(2, 10),
    'claude-sonnet-5': claude(2, 10),
    'claude-sonnet-4-6': claude(3, 15),
    'claude-sonnet-4-5': claude(3, 15),
    'claude-haiku-5-5': { ...claude(0.1, 0.5), above: { tokens: 100_000, price: claude(0.5, 2.5) } },
    'claude-haiku-4-5': claude(1, 5),
    'gpt-5.4': { input: 2.5, output: 15, cacheRead: 0.25 },
    'gpt-5.4-mini': { input: 0.75, output: 4.5, cacheRead: 0.075 },
    'gpt-5.1': { input: 1.25, output: 10, cacheRead: 0.125 },
    'gpt-5': { input: 1.25, output: 10, cacheRead: 0.125 },
    'gpt-4.1': { input: 2, output: 8, cacheRead: 0.5 },
    'glm-5.3': { input: 1.4, output: 4.4, cacheRead: 0.26 },
    'glm-5.2': { input: 1.4, output: 4.4, cacheRead: 0.26 },
    'glm-5': { input: 1, output: 3.2 },
    'glm-4.6': { input: 0.6, output: 2.2 },
  },
}

/** `claude-opus-4-5-20251101` and `gpt-5-2026-04-01` are dated copies of a model: one name, one price. */
const DATED = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

/** The price of a model, or null. */
export function priceOf(model: string, prices: Readonly<Record<string, Price>>): Price | null {
  const own = Object.hasOwn(prices, model) ? prices[model] : undefined
  if (own !== undefined) return own
  const plain = model.replace(DATED, '')
  return plain !== model && Object.hasOwn(prices, plain) ? (prices[plain] ?? null) : null
}

/** What a call costs in dollars; null when the price is not known. */
export function costOf(usage: ModelUsage, price: Price | null): number | null {
  if (price === null) return null
  const { above } = price
  const applies = above !== undefined && usage.input > above.tokens ? above.price : price
  const { cacheRead = 0, cacheWrite = 0 } = usage
  const fresh = Math.max(0, usage.input - cacheRead - cacheWrite)
  const dollars =
    fresh * applies.input +
    cacheRead * (applies.cacheRead ?? applies.input) +
    cacheWrite * (applies.cacheWrite ?? applies.input) +
    usage.output * applies.output
  return dollars / 1_000_000
}
