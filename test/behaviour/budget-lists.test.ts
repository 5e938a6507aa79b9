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

it('lists follow a run that runs, a second behind at most, also for other processes', async () => {
  const { host, store, clock } = await openStage()
  const [second, third] = [gate(), gate()]
  const busy = workflow('busy', async (ctx) => {
    await ctx.step('first', ({ usage }) => usage({ usd: 0.5 }))
    await ctx.step('second', () => second.promise)
    await ctx.step('third', () => third.promise)
  })
  const run = await host.start(busy)
  await until(async () => (await host.journal(run.id)).some(({ event }) => event.type === 'step-started'))
  clock.advance(1_000)
  second.resolve()
  await until(
    async () => (await host.journal(run.id)).filter(({ event }) => event.type === 'step-completed').length === 2,
  )
  expect((await store.find(run.id))?.head).toMatchObject({ status: 'running', steps: 2, usage: { usd: 0.5 } })
  third.resolve()
  await run.result()
})
