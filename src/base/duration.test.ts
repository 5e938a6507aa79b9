import { describe, expect, it } from 'vitest'
import { milliseconds, showDuration } from './duration.ts'

describe('milliseconds', () => {
  it('reads numbers and text with a unit', () => {
    const cases: readonly (readonly [number | string, number])[] = [
      [0, 0],
      [1_500, 1_500],
      ['0ms', 0],
      ['500ms', 500],
      ['90s', 90_000],
      ['2m', 120_000],
      ['1.5h', 5_400_000],
      ['3d', 259_200_000],
      ['2w', 1_209_600_000],
      [' 10 s ', 10_000],
    ]
    for (const [given, expected] of cases) expect(milliseconds(given)).toBe(expected)
  })

  it('refuses everything else, and says what is right', () => {
    for (const wrong of ['', '5', 's', '-1s', '1e3s', '1y', '1h30m', Number.NaN, Infinity, -1, null, undefined, {}]) {
      expect(() => milliseconds(wrong as never, 'timeout')).toThrow(/^timeout: .* is not a duration.*'90s'/)
    }
    expect(() => milliseconds(Number.NaN)).toThrow('duration: NaN is not a duration')
  })
})

describe('showDuration', () => {
  it('shows two units at most', () => {
    const shown = [5, 1_500, 61_000, 3_661_000, 90_000_000].map(showDuration)
    expect(shown).toEqual(['5ms', '1.5s', '1m01s', '1h01m', '1d01h'])
  })
})
