/** Fork: copies of nodes and definitions, made in a run and known in it. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow, type Node } from 'nerve'
import {
  Branch,
  Fork,
  Gate,
  Loop,
  Map as MapNode,
  Parallel,
  Race,
  Reduce,
  Subgraph,
  Switch,
  While,
} from 'nerve/control'
import { graph } from 'nerve/graph'
import { MemoryStore } from 'nerve/testing'
import { events, everywhere, ran } from './control-stage.ts'
import { openStage, rejection } from './stage.ts'

interface Chat extends Node<string, string[]> {
  readonly said: string[]
}

/** A node that remembers what it was told; a copy remembers what came before it. */
function chat(id: string, before: readonly string[] = []): Chat {
  const said = [...before]
  const node = defineNode('x', (text: string) => [...(said.push(text), said)], {
    persistent: true,
    fork: (name) => chat(name, said),
  })
  return Object.assign(node, { id, said, info: () => ({ ...node.info(), id }) })
}

describe('Fork', () => {
  it('makes a copy that the steps after it find by name', async () => {
    const { host, clock } = await openStage()
    const analyst = chat('analyst')
    const both = workflow('both', async (ctx) => {
      await ctx.run(analyst, 'look')
      const copy = await ctx.run(Fork({ from: analyst, to: 'analyst-{run_id}-{timestamp}' }))
      const bold = await ctx.run(copy.node, 'bold')
      return { copy, bold, careful: await ctx.run(analyst, 'careful') }
    })
    const run = await host.start(both)
    const node = `analyst-${run.id}-${clock.now()}`
    expect(await run.result()).toEqual({
      copy: { node, forkedFrom: 'analyst', at: clock.now() },
      bold: ['look', 'bold'],
      careful: ['look', 'careful'],
    })
    expect(await events(host, run.id)).toContainEqual(
      expect.objectContaining({
        type: 'emitted',
        name: 'forked',
        data: { node, forkedFrom: 'analyst', at: clock.now() },
      }),
    )
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('works between the steps of a graph, also under the name as it is written', async () => {
    const { host } = await openStage()
    host.register(chat('writer'))
    const trial = graph('trial')
      .ref('draft', 'writer', { input: 'draft' })
      .step('copy', Fork({ from: 'writer', to: 'writer-{run_id}' }), { after: ['draft'] })
      .ref('a', 'writer', { after: ['copy'], input: 'short' })
      .ref('b', 'writer-{run_id}', { after: ['copy'], input: 'long' })
      .step('twice', Loop({ body: Subgraph({ body: 'writer-{run_id}', output: () => 'more' }), times: 2 }), {
        after: ['b'],
        input: 'again',
      })
    expect(trial.validate(host.registry.names)).toEqual([])
    const run = await host.start(trial)
    expect(await run.result()).toMatchObject({ a: ['draft', 'short'], b: ['draft', 'long'] })
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    expect(trial.validate(new Map())).toHaveLength(3)
    const lost = graph('lost').ref('b', 'writer-copy', { input: 'long' })
    expect(lost.validate(host.registry.names)).toEqual([
      "step 'b' refers to the node 'writer-copy', which is not known here.",
    ])
  })

  it('may not be used by two steps at the same time either', () => {
    const writer = chat('writer')
    const trial = graph('trial')
      .step('copy', Fork({ from: writer, to: 'copy' }))
      .ref('a', 'copy', { after: ['copy'], input: 'x' })
      .ref('b', 'copy', { after: ['copy'], input: 'y' })
    expect(trial.validate(new Map())).toEqual([
      "steps 'a' and 'b' could use the persistent node 'copy' at the same time. Put one after the other, or fork the node.",
    ])
  })

  it('makes the copy again when the run is taken up by another process', async () => {
    const store = new MemoryStore()
    const make = (node: Chat) =>
      workflow('interrupted', async (ctx) => {
        await ctx.run(node, 'look')
        const { node: name } = await ctx.run(Fork({ from: node, to: 'copy-{timestamp}' }))
        await ctx.gate('Go on?')
        return [name, await ctx.run<string[]>(name, 'after')]
      })
    const first = await openStage({ store })
    const run = await first.host.start(make(chat('a')))
    expect(await run.rest()).toBe('waiting')
    const made = `copy-${first.clock.now()}`
    await first.host.close()
    const later = await openStage({ store, definitions: [make(chat('a', ['look']))] })
    later.clock.advance(60_000)
    const again = await later.host.handle(run.id)
    await again.answer((await later.host.inbox())[0]?.id ?? '', 'approve')
    expect(await again.result()).toEqual([made, ['look', 'after']])
  })

  it('copies a graph with the persistent nodes in it, through every control node', async () => {
    const { host } = await openStage()
    const writer = chat('writer')
    const last = Subgraph({ id: 'last', body: writer, output: (said) => said.at(-1) ?? '' })
    const one = Subgraph({ id: 'one', body: last, input: ({ item }: { accumulator: string; item: string }) => item })
    const deep = graph<string>('deep')
      .step('loop', Loop({ id: 'loop', body: last, times: 1 }), { inputFn: (_, { input }) => input })
      .step('while', While({ condition: ({ iteration }) => iteration < 1, body: last }), {
        after: ['loop'],
        input: 'b',
      })
      .step('branch', Branch({ condition: () => true, then: writer, else: writer }), { after: ['while'], input: 'c' })
      .step('switch', Switch({ key: () => 'a', cases: { a: writer }, default: writer }), {
        after: ['branch'],
        input: 'd',
      })
      .step('map', MapNode({ body: writer, concurrency: 1 }), { after: ['switch'], input: ['e'] })
      .step('parallel', Parallel({ branches: { writer } }), { after: ['map'], input: 'f' })
      .step('race', Race({ branches: { writer } }), { after: ['parallel'], input: 'g' })
      .step('reduce', Reduce({ body: one, initial: '' }), { after: ['race'], input: ['h'] })
      .step('end', writer, { after: ['reduce'], input: 'i' })
      .returns((results) => results.end)
    const copied = workflow('copied', async (ctx) => {
      const { node } = await ctx.run(Fork({ from: deep, to: 'deep-copy' }))
      return [await ctx.run<string[]>(node, 'copy'), await ctx.run(deep, 'own')]
    })
    expect(await ran(host, copied)).toEqual([
      ['copy', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'],
      ['own', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'],
    ])
    expect(Gate({ prompt: 'Go?' }).fork?.('copy').name).toBe('copy')
    expect(Fork({ from: writer, to: 'x' }).fork?.('copy').name).toBe('copy')
    expect(writer.said).toEqual(['own', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
  })

  it('gives the same everywhere', async () => {
    const { host, clock } = await openStage()
    const fork = Fork({ id: 'split', from: chat('a'), to: 'b' })
    expect(await everywhere(host, fork)).toEqual({ node: 'b', forkedFrom: 'a', at: clock.now() })
  })

  it('refuses what cannot be copied, names that are taken and names that are none', async () => {
    const { host } = await openStage()
    host.register(
      defineNode('plain', (n: number) => n),
      chat('known'),
    )
    const plain = await host.start(Fork({ from: 'plain', to: 'copy' }))
    expect((await rejection(plain.result())).message).toContain(
      "'plain' (function) cannot be forked: it has no fork().",
    )
    const taken = await host.start(Fork({ id: 'again', from: 'known', to: 'plain' }))
    expect((await rejection(taken.result())).message).toContain(
      "fork 'again': there is a 'plain' already in this run. Give the copy another name, or put {run_id} or {timestamp} into it.",
    )
    const twice = Loop({ body: Fork({ from: 'known', to: 'copy' }) as never, times: 2 })
    expect((await rejection((await host.start(twice)).result())).message).toContain("there is a 'copy' already")
    expect((await rejection(host.start(Fork({ from: 'nobody', to: 'copy' })))).message).toContain(
      "from refers to the node 'nobody', which is not known here.",
    )
    expect(() => Fork({ from: 'known', to: 'a/b' })).toThrow('to is "a/b"; give a name')
  })
})
