/** An attempt count of 3 makes 3 attempts, for every kind of call. */
import { describe, expect, it } from 'vitest'
import { NerveError, workflow, type StepCall, type StepOptions } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import { gate, openStage, rejection, timePasses, until } from './stage.ts'

type Kind = (calls: number[], never: Promise<never>) => (call: StepCall) => Promise<string> | string

/** Not an error, and thrown all the same. */
const TEXT: unknown = 'text'

const FAILING: Readonly<Record<string, { readonly run: Kind; readonly options?: StepOptions<string> }>> = {
  'a function that throws': {
    run: (calls) => (call) => {
      calls.push(call.attempt)
      throw new Error('thrown')
    },
  },
  'a function that rejects at once': {
    run: (calls) => (call) => {
      calls.push(call.attempt)
      return Promise.reject(new Error('rejected'))
    },
  },
  'an async function that fails later': {
    run: (calls) => async (call) => {
      calls.push(call.attempt)
      await Promise.resolve()
      throw new Error('later')
    },
  },
  'a function that never ends, by its timeout': {
    run: (calls, never) => (call) => {
      calls.push(call.attempt)
      return never
    },
    options: { timeout: '2m' },
  },
  'a function that asks to wait, until no time': {
    run: (calls) => (call) => {
      calls.push(call.attempt)
      throw new NerveError('quota', 'thrown', { retry: 'pause', data: { until: Date.parse('no header') } })
    },
  },
  'a function that throws something that is no error': {
    run: (calls) => (call) => {
      calls.push(call.attempt)
      return Promise.reject(TEXT)
    },
  },
  'an effect that may happen only once': {
    run: (calls) => (call) => {
      calls.push(call.attempt)
      throw new Error('once')
    },
    options: { effect: 'once' },
  },
  'a step with a budget around it': {
    run: (calls) => (call) => {
      calls.push(call.attempt)
      call.usage({ tokens: 1 })
      throw new Error('paid for')
    },
    options: { reserve: { tokens: 1 } },
  },
}

describe('three attempts', () => {
  for (const [kind, { run, options }] of Object.entries(FAILING)) {
    it(`are made of ${kind}`, async () => {
      const { host, clock } = await openStage()
      const calls: number[] = []
      const never = gate<never>().promise
      const failing = workflow('failing', { budget: { tokens: 100 } }, (ctx) =>
        ctx.step('work', run(calls, never), { attempts: 3, ...options }),
      )
      const started = await host.start(failing)
      const error = await rejection(timePasses(clock, started.result()))
      expect(error).toMatchObject({ code: 'run-failed', data: { step: 'work' } })
      expect(calls).toEqual([1, 2, 3])
      const failed = (await host.journal(started.id)).filter(({ event }) => event.type === 'step-failed')
      expect(failed.map(({ event }) => 'final' in event && event.final)).toEqual([false, false, true])
    })
  }

  it('are made before the fallback, which is one attempt more', async () => {
    const { host, clock } = await openStage()
    const calls: string[] = []
    const careful = workflow('careful', (ctx) =>
      ctx.step(
        'work',
        ({ attempt }) => {
          calls.push(`work ${attempt}`)
          throw new Error('no')
        },
        {
          attempts: 3,
          onError: {
            fallback: ({ attempt, key }) => {
              calls.push(`fallback ${attempt}`)
              return key
            },
          },
        },
      ),
    )
    const run = await host.start(careful)
    expect(await timePasses(clock, run.result())).toBe(`${run.id}/work`)
    expect(calls).toEqual(['work 1', 'work 2', 'work 3', 'fallback 4'])
  })

  it('are made before a value is skipped to, and one alone without an attempt count', async () => {
    const { host, clock } = await openStage()
    let calls = 0
    const skipping = workflow('skipping', async (ctx, attempts: number) =>
      ctx.step<string>(
        'work',
        () => {
          calls += 1
          throw new Error('no')
        },
        { ...(attempts === 0 ? {} : { attempts }), onError: { skip: 'skipped' } },
      ),
    )
    expect(await timePasses(clock, (await host.start(skipping, 3)).result())).toBe('skipped')
    expect(calls).toBe(3)
    expect(await timePasses(clock, (await host.start(skipping, 0)).result())).toBe('skipped')
    expect(calls).toBe(4)
  })

  it('end early for an error that says that trying again cannot help', async () => {
    const { host, clock } = await openStage()
    let calls = 0
    const hopeless = workflow('hopeless', (ctx) =>
      ctx.step(
        'work',
        () => {
          calls += 1
          throw new NerveError('bad-input', 'never')
        },
        { attempts: 3 },
      ),
    )
    await rejection(timePasses(clock, (await host.start(hopeless)).result()))
    expect(calls).toBe(1)
  })

  it('have one idempotency key, and wait longer each time', async () => {
    const { host, clock } = await openStage()
    const seen: { key: string; at: number }[] = []
    const retried = workflow('retried', (ctx) =>
      ctx.step(
        'work',
        ({ key, attempt }) => {
          seen.push({ key, at: clock.now() })
          if (attempt < 3) throw new Error('not yet')
          return attempt
        },
        { attempts: 3, backoff: { initial: '1s', factor: 10, jitter: 0 } },
      ),
    )
    const run = await host.start(retried)
    expect(await timePasses(clock, run.result())).toBe(3)
    expect(new Set(seen.map((one) => one.key))).toEqual(new Set([`${run.id}/work`]))
    expect(seen.map((one) => one.at - (seen[0]?.at ?? 0))).toEqual([0, 1_000, 11_000])
  })

  it('give up an attempt at its timeout, and abort its signal', async () => {
    const { host, clock } = await openStage()
    const signals: AbortSignal[] = []
    const slow = workflow('slow', (ctx) =>
      ctx.step(
        'work',
        ({ signal, attempt }) => {
          signals.push(signal)
          return attempt === 1 ? gate<string>().promise : 'second'
        },
        { attempts: 2, timeout: '90s', backoff: 0 },
      ),
    )
    const run = await host.start(slow)
    await until(() => signals.length === 1)
    clock.advance(89_999)
    expect(signals[0]?.aborted).toBe(false)
    clock.advance(1)
    expect(signals[0]?.aborted).toBe(true)
    expect(await timePasses(clock, run.result())).toBe('second')
    const events = (await host.journal(run.id)).map(({ event }) => event)
    expect(events.find((event) => event.type === 'step-failed')).toMatchObject({ error: { code: 'timeout' } })
  })
})

describe('what a step keeps', () => {
  it('is there for the next attempt, the last one counts, and other steps do not see it', async () => {
    const { host, clock } = await openStage()
    const seen: unknown[] = []
    const run = await host.start(
      workflow('keeps', async (ctx) => {
        await ctx.step(
          'work',
          async (call) => {
            seen.push(call.kept)
            await call.keep({ tries: call.attempt })
            await call.keep({ tries: call.attempt, more: 'x'.repeat(10_000) })
            seen.push((call.kept as { tries: number }).tries)
            if (call.attempt < 3) throw new Error('not yet')
          },
          { attempts: 3, backoff: '1s' },
        )
        await ctx.step('other', ({ kept }) => void seen.push(kept))
      }),
    )
    await timePasses(clock, run.result())
    const value = (tries: number) => ({ tries, more: 'x'.repeat(10_000) })
    expect(seen).toEqual([undefined, 1, value(1), 2, value(2), 3, undefined])
    expect((await host.replay(run.id)).same).toBe(true)
  })

  it('survives the process that kept it', async () => {
    const store = new MemoryStore()
    const hangs = workflow('hangs', (ctx) =>
      ctx.step(
        'work',
        async ({ kept, keep, resumed }) => {
          if (resumed) return kept
          await keep('session 7')
          return new Promise(() => undefined)
        },
        { effect: 'resumable' },
      ),
    )
    const before = await openStage({ store, definitions: [hangs] })
    const run = await before.host.start(hangs)
    await until(async () => (await before.host.journal(run.id)).some(({ event }) => event.type === 'step-kept'))
    await before.host.close()
    const { host } = await openStage({ store, definitions: [hangs] })
    await host.recover()
    expect(await host.handle(run.id).then((handle) => handle.result())).toBe('session 7')
  })

  it('cannot be what cannot be stored, or come after its end', async () => {
    const { host } = await openStage()
    let late: ((value: unknown) => Promise<void>) | undefined
    const run = await host.start(
      workflow('wrong', (ctx) =>
        ctx.step('work', async ({ keep }) => {
          late = keep
          return (await rejection(keep(() => undefined))).code
        }),
      ),
    )
    expect(await run.result()).toBe('bad-value')
    expect(await rejection(late?.(1) ?? Promise.resolve())).toMatchObject({ code: 'interrupted' })
  })
})
