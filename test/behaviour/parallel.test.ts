/** Parallel means parallel. */
import { describe, expect, it } from 'vitest'
import { workflow, type Context } from 'nerve'
import { gate, openStage, quiet, timePasses, until } from './stage.ts'

const MS = 200

describe('four steps of 200 ms', () => {
  const ways: Readonly<Record<string, (ctx: Context<unknown>, work: () => Promise<number>) => Promise<unknown>>> = {
    all: (ctx, work) => ctx.all([0, 1, 2, 3].map((k) => () => ctx.step(`work-${k}`, work))),
    map: (ctx, work) => ctx.map([0, 1, 2, 3], () => ctx.step('work', work)),
    'Promise.all': (ctx, work) => Promise.all([0, 1, 2, 3].map(() => ctx.step('work', work))),
    children: (ctx, work) =>
      ctx.map([0, 1, 2, 3], () =>
        ctx.child(
          workflow('child', (inner) => inner.step('work', work)),
          undefined,
        ),
      ),
  }
  for (const [way, program] of Object.entries(ways)) {
    it(`take as long as one, with ${way}`, async () => {
      const { host, clock } = await openStage()
      const work = (): Promise<number> =>
        new Promise((resolve) => clock.at(clock.now() + MS, () => resolve(clock.now())))
      const began = clock.now()
      await timePasses(clock, (await host.start(workflow('parallel', (ctx) => program(ctx, work)))).result())
      expect(clock.now() - began).toBe(MS)
    })
  }

  it('take four times as long one after the other', async () => {
    const { host, clock } = await openStage()
    const work = (): Promise<void> => new Promise((resolve) => clock.at(clock.now() + MS, resolve))
    const began = clock.now()
    const serial = workflow('serial', (ctx) => ctx.map([0, 1, 2, 3], () => ctx.step('work', work), { concurrency: 1 }))
    await timePasses(clock, (await host.start(serial)).result())
    expect(clock.now() - began).toBe(4 * MS)
  })
})

describe('map', () => {
  it('runs at most so many items at once, in order, and gives results in the order of the items', async () => {
    const { host } = await openStage()
    const gates = Array.from({ length: 6 }, () => gate<string>())
    const started: number[] = []
    const bounded = workflow('bounded', (ctx) =>
      ctx.map(
        gates,
        (one, index) =>
          ctx.step('work', () => {
            started.push(index)
            return one.promise
          }),
        { concurrency: 2 },
      ),
    )
    const run = await host.start(bounded)
    await until(() => started.length === 2)
    await quiet()
    expect(started).toEqual([0, 1])
    gates[1]?.resolve('b')
    await until(() => started.length === 3)
    await quiet()
    expect(started).toEqual([0, 1, 2])
    for (const [index, one] of gates.entries()) one.resolve('abcdef'[index] ?? '')
    expect(await run.result()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  it('names items by key, and refuses keys that do not tell them apart', async () => {
    const { host } = await openStage()
    const keyed = workflow('keyed', (ctx, keys: string[]) =>
      ctx.map(keys, (key) => ctx.step('work', () => key), { key: (item) => item }),
    )
    const run = await host.start(keyed, ['x', 'a/b'])
    await run.result()
    const paths = (await host.journal(run.id)).flatMap(({ event }) => ('path' in event ? [event.path] : []))
    expect(paths).toContain('map/x/work')
    expect(paths).toContain('map/a∕b/work')
    await expect((await host.start(keyed, ['x', 'x'])).result()).rejects.toThrow(/two items have the key "x"/)
    await expect((await host.start(keyed, [''])).result()).rejects.toThrow(/not usable/)
  })
})

describe('race', () => {
  it('gives the first result, and stops the others', async () => {
    const { host } = await openStage()
    let aborted = false
    const racing = workflow('racing', (ctx) =>
      ctx.race([
        () =>
          ctx.step('slow', ({ signal }) => {
            const slow = gate<string>()
            signal.addEventListener('abort', () => {
              aborted = true
              slow.resolve('too late')
            })
            return slow.promise
          }),
        () => ctx.step('fast', () => 'fast'),
        () => ctx.ask('Nobody answers?'),
      ]),
    )
    const run = await host.start(racing)
    expect(await run.result()).toBe('fast')
    expect(aborted).toBe(true)
    expect(await host.inbox()).toEqual([])
    expect((await host.replay(run.id)).problems).toEqual([])
  })

  it('fails when the first to end fails', async () => {
    const { host } = await openStage()
    const racing = workflow('racing', (ctx) =>
      ctx.race([() => ctx.step('bad', () => Promise.reject(new Error('first'))), () => ctx.waitFor('never')]),
    )
    await expect((await host.start(racing)).result()).rejects.toThrow(/first/)
  })
})
