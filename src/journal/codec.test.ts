import { describe, expect, it } from 'vitest'
import { decodeEvent, encodeEvent, INLINE_LIMIT, rowOf } from './codec.ts'
import type { JournalEvent } from './events.ts'

const completed = (output: unknown): JournalEvent => ({
  type: 'step-completed',
  path: 'a',
  attempt: 1,
  started: 5,
  output,
})

describe('rows', () => {
  it('hold an event as JSON, with its value as it is', () => {
    const row = encodeEvent(completed({ a: 1 }), 3, 9)
    expect(row).toMatchObject({ seq: 3, time: 9 })
    expect(JSON.parse(row.data)).toEqual({
      type: 'step-completed',
      path: 'a',
      attempt: 1,
      started: 5,
      output: { a: 1 },
    })
    expect(decodeEvent(row)).toEqual(completed({ a: 1 }))
  })

  it('hold a value at the limit, and not one character more', () => {
    const fits = encodeEvent(completed('x'.repeat(INLINE_LIMIT - 2)), 1, 1)
    const tooLong = encodeEvent(completed('x'.repeat(INLINE_LIMIT - 1)), 1, 1)
    expect(fits.blob).toBeUndefined()
    expect(tooLong.blobText).toBe(JSON.stringify('x'.repeat(INLINE_LIMIT - 1)))
    expect(tooLong.data).not.toContain('xxx')
    expect(decodeEvent(tooLong)).toEqual(completed('x'.repeat(INLINE_LIMIT - 1)))
  })

  it('keep tagged values apart from values that look like them', () => {
    const date = encodeEvent(completed(new Date(7)), 1, 1)
    const likeness = encodeEvent(completed({ $nerve: 'date', v: 7 }), 1, 1)
    expect(decodeEvent(date)).toEqual(completed(new Date(7)))
    expect(decodeEvent(likeness)).toEqual(completed({ $nerve: 'date', v: 7 }))
    expect(decodeEvent(encodeEvent({ ...completed(1), path: 'tagged' } as JournalEvent, 1, 1))).not.toHaveProperty(
      'tagged',
    )
  })

  it('tell a missing value from null', () => {
    expect(decodeEvent(encodeEvent(completed(null), 1, 1))).toHaveProperty('output', null)
    const none = decodeEvent(encodeEvent(completed(undefined), 1, 1))
    expect((none as { output?: unknown }).output).toBeUndefined()
  })

  it('that are broken or lack their value are corrupt, by number', () => {
    expect(() => decodeEvent({ seq: 12, time: 1, data: '{oops' })).toThrow(/event 12 is not readable/)
    const { blobText: _gone, ...rest } = encodeEvent(completed('x'.repeat(INLINE_LIMIT)), 13, 1)
    expect(() => decodeEvent(rest)).toThrow(/event 13 refers to the value .* which is missing/)
  })

  it('name what cannot be kept', () => {
    expect(() => encodeEvent(completed({ fn: () => 1 }), 1, 1)).toThrow(/the output of 'a' at \.fn is a function/)
    const signal: JournalEvent = { type: 'signal-received', name: 'go', value: Symbol('x') }
    expect(() => encodeEvent(signal, 1, 1)).toThrow(/the value of the signal-received event is a symbol/)
  })
})

describe('rows of what is appended now', () => {
  const events: readonly JournalEvent[] = [
    ...[undefined, null, 0, -0, Number.NaN, true, 'text', 'x'.repeat(INLINE_LIMIT), 7n, new Date(7), [1]].map(
      completed,
    ),
    ...[{}, { a: 1, b: undefined, c: null }, { a: { b: 1 } }, { $nerve: 'date', v: 7 }, { toJSON: 1 }].map(completed),
    completed(Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, '\u0001'.repeat(100)]))),
    completed({ text: '\u0001'.repeat(500) }),
    completed(Object.assign(Object.create(null), { a: 1 })),
    { ...completed(1), after: 'before', attempt: 2 } as JournalEvent,
    { ...completed(1), after: 'before', active: 3, fingerprint: 'f', usage: { usd: 1 } } as JournalEvent,
    { ...completed({ a: 1 }), kind: 'item' } as JournalEvent,
    { type: 'timer-fired', path: 'a' },
  ]

  it('say the same as if they had been written at once', () => {
    for (const event of events)
      for (const time of [5, 6]) {
        const now = rowOf(event, 3, time)
        const { seq, data, blob, blobText } = encodeEvent(event, 3, time)
        expect([now.seq, now.time, now.data, now.blob, now.blobText]).toEqual([seq, time, data, blob, blobText])
      }
  })

  it('do not change with the value they were made from', () => {
    const output = { count: 1, name: 'a' }
    const row = rowOf(completed(output), 1, 5)
    output.count = 2
    expect(decodeEvent(row)).toEqual(completed({ count: 1, name: 'a' }))
  })

  it('refuse at once what a journal cannot keep', () => {
    expect(() => rowOf(completed({ fn: () => 1 }), 1, 5)).toThrow(/the output of 'a' at \.fn is a function/)
    expect(() => rowOf(completed(Symbol('s')), 1, 5)).toThrow(/is a symbol/)
  })
})
