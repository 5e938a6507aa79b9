import { expect, test } from 'vitest'
import { deadlineText } from './prompt.ts'

test('a deadline says what comes then, also when it has passed and nobody drives the run', () => {
  expect(deadlineText({}, 0)).toBe('')
  expect(deadlineText({ deadline: 90_000 }, 0)).toBe('within 1m30s (then: fail)')
  const onDeadline = { default: 'revise' }
  expect(deadlineText({ deadline: 2_000, onDeadline }, 1_000)).toBe('within 1.0s (then: revise)')
  expect(deadlineText({ deadline: 2_000, onDeadline }, 2_000)).toBe('its deadline has passed (then: revise)')
})
