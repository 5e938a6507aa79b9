import { describe, expect, it } from 'vitest'
import { decodeEvent, encodeEvent, INLINE_LIMIT } from './codec.ts'
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
