/** Signals, messages and time. */
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

describe('a signal', () => {
  it('is taken by the wait for it, also when it came before the wait', async () => {
    const { host } = await openStage()
    const first = gate<string>()
    const waiting = workflow('waiting', async (ctx) => {
      await ctx.step('first', () => first.promise)
      const early = [await ctx.waitFor('go'), await ctx.waitFor('go')]
      return [...early, await ctx.waitFor('go')]
    })
    const run = await host.start(waiting)
    await run.signal('go', 1)
    await run.signal('other', 'not asked for')
    await run.signal('go', { n: 2 })
    first.resolve('done')
    expect(await run.rest()).toBe('waiting')
    expect((await host.run(run.id)).signals).toEqual(['go'])
    await run.signal('go')
    expect(await run.result()).toEqual([1, { n: 2 }, undefined])
  })

  it('goes to one of two waits for it, in their order', async () => {
    const { host } = await openStage()
    const run = await host.start(workflow('two', (ctx) => Promise.all([ctx.waitFor('go'), ctx.waitFor('go')])))
    await run.rest()
    await run.signal('go', 'first')
    await run.signal('go', 'second')
    expect(await run.result()).toEqual(['first', 'second'])
  })

  it('can be late, and then the wait says so', async () => {
    const { host, clock } = await openStage()
    const run = await host.start(
      workflow('late', async (ctx) => {
        const late = await ctx.waitFor('go', { deadline: '1m' }).catch((error: { code: string }) => error.code)
        return [late, await ctx.waitFor('go', { label: 'again' })]
      }),
    )
    await run.rest()
    clock.advance(60_000)
    await quiet()
    await run.signal('go', 'now')
    expect(await run.result()).toEqual(['deadline-passed', 'now'])
  })

  it('cannot be sent to a run that has ended, or to none', async () => {
    const { host } = await openStage()
    const run = await host.start(workflow('short', () => 1))
    await run.result()
    expect((await rejection(run.signal('go'))).code).toBe('run-ended')
    expect((await rejection(host.handle('nobody'))).code).toBe('not-found')
  })

  it('is refused when a journal cannot keep it, and the wait stays open', async () => {
    const { host } = await openStage()
    const run = await host.start(workflow('picky', (ctx) => ctx.waitFor('go')))
    await run.rest()
    expect((await rejection(run.signal('go', Symbol('no')))).code).toBe('bad-value')
    await run.signal('go', 'yes')
    expect(await run.result()).toBe('yes')
  })
})

describe('messages', () => {
  it('are taken once, in order, and replay as they were taken', async () => {
    const { host } = await openStage()
    const talking = workflow('talking', async (ctx) => {
      const before = await ctx.messages()
      await ctx.waitFor('go')
      return [before, await ctx.messages(), await ctx.messages()]
    })
    const run = await host.start(talking)
    await run.rest()
    await run.signal('message', 'one')
    await run.signal('message', { two: 2 })
    await run.signal('go')
    expect(await run.result()).toEqual([[], ['one', { two: 2 }], []])
    expect((await host.replay(run.id)).problems).toEqual([])
  })
})

describe('sleep', () => {
  it('lasts for months without a thread or a timeout that overflows', async () => {
    const { host, clock } = await openStage()
    const run = await host.start(
      workflow('patient', async (ctx) => {
        await ctx.sleep('90d')
        return ctx.now()
      }),
    )
    expect(await run.rest()).toBe('waiting')
    const began = clock.now()
    expect((await host.run(run.id)).wake).toBe(began + 90 * 86_400_000)
    clock.advance(89 * 86_400_000)
    await quiet()
    expect((await host.run(run.id)).status).toBe('waiting')
    clock.advance(86_400_000)
    expect(await run.result()).toBe(began + 90 * 86_400_000)
  })

  it('goes on where it was after a crash, not from the beginning', async () => {
    const first = await openStage()
    const patient = workflow('patient', async (ctx) => {
      await ctx.sleep('10h')
      return 'awake'
    })
    const run = await first.host.start(patient)
    await run.rest()
    first.clock.advance(6 * 3_600_000)
    await first.host.close()
    const second = await openStage({ store: first.store, clock: first.clock, definitions: [patient] })
    const again = await second.host.handle(run.id)
    second.clock.advance(4 * 3_600_000 - 1)
    await quiet()
    expect((await second.host.run(run.id)).status).toBe('waiting')
    second.clock.advance(1)
    expect(await again.result()).toBe('awake')
  })

  it('and now, random and uuid give on replay what they gave', async () => {
    const { host, clock } = await openStage()
    const seen: unknown[] = []
    const values = workflow('values', async (ctx) => {
      const made = [ctx.now(), ctx.random(), ctx.uuid(), ctx.now()]
      seen.push(made)
      await ctx.sleep('1h')
      return made
    })
    const run = await host.start(values)
    await run.rest()
    const result = timePasses(clock, run.result())
    await until(async () => (await host.run(run.id)).status === 'completed')
    expect((await host.replay(run.id)).same).toBe(true)
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(await result).toEqual(seen[0])
  })
})
