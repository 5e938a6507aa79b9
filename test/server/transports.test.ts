/** One suite for every way to a host: the same commands, the same events, the same errors. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NerveError } from 'nerve'
import { connect, connectHttp, standalone, type Client, type EventItem } from 'nerve/client'
import { definitions, hostUnderTest, type UnderTest } from './host-under-test.ts'

let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest()
})
afterAll(() => under.end())

const ways: Readonly<Record<string, () => Promise<Client>>> = {
  'in process': () => standalone({ store: 'memory', definitions }),
  'a unix socket': () => connect(under.socket),
  'TCP with a token': () => connect(under.url.replace('http:', 'tcp:'), { token: under.token }),
  HTTP: () => connectHttp(under.url, under.token),
}

for (const [way, open] of Object.entries(ways)) {
  describe(`a host over ${way}`, () => {
    let client: Client
    beforeAll(async () => {
      client = await open()
    })
    afterAll(() => client.close())

    it('drives a run with a question to its end', async () => {
      const run = await client.runs.start('review', { file: 'a.md' })
      const question = await firstQuestion(client, run.id)
      expect(question).toMatchObject({ prompt: 'Publish draft of a.md?', choices: ['yes', 'no'], definition: 'review' })
      await expect(client.questions.answer(question.id, 'maybe')).rejects.toMatchObject({ code: 'answer-rejected' })
      await client.questions.answer(question.id, 'yes')
      await expect(client.questions.answer(question.id, 'no')).rejects.toMatchObject({ code: 'already-answered' })
      await run.signal('note', { well: 'done' })
      expect(await run.result()).toEqual({
        draft: 'draft of a.md',
        answer: 'yes',
        note: { well: 'done' },
        when: new Date(0),
      })
      expect(await run.get()).toMatchObject({ run: run.id, status: 'completed', definition: 'review' })
      const events = await all(run.events())
      expect(events.map((item) => ('seq' in item ? item.seq : 0))).toEqual(events.map((_, at) => at + 1))
      expect(events.map(({ type }) => type)).toEqual(
        expect.arrayContaining([
          'run-created',
          'question-asked',
          'question-answered',
          'signal-received',
          'run-completed',
        ]),
      )
      const answered = events.find(({ type }) => type === 'question-answered')
      expect(answered).toMatchObject({ via: expect.any(String) })
      expect(await client.call('runs.journal', { run: run.id })).toEqual(events)
    })

    it('gives events from a cursor on, by type and path', async () => {
      const run = await client.runs.start('busy', 5)
      await run.result()
      const later = await all(run.events({ after: '4', type: 'step-completed', path: 'step-*' }))
      expect(later.map((item) => ('path' in item ? item.path : ''))).toEqual(['step-3', 'step-4'])
    })

    it('says how a run failed, and waits no longer than it should', async () => {
      const run = await client.runs.start('failing')
      await expect(run.result()).rejects.toMatchObject({ code: 'run-failed', cause: { message: 'no luck' } })
      const other = await client.runs.start('waiting')
      expect(await other.wait({ timeout: 20 })).toMatchObject({ run: other.id, ended: false })
      expect(await other.wait({ until: 'rest' })).toMatchObject({ status: 'waiting', ended: false })
      await other.cancel('no need')
      await expect(other.result()).rejects.toMatchObject({ code: 'cancelled' })
    })

    it('pauses, resumes and forks', async () => {
      const run = await client.runs.start('waiting')
      await run.wait({ until: 'rest' })
      await run.pause()
      expect(await run.get()).toMatchObject({ status: 'paused' })
      await run.resume()
      await run.signal('go', 1)
      expect(await run.result()).toBe(1)
      const fork = await run.fork({ at: 'go' })
      await fork.signal('go', 2)
      expect(await fork.result()).toBe(2)
      expect(await client.call('runs.replay', { run: run.id })).toMatchObject({ same: true })
      expect((await client.call('usage', { run: run.id })).runs).toBe(1)
    })

    it('knows definitions by name, and nothing else', async () => {
      expect((await client.definitions()).map(({ name }) => name)).toEqual([
        'busy',
        'chatty',
        'failing',
        'review',
        'waiting',
      ])
      expect(await client.call('definitions.explain', { definition: 'review' })).toMatchObject({
        name: 'review',
        kind: 'workflow',
        mermaid: expect.stringContaining('review'),
      })
      expect(await client.call('definitions.validate', { definition: 'busy' })).toEqual({ ok: true, problems: [] })
      const wrong = client.runs.start('reveiw')
      await expect(wrong).rejects.toThrow("There is no definition 'reveiw' here. Did you mean 'review'?")
      await expect(wrong).rejects.toBeInstanceOf(NerveError)
    })

    it('names the field that is wrong, and changes nothing', async () => {
      const before = (await client.runs.list()).length
      const wrong = client.call('runs.start', { definition: 'busy', source: '/tmp/evil.ts' } as never)
      await expect(wrong).rejects.toMatchObject({ code: 'bad-input', message: expect.stringContaining('source') })
      await expect(client.call('runs.get', { run: 7 } as never)).rejects.toThrow(/run: /)
      await expect(client.call('runs.eat' as never, {} as never)).rejects.toMatchObject({ code: 'not-found' })
      await expect(all(client.events({ run: 'nothing' }))).rejects.toMatchObject({ code: 'not-found' })
      await expect(all(client.events({ after: 'x y' }))).rejects.toMatchObject({ code: 'bad-input' })
      expect((await client.runs.list()).length).toBe(before)
    })

    it('tells of all runs, from a moment on, also to who comes back', async () => {
      const stop = new AbortController()
      const seen = new Set<string>()
      let cursor = ''
      const onCursor = (place: string): void => void (cursor = place)
      const watching = (async () => {
        for await (const item of client.events({ type: 'run-*', signal: stop.signal, onCursor }))
          if (item.type === 'run-completed') seen.add(item.run)
      })()
      await expect.poll(() => cursor).not.toBe('')
      const from = cursor
      const runs = await Promise.all([1, 2, 3].map((steps) => client.runs.start('busy', steps)))
      await Promise.all(runs.map((run) => run.result()))
      await expect.poll(() => runs.every((run) => seen.has(run.id))).toBe(true)
      stop.abort()
      await watching
      const again = await all(client.events({ type: 'run-completed', after: from, once: true }))
      expect(again.map(({ run }) => run).toSorted()).toEqual(runs.map(({ id }) => id).toSorted())
      expect(await all(client.events({ after: cursor, once: true }))).toEqual([])
    })

    it('tells of a run from its first moment on', async () => {
      const items: EventItem[] = []
      for await (const item of client.runs.stream('review', { file: 'b' })) {
        items.push(item)
        if (item.type === 'question-asked') await client.run(item.run).cancel()
      }
      expect(items.map(({ type }) => type)).toEqual(
        expect.arrayContaining(['run-created', 'text-delta', 'question-asked', 'run-cancelled']),
      )
    })

    it('watches questions as they are asked', async () => {
      const first = await client.runs.start('review', { file: '1' })
      await firstQuestion(client, first.id)
      const stop = new AbortController()
      const asked: string[] = []
      const watching = (async () => {
        for await (const { run } of client.questions.watch({ signal: stop.signal })) asked.push(run)
      })()
      await expect.poll(() => asked).toContain(first.id)
      const second = await client.runs.start('review', { file: '2' })
      await expect.poll(() => asked).toContain(second.id)
      expect(asked.length).toBe(new Set(asked).size)
      stop.abort()
      await watching
      await Promise.all([first.cancel(), second.cancel()])
    })

    it('watches a question that is about to be asked', async () => {
      // Events are known a moment after they happened: who begins to watch in between must hear of them.
      for (let i = 0; i < 10; i += 1) {
        const run = await client.runs.start('review', { file: `${i}` })
        for await (const question of client.questions.watch()) {
          if (question.run !== run.id) continue
          await run.cancel()
          break
        }
        await expect(run.result()).rejects.toMatchObject({ code: 'cancelled' })
      }
    })

    it('says that it is well', async () => {
      expect(await client.health()).toMatchObject({ ok: true, host: expect.any(String) })
      expect(await client.call('gateway.status', {})).toEqual([])
    })
  })
}

describe('nodes', () => {
  it('are executed and streamed by name', async () => {
    const client = await connect(under.socket)
    try {
      const shout = client.node('shout')
      expect(await shout.execute('hey')).toBe('HEY!')
      const parts = await all(shout.stream('you'))
      expect(parts.map(({ type }) => type)).toEqual(
        expect.arrayContaining(['run-created', 'text-delta', 'run-completed']),
      )
      expect(await client.call('nodes.list', {})).toMatchObject([{ name: 'shout', session: 'tools', kind: 'function' }])
      expect(await shout.info()).toMatchObject({ name: 'shout', info: { state: 'ready' } })
      await shout.interrupt()
      await shout.stop()
      await expect(shout.execute('x')).rejects.toMatchObject({ code: 'run-failed' })
      await shout.reset()
      expect(await shout.execute('again')).toBe('AGAIN!')
      await expect(shout.read()).rejects.toThrow('has no read()')
      await expect(client.node('shuot').execute('x')).rejects.toThrow("Did you mean 'shout'?")
      expect(await client.call('sessions.list', {})).toMatchObject([{ name: 'tools', open: true }])
    } finally {
      await client.close()
    }
  })

  it('are made only by who could do it without Nerve', async () => {
    const near = await connect(under.socket)
    const far = await connectHttp(under.url, under.token)
    const wanted = { session: 'made', config: { kind: 'bash', id: 'list', command: 'echo made' } }
    try {
      await expect(far.call('nodes.create', wanted)).rejects.toMatchObject({ code: 'not-allowed' })
      expect(await near.call('nodes.create', wanted)).toEqual({ session: 'made', node: 'list' })
      expect(await near.node('list').execute()).toMatchObject({ stdout: 'made\n' })
      await near.call('nodes.remove', { node: 'list' })
      await expect(near.node('list').info()).rejects.toMatchObject({ code: 'not-found' })
    } finally {
      await Promise.all([near.close(), far.close()])
    }
  })
})

it('takes large values from neighbours, and says to others what to do with them', async () => {
  const large = 'x'.repeat(3_000_000)
  const near = await connect(under.socket)
  const far = await connect(under.url.replace('http:', 'tcp:'), { token: under.token })
  try {
    const run = await near.runs.start('waiting')
    const send = JSON.stringify({ run: run.id, name: 'go', value: large })
    expect(await postNear('/v1/signals/send', send)).toBe(200)
    expect(await run.result()).toBe(large)
    const again = await near.runs.start('waiting')
    await again.signal('go', large)
    expect(await again.result()).toBe(large)
    await expect(far.runs.start('busy', large)).rejects.toMatchObject({
      code: 'limit-reached',
      message: expect.stringMatching(/more than 1048576 bytes .* into a file/),
      data: { reason: 'size' },
    })
  } finally {
    await Promise.all([near.close(), far.close()])
  }
})

it('stops when it is told to, and knows by whom', async () => {
  const client = await connectHttp(under.url, under.token)
  await client.call('shutdown', {})
  await expect.poll(() => under.stops).toEqual([{ by: 'default', via: 'http' }])
  await client.close()
})

it('has no problems of its own', () => {
  expect(under.problems).toEqual([])
})

async function firstQuestion(client: Client, run: string) {
  await expect.poll(async () => (await client.questions.list()).find((one) => one.run === run)).toBeDefined()
  const question = (await client.questions.list()).find((one) => one.run === run)
  if (question === undefined) throw new Error('gone')
  return question
}

function postNear(path: string, body: string): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: under.socket, path, method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject).end(body)
  })
}

async function all(items: AsyncIterable<EventItem>): Promise<EventItem[]> {
  const found: EventItem[] = []
  for await (const item of items) found.push(item)
  return found
}
