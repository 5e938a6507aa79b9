/** While and Loop. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { Branch, Loop, Subgraph, While, type LoopState } from 'nerve/control'
import { graph } from 'nerve/graph'
import { events, everywhere, paths, ran, untilStopped } from './control-stage.ts'
import { openStage, quiet, rejection, timePasses, until } from './stage.ts'

const double = defineNode('double', (n: number) => n * 2)

describe('While', () => {
  it('goes round while its condition holds', async () => {
    const { host } = await openStage()
    const grow = While({ id: 'grow', condition: ({ value }) => value < 50, body: double })
    expect(await everywhere(host, grow, 3)).toEqual({ value: 96, iterations: 5, ended: 'condition' })
    expect(await everywhere(host, grow, 60)).toEqual({ value: 60, iterations: 0, ended: 'condition' })
  })

  it('tells its condition the iteration, the value, what came before, and the params', async () => {
    const { host } = await openStage()
    const seen: LoopState<number>[] = []
    const grow = While({
      condition: (state) => {
        seen.push({ ...state, history: [...state.history] })
        return state.iteration < 2
      },
      body: double,
    })
    const run = await host.start(grow, 1, { params: { speed: 3 } })
    await run.result()
    const params = { speed: 3 }
    expect(seen).toEqual([
      { iteration: 0, value: 1, history: [], params },
      { iteration: 1, value: 2, history: [2], params },
      { iteration: 2, value: 4, history: [2, 4], params },
    ])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    expect(seen).toHaveLength(3)
  })

  it('says in its result and in the journal that it was cut off', async () => {
    const { host } = await openStage()
    const endless = While({ id: 'endless', condition: () => true, body: double, maxIterations: 3 })
    const run = await host.start(endless, 1)
    expect(await run.result()).toEqual({ value: 8, iterations: 3, ended: 'limit' })
    expect(await events(host, run.id)).toContainEqual(
      expect.objectContaining({ type: 'emitted', name: 'limit-reached', data: { node: 'endless', iterations: 3 } }),
    )
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    const usual = await host.start(While({ condition: () => true, body: defineNode('same', (n: number) => n) }), 1)
    expect(await usual.result()).toMatchObject({ iterations: 100, ended: 'limit' })
  })

  it('that ends by itself at its last iteration was not cut off', async () => {
    const { host } = await openStage()
    const exact = While({ condition: ({ iteration }) => iteration < 3, body: double, maxIterations: 3 })
    const run = await host.start(exact, 1)
    expect(await run.result()).toMatchObject({ iterations: 3, ended: 'condition' })
    expect((await events(host, run.id)).some(({ type }) => type === 'emitted')).toBe(false)
  })

  it('has a path for every iteration', async () => {
    const { host } = await openStage()
    const pair = graph<number>('pair')
      .step('a', double, { inputFn: (_, { input }) => input })
      .step('b', double, { after: ['a'], inputFn: ({ a }) => a })
      .returns(({ b }) => b)
    const review = graph<number>('review').step(
      'loop',
      While({ condition: ({ iteration }) => iteration < 2, body: pair }),
      { inputFn: (_, { input }) => input },
    )
    const run = await host.start(review, 1)
    expect(await run.result()).toEqual({ loop: { value: 16, iterations: 2, ended: 'condition' } })
    expect(await paths(host, run.id)).toEqual([
      'loop/1/condition',
      'loop/1/pair/a',
      'loop/1/pair/b',
      'loop/2/condition',
      'loop/2/pair/a',
      'loop/2/pair/b',
      'loop/3/condition',
    ])
  })

  it('fails with its body and with its condition', async () => {
    const { host } = await openStage()
    const bad = defineNode('bad', (n: number): number => {
      if (n > 2) throw new Error(`cannot do ${n}`)
      return n + 1
    })
    const run = await host.start(While({ condition: () => true, body: bad }), 1)
    expect((await rejection(run.result())).message).toContain("failed at step '3/bad': cannot do 3")
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    const unsure = While({
      condition: () => {
        throw new Error('who knows')
      },
      body: double,
    })
    for (const errorPolicy of ['stop', 'skip', 'continue'] as const) {
      const around = workflow('around', { errorPolicy }, (ctx) => ctx.run(unsure, 1))
      expect((await rejection((await host.start(around)).result())).message).toContain('who knows')
    }
  })

  it('decides again what it decided, whatever its condition looks at', async () => {
    const { host } = await openStage()
    let more = 3
    const counting = While({ condition: () => (more -= 1) >= 0, body: double })
    const run = await host.start(counting, 1)
    expect(await run.result()).toMatchObject({ value: 8 })
    more = 100
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('is stopped by a cancel', async () => {
    const { host } = await openStage()
    let started = 0
    const slow = defineNode('slow', (_: number, { signal }) => {
      started += 1
      return started === 2 ? untilStopped(signal) : 1
    })
    const run = await host.start(While({ condition: () => true, body: slow }), 1)
    await until(() => started === 2)
    await run.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
    await quiet()
    expect(started).toBe(2)
  })
})

describe('Loop', () => {
  it('goes round so many times', async () => {
    const { host } = await openStage()
    expect(await everywhere(host, Loop({ body: double, times: 4 }), 1)).toEqual({
      value: 16,
      iterations: 4,
      ended: 'times',
    })
    const many = Loop({ body: defineNode('next', (n: number) => n + 1), times: 150 })
    expect(await ran(host, many, 0)).toEqual({ value: 150, iterations: 150, ended: 'times' })
  })

  it('ends when its condition holds after an iteration, before its times', async () => {
    const { host } = await openStage()
    const seen: unknown[] = []
    const grow = Loop({
      id: 'grow',
      body: double,
      times: 10,
      until: ({ iteration, value, history }) => {
        seen.push([iteration, value, [...history]])
        return value > 6
      },
    })
    expect(await ran(host, grow, 2)).toEqual({ value: 8, iterations: 2, ended: 'condition' })
    expect(seen).toEqual([
      [1, 4, [4]],
      [2, 8, [4, 8]],
    ])
    expect(await ran(host, Loop({ body: double, until: () => true }), 5)).toMatchObject({ value: 10, iterations: 1 })
  })

  it('gives the list of all outputs when it accumulates', async () => {
    const { host } = await openStage()
    const list = Loop({ body: double, times: 3, accumulate: true })
    expect(await everywhere(host, list, 1)).toEqual({ value: [2, 4, 8], iterations: 3, ended: 'times' })
  })

  it('says that it was cut off', async () => {
    const { host } = await openStage()
    const run = await host.start(Loop({ id: 'search', body: double, until: () => false, maxIterations: 2 }), 1)
    expect(await run.result()).toEqual({ value: 4, iterations: 2, ended: 'limit' })
    const told = (await events(host, run.id)).filter((event) => event.type === 'emitted')
    expect(told).toMatchObject([{ name: 'limit-reached', data: { node: 'search', iterations: 2 } }])
    const short = Loop({ body: double, times: 5, maxIterations: 2 })
    expect(await ran(host, short, 1)).toEqual({ value: 4, iterations: 2, ended: 'limit' })
  })

  it('nests: each iteration of the outer one has all of the inner one', async () => {
    const { host } = await openStage()
    const inner = Subgraph({ id: 'inner', body: Loop({ body: double, times: 2 }), output: ({ value }) => value + 1 })
    const outer = Loop({ id: 'outer', body: inner, times: 3, accumulate: true })
    expect(await everywhere(host, outer, 1)).toMatchObject({ value: [5, 21, 85] })
    const run = await host.start(outer, 1)
    await run.result()
    expect((await paths(host, run.id)).slice(0, 3)).toEqual([
      '1/inner/loop/1/double',
      '1/inner/loop/2/double',
      '1/inner/output',
    ])
  })

  it('waits in its body for as long as it takes', async () => {
    const { host, clock } = await openStage()
    const naps = workflow('naps', async (ctx, n: number) => {
      await ctx.sleep('1h')
      return n + 1
    })
    const began = clock.now()
    const run = await host.start(Loop({ body: naps, times: 3 }), 0)
    expect(await timePasses(clock, run.result())).toMatchObject({ value: 3 })
    expect(clock.now() - began).toBe(3 * 3_600_000)
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('is checked with everything in it before it runs', async () => {
    const { host } = await openStage()
    const inner = Branch({ id: 'inner', condition: () => true, then: 'nobody' })
    const error = await rejection(host.start(Loop({ body: inner, times: 1 }), 1))
    expect(error.message).toContain("in body: then refers to the node 'nobody', which is not known here.")
    expect(await host.runs()).toEqual([])
  })

  it('names everything that is wrong with its options', () => {
    expect(() => Loop({ body: double })).toThrow("loop 'loop': it has neither times nor until. Give one, or both.")
    expect(() => Loop({ id: 'a/b', body: double, times: 1 })).toThrow('"a/b" is not an id for a loop')
    expect(() => Loop({ body: undefined as never, times: 0, until: 1 as never, maxIterations: 1.5 })).toThrow(
      "loop 'loop': times is 0; give a whole number from 1. until is not a function. maxIterations is 1.5; give a whole number from 1. body is not a node or a definition, or the name of one.",
    )
    expect(() => While({ condition: 1 as never, body: double, maxIterations: 0 })).toThrow(
      "while 'while': condition is not a function. maxIterations is 0; give a whole number from 1.",
    )
  })
})
