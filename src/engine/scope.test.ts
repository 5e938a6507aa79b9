import { describe, expect, it } from 'vitest'
import { isLabel, isWithin } from './scope.ts'

describe('labels', () => {
  it('are text of some length without the signs that paths are made of', () => {
    for (const label of ['a', 'a b', 'ein Schritt', '你好', 'x'.repeat(200), '*', '-', '.'])
      expect(isLabel(label)).toBe(true)
    for (const wrong of ['', 'a/b', 'a#2', 'a\nb', 'a\rb', 'x'.repeat(201), 1, null, undefined, {}])
      expect(isLabel(wrong)).toBe(false)
  })
})

describe('scopes', () => {
  it('are within themselves and those around them', () => {
    const scope = (parent: object | undefined): never => ({ parent }) as never
    const root = scope(undefined)
    const branch = scope(root)
    const inner = scope(branch)
    const sibling = scope(root)
    expect([isWithin(inner, root), isWithin(inner, branch), isWithin(inner, inner)]).toEqual([true, true, true])
    expect([isWithin(branch, inner), isWithin(sibling, branch), isWithin(root, inner)]).toEqual([false, false, false])
  })
})
