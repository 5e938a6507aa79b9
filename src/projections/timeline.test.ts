import { describe, expect, it } from 'vitest'
import type { JournalEvent } from '../journal/events.ts'
import { timelineOf } from './timeline.ts'

const ERROR = { name: 'Error', message: 'broken' }
const CREATED: JournalEvent = { type: 'run-created', format: 1, definition: 'd', root: 'r', depth: 0 }

/** The item at a path after these events, each ten milliseconds after the one before. */
function item(path: string, ...events: readonly JournalEvent[]) {
  const timeline = timelineOf([CREATED, ...events].map((event, index) => ({ event, time: index * 10 })))
  return timeline.items.get(path)
}

describe('a timeline', () => {
  it('follows a step through its attempts', () => {
    const started: JournalEvent = { type: 'step-started', path: 'a', after: 'z', attempt: 1 }
    const failed: JournalEvent = {
      type: 'step-failed',
      path: 'a',
      attempt: 1,
      started: 10,
      error: ERROR,
      final: false,
      retryAt: 99,
      usage: { tokens: 2, window: 0.5 },
    }
    const done: JournalEvent = {
      type: 'step-completed',
      path: 'a',
      attempt: 2,
      started: 30,
      output: 7,
      usage: { tokens: 3, window: 0.2 },
    }
    expect(item('a', started)).toMatchObject({ status: 'running', kind: 'step', attempt: 1, started: 10, after: 'z' })
    expect(item('a', started, failed)).toMatchObject({ status: 'retrying', until: 99, error: ERROR })
    expect(item('a', started, failed, { ...started, attempt: 2 })).toMatchObject({ status: 'running', attempt: 2 })
    const ended = item('a', started, failed, { ...started, attempt: 2 }, done)
    expect(ended).toMatchObject({
      status: 'completed',
      attempt: 2,
      started: 10,
      ended: 40,
      output: 7,
      usage: { tokens: 5, window: 0.5 },
    })
    expect(ended).not.toHaveProperty('error')
    expect(ended).not.toHaveProperty('until')
  })

  it('says how steps end otherwise', () => {
    const failed = { type: 'step-failed', path: 'a', attempt: 1, started: 0, error: ERROR, final: true } as const
    expect(item('a', failed)).toMatchObject({ status: 'failed', error: ERROR })
    expect(item('a', failed, { type: 'step-skipped', path: 'a', error: ERROR, value: 1 })).toMatchObject({
      status: 'skipped',
      output: 1,
    })
    const stopped = { type: 'step-stopped', path: 'a', attempt: 1 } as const
    expect(item('a', { ...stopped, reason: 'scope' })?.status).toBe('stopped')
    expect(item('a', { ...stopped, reason: 'quota', until: 77 })).toMatchObject({ status: 'waiting', until: 77 })
  })

  it('shows waits while they wait, and how they end', () => {
    const asked: JournalEvent = {
      type: 'question-asked',
      path: 'q',
      id: 'r-1',
      kind: 'ask',
      prompt: 'Well?',
      deadline: 50,
    }
    expect(item('q', asked)).toMatchObject({ kind: 'question', status: 'waiting', text: 'Well?', until: 50 })
    expect(item('q', asked, { type: 'question-answered', path: 'q', id: 'r-1', value: 'yes' })).toMatchObject({
      status: 'completed',
      output: 'yes',
    })
    expect(item('q', asked, { type: 'question-expired', path: 'q', id: 'r-1', action: 'fail' })?.status).toBe('failed')
    expect(item('q', asked, { type: 'question-withdrawn', path: 'q', id: 'r-1' })?.status).toBe('stopped')
    const timer: JournalEvent = { type: 'timer-set', path: 's', until: 60 }
    expect(item('s', timer)).toMatchObject({ kind: 'timer', status: 'waiting', until: 60 })
    expect(item('s', timer, { type: 'timer-fired', path: 's' })?.status).toBe('completed')
    const wait: JournalEvent = { type: 'wait-started', path: 'w', name: 'go' }
    expect(item('w', wait)).toMatchObject({ kind: 'signal', status: 'waiting', text: 'go' })
    expect(item('w', wait, { type: 'signal-taken', path: 'w', name: 'go', signal: 1, value: 3 })).toMatchObject({
      status: 'completed',
      output: 3,
    })
    expect(item('w', wait, { type: 'wait-expired', path: 'w' })?.status).toBe('failed')
  })

  it('shows outcomes that a fork has taken over without what led to them, and signals that were there already', () => {
    expect(item('q', { type: 'question-answered', path: 'q', id: 'r-1', value: 'yes', after: 'a' })).toMatchObject({
      kind: 'question',
      status: 'completed',
      output: 'yes',
      started: 10,
      ended: 10,
      after: 'a',
    })
    expect(item('s', { type: 'timer-fired', path: 's' })).toMatchObject({ kind: 'timer', status: 'completed' })
    expect(item('w', { type: 'signal-taken', path: 'w', name: 'go', signal: 1, value: 3 })).toMatchObject({
      kind: 'signal',
      text: 'go',
      output: 3,
    })
    expect(item('c', { type: 'child-ended', path: 'c', child: 'r2', status: 'completed', output: 5 })).toMatchObject({
      kind: 'child',
      child: 'r2',
      status: 'completed',
      output: 5,
    })
  })

  it('shows groups, children, checkpoints and what was emitted', () => {
    expect(item('all', { type: 'scope-opened', path: 'all', kind: 'all', size: 3 })).toMatchObject({
      kind: 'scope',
      text: 'all',
      size: 3,
      status: 'running',
    })
    const race: JournalEvent = { type: 'scope-opened', path: 'race', kind: 'race', size: 2 }
    expect(item('race', race, { type: 'race-decided', path: 'race', winner: 1 })).toMatchObject({
      status: 'completed',
      output: 1,
    })
    const child: JournalEvent = { type: 'child-started', path: 'c', child: 'r2', definition: 'other' }
    expect(item('c', child)).toMatchObject({ kind: 'child', child: 'r2', text: 'other', status: 'running' })
    expect(
      item('c', child, { type: 'child-ended', path: 'c', child: 'r2', status: 'completed', output: 5 }),
    ).toMatchObject({ status: 'completed', output: 5 })
    expect(
      item('c', child, { type: 'child-ended', path: 'c', child: 'r2', status: 'failed', error: ERROR }),
    ).toMatchObject({ status: 'failed', error: ERROR })
    expect(
      item('c', child, { type: 'child-ended', path: 'c', child: 'r2', status: 'cancelled', error: ERROR })?.status,
    ).toBe('stopped')
    expect(item('k', { type: 'checkpoint-recorded', path: 'k', name: 'half', data: 1 })).toMatchObject({
      kind: 'checkpoint',
      text: 'half',
      output: 1,
    })
    expect(item('e', { type: 'emitted', path: 'e', name: 'note', data: 2 })).toMatchObject({
      kind: 'event',
      text: 'note',
      output: 2,
    })
    expect(
      item('map/0', { type: 'step-completed', path: 'map/0', attempt: 1, started: 0, kind: 'item', output: 1 })?.kind,
    ).toBe('item')
  })

  it('leaves nothing running when the run has ended', () => {
    const open: JournalEvent[] = [
      { type: 'scope-opened', path: 'all', kind: 'all', size: 2 },
      { type: 'step-started', path: 'all/0/a', attempt: 1 },
      { type: 'timer-set', path: 's', until: 1 },
    ]
    const statuses = (end: JournalEvent): unknown => {
      const timeline = timelineOf([CREATED, ...open, end].map((event, index) => ({ event, time: index })))
      return [timeline.status, timeline.ended, ...[...timeline.items.values()].map((one) => one.status)]
    }
    expect(statuses({ type: 'run-completed', failures: 0 })).toEqual([
      'completed',
      4,
      'completed',
      'stopped',
      'stopped',
    ])
    expect(statuses({ type: 'run-completed', failures: 1 })).toEqual([
      'completed-with-failures',
      4,
      'completed',
      'stopped',
      'stopped',
    ])
    expect(statuses({ type: 'run-failed', error: ERROR })).toEqual(['failed', 4, 'completed', 'stopped', 'stopped'])
    expect(statuses({ type: 'run-cancelled' })).toEqual(['cancelled', 4, 'stopped', 'stopped', 'stopped'])
  })
})
