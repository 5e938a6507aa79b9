import { describe, expect, it } from 'vitest'
import type { JournalEvent } from './events.ts'
import { callKind, isBeside, isOutcome, outcomesOf, recoveryPath, withoutEnd } from './outcomes.ts'

const DONE = { attempt: 1, started: 0 }
const ERROR = { name: 'Error', message: 'broken' }

function at(...events: readonly JournalEvent[]): Record<string, string> {
  const { at: found } = outcomesOf(events.map((event, index) => ({ run: 'r', seq: index + 1, time: 1, event })))
  return Object.fromEntries([...found].map(([path, event]) => [path, event.type]))
}

describe('outcomes', () => {
  it('are the last word on each path', () => {
    expect(
      at(
        { type: 'run-created', format: 1, definition: 'd', root: 'r', depth: 0 },
        { type: 'step-started', path: 'a', attempt: 1 },
        { type: 'step-failed', path: 'a', ...DONE, error: ERROR, final: false, retryAt: 5 },
        { type: 'step-started', path: 'a', attempt: 2 },
        { type: 'step-completed', path: 'a', ...DONE },
        { type: 'step-started', path: 'b', attempt: 1 },
        { type: 'question-asked', path: 'q', id: 'r-7', kind: 'ask', prompt: '?' },
        { type: 'signal-received', name: 'go' },
      ),
    ).toEqual({ a: 'step-completed', b: 'step-started', q: 'question-asked' })
  })

  it('forget what was withdrawn, what stopped with its branch, and what a plan forgets', () => {
    const asked: JournalEvent = { type: 'question-asked', path: 'q', id: 'r-1', kind: 'ask', prompt: '?' }
    expect(at(asked, { type: 'question-withdrawn', path: 'q', id: 'r-1' })).toEqual({})
    expect(at({ type: 'wait-started', path: 'w', name: 'go' }, { type: 'wait-withdrawn', path: 'w' })).toEqual({})
    for (const reason of ['scope', 'cancel'] as const) {
      expect(
        at({ type: 'step-started', path: 'a', attempt: 1 }, { type: 'step-stopped', path: 'a', attempt: 1, reason }),
      ).toEqual({})
    }
    const done: JournalEvent = { type: 'step-completed', path: 'a', ...DONE }
    expect(at(done, { ...done, path: 'b' }, { type: 'plan-accepted', forget: ['a'], ignore: ['b'] })).toEqual({
      b: 'step-completed',
    })
    expect(
      outcomesOf([{ run: 'r', seq: 1, time: 1, event: { type: 'plan-accepted', forget: [], ignore: ['b'] } }]).ignored,
    ).toEqual(new Set(['b']))
  })

  it('keep the number of an attempt that a budget or a quota stopped', () => {
    for (const reason of ['budget', 'quota'] as const) {
      const until = reason === 'quota' ? { until: 9 } : {}
      expect(
        at(
          { type: 'step-started', path: 'a', attempt: 2 },
          { type: 'step-stopped', path: 'a', attempt: 2, reason, ...until },
        ),
      ).toEqual({ a: 'step-stopped' })
    }
  })

  it('tell what a replay need not do again', () => {
    const failed = { type: 'step-failed', path: 'a', ...DONE, error: ERROR } as const
    expect([isOutcome({ ...failed, final: true }), isOutcome({ ...failed, final: false })]).toEqual([true, false])
    expect(isOutcome({ type: 'timer-fired', path: 't' })).toBe(true)
    expect(isOutcome({ type: 'timer-set', path: 't', until: 1 })).toBe(false)
    expect(isOutcome({ type: 'run-paused' })).toBe(false)
    expect(callKind({ type: 'timer-set', path: 't', until: 1 })).toBe('timer')
    expect(callKind({ type: 'run-paused' })).toBeUndefined()
  })

  it('about a lost attempt lie beside its step', () => {
    expect(recoveryPath('map/0/send', 2)).toBe('map/0/send/#recovery-2')
    expect([isBeside(recoveryPath('send', 1)), isBeside('send'), isBeside('send#2')]).toEqual([true, false, false])
  })

  it('without the end lack the children that ended with the run, and those alone', () => {
    const child = (path: string, more: { readonly unawaited?: true } = {}): JournalEvent => {
      return { type: 'child-ended', path, child: path, status: 'cancelled', ...more }
    }
    const paths = (...events: readonly JournalEvent[]): string[] =>
      withoutEnd(events.map((event, index) => ({ run: 'r', seq: index + 1, time: 1, event }))).map(({ event }) =>
        'path' in event ? `${event.path}` : event.type,
      )
    const started: JournalEvent = { type: 'child-started', path: 's', child: 's', definition: 'd' }
    const end: JournalEvent = { type: 'run-completed', failures: 0 }
    expect(paths(started, child('a'), child('b', { unawaited: true }), end)).toEqual(['s', 'a'])
    expect(paths(end)).toEqual([])
  })
})
