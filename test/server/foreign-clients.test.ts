/** Clients that nobody here wrote: curl, nc and the ws package drive a run with a question to its end. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Validator } from '@seriousme/openapi-schema-validator'
import { WebSocket } from 'ws'
import { openApi } from 'nerve/server'
import { contract, type Name } from '../../src/host/contract/contract.ts'
import { nameAt, pathOf } from '../../src/host/contract/wire.ts'
import { busy, hostUnderTest, type UnderTest } from './host-under-test.ts'

const run = promisify(execFile)
const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest()
})
afterAll(() => under.end())

interface Event {
  readonly type: string
  readonly run: string
  readonly seq: number
  readonly id?: string
}

describe.skipIf(!has('curl'))('curl', () => {
  const ways = {
    'over HTTP': () => [under.url, ['-H', `authorization: Bearer ${under.token}`]] as const,
    'over the unix socket': () => ['http://nerve', ['--unix-socket', under.socket]] as const,
  }
  for (const [way, target] of Object.entries(ways)) {
    const curl = async (path: string, ...more: string[]): Promise<string> => {
      const [base, args] = target()
      const { stdout } = await run('curl', ['-sS', '-N', '--max-time', '20', ...args, ...more, `${base}/v1/${path}`])
      return stdout
    }
    const post = async (path: string, body: unknown): Promise<unknown> =>
      JSON.parse(await curl(path, '-H', 'content-type: application/json', '-d', JSON.stringify(body)))

    it(`drives a run to its end ${way}`, async () => {
      const { run: id } = (await post('runs/start', { definition: 'review', input: { file: 'c' } })) as { run: string }
      await expect.poll(() => curl(`runs/wait?run=${id}&until=rest`)).toContain('waiting')
      const asked = JSON.parse(await curl('questions/list')) as { id: string; run: string }[]
      const question = asked.find((one) => one.run === id)?.id
      expect(await post('questions/answer', { question, value: 'yes' })).toEqual({ ok: true })
      expect(await post('signals/send', { run: id, name: 'note', value: 1 })).toEqual({ ok: true })
      expect(JSON.parse(await curl(`runs/wait?run=${id}`))).toMatchObject({ ended: true, output: { answer: 'yes' } })
      expect(JSON.parse(await curl(`runs/list?status=completed,failed&limit=1`))).toHaveLength(1)
    })

    it(`reads events ${way}, and goes on where it left off`, async () => {
      const { run: id } = (await post('runs/start', { definition: 'busy', input: 20 })) as { run: string }
      const all = eventsIn(await curl(`events?run=${id}`))
      expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at + 1))
      expect(all.at(-1)?.type).toBe('run-completed')
      expect(all.map(({ id: cursor }) => Number(cursor))).toEqual(all.map(({ seq }) => seq))
      const rest = eventsIn(await curl(`events?run=${id}`, '-H', 'last-event-id: 15'))
      expect(rest).toEqual(all.slice(15))
      expect(eventsIn(await curl(`events?run=${id}&after=15`))).toEqual(rest)
    })
  }

  it('is told what is wrong, with a status', async () => {
    const get = async (path: string, ...args: string[]): Promise<string> => {
      const { stdout } = await run('curl', ['-sS', '-w', ' %{http_code}', ...args, `${under.url}/v1/${path}`])
      return stdout
    }
    const auth = ['-H', `authorization: Bearer ${under.token}`]
    expect(await get('health')).toMatch(/"not-allowed".* 401$/)
    expect(await get('runs/get?run=nothing', ...auth)).toMatch(/There is no run nothing.* 404$/)
    expect(await get('events?run=nothing', ...auth)).toMatch(/"not-found".* 404$/)
    expect(await get('runs/start', ...auth)).toMatch(/runs.start takes POST.* 405$/)
    expect(await get('runs/list?limit=many', ...auth)).toMatch(/limit.* 400$/)
    expect(await get('../../etc/passwd', ...auth)).toMatch(/ 404$/)
  })
})

describe.skipIf(!has('nc'))('nc', () => {
  it.each(['the unix socket', 'TCP'])('speaks the line protocol on %s', async (way) => {
    const nc = spawn('nc', way === 'TCP' ? ['127.0.0.1', new URL(under.url).port] : ['-U', under.socket])
    try {
      const lines = linesOf(nc.stdout)
      if (way === 'TCP') {
        nc.stdin.write(`{"token":"${under.token}"}\n`)
        expect(await lines()).toEqual({ result: { scope: 'control' } })
      }
      nc.stdin.write('{"call":"health"}\n')
      expect(await lines()).toMatchObject({ result: { ok: true, version: '1.2.3' } })
      nc.stdin.write('{"id":"a","feed":"runs.stream","input":{"definition":"review","input":{"file":"n"}}}\n')
      let question = ''
      while (question === '') {
        const { item } = (await lines()) as { item: { type: string; id: string; run: string } }
        if (item.type === 'question-asked') question = item.id
      }
      const [id = ''] = question.split('-')
      nc.stdin.write(`{"id":2,"call":"questions.answer","input":{"question":"${question}","value":"no"}}\n`)
      nc.stdin.write(`{"id":3,"call":"signals.send","input":{"run":"${id}","name":"note"}}\n`)
      let last: Record<string, unknown> = {}
      const answers: unknown[] = []
      while (last['end'] !== true) {
        last = (await lines()) as Record<string, unknown>
        if ('result' in last) answers.push(last['id'])
      }
      expect(last).toEqual({ id: 'a', end: true })
      expect(new Set(answers)).toEqual(new Set([2, 3]))
      expect((await under.host.run(id)).status).toBe('completed')
    } finally {
      nc.kill()
    }
  })

  it('is let in on TCP with a token, as the first line', async () => {
    const { port } = new URL(under.url)
    const talk = async (text: string): Promise<string> => {
      const nc = spawn('nc', ['-N', '127.0.0.1', port])
      nc.stdin.end(text)
      let said = ''
      nc.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
      await once(nc, 'close')
      return said
    }
    expect(await talk('{"call":"health"}\n{"call":"health"}\n')).toMatch(/^\{"error":\{.*"not-allowed"[^\n]*\n/)
    expect(await talk('{"token":"nrv_wrong"}\n')).toContain('not known here')
  })
})

describe('a WebSocket of the ws package', () => {
  it('drives a run to its end, with its token in the first message', async () => {
    const socket = new WebSocket(`${under.url.replace('http', 'ws')}/v1/socket`)
    const messages: Record<string, unknown>[] = []
    socket.on('message', (data) => messages.push(JSON.parse((data as Buffer).toString()) as Record<string, unknown>))
    await once(socket, 'open')
    const send = (frame: unknown): void => socket.send(JSON.stringify(frame))
    send({ token: under.token })
    send({ id: 1, feed: 'runs.stream', input: { definition: 'review', input: { file: 'w' } } })
    const asked = (): Record<string, string> | undefined =>
      messages.map((one) => one['item'] as Record<string, string>).find((item) => item?.['type'] === 'question-asked')
    await expect.poll(asked).toBeDefined()
    send({ id: 2, call: 'questions.answer', input: { question: asked()?.['id'], value: 'yes' } })
    send({ id: 3, call: 'signals.send', input: { run: asked()?.['run'], name: 'note', value: 'w' } })
    await expect.poll(() => messages.at(-1)).toEqual({ id: 1, end: true })
    expect(messages[0]).toEqual({ result: { scope: 'control' } })
    socket.close()
    await once(socket, 'close')
  })
})

interface Operation {
  readonly description: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: { readonly type?: string }
  }[]
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

function operations(): [name: string, operation: Operation][] {
  const { paths } = openApi() as { paths: Record<string, Record<string, Operation>> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((one): [string, Operation] => [nameAt(path) ?? '', one]),
  )
}

describe('the OpenAPI document', () => {
  it('is valid, and is served', async () => {
    const response = await fetch(`${under.url}/v1/openapi.json`, {
      headers: { authorization: `Bearer ${under.token}` },
    })
    const document = (await response.json()) as Record<string, unknown>
    expect(document).toEqual(openApi('1.2.3'))
    const result = await new Validator().validate(structuredClone(document))
    expect(result.errors ?? []).toEqual([])
    expect(result.valid).toBe(true)
  })

  it('puts into addresses only what can be said in one', () => {
    const types = operations().flatMap(([, { parameters = [] }]) => parameters.map(({ schema }) => schema.type))
    expect(new Set(types)).toEqual(new Set(['array', 'boolean', 'integer', 'number', 'string']))
    const { paths } = openApi() as { paths: Record<string, object> }
    expect(Object.keys(paths['/v1/definitions/validate'] ?? {})).toEqual(['post'])
  })

  it('has everything of the contract', () => {
    const paths = Object.keys((openApi() as { paths: object }).paths)
    expect(paths).toEqual(Object.keys(contract).map((name) => `/v1/${name.replace('.', '/')}`))
  })

  it('says what is only for callers on this machine, and that is so', async () => {
    const isLocal = (name: string): boolean => 'local' in contract[name as Name]
    const headers = { authorization: `Bearer ${under.token}`, 'content-type': 'application/json' }
    for (const [name, { description, responses }] of operations()) {
      const { description: refused = '' } = responses['403'] ?? {}
      expect([name, description.includes('Only for callers on this machine')]).toEqual([name, isLocal(name)])
      expect([name, refused.includes('Always')]).toEqual([name, isLocal(name)])
      expect([name, refused.includes('`file`')]).toEqual([name, name === 'runs.start' || name === 'runs.stream'])
      expect([name, refused === '']).toEqual([name, contract[name as Name].scope === 'read'])
      if (!isLocal(name)) continue
      const response = await fetch(`${under.url}${pathOf(name)}`, { method: 'POST', headers, body: '{}' })
      expect([name, response.status]).toEqual([name, 403])
    }
    expect(Object.keys(contract).filter(isLocal).length).toBeGreaterThan(5)
  })

  it('says where a feed takes up again, and there it does', async () => {
    const takes = ({ parameters = [] }: Operation): boolean =>
      parameters.some(({ name, in: place }) => name === 'Last-Event-ID' && place === 'header')
    const feeds = operations().filter(([, one]) => takes(one))
    expect(feeds.map(([name]) => name)).toEqual(['events'])
    const { id } = await under.host.start(busy, 5)
    await (await under.host.handle(id)).result()
    const headers = { authorization: `Bearer ${under.token}`, 'last-event-id': '3' }
    const response = await fetch(`${under.url}/v1/events?run=${id}`, { headers })
    expect(eventsIn(await response.text())[0]).toMatchObject({ seq: 4 })
  })
})

function eventsIn(text: string): Event[] {
  const found: Event[] = []
  for (const block of text.split('\n\n')) {
    const id = /^id: (.*)$/m.exec(block)?.[1]
    const data = /^data: (.*)$/m.exec(block)?.[1]
    if (data !== undefined && !block.startsWith('event: end'))
      found.push({ ...(JSON.parse(data) as Event), ...(id === undefined ? {} : { id }) })
  }
  return found
}

/** Gives one line after the other, as JSON. */
function linesOf(stream: NodeJS.ReadableStream): () => Promise<unknown> {
  const lines: string[] = []
  let rest = ''
  let wake: () => void = () => undefined
  stream.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    wake()
  })
  return async () => {
    while (lines.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    return JSON.parse(lines.shift() ?? '') as unknown
  }
}
