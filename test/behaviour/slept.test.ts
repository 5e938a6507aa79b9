/** A laptop that is closed in the middle of a step: nobody works meanwhile. */
import { expect, it } from 'vitest'
import { workflow } from 'nerve'
import { SimulatedClock } from 'nerve/testing'
import { gate, openStage, quiet } from './stage.ts'

const HOUR = 3_600_000

class SleepyClock extends SimulatedClock {
  readonly #sleep: { readonly from: number; readonly to: number }

  constructor() {
    super(0)
    this.#sleep = { from: 40_000, to: 40_000 + 8 * HOUR }
  }

  slept(from: number, to: number): number {
    return Math.max(0, Math.min(to, this.#sleep.to) - Math.max(from, this.#sleep.from))
  }
}

it('what it slept through is not spent, and stops no step', async () => {
  const clock = new SleepyClock()
  const { host } = await openStage({ clock })
  const work = gate<string>()
  const long = workflow('long', { budget: { seconds: 100 } }, (ctx) => ctx.step('work', () => work.promise))
  const run = await host.start(long)
  await quiet()
  clock.advance(8 * HOUR)
  await quiet()
  clock.advance(50_000)
  work.resolve('done')
  expect(await run.result()).toBe('done')
  expect((await host.run(run.id)).usage.seconds).toBe(50)
})
