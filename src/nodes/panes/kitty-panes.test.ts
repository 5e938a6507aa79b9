import { expect, it } from 'vitest'
import { viewOf } from './kitty-panes.ts'

it('reads what kitty says of a window: rows, lines that go over several of them, the cursor', () => {
  const text = '$ seq 2\r\n1\r\n2\r\n0123456789\r01234\r\n$ \r\n\r\n\r\u001b[?25h\u001b[5;3H\u001b[5 q\n'
  const { lines, rows, cursor } = viewOf(text, 7, 100)
  expect(lines).toEqual(['$ seq 2', '1', '2', '012345678901234', '$', '', ''])
  expect(rows).toEqual(['1', '2', '0123456789', '01234', '$', '', ''])
  expect(cursor).toEqual({ row: 4, column: 2, visible: true })
  expect(viewOf(text.replace('?25h', '?25l').replace('[5 q', '[?12h'), 7, 0)).toMatchObject({
    cursor: { visible: false },
  })
})
