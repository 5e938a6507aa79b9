/** Fifty runs, clients of every kind, and a daemon that is killed fifty times. */
import { afterEach, expect, test } from 'vitest'
import { adding } from './adding.ts'
import { chaos } from './chaos.ts'
import { expectChaos } from './expect-chaos.ts'
import { stage, type Stage } from './stage.ts'

let here: Stage
afterEach(() => here.remove())

test.each([
  ['clients come and go', { runs: 50, steps: 200, kills: 0 }],
  ['and the daemon is killed fifty times', { runs: 50, steps: 300, kills: 50 }],
])('%s', async (_name, sizes) => {
  here = stage({ 'adding.ts': adding })
  const seed = Number(process.env['NERVE_SEED'] ?? Date.now() % 100_000)
  const options = { ...sizes, seed }
  const began = Date.now()
  const report = await chaos(here, options)
  expectChaos(report, options)
  const visits = report.clients.map(({ name, visits: count }) => `${name} ${count()}`).join(', ')
  const events = [...report.journals.values()].reduce((sum, entries) => sum + entries.length, 0)
  const counts = report.unfinished.map((one) => one.runs)
  const working = report.unfinished.filter(({ atWork }) => atWork > 0).length
  const left =
    counts.length === 0
      ? ''
      : ` (with ${Math.min(...counts)} to ${Math.max(...counts)} runs unfinished, at work ${working} times)`
  console.log(
    `seed ${seed}: ${report.outputs.length} runs right, ${events} events, ${report.unfinished.length} kills${left}, ${report.answers} answers, ` +
      `clients came back: ${visits}, ${Math.round((Date.now() - began) / 1000)} s`,
  )
  expect(report.outputs).toHaveLength(sizes.runs)
})
