/** What may start: nothing does in a part of a run that was stopped, or in a run that was cancelled, whatever it waited for. */
import { describe, expect, it } from 'vitest'
import { workflow, type Schema } from 'nerve'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

/** A schema that takes its time. */
function slow(checked: Promise<void>): Schema<number> {
  const validate = async (value: unknown) => {
    await checked
    return { value: value as number }
  }
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

describe('an attempt', () => {
  it('of a branch that lost while its failure was being written is not made', async () => {
    const { host, clock } = await openStage()
    const go = gate()
    let loser = 0
    const racing = workflow('racing', async (ctx) => {
      const work = async (): Promise<never> => {
        loser += 1
        await go.promise
        throw new Error('boom')
      }
      const won = await ctx.race(
        [
          () => ctx.step('winner', () => go.promise.then(() => 'won')),
          () => ctx.step('loser', work, { attempts: 5, backoff: '1s' }),
        ],
        { until: 'success' },
      )
      await ctx.sleep('1h')
      return won
    })
    const run = await host.start(racing)
    await until(() => loser === 1)
    go.resolve()
    expect(await timePasses(clock, run.result())).toBe('won')
    expect(loser).toBe(1)
    const events = (await host.journal(run.id)).map(({ event }) => event)
    expect(events).toContainEqual(expect.objectContaining({ type: 'step-failed', path: 'race/1/loser', final: false }))
    expect(events).toContainEqual({ type: 'wait-withdrawn', path: 'race/1/loser' })
    expect((await host.replay(run.id)).same).toBe(true)
  })

  it('of a step that failed when the run was cancelled is not made, and the run ends at once', async () => {
    const { host, clock } = await openStage()
    const go = gate()
    let calls = 0
    const failing = workflow('failing', (ctx) =>
      ctx.step(
        'work',
        async () => {
          calls += 1
          await go.promise
          throw new Error('boom')
        },
        { attempts: 6, backoff: '1h' },
      ),
    )
    const before = clock.now()
    const run = await host.start(failing)
    let cancelled: Promise<void> | undefined
    host.subscribe({ type: 'step-failed' }, () => void (cancelled ??= run.cancel()))
    go.resolve()
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('cancelled')
    await cancelled
    expect([calls, clock.now() - before, clock.pending]).toEqual([1, 0, 0])
  })

  it('of a fallback in a stopped branch is not made', async () => {
    const { host, clock } = await openStage()
    const go = gate()
    let fallbacks = 0
    const both = workflow('both', async (ctx) => {
      const boom = (): Promise<never> => go.promise.then(() => Promise.reject(new Error('boom')))
      const fallback = (): number => (fallbacks += 1)
      await ctx
        .all([() => ctx.step('a', boom), () => ctx.step('b', boom, { onError: { fallback } })])
        .catch(() => undefined)
      await ctx.sleep('1m')
    })
    const run = await host.start(both)
    await quiet()
    go.resolve()
    await timePasses(clock, run.result())
    expect(fallbacks).toBe(0)
    expect((await host.replay(run.id)).same).toBe(true)
  })

  it('that a pause held back when its branch lost is not made, and nothing of it stays open', async () => {
    const { host, clock } = await openStage()
    const go = gate()
    let loser = 0
    const racing = workflow('racing', async (ctx) => {
      const work = (): never => {
        loser += 1
        throw new Error('boom')
      }
      await ctx.race([
        () => ctx.step('winner', () => go.promise),
        () => ctx.step('loser', work, { attempts: 2, backoff: '1s' }),
      ])
      return ctx.ask('Well?')
    })
    const run = await host.start(racing)
    await until(() => loser === 1)
    await run.pause()
    clock.advance(2_000)
    go.resolve()
    expect(await run.rest()).toBe('paused')
    await run.resume()
    await until(async () => (await host.inbox()).length === 1)
    expect(await run.rest()).toBe('waiting')
    expect(loser).toBe(1)
    const waits = (await host.journal(run.id)).filter(({ event }) => event.type === 'wait-withdrawn')
    expect(waits.map(({ event }) => event)).toEqual([{ type: 'wait-withdrawn', path: 'race/1/loser' }])
  })
})

describe('a child', () => {
  it('that a pause held back is not started by the cancel that lets go of the pause', async () => {
    const { host } = await openStage()
    const go = gate()
    let worked = 0
    const child = workflow('child', (ctx) => ctx.step('work', () => (worked += 1)))
    const parent = workflow('parent', (ctx) =>
      ctx.all([() => go.promise.then(() => ctx.child(child, undefined)), () => ctx.waitFor('never')]),
    )
    const run = await host.start(parent)
    await run.pause()
    go.resolve()
    await quiet()
    await run.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
    await quiet()
    expect(worked).toBe(0)
    expect(await host.runs({ children: true })).toHaveLength(1)
  })

  it.each(['lost', 'paused'])('whose input is being checked when its branch is %s does not start', async (how) => {
    const { host } = await openStage()
    const [checked, won] = [gate(), gate()]
    let worked = 0
    const child = workflow('child', { input: slow(checked.promise) }, (ctx) => ctx.step('work', () => (worked += 1)))
    const parent = workflow('parent', async (ctx) => {
      await ctx.race([() => ctx.child(child, 1), () => ctx.step('fast', () => won.promise)])
      await ctx.ask('Well?')
    })
    const run = await host.start(parent)
    await quiet()
    if (how === 'lost') won.resolve()
    else await run.pause()
    await quiet()
    checked.resolve()
    await quiet()
    expect(worked).toBe(0)
    expect(await host.runs({ children: true })).toHaveLength(1)
    if (how !== 'paused') return
    await run.resume()
    await until(() => worked === 1)
  })
})

describe('an item of a map', () => {
  it('does not start after the run was cancelled', async () => {
    const { host } = await openStage()
    const first = gate()
    const items: number[] = []
    const mapping = workflow('mapping', (ctx) =>
      ctx.map(
        [1, 2, 3, 4],
        (item) => {
          items.push(item)
          return first.promise
        },
        { concurrency: 1 },
      ),
    )
    const run = await host.start(mapping)
    await until(() => items.length === 1)
    await run.cancel()
    first.resolve()
    expect((await rejection(run.result())).code).toBe('cancelled')
    await quiet()
    expect(items).toEqual([1])
  })
})
