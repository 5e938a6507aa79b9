import { describe, expect, it } from 'vitest'
import { NerveError } from '../base/nerve-error.ts'
import { backoffDelay, checkStepOptions, isHopeless, parkUntil } from './policy.ts'

describe('backoffDelay', () => {
  it('grows by its factor up to the longest, with jitter on both sides', () => {
    const backoff = { initial: '1s', factor: 3, max: '10s', jitter: 0 }
    expect([1, 2, 3, 4, 5].map((failed) => backoffDelay(backoff, failed))).toEqual([
      1_000, 3_000, 9_000, 10_000, 10_000,
    ])
    const wide = { initial: 1_000, jitter: 0.5 }
    expect([0, 0.5, 1].map((random) => backoffDelay(wide, 1, () => random))).toEqual([750, 1_000, 1_250])
  })

  it('is the same each time when it is a duration, and starts at a second when it is nothing', () => {
    expect([1, 5].map((failed) => backoffDelay('2s', failed))).toEqual([2_000, 2_000])
    expect(backoffDelay(undefined, 1, () => 0.5)).toBe(1_000)
    expect(backoffDelay({ initial: '5m' }, 1, () => 0.5)).toBe(300_000)
  })
})

describe('checkStepOptions', () => {
  it('takes what makes sense', () => {
    const options = {
      attempts: 3,
      timeout: '2m',
      backoff: 5,
      onError: { skip: 1 },
      effect: 'once',
      reserve: { usd: 1 },
    } as const
    expect(() => checkStepOptions('a', options)).not.toThrow()
  })

  it('refuses what does not, and names the step', () => {
    const wrong: readonly object[] = [
      { attempts: 0 },
      { attempts: 1.5 },
      { attempts: '3' },
      { timeout: 'soon' },
      { backoff: 'later' },
      { backoff: { initial: -1 } },
      { backoff: { factor: Number.NaN } },
      { backoff: { factor: -2 } },
      { backoff: { jitter: Number.NaN } },
      { backoff: { jitter: 20 } },
      { backoff: { intial: '1s' } as never },
      { onError: 'skip' },
      { onError: {} },
      { onError: null },
      { effect: 'twice' },
      { reserve: { usd: Number.NaN } },
      { retries: 3 },
    ]
    for (const options of wrong)
      expect(() => checkStepOptions('a', options as never), JSON.stringify(options)).toThrow(NerveError)
    expect(() => checkStepOptions('send', { attempts: 0 })).toThrow(/Step 'send'/)
  })
})

describe('what an error says', () => {
  it('about trying again', () => {
    expect(isHopeless(new NerveError('bad-input', 'no'))).toBe(true)
    expect(isHopeless(Object.assign(new Error('no'), { retry: 'never' }))).toBe(true)
    for (const other of [new Error('x'), 'text', null, undefined, new NerveError('timeout', 'x', { retry: 'later' })]) {
      expect(isHopeless(other)).toBe(false)
    }
  })

  it('about waiting', () => {
    const quota = (data: Record<string, unknown>): NerveError =>
      new NerveError('quota', 'slow', { retry: 'pause', data })
    expect(parkUntil(quota({ until: 99 }), 10)).toBe(99)
    expect(parkUntil(quota({ retryAfter: '5s' }), 10)).toBe(5_010)
    expect(parkUntil(quota({}), 10)).toBeUndefined()
    expect(parkUntil(new Error('x'), 10)).toBeUndefined()
    expect(parkUntil('text', 10)).toBeUndefined()
  })

  it('about waiting, never to ask again at once', () => {
    const quota = (data: Record<string, unknown>): NerveError =>
      new NerveError('quota', 'slow', { retry: 'pause', data })
    const now = Date.UTC(2026, 0, 1)
    for (const data of [{ until: now }, { until: now - 60_000 }, { retryAfter: 0 }, { retryAfter: '0s' }])
      expect(parkUntil(quota(data), now)).toBe(now + 1_000)
    const seconds = now / 1_000 + 60
    for (const data of [{ until: Number.NaN }, { until: Infinity }, { until: seconds }, { retryAfter: 'soon' }]) {
      const thrown = quota(data)
      expect(parkUntil(thrown, now)).toMatchObject({ code: 'bad-duration', retry: 'later', cause: thrown })
    }
  })
})
