import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { LONGEST_CURSOR } from '../contract/place.ts'
import { Cursors } from './cursors.ts'

it('keeps every place that a feed gives, also one that names thousands of runs', () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-cursors-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const onProblem = (error: unknown): void => expect.unreachable(String(error))
  const open = (): Cursors => new Cursors(join(dir, '.nerve', 'notified.json'), ['desktop'], onProblem)
  const long = `0${'~1m7jwn4vjzzjeppf:3'.repeat(10_000)}`
  expect(long.length).toBeLessThan(LONGEST_CURSOR)
  const before = open()
  before.reach('desktop', '0', true)
  before.reach('desktop', long, true)
  expect(open().get('desktop')).toBe(long)
})
