import { expect, it } from 'vitest'
import { added, inserted, NONE } from './list.ts'

it('a list grows at its end and anywhere else', () => {
  let list: readonly number[] = NONE
  for (const item of [2, 4]) list = added(list, item)
  list = inserted(list, 3, 1)
  list = inserted(list, 1, 0)
  list = inserted(list, 5, 4)
  expect(list).toEqual([1, 2, 3, 4, 5])
  expect(inserted(NONE, 1, 0)).toEqual([1])
  expect(NONE).toEqual([])
})
