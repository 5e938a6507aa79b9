/** What a failed step means for the rest. */
import { describe, expect, it } from 'vitest'
import { workflow, type ErrorPolicy } from 'nerve'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

const broken = (): never => {
  throw new Error('broken')
}

describe('a failed step', () => {
  it('fails the run, and what depends on it does not run', async () => {
    const { host } = await openStage()
    const ran: string[] = []
    const chain = workflow('chain', async (ctx) => {
      const first = await ctx.step('first', broken)
      return ctx.step('second', () => ran.push(`second ${String(first)}`))
    })
    const run = await host.start(chain)
    const error = await rejection(run.result())
    expect(error).toMatchObject({ code: 'run-failed', data: { run: run.id, step: 'first' } })
    expect(error.message).toContain(`at step 'first'`)
    expect((error.cause as Error).message).toBe('broken')
    expect(ran).toEqual([])
    expect((await host.run(run.id)).status).toBe('failed')
  })

  it('ends also when what was thrown cannot be looked at', async () => {
    const { host } = await openStage()
    const hostile = new Proxy(new Error('x'), { get: broken, getPrototypeOf: broken })
    const run = await host.start(workflow('hostile', async () => Promise.reject(hostile)))
    const error = await rejection(run.result())
    expect((error.cause as Error).message).toBe('something was thrown that cannot be read')
  })

  it('gives its value when it skips, which is not a failure of the run', async () => {
    const { host } = await openStage()
    const skipping = workflow('skipping', async (ctx) => {
      const value = await ctx.step<string>('first', broken, { onError: { skip: 'instead' } })
      const nothing = await ctx.step<undefined>('second', broken, { onError: { skip: undefined } })
      return [value, nothing]
    })
    const run = await host.start(skipping)
    expect(await run.result()).toEqual(['instead', undefined])
    expect(await host.run(run.id)).toMatchObject({ status: 'completed', failures: 0 })
  })

  it('can be caught, and then the run completes with failures', async () => {
    const { host } = await openStage()
    const catching = workflow('catching', async (ctx) => {
      try {
        await ctx.step('first', broken)
      } catch (error) {
        return ctx.step('second', () => `after ${(error as Error).message}`)
      }
      return 'no'
    })
    const run = await host.start(catching)
    expect(await run.result()).toBe('after broken')
    expect(await host.run(run.id)).toMatchObject({ status: 'completed-with-failures', failures: 1 })
  })

  it('falls back, and fails when the fallback fails, with the error of the fallback', async () => {
    const { host } = await openStage()
    const falling = workflow('falling', async (ctx, good: boolean) =>
      ctx.step<string>('work', broken, {
        onError: {
          fallback: () => {
            if (good) return 'plan b'
            throw new Error('plan b failed too')
          },
        },
      }),
    )
    const first = await host.start(falling, true)
    expect(await first.result()).toBe('plan b')
    expect((await host.run(first.id)).failures).toBe(0)
    const second = await host.start(falling, false)
    expect((await rejection(second.result())).message).toContain('plan b failed too')
    expect((await host.run(second.id)).failures).toBe(1)
  })

  it('may return nothing that a journal cannot keep', async () => {
    const { host } = await openStage()
    const odd = workflow('odd', (ctx) => ctx.step('work', () => ({ deep: [new (class Odd {})()] })))
    const error = await rejection((await host.start(odd)).result())
    expect(error.message).toMatch(/'work' at \.deep\.0 is an instance of Odd/)
  })

  it('throws the same error live and on replay', async () => {
    const { host } = await openStage()
    const seen: unknown[] = []
    const telling = workflow('telling', async (ctx) => {
      try {
        await ctx.step('work', () => {
          throw Object.assign(new TypeError('told', { cause: new Error('why') }), { code: 'E_ODD' })
        })
      } catch (error) {
        const { name, message, code, cause } = error as Error & { code: string }
        seen.push({ name, message, code, why: (cause as Error).message })
      }
      return ctx.ask('Go on?')
    })
    const run = await host.start(telling)
    await run.rest()
    const question = (await host.inbox())[0]
    expect((await host.replay(run.id)).problems).toEqual([])
    await host.answer(question?.id ?? '', 'yes')
    await run.result()
    expect(seen).toEqual([
      { name: 'TypeError', message: 'told', code: 'E_ODD', why: 'why' },
      { name: 'TypeError', message: 'told', code: 'E_ODD', why: 'why' },
    ])
  })
})

describe('a flow that nobody waits for', () => {
  it('ends with its run, and never ends the process', async () => {
    const { host } = await openStage()
    const unhandled: unknown[] = []
    const hear = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', hear)
    const later = gate<void>()
    const ran: string[] = []
    const careless = workflow('careless', async (ctx, fails: boolean) => {
      const flows: (() => Promise<unknown>)[] = [
        () => ctx.ask('Well?'),
        () => ctx.sleep('1h'),
        () => ctx.waitFor('go'),
        () => ctx.step('hang', () => gate<void>().promise, { timeout: '1h' }),
        async () => {
          await later.promise
          await ctx.step('late', () => ran.push('late'))
          await ctx.all([() => ctx.step('late', () => ran.push('late'))])
        },
      ]
      for (const flow of flows) void (async () => flow())()
      if (fails) throw new Error('failed early')
      return ctx.step('last', () => 'done')
    })
    await rejection((await host.start(careless, true)).result())
    const run = await host.start(careless, false)
    await quiet()
    await run.cancel().catch(() => undefined)
    later.resolve()
    await quiet(20)
    process.off('unhandledRejection', hear)
    expect(ran).toEqual([])
    expect(unhandled.map((error) => (error as { code?: string } | undefined)?.code)).toEqual(
      unhandled.map(() => 'cancelled'),
    )
    expect(await host.inbox()).toEqual([])
  })
})

describe('no error that nobody handles comes', () => {
  async function unhandledIn(work: () => Promise<void>): Promise<unknown[]> {
    const unhandled: unknown[] = []
    const hear = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', hear)
    await work()
    await quiet(20)
    process.off('unhandledRejection', hear)
    return unhandled
  }

  it.each(['at once', 'later'])(
    'of a step that gives %s what cannot be kept, before somebody waits for it',
    async (when) => {
      const { host, clock } = await openStage()
      const caught: unknown[] = []
      const careless = workflow('careless', async (ctx) => {
        const value = { fn: () => 1 }
        const odd = ctx.step('odd', () => (when === 'at once' ? value : Promise.resolve(value)))
        await ctx.sleep('1m')
        await odd.catch((error: unknown) => caught.push(error))
      })
      const unhandled = await unhandledIn(async () => {
        await timePasses(clock, (await host.start(careless)).result())
      })
      expect(unhandled).toEqual([])
      expect(caught).toEqual([expect.objectContaining({ code: 'bad-value' })])
    },
  )

  it('of code that waits for a pause when its run is parked', async () => {
    const { host } = await openStage({ maxResident: 0 })
    const go = gate()
    let begun = 0
    const careless = workflow('careless', async (ctx) => {
      void (async () => {
        await go.promise
        begun += 1
        await ctx.step('late', () => 1)
      })()
      await ctx.ask('Well?')
    })
    const unhandled = await unhandledIn(async () => {
      const run = await host.start(careless)
      await run.pause()
      go.resolve()
      await until(async () => (await host.run(run.id)).owner === undefined)
    })
    expect([begun, unhandled]).toEqual([1, []])
  })

  it.each(['ended', 'was parked', 'was left by its host'])('of code that goes on after its run %s', async (how) => {
    const { host } = await openStage({ maxResident: how === 'was parked' ? 0 : 1 })
    const later = gate()
    const reached: string[] = []
    const careless = workflow('careless', async (ctx) => {
      const flows: (() => unknown)[] = [
        () => ctx.emit('late'),
        () => ctx.now(),
        () => ctx.random(),
        () => ctx.uuid(),
        () => ctx.step('late', () => 1),
      ]
      for (const flow of flows)
        void (async () => {
          await later.promise
          await flow()
          reached.push(String(flow))
        })()
      if (how !== 'ended') await ctx.ask('Well?')
    })
    const unhandled = await unhandledIn(async () => {
      const run = await host.start(careless)
      await run.rest()
      if (how === 'was left by its host') await host.close()
      await quiet()
      later.resolve()
    })
    expect(unhandled).toEqual([])
    expect(reached).toHaveLength(4)
  })
})

describe('the error policy', () => {
  async function play(errorPolicy: ErrorPolicy | undefined) {
    const { host } = await openStage()
    const slow = gate<string>()
    const ran: string[] = []
    const group = workflow('group', errorPolicy === undefined ? {} : { errorPolicy }, async (ctx) => {
      const results = await ctx.all([
        () => ctx.step('bad', broken),
        async () => {
          const value = await ctx.step('slow', ({ signal }) => {
            signal.addEventListener('abort', () => ran.push('aborted'))
            return slow.promise
          })
          return ctx.step('after', () => {
            ran.push(`after ${value}`)
            return value
          })
        },
      ])
      return ctx.step('dependent', () => {
        ran.push('dependent')
        return results
      })
    })
    const run = await host.start(group)
    await until(async () => (await host.journal(run.id)).some(({ event }) => event.type === 'step-failed'))
    await quiet()
    slow.resolve('done')
    const outcome = await run.result().then(
      (value) => value as unknown,
      (error: Error) => error.message,
    )
    return { outcome, ran, row: await host.run(run.id) }
  }

  it('stop (the default) stops everything at the first failure', async () => {
    for (const policy of [undefined, 'stop'] as const) {
      const { outcome, ran, row } = await play(policy)
      expect(outcome).toMatch(/broken/)
      expect(ran).toEqual(['aborted'])
      expect(row.status).toBe('failed')
    }
  })

  it('skip lets the rest go on and skips what depends on the failure', async () => {
    const { outcome, ran, row } = await play('skip')
    expect(outcome).toMatch(/broken/)
    expect(ran).toEqual(['after done'])
    expect(row.status).toBe('failed')
  })

  it('continue goes on without the result, and completes with failures', async () => {
    const { outcome, ran, row } = await play('continue')
    expect(outcome).toEqual([undefined, 'done'])
    expect(ran).toEqual(['after done', 'dependent'])
    expect(row).toMatchObject({ status: 'completed-with-failures', failures: 1 })
  })
})
