import { expect, test } from 'vitest'
import type { RunEvent } from '../../host/api.ts'
import { eventLine } from './event-lines.ts'
import { Progress } from './progress.ts'

test('an event of a newer daemon, of a type that is not known here, is shown by its name', () => {
  const event = { type: 'dream-dreamt', path: 'night', run: 'r', seq: 2, time: 0 } as unknown as RunEvent
  expect(eventLine(event)).toMatch(/dream-dreamt +night$/)
  const progress = new Progress()
  progress.hear({ type: 'run-created', format: 1, definition: 'd', root: 'r', depth: 0, run: 'r', seq: 1, time: 0 })
  expect(progress.hear(event)).toBe(true)
})
