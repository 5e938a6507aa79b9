import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { SimulatedClock } from './simulated-clock.ts'

describe('SimulatedClock', () => {
  it('calls timers in the order of their times, each at its time', () => {
    const clock = new SimulatedClock(0)
    const calls: string[] = []
    clock.at(30, () => calls.push(`c ${clock.now()}`))
    clock.at(10, () => {
      calls.push(`a ${clock.now()}`)
      clock.at(20, () => calls.push(`b ${clock.now()}`))
    })
    const back = clock.at(15, () => calls.push('taken back'))
    back()
    expect(clock.next).toBe(10)
    clock.advance(25)
    expect(calls).toEqual(['a 10', 'b 20'])
    expect([clock.now(), clock.pending, clock.next]).toEqual([25, 1, 30])
    clock.advance(5)
    expect(calls).toEqual(['a 10', 'b 20', 'c 30'])
    expect(clock.next).toBeUndefined()
  })

  it('calls a timer for a time that has passed soon, and not before it returns', async () => {
    const clock = new SimulatedClock(100)
    const calls: string[] = []
    clock.at(50, () => calls.push('passed'))
    clock.at(100, () => calls.push('taken back'))()
    expect(calls).toEqual([])
    await turn()
    expect(calls).toEqual(['passed'])
    expect(clock.now()).toBe(100)
  })
})
