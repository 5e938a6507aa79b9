/** The small version of many-runs.long.test.ts. */
import { afterEach, expect, test } from 'vitest'
import { finishRuns, startLoadedDaemon, type LoadedDaemon } from './loaded-daemon.ts'

let daemon: LoadedDaemon | undefined
afterEach(() => daemon?.end())

const ROUNDS = 4
const RUNS = 150

test('runs that have ended leave nothing in the memory of the daemon', async () => {
  daemon = await startLoadedDaemon()
  await finishRuns(daemon, RUNS)
  const heaps = [(await daemon.memory()).heapUsed]
  for (let round = 0; round < ROUNDS; round += 1) {
    await finishRuns(daemon, RUNS)
    heaps.push((await daemon.memory()).heapUsed)
  }
  const grown = heaps.slice(1).map((heap, round) => (heap - (heaps[round] ?? 0)) / RUNS)
  // Code that is compiled for the first time comes in some rounds; what runs leave would come in every one, some thousand bytes each.
  expect(Math.min(...grown), `bytes a run, round by round: ${grown.map(Math.round).join(', ')}`).toBeLessThan(1_000)
  expect(daemon.problems()).toEqual([])
}, 60_000)
