/** A step that may happen only once, and that its budget stopped: nobody knows how far it came, so a person is asked. */
import { describe, expect, it } from 'vitest'
import { workflow, type StepCall } from 'nerve'
import { RecordingStore } from '../properties/recording-store.ts'
import { gate, openStage, rejection, timePasses, until } from './stage.ts'

/** Charges, and takes longer than its budget the first time; `effects` counts how often. */
function charging() {
  let effects = 0
  const charge = (call: StepCall): Promise<string> | string => {
    effects += 1
    if (effects > 1) return 'charged again'
    const charged = gate<string>()
    call.signal.addEventListener('abort', () => charged.reject(call.signal.reason))
    return charged.promise
  }
  const flow = workflow('flow', { budget: { seconds: 10 } }, (ctx) =>
    ctx.step<string>('charge', charge, { effect: 'once' }),
  )
  return { flow, effects: () => effects }
}

describe('a once step that its budget stopped', () => {
  for (const [answer, outcome, times] of [
    ['retry', 'charged again', 2],
    [{ skip: 'it was charged' }, 'it was charged', 1],
    ['fail', /was stopped by its budget, and was failed by hand/, 1],
  ] as const) {
    it.each(['lives on', 'has died'])(
      `asks what to do: ${JSON.stringify(answer)}, when its process %s`,
      async (how) => {
        const { flow, effects } = charging()
        const store = new RecordingStore()
        const first = await openStage({ store })
        const run = await first.host.start(flow)
        expect((await rejection(timePasses(first.clock, run.result()))).code).toBe('budget-exhausted')
        const next =
          how === 'lives on'
            ? first
            : await openStage({ store: await store.crashedAfter(store.commits.length), definitions: [flow] })
        const again = await next.host.handle<string>(run.id)
        await again.resume({ budget: { seconds: 60 } })
        expect(await again.rest()).toBe('waiting')
        expect(effects()).toBe(1)
        const [question] = await next.host.inbox()
        expect(question).toMatchObject({
          kind: 'recovery',
          path: 'charge/#recovery-1',
          choices: ['retry', 'skip', 'fail'],
        })
        expect(question?.prompt).toContain('was stopped by its budget')
        await again.answer(question?.id ?? '', answer)
        if (outcome instanceof RegExp) await expect(again.result()).rejects.toThrow(outcome)
        else expect(await again.result()).toBe(outcome)
        expect(effects()).toBe(times)
        expect((await next.host.replay(run.id)).problems).toEqual([])
      },
    )
  }

  it('asks also when it had no room for what it reserves in the middle, and as its fallback', async () => {
    const { host } = await openStage()
    let effects = 0
    const spend = ({ reserve }: Pick<StepCall, 'reserve'>): string => {
      effects += 1
      reserve({ usd: 5 })
      return 'paid'
    }
    const boom = (): never => {
      throw new Error('boom')
    }
    const flow = workflow('flow', { budget: { usd: 1 } }, (ctx) =>
      ctx.step<string>('pay', boom, { effect: 'once', onError: { fallback: spend } }),
    )
    const run = await host.start(flow)
    expect((await rejection(run.result())).code).toBe('budget-exhausted')
    await run.resume({ budget: { usd: 10 } })
    await until(async () => (await host.inbox()).length === 1)
    expect(effects).toBe(1)
    await run.answer((await host.inbox())[0]?.id ?? '', 'retry')
    expect(await run.result()).toBe('paid')
    expect(effects).toBe(2)
  })
})

it('a once step whose branch lost while it came to its end asks nothing', async () => {
  const { host, clock } = await openStage()
  const charge = ({ signal }: StepCall): Promise<never> =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => clock.at(clock.now() + 4_000, () => reject(new Error('stopped')))),
    )
  const flow = workflow('flow', { budget: { seconds: 10 } }, async (ctx) => {
    await ctx.race([() => ctx.step('charge', charge, { effect: 'once' }), () => ctx.sleep('12s')])
    return 'went on'
  })
  const run = await host.start(flow)
  expect(await timePasses(clock, run.result())).toBe('went on')
  expect((await host.journal(run.id)).map(({ event }) => event.type)).not.toContain('question-asked')
})

it('a repeatable step that its budget stopped runs again by itself', async () => {
  const { host, clock } = await openStage()
  let times = 0
  const flow = workflow('flow', { budget: { seconds: 10 } }, (ctx) =>
    ctx.step('work', () => ((times += 1) > 1 ? 'done' : gate<string>().promise)),
  )
  const run = await host.start(flow)
  expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
  await run.resume({ budget: { seconds: 60 } })
  expect(await run.result()).toBe('done')
  expect(times).toBe(2)
})
