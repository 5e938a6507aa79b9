/** Who may ask cannot make the host stand still or run out of memory, whatever they ask and whether they read it or not. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { WebSocket } from 'ws'
import { connect, connectHttp, type Client } from 'nerve/client'
import { openTokens, startServer, type ServerOptions } from 'nerve/server'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'

let under: UnderTest
let far: Client
let near: Client
beforeAll(async () => {
  under = await hostUnderTest()
  far = await connect(under.url.replace('http', 'tcp'), { token: under.tokens.create('looks', 'read').secret })
  near = await connect(under.socket)
})
afterAll(async () => {
  await Promise.all([far.close(), near.close()])
  await under.end()
})

/** How long it keeps everybody else waiting, in ms. */
async function blocking(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 1)
  await work()
  await new Promise((resolve) => setTimeout(resolve, 5))
  clearInterval(ticking)
  return longest
}

describe('what is asked', () => {
  it('with patterns that are made to take long', async () => {
    const run = await near.runs.start('busy', 20)
    await run.result()
    for (const part of ['**', '*e*', '**e', '**-', '*p**'])
      for (const field of ['type', 'path']) {
        const read = async (): Promise<void> => {
          for await (const item of far.run(run.id).events({ [field]: `${part.repeat(60).slice(0, 190)}!` }))
            expect(item).toBe('nothing')
        }
        expect(await blocking(read)).toBeLessThan(1_000)
      }
  })

  it('by a name that is very long', async () => {
    const name = 'x'.repeat(900_000)
    expect(await blocking(() => far.call(name as never, {} as never).catch(String))).toBeLessThan(1_000)
    await expect(far.call(name as never, {} as never)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('with values that are very deep', async () => {
    const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    const run = await near.runs.start('review', { file: 'a' })
    await run.wait({ until: 'rest' })
    const [question] = await near.questions.list()
    const asked = {
      'runs.start': (value: string) => `{"definition":"busy","input":${value}}`,
      'runs.fork': (value: string) => `{"run":"${run.id}","input":${value}}`,
      'questions.answer': (value: string) => `{"question":"${question?.id}","value":${value}}`,
      'signals.send': (value: string) => `{"run":"${run.id}","name":"x","value":${value}}`,
      'nodes.execute': (value: string) => `{"node":"shout","input":${value}}`,
      'definitions.validate': (value: string) => `{"spec":{"nerve":1,"name":"x","steps":{"a":${value}}}}`,
      'runs.list': (value: string) => `{"status":${value}}`,
    }
    const headers = { authorization: `Bearer ${under.token}`, 'content-type': 'application/json' }
    for (const [name, input] of Object.entries(asked))
      for (const levels of [590, 5_000, 400_000]) {
        const body = input(deep(levels))
        const response = await fetch(`${under.url}/v1/${name.replace('.', '/')}`, { method: 'POST', headers, body })
        expect([name, levels, response.status < 500]).toEqual([name, levels, true])
        const socket = connectSocket(under.socket)
        socket.write(`{"id":1,"call":"${name}","input":${body}}\n`)
        const [data] = (await once(socket, 'data')) as [Buffer]
        socket.destroy()
        expect(data.toString()).not.toMatch(/call stack|RangeError/)
      }
    await run.cancel()
    expect(under.problems).toEqual([])
  })

  it('with more that is wrong than anybody would read', async () => {
    const refused = far.call('runs.list', { status: Array.from({ length: 50_000 }, () => 'x') as never })
    await expect(refused).rejects.toMatchObject({ code: 'bad-input' })
    expect((await refused.then(() => '', String)).length).toBeLessThan(200_000)
  })
})

function reasonOf(error: unknown): unknown {
  return (error as { data?: { reason?: unknown } }).data?.reason
}

it('what is large is read a few at once, and neighbours do not wait for what others read', async () => {
  const run = await near.runs.start('busy', 1)
  await run.result()
  const gate = Promise.withResolvers<void>()
  let [now, most] = [0, 0]
  const { host } = under
  const read = host.export.bind(host)
  const spy = vi.spyOn(host, 'export').mockImplementation(async (id) => {
    now += 1
    most = Math.max(most, now)
    await gate.promise
    now -= 1
    return read(id)
  })
  onTestFinished(() => spy.mockRestore())
  const asked = Array.from({ length: 50 }, () => far.run(run.id).export())
  await expect.poll(() => now).toBe(4)
  const own = near.run(run.id).export()
  await expect.poll(() => now).toBe(5)
  expect(await far.health()).toMatchObject({ ok: true })
  gate.resolve()
  const text = await own
  expect(new Set(await Promise.all(asked))).toEqual(new Set([text]))
  expect(most).toBe(5)
})

/** A host that only counts, and answers with much. */
async function talkative(options: Partial<ServerOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-much-'))
  let calls = 0
  const text = 'x'.repeat(100_000)
  const service: ServerOptions['service'] = {
    call: async () => {
      calls += 1
      return text
    },
    feed: (_name, _input, _caller, signal) => Promise.resolve(silence(signal)),
  }
  const socket = join(folder, 's')
  const tokens = openTokens(join(folder, 'tokens.json'))
  const server = await startServer({ service, socket, tcp: { port: 0 }, tokens, ...options })
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { socket, tokens, calls: () => calls, url: server.url ?? '', token: tokens.list()[0]?.secret ?? '' }
}

/** A feed with nothing in it, until nobody listens. */
async function* silence(signal: AbortSignal): AsyncGenerator<object> {
  if (!signal.aborted) await once(signal, 'abort')
  yield {}
}

/** Resolves when a number does not change any more. */
async function settled(number: () => number): Promise<number> {
  let last = -1
  await expect
    .poll(
      () => {
        const same = number() === last && last > 0
        last = number()
        return same
      },
      { interval: 300, timeout: 10_000 },
    )
    .toBe(true)
  return last
}

const MANY = 3_000

it('a token has so many feeds and no more, over whatever connections, and others have theirs', async () => {
  const { url, socket, token, tokens } = await talkative({ rate: { burst: 100_000, perSecond: 100_000 } })
  let refused = 0
  const open = async (): Promise<WebSocket> => {
    const client = new WebSocket(`${url.replace('http', 'ws')}/v1/socket`, {
      headers: { authorization: `Bearer ${token}` },
    })
    onTestFinished(() => client.terminate())
    client.on('message', (data) => {
      expect((data as Buffer).toString()).toContain('has too many feeds open')
      refused += 1
    })
    await once(client, 'open')
    for (let id = 0; id < 256; id += 1) client.send(JSON.stringify({ id, feed: 'events' }))
    return client
  }
  const clients = await Promise.all(Array.from({ length: 17 }, open))
  await expect.poll(() => refused, { timeout: 10_000 }).toBe(256)
  const status = async (secret: string): Promise<number> => {
    const over = new AbortController()
    const headers = { authorization: `Bearer ${secret}` }
    const response = await fetch(`${url}/v1/events`, { headers, signal: over.signal })
    over.abort()
    return response.status
  }
  expect(await status(token)).toBe(429)
  expect(await status(tokens.create('other', 'read').secret)).toBe(200)
  await (await connect(socket)).close()
  clients[0]?.terminate()
  await expect.poll(() => status(token)).toBe(200)
})

describe('who asks and does not read', () => {
  it.each(['lines', 'WebSocket'])(
    'is not answered without end, and gets all of it when they read (%s)',
    async (way) => {
      const { socket: path, calls } = await talkative()
      const answers = new Set<number>()
      let done = 0
      const hear = (text: string): void => {
        answers.add(Number(/"id":(\d+)/.exec(text.slice(0, 20))?.[1]))
        if (text.includes('"result"')) done += 1
        else expect(text).toContain('requests are under way on this connection already')
      }
      const ask = (id: number): string => JSON.stringify({ id, call: 'much', pad: 'x'.repeat(500) })
      let resume: () => void
      if (way === 'lines') {
        const socket = connectSocket(path)
        onTestFinished(() => void socket.destroy())
        await once(socket, 'connect')
        let rest = ''
        resume = () => {
          socket.on('data', (chunk: Buffer) => {
            const lines = (rest + chunk.toString()).split('\n')
            rest = lines.pop() ?? ''
            lines.forEach(hear)
          })
          socket.resume()
        }
        socket.pause()
        for (let id = 1; id <= MANY; id += 1) socket.write(`${ask(id)}\n`)
      } else {
        const client = new WebSocket('ws://nerve/v1/socket', { createConnection: () => connectSocket(path) })
        onTestFinished(() => client.terminate())
        await once(client, 'open')
        client.pause()
        client.on('message', (data) => hear((data as Buffer).toString()))
        resume = () => client.resume()
        for (let id = 1; id <= MANY; id += 1) client.send(ask(id))
      }
      expect(await settled(calls)).toBeLessThan(1_000)
      resume()
      await expect.poll(() => answers.size, { timeout: 20_000 }).toBe(MANY)
      expect(done).toBeGreaterThan(MANY / 2)
    },
  )

  it('gets no more answers to the pings of a WebSocket than would be read', async () => {
    const { url, token } = await talkative()
    const { port, host } = new URL(url)
    const socket = connectSocket(Number(port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const key = 'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
    const known = `host: ${host}\r\nauthorization: Bearer ${token}\r\n`
    socket.write(`GET /v1/socket HTTP/1.1\r\n${known}connection: upgrade\r\nupgrade: websocket\r\n${key}\r\n`)
    await once(socket, 'data')
    socket.pause()
    const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, 'x')])
    const many = Buffer.concat(Array.from({ length: 2_000 }, () => ping))
    const answered = vi.spyOn(WebSocket.prototype, 'pong')
    onTestFinished(() => answered.mockRestore())
    // More than the kernel keeps for both ends.
    for (let sent = 0; sent < 300; sent += 1) if (!socket.write(many)) await once(socket, 'drain')
    await expect.poll(() => answered.mock.calls.length).toBeGreaterThan(0)
    expect(await settled(() => answered.mock.calls.length)).toBeLessThan(300_000)
  })

  it.each(['HTTP', 'lines'])('is not answered any more, over %s, and nobody else suffers', async (way) => {
    const rate = { burst: 100_000, perSecond: 100_000 }
    const much = await talkative({ maxUnread: 1_000_000, patience: 1_000, rate })
    const { url, socket, tokens, token } = much
    const port = Number(new URL(url).port)
    const request = `GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`
    const text = way === 'HTTP' ? request : '{"call":"health"}\n'
    const sockets = Array.from({ length: 20 }, () => {
      const one = connectSocket(port, '127.0.0.1')
      onTestFinished(() => void one.destroy())
      one.on('error', () => undefined).pause()
      if (way === 'lines') one.write(`{"token":"${token}"}\n`)
      return one
    })
    // Again and again: the kernel takes some of the answers, and they are out of our hands then.
    const asking = setInterval(() => {
      for (const one of sockets) if (one.writable) one.write(text.repeat(5))
    }, 10)
    onTestFinished(() => clearInterval(asking))
    const again = (): Promise<unknown> => connectHttp(url, token).then(() => 'in', reasonOf)
    await expect.poll(again, { timeout: 10_000 }).toBe('unread')
    clearInterval(asking)
    await (await connectHttp(url, tokens.create('other', 'read').secret)).close()
    await (await connect(socket)).close()
    // They are let go, and then the token is as good as before.
    await expect.poll(again, { timeout: 10_000 }).toBe('in')
  })
})
