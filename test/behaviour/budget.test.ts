/** Budgets are really charged, stop before the call that would exceed them, and can be raised. */
import { describe, expect, it } from 'vitest'
import { NerveError, workflow, type Budget, type Host } from 'nerve'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

async function eventsOf(host: Host, run: string, type: string) {
  return (await host.journal(run)).map(({ event }) => event).filter((event) => event.type === type)
}

describe('usage', () => {
  it('is charged once for each attempt that ended, also for failed ones, and never after the end', async () => {
    const { host, clock } = await openStage()
    let late: ((spent: { tokens: number }) => void) | undefined
    const spending = workflow('spending', async (ctx) => {
      await ctx.step(
        'work',
        ({ attempt, usage }) => {
          usage({ tokens: 100, calls: 1 })
          usage({ tokens: 11, usd: 0.25, window: 0.1 * attempt })
          late = usage
          if (attempt < 3) throw new Error('again')
          return 'ok'
        },
        { attempts: 3 },
      )
      late?.({ tokens: 1_000_000 })
      return ctx.usage()
    })
    const run = await host.start(spending)
    const usage = await timePasses(clock, run.result())
    expect(usage.spent).toMatchObject({ tokens: 333, calls: 3, usd: 0.75, steps: 3, window: 0.1 * 3 })
    expect((await host.run(run.id)).usage).toMatchObject({ tokens: 333, calls: 3, usd: 0.75, steps: 3 })
    expect(
      (await eventsOf(host, run.id, 'step-failed')).map((event) => 'usage' in event && event.usage?.tokens),
    ).toEqual([111, 111])
  })

  it('is charged for attempts that time out, are interrupted or lose a race', async () => {
    const { host, clock } = await openStage()
    const hang = ({ usage }: { usage: (spent: { tokens: number }) => void }): Promise<string> => {
      usage({ tokens: 10 })
      return gate<string>().promise
    }
    const wasting = workflow('wasting', async (ctx) => {
      await ctx.step<string>('late', hang, { timeout: '1m', onError: { skip: '' } })
      await ctx.race<unknown>([() => ctx.step('loser', hang), () => ctx.sleep('1m')])
      await ctx.step<string>('stopped', hang, { onError: { skip: '' } })
      return ctx.usage().spent.tokens
    })
    const run = await host.start(wasting)
    const result = timePasses(clock, run.result())
    await until(async () =>
      (await host.journal(run.id)).some(({ event }) => event.type === 'step-started' && event.path === 'stopped'),
    )
    await run.interrupt()
    expect(await result).toBe(30)
  })

  it('that is no number is refused instead of spoiling the sum', async () => {
    const { host } = await openStage()
    for (const wrong of [Number.NaN, -1, Infinity, '5' as unknown as number]) {
      const run = await host.start(workflow('odd', (ctx) => ctx.step('work', ({ usage }) => usage({ tokens: wrong }))))
      expect((await rejection(run.result())).cause).toMatchObject({ code: 'bad-option' })
      expect((await host.run(run.id)).usage.tokens).toBeUndefined()
      const reserving = await host.start(
        workflow('odd', (ctx) => ctx.step('work', () => 1, { reserve: { tokens: wrong } })),
      )
      expect((await rejection(reserving.result())).cause).toMatchObject({ code: 'bad-option' })
    }
  })
})

describe('a budget', () => {
  const spender = (budget: Budget) =>
    workflow('spender', { budget }, async (ctx) => {
      let done = 0
      for (let i = 0; i < 5; i += 1) {
        await ctx.step('work', ({ usage }) => usage({ tokens: 100, usd: 0.1, calls: 1 }), {
          reserve: { tokens: 100, usd: 0.1, calls: 1 },
        })
        done += 1
      }
      return done
    })

  for (const [dimension, budget, steps] of [
    ['tokens', { tokens: 300 }, 3],
    ['usd', { usd: 0.3 }, 3],
    ['calls', { calls: 2 }, 2],
    ['steps', { steps: 4 }, 4],
    ['tokens', { tokens: 0 }, 0],
    ['tokens', { tokens: 299, usd: 99 }, 2],
  ] as const) {
    it(`of ${JSON.stringify(budget)} stops before the call that would exceed it, and goes on when raised`, async () => {
      const { host } = await openStage()
      const run = await host.start(spender(budget))
      expect((await rejection(run.result())).code).toBe('budget-exhausted')
      const row = await host.run(run.id)
      expect(row).toMatchObject({ status: 'exhausted', steps })
      expect((await eventsOf(host, run.id, 'budget-exhausted'))[0]).toMatchObject({
        dimension,
        path: steps === 0 ? 'work' : `work#${steps + 1}`,
      })
      await run.resume({ budget: { [dimension]: 1_000 }, by: 'ada' })
      expect(await run.result()).toBe(5)
      expect((await host.run(run.id)).status).toBe('completed')
    })
  }

  it('that is exhausted survives the host, and resumes with more', async () => {
    const first = await openStage()
    const definition = spender({ tokens: 200 })
    const run = await first.host.start(definition)
    await rejection(run.result())
    await first.host.close()
    const { host } = await openStage({ store: first.store, definitions: [definition] })
    const again = await host.handle(run.id)
    expect(await again.rest()).toBe('exhausted')
    expect((await rejection(again.result())).code).toBe('budget-exhausted')
    await again.resume()
    expect((await rejection(again.result())).code).toBe('budget-exhausted')
    await again.resume({ budget: { tokens: 900 } })
    expect(await again.result()).toBe(5)
    expect((await host.run(run.id)).usage.tokens).toBe(500)
  })

  it('warns once at four fifths', async () => {
    const { host } = await openStage()
    const run = await host.start(spender({ tokens: 500 }))
    expect(await run.result()).toBe(5)
    expect(await eventsOf(host, run.id, 'budget-warned')).toMatchObject([
      { dimension: 'tokens', used: 400, limit: 500 },
    ])
  })

  it('reserves nothing for an attempt that has ended, so that nothing stays set aside', async () => {
    const { host } = await openStage()
    let late: ((wanted: { tokens: number }) => void) | undefined
    const leaving = workflow('leaving', { budget: { tokens: 100 } }, async (ctx) => {
      await ctx.step('work', ({ reserve }) => void (late = reserve))
      expect(() => late?.({ tokens: 90 })).toThrow(expect.objectContaining({ code: 'interrupted' }))
      return ctx.usage().left.tokens
    })
    expect(await (await host.start(leaving)).result()).toBe(100)
  })

  it('refuses a reservation inside a step, and runs the step again when there is more', async () => {
    const { host } = await openStage()
    const calls: number[] = []
    const reserving = workflow('reserving', { budget: { usd: 1 } }, (ctx) =>
      ctx.step('work', ({ attempt, reserve, usage }) => {
        calls.push(attempt)
        reserve({ usd: 0.6 })
        usage({ usd: 0.6 })
        reserve({ usd: 0.6 })
        usage({ usd: 0.5 })
        return 'done'
      }),
    )
    const run = await host.start(reserving)
    expect((await rejection(run.result())).code).toBe('budget-exhausted')
    expect((await host.run(run.id)).usage.usd).toBeCloseTo(0.6)
    await run.resume({ budget: { usd: 3 } })
    expect(await run.result()).toBe('done')
    expect(calls).toEqual([1, 1])
    expect((await host.run(run.id)).usage.usd).toBeCloseTo(1.7)
  })

  it('needs no more room for what a step had set aside before it started', async () => {
    const { host } = await openStage()
    const reserving = workflow('reserving', { budget: { usd: 1 } }, (ctx) =>
      ctx.step(
        'work',
        ({ reserve, usage }) => {
          reserve({ usd: 0.6 })
          usage({ usd: 0.6 })
          reserve({ usd: 0.4 })
          return 'done'
        },
        { reserve: { usd: 1 } },
      ),
    )
    expect(await (await host.start(reserving)).result()).toBe('done')
  })

  it('is said to be spent also when that shows at a second attempt', async () => {
    const { host, clock } = await openStage()
    const retrying = workflow('retrying', { budget: { tokens: 80 } }, (ctx) =>
      ctx.step(
        'work',
        ({ attempt, usage }) => {
          usage({ tokens: 50 })
          if (attempt === 1) throw new Error('again')
          return attempt
        },
        { attempts: 2, reserve: { tokens: 50 } },
      ),
    )
    const run = await host.start(retrying)
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
    await run.resume({ budget: { tokens: 100 } })
    expect(await run.result()).toBe(2)
  })

  it('is said to be spent when the last that goes on is a retry whose time comes', async () => {
    const { host, clock } = await openStage()
    const work = ({ attempt, path }: { attempt: number; path: string }): number => {
      if (attempt === 1 && path.includes('/0/')) throw new Error('again')
      return attempt
    }
    const mixed = workflow('mixed', { budget: { steps: 2 } }, (ctx) =>
      ctx.all([0, 1, 2].map(() => () => ctx.step('work', work, { attempts: 2 }))),
    )
    const run = await host.start(mixed)
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
    await run.resume({ budget: { steps: 9 } })
    expect(await run.result()).toEqual([2, 1, 1])
  })

  it('keeps the number of an attempt that was stopped for it, also in another process', async () => {
    const first = await openStage()
    const calls: number[] = []
    const definition = workflow('careful', { budget: { usd: 1 } }, (ctx) =>
      ctx.step(
        'work',
        ({ attempt, reserve }) => {
          calls.push(attempt)
          if (attempt === 2) reserve({ usd: 2 })
          if (attempt < 3) throw new Error('again')
          return attempt
        },
        { attempts: 3, backoff: 0 },
      ),
    )
    const run = await first.host.start(definition)
    await rejection(timePasses(first.clock, run.result()))
    await first.host.close()
    const { host, clock } = await openStage({ store: first.store, definitions: [definition] })
    const again = await host.handle(run.id)
    await again.resume({ budget: { usd: 9 } })
    expect(await timePasses(clock, again.result())).toBe(3)
    expect(calls).toEqual([1, 2, 2, 3])
  })

  it('of seconds counts work and not waiting, and stops what runs', async () => {
    const { host, clock } = await openStage()
    const aborted: string[] = []
    const timed = workflow('timed', { budget: { seconds: 10 } }, async (ctx) => {
      await ctx.sleep('5h')
      await ctx.step('short', () => new Promise<void>((resolve) => clock.at(clock.now() + 4_000, resolve)))
      await ctx.ask('Go on?')
      return ctx.step('long', ({ signal }) => {
        const work = gate<string>()
        signal.addEventListener('abort', () => {
          aborted.push('long')
          work.reject(signal.reason)
        })
        clock.at(clock.now() + 8_000, () => work.resolve('done'))
        return work.promise
      })
    })
    const run = await host.start(timed)
    void timePasses(
      clock,
      until(async () => (await host.inbox()).length === 1),
    )
    await until(async () => (await host.inbox()).length === 1)
    expect((await host.run(run.id)).usage.seconds).toBe(4)
    clock.advance(7 * 3_600_000)
    await run.answer((await host.inbox())[0]?.id ?? '', 'yes')
    await quiet()
    clock.advance(5_999)
    expect(aborted).toEqual([])
    clock.advance(1)
    expect((await rejection(run.result())).code).toBe('budget-exhausted')
    expect(aborted).toEqual(['long'])
    expect((await host.run(run.id)).usage.seconds).toBe(10)
    await run.resume({ budget: { seconds: 100 } })
    expect(await timePasses(clock, run.result())).toBe('done')
    expect((await host.run(run.id)).usage.seconds).toBe(18)
  })

  it('of seconds is spent together by children that work side by side', async () => {
    const { host, clock } = await openStage()
    const busy = workflow('busy', (ctx) =>
      ctx.step('work', () => new Promise<string>((resolve) => clock.at(clock.now() + 8_000, () => resolve('done')))),
    )
    const pair = workflow('pair', { budget: { seconds: 10 } }, (ctx) =>
      ctx.all([() => ctx.child(busy, undefined), () => ctx.child(busy, undefined)]),
    )
    const run = await host.start(pair)
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
    const rows = await host.runs({ children: true })
    const journals = await Promise.all(rows.map((row) => host.journal(row.run)))
    const worked = journals.flat().flatMap(({ event }) => (event.type === 'step-stopped' ? [event.active] : []))
    expect(worked).toEqual([5_000, 5_000])
  })

  it('of depth limits how deep children nest', async () => {
    const { host } = await openStage()
    const nest = workflow('nest', async (ctx, depth: number): Promise<number> =>
      depth === 0 ? 0 : 1 + (await ctx.child(nest, depth - 1)),
    )
    expect(await (await host.start(nest, 2, { budget: { depth: 2 } })).result()).toBe(2)
    const error = await rejection((await host.start(nest, 3, { budget: { depth: 2 } })).result())
    expect(error.message).toContain('allows child runs 2 deep')
    expect((await rejection((await host.start(nest, 1, { budget: { depth: 0 } })).result())).message).toContain(
      '0 deep',
    )
  })

  it('is shared by children, each with a smaller one of its own if it has one', async () => {
    const { host } = await openStage()
    const child = workflow('child', async (ctx, count: number) => {
      for (let i = 0; i < count; i += 1)
        await ctx.step('work', ({ usage }) => usage({ tokens: 10 }), { reserve: { tokens: 10 } })
      return ctx.usage().spent.tokens
    })
    const parent = workflow('parent', { budget: { tokens: 100 } }, async (ctx) => {
      const first = await ctx.child(child, 3)
      const second = await ctx.child(child, 2, { budget: { tokens: 20 }, label: 'small' })
      return [first, second, ctx.usage().spent.tokens, ctx.usage().left.tokens]
    })
    expect(await (await host.start(parent)).result()).toEqual([30, 20, 50, 50])
    const tight = workflow('tight', { budget: { tokens: 100 } }, (ctx) =>
      ctx.child(child, 3, { budget: { tokens: 20 } }),
    )
    const run = await host.start(tight)
    expect((await rejection(run.result())).code).toBe('budget-exhausted')
    const [row] = (await host.runs({ children: true })).filter((one) => one.parent === run.id)
    expect(row).toMatchObject({ status: 'exhausted', steps: 2 })
    await (await host.handle(row?.run ?? '')).resume({ budget: { tokens: 30 } })
    expect(await run.result()).toBe(30)
  })

  it('of the parent stops the child', async () => {
    const { host } = await openStage()
    const child = workflow('child', async (ctx) => {
      for (let i = 0; i < 5; i += 1)
        await ctx.step('work', ({ usage }) => usage({ tokens: 10 }), { reserve: { tokens: 10 } })
      return 'done'
    })
    const run = await host.start(workflow('parent', { budget: { tokens: 25 } }, (ctx) => ctx.child(child, undefined)))
    expect((await rejection(run.result())).code).toBe('budget-exhausted')
    expect((await host.run(run.id)).status).toBe('exhausted')
    await run.resume({ budget: { tokens: 50 } })
    expect(await run.result()).toBe('done')
    expect((await host.run(run.id)).usage.tokens).toBe(50)
  })
})

describe('a quota', () => {
  it('parks the run until its time, and burns no attempts', async () => {
    const { host, clock } = await openStage()
    const calls: number[] = []
    const limited = workflow('limited', (ctx) =>
      ctx.step(
        'call',
        ({ attempt, usage }) => {
          calls.push(attempt)
          usage({ calls: 1 })
          if (calls.length < 4)
            throw new NerveError('quota', 'slow down', { retry: 'pause', data: { until: clock.now() + 3_600_000 } })
          return clock.now()
        },
        { attempts: 1 },
      ),
    )
    const began = clock.now()
    const run = await host.start(limited)
    expect(await run.rest()).toBe('waiting')
    expect((await host.run(run.id)).wake).toBe(began + 3_600_000)
    expect(await timePasses(clock, run.result())).toBe(began + 3 * 3_600_000)
    expect(calls).toEqual([1, 1, 1, 1])
    expect((await host.run(run.id)).usage.calls).toBe(4)
    expect(await eventsOf(host, run.id, 'step-failed')).toEqual([])
  })

  it('may say how long instead of until when, and is remembered across hosts', async () => {
    const first = await openStage()
    let calls = 0
    const definition = workflow('limited', (ctx) =>
      ctx.step('call', () => {
        calls += 1
        if (calls === 1) throw Object.assign(new Error('429'), { retry: 'pause', data: { retryAfter: '30m' } })
        return calls
      }),
    )
    const run = await first.host.start(definition)
    await run.rest()
    await first.host.close()
    const { host, clock } = await openStage({ store: first.store, clock: first.clock, definitions: [definition] })
    clock.advance(29 * 60_000)
    await quiet()
    expect(calls).toBe(1)
    clock.advance(60_000)
    expect(await (await host.handle(run.id)).result()).toBe(2)
  })
})
