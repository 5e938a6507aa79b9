/** Copies of what is in a session, and taking things out of it. */
import { describe, expect, it } from 'vitest'
import { defineNode } from 'nerve'
import { graph } from 'nerve/graph'
import { SimulatedClock } from 'nerve/testing'
import { names, openSession as open, shell, shout } from './session-stage.ts'
import { openStage, rejection } from './stage.ts'

describe('forks', () => {
  it('have generated names and a lineage', async () => {
    const clock = new SimulatedClock(5)
    const { host } = await openStage({ clock })
    const log: string[] = []
    const session = await open(host, { clock, nodes: [shell('sh', log), shout] })
    expect(await session.fork('sh')).toBe('sh-fork-1')
    clock.advance(10)
    expect(await session.fork('sh-fork-1')).toBe('sh-fork-2')
    expect(await session.fork('sh', 'mine')).toBe('mine')
    expect(await session.fork('shout')).toBe('shout-fork-1')
    expect(await session.send('sh-fork-2', 'x')).toBe('sh-fork-2: x')
    expect(await session.send('shout-fork-1', 'x')).toBe('X')
    expect(session.node('sh-fork-2').info()).toMatchObject({
      forkedFrom: 'sh-fork-1',
      lineage: { forkedFrom: 'sh-fork-1', forkedAt: 15, depth: 2 },
    })
    const tree = [
      {
        name: 'sh',
        forks: [
          {
            name: 'sh-fork-1',
            forkedFrom: 'sh',
            forkedAt: 5,
            depth: 1,
            forks: [{ name: 'sh-fork-2', depth: 2, forks: [] }],
          },
          { name: 'mine', depth: 1, forks: [] },
        ],
      },
      { name: 'shout', forks: [{ name: 'shout-fork-1', depth: 1, forks: [] }] },
    ]
    expect(session.forks()).toMatchObject(tree)
    await session.remove('sh-fork-1')
    expect(session.forks()).toMatchObject([
      { name: 'sh' },
      { name: 'shout' },
      { name: 'sh-fork-2', forkedFrom: 'sh-fork-1' },
    ])
    expect((await rejection(session.fork('sh', 'mine'))).message).toMatch(/The name 'mine' is taken in the session/u)
    expect((await rejection(session.fork('sh', 'a/b'))).message).toMatch(/is not a name for a copy/u)
    expect(await session.fork('sh')).toBe('sh-fork-1')
  })

  it('of a graph copy the persistent nodes in it, with their lineage', async () => {
    const { host } = await openStage()
    const log: string[] = []
    const flow = graph('flow').step('it', shell('sh', log), { input: 'x' })
    const session = await open(host, { nodes: [flow] })
    expect(await session.fork('flow')).toBe('flow-fork-1')
    expect(session.list().map(({ name, within, lineage }) => [name, within, lineage?.forkedFrom])).toEqual([
      ['sh', 'flow', undefined],
      ['flow', undefined, undefined],
      ['sh-flow-fork-1', 'flow-fork-1', 'sh'],
      ['flow-fork-1', undefined, 'flow'],
    ])
    expect(await session.send('flow-fork-1')).toEqual({ it: 'sh-flow-fork-1: x' })
    expect(log).toEqual(['start sh', 'start sh-flow-fork-1'])
  })

  it('are refused where something is kept and there is no way to copy it', async () => {
    const { host } = await openStage()
    const plain = defineNode('plain', () => 1, { persistent: true })
    const session = await open(host, { nodes: [plain] })
    expect((await rejection(session.fork('plain'))).message).toMatch(/'plain' \(function\) cannot be forked/u)
    expect(session.list()).toHaveLength(1)
  })
})

describe('removing', () => {
  it('takes what came with a definition, unless something else uses it', async () => {
    const { host } = await openStage()
    const log: string[] = []
    const both = shell('both', log)
    const one = graph('one')
      .step('a', both, { input: 'x' })
      .step('b', shell('own', log), { after: ['a'], input: 'x' })
    const two = graph('two').step('a', both, { input: 'x' })
    const session = await open(host, { nodes: [one, two, shout] })
    expect((await rejection(session.remove('both'))).message).toMatch(
      /'both' is used by 'one' in session 'main'. Remove that first/u,
    )
    log.length = 0
    await session.remove('one')
    expect(log).toEqual(['stop own'])
    expect(session.list().map(({ name, within }) => [name, within])).toEqual([
      ['both', 'two'],
      ['two', undefined],
      ['shout', undefined],
    ])
    await session.remove('two')
    expect(session.list().map(({ name }) => name)).toEqual(['shout'])
    expect(names(host)).toEqual(['main:send', 'shout'])
    expect(await rejection(session.remove('two'))).toMatchObject({ code: 'not-found' })
  })
})
