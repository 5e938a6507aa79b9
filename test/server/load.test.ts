/** The small version of load.long.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fanOut, finishRuns, startLoadedServer, type LoadedServer } from './load.ts'

let server: LoadedServer
beforeAll(async () => {
  server = await startLoadedServer()
})
afterAll(() => server.end())

it('every subscriber gets every event once, in order', async () => {
  const { events, memory } = await fanOut(server, { subscribers: 50, runs: 20, steps: 5, ms: 5 })
  expect(events).toBeGreaterThanOrEqual(20 * 7)
  expect(memory.problems).toEqual([])
})

it('runs that have ended leave nothing in memory', async () => {
  await finishRuns(server, 150)
  const early = await server.memory()
  await finishRuns(server, 350)
  const late = await server.memory()
  // One run that stays is several thousand bytes; code that was compiled in between is some hundred.
  expect((late.heapUsed - early.heapUsed) / 350).toBeLessThan(2_000)
  expect(late.problems).toEqual([])
})
