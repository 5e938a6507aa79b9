/** A small version of what chaos.long.test.ts does at length. */
import { afterEach, expect, test } from 'vitest'
import { adding } from './adding.ts'
import { chaos } from './chaos.ts'
import { expectChaos } from './expect-chaos.ts'
import { stage, type Stage } from './stage.ts'

let here: Stage
afterEach(() => here.remove())

test('the daemon is killed while runs are at work and clients come and go: nothing is lost, nothing is doubled', async () => {
  here = stage({ 'adding.ts': adding })
  const seed = Number(process.env['NERVE_SEED'] ?? Date.now() % 100_000)
  const options = { runs: 10, steps: 40, kills: 3, seed }
  const report = await chaos(here, options)
  expect(report.answers, `NERVE_SEED=${seed}`).toBeGreaterThan(0)
  expectChaos(report, options)
}, 60_000)
