/** A thousand readers and two hundred runs at once. What came out last is in docs/long-tests.md. */
import { afterEach, expect, it } from 'vitest'
import { fanOut, startLoadedServer, type LoadedServer } from './load.ts'

const MEGABYTE = 1_048_576

let server: LoadedServer | undefined
afterEach(() => server?.end())

it('a thousand subscribers get every event of two hundred runs once, in order', async () => {
  server = await startLoadedServer()
  const { events, deliveries, seconds, memory } = await fanOut(server, {
    subscribers: 1_000,
    runs: 200,
    steps: 5,
    ms: 100,
  })
  const cpu = (memory.cpu.user + memory.cpu.system) / deliveries
  console.log(
    `${events} events, ${deliveries} deliveries in ${seconds.toFixed(1)} s; ${cpu.toFixed(1)} µs of the server each; ` +
      `at most ${Math.round(memory.peak / MEGABYTE)} MB, ${Math.round(memory.heapUsed / MEGABYTE)} MB of heap left`,
  )
  expect(memory.problems).toEqual([])
  expect(memory.peak).toBeLessThan(1_000 * MEGABYTE)
  expect(memory.heapUsed).toBeLessThan(100 * MEGABYTE)
})
