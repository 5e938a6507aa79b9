import { expect, it } from 'vitest'
import { closingLine } from './closing-line-reporter.ts'

it('has the form that tools read', () => {
  expect(closingLine({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed')
  expect(closingLine({ passed: 1, failed: 2, skipped: 3 })).toBe('1 passed, 2 failed, 3 skipped')
})
