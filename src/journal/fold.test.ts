import { describe, expect, it } from 'vitest'
import type { EventType, JournalEvent } from './events.ts'
import { fold, foldAll, statusOf } from './fold.ts'
import { emptyState, type RunState } from './run-state.ts'
import { headOf, openQuestions, usageOf } from './head.ts'

const CREATED: JournalEvent = {
  type: 'run-created',
  format: 1,
  definition: 'demo',
  root: 'r',
  depth: 0,
  input: { a: 1 },
}
const ERROR = { name: 'Error', message: 'broken' }
const DONE = { attempt: 1, started: 0 }

/** The state after these events, each a second after the one before. */
function after(...events: readonly JournalEvent[]): RunState {
  return foldAll(
    'r',
    [CREATED, ...events].map((event, index) => ({ run: 'r', seq: index + 1, time: (index + 1) * 1_000, event })),
  )
}

const asked = (path: string, more: object = {}): JournalEvent => ({
  type: 'question-asked',
  path,
  id: `r-${path}`,
  kind: 'ask',
  prompt: 'Well?',
  ...more,
})

/** For each type: what it does to a run. A type that is missing here does not compile. */
const MEANING: { readonly [Type in EventType]: () => void } = {
  'run-created': () => {
    const budget = { usd: 1 }
    const parent = { run: 'p', path: 'child' }
    const state = foldAll('r', [
      {
        run: 'r',
        seq: 1,
        time: 7,
        event: {
          ...CREATED,
          budget,
          parent,
          params: { k: 1 },
          errorPolicy: 'skip',
          source: 'f.ts',
          durability: 'power',
        },
      },
    ])
    expect(state).toMatchObject({
      created: 7,
      definition: 'demo',
      input: { a: 1 },
      budget,
      parent,
      params: { k: 1 },
      errorPolicy: 'skip',
      source: 'f.ts',
      durability: 'power',
    })
    expect(statusOf(state)).toBe('running')
  },
  'scope-opened': () => expectNothing({ type: 'scope-opened', path: 'all', kind: 'all', size: 2 }),
  'race-decided': () => expectNothing({ type: 'race-decided', path: 'race', winner: 1 }),
  'value-recorded': () => expectNothing({ type: 'value-recorded', path: 'now', value: 1 }),
  emitted: () => expectNothing({ type: 'emitted', path: 'emit', name: 'x' }),
  'checkpoint-recorded': () => expectNothing({ type: 'checkpoint-recorded', path: 'c', name: 'x' }),
  'run-recovered': () => {
    const state = after(
      { type: 'step-started', path: 'a', attempt: 1 },
      { type: 'run-recovered', owner: 'h', epoch: 2 },
    )
    expect(state.inFlight.size).toBe(0)
  },
  'interrupt-requested': () => expectNothing({ type: 'interrupt-requested' }),
  'plan-accepted': () => expectNothing({ type: 'plan-accepted', forget: ['a'], ignore: [] }),
  'step-started': () => {
    const state = after({ type: 'step-started', path: 'a', attempt: 2, effect: 'once' })
    expect(state.inFlight.get('a')).toEqual({ attempt: 2, started: 2_000, effect: 'once' })
  },
  'step-completed': () => {
    const state = after(
      { type: 'step-started', path: 'a', attempt: 1 },
      { type: 'step-completed', path: 'a', ...DONE, usage: { usd: 0.5, tokens: 3, window: 0.4 }, active: 250 },
      { type: 'step-completed', path: 'map/0', ...DONE, kind: 'item' },
    )
    expect(state.inFlight.size).toBe(0)
    expect(state).toMatchObject({ steps: 1, usage: { steps: 1, usd: 0.5, tokens: 3, seconds: 0.25, window: 0.4 } })
  },
  'step-failed': () => {
    const failed = { type: 'step-failed', path: 'a', ...DONE, error: ERROR } as const
    const retrying = after({ ...failed, final: false, retryAt: 9_000, usage: { tokens: 1 } })
    expect(statusOf(retrying)).toBe('waiting')
    expect(retrying).toMatchObject({ failures: 0, usage: { steps: 1, tokens: 1 } })
    expect(headOf(retrying).wake).toBe(9_000)
    expect(after({ ...failed, final: true }).failures).toBe(1)
    expect(after({ ...failed, final: true, handled: 'skip' }).failures).toBe(0)
  },
  'step-skipped': () =>
    expect(after({ type: 'step-skipped', path: 'a', error: ERROR, value: 1 })).toMatchObject({ failures: 0, steps: 0 }),
  'step-kept': () => {
    const kept = { type: 'step-kept', path: 'a', attempt: 1, value: 'session 7' } as const
    const failed = { type: 'step-failed', path: 'a', ...DONE, error: ERROR } as const
    expect(after(kept, { ...kept, value: 'session 8' }).kept.get('a')).toBe('session 8')
    expect(after(kept, { ...failed, final: false }).kept.size).toBe(1)
    expect(after(kept, { type: 'run-recovered', owner: 'h', epoch: 2 }).kept.size).toBe(1)
    expect(after(kept, { ...failed, final: true }).kept.size).toBe(0)
    expect(after(kept, { type: 'step-skipped', path: 'a', error: ERROR }).kept.size).toBe(0)
    expect(after(kept, { type: 'step-completed', path: 'a', ...DONE }).kept.size).toBe(0)
  },
  'step-stopped': () => {
    const state = after({
      type: 'step-stopped',
      path: 'a',
      attempt: 1,
      reason: 'quota',
      until: 8_000,
      usage: { calls: 1 },
    })
    expect(state.waits.get('a')).toMatchObject({ kind: 'quota', until: 8_000, attempt: 1 })
    expect(state.usage.calls).toBe(1)
    expect(after({ type: 'step-stopped', path: 'a', attempt: 1, reason: 'scope' }).waits.size).toBe(0)
  },
  'timer-set': () => {
    const state = after({ type: 'timer-set', path: 'sleep', until: 5_000 })
    expect([statusOf(state), headOf(state).wake]).toEqual(['waiting', 5_000])
  },
  'timer-fired': () => expectEnded({ type: 'timer-set', path: 'a', until: 1 }, { type: 'timer-fired', path: 'a' }),
  'question-asked': () => {
    const state = after(asked('a', { deadline: 7_000 }), asked('b', { choices: ['x'] }))
    expect(openQuestions(state).map(({ id, asked: time }) => [id, time])).toEqual([
      ['r-a', 2_000],
      ['r-b', 3_000],
    ])
    expect(headOf(state)).toMatchObject({ status: 'waiting', wake: 7_000 })
    const lost = after(
      { type: 'step-started', path: 'send', attempt: 1, effect: 'once' },
      asked('send/#recovery-1', { kind: 'recovery' }),
    )
    expect(statusOf(lost)).toBe('waiting')
  },
  'question-answered': () => expectEnded(asked('a'), { type: 'question-answered', path: 'a', id: 'r-a', value: 1 }),
  'question-expired': () => expectEnded(asked('a'), { type: 'question-expired', path: 'a', id: 'r-a', action: 'fail' }),
  'question-withdrawn': () => expectEnded(asked('a'), { type: 'question-withdrawn', path: 'a', id: 'r-a' }),
  'wait-started': () => {
    const state = after({ type: 'wait-started', path: 'w', name: 'go', deadline: 4_000 })
    expect(headOf(state)).toMatchObject({ status: 'waiting', signals: ['go'], wake: 4_000 })
  },
  'wait-expired': () =>
    expectEnded({ type: 'wait-started', path: 'a', name: 'go' }, { type: 'wait-expired', path: 'a' }),
  'wait-withdrawn': () =>
    expectEnded({ type: 'wait-started', path: 'a', name: 'go' }, { type: 'wait-withdrawn', path: 'a' }),
  'signal-received': () => {
    const state = after(
      { type: 'signal-received', name: 'go', value: 1 },
      { type: 'signal-received', name: 'go', value: 2 },
    )
    expect(state.signals).toEqual([
      { seq: 2, name: 'go', value: 1 },
      { seq: 3, name: 'go', value: 2 },
    ])
  },
  'signal-taken': () => {
    const state = after(
      { type: 'wait-started', path: 'w', name: 'go' },
      { type: 'signal-received', name: 'go' },
      { type: 'signal-taken', path: 'w', name: 'go', signal: 3 },
    )
    expect([state.signals, state.waits.size]).toEqual([[], 0])
  },
  'messages-taken': () => {
    const message = { type: 'signal-received', name: 'message' } as const
    const state = after(message, { ...message, name: 'go' }, message, {
      type: 'messages-taken',
      path: 'm',
      signals: [2, 4],
      value: [],
    })
    expect(state.signals.map((signal) => signal.name)).toEqual(['go'])
  },
  'child-started': () => {
    const state = after(
      { type: 'child-started', path: 'c', child: 'r2', definition: 'd' },
      { type: 'timer-set', path: 's', until: 1 },
    )
    expect([statusOf(state), headOf(state, true).status]).toEqual(['running', 'waiting'])
  },
  'child-ended': () => {
    const state = after(
      { type: 'child-started', path: 'c', child: 'r2', definition: 'd' },
      { type: 'child-ended', path: 'c', child: 'r2', status: 'completed', usage: { steps: 3, usd: 2, seconds: 1 } },
    )
    expect([state.children.size, usageOf(state)]).toEqual([0, { steps: 3, usd: 2, seconds: 1 }])
  },
  'budget-warned': () =>
    expect(after({ type: 'budget-warned', dimension: 'usd', used: 8, limit: 10 }).warned).toEqual(new Set(['usd'])),
  'budget-exhausted': () =>
    expect(statusOf(after({ type: 'budget-exhausted', dimension: 'usd', used: 1, limit: 1 }))).toBe('exhausted'),
  'budget-raised': () => {
    const state = after(
      { type: 'budget-warned', dimension: 'usd', used: 8, limit: 10 },
      { type: 'budget-exhausted', dimension: 'usd', used: 1, limit: 1 },
      { type: 'budget-raised', budget: { usd: 5 } },
      { type: 'budget-raised', budget: { steps: 5 } },
    )
    expect([statusOf(state), state.budget, state.warned.size]).toEqual(['running', { usd: 5, steps: 5 }, 0])
  },
  'run-paused': () => {
    const state = after({ type: 'timer-set', path: 's', until: 1 }, { type: 'run-paused' })
    expect([statusOf(state), headOf(state).wake]).toEqual(['paused', undefined])
  },
  'run-resumed': () => expect(statusOf(after({ type: 'run-paused' }, { type: 'run-resumed' }))).toBe('running'),
  'cancel-requested': () => {
    const state = after({ type: 'timer-set', path: 's', until: 1 }, { type: 'cancel-requested' })
    expect([state.cancelRequested, statusOf(state)]).toEqual([true, 'running'])
  },
  'run-completed': () => {
    const state = after(asked('a'), { type: 'run-completed', failures: 0, output: 7 })
    expect(headOf(state)).toMatchObject({ status: 'completed', ended: 3_000, questions: [], signals: [] })
    expect(state.output).toBe(7)
    expect(statusOf(after({ type: 'run-completed', failures: 2 }))).toBe('completed-with-failures')
  },
  'run-failed': () => {
    const state = after({ type: 'run-failed', error: ERROR })
    expect(headOf(state)).toMatchObject({ status: 'failed', error: 'broken' })
  },
  'run-cancelled': () => expect(statusOf(after({ type: 'run-cancelled' }))).toBe('cancelled'),
}

/** The event changes nothing that lists show. */
/** Nothing but that lists may have to say when something last happened. */
function expectNothing(event: JournalEvent): void {
  const { seq: _seq, updated: _updated, headVersion: _version, ...before } = after()
  const { seq: _later, updated: _time, headVersion: _after, ...state } = after(event)
  expect(state).toEqual(before)
}

/** The second event ends the wait that the first began. */
function expectEnded(first: JournalEvent, second: JournalEvent): void {
  expect(statusOf(after(first))).toBe('waiting')
  const state = after(first, second)
  expect([state.waits.size, state.questions, headOf(state).wake]).toEqual([0, 0, undefined])
}

describe('the fold of', () => {
  // What each case asserts is in the table above.
  /* oxlint-disable vitest/expect-expect */
  for (const [type, check] of Object.entries(MEANING)) it(type, check)
  /* oxlint-enable vitest/expect-expect */
})

describe('a state', () => {
  it('is queued before its first event, and stays ended after its end', () => {
    expect(statusOf(emptyState('r'))).toBe('queued')
    const state = after({ type: 'run-failed', error: ERROR })
    for (const event of [
      { type: 'run-completed', failures: 0, output: 1 },
      { type: 'run-paused' },
      { type: 'run-cancelled' },
    ] as const)
      fold(state, 9, 9, event)
    expect([statusOf(state), state.output, state.ended]).toEqual(['failed', undefined, 2_000])
  })

  it('is about to end once it is cancelled, whatever held it back', () => {
    const cancel: JournalEvent = { type: 'cancel-requested' }
    expect(statusOf(after({ type: 'run-paused' }, cancel))).toBe('running')
    expect(statusOf(after({ type: 'budget-exhausted', dimension: 'usd', used: 1, limit: 1 }, cancel))).toBe('running')
    expect(statusOf(after(asked('a'), cancel))).toBe('running')
  })

  it('is busy while a step runs, and waits when only waits are open', () => {
    const state = after({ type: 'step-started', path: 'a', attempt: 1 }, asked('b'))
    expect(statusOf(state)).toBe('running')
    fold(state, 4, 4, { type: 'step-completed', path: 'a', ...DONE })
    expect(statusOf(state)).toBe('waiting')
  })

  it('counts a change of the head for every change that lists show', () => {
    const state = after()
    const changes: JournalEvent[] = [
      asked('a'),
      { type: 'question-answered', path: 'a', id: 'r-a' },
      { type: 'run-paused' },
      { type: 'run-resumed' },
      { type: 'timer-set', path: 't', until: 1 },
      { type: 'timer-fired', path: 't' },
    ]
    for (const [index, event] of changes.entries()) {
      const version = state.headVersion
      const { updated: _before, ...shown } = headOf(state)
      fold(state, index + 2, 0, event)
      const { updated: _after, ...now } = headOf(state)
      expect(now, event.type).not.toEqual(shown)
      expect(state.headVersion, event.type).toBeGreaterThan(version)
    }
  })

  it('counts a change of the head for everything that somebody does, so that lists say when that was', () => {
    const state = after()
    const done: JournalEvent[] = [
      { type: 'signal-received', name: 'go' },
      { type: 'interrupt-requested' },
      { type: 'plan-accepted', forget: [], ignore: [] },
      { type: 'budget-raised', budget: {} },
      { type: 'cancel-requested' },
    ]
    for (const [index, event] of done.entries()) {
      const version = state.headVersion
      fold(state, index + 2, 0, event)
      expect(state.headVersion, event.type).toBeGreaterThan(version)
    }
  })
})
