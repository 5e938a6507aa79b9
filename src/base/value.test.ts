import { describe, expect, it } from 'vitest'
import { NerveError } from './nerve-error.ts'
import { contentHash, decodeValue, encodeValue, fingerprint } from './value.ts'

function roundTrip(value: unknown): unknown {
  const { text, tagged } = encodeValue(value, 'the value')
  return decodeValue(text, tagged)
}

describe('values', () => {
  it('that JSON can hold go as they are', () => {
    const value = { text: 'a', list: [1, 2.5, true, null], deep: { deeper: {} } }
    expect(encodeValue(value, 'it')).toEqual({ text: JSON.stringify(value), tagged: false })
    expect(encodeValue(undefined, 'it')).toEqual({ text: undefined, tagged: false })
  })

  it('that JSON cannot hold come back as they were', () => {
    const values: readonly unknown[] = [
      undefined,
      new Date(0),
      new Date(Number.NaN),
      new Map<unknown, unknown>([[{ key: 1 }, new Set([1n])]]),
      new Set<unknown>([undefined, Number.NaN]),
      12345678901234567890n,
      new Uint8Array([0, 255, 7]),
      Number.NaN,
      -Infinity,
      -0,
      [1, undefined, 3],
      { a: new Date(1), b: [-0] },
      { $nerve: 'date', v: 1 },
      { toJSON: 'text', nested: { toJSON: 1 } },
      JSON.parse('{"__proto__":{"polluted":true},"x":1}'),
    ]
    for (const value of values) expect(roundTrip(value)).toStrictEqual(value)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('lose nothing but what is undefined in an object, and fill holes of an array with it', () => {
    expect(roundTrip({ a: undefined, b: 1 })).toStrictEqual({ b: 1 })
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
    expect(roundTrip([1, , 3])).toStrictEqual([1, undefined, 3])
  })

  it('that are errors come back as errors', () => {
    const error = roundTrip({ error: new NerveError('quota', 'slow', { retry: 'pause', data: { until: 5 } }) }) as {
      error: NerveError
    }
    expect(error.error).toBeInstanceOf(NerveError)
    expect(error.error).toMatchObject({ code: 'quota', retry: 'pause', data: { until: 5 }, message: 'slow' })
  })

  it('that cannot be kept are refused by the path to them', () => {
    class Odd {}
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    const deep = Array.from({ length: 600 }).reduce<unknown>((inner) => [inner], 1)
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [() => 1, /^the value is a function/],
      [Symbol('s'), /is a symbol/],
      [{ a: [1, { b: new Odd() }] }, /^the value at \.a\.1\.b is an instance of Odd/],
      [{ fn: () => 1 }, /at \.fn is a function/],
      [cycle, /at \.self is a reference to something that contains it/],
      [new Map([['k', [new WeakMap()]]]), /instance of WeakMap/],
      [Promise.resolve(1), /instance of Promise/],
      [new Float64Array(1), /instance of Float64Array/],
      [deep, /nested deeper than 512/],
    ]
    for (const [value, message] of cases) {
      expect(() => encodeValue(value, 'the value')).toThrow(message)
      expect(() => encodeValue(value, 'the value')).toThrow(expect.objectContaining({ code: 'bad-value' }) as Error)
    }
  })

  it('may be in two places, if neither contains the other', () => {
    const shared = new Date(3)
    expect(roundTrip({ a: shared, b: [shared] })).toStrictEqual({ a: shared, b: [shared] })
  })

  it('with a tag that nobody knows are corrupt', () => {
    expect(() => decodeValue('{"$nerve":"later","v":1}', true)).toThrow(/unknown tag "later"/)
  })
})

describe('fingerprint', () => {
  it('is the same for equal values and another for others', () => {
    expect(fingerprint({ a: 1, b: { c: 2, d: 3 } }, 'it')).toBe(fingerprint({ b: { d: 3, c: 2 }, a: 1 }, 'it'))
    const others = [
      { a: 1 },
      { a: '1' },
      { a: 1n },
      [1],
      1,
      '1',
      null,
      undefined,
      0,
      -0,
      new Date(1),
      new Set([1]),
      [[1]],
    ]
    expect(new Set(others.map((one) => fingerprint(one, 'it'))).size).toBe(others.length)
    expect(fingerprint('x', 'it')).toHaveLength(16)
  })
})

describe('contentHash', () => {
  it('depends on the content alone', () => {
    expect(contentHash('ä')).toBe(contentHash('ä'))
    expect(contentHash('ä')).not.toBe(contentHash('a'))
  })
})
