/** What a client leaves behind when somebody breaks off: nothing on the host, and nobody who waits. */
import { createServer, request as ask, type Server } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { defineNode } from 'nerve'
import { connect, connectHttp, standalone, type Client, type EventItem } from 'nerve/client'
import { isNerveError } from '../../src/base/nerve-error.ts'
import { createClient } from '../../src/surfaces/client/client.ts'
import { connectionLost } from '../../src/surfaces/client/connection.ts'
import { serviceConnection } from '../../src/surfaces/client/service-connection.ts'
import { alive } from '../terminal/open.ts'
import { definitions, hostUnderTest, type UnderTest } from './host-under-test.ts'

let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest()
})
afterAll(() => under.end())
afterEach(async () => {
  for (const { run } of await under.host.runs({ status: ['waiting', 'running'] }))
    await (await under.host.handle(run)).cancel()
})

const ways: Readonly<Record<string, () => Promise<Client>>> = {
  'in process': () => standalone({ store: 'memory', definitions }),
  'a unix socket': () => connect(under.socket),
  TCP: () => connect(under.url.replace('http:', 'tcp:'), { token: under.token }),
  HTTP: () => connectHttp(under.url, under.token),
}

/** What it came to, within less time than a client tries again. */
async function outcome(promise: Promise<unknown>): Promise<string> {
  const late = Promise.withResolvers<string>()
  const timer = setTimeout(() => late.resolve('still waits'), 5_000)
  const told = promise.then(
    () => 'done',
    (error: unknown) => (isNerveError(error) ? error.code : (error as Error).name),
  )
  const first = await Promise.race([told, late.promise])
  clearTimeout(timer)
  return first
}

async function all(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items) continue
}

describe.each(Object.entries(ways))('over %s', (_way, open) => {
  it('who leaves a loop has no feed open any more', async () => {
    const client = await open()
    const run = await client.runs.start('review', { file: 'a' })
    await run.wait({ until: 'rest' })
    const before = under.server.connections
    const loops: AsyncIterable<unknown>[] = [
      run.events({ live: true }),
      client.events({ after: '0' }),
      client.questions.watch(),
      client.runs.stream('waiting'),
    ]
    for (const loop of loops) for await (const _item of loop) break
    for (const loop of [run.events(), client.events({ after: '0' })])
      await expect(
        (async () => {
          for await (const _item of loop) throw new Error('of the reader')
        })(),
      ).rejects.toThrow('of the reader')
    await expect.poll(() => under.server.connections).toBeLessThanOrEqual(before + 1)
    // What it started goes on without it.
    await expect.poll(async () => (await client.runs.list({ status: ['waiting'] })).length).toBeGreaterThan(1)
    await client.close()
  })

  it('a signal ends loops, and calls with its own error', async () => {
    const client = await open()
    const run = await client.runs.start('waiting')
    const over = new AbortController()
    const loops = [
      run.events({ signal: over.signal }),
      client.events({ signal: over.signal }),
      client.questions.watch({ signal: over.signal }),
    ]
    const calls = [
      run.result({ signal: over.signal }),
      run.wait({ timeout: 60_000, signal: over.signal }),
      client.call('runs.wait', { run: run.id, timeout: 60_000 }, { signal: over.signal }),
    ]
    const waiting = Promise.all([...loops.map((loop) => outcome(all(loop))), ...calls.map(outcome)])
    await run.wait({ until: 'rest' })
    over.abort()
    expect(await waiting).toEqual([...loops.map(() => 'done'), ...calls.map(() => 'AbortError')])
    await expect(client.health()).resolves.toMatchObject({ ok: true })
    await expect(client.call('health', {}, { signal: over.signal })).rejects.toMatchObject({ name: 'AbortError' })
    await client.close()
  })

  it('what is given up before it is sent is not done', async () => {
    const client = await open()
    const before = (await client.runs.list()).length
    const over = new AbortController()
    over.abort()
    const { signal } = over
    const early = client.call('runs.start', { definition: 'waiting' }, { signal })
    await expect(early).rejects.toMatchObject({ name: 'AbortError' })
    await all(client.runs.stream('waiting', undefined, { signal }))
    expect((await client.runs.list()).length).toBe(before)
    await client.close()
  })

  it('a client that is closed ends everything that waits, at once', async () => {
    const client = await open()
    const run = await client.runs.start('waiting')
    const items: EventItem[] = []
    const loops = [
      (async () => {
        for await (const item of run.events()) items.push(item)
      })(),
      all(client.events()),
      all(client.questions.watch()),
    ]
    const calls = [run.result(), run.wait({ timeout: 60_000 })]
    const waiting = Promise.all([...loops.map(outcome), ...calls.map(outcome)])
    await expect.poll(() => items.length).toBeGreaterThan(0)
    await client.close()
    const [first, second, third, ...rest] = await waiting
    expect([first, second, third]).toEqual(['done', 'done', 'done'])
    for (const one of rest) expect(['connection-lost', 'host-closed']).toContain(one)
    expect(await outcome(run.result())).toMatch(/^(connection-lost|host-closed)$/)
    expect(await outcome(all(client.events()))).toBe('connection-lost')
  })
})

it.each(['a unix socket', 'TCP', 'HTTP'])(
  'over %s, what is given up in the moment of the call is not done',
  async (way) => {
    const client = await (ways[way] as () => Promise<Client>)()
    const before = (await under.host.runs()).length
    const over = new AbortController()
    const sent = outcome(client.call('runs.start', { definition: 'waiting' }, { signal: over.signal }))
    over.abort()
    expect(await sent).toBe('AbortError')
    // Answered after what was sent before it.
    await client.health()
    expect((await under.host.runs()).length).toBe(before)
    await client.close()
  },
)

it('who executes a node can stop waiting for it, and it goes on', async () => {
  const go = Promise.withResolvers<string>()
  const slow = defineNode('slow', () => go.promise)
  const client = await standalone({ store: 'memory', sessions: [{ name: 'tools', nodes: [slow] }] })
  const over = new AbortController()
  const executed = outcome(client.node('slow').execute(undefined, { signal: over.signal }))
  await expect.poll(async () => (await client.runs.list({ status: ['running'] })).length).toBe(1)
  over.abort()
  expect(await executed).toBe('AbortError')
  const [run] = await client.runs.list()
  go.resolve('done')
  expect(await client.run(run?.run ?? '').result()).toBe('done')
  await client.close()
})

it('a client that is closed while it looks for its host again stops looking', async () => {
  const own = await hostUnderTest()
  const clients = [await connect(own.socket), await connectHttp(own.url, own.token)]
  let lost = 0
  const waiting = clients.flatMap((client) => [
    outcome(all(client.events({ onLost: () => (lost += 1) }))),
    outcome(client.run('any').result()),
  ])
  await expect.poll(() => own.server.connections).toBeGreaterThan(2)
  await own.end()
  await expect.poll(() => lost).toBeGreaterThan(3)
  await Promise.all(clients.map((client) => client.close()))
  expect(await Promise.all(waiting)).toEqual(['done', expect.any(String), 'done', expect.any(String)])
})

/** Answers the first requests, and then takes everything in and says nothing. */
async function fallsSilent(answers: number): Promise<{ readonly port: number; readonly asked: () => number }> {
  let asked = 0
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    createInterface({ input: socket }).on('line', (line) => {
      const { id } = JSON.parse(line) as { readonly id: number }
      asked += 1
      if (asked <= answers) socket.write(`${JSON.stringify({ id, result: [] })}\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, asked: () => asked }
}

it('who waits for a host that has fallen silent to let them in can stop waiting, by a signal and by closing', async () => {
  const { port, asked } = await fallsSilent(2)
  const client = await connect(`tcp://127.0.0.1:${port}`, { token: 'any' })
  const over = new AbortController()
  const loops = (options: { readonly signal?: AbortSignal }) =>
    [client.events(options), client.questions.watch(options)].map((loop) => outcome(all(loop)))
  const [signalled, closed] = [loops({ signal: over.signal }), loops({})]
  await expect.poll(asked).toBe(6)
  over.abort()
  expect(await Promise.all(signalled)).toEqual(['done', 'done'])
  expect(await outcome(client.close())).toBe('done')
  expect(await Promise.all(closed)).toEqual(['done', 'done'])
})

async function other(answer: (server: Server) => void): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  answer(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it.each([502, 503, 504])(
  'behind a proxy that says %i while its host is away, a client waits as it does without',
  async (status) => {
    let [isAway, refused] = [false, 0]
    let cut: () => void = () => undefined
    const url = await other((server) => {
      cut = () => server.closeAllConnections()
      server.on('request', (request, response) => {
        if (isAway) return void ((refused += 1), response.writeHead(status).end('<h1>Bad Gateway</h1>'))
        const headers = { ...request.headers, host: new URL(under.url).host }
        const passed = ask(`${under.url}${request.url}`, { method: request.method, headers }, (answer) =>
          answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers)),
        )
        passed.on('error', () => response.destroy())
        response.once('close', () => passed.destroy())
        request.pipe(passed)
      })
    })
    const client = await connectHttp(url, under.token)
    const run = await client.runs.start('waiting')
    const types: string[] = []
    const reading = (async () => {
      for await (const { type } of run.events()) types.push(type)
    })()
    const result = run.result()
    await expect.poll(() => types).toContain('wait-started')
    isAway = true
    cut()
    await expect.poll(() => refused).toBeGreaterThan(3)
    // What may have been done is not done again.
    await expect(client.runs.start('waiting')).rejects.toMatchObject({ code: 'connection-lost' })
    isAway = false
    await (await under.host.handle(run.id)).signal('go', 'on')
    expect(await result).toBe('on')
    await reading
    expect(types).toEqual(['run-created', 'wait-started', 'signal-received', 'signal-taken', 'run-completed'])
    await client.close()
  },
)

describe('what is no host', () => {
  it('is told as such: by its address, its status and what it says', async () => {
    const html = await other((server) => server.on('request', (_request, response) => response.end('<html>')))
    await expect(connectHttp(html, 'x')).rejects.toMatchObject({
      code: 'bad-output',
      message: expect.stringContaining('not JSON'),
    })
    const missing = await other((server) =>
      server.on('request', (_request, response) => response.writeHead(404).end('{}')),
    )
    await expect(connectHttp(missing, 'x')).rejects.toMatchObject({
      code: 'bad-output',
      message: expect.stringContaining('Is it a host of Nerve?'),
    })
    // A token is not sent on to whoever a host names.
    let sent = 0
    const elsewhere = await other((server) =>
      server.on('request', (_request, response) => response.end(`${(sent += 1)}`)),
    )
    const leads = await other((server) =>
      server.on('request', (_request, response) => response.writeHead(302, { location: elsewhere }).end()),
    )
    await expect(connectHttp(leads, 'x')).rejects.toMatchObject({ code: 'connection-lost' })
    expect(sent).toBe(0)
    await expect(connect(under.url, { token: under.token })).rejects.toMatchObject({
      code: 'bad-option',
      message: expect.stringContaining('connectHttp'),
    })
    await expect(connectHttp('ftp://x', 'x')).rejects.toMatchObject({ code: 'bad-option' })
    await expect(connect('/nowhere/nerve.sock')).rejects.toMatchObject({ code: 'connection-lost' })
  })
})

it.each(['secret\nsecret', 'secret…', 'my secret', ''])(
  'what cannot be a token is told, and not shown: %j',
  async (token) => {
    const wrong: unknown = await connectHttp(under.url, token).catch((error: unknown) => error)
    expect(wrong).toMatchObject({ code: 'bad-option', message: expect.stringContaining('nerve token show') })
    expect(String(wrong)).not.toContain('secret')
    // A line break at its end comes from the file that it was read from.
    await (await connectHttp(under.url, `${under.token}\n`)).close()
  },
)

it('a host of its own lets go of its sessions with the client', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-client-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const client = await standalone({ dir })
  await client.call('nodes.create', { config: { kind: 'terminal', id: 'sh', command: 'bash' } })
  const { output } = await client.node('sh').execute<{ readonly output: string }>('echo $$')
  expect(alive(Number(output))).toBe(true)
  await client.close()
  expect(alive(Number(output))).toBe(false)
  const next = await standalone({ dir })
  expect(await next.node('sh').execute('echo again')).toMatchObject({ output: 'again\n' })
  await next.close()
})

it('who comes is answered without a look at all that is open: there may be very much', async () => {
  const client = await connect(under.socket)
  for (let i = 0; i < 3; i += 1) await client.runs.start('waiting')
  const looks = vi.spyOn(under.host, 'runs')
  onTestFinished(() => looks.mockRestore())
  for (const open of [ways['a unix socket'], ways['HTTP']]) await (await open?.())?.close()
  const rows = await Promise.all(looks.mock.results.map(({ value }) => value as Promise<readonly unknown[]>))
  expect(rows.flat()).toEqual([])
  await client.close()
})

it('who watches questions goes on when the connection is lost while they are looked at', async () => {
  const { service, host } = under
  const near = serviceConnection(service, {
    caller: { scope: 'control', local: true },
    close: () => Promise.resolve(),
  })
  let lost = 0
  const client = createClient({
    ...near,
    call: (name, input, signal) =>
      name === 'questions.list' && (lost += 1) % 2 === 1
        ? Promise.reject(connectionLost('the host'))
        : near.call(name, input, signal),
  })
  const review = definitions.find(({ name }) => name === 'review')
  await host.start(review as never, { file: 'a' })
  const asked: string[] = []
  for await (const { run } of client.questions.watch()) {
    asked.push(run)
    if (asked.length === 2) break
    await host.start(review as never, { file: 'b' })
  }
  expect(asked).toHaveLength(2)
})

it('who watches questions does not look for one that it has told of already', async () => {
  const { service, host } = under
  const near = serviceConnection(service, {
    caller: { scope: 'control', local: true },
    close: () => Promise.resolve(),
  })
  let looks = 0
  const client = createClient({
    ...near,
    call: (name, input, signal) => {
      if (name === 'questions.list') looks += 1
      return near.call(name, input, signal)
    },
  })
  const asked = new Set<string>()
  await (await client.runs.start('review', { file: 'a' })).wait({ until: 'rest' })
  for await (const { run } of client.questions.watch()) {
    asked.add(run)
    if (asked.size === 1)
      for (const file of ['b', 'c', 'd', 'e', 'f'])
        await (await client.runs.start('review', { file })).wait({ until: 'rest' })
    if (asked.size === 6) void client.runs.start('review', { file: 'last' })
    if (asked.size === 7) break
  }
  expect((await host.inbox()).length).toBe(7)
  // At first, for those that were asked together, and for the last one.
  expect(looks).toBeLessThanOrEqual(3)
})
