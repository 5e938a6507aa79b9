/** Map and Reduce. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { Branch, Map as MapNode, Reduce, type Settled } from 'nerve/control'
import { graph } from 'nerve/graph'
import { events, everywhere, paths, ran, untilStopped } from './control-stage.ts'
import { gate, openStage, quiet, rejection, until } from './stage.ts'

const double = defineNode('double', (n: number) => n * 2)
const picky = defineNode('picky', (n: number): number => {
  if (n % 2 === 1) throw new Error(`${n} is odd`)
  return n * 10
})

describe('Map', () => {
  it('runs its body for every item, and keeps their order', async () => {
    const { host } = await openStage()
    expect(await everywhere(host, MapNode({ body: double }), [3, 1, 2])).toEqual([6, 2, 4])
    expect(await everywhere(host, MapNode({ body: double }), [])).toEqual([])
    const inner = graph<number>('inner').step('a', double, { inputFn: (_, { input }) => input })
    expect(await everywhere(host, MapNode({ body: inner }), [1, 2])).toEqual([{ a: 2 }, { a: 4 }])
    const nested = MapNode({ id: 'rows', body: MapNode({ id: 'cells', body: double }) })
    expect(await everywhere(host, nested, [[1], [2, 3]])).toEqual([[2], [4, 6]])
  })

  it('works on five items at a time, or as many as it is told', async () => {
    const { host } = await openStage()
    const most = async (concurrency?: number): Promise<number> => {
      let running = 0
      let seen = 0
      const busy = defineNode('busy', async () => {
        running += 1
        seen = Math.max(seen, running)
        await new Promise(setImmediate)
        running -= 1
      })
      const node = MapNode({ body: busy, ...(concurrency === undefined ? {} : { concurrency }) })
      await (await host.start(node, Array.from({ length: 20 }))).result()
      return seen
    }
    expect([await most(), await most(1), await most(12)]).toEqual([5, 1, 12])
  })

  it('gives items a path by their index or their key', async () => {
    const { host } = await openStage()
    const run = await host.start(MapNode({ id: 'files', body: double, key: (n) => `n${n}` }), [7, 8])
    await run.result()
    expect(await paths(host, run.id)).toEqual(['keys', 'items/n7/double', 'items/n8/double'])
    let calls = 0
    const counted = MapNode({ body: double, key: () => String((calls += 1)) })
    expect(await ran(host, counted, [1, 2])).toEqual([2, 4])
    expect(calls).toBe(2)
    const same = await host.start(MapNode({ body: double, key: () => 'k' }), [1, 2])
    expect((await rejection(same.result())).message).toContain('two items have the key "k"')
  })

  it('stop: fails with the first item that fails, and stops the others', async () => {
    const { host } = await openStage()
    let aborted = false
    const one = defineNode('one', (n: number, { signal }) => {
      if (n === 1) throw new Error('one is bad')
      return untilStopped(signal, () => (aborted = true))
    })
    const run = await host.start(MapNode({ body: one }), [0, 1])
    expect((await rejection(run.result())).message).toContain("failed at step 'items/1/one': one is bad")
    expect(aborted).toBe(true)
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('skip: leaves the place of a failed item empty', async () => {
    const { host } = await openStage()
    expect(await everywhere(host, MapNode({ body: picky, onError: 'skip' }), [2, 3, 4])).toEqual([20, undefined, 40])
  })

  it('collect: says of every item how it ended', async () => {
    const { host } = await openStage()
    const node = MapNode({ id: 'each', body: picky, onError: 'collect' })
    const expected: Settled<number>[] = [
      { status: 'done', value: 20 },
      { status: 'failed', error: { name: 'Error', message: '3 is odd' } },
      { status: 'done', value: 40 },
    ]
    expect(await everywhere(host, node, [2, 3, 4])).toEqual(expected)
    const run = await host.start(node, [3])
    await run.result()
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
  })

  it('skip and collect know a failed item also in a run that goes on without failed steps', async () => {
    const { host } = await openStage()
    for (const errorPolicy of ['skip', 'continue'] as const) {
      const around = workflow('around', { errorPolicy }, async (ctx, items: number[]) => {
        const collected = await ctx.run(MapNode({ id: 'a', body: picky, onError: 'collect' }), items)
        const skipped = await ctx.run(MapNode({ id: 'b', body: picky, onError: 'skip' }), items)
        return [collected.map(({ status }) => status), skipped]
      })
      expect(await ran(host, around, [2, 3])).toEqual([
        ['done', 'failed'],
        [20, undefined],
      ])
    }
    const goesOn = workflow('goes-on', { errorPolicy: 'continue' }, (ctx) =>
      ctx.run(MapNode({ body: picky }), [2, 3, 4]),
    )
    expect(await ran(host, goesOn)).toEqual([20, undefined, 40])
  })

  it('a node that says itself what its failure means is asked first', async () => {
    const { host } = await openStage()
    const mild = defineNode('mild', (n: number): number => picky.execute(n, undefined as never) as number, {
      policy: { onError: { skip: 0 } },
    })
    expect(await ran(host, MapNode({ body: mild, onError: 'collect' }), [2, 3])).toEqual([
      { status: 'done', value: 20 },
      { status: 'done', value: 0 },
    ])
  })

  it('collects nothing of a cancelled run', async () => {
    const { host } = await openStage()
    let started = 0
    const slow = defineNode('slow', (_: number, { signal }) => {
      started += 1
      return untilStopped(signal)
    })
    const run = await host.start(MapNode({ body: slow, concurrency: 2, onError: 'collect' }), [1, 2, 3, 4])
    await until(() => started === 2)
    await run.cancel({ reason: 'enough' })
    expect((await rejection(run.result())).code).toBe('cancelled')
    await quiet()
    expect(started).toBe(2)
    const seen = await events(host, run.id)
    expect(seen.some((event) => event.type === 'step-completed')).toBe(false)
  })

  it('collects nothing of a branch that lost a race', async () => {
    const { host } = await openStage()
    const open = gate<number>()
    const never = defineNode('never', () => open.promise)
    const racing = workflow('racing', async (ctx) => {
      const lost: unknown[] = []
      const won = await ctx.race([
        async () => {
          lost.push(await ctx.run(MapNode({ body: never, onError: 'collect' }), [1, 2]))
          return 'map'
        },
        () => ctx.step('fast', () => 'fast'),
      ])
      return [won, lost.length]
    })
    expect(await ran(host, racing)).toEqual(['fast', 0])
  })

  it('refuses what is not a list, and options that make no sense', async () => {
    const { host } = await openStage()
    const run = await host.start(MapNode({ id: 'each', body: double }) as never, 3)
    expect((await rejection(run.result())).message).toContain("map 'each' needs a list as its input, not number")
    expect(() => MapNode({ body: double, concurrency: 0, onError: 'no' as never, key: 1 as never })).toThrow(
      `map 'map': concurrency is 0; give a whole number from 1. key is not a function. onError is "no"; give stop, skip or collect.`,
    )
  })

  it('refuses to use a persistent node for several items at the same time', async () => {
    const { host } = await openStage()
    const chat = defineNode('chat', (text: string) => text, { persistent: true })
    const inside = Branch({ condition: () => true, then: chat })
    expect((await rejection(host.start(MapNode({ body: inside }), ['a']))).message).toContain(
      "several items could use the persistent node 'chat' at the same time. Give concurrency: 1, or fork the node.",
    )
    expect(await ran(host, MapNode({ body: inside, concurrency: 1 }), ['a', 'b'])).toEqual(['a', 'b'])
  })
})

describe('Reduce', () => {
  const add = defineNode('add', (one: { accumulator: number; item: number }) => one.accumulator + one.item)

  it('makes one value of a list, in order', async () => {
    const { host } = await openStage()
    expect(await everywhere(host, Reduce({ body: add, initial: 100 }), [1, 2, 3])).toBe(106)
    expect(await everywhere(host, Reduce({ body: add, initial: 100 }), [])).toBe(100)
    const join = defineNode(
      'join',
      (one: { accumulator: string; item: string; index: number }) => `${one.accumulator}${one.index}${one.item}`,
    )
    const run = await host.start(Reduce({ body: join, initial: '' }), ['a', 'b'])
    expect(await run.result()).toBe('0a1b')
    expect(await paths(host, run.id)).toEqual(['0/join', '1/join'])
  })

  it('starts every run with the same value, also when its body writes into it', async () => {
    const { host } = await openStage()
    const push = defineNode('push', (one: { accumulator: number[]; item: number }) => {
      one.accumulator.push(one.item)
      return one.accumulator
    })
    const collect = Reduce({ body: push, initial: [] as number[] })
    const first = await host.start(collect, [1, 2])
    expect(await first.result()).toEqual([1, 2])
    expect(await ran(host, collect, [3])).toEqual([3])
  })

  it('fails with its body, and without a list or an initial value', async () => {
    const { host } = await openStage()
    const bad = defineNode('bad', (one: { accumulator: number; item: number }): number => {
      throw new Error(`no ${one.item}`)
    })
    const run = await host.start(Reduce({ body: bad, initial: 0 }), [5])
    expect((await rejection(run.result())).message).toContain("failed at step '0/bad': no 5")
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    const none = await host.start(Reduce({ id: 'sum', body: add, initial: 0 }) as never, null)
    expect((await rejection(none.result())).message).toContain("reduce 'sum' needs a list as its input, not null")
    expect(() => Reduce({ body: add } as never)).toThrow("reduce 'reduce': it has no initial value. Give one: initial.")
  })
})
