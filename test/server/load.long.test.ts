/**
 * A thousand readers and two hundred runs at once; ten thousand runs in one process. What came out last is in
 * docs/long-tests.md.
 */
import { afterEach, expect, it } from 'vitest'
import { fanOut, finishRuns, startLoadedServer, type LoadedServer } from './load.ts'

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

it('ten thousand runs leave nothing in memory', async () => {
  server = await startLoadedServer()
  await finishRuns(server, 2_000)
  const early = await server.memory()
  await finishRuns(server, 8_000)
  const late = await server.memory()
  const grown = (late.heapUsed - early.heapUsed) / 8_000
  console.log(
    `heap after 2,000 runs ${(early.heapUsed / MEGABYTE).toFixed(1)} MB, after 10,000 ${(late.heapUsed / MEGABYTE).toFixed(1)} MB: ` +
      `${grown.toFixed(0)} bytes a run; at most ${Math.round(late.peak / MEGABYTE)} MB`,
  )
  expect(late.problems).toEqual([])
  expect(grown).toBeLessThan(100)
})
