import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from './clock.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const HOUR = 3_600_000

describe('a wait for a time', () => {
  it('is over then, and not before', () => {
    const call = vi.fn<() => void>()
    systemClock.at(Date.now() + HOUR, call)
    vi.advanceTimersByTime(HOUR - 1)
    expect(call).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(call).toHaveBeenCalledOnce()
  })

  it('is over soon after a machine wakes that slept past it', () => {
    const call = vi.fn<() => void>()
    systemClock.at(Date.now() + HOUR, call)
    vi.setSystemTime(Date.now() + 2 * HOUR)
    vi.advanceTimersByTime(30_001)
    expect(call).toHaveBeenCalledOnce()
  })

  it('goes on when the clock is set back', () => {
    const call = vi.fn<() => void>()
    systemClock.at(Date.now() + HOUR, call)
    vi.setSystemTime(Date.now() - HOUR)
    vi.advanceTimersByTime(2 * HOUR - 1_000)
    expect(call).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1_000)
    expect(call).toHaveBeenCalledOnce()
  })

  it('can be taken back, and may be months long', () => {
    const call = vi.fn<() => void>()
    const disarm = systemClock.at(Date.now() + 5_000 * HOUR, call)
    vi.advanceTimersByTime(HOUR)
    disarm()
    expect(vi.getTimerCount()).toBe(0)
  })
})
