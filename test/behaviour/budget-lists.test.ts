/** What lists show of a run that can go no further. */
import { expect, it, onTestFinished } from 'vitest'
import { createHost, workflow, type Clock } from 'nerve'
import { MemoryStore, SimulatedClock } from 'nerve/testing'
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

it('lists say that a run works whose child has stopped waiting', async () => {
  const { host, store } = await openStage()
  const work = gate()
  const child = workflow('child', async (ctx) => {
    await ctx.ask('Well?')
    await ctx.step('work', () => work.promise)
  })
  const run = await host.start(workflow('parent', (ctx) => ctx.child(child, undefined)))
  await run.rest()
  expect((await host.run(run.id)).status).toBe('waiting')
  await host.answer((await host.inbox())[0]?.id ?? '', 'yes')
  await quiet()
  expect((await store.find(run.id))?.head.status).toBe('running')
  work.resolve()
  await run.result()
})

it('lists follow a run also when the clock is set back', async () => {
  let off = 0
  const simulated = new SimulatedClock()
  const clock: Clock = { now: () => simulated.now() - off, at: (at, call) => simulated.at(at + off, call) }
  const store = new MemoryStore()
  const host = await createHost({ store, clock })
  onTestFinished(() => host.close())
  const [first, second] = [gate(), gate()]
  const busy = workflow('busy', async (ctx) => {
    await ctx.step('first', () => first.promise)
    await ctx.step('second', () => second.promise)
  })
  const run = await host.start(busy)
  await until(async () => (await host.journal(run.id)).some(({ event }) => event.type === 'step-started'))
  off = 3_600_000
  simulated.advance(2_000)
  first.resolve()
  await until(async () => (await host.journal(run.id)).some(({ event }) => event.type === 'step-completed'))
  expect((await store.find(run.id))?.head).toMatchObject({ status: 'running', steps: 1 })
  second.resolve()
  await run.result()
})
