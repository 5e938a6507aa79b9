import { expect, it } from 'vitest'
import { wholeText } from './whole-text.ts'

it('has no halves of characters anywhere, and is the same otherwise', () => {
  const cut = '👩‍👧 is two and a half: \ud83d'
  expect(wholeText(cut)).toBe('👩‍👧 is two and a half: \ufffd')
  expect(wholeText({ allow: true, input: { edits: [{ text: cut }], n: 1, none: null } })).toEqual({
    allow: true,
    input: { edits: [{ text: '👩‍👧 is two and a half: \ufffd' }], n: 1, none: null },
  })
})
