import { expect, it } from 'vitest'
import { MarkReader } from './marks.ts'

it('takes marks with the nonce, in their turn, and no others', () => {
  const reader = new MarkReader('abc1')
  expect(reader.read('0;a title')).toBeUndefined()
  expect(reader.ignored).toBe(0)
  expect(reader.read('133;D;;n=abc1;k=1')).toEqual({ kind: 'D' })
  expect(reader.read('133;B;n=abc1;k=1')).toEqual({ kind: 'B' })
  expect(reader.read('133;C;n=abc1;k=1')).toEqual({ kind: 'C' })
  expect(reader.read('133;D;42;n=abc1;k=2')).toEqual({ kind: 'D', code: 42 })
  // Printed again, by a log that is shown.
  expect(reader.read('133;D;;n=abc1;k=1')).toBeUndefined()
  expect(reader.read('133;D;42;n=abc1;k=2')).toBeUndefined()
  expect(reader.read('133;B;n=abc1;k=1')).toBeUndefined()
  // Guessed.
  for (const payload of ['133;D;0', '133;D;0;n=abc2;k=3', '133;D;0;n=;k=3', '133;D;0;k=3', '133;Z;n=abc1;k=2'])
    expect(reader.read(payload)).toBeUndefined()
  expect(reader.ignored).toBe(8)
  expect(reader.read('133;D;0;n=abc1;k=3')).toEqual({ kind: 'D', code: 0 })
})
