/** The small version of many-runs.long.test.ts. */
import { afterEach, expect, test } from 'vitest'
import { finishRuns, startLoadedDaemon, type LoadedDaemon } from './loaded-daemon.ts'

let daemon: LoadedDaemon | undefined
afterEach(() => daemon?.end())

test('runs that have ended leave nothing in the memory of the daemon', async () => {
  daemon = await startLoadedDaemon()
  await finishRuns(daemon, 150)
  const early = await daemon.memory()
  await finishRuns(daemon, 350)
  const late = await daemon.memory()
  // One run that stays is several thousand bytes; code that was compiled in between is some hundred.
  expect((late.heapUsed - early.heapUsed) / 350).toBeLessThan(2_000)
  expect(daemon.problems()).toEqual([])
}, 60_000)
