/** Ten thousand runs in one daemon. What came out last is in docs/long-tests.md. */
import { afterEach, expect, test } from 'vitest'
import { finishRuns, startLoadedDaemon, type LoadedDaemon } from './loaded-daemon.ts'

const MEGABYTE = 1_048_576

let daemon: LoadedDaemon | undefined
afterEach(() => daemon?.end())

test('ten thousand runs leave nothing in memory', async () => {
  daemon = await startLoadedDaemon()
  const began = Date.now()
  await finishRuns(daemon, 2_000)
  const early = await daemon.memory()
  await finishRuns(daemon, 8_000)
  const late = await daemon.memory()
  const grown = (late.heapUsed - early.heapUsed) / 8_000
  const megabytes = (bytes: number): string => (bytes / MEGABYTE).toFixed(1)
  console.log(
    `heap after 2,000 runs ${megabytes(early.heapUsed)} MB, after 10,000 ${megabytes(late.heapUsed)} MB: ` +
      `${grown.toFixed(0)} bytes a run; resident ${megabytes(early.rss)} and ${megabytes(late.rss)} MB, ` +
      `at most ${megabytes(late.peak)} MB; ${Math.round((Date.now() - began) / 1_000)} s`,
  )
  expect(daemon.problems()).toEqual([])
  expect(grown).toBeLessThan(100)
})
