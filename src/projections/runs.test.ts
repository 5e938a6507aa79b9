import { describe, expect, it } from 'vitest'
import type { OwnedHead, RunHead } from '../journal/port.ts'
import { inboxRows, runRow } from './runs.ts'

function owned(more: Partial<RunHead> = {}, owner: OwnedHead['owner'] = { host: 'h1', epoch: 1 }): OwnedHead {
  const head: RunHead = {
    run: 'r',
    root: 'r',
    definition: 'd',
    status: 'running',
    created: 1,
    updated: 1,
    questions: [],
    signals: [],
    usage: {},
    failures: 0,
    steps: 0,
    ...more,
  }
  return { head, owner }
}

describe('a row', () => {
  it('says crashed of a run that runs and that nobody drives', () => {
    expect(runRow(owned(), true)).toMatchObject({ status: 'running', owner: 'h1' })
    expect(runRow(owned(), false).status).toBe('crashed')
    expect(runRow(owned({ status: 'queued' }), false).status).toBe('crashed')
    expect(runRow(owned(), false).owner).toBeUndefined()
  })

  it('says queued of a run that its host let go of', () => {
    const { head } = owned()
    expect(runRow({ head, owner: undefined }, false).status).toBe('queued')
  })

  it('says what the journal says of all others', () => {
    for (const status of ['waiting', 'paused', 'exhausted', 'completed', 'failed', 'cancelled'] as const) {
      expect(runRow(owned({ status }, undefined), false).status).toBe(status)
    }
  })
})

describe('the inbox', () => {
  it('has the questions of all runs, the oldest first', () => {
    const question = (id: string, asked: number) => ({ id, asked, path: 'ask', kind: 'ask' as const, prompt: id })
    const rows = inboxRows([
      owned({ run: 'a', questions: [question('a-1', 30), question('a-2', 10)] }),
      owned({ run: 'b', definition: 'e', questions: [question('b-1', 20)] }),
    ])
    expect(rows.map(({ id, run, definition }) => [id, run, definition])).toEqual([
      ['a-2', 'a', 'd'],
      ['b-1', 'b', 'e'],
      ['a-1', 'a', 'd'],
    ])
  })
})
