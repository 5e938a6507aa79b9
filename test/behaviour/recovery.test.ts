/** What a process left behind, taken up by the next one. */
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import type { Definition } from 'nerve'
import { RecordingStore } from '../properties/recording-store.ts'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

/** Starts a run, waits for a moment in it, and gives what a crash at that moment leaves. */
async function crash(definition: Definition<unknown>, moment: () => boolean | Promise<boolean>) {
  const store = new RecordingStore()
  const { host } = await openStage({ store })
  const run = await host.start(definition)
  await until(moment, 'the moment of the crash')
  await quiet()
  return { left: await store.crashedAfter(store.commits.length), run: run.id }
}

describe('after a crash', () => {
  it('a finished map item never runs again', async () => {
    const ran: string[] = []
    let hold = true
    const mapping = workflow('mapping', (ctx) =>
      ctx.map(
        ['a', 'b', 'c', 'd'],
        async (item) => {
          const one = await ctx.step('one', () => {
            ran.push(`${item}1`)
            return item
          })
          return ctx.step('two', () => {
            ran.push(`${item}2`)
            return hold && item > 'b' ? gate<string>().promise : one + one
          })
        },
        { key: (item) => item },
      ),
    )
    const { left, run } = await crash(mapping, () => ran.length === 8)
    ran.length = 0
    hold = false
    const { host } = await openStage({ store: left, definitions: [mapping] })
    expect(host.recovered).toEqual({ recovered: [run], left: [] })
    expect(await (await host.handle(run)).result()).toEqual(['aa', 'bb', 'cc', 'dd'])
    expect(ran.toSorted()).toEqual(['c2', 'd2'])
  })

  it('a resumable step is told that it resumes, under the same attempt', async () => {
    const seen: unknown[] = []
    const working = workflow('working', (ctx) =>
      ctx.step(
        'work',
        ({ attempt, resumed }) => {
          seen.push([attempt, resumed])
          return resumed ? 'went on' : gate<string>().promise
        },
        { effect: 'resumable' },
      ),
    )
    const { left, run } = await crash(working, () => seen.length === 1)
    const { host } = await openStage({ store: left, definitions: [working] })
    expect(await (await host.handle(run)).result()).toBe('went on')
    expect(seen).toEqual([
      [1, false],
      [1, true],
    ])
  })

  it('a finished map item is not even entered, and items that moved keep their results', async () => {
    const entered: string[] = []
    let items = ['a', 'b', 'c']
    let hold = true
    const mapping = workflow('mapping', (ctx) =>
      ctx.map(
        items,
        async (item) => {
          entered.push(item)
          return ctx.step('work', () => (hold && item === 'c' ? gate<string>().promise : `${item}!`))
        },
        { key: (item) => item },
      ),
    )
    const { left, run } = await crash(mapping, () => entered.length === 3)
    entered.length = 0
    hold = false
    items = ['c', 'b', 'a']
    const { host } = await openStage({ store: left, definitions: [mapping] })
    expect(await (await host.handle(run)).result()).toEqual(['c!', 'b!', 'a!'])
    expect(entered).toEqual(['c'])
  })

  it('parallel branches that reuse a label get their own results back', async () => {
    let hold = true
    const branches = workflow('branches', (ctx) =>
      ctx.all(
        [3, 1, 2].map((hops) => async () => {
          await ctx.step('work', async () => {
            for (let i = 0; i < hops; i += 1) await Promise.resolve()
            return hops
          })
          const second = await ctx.step('work', () => `second of ${hops}`)
          if (hold) await ctx.step('hold', () => gate<void>().promise)
          return [second, await ctx.step('work', () => `third of ${hops}`)]
        }),
      ),
    )
    let holding = 0
    const counted = workflow('branches', async (ctx) => {
      holding += 1
      return branches.run(ctx, undefined)
    })
    const { left, run } = await crash(counted, () => holding === 1)
    hold = false
    const { host } = await openStage({ store: left, definitions: [branches] })
    const again = await host.handle(run)
    // Without the held step the code has changed: the plan says so, and it is accepted.
    expect((await rejection(again.result())).code).toBe('diverged')
    await again.resume({ accept: true })
    expect(await again.result()).toEqual([3, 1, 2].map((hops) => [`second of ${hops}`, `third of ${hops}`]))
  })

  it('a repeatable step runs again with its number, and a resumable one too', async () => {
    const seen: number[] = []
    let hold = true
    for (const effect of ['repeatable', 'resumable'] as const) {
      hold = true
      seen.length = 0
      const working = workflow('working', (ctx) =>
        ctx.step(
          'work',
          ({ attempt }) => {
            seen.push(attempt)
            return hold ? gate<string>().promise : 'done'
          },
          { effect, attempts: 3 },
        ),
      )
      const { left, run } = await crash(working, () => seen.length === 1)
      hold = false
      const { host } = await openStage({ store: left, definitions: [working] })
      expect(await (await host.handle(run)).result()).toBe('done')
      expect(seen).toEqual([1, 1])
      expect((await host.journal(run)).some(({ event }) => event.type === 'run-recovered')).toBe(true)
    }
  })

  for (const [answer, outcome, calls] of [
    ['retry', 'sent', 2],
    ['skip', undefined, 1],
    [{ skip: 'by hand' }, 'by hand', 1],
    ['fail', /was in flight when its process died/, 1],
  ] as const) {
    it(`a step that may happen only once asks what to do: ${JSON.stringify(answer)}`, async () => {
      let ran = 0
      let hold = true
      const sending = workflow('sending', (ctx) =>
        ctx.step<string>(
          'send',
          () => {
            ran += 1
            return hold ? gate<string>().promise : 'sent'
          },
          { effect: 'once' },
        ),
      )
      const { left, run } = await crash(sending, () => ran === 1)
      hold = false
      const { host } = await openStage({ store: left, definitions: [sending] })
      const again = await host.handle(run)
      expect(await again.rest()).toBe('waiting')
      expect(ran).toBe(1)
      const [question] = await host.inbox()
      expect(question).toMatchObject({ kind: 'recovery', choices: ['retry', 'skip', 'fail'] })
      await again.answer(question?.id ?? '', answer)
      if (outcome instanceof RegExp) await expect(again.result()).rejects.toThrow(outcome)
      else expect(await again.result()).toBe(outcome)
      expect(ran).toBe(calls)
      expect((await host.replay(run)).problems).toEqual([])
    })
  }

  it('in its fallback, the fallback goes on and not the function that failed', async () => {
    const ran: string[] = []
    let hold = true
    const falling = workflow('falling', (ctx) =>
      ctx.step<string>(
        'work',
        ({ attempt }) => {
          ran.push(`work ${attempt}`)
          throw new Error('no')
        },
        {
          attempts: 2,
          backoff: 0,
          onError: {
            fallback: ({ attempt }) => {
              ran.push(`fallback ${attempt}`)
              return hold ? gate<string>().promise : 'plan b'
            },
          },
        },
      ),
    )
    const store = new RecordingStore()
    const first = await openStage({ store })
    const run = await first.host.start(falling)
    void timePasses(first.clock, run.result()).catch(() => undefined)
    await until(() => ran.length === 3)
    await quiet()
    const left = await store.crashedAfter(store.commits.length)
    hold = false
    const { host } = await openStage({ store: left, definitions: [falling] })
    expect(await (await host.handle(run.id)).result()).toBe('plan b')
    expect(ran).toEqual(['work 1', 'work 2', 'fallback 3', 'fallback 3'])
  })

  it('a branch that had its result goes on although another one waits', async () => {
    const ran: string[] = []
    const both = workflow('both', (ctx) =>
      ctx.all([
        () => ctx.ask('Well?'),
        async () => {
          await ctx.step('first', () => ran.push('first'))
          return ctx.step('second', () => ran.push('second'))
        },
      ]),
    )
    const store = new RecordingStore()
    const first = await openStage({ store })
    const run = await first.host.start(both)
    await run.rest()
    const done = store.commits.findIndex((batch) =>
      batch.some(({ rows }) =>
        rows.some(({ data }) => data.includes('"path":"all/1/first"') && data.includes('completed')),
      ),
    )
    const left = await store.crashedAfter(done + 1)
    ran.length = 0
    await openStage({ store: left, definitions: [both] })
    await until(() => ran.length === 1)
    expect(ran).toEqual(['second'])
  })

  it.each(['paused', 'exhausted'])('a %s run whose cancel was acknowledged is cancelled', async (status) => {
    const store = new RecordingStore()
    const { host, clock } = await openStage({ store })
    const stubborn = workflow('stubborn', { budget: { steps: 1 } }, async (ctx) => {
      await ctx.step('first', () => 1)
      await Promise.allSettled([status === 'paused' ? ctx.sleep('1h') : ctx.step('second', () => 2), gate().promise])
    })
    const run = await host.start(stubborn)
    await quiet()
    if (status === 'paused') await run.pause()
    expect((await host.run(run.id)).status).toBe(status)
    await run.cancel()
    const next = await openStage({
      store: await store.crashedAfter(store.commits.length),
      clock,
      definitions: [stubborn],
    })
    await until(async () => (await next.host.run(run.id)).status === 'cancelled')
  })

  it('a child that had ended gives its result to the parent', async () => {
    let ran = 0
    const child = workflow('child', (ctx) => ctx.step('work', () => (ran += 1)))
    const parent = workflow('parent', async (ctx) => ctx.child(child, undefined))
    const store = new RecordingStore()
    const first = await openStage({ store })
    const run = await first.host.start(parent)
    await run.result()
    const ended = store.commits.findIndex((batch) =>
      batch.some(
        ({ rows, head }) => head?.parent !== undefined && rows.some(({ data }) => data.includes('run-completed')),
      ),
    )
    const left = await store.crashedAfter(ended + 1)
    const { host } = await openStage({ store: left, definitions: [parent, child] })
    expect(await (await host.handle(run.id)).result()).toBe(1)
    expect(ran).toBe(1)
  })

  it('a host can be told to take up nothing, and then takes up all when asked', async () => {
    let hold = true
    let ran = 0
    const working = workflow('working', (ctx) =>
      ctx.step('work', () => {
        ran += 1
        return hold ? gate<string>().promise : 'done'
      }),
    )
    const { left, run } = await crash(working, () => ran === 1)
    hold = false
    const { host } = await openStage({ store: left, definitions: [working], recover: false })
    await quiet()
    expect(ran).toBe(1)
    expect((await host.run(run)).status).toBe('crashed')
    expect((await host.recover()).recovered).toEqual([run])
    expect(await (await host.handle(run)).result()).toBe('done')
  })

  it('a run whose definition is not here is left as it is, and said to be', async () => {
    let ran = 0
    const working = workflow('working', (ctx) =>
      ctx.step('work', () => {
        ran += 1
        return ran === 1 ? gate<string>().promise : 'done'
      }),
    )
    const { left, run } = await crash(working, () => ran === 1)
    const { host } = await openStage({ store: left })
    expect(host.recovered.recovered).toEqual([])
    expect(host.recovered.left).toMatchObject([{ run }])
    host.register(working)
    await host.recover()
    expect(await (await host.handle(run)).result()).toBe('done')
  })
})
