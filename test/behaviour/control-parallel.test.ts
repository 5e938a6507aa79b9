/** Parallel and Race. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { Fork, Map as MapNode, Parallel, Race } from 'nerve/control'
import { graph } from 'nerve/graph'
import { events, everywhere, paths, ran, untilStopped } from './control-stage.ts'
import { openStage, quiet, rejection, timePasses, until } from './stage.ts'

const length = defineNode('length', (text: string) => text.length)
const shout = defineNode('shout', (text: string) => text.toUpperCase())
const broken = defineNode('broken', (text: string): string => {
  throw new Error(`cannot ${text}`)
})

/** A node that never ends by itself, and tells when it is stopped. */
function endless() {
  const seen = { started: 0, aborted: 0 }
  const node = defineNode('endless', (_: string, { signal }) => {
    seen.started += 1
    return untilStopped(signal, () => (seen.aborted += 1))
  })
  return { node, seen }
}

describe('Parallel', () => {
  it('all: gives the results by name, or in the order of the list', async () => {
    const { host } = await openStage()
    expect(await everywhere(host, Parallel({ branches: { length, shout } }), 'tea')).toEqual({
      length: 3,
      shout: 'TEA',
    })
    expect(await everywhere(host, Parallel({ branches: [shout, length, shout] }), 'tea')).toEqual(['TEA', 3, 'TEA'])
    const inner = graph<string>('inner').step('a', length, { inputFn: (_, { input }) => input })
    expect(
      await everywhere(host, Parallel({ branches: { inner, deep: Parallel({ branches: [length] }) } }), 'x'),
    ).toEqual({
      inner: { a: 1 },
      deep: [1],
    })
  })

  it('all: really runs them at the same time', async () => {
    const { host, clock } = await openStage()
    const naps = workflow('naps', async (ctx, text: string) => {
      await ctx.sleep('1h')
      return text
    })
    const began = clock.now()
    const run = await host.start(Parallel({ branches: [naps, naps, naps] }), 'x')
    expect(await timePasses(clock, run.result())).toEqual(['x', 'x', 'x'])
    expect(clock.now() - began).toBe(3_600_000)
  })

  it('has a path for every branch, by its name', async () => {
    const { host } = await openStage()
    const run = await host.start(Parallel({ branches: { a: length, b: length }, merge: ({ a, b }) => a + b }), 'tea')
    expect(await run.result()).toBe(6)
    expect(await paths(host, run.id)).toEqual(['branches/a/length', 'branches/b/length', 'merge'])
  })

  it('all: fails with the first that fails, and stops the others', async () => {
    const { host } = await openStage()
    const { node, seen } = endless()
    const run = await host.start(Parallel({ branches: { node, broken } }), 'go')
    expect((await rejection(run.result())).message).toContain("failed at step 'branches/broken/broken': cannot go")
    expect(seen).toEqual({ started: 1, aborted: 1 })
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('all: a replay goes on from it when the run did, and not before', async () => {
    const { host } = await openStage()
    const fan = graph('fan', { maxParallel: 2 })
      .step('a', Parallel({ branches: { length } }), { input: 'x' })
      .step('b', broken, { input: 'x' })
      .step('c', length, { input: 'x' })
    const run = await host.start(fan)
    expect((await rejection(run.result())).message).toContain('cannot x')
    expect((await host.replay(run.id)).problems).toEqual([])
  })

  it('settle: says of every branch how it ended, in every run', async () => {
    const { host } = await openStage()
    const settled = Parallel({ id: 'try', branches: { length, broken }, mode: 'settle' })
    const expected = {
      length: { status: 'done', value: 2 },
      broken: { status: 'failed', error: { name: 'Error', message: 'cannot go' } },
    }
    expect(await everywhere(host, settled, 'go')).toEqual(expected)
    for (const errorPolicy of ['skip', 'continue'] as const)
      expect(
        await ran(
          host,
          workflow('around', { errorPolicy }, (ctx) => ctx.run(settled, 'go')),
        ),
      ).toEqual(expected)
    const list = Parallel({
      branches: [broken, length],
      mode: 'settle',
      merge: (all) => all.map(({ status }) => status),
    })
    expect(await everywhere(host, list, 'go')).toEqual(['failed', 'done'])
  })

  it('settle: says the same of a definition that throws, when it is replayed', async () => {
    const { host } = await openStage()
    const throws = workflow('throws', async (ctx, text: string) => {
      await ctx.step('before', () => text)
      throw new TypeError(`not ${text}`, { cause: new Error('deep') })
    })
    expect(await everywhere(host, Parallel({ branches: { throws }, mode: 'settle' }), 'x')).toEqual({
      throws: {
        status: 'failed',
        error: { name: 'TypeError', message: 'not x', cause: { name: 'Error', message: 'deep' } },
      },
    })
    const run = await host.start(Parallel({ branches: { throws }, mode: 'settle' }), 'x')
    await run.result()
    expect((await host.run(run.id)).status).toBe('completed-with-failures')
  })

  it('all: in a run that goes on, goes on without the branch that failed', async () => {
    const { host } = await openStage()
    const both = Parallel({ branches: { length, broken } })
    const goesOn = workflow('goes-on', { errorPolicy: 'continue' }, (ctx) => ctx.run(both, 'go'))
    expect(await ran(host, goesOn)).toEqual({ length: 2 })
    const skips = workflow('skips', { errorPolicy: 'skip' }, (ctx) => ctx.run(both, 'go'))
    const run = await host.start(skips)
    expect((await rejection(run.result())).message).toContain('cannot go')
    expect(await paths(host, run.id)).toEqual(['parallel/branches/length/length'])
  })

  it('first: the first to end ends it, well or badly', async () => {
    const { host } = await openStage()
    const { node, seen } = endless()
    const first = Parallel({ branches: { node, shout }, mode: 'first' })
    expect(await everywhere(host, first, 'tea')).toBe('TEA')
    expect(seen.aborted).toBe(seen.started)
    const run = await host.start(Parallel({ branches: [node, broken], mode: 'first' }), 'go')
    expect((await rejection(run.result())).message).toContain('cannot go')
  })

  it('any: the first to succeed ends it; when none does, it fails', async () => {
    const { host } = await openStage()
    const { node, seen } = endless()
    const late = workflow('late', async (ctx, text: string) => {
      await ctx.step('wait', () => new Promise<void>((resolve) => void setImmediate(resolve)))
      return ctx.run(shout, text)
    })
    const any = Parallel({ branches: { broken, late, node }, mode: 'any' })
    expect(await everywhere(host, any, 'tea')).toBe('TEA')
    expect(seen.aborted).toBe(seen.started)
    for (const errorPolicy of ['skip', 'continue'] as const)
      expect(
        await ran(
          host,
          workflow('around', { errorPolicy }, (ctx) => ctx.run(any, 'tea')),
        ),
      ).toBe('TEA')
    const none = await host.start(Parallel({ branches: [broken, broken], mode: 'any' }), 'go')
    expect((await rejection(none.result())).message).toContain('cannot go')
    expect(await host.replay(none.id)).toMatchObject({ same: true })
  })

  it('merges once, with the input and the params in sight', async () => {
    const { host } = await openStage()
    let merges = 0
    const merged = Parallel({
      branches: { length },
      merge: (found, { input, params }) => [found.length, input, params['by'], (merges += 1)],
    })
    const run = await host.start(merged, 'tea', { params: { by: 2 } })
    expect(await run.result()).toEqual([3, 'tea', 2, 1])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    expect(merges).toBe(1)
  })

  it('is stopped by a cancel', async () => {
    const { host } = await openStage()
    for (const mode of ['all', 'settle', 'first', 'any'] as const) {
      const { node, seen } = endless()
      const run = await host.start(Parallel({ id: mode, branches: [node, node], mode }), 'x')
      await until(() => seen.started === 2)
      await run.cancel()
      expect((await rejection(run.result())).code).toBe('cancelled')
      expect(seen.aborted).toBe(2)
      expect((await events(host, run.id)).at(-1)?.type).toBe('run-cancelled')
      expect(await host.replay(run.id)).toMatchObject({ same: true })
    }
    await quiet()
  })

  it('names everything that is wrong with it', async () => {
    const { host } = await openStage()
    expect(() => Parallel({ branches: {} })).toThrow('it has no branches. Add one: branches: { name: node }.')
    expect(() => Parallel({ branches: 3 as never })).toThrow('branches are not given by name or as a list')
    expect(() => Parallel({ branches: { 'a/b': length, c: 1 as never }, mode: 'most' as never })).toThrow(
      `parallel 'parallel': "a/b" is not a name for a branch: use 1 to 200 characters without '/' and '#'. mode is "most"; give all, first, any or settle. c is not a node or a definition, or the name of one.`,
    )
    const chat = defineNode('chat', (text: string) => text, { persistent: true })
    const shared = Parallel({ branches: { a: chat, b: MapNode({ body: chat, concurrency: 1 }) as never } })
    expect((await rejection(host.start(shared, 'x'))).message).toContain(
      "branches 'a' and 'b' could use the persistent node 'chat' at the same time. Fork the node.",
    )
  })
})

describe('Race', () => {
  it('says who won, and what it gave', async () => {
    const { host } = await openStage()
    const { node, seen } = endless()
    expect(await everywhere(host, Race({ branches: { node, shout } }), 'tea')).toEqual({
      winner: 'shout',
      value: 'TEA',
    })
    expect(await everywhere(host, Race({ branches: [node, node, length] }), 'tea')).toEqual({ winner: 2, value: 3 })
    expect(seen.aborted).toBe(seen.started)
  })

  it('against the clock', async () => {
    const { host, clock } = await openStage()
    const { node, seen } = endless()
    const patience = workflow('patience', async (ctx) => {
      await ctx.sleep('10m')
      return 'too late'
    })
    const run = await host.start(Race({ branches: { node, patience } }), 'x')
    expect(await timePasses(clock, run.result())).toEqual({ winner: 'patience', value: 'too late' })
    expect(seen.aborted).toBe(1)
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('fails when the first to end fails', async () => {
    const { host } = await openStage()
    const { node } = endless()
    const run = await host.start(Race({ branches: { node, broken } }), 'go')
    expect((await rejection(run.result())).message).toContain('cannot go')
    expect(() => Race({ branches: [] })).toThrow('it has no branches')
  })

  it('of a node and a fork of it is no overlap', () => {
    const chat = defineNode('chat', (text: string) => text, {
      persistent: true,
      fork: (id) => defineNode(id, (text: string) => text),
    })
    const raced = graph('raced')
      .step('copy', Fork({ from: chat, to: 'other' }))
      .step('race', Race({ branches: { a: chat, b: 'other' } }), { after: ['copy'], input: 'x' })
    expect(raced.validate(new Map())).toEqual([])
  })
})
