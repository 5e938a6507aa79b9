import { expect, it } from 'vitest'
import { Sleeps } from './sleeps.ts'

const OFTEN = 5_000
const HOUR = 3_600_000

function looked(...moments: readonly (readonly [time: number, worked: number])[]): Sleeps {
  const sleeps = new Sleeps(OFTEN)
  for (const [time, worked] of moments) sleeps.look({ time, worked })
  return sleeps
}

it('a machine slept where a look came much too late', () => {
  const sleeps = looked([0, 0], [5_000, 10], [5_000 + HOUR, 20], [10_000 + HOUR, 30])
  expect(sleeps.within(0, 2 * HOUR)).toBe(HOUR - OFTEN)
  expect(sleeps.within(0, HOUR / 2)).toBe(HOUR / 2 - 10_000)
  expect(sleeps.within(HOUR + 6_000, 2 * HOUR)).toBe(0)
})

it('a process that was a little late, or at work, was not asleep', () => {
  expect(looked([0, 0], [24_000, 10]).within(0, HOUR)).toBe(0)
  expect(looked([0, 0], [HOUR, HOUR - 60_000]).within(0, HOUR)).toBe(0)
  expect(new Sleeps(OFTEN).within(0, HOUR)).toBe(0)
})

it('sleeps add up', () => {
  const sleeps = looked([0, 0], [HOUR, 0], [HOUR + 1_000, 0], [2 * HOUR, 0])
  expect(sleeps.within(0, 2 * HOUR)).toBe(HOUR - OFTEN + HOUR - 1_000 - OFTEN)
})
