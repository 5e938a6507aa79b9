/** What children spend is their parent's too, however they end: it is counted once, and inside every budget above. */
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { RecordingStore } from '../properties/recording-store.ts'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

const pays = workflow('pays', async (ctx, usd: number) => {
  await ctx.step('pay', ({ usage }) => usage({ usd }))
  await ctx.waitFor('never')
})

function typesIn({ commits }: RecordingStore): string[][] {
  return commits.map((batch) =>
    batch.flatMap(({ rows }) => rows.map((row) => (JSON.parse(row.data) as { type: string }).type)),
  )
}

function commitOf(store: RecordingStore, type: string): number {
  return typesIn(store).findIndex((types) => types.includes(type))
}

describe('what a child that was open when its parent ended has spent', () => {
  it('is in its parent, and in every budget above', async () => {
    const { host, clock } = await openStage()
    let paid = 0
    const payer = workflow('payer', async (ctx) => {
      await ctx.step('pay', ({ reserve, usage }) => {
        reserve({ usd: 5 })
        paid += 5
        usage({ usd: 5 })
      })
      await ctx.waitFor('never')
    })
    const fails = workflow('fails', async (ctx) => {
      await ctx.sleep('1m')
      throw new Error('no')
    })
    const middle = workflow('middle', (ctx) =>
      ctx.all([() => ctx.child(payer, undefined), () => ctx.child(fails, undefined)]),
    )
    const top = workflow('top', { budget: { usd: 7 } }, async (ctx) => {
      for (let i = 0; i < 3; i += 1) await ctx.child(middle, undefined).catch(() => undefined)
    })
    const run = await host.start(top)
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
    expect(paid).toBe(5)
    expect((await host.run(run.id)).usage).toMatchObject({ usd: 5, steps: 1 })
  })

  it.each(['completed', 'failed', 'cancelled'])('is known of a parent that is %s, below it too', async (status) => {
    const { host } = await openStage()
    const go = gate()
    const middle = workflow('middle', async (ctx) => {
      await ctx.step('own', ({ usage }) => usage({ usd: 1 }))
      await ctx.child(pays, 5)
    })
    const reached: unknown[] = []
    const parent = workflow('parent', async (ctx) => {
      const left = async (): Promise<void> => {
        reached.push(await ctx.child(middle, undefined).catch((error: unknown) => error))
        await ctx.step('later', () => reached.push('later'))
      }
      left().catch((error: unknown) => reached.push(error))
      await go.promise
      if (status === 'failed') throw new Error('no')
    })
    const run = await host.start(parent)
    await until(async () => (await host.runs({ children: true })).some(({ definition }) => definition === 'pays'))
    await quiet()
    if (status === 'cancelled') await run.cancel()
    go.resolve()
    await run.result().catch(() => undefined)
    await quiet()
    const rows = await host.runs({ children: true })
    expect(rows.map((row) => [row.definition, row.status, row.usage.usd])).toEqual([
      ['pays', 'cancelled', 5],
      ['middle', 'cancelled', 6],
      ['parent', status, 6],
    ])
    if (status === 'cancelled') return
    // The code that was left behind gets no further, now and in a replay.
    expect(reached).toEqual([])
    expect((await host.replay(run.id)).same).toBe(true)
    expect(reached).toEqual([])
  })

  it('is known when nobody drove the run that was cancelled', async () => {
    const first = await openStage()
    const parent = workflow('parent', (ctx) => ctx.child(pays, 5))
    const run = await first.host.start(parent)
    await run.rest()
    await first.host.close()
    const { host } = await openStage({ store: first.store })
    await (await host.handle(run.id)).cancel()
    const rows = await host.runs({ children: true })
    expect(rows.map(({ status, usage }) => [status, usage.usd])).toEqual([
      ['cancelled', 5],
      ['cancelled', 5],
    ])
  })

  it('is known when the process died after the cancel', async () => {
    const store = new RecordingStore()
    const { host } = await openStage({ store })
    const parent = workflow('parent', (ctx) => ctx.all([() => ctx.child(pays, 5), () => gate().promise]))
    const run = await host.start(parent)
    await until(async () => (await host.runs({ children: true }))[0]?.usage.usd === 5)
    await run.cancel()
    const left = await store.crashedAfter(commitOf(store, 'cancel-requested') + 1)
    const next = await openStage({ store: left, definitions: [parent] })
    await until(async () => (await next.host.run(run.id)).status === 'cancelled')
    expect((await next.host.run(run.id)).usage.usd).toBe(5)
  })
})

it('a cancelled child that the code waited for is its own, in replays and forks too', async () => {
  const { host } = await openStage()
  const parent = workflow('parent', (ctx) => ctx.child(pays, 5).catch(() => 'without'))
  const run = await host.start(parent)
  await run.rest()
  const child = (await host.runs({ children: true })).find(({ definition }) => definition === 'pays')?.run ?? ''
  await (await host.handle(child)).cancel()
  expect(await run.result()).toBe('without')
  expect((await host.replay(run.id)).same).toBe(true)
  const changed = workflow('parent', (ctx) => ctx.child(pays, 5).catch(() => 'changed'))
  expect((await host.replay(run.id, changed)).same).toBe(false)
  expect(await (await run.fork()).result()).toBe('without')
  expect(await host.runs({ children: true })).toHaveLength(3)
})

describe('what a child in a lost branch has spent', () => {
  it('is counted once when its process died before it had ended', async () => {
    const store = new RecordingStore()
    const { host, clock } = await openStage({ store })
    const racing = workflow('racing', async (ctx) => {
      await ctx.race([() => ctx.child(pays, 5), () => ctx.sleep('1m')])
      await ctx.sleep('1h')
      await ctx.step('more', () => 1)
      return ctx.usage().spent.usd
    })
    const run = await host.start(racing)
    await run.rest()
    clock.advance(60_000)
    await until(async () => (await host.journal(run.id)).some(({ event }) => event.type === 'race-decided'))
    const decided = commitOf(store, 'race-decided')
    expect(typesIn(store)[decided]).not.toContain('child-ended')
    const left = await store.crashedAfter(decided + 1)
    const next = await openStage({ store: left, definitions: [racing, pays] })
    expect(await timePasses(next.clock, (await next.host.handle(run.id)).result())).toBe(5)
    expect((await next.host.run(run.id)).usage.usd).toBe(5)
  })
})

describe('the spent budget of a child', () => {
  it('is raised by what the error of its parent says', async () => {
    const { host, store } = await openStage()
    const child = workflow('child', { budget: { steps: 1 } }, async (ctx) => {
      await ctx.step('a', () => 1)
      return ctx.step('b', () => 2)
    })
    const middle = workflow('middle', (ctx) => ctx.child(child, undefined))
    const run = await host.start(workflow('top', { budget: { steps: 9 } }, (ctx) => ctx.child(middle, undefined)))
    const error = await rejection(run.result())
    const spender = (await host.runs({ children: true })).find(({ definition }) => definition === 'child')?.run ?? ''
    expect(error.data).toMatchObject({ run: run.id, of: spender, dimension: 'steps' })
    expect(error.message).toContain(`nerve resume ${spender} --budget steps=N`)
    const other = await openStage({ store, recover: false })
    expect((await rejection((await other.host.handle(run.id)).result())).message).toBe(error.message)
    await (await host.handle(spender)).resume({ budget: { steps: 2 } })
    expect(await run.result()).toBe(2)
  })

  it('is named to the call that finds no room', async () => {
    const { host } = await openStage()
    const told: unknown[] = []
    const child = workflow('child', { budget: { usd: 1 } }, (ctx) =>
      ctx.step('pay', ({ reserve }) => {
        try {
          reserve({ usd: 2 })
        } catch (error) {
          told.push(error)
          throw error
        }
      }),
    )
    const run = await host.start(workflow('top', (ctx) => ctx.child(child, undefined)))
    await rejection(run.result())
    const spender = (await host.runs({ children: true })).find(({ definition }) => definition === 'child')?.run ?? ''
    expect((told[0] as Error).message).toContain(`nerve resume ${spender} --budget usd=N`)
  })
})
