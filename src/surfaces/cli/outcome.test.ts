import { expect, it } from 'vitest'
import type { RunRow } from '../../host/api.ts'
import { outcomeOf } from './outcome.ts'

function row(run: string, parent: string | undefined, status: RunRow['status']): RunRow {
  const more = parent === undefined ? {} : { parent }
  const count = { steps: 0, failures: 0, usage: {}, questions: [], signals: [] }
  return { run, definition: run, status, created: 0, updated: 0, root: 'top', ...count, ...more }
}

it('the budget to raise is that of the lowest run that is exhausted', () => {
  const nothing = { end: undefined, plan: undefined }
  const top = row('top', undefined, 'exhausted')
  const below = [
    row('done', 'top', 'completed'),
    row('middle', 'top', 'exhausted'),
    row('child', 'middle', 'exhausted'),
  ]
  expect(outcomeOf(top, [top, ...below], nothing).spender?.run).toBe('child')
  expect(outcomeOf(top, [top, row('idle', 'top', 'running')], nothing).spender).toBeUndefined()
})
