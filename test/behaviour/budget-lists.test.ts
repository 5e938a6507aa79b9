/** What lists show of a run that can go no further. */
import { expect, it } from 'vitest'
import { workflow } from 'nerve'
import { gate, openStage, quiet, until } from './stage.ts'

it.each(['exhausted', 'paused'] as const)('lists tell all that a run has spent that is %s', async (how) => {
  const { host } = await openStage()
  const slow = gate()
  const two = workflow('two', { budget: { tokens: 100 } }, (ctx) =>
    ctx.all([
      () =>
        ctx.step('slow', async ({ usage }) => {
          await slow.promise
          usage({ tokens: 30 })
        }),
      () => ctx.step('greedy', ({ reserve }) => (how === 'exhausted' ? reserve({ tokens: 200 }) : undefined)),
    ]),
  )
  const run = await host.start(two)
  if (how === 'exhausted') await until(async () => (await host.run(run.id)).status === 'exhausted')
  else await run.pause()
  slow.resolve()
  await until(async () =>
    (await host.journal(run.id)).some(({ event }) => event.type === 'step-completed' && event.path.includes('slow')),
  )
  await quiet()
  expect((await host.run(run.id)).usage.tokens).toBe(30)
})
