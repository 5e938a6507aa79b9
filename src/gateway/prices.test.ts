import { describe, expect, it } from 'vitest'
import { PRICES, costOf, priceOf, type Price } from './prices.ts'

const PRICE: Price = { input: 2, output: 10, cacheRead: 0.5, cacheWrite: 4 }

describe('prices', () => {
  it('have a date, and are those of the model itself or of a dated copy of it', () => {
    expect(PRICES.date).toMatch(/^\d{4}-\d{2}-\d{2}$/)
    const { models } = PRICES
    expect(priceOf('claude-opus-4-5', models)).toBe(models['claude-opus-4-5'])
    expect(priceOf('claude-opus-4-5-20251101', models)).toBe(models['claude-opus-4-5'])
    expect(priceOf('gpt-5-2026-04-01', models)).toBe(models['gpt-5'])
  })

  it('are null for everything else, however alike the names are', () => {
    for (const model of [
      'claude-opus-4',
      'claude-opus-4-5-fast',
      'gpt-5-mini',
      'anthropic/claude-opus-4-5',
      'toString',
      '',
    ])
      expect(priceOf(model, PRICES.models)).toBeNull()
    expect(costOf({ input: 1, output: 1 }, null)).toBeNull()
  })

  it('tell cached input from the rest of it', () => {
    const usage = { input: 1_000_000, output: 100_000, cacheRead: 400_000, cacheWrite: 100_000 }
    expect(costOf(usage, PRICE)).toBeCloseTo(0.5 * 2 + 0.4 * 0.5 + 0.1 * 4 + 0.1 * 10)
    expect(costOf(usage, { input: 2, output: 10 })).toBeCloseTo(3)
  })

  it('may rise with the length of the input', () => {
    const price: Price = { ...PRICE, above: { tokens: 1_000, price: { input: 20, output: 100 } } }
    expect(costOf({ input: 1_000, output: 0 }, price)).toBeCloseTo(0.002)
    expect(costOf({ input: 1_001, output: 0 }, price)).toBeCloseTo(0.02002)
  })
})
