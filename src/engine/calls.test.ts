import { expect, it } from 'vitest'
import type { Call } from './call.ts'
import { Calls } from './calls.ts'

const call = (name: string): Call => ({ name }) as unknown as Call

it('calls are in the order in which they began, each once', () => {
  const [a, b, c] = [call('a'), call('b'), call('c')]
  const calls = new Calls({})
  for (const one of [a, b]) calls.add(one)
  expect([...calls]).toEqual([a, b])
  calls.delete(a)
  calls.delete(a)
  calls.add(c)
  expect([calls.size, ...calls]).toEqual([2, b, c])
  for (const one of [b, c]) calls.delete(one)
  expect([calls.size, ...calls]).toEqual([0])
  calls.add(c)
  expect([calls.size, ...calls]).toEqual([1, c])
})

it('a call that ends while others are looked at is not seen', () => {
  const [a, b] = [call('a'), call('b')]
  const calls = new Calls({})
  for (const one of [a, b]) calls.add(one)
  const seen: Call[] = []
  for (const one of calls) {
    seen.push(one)
    calls.delete(b)
  }
  expect(seen).toEqual([a])
  calls.add(b)
  calls.clear()
  expect([calls.size, ...calls]).toEqual([0])
})

it('what the machine slept through is not worked', () => {
  const hour = 3_600_000
  const calls = new Calls({ slept: (from, to) => Math.min(to, hour) - Math.max(from, 1_000) })
  const one = { started: 0, asking: 0 } as unknown as Call
  calls.add(one)
  expect(calls.worked(hour)).toBe(1_000)
  expect(calls.end(one, hour + 2_000)).toBe(3_000)
})
