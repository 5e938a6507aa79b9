/** Graphs under attack: each of these broke, or could have. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow, type Host } from 'nerve'
import { graph, withSteps } from 'nerve/graph'
import { storeOf } from '../properties/recording-store.ts'
import { gate, openStage, quiet, rejection, timePasses } from './stage.ts'

const add = defineNode('add', (n: number) => n + 1)
const fails = defineNode('fails', (): number => {
  throw new Error('no')
})

async function paths(host: Host, run: string): Promise<string[]> {
  return (await host.journal(run)).flatMap(({ event }) => ('path' in event ? [`${event.type} ${event.path}`] : []))
}

describe('a graph that is cancelled in the middle', () => {
  for (const errorPolicy of ['stop', 'skip', 'continue'] as const) {
    it(`${errorPolicy}: starts nothing more, and ends at once`, async () => {
      const { host } = await openStage()
      let ran = 0
      const never = defineNode('never', () => new Promise<number>(() => undefined))
      const counts = defineNode('counts', (n: number) => {
        ran += 1
        return n
      })
      const one = graph('one', { errorPolicy })
        .step('slow', never)
        .step('behind', counts, { after: ['slow'], inputFn: ({ slow }) => slow ?? 0 })
        .step('last', counts, { after: ['behind'], inputFn: ({ behind }) => behind ?? 0 })
      const run = await host.start(one)
      await quiet()
      await run.cancel()
      expect((await rejection(run.result())).code).toBe('cancelled')
      expect(ran).toBe(0)
      const seen = await paths(host, run.id)
      expect(seen).toEqual(['step-started slow', 'step-stopped slow'])
    })

    it(`${errorPolicy}: as the loser of a race`, async () => {
      const { host } = await openStage()
      let ran = 0
      const never = defineNode('never', () => new Promise<number>(() => undefined))
      const counts = defineNode('counts', () => {
        ran += 1
      })
      const inner = graph('inner', { errorPolicy })
        .step('slow', never)
        .step('behind', counts, { after: ['slow'] })
      const race = workflow('race', async (ctx) => {
        const won = await ctx.race<unknown>([() => ctx.run(inner), () => ctx.step('quick', () => 'quick')])
        return [won, await ctx.step('after', () => 1)]
      })
      const run = await host.start(race)
      expect(await run.result()).toEqual(['quick', 1])
      await quiet()
      expect(ran).toBe(0)
      expect(await host.replay(run.id)).toMatchObject({ same: true })
    })
  }

  it('also when it is a step of a graph that goes on', async () => {
    const { host } = await openStage()
    const never = defineNode('never', () => new Promise<number>(() => undefined))
    const inner = graph('inner', { errorPolicy: 'continue' })
      .step('slow', never)
      .step('b', add, { after: ['slow'], input: 1 })
    const outer = graph('outer', { errorPolicy: 'skip' })
      .step('in', inner)
      .step('b', add, { after: ['in'], input: 1 })
    const run = await host.start(outer)
    await quiet()
    await run.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
    expect(await paths(host, run.id)).toEqual(['scope-opened in', 'step-started in/slow', 'step-stopped in/slow'])
  })
})

describe('steps that are added', () => {
  it('in a cycle, twice, after themselves or with unknown nodes fail the step that adds them', async () => {
    const { host } = await openStage()
    host.register(add)
    const bad = (steps: readonly { id: string; node: string; after?: readonly string[] }[]) =>
      graph('bad').step(
        'plan',
        defineNode('plan', () => withSteps(1, steps)),
      )
    const cycle = bad([
      { id: 'a', node: 'add', after: ['b'] },
      { id: 'b', node: 'add', after: ['a'] },
    ])
    expect((await rejection((await host.start(cycle)).result())).message).toMatch(/cycle: 'a' → 'b' → 'a'/u)
    const twice = bad([
      { id: 'a', node: 'add' },
      { id: 'a', node: 'add' },
    ])
    expect((await rejection((await host.start(twice)).result())).message).toMatch(/two steps have the id 'a'/u)
    const self = bad([{ id: 'a', node: 'add', after: ['a'] }])
    expect((await rejection((await host.start(self)).result())).message).toMatch(/comes after itself/u)
    const unknown = bad([{ id: 'a', node: 'nobody' }])
    expect((await rejection((await host.start(unknown)).result())).message).toMatch(/'nobody', which is not known/u)
    const taken = bad([{ id: 'plan', node: 'add' }])
    expect((await rejection((await host.start(taken)).result())).message).toMatch(/already has a step 'plan'/u)
  })

  it('that are wrong are a failure of their step, which the policy of the graph decides on', async () => {
    const { host } = await openStage()
    const plan = defineNode('plan', () => withSteps(1, [{ id: 'x', node: 'nobody' }]))
    const one = graph('one', { errorPolicy: 'skip' })
      .step('plan', plan)
      .step('behind', add, { after: ['plan'], input: 1 })
      .step('beside', add, { input: 1 })
    const run = await host.start(one)
    expect(await run.result()).toEqual({ beside: 2 })
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('behind something that did not run are skipped once each', async () => {
    const { host } = await openStage()
    host.register(add)
    const plan = defineNode('plan', () =>
      withSteps(1, [
        { id: 'x', node: 'add', after: ['bad'], input: 1 },
        { id: 'y', node: 'add', after: ['x'], input: 1 },
        { id: 'z', node: 'add', after: ['y'], input: 1 },
      ]),
    )
    const one = graph('one', { errorPolicy: 'skip' })
      .step('bad', fails)
      .step('slow', add, { input: 1 })
      .step('plan', plan, { after: ['slow'] })
      .step('end', add, { after: ['plan'], input: 5 })
    const run = await host.start(one)
    expect(await run.result()).toEqual({ slow: 2, plan: 1, end: 6 })
    const skipped = (await paths(host, run.id)).filter((text) => text.startsWith('step-skipped'))
    expect(skipped).toEqual(['step-skipped x', 'step-skipped y', 'step-skipped z'])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('by a definition before it first waits start at once, within maxParallel', async () => {
    const { host } = await openStage()
    let running = 0
    let most = 0
    const busy = defineNode('busy', async (n: number) => {
      running += 1
      most = Math.max(most, running)
      await quiet(2)
      running -= 1
      return n
    })
    const adds = workflow('adds', (ctx) => {
      for (const n of [1, 2, 3]) ctx.graph?.add(`x${n}`, busy, { input: n })
      return ctx.run(busy, 9)
    })
    const one = graph('one', { maxParallel: 2 }).step('adds', adds).step('beside', busy, { input: 4 })
    const run = await host.start(one)
    expect(await run.result()).toEqual({ adds: 9, beside: 4, x1: 1, x2: 2, x3: 3 })
    expect(most).toBe(2)
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('to a graph that has ended are refused', async () => {
    const { host } = await openStage()
    let late: (() => void) | undefined
    const leaks = workflow('leaks', (ctx) => {
      late = () => ctx.graph?.add('late', add, { input: 1 })
      return 1
    })
    const outer = workflow('outer', async (ctx) => {
      const done = await ctx.run(graph('one').step('leaks', leaks))
      late?.()
      return done
    })
    const run = await host.start(outer)
    expect((await rejection(run.result())).message).toMatch(/has ended/u)
  })
})

describe('failures in a graph are told', () => {
  it('also those of a definition that throws by itself', async () => {
    const { host } = await openStage()
    const throws = workflow('throws', () => {
      throw new Error('by itself')
    })
    for (const errorPolicy of ['skip', 'continue'] as const) {
      const one = graph(`one-${errorPolicy}`, { errorPolicy }).step('bad', throws).step('beside', add, { input: 1 })
      const run = await host.start(one)
      expect(await run.result()).toEqual({ beside: 2 })
      expect((await host.run(run.id)).status).toBe('completed-with-failures')
      const failed = (await host.journal(run.id)).flatMap(({ event }) =>
        event.type === 'step-failed' ? [event.error.message] : [],
      )
      expect(failed).toEqual(['by itself'])
      expect(await host.replay(run.id)).toMatchObject({ same: true })
    }
  })

  it('once, when a step in the definition has failed', async () => {
    const { host } = await openStage()
    const inner = graph('inner').step('a', fails)
    const one = graph('one', { errorPolicy: 'skip' }).step('bad', inner).step('beside', add, { input: 1 })
    const run = await host.start(one)
    expect(await run.result()).toEqual({ beside: 2 })
    const failed = (await paths(host, run.id)).filter((text) => text.startsWith('step-failed'))
    expect(failed).toEqual(['step-failed bad/a'])
  })

  it('also an input that cannot be kept', async () => {
    const { host } = await openStage()
    const takes = defineNode('takes', (_: unknown) => 1)
    const one = graph('one', { errorPolicy: 'continue' })
      .step('bad', takes, { inputFn: () => ({ f: () => 1 }) })
      .step('beside', add, { input: 1 })
    const run = await host.start(one)
    expect(await run.result()).toEqual({ beside: 2 })
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('when what was thrown is nothing', async () => {
    const { host, clock } = await openStage()
    const throws = workflow('throws', () => {
      // oxlint-disable-next-line no-throw-literal -- authors can.
      throw undefined
    })
    const run = await host.start(workflow('outer', (ctx) => ctx.run(throws, undefined, { attempts: 2, backoff: 1 })))
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('run-failed')
  })
})

describe('ids of a graph', () => {
  it('are not those of what other steps do beside their nodes', () => {
    const one = graph('one')
      .step('a', add, { input: 1, when: () => true })
      .step('a?', add, { input: 1 })
      .step('b~retry', add, { input: 1 })
      .step('c++', add, { input: 1 })
    expect(one.validate()).toEqual(["the id 'a?' is used for what step 'a' does beside its node. Choose another."])
    expect(graph('two').step('__proto__', add, { input: 1 }).validate()).toHaveLength(1)
  })
})

describe('options of a graph', () => {
  it('that cannot hold are refused', async () => {
    const { host } = await openStage()
    for (const maxParallel of [0, -1, 1.5, Number.NaN])
      expect(() => graph('odd', { maxParallel })).toThrow(/maxParallel is .*; give a whole number from 1/u)
    const careful = graph('careful', { durability: 'power' }).step('a', add, { input: 1 })
    const outer = workflow('outer', (ctx) => ctx.run(careful))
    expect((await rejection((await host.start(outer)).result())).message).toMatch(/wants durability 'power'/u)
    expect(await (await host.start(outer, undefined, { durability: 'power' })).result()).toEqual({ a: 2 })
  })
})

describe('a stream that nobody reads to its end', () => {
  it('lets go of the run', async () => {
    let closed = 0
    const part = { live: true as const, run: 'r', path: 'a', type: 'text-delta', data: 1 }
    async function* events() {
      try {
        yield await new Promise<never>(() => undefined)
      } finally {
        closed += 1
      }
    }
    const feed = Object.assign(events(), {
      return: async () => {
        closed += 1
        return { done: true as const, value: undefined }
      },
    })
    const one = graph('one').step('a', add, { input: 1 })
    const stream = one.stream({
      start: async () => ({ id: 'r', result: () => Promise.resolve(undefined), events: () => feed }),
      subscribe: (_wanted, listener) => {
        listener(part)
        return () => undefined
      },
    })
    for await (const event of stream) if (event.type === 'start') break
    expect(closed).toBe(1)
  })
})

describe('a graph that contains itself', () => {
  it('is a problem, not a stack that overflows', () => {
    const one = graph('one')
    one.step('again', one as never)
    expect(one.validate({ get: () => undefined, keys: () => [] })).toEqual([
      "in step 'again': it contains itself. Refer to it by its name, in a step with a condition.",
    ])
    expect(one.explain()).toContain('again')
  })
})

describe('a failure while others run', () => {
  it('stops them, and a nested graph that fails is sealed for the replay', async () => {
    const { host } = await openStage()
    const release = gate<number>()
    const slow = defineNode('slow', () => release.promise)
    const bad = defineNode('bad', async (): Promise<number> => {
      await Promise.resolve()
      throw new Error('no')
    })
    const inner = graph('inner')
      .step('slow', slow)
      .step('first', add, { input: 1 })
      .step('bad', bad, { after: ['first'] })
      .step('behind', add, { after: ['slow', 'bad'], input: 1 })
    const outer = graph('outer', { errorPolicy: 'skip' })
      .step('in', inner)
      .step('beside', slow)
      .step('never', add, { after: ['in'], input: 1 })
    const run = await host.start(outer)
    await quiet()
    release.resolve(7)
    expect(await run.result()).toEqual({ beside: 7 })
    const seen = await paths(host, run.id)
    expect(seen).toContain('step-stopped in/slow')
    expect(seen).toContain('step-skipped never')
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('leaves waits that are not opened again after a crash: they would take what is meant for others', async () => {
    const { host } = await openStage()
    const waits = workflow('waits', (ctx) => ctx.waitFor('go'))
    const asks = workflow('asks', (ctx) => ctx.ask('Who?'))
    const sleeps = workflow('sleeps', (ctx) => ctx.sleep('1h'))
    const inner = graph('inner').step('waits', waits).step('asks', asks).step('sleeps', sleeps).step('bad', fails)
    const outer = graph('outer', { errorPolicy: 'skip', maxParallel: 1 }).step('in', inner).step('later', waits)
    const run = await host.start(outer)
    await run.rest()
    await run.signal('go', 'hello')
    expect(await run.result()).toEqual({ later: 'hello' })
    const entries = await host.journal(run.id)
    const first = entries.findIndex(({ event }) => event.type === 'step-failed') + 1
    for (let cut = first; cut < entries.length; cut += 1) {
      const kept = entries.slice(0, cut)
      const later = await openStage({ store: await storeOf(kept), definitions: [outer] })
      const again = await later.host.handle(run.id)
      await quiet()
      if (!kept.some(({ event }) => event.type === 'signal-received')) await again.signal('go', 'hello')
      expect(await again.result(), `cut after ${cut}`).toEqual({ later: 'hello' })
      const more = (await later.host.journal(run.id)).slice(cut).map(({ event }) => event.type)
      expect(more).not.toContain('question-asked')
    }
  })
})
