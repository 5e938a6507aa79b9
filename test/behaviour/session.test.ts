/** A session owns nodes, graphs and workflows: names, order, lifecycle. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, defineNode, workflow, type Heard, type Node } from 'nerve'
import { Loop } from 'nerve/control'
import { graph } from 'nerve/graph'
import { createNodeFactory, createSession, type SessionOptions } from 'nerve/sessions'
import { names, openSession as open, shell, shout, temporary } from './session-stage.ts'
import { gate, openStage, quiet, rejection, timePasses } from './stage.ts'

describe('a session', () => {
  it('has nodes, graphs and workflows by name, and tells of them', async () => {
    const { host, clock } = await openStage()
    const flow = workflow('flow', (ctx) => ctx.run('shout', 'by name'))
    const session = await open(host, {
      tags: ['a'],
      clock,
      nodes: [shout, flow, { node: shell('sh', []), as: 'my-shell_1' }],
    })
    expect(session.list()).toEqual([
      { name: 'shout', type: 'node', kind: 'function', persistent: false, state: 'ready' },
      { name: 'flow', type: 'definition', kind: 'workflow' },
      { name: 'my-shell_1', type: 'node', kind: 'function', persistent: true, state: 'ready' },
    ])
    expect(session.ready()).toEqual(['shout', 'my-shell_1'])
    const { created } = session
    const info = { name: 'main', tags: ['a'], created, closed: false, nodes: 2, definitions: 1, states: { ready: 2 } }
    expect(session.info()).toEqual(info)
    expect(created).toBe(clock.now())
    expect(JSON.parse(JSON.stringify(session))).toMatchObject({ name: 'main', tags: ['a'], members: { length: 3 } })
    expect(session.get('flow')).toBe(flow)
    expect(session.get('nothing')).toBeUndefined()
    expect(session.node('my-shell_1').info()).toMatchObject({ id: 'my-shell_1', state: 'ready' })
    expect(() => session.node('flow')).toThrow("'flow' in session 'main' is a workflow, not a node.")
    expect(() => session.node('shut')).toThrow("There is no 'shut' in session 'main'. Did you mean 'shout'?")
    expect(await (await host.start(flow)).result()).toBe('BY NAME')
  })

  it('sends to what it has in a run of its own, which is in a journal', async () => {
    const { host } = await openStage()
    const twice = graph<string>('twice').step('a', shout, { inputFn: (_, { input }) => input })
    const session = await open(host, { nodes: [shout, twice, shell('sh', [])] })
    expect(await session.send('shout', 'hello')).toBe('HELLO')
    expect(await session.send('sh', 'x')).toBe('sh: x')
    expect(await session.send('twice', 'y')).toEqual({ a: 'Y' })
    const runs = await host.runs()
    expect(runs.map(({ definition, status }) => [definition, status])).toEqual(
      Array.from({ length: 3 }, () => ['main:send', 'completed']),
    )
    const events = await host.journal(runs.at(-1)?.run ?? '')
    expect(events.find(({ event }) => event.type === 'step-completed')?.event).toMatchObject({
      path: 'shout',
      output: 'HELLO',
    })
    expect(await rejection(session.send('shot', 'x'))).toMatchObject({ code: 'not-found' })
    expect(await rejection(session.send('shout', 1))).toMatchObject({ code: 'run-failed' })
  })

  it.each(['', 'a/b', 'a#b', 'a b', '-a', '..', '.hidden', 'a\n', 'ä', 'x'.repeat(101), 7])(
    'refuses the name %j',
    async (name) => {
      const { host } = await openStage()
      const wrong = { code: 'bad-option', message: expect.stringContaining(`letters, digits, '-', '_' and '.'`) }
      expect(await rejection(createSession(host, { name: name as string }))).toMatchObject(wrong)
      const nodes = [{ node: shout, as: name as string }]
      expect(await rejection(createSession(host, { name: 'main', nodes }))).toMatchObject(wrong)
      expect(names(host)).toEqual([])
    },
  )

  it('wants names that are unique, also inside definitions, and says who has them', async () => {
    const { host } = await openStage()
    const inside = graph('flow').step('a', shell('Shout', []), { input: 'x' })
    const taken = async (...nodes: NonNullable<SessionOptions['nodes']>): Promise<string> =>
      (await rejection(createSession(host, { name: 'other', nodes }))).message
    expect(await taken(shout, inside)).toMatch(
      /The name 'Shout' \(inside 'flow'\) is taken in the session by 'shout' \(function\)/u,
    )
    expect(await taken(shout, { node: shout, as: 'b' })).toMatch(
      /'shout' is in the session already; it cannot also be 'b'/u,
    )
    expect(await taken(defineNode('a b', () => 1))).toMatch(/Give it one: \{ node, as: name \}/u)
    const session = await open(host, { nodes: [shout] })
    const other = defineNode('shout', () => 1)
    expect(await taken(other)).toMatch(
      /'shout' is taken on this host by a function of session 'main'. Give yours another/u,
    )
    expect(await taken({ node: shout, as: 'again' })).toMatch(/a node belongs to one session at a time/u)
    expect((await rejection(createSession(host, { name: 'main' }))).message).toMatch(
      /There is a session 'main' on this host/u,
    )
    expect(names(host)).toEqual(['main:send', 'shout'])
    await session.close()
    expect(names(host)).toEqual([])
    expect(await (await open(host, { nodes: [other] })).send('shout')).toBe(1)
  })

  it('puts back what the host knew under a name', async () => {
    const { host } = await openStage({ definitions: [shout] })
    const session = await open(host, { nodes: [shout] })
    expect(host.registry.names.get('shout')).toBe(session.node('shout'))
    await session.close()
    expect(host.registry.names.get('shout')).toBe(shout)
  })

  it('starts in order, what is inside definitions too, and stops in the reverse order', async () => {
    const { host } = await openStage()
    const log: string[] = []
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => shell(id, log)) as [Node, Node, Node, Node]
    const inner = graph('inner').step('x', b as Node<string>, { input: '1' })
    const outer = graph('outer')
      .step('loop', Loop({ id: 'again', body: inner, times: 2 }))
      .step('y', c as Node<string>, { input: '2' })
    const session = await open(host, { nodes: [{ node: a, after: ['d'] }, outer, d] })
    expect(log).toEqual(['start d', 'start a', 'start b', 'start c'])
    expect(session.list().map(({ name, within }) => [name, within])).toEqual([
      ['d', undefined],
      ['a', undefined],
      ['b', 'outer'],
      ['c', 'outer'],
      ['outer', undefined],
    ])
    log.length = 0
    expect((await session.close()).stopped).toEqual(['c', 'b', 'a', 'd'])
    expect(log).toEqual(['stop c', 'stop b', 'stop a', 'stop d'])
    const circle = [
      { node: a, after: ['d'] },
      { node: d, after: ['a'] },
    ]
    expect((await rejection(createSession(host, { name: 'x', nodes: circle }))).message).toMatch(
      /a -> d -> a goes round/u,
    )
    const missing = [{ node: a, after: ['e'] }]
    expect((await rejection(createSession(host, { name: 'x', nodes: missing }))).message).toMatch(
      /'e', which is not in the/u,
    )
  })

  it('leaves nothing behind when a node does not start', async () => {
    const dir = temporary()
    const { host } = await openStage({ dir })
    const log: string[] = []
    const bad = shell('bad', log, {
      start: () => {
        throw new Error('no display')
      },
    })
    const nodes = [shell('a', log), shell('b', log), bad, shell('never', log)]
    const options = { name: 'main', nodes }
    expect(await rejection(createSession(host, options))).toMatchObject({ message: 'no display' })
    expect(log).toEqual(['start a', 'start b', 'stop bad', 'stop b', 'stop a'])
    expect(names(host)).toEqual([])
    expect(readdirSync(join(dir, '.nerve', 'sessions'))).toEqual([])
    expect(existsSync(join(dir, '.nerve', 'history'))).toBe(false)
    const session = await open(host, { nodes: nodes.slice(0, 2) })
    expect(await rejection(session.add(shell('c', log), bad))).toMatchObject({ message: 'no display' })
    expect(session.list().map(({ name }) => name)).toEqual(['a', 'b'])
    expect(await session.add(shell('c', log))).toEqual(['c'])
  })

  it('gives each node its time to start, and leaves nothing behind when that is over', async () => {
    const { host, clock } = await openStage()
    const log: string[] = []
    const hangs = shell('hangs', log, { start: () => new Promise(() => undefined) })
    const opening = createSession(host, { name: 'main', clock, nodes: [shell('a', log), hangs], startTimeout: '2s' })
    expect(await rejection(timePasses(clock, opening))).toMatchObject({ code: 'timeout' })
    expect(log).toEqual(['start a', 'stop hangs', 'stop a'])
    expect(names(host)).toEqual([])
  })

  it('closes in bounded time, once, and reports what did not stop', async () => {
    const { host, clock } = await openStage()
    const log: string[] = []
    const problems: unknown[] = []
    const stuck = shell('stuck', log, { stop: () => new Promise(() => undefined) })
    const broken = shell('broken', log, {
      stop: () => {
        throw new Error('broken')
      },
    })
    const nodes = [shell('a', log), stuck, broken, shell('b', log)]
    const session = await open(host, { clock, nodes, stopTimeout: 1_000, onProblem: (error) => problems.push(error) })
    const [first, second] = await timePasses(clock, Promise.all([session.close(), session.close()]))
    expect(first).toBe(second)
    expect(first).toMatchObject({
      stopped: ['b', 'a'],
      problems: [
        { node: 'broken', error: { message: 'broken' } },
        { node: 'stuck', error: { code: 'timeout', message: "Node 'stuck' did not stop within 1.0s." } },
      ],
    })
    expect(problems).toHaveLength(2)
    expect(await session.close()).toBe(first)
    expect(await session.stop()).toEqual({ stopped: [], problems: [] })
    expect(names(host)).toEqual([])
    expect(await rejection(session.send('a', 'x'))).toMatchObject({
      code: 'not-ready',
      message: "Session 'main' is closed.",
    })
    expect(await rejection(session.add(shout))).toMatchObject({ code: 'not-ready' })
  })

  it('stops and starts again without losing its names', async () => {
    const { host } = await openStage()
    const log: string[] = []
    const session = await open(host, { nodes: [shell('a', log), shell('b', log)] })
    expect(await session.stop()).toEqual({ stopped: ['b', 'a'], problems: [] })
    expect(session.ready()).toEqual([])
    const refused = await rejection(session.send('a', 'x'))
    expect(refused.cause).toMatchObject({ code: 'not-ready' })
    await session.start()
    expect(log).toEqual(['start a', 'start b', 'stop b', 'stop a', 'start a', 'start b'])
    expect(await session.send('a', 'x')).toBe('a: x')
  })

  it('is one node, also in a graph that holds the node itself: one thing at a time, busy, and in its history', async () => {
    const dir = temporary()
    const { host } = await openStage({ dir })
    const hold = gate<string>()
    const order: string[] = []
    const slow = defineNode(
      'slow',
      async (text: string, { emit }) => {
        order.push(`begin ${text}`)
        emit('text-delta', `${text}…`)
        if (text === 'first') await hold.promise
        order.push(`end ${text}`)
        return text
      },
      { persistent: true },
    )
    const flow = graph('flow').step('it', slow, { input: 'first' })
    const session = await open(host, { nodes: [flow] })
    const run = await host.start(flow)
    await quiet()
    expect(session.node('slow').state).toBe('busy')
    const sent = session.send('slow', 'second')
    await quiet()
    expect(order).toEqual(['begin first'])
    hold.resolve('')
    await Promise.all([run.result(), sent])
    expect(order).toEqual(['begin first', 'end first', 'begin second', 'end second'])
    const { entries } = await session.history('slow')
    expect(entries).toMatchObject([
      { seq: 1, operation: 'send', input: 'first', run: run.id, path: 'it' },
      { seq: 2, operation: 'stream', of: 1, output: 'first', buffer: 'first…' },
      { seq: 3, operation: 'send', input: 'second', path: 'slow' },
      { seq: 4, operation: 'stream', of: 3, output: 'second', buffer: 'second…' },
    ])
    await session.close()
    const again = await open(host, { nodes: [slow] })
    await again.send('slow', 'third')
    expect((await again.history('slow', { last: 3 })).entries).toMatchObject([
      { seq: 6, operation: 'close', of: 5 },
      { seq: 7, operation: 'send', input: 'third' },
      { seq: 8, operation: 'stream', of: 7 },
    ])
  })

  it('waits for what a node was doing when it came into the session, and when it leaves', async () => {
    const { host } = await openStage()
    const holds = [gate(), gate(), gate()]
    const order: string[] = []
    const slow = defineNode(
      'slow',
      async (turn: number) => {
        order.push(`begin ${turn}`)
        await holds[turn]?.promise
        order.push(`end ${turn}`)
      },
      { persistent: true },
    )
    const flow = graph<number>('flow').step('it', slow, { inputFn: (_, { input }) => input })
    const before = await host.start(flow, 0)
    await quiet()
    const session = await open(host, { nodes: [slow] })
    const during = session.send('slow', 1)
    await quiet()
    expect(order).toEqual(['begin 0'])
    holds[0]?.resolve()
    await before.result()
    await quiet()
    await session.close()
    const after = await host.start(flow, 2)
    await quiet()
    expect(order).toEqual(['begin 0', 'end 0', 'begin 1'])
    holds[1]?.resolve()
    holds[2]?.resolve()
    await Promise.all([during, after.result()])
    expect(order.slice(3)).toEqual(['end 1', 'begin 2', 'end 2'])
  })

  it('tells of states as live parts', async () => {
    const { host } = await openStage()
    const heard: string[] = []
    host.subscribe({ live: true, path: 'session/main/node/*' }, (part: Heard) => {
      const { path, type, data } = part as { path: string; type: string; data: { from: string; to: string } }
      heard.push(`${path} ${type} ${data.from} -> ${data.to}`)
    })
    const session = await open(host, { nodes: [shout] })
    await session.send('shout', 'x')
    await session.close()
    const of = 'session/main/node/shout node-state'
    expect(heard).toEqual(
      [
        'created -> starting',
        'starting -> ready',
        'ready -> busy',
        'busy -> ready',
        'ready -> stopping',
        'stopping -> stopped',
      ].map((change) => `${of} ${change}`),
    )
  })

  it('makes nodes of configurations', async () => {
    const { host } = await openStage()
    const factory = createNodeFactory()
    factory.register('greeter', (id, { word }) => defineNode(id, (name: string) => `${String(word)} ${name}`))
    const config = { kind: 'greeter', id: 'hello', word: 'Hello', apiKey: 'sk' }
    const session = await open(host, {
      factory,
      nodes: [config, { node: { ...config, id: 'hi', word: 'Hi' }, as: 'greet' }],
    })
    expect(await session.send('greet', 'Ada')).toBe('Hi Ada')
    expect(session.node('hello').info()).toMatchObject({
      config: { kind: 'greeter', id: 'hello', word: 'Hello' },
      omitted: ['apiKey'],
    })
    expect(JSON.stringify(session)).not.toContain('"sk"')
  })
})

describe('a host with a folder', () => {
  it('lets a session be open once, in whatever host of whatever process', async () => {
    const dir = temporary()
    const hosts = await Promise.all([createHost({ dir, store: 'memory' }), createHost({ dir, store: 'memory' })])
    onTestFinished(async () => void (await Promise.all(hosts.map((host) => host.close()))))
    const [first, second] = hosts
    const session = await open(first)
    for (let i = 0; i < 3; i += 1)
      expect(await rejection(createSession(second, { name: 'main' }))).toMatchObject({ code: 'owned-elsewhere' })
    await session.close()
    expect(readdirSync(join(dir, '.nerve', 'sessions'))).toEqual([])
    await open(second)
  })
})
