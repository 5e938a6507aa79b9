import { describe, expect, it } from 'vitest'
import type { JournalEvent } from '../journal/events.ts'
import { Bus, type Heard, type Subscription } from './bus.ts'

const step = (path: string): JournalEvent => ({ type: 'step-completed', path, attempt: 1, started: 0 })

function heard(wanted: Subscription, run = 'run-1'): string[] {
  const bus = new Bus((error) => {
    throw error
  })
  const found: string[] = []
  bus.subscribe(wanted, (one: Heard) => found.push('path' in one && one.path !== undefined ? one.path : one.type))
  for (const path of ['a', 'review/a', 'review/loop/a', 'a.b', 'axb'])
    bus.publish({ run, seq: 1, time: 1, event: step(path) })
  bus.publish({ run, seq: 2, time: 1, event: { type: 'run-paused' } })
  bus.part({ live: true, run, path: 'live', type: 'text-delta' })
  return found
}

const ALL = ['a', 'review/a', 'review/loop/a', 'a.b', 'axb', 'run-paused', 'live']

describe('a subscription', () => {
  const cases: readonly (readonly [Subscription, readonly string[]])[] = [
    [{}, ALL],
    [{ type: '*' }, ALL],
    [{ path: '**' }, ALL],
    [{ type: 'step-*' }, ALL.slice(0, 5)],
    [{ type: 'run-paused' }, ['run-paused']],
    [{ type: '*-delta' }, ['live']],
    [{ path: 'a' }, ['a']],
    [{ path: 'review/*' }, ['review/a']],
    [{ path: 'review/**' }, ['review/a', 'review/loop/a']],
    [{ path: '*/loop/*' }, ['review/loop/a']],
    [{ path: 'a.b' }, ['a.b']],
    [{ path: 'a.*' }, ['a.b']],
    [{ live: true }, ['live']],
    [{ live: false, path: 'l*' }, []],
    [{ run: 'run-1', path: 'a' }, ['a']],
    [{ run: 'run-2' }, []],
    [{ run: 'run-*', path: 'a' }, ['a']],
    [{ run: 'other-*' }, []],
  ]
  for (const [wanted, expected] of cases) {
    it(`to ${JSON.stringify(wanted)} hears ${expected.length}`, () => {
      expect(heard(wanted)).toEqual(expected)
    })
  }

  it('hears the event with its run, number and time', () => {
    const bus = new Bus(() => undefined)
    const found: Heard[] = []
    bus.subscribe({}, (one) => found.push(one))
    bus.publish({ run: 'r', seq: 7, time: 8, event: step('a') })
    expect(found).toEqual([{ ...step('a'), run: 'r', seq: 7, time: 8 }])
  })

  it('that fails or ends while others hear hurts nobody', () => {
    const errors: unknown[] = []
    const bus = new Bus((error) => errors.push(error))
    const found: string[] = []
    bus.subscribe({}, () => {
      throw new Error('mine')
    })
    const stop = bus.subscribe({}, () => {
      found.push('once')
      stop()
    })
    bus.subscribe({}, () => found.push('always'))
    for (let seq = 1; seq < 3; seq += 1) bus.publish({ run: 'r', seq, time: 1, event: step('a') })
    expect(found).toEqual(['once', 'always', 'always'])
    expect(errors).toHaveLength(2)
  })
})
