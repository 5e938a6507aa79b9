import { describe, expect, test } from 'vitest'
import { cleanPainted } from './printable.ts'
import { columnsOf, paint, renderLine } from './style.ts'

describe('columns', () => {
  test.each([
    ['plain', 5],
    ['日本語', 6],
    ['✅❌✨⚡⭐🟢🎉', 14],
    ['🀄🆗🈂', 6],
    ['e\u0301', 1],
    ['हे', 1],
    ['\u200Ba\u00AD', 2],
    ['✓ ✗ ◦ ⠋ …', 9],
  ])('of %s', (text, columns) => {
    expect(columnsOf(text)).toBe(columns)
  })

  test('a line that a terminal would wrap is cut, whatever its signs are', () => {
    for (const sign of ['✅', '⭐', '日', 'x'])
      for (const room of [10, 11, 39]) {
        const cut = renderLine([{ text: '  ' }, { text: sign.repeat(40) }], room, false)
        expect(columnsOf(cut)).toBeLessThanOrEqual(room)
        expect(cut.endsWith('…')).toBe(true)
      }
  })
})

describe('what comes from elsewhere', () => {
  const hostile = 'a\u001B[2Jb\u001B]0;title\u0007c\td\ne\u009B2J'

  test('cannot leave its line, and changes nothing but it', () => {
    expect(renderLine([{ text: hostile, tone: 'bad' }], 80, false)).toBe('abc d e')
  })

  test('is made harmless in painted text, whose own colours stay', () => {
    expect(cleanPainted(`${paint(hostile, 'good', true)} \u001B[8mhidden`)).toBe('\u001B[32mabc\td\ne\u001B[0m hidden')
  })
})
