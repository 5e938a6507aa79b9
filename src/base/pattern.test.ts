import fc from 'fast-check'
import { expect, it } from 'vitest'
import { matcher } from './pattern.ts'

const fits = (pattern: string, text: string): boolean => matcher(pattern)?.(text) ?? true

it.each([
  ['step-*', 'step-completed', true],
  ['step-*', 'run-completed', false],
  ['*-completed', 'step-completed', true],
  ['review/*', 'review/draft', true],
  ['review/*', 'review/draft/1', false],
  ['review/*/1', 'review/draft/1', true],
  ['review/**', 'review/draft/1', true],
  ['review/**', 'review', false],
  ['**/1', 'review/draft/1', true],
  ['a*b*c', 'a-b-b-c', true],
  ['***', 'a/b', true],
  ['a.c*', 'abcd', false],
  ['', '', true],
  ['', 'a', false],
  ['*', 'a/b', true],
])('%j and %j: %s', (pattern, text, expected) => {
  expect(fits(pattern, text)).toBe(expected)
})

it('means what a regular expression would', () => {
  const parts = fc.array(fc.constantFrom('*', '**', 'a', 'b', '/', '.'), { maxLength: 8 }).map((list) => list.join(''))
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.'), maxLength: 8 })
  fc.assert(
    fc.property(parts, texts, (pattern, text) => {
      const source = pattern.replaceAll('.', '\\.').replaceAll(/\*+/g, (stars) => (stars === '*' ? '[^/]*' : '.*'))
      const everything = pattern === '*'
      expect(fits(pattern, text)).toBe(everything || new RegExp(`^${source}$`).test(text))
    }),
  )
})

it('takes no longer for patterns that are made to take long', () => {
  const began = performance.now()
  for (const one of ['*', '**', '**a', '*a', '**/', '*a**'])
    expect(fits(`${one.repeat(500)}!`, 'a/aa/'.repeat(50))).toBe(false)
  expect(performance.now() - began).toBeLessThan(2_000)
})
