/** Definitions inside definitions: whose policy holds, retries, timeouts and fallbacks of whole definitions, shared nodes. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow, type Host } from 'nerve'
import { graph } from 'nerve/graph'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

const add = defineNode('add', (n: number) => n + 1)
const fails = defineNode('fails', (): number => {
  throw new Error('no')
})

async function paths(host: Host, run: string): Promise<string[]> {
  return (await host.journal(run)).flatMap(({ event }) => ('path' in event ? [`${event.type} ${event.path}`] : []))
}

describe('policies of definitions in definitions', () => {
  const inner = (errorPolicy?: 'stop' | 'skip' | 'continue') =>
    workflow('inner', errorPolicy === undefined ? {} : { errorPolicy }, async (ctx) => [
      await ctx.run(fails, undefined, { label: 'one' }),
      await ctx.step('two', () => 2),
    ])

  it('a graph that stops, in a workflow that continues, stops', async () => {
    const { host } = await openStage()
    const stops = graph('stops')
      .step('bad', fails)
      .step('behind', add, { after: ['bad'], inputFn: ({ bad }) => bad })
    const outer = workflow('outer', { errorPolicy: 'continue' }, async (ctx) => {
      const inside = await ctx.run(stops).catch((error: Error) => error.message)
      return [inside, await ctx.run(fails), await ctx.run(inner())]
    })
    const run = await host.start(outer)
    expect(await run.result()).toEqual(['no', undefined, [undefined, 2]])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('a workflow that continues, in one that stops, continues', async () => {
    const { host, clock } = await openStage()
    const outer = workflow('outer', async (ctx) => [
      await ctx.run(inner('continue')),
      await ctx.run(inner('continue'), undefined, { timeout: '1m', label: 'timed' }),
      await ctx.run(inner()).catch((error: Error) => error.message),
    ])
    const run = await host.start(outer)
    expect(await timePasses(clock, run.result())).toEqual([[undefined, 2], [undefined, 2], 'no'])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })
})

describe('definitions with a policy', () => {
  it('are tried again beside each other, and replay to the same', async () => {
    const { host, clock } = await openStage()
    let tries = 0
    const flaky = workflow('flaky', async (ctx, n: number) => {
      await ctx.step('a', () => n)
      const now = await ctx.step('b', () => (tries += 1))
      if (now < 5 + n) throw new Error(`again ${n}`)
      return n
    })
    const one = graph('one', { maxParallel: 3 })
    for (const n of [1, 2, 3]) one.step(`s${n}`, flaky, { input: n, policy: { attempts: 9, backoff: n * 10 } })
    one.step('join', add, { after: ['s1', 's2', 's3'] as never, input: 1 })
    const run = await host.start(one)
    expect(await timePasses(clock, run.result())).toEqual({ s1: 1, s2: 2, s3: 3, join: 2 })
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    const seen = await paths(host, run.id)
    expect(seen).toContain('timer-fired s1~retry')
    expect(seen).toContain('scope-opened s1#2')
  })

  it('give up in time, fall back, and replay to the same', async () => {
    const { host, clock } = await openStage()
    const slow = workflow('slow', async (ctx) => {
      await ctx.step('begin', () => 1)
      await ctx.sleep('1h')
      return 'slow'
    })
    const broken = workflow('broken', async (ctx): Promise<string> => {
      await ctx.step('bad', () => Promise.reject(new Error('no')))
      return 'never'
    })
    const one = graph('one')
      .step('slow', slow, { policy: { timeout: '1m', attempts: 2, backoff: '5s', onError: { skip: 'too slow' } } })
      .step('broken', broken, { policy: { attempts: 2, backoff: '5s', onError: { fallback: () => 'instead' } } })
      .step('quick', slow, { policy: { timeout: '2h' } })
    const run = await host.start(one)
    expect(await timePasses(clock, run.result())).toEqual({ slow: 'too slow', broken: 'instead', quick: 'slow' })
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('are cancelled while they wait for their next try', async () => {
    const { host, clock } = await openStage()
    let tries = 0
    const bad = workflow('bad', async (ctx) => {
      await ctx.step('a', () => (tries += 1))
      throw new Error('no')
    })
    const one = graph('one', { errorPolicy: 'continue' })
      .step('bad', bad, { policy: { attempts: 5, backoff: '1h', onError: { skip: undefined as never } } })
      .step('behind', add, { after: ['bad'], input: 1 })
    const run = await host.start(one)
    await quiet()
    await run.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
    clock.advance(3_600_000)
    await quiet()
    expect(tries).toBe(1)
    expect((await paths(host, run.id)).filter((text) => text.includes('behind'))).toEqual([])
  })
})

describe('a persistent node', () => {
  it('does one thing at a time, also when an attempt was given up', async () => {
    const { host, clock } = await openStage()
    const began: string[] = []
    const open: ReturnType<typeof gate<string>>[] = []
    const chat = defineNode(
      'chat',
      async (text: string) => {
        began.push(text)
        const answer = gate<string>()
        open.push(answer)
        return answer.promise
      },
      { persistent: true },
    )
    const talk = workflow('talk', (ctx, text: string) =>
      ctx.run(chat, text, { timeout: '1m', attempts: 2, backoff: '1s' }),
    )
    const first = await host.start(talk, 'first')
    await until(() => began.length === 1)
    const second = await host.start(talk, 'second')
    await quiet()
    for (const ms of [60_000, 5_000, 1_000]) {
      clock.advance(ms)
      await quiet()
    }
    // Both were given up; the first is still at it, so nothing else has begun.
    expect(began).toEqual(['first'])
    open[0]?.resolve('too late')
    await until(() => began.length === 2)
    // The second had not begun, so it was given up at once and is the first to try again.
    expect(began).toEqual(['first', 'second'])
    open[1]?.resolve('in time')
    expect(await second.result()).toBe('in time')
    await until(() => began.length === 3)
    open[2]?.resolve('also')
    expect(await first.result()).toBe('also')
    expect(began).toEqual(['first', 'second', 'first'])
  })
})
