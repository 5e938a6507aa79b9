/** The small version of load.long.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fanOut, startLoadedServer, type LoadedServer } from './load.ts'

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
