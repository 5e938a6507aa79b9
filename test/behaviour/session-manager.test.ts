/** Sessions in real folders: what survives a restart, a kill and a damaged file. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, defineNode, type Host, type Node } from 'nerve'
import { graph } from 'nerve/graph'
import { createNodeFactory, createSessionManager, nodeHistory, type SessionManagerOptions } from 'nerve/sessions'
import { temporary } from './session-stage.ts'
import { rejection, until } from './stage.ts'

const WORKER = fileURLToPath(new URL('session-worker.ts', import.meta.url))

async function open(dir: string, options: SessionManagerOptions = {}) {
  const host: Host = await createHost({ dir, store: 'memory' })
  const sessions = createSessionManager(host, options)
  const close = async (): Promise<void> => {
    await sessions.closeAll()
    await host.close()
  }
  onTestFinished(close)
  return { host, sessions, close }
}

async function startWorker(dir: string, what: string): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    ['--conditions=nerve-source', '--disable-warning=ExperimentalWarning', WORKER, dir, what],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit').then(() => {
    throw new Error('the worker ended')
  })
  await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), ended])
  ended.catch(() => undefined)
  return child
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

const greeters = () => {
  const factory = createNodeFactory()
  factory.register('greeter', (id, { word, apiKey }) => {
    if (word === undefined) throw new Error('word is missing')
    return defineNode(id, (name: string) => `${word as string} ${name} (${apiKey as string})`, {
      persistent: true,
      fork: (copy) => defineNode(copy, (name: string) => `${word as string} ${name} again`, { persistent: true }),
    })
  })
  return factory
}

describe('a session manager', () => {
  it('creates, gets, finds by name and tag, lists and closes', async () => {
    const { sessions } = await open(temporary())
    const main = await sessions.create({ name: 'main', tags: ['work', 'blue'] })
    await sessions.create({ name: 'other', tags: ['blue'] })
    expect(sessions.get('main')).toBe(main)
    expect(sessions.get('nothing')).toBeUndefined()
    const found = async (wanted: { name?: string; tag?: string }): Promise<string[]> =>
      (await sessions.find(wanted)).map(({ name }) => name)
    expect(await found({ name: 'main' })).toEqual(['main'])
    expect(await found({ tag: 'blue' })).toEqual(['main', 'other'])
    expect(await found({ name: 'other', tag: 'work' })).toEqual([])
    await sessions.close('main')
    await sessions.close('main')
    expect(sessions.get('main')).toBeUndefined()
    expect((await sessions.list()).map(({ name, open: isOpen }) => [name, isOpen])).toEqual([
      ['main', false],
      ['other', true],
    ])
    expect((await rejection(sessions.create({ name: 'main' }))).message).toMatch(
      /There is a session 'main' already. Restore it/u,
    )
    await sessions.remove('main')
    expect(await rejection(sessions.close('main'))).toMatchObject({ code: 'not-found' })
    await sessions.create({ name: 'main' })
  })

  it('restores nodes from their configurations, with tags, time and lineage', async () => {
    const dir = temporary()
    const factory = greeters()
    const first = await open(dir, { factory })
    const config = { kind: 'greeter', id: 'hello', word: 'Hello', apiKey: 'the-secret' }
    const before = await first.sessions.create({ name: 'main', tags: ['t'], nodes: [{ node: config, as: 'greet' }] })
    await before.fork('greet')
    expect(await before.send('greet', 'Ada')).toBe('Hello Ada (the-secret)')
    await first.close()
    const file = join(dir, '.nerve', 'sessions', 'main.json')
    expect(readFileSync(file, 'utf8')).not.toContain('the-secret')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(dir, '.nerve', 'sessions'))).toEqual(['main.json'])

    const { sessions } = await open(dir, { factory: greeters() })
    expect(await rejection(sessions.restore('main'))).toMatchObject({
      code: 'not-ready',
      message: expect.stringContaining(`'greet' needs apiKey, which is not recorded because it is secret`),
    })
    const again = { apiKey: 'another' }
    const after = await sessions.restore('main', { config: { greet: again, 'greet-fork-1': again } })
    expect(after.created).toBe(before.created)
    expect(after.tags).toEqual(['t'])
    expect(after.forks()).toEqual(before.forks())
    expect(await after.send('greet', 'Ada')).toBe('Hello Ada (another)')
    expect(await after.send('greet-fork-1', 'Ada')).toBe('Hello Ada (another)')
    expect((await rejection(sessions.restore('main'))).message).toMatch(
      /There is a session 'main' on this host already/u,
    )
  })

  it('restores nodes with names that every object has', async () => {
    const dir = temporary()
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty']
    const before = await open(dir)
    await before.sessions.create({ name: 'odd', nodes: names.map((id) => ({ kind: 'identity', id })) })
    await before.close()
    const { sessions } = await open(dir)
    const odd = await sessions.restore('odd')
    for (const name of names) expect(await odd.send(name, `to ${name}`)).toBe(`to ${name}`)
  })

  it('wants what only code can make, names all of it at once, and forks it again', async () => {
    const dir = temporary()
    const shell = (id: string): Node<string, string> =>
      defineNode(id, (text: string) => `${id}: ${text}`, { persistent: true, fork: shell })
    const flow = graph('flow').step('it', shell('inner'), { input: 'x' })
    const first = await open(dir)
    const before = await first.sessions.create({ name: 'main', nodes: [shell('sh'), flow] })
    await before.fork('sh')
    await before.fork('flow')
    const list = before.list()
    await first.close()
    const { sessions, host } = await open(dir)
    expect((await rejection(sessions.restore('main'))).message).toBe(
      `Session 'main' cannot be restored: 'sh' (function) is made by code: give it in { nodes }. ` +
        `'flow' (graph) is made by code: give it in { nodes }. 'sh-fork-1' (function) is made by code: give it in { nodes }. ` +
        `'flow-fork-1' (graph) is made by code: give it in { nodes }.`,
    )
    expect([...host.registry.names.keys()]).toEqual([])
    const after = await sessions.restore('main', { nodes: [shell('sh'), flow] })
    expect(after.list()).toEqual(list)
    expect(await after.send('flow-fork-1')).toEqual({ it: 'inner-flow-fork-1: x' })
  })

  it('writes down every change, as a whole', async () => {
    const dir = temporary()
    const { sessions } = await open(dir, { factory: greeters() })
    const members = async (): Promise<string[]> =>
      (
        JSON.parse(readFileSync(join(dir, '.nerve', 'sessions', 'main.json'), 'utf8')) as {
          members: { name: string }[]
        }
      ).members.map(({ name }) => name)
    const session = await sessions.create({ name: 'main' })
    expect(await members()).toEqual([])
    await session.add({ kind: 'greeter', id: 'a', word: 'A' })
    await session.fork('a')
    expect(await members()).toEqual(['a', 'a-fork-1'])
    await session.remove('a')
    expect(await members()).toEqual(['a-fork-1'])
  })

  it('undoes a change that cannot be written down', async () => {
    const dir = temporary()
    const { sessions, host } = await open(dir, { factory: greeters() })
    const session = await sessions.create({ name: 'main' })
    mkdirSync(join(dir, '.nerve', 'sessions', 'main.json.tmp'))
    expect(await rejection(session.add({ kind: 'greeter', id: 'a', word: 'A' }))).toMatchObject({ code: 'EISDIR' })
    expect(session.list()).toEqual([])
    expect([...host.registry.names.keys()]).toEqual(['main:send'])
  })

  it.each([
    ['', 'it is not JSON'],
    ['{"format":1,', 'it is not JSON'],
    ['[]', `'format' is not what it should be`],
    ['{"format":1,"name":"other","tags":[],"created":1,"members":[]}', `'name' is not what it should be`],
    ['{"format":1,"name":"main","tags":"x","created":1,"members":[]}', `'tags' is not what it should be`],
    [
      '{"format":1,"name":"main","tags":[],"created":1,"members":[{"name":"a/b"}]}',
      `'members[0]' is not what it should be`,
    ],
  ])('names a damaged file, and changes nothing: %s', async (text, why) => {
    const dir = temporary()
    const problems: unknown[] = []
    const { sessions } = await open(dir, { onProblem: (error) => problems.push(error) })
    await sessions.create({ name: 'good' })
    const file = join(dir, '.nerve', 'sessions', 'main.json')
    writeFileSync(file, text)
    const damaged = {
      code: 'store-corrupt',
      message: expect.stringContaining(`${file} is not the record of a session: ${why}`),
    }
    expect(await rejection(sessions.restore('main'))).toMatchObject(damaged)
    expect(await rejection(sessions.create({ name: 'main' }))).toMatchObject(damaged)
    expect((await sessions.list()).map(({ name }) => name)).toEqual(['good'])
    expect(problems).toMatchObject([damaged])
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('refuses the record of a newer Nerve, and names that lead elsewhere', async () => {
    const dir = temporary()
    const { sessions } = await open(dir)
    mkdirSync(join(dir, '.nerve', 'sessions'), { recursive: true })
    writeFileSync(join(dir, '.nerve', 'sessions', 'main.json'), '{"format":2}')
    expect(await rejection(sessions.restore('main'))).toMatchObject({ code: 'store-newer' })
    for (const name of ['../main', '', 'a/b'])
      expect(await rejection(sessions.restore(name))).toMatchObject({ code: 'bad-option' })
    expect(await rejection(sessions.restore('nothing'))).toMatchObject({ code: 'not-found' })
  })
})

describe('two managers of a host', () => {
  const settled = (given: readonly Promise<unknown>[]) =>
    Promise.all(given.map((one) => one.then((value) => ({ value }), rejected)))
  const rejected = ({ code, message }: Error & { code?: string }) => ({ code, message })

  async function two(dir = temporary(), recorded = true) {
    if (recorded) {
      const before = await open(dir)
      await before.sessions.create({ name: 'main', nodes: [{ kind: 'identity', id: 'same' }] })
      await before.close()
    }
    const { host, sessions: one } = await open(dir)
    return { host, one, other: createSessionManager(host, { lazy: true }) }
  }

  it.each(['restore', 'open'] as const)(
    'have one session, also when both ask for it at once: first %s',
    async (way) => {
      const { one, other } = await two()
      const asked = [() => one.restore('main'), () => other.open('main')]
      const [first, second] = await Promise.all((way === 'open' ? asked.toReversed() : asked).map((ask) => ask()))
      expect(first).toBe(second)
      expect(one.get('main')).toBe(first)
      expect(await first?.send('same', 7)).toBe(7)
      expect((await rejection(other.restore('main'))).message).toMatch(
        /There is a session 'main' on this host already/u,
      )
    },
  )

  it('have the one that is being created', async () => {
    const { one, other } = await two(temporary(), false)
    const [made, opened] = await Promise.all([one.create({ name: 'main' }), other.open('main')])
    expect(opened).toBe(made)
  })

  it('hear of it when only one of them can have it', async () => {
    const { one, other } = await two()
    const [opened, made] = await settled([one.open('main'), other.create({ name: 'main' })])
    expect(opened).toEqual({ value: one.get('main') })
    expect(made).toMatchObject({ code: 'bad-option', message: expect.stringContaining(`'main' on this host already`) })
  })

  it('try for themselves when the other one failed', async () => {
    const { one, other, host } = await two()
    const nodes = { same: defineNode('other', () => 1, { start: () => Promise.reject(new Error('not today')) }) }
    const [failed, opened] = await settled([one.restore('main', { nodes }), other.open('main')])
    expect(failed).toMatchObject({ message: 'not today' })
    expect(opened).toEqual({ value: one.get('main') })
    expect([...host.registry.names.keys()]).toEqual(['main:send', 'same'])
  })

  it.each(['close', 'closeAll', 'detachAll', 'remove'] as const)('%s what the other one is opening', async (verb) => {
    const { host, one, other } = await two()
    const opening = other.open('main')
    await one[verb]('main')
    expect((await opening).closed).toBe(true)
    expect([...host.registry.names.keys()]).toEqual([])
    expect(await one.list()).toHaveLength(verb === 'remove' ? 0 : 1)
  })
})

describe('two processes', () => {
  it('have a session one at a time; after kill -9 it can be restored by another', async () => {
    const dir = temporary()
    const child = await startWorker(dir, 'wait')
    const { sessions } = await open(dir)
    const talk = defineNode('talk', (size: number) => size, { persistent: true })
    expect((await sessions.list())[0]).toMatchObject({ name: 'main', tags: ['work'], open: false, members: 3 })
    const elsewhere = await rejection(sessions.restore('main', { nodes: [talk] }))
    expect(elsewhere).toMatchObject({ code: 'owned-elsewhere' })
    expect(await rejection(sessions.remove('main'))).toMatchObject({ code: 'owned-elsewhere' })
    await killed(child)
    const session = await sessions.restore('main', { nodes: [talk] })
    expect(session.ready()).toEqual(['talk', 'same', 'same-fork-1'])
    expect(session.node('same-fork-1').info()).toMatchObject({
      description: 'as it is',
      lineage: { forkedFrom: 'same', depth: 1 },
    })
    expect(await session.send('same', 7)).toBe(7)
  })

  it('recover what was sent to a session, once it is restored', async () => {
    const dir = temporary()
    const child = await startWorker(dir, 'hang')
    await until(async () => (await nodeHistory({ dir, session: 'main', node: 'talk' })).entries.length > 0, 'the send')
    await killed(child)
    const host = await createHost({ dir })
    const sessions = createSessionManager(host)
    onTestFinished(async () => {
      await sessions.closeAll()
      await host.close()
    })
    expect(host.recovered).toMatchObject({ recovered: [], left: { length: 1 } })
    const talk = defineNode('talk', (size: number) => `again ${size}`, { persistent: true })
    await sessions.restore('main', { nodes: [talk] })
    const { recovered } = await host.recover()
    expect(recovered).toHaveLength(1)
    const [row] = await host.runs({ definition: 'main:send' })
    expect(await (await host.handle(row?.run ?? '')).result()).toBe('again -1')
  })

  it('killed in the middle of writing a history, leave one that can be read and gone on with', async () => {
    for (const lines of [3, 20]) {
      const dir = temporary()
      const child = await startWorker(dir, 'write')
      const of = { dir, session: 'main', node: 'talk' }
      await until(async () => (await nodeHistory(of)).entries.length >= lines, 'a history')
      await killed(child)
      const left = await nodeHistory(of)
      expect(left.unreadable).toBeLessThanOrEqual(1)
      const count = left.entries.length
      expect(left.entries.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
      const { sessions } = await open(dir)
      const talk = defineNode('talk', (size: number) => size, { persistent: true })
      const session = await sessions.restore('main', { nodes: [talk] })
      await session.send('talk', 1)
      const after = await session.history('talk')
      expect(after.unreadable).toBe(left.unreadable)
      expect(after.entries.slice(count)).toMatchObject([
        { seq: count + 1, operation: 'send', input: 1 },
        { seq: count + 2, operation: 'send', of: count + 1, output: 1 },
      ])
    }
  })
})
