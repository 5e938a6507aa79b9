/** Everything that is in the contract, on every way to a host: each name is asked for there and does what it says. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect, type Client, type EventItem } from 'nerve/client'
import { contract, type Name } from '../../src/host/contract/contract.ts'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'
import { WAYS } from './ways.ts'

const dir = mkdtempSync(join(tmpdir(), 'nerve-every-name-'))
let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest({}, { dir })
})
afterAll(async () => {
  await under.end()
  rmSync(dir, { recursive: true, force: true })
})

/** What is made before for a way: by a neighbour, who may do everything. */
interface Scene {
  readonly client: Client
  readonly near: Client
  /** Different for each way: names on a host are taken once. */
  readonly session: string
  readonly shell: string
  readonly echo: string
  readonly spec: { readonly nerve: 1; readonly name: string; readonly steps: object }
}

/** In an order in which each finds what it needs. Whoever adds a name to the contract has to say here what it does. */
const asked: { readonly [One in Name]: (scene: Scene) => Promise<void> } = {
  health: async ({ client }) => expect(await client.health()).toMatchObject({ ok: true, version: '1.2.3', dir }),
  'gateway.status': async ({ client }) => expect(await client.call('gateway.status', {})).toEqual([]),
  'definitions.list': async ({ client }) =>
    expect(await client.definitions()).toContainEqual({ name: 'busy', kind: 'workflow' }),
  'definitions.problems': async ({ client }) => expect(await client.call('definitions.problems', {})).toEqual([]),
  'definitions.explain': async ({ client }) =>
    expect(await client.call('definitions.explain', { definition: 'review' })).toMatchObject({ name: 'review' }),
  'definitions.validate': async ({ client, spec }) => {
    expect(await client.call('definitions.validate', { definition: 'busy' })).toEqual({ ok: true, problems: [] })
    expect(await client.call('definitions.validate', { spec })).toEqual({ ok: true, problems: [] })
    const wrong = { ...spec, steps: { one: { node: 'x', after: ['two'] } } }
    expect(await client.call('definitions.validate', { spec: wrong })).toEqual({
      ok: false,
      problems: ["steps.one.after: there is no step 'two'."],
    })
  },
  'definitions.create': async ({ client, spec, echo }) => {
    expect(await client.call('definitions.create', { spec })).toEqual({ definition: spec.name, unchecked: [echo] })
  },
  'sessions.create': async ({ client, session }) => {
    expect(await client.call('sessions.create', { session, tags: ['a'] })).toEqual({ session })
    await expect(client.call('sessions.create', { session })).rejects.toMatchObject({ code: 'bad-option' })
  },
  'sessions.list': async ({ client, session }) =>
    expect(await client.call('sessions.list', {})).toContainEqual(
      expect.objectContaining({ name: session, tags: ['a'], open: true }),
    ),
  'nodes.create': async ({ client, session, shell, echo }) => {
    const config = { kind: 'terminal', id: shell, command: 'bash', cwd: dir }
    expect(await client.call('nodes.create', { session, config })).toEqual({ session, node: shell })
    await client.call('nodes.create', { session, config: { kind: 'bash', id: echo, command: 'echo made' } })
  },
  'sessions.get': async ({ client, session, shell }) =>
    expect(await client.call('sessions.get', { session })).toMatchObject({
      open: true,
      members: [{ name: shell }, { kind: 'bash' }],
    }),
  'nodes.list': async ({ client, session }) => expect(await client.call('nodes.list', { session })).toHaveLength(2),
  'nodes.get': async ({ client, shell }) =>
    expect(await client.node(shell).info()).toMatchObject({ name: shell, kind: 'terminal' }),
  'nodes.kinds': async ({ client }) =>
    expect(await client.call('nodes.kinds', {})).toEqual(expect.arrayContaining(['bash', 'terminal'])),
  'nodes.start': async ({ client, shell }) => {
    await client.node(shell).start()
    expect(await client.node(shell).info()).toMatchObject({ info: { state: 'ready' } })
  },
  'nodes.execute': async ({ client, echo }) =>
    expect(await client.node(echo).execute()).toMatchObject({ stdout: 'made\n' }),
  'nodes.stream': async ({ client, echo }) => {
    const types = (await all(client.node(echo).stream())).map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(['run-created', 'stdout', 'run-completed']))
  },
  'nodes.run': async ({ client, shell }) => client.node(shell).run('printf "%s-%s\\n" ran it'),
  'nodes.write': async ({ client, shell }) => client.node(shell).write('printf "%s-%s\\n" written it\r'),
  'nodes.read': async ({ client, shell }) => {
    let read = ''
    // Each time what came since the last.
    const more = async (): Promise<string> => (read += await client.node(shell).read())
    await expect.poll(more, { timeout: 10_000 }).toMatch(/ran-it[^]*written-it/)
    expect(await client.node(shell).read({ tail: 2 })).not.toContain('ran-it')
    expect(await client.node(shell).read({ screen: true })).toContain('written-it')
  },
  'nodes.watch': async ({ client, shell }) => {
    const over = new AbortController()
    const parts = client.node(shell).watch({ signal: over.signal })[Symbol.asyncIterator]()
    const first = parts.next()
    // What is printed before the feed is open is not in it, so it is printed until one comes.
    const talking = setInterval(() => void client.node(shell).write('printf "%s-%s\\n" seen it\r'), 50)
    expect((await first).value).toMatchObject({ live: true, type: 'output', data: expect.any(String) })
    clearInterval(talking)
    over.abort()
    await parts.return?.()
  },
  'nodes.interrupt': async ({ client, shell }) => client.node(shell).interrupt(),
  'nodes.reset': async ({ client, shell }) => client.node(shell).reset(),
  'nodes.fork': async ({ client, shell }) => expect((await client.node(shell).fork(`${shell}-2`)).name).toContain('-2'),
  'nodes.stop': async ({ client, shell }) => client.node(shell).stop(),
  'nodes.history': async ({ client, shell }) => {
    const { entries } = await client.node(shell).history({ operation: ['run'] })
    expect(JSON.stringify(entries[0])).toContain('ran it')
  },
  'runs.start': async ({ client, spec, echo }) =>
    expect(await (await client.runs.start(spec.name)).result()).toMatchObject({ [echo]: { stdout: 'made\n' } }),
  'runs.stream': async ({ client }) => {
    const types = (await all(client.runs.stream('busy', 1))).map(({ type }) => type)
    expect(types.at(-1)).toBe('run-completed')
  },
  'runs.list': async ({ client, spec }) =>
    expect(await client.runs.list({ definition: spec.name, status: ['completed'] })).toHaveLength(1),
  'runs.get': async ({ client }) => {
    const run = await client.runs.start('busy', 1)
    await run.result()
    expect(await client.runs.get(run.id)).toMatchObject({ run: run.id, status: 'completed' })
  },
  'runs.wait': async ({ client }) =>
    expect(await (await client.runs.start('busy', 2)).wait()).toMatchObject({ ended: true, output: 2 }),
  'runs.journal': async ({ client }) => {
    const { id } = await finished(client)
    expect(await client.call('runs.journal', { run: id, limit: 1 })).toMatchObject([{ type: 'run-created', seq: 1 }])
  },
  events: async ({ client }) => {
    const run = await finished(client)
    const numbers = (items: readonly EventItem[]) => items.map((item) => ('seq' in item ? item.seq : 0))
    expect(numbers(await all(run.events()))).toEqual([1, 2, 3])
    expect(numbers(await all(client.feed('events', { run: run.id, after: '1' })))).toEqual([2, 3])
  },
  'runs.pause': async ({ client }) => {
    const run = await client.runs.start('waiting')
    await run.wait({ until: 'rest' })
    await run.pause()
    expect(await run.get()).toMatchObject({ status: 'paused' })
  },
  'runs.resume': async ({ client }) => {
    const run = await client.runs.start('waiting')
    await run.pause()
    await run.resume()
    expect(await run.wait({ until: 'rest' })).toMatchObject({ status: 'waiting' })
    await run.cancel()
  },
  'runs.interrupt': async ({ client }) => {
    const run = await client.runs.start('waiting')
    await run.interrupt()
    await run.cancel()
  },
  'runs.cancel': async ({ client }) => {
    const run = await client.runs.start('waiting')
    await run.cancel('enough')
    await expect(run.result()).rejects.toMatchObject({ code: 'cancelled' })
  },
  'signals.send': async ({ client }) => {
    const run = await client.runs.start('waiting')
    await run.signal('go', { n: 1 })
    expect(await run.result()).toEqual({ n: 1 })
  },
  'questions.list': async ({ client }) => {
    const run = await client.runs.start('review', { file: 'x' })
    await run.wait({ until: 'rest' })
    expect(await client.questions.list()).toContainEqual(expect.objectContaining({ run: run.id }))
    await run.cancel()
  },
  'questions.answer': async ({ client }) => {
    const run = await client.runs.start('review', { file: 'x' })
    await run.wait({ until: 'rest' })
    const question = (await client.questions.list()).find((one) => one.run === run.id)
    await client.questions.answer(question?.id ?? '', 'no')
    await run.signal('note')
    expect(await run.result()).toMatchObject({ answer: 'no' })
  },
  'runs.fork': async ({ client }) => {
    const run = await finished(client)
    expect(await (await run.fork({ at: 'step-0' })).result()).toBe(1)
  },
  'runs.plan': async ({ client }) =>
    expect(await (await finished(client)).plan()).toEqual({ keep: 1, rerun: [], unknown: [] }),
  'runs.replay': async ({ client }) =>
    expect(await client.call('runs.replay', { run: (await finished(client)).id })).toMatchObject({ same: true }),
  'runs.export': async ({ client }) => {
    const text = await (await finished(client)).export()
    expect(text.split('\n')[0]).toContain('"nerve":"export"')
  },
  'runs.import': async ({ client }) => {
    const waiting = await client.runs.start('waiting')
    await waiting.wait({ until: 'rest' })
    const other = `${waiting.id.slice(0, -1)}${waiting.id.endsWith('x') ? 'y' : 'x'}`
    const text = (await waiting.export()).replaceAll(waiting.id, other)
    await waiting.cancel()
    const run = await client.runs.import(text)
    expect(await run.get()).toMatchObject({ run: other, status: 'paused' })
    await run.resume()
    await run.signal('go', 1)
    expect(await run.result()).toBe(1)
    await expect(client.runs.import(text)).rejects.toThrow('is here already')
    await expect(client.runs.import('{}')).rejects.toMatchObject({ code: 'bad-file' })
  },
  audit: async ({ client }) => {
    const { id } = await finished(client)
    expect(await client.call('audit', { run: id })).toMatchObject([
      { run: id, action: 'started', via: expect.any(String) },
    ])
  },
  usage: async ({ client }) => expect(await client.call('usage', {})).toMatchObject({ runs: expect.any(Number) }),
  'runs.remove': async ({ client }) => {
    const { id } = await finished(client)
    expect(await client.runs.remove({ olderThan: '1h' })).toEqual([])
    await expect.poll(() => client.runs.remove({ olderThan: 0 })).toContain(id)
    await expect(client.runs.get(id)).rejects.toMatchObject({ code: 'not-found' })
  },
  'definitions.remove': async ({ client, spec }) => {
    await client.call('definitions.remove', { definition: spec.name })
    await expect(client.runs.start(spec.name)).rejects.toMatchObject({ code: 'not-found' })
    await expect(client.call('definitions.remove', { definition: 'busy' })).rejects.toThrow('take it out of the code')
  },
  'nodes.remove': async ({ client, shell }) => {
    await client.call('nodes.remove', { node: shell })
    await expect(client.node(shell).info()).rejects.toMatchObject({ code: 'not-found' })
  },
  'sessions.close': async ({ client, session }) => {
    await client.call('sessions.close', { session })
    expect(await client.call('sessions.get', { session })).toMatchObject({ open: false })
  },
  'sessions.remove': async ({ client, session }) => {
    await client.call('sessions.remove', { session })
    await expect(client.call('sessions.get', { session })).rejects.toMatchObject({ code: 'not-found' })
  },
  shutdown: async ({ client }) => {
    const before = under.stops.length
    await client.call('shutdown', {})
    await expect.poll(() => under.stops.length).toBe(before + 1)
  },
}

for (const [at, [way, { open, near }]] of Object.entries(WAYS).entries()) {
  describe(way, () => {
    let scene: Scene
    beforeAll(async () => {
      const echo = `echo-${at}`
      const spec = { nerve: 1, name: `made-${at}`, steps: { [echo]: { node: echo } } } as const
      const neighbour = await connect(under.socket)
      scene = { client: await open(under), near: neighbour, session: `all-${at}`, shell: `shell-${at}`, echo, spec }
    })
    afterAll(() => Promise.all([scene.client.close(), scene.near.close()]))
    it.each(Object.keys(asked) as Name[])('%s', async (name) => {
      const isRefused = !near && 'local' in contract[name]
      expect(await tried(name, scene, isRefused)).toBe(isRefused ? 'only for neighbours' : 'done')
    })
  })
}

it('has something to say about everything in the contract', () => {
  expect(Object.keys(asked).toSorted()).toEqual(Object.keys(contract).toSorted())
  expect(under.problems).toEqual([])
})

/** What is refused here is done by a neighbour, because others need it. */
async function tried(name: Name, scene: Scene, isRefused: boolean): Promise<string> {
  if (!isRefused) await asked[name](scene)
  else {
    await expect(asked[name](scene)).rejects.toMatchObject({ code: 'not-allowed', data: { reason: 'local' } })
    await asked[name]({ ...scene, client: scene.near })
  }
  return isRefused ? 'only for neighbours' : 'done'
}

async function finished(client: Client) {
  const run = await client.runs.start('busy', 1)
  await run.result()
  return run
}

async function all(items: AsyncIterable<EventItem>): Promise<EventItem[]> {
  const found: EventItem[] = []
  for await (const item of items) found.push(item)
  return found
}
