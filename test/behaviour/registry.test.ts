/** What is known by name: unique across nodes, graphs and workflows, loaded from folders, swapped while runs go on. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRegistry, defineNode, workflow } from 'nerve'
import { agentGraph, type AgentTask } from 'nerve/agents'
import { graph } from 'nerve/graph'
import { openStage, quiet, rejection } from './stage.ts'

const add = defineNode('add', (n: number) => n + 1)

describe('a registry', () => {
  it('has one table of names for nodes, graphs and workflows', () => {
    const registry = createRegistry(add, graph('flow').step('a', add, { input: 1 }))
    expect([...registry.names.keys()]).toEqual(['add', 'flow'])
    for (const other of [
      defineNode('flow', () => 1),
      workflow('flow', () => 1),
      workflow('add', () => 1),
      graph('add').step('a', add, { input: 1 }),
      agentGraph('add').agent('a', { bundle: defineNode('b', (_: AgentTask) => 1) }),
      defineNode('add', () => 1),
    ])
      expect(() => registry.add(other)).toThrow(/The name '(flow|add)' is taken by a (function|graph)/u)
    registry.add(add)
    expect(() => registry.add({} as never)).toThrow(/Only nodes and definitions/u)
  })

  it('changes as a whole or not at all, and a table that was handed out never changes', () => {
    const registry = createRegistry(add)
    const before = registry.names
    const more = defineNode('more', () => 1)
    expect(() =>
      registry.add(
        more,
        workflow('add', () => 1),
      ),
    ).toThrow(/taken/u)
    expect(registry.names).toBe(before)
    registry.add(more)
    expect(before.get('more')).toBeUndefined()
    expect(registry.names.get('more')).toBe(more)
    expect(registry.remove('more')).toBe(true)
    expect(registry.remove('more')).toBe(false)
    expect([...registry.names.keys()]).toEqual(['add'])
  })

  it('takes newer code of the same kind in the place of older', () => {
    const registry = createRegistry(add)
    const newer = defineNode('add', (n: number) => n + 2)
    registry.replace(newer)
    expect(registry.names.get('add')).toBe(newer)
    expect(() => registry.replace(workflow('add', () => 1))).toThrow(/taken by a function/u)
  })

  it('may change while a run waits: the run keeps the names that it has', async () => {
    const { host } = await openStage()
    host.register(add)
    const asks = workflow('asks', async (ctx) => [await ctx.ask('Go on?'), await ctx.run('add', 1)])
    const old = await host.start(asks)
    await old.rest()
    host.register(defineNode('add', (n: number) => n + 100))
    const young = await host.start(asks)
    await young.rest()
    host.registry.remove('add')
    for (const { id } of await host.inbox()) await host.answer(id, 'yes')
    expect([await old.result(), await young.result()]).toEqual([
      ['yes', 2],
      ['yes', 101],
    ])
    expect(
      (await rejection((await host.start(workflow('lost', (ctx) => ctx.run('add', 1)))).result())).message,
    ).toMatch(/There is no node or definition 'add' here/u)
    await quiet()
  })

  it('keeps nothing of a definition that could not be started', async () => {
    const { host } = await openStage()
    await rejection(host.start(graph('empty')))
    expect(host.registry.names.get('empty')).toBeUndefined()
  })
})

const run = promisify(execFile)

/** What a scenario of registry-worker.ts saw. */
async function seen(scenario: string): Promise<unknown> {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-registry-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const worker = join(import.meta.dirname, 'registry-worker.ts')
  const { stdout } = await run(process.execPath, ['--conditions=nerve-source', worker, scenario, dir])
  return JSON.parse(stdout)
}

describe('a folder of definitions', () => {
  it('is loaded: what its files export, and one instance of what several of them use', async () => {
    const names = ['flow', 'add', 'wait']
    expect(await seen('loads')).toEqual({ names, one: true, again: names })
  })

  it('is reloaded: what changed, and what imports it, is new; the rest is what it was', async () => {
    expect(await seen('reloads')).toEqual({
      first: { add: 2 },
      second: { add: 6 },
      kept: true,
      used: true,
      names: ['flow', 'add'],
      old: true,
    })
  })

  it('is reloaded, also what is required and not imported', async () => {
    expect(await seen('reloads-required')).toEqual({ first: { add: 2 }, second: { add: 6 }, third: { add: 10 } })
  })

  it('is reloaded while runs go on: they keep what they have, new ones get what is new', async () => {
    expect(await seen('live-runs')).toEqual([
      ['yes', 2],
      ['yes', 101],
    ])
  })

  it('with a file that does not load, or a name that is taken, changes nothing', async () => {
    expect(await seen('broken-files')).toEqual({
      errors: [
        expect.stringMatching(/^bad-file: DIR\/flow\.ts could not be loaded: /u),
        "bad-definition: The name 'add' is taken by a graph. Names are unique across nodes, graphs and workflows.",
        "bad-definition: The name 'mine' is taken by a function. Names are unique across nodes, graphs and workflows.",
        expect.stringMatching(/^bad-file: DIR\/flow\.ts could not be loaded: .*more\.ts/u),
        expect.stringMatching(/^bad-file: The folder DIR\/nowhere cannot be read/u),
      ],
      same: true,
      names: ['flow', 'more', 'add'],
    })
  })

  it('with a file that waits for ever is given up', async () => {
    expect(await seen('never-loaded')).toBe(
      'bad-file: DIR/waits.ts could not be loaded: a top-level await in it, or in what it imports, does not end.',
    )
  })

  it('is one of several, also when they are loaded at the same time', async () => {
    expect(await seen('two-folders')).toEqual({
      both: ['add', 'more'],
      removed: true,
      left: ['more'],
      back: ['add', 'more'],
    })
  })
})
