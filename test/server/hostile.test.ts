/** Nothing gets in that should not, nothing falls over, and every refusal says why. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { connect, connectHttp, type EventItem } from 'nerve/client'
import { openTokens, startServer } from 'nerve/server'
import { Doorkeeper } from '../../src/surfaces/server/doorkeeper.ts'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'

let under: UnderTest
beforeAll(async () => {
  under = await hostUnderTest({ maxBody: 20_000, origins: ['https://dashboard.example'] })
})
afterAll(() => under.end())

const folders: string[] = []
const scratch = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'nerve-hostile-'))
  folders.push(made)
  return made
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

async function ask(path: string, options: RequestOptions = {}, body?: string): Promise<Answer> {
  const { port } = new URL(under.url)
  const headers = { authorization: `Bearer ${under.token}`, ...(options.headers as Record<string, string> | undefined) }
  const sent = request({ host: '127.0.0.1', port, path, ...options, headers })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode ?? 0, headers: response.headers, body: text }
}

describe('tokens', () => {
  it('are made on the first start, in a file that only its user can read', () => {
    expect(statSync(under.tokens.file).mode & 0o777).toBe(0o600)
    expect(under.tokens.list()).toMatchObject([{ name: 'default', scope: 'control' }])
    expect(under.token).toMatch(/^nrv_[\w-]{43}$/)
  })

  it('have scopes, and are refused once they are rotated or revoked', async () => {
    const reader = under.tokens.create('reader', 'read')
    const clerk = under.tokens.create('clerk', 'answer')
    const client = await connectHttp(under.url, reader.secret)
    await client.runs.list()
    await expect(client.runs.start('busy', 1)).rejects.toMatchObject({ code: 'not-allowed', data: { reason: 'scope' } })
    await expect(client.questions.answer('a-1', 'x')).rejects.toMatchObject({ code: 'not-allowed' })
    const other = await connectHttp(under.url, clerk.secret)
    await expect(other.questions.answer('a-1', 'x')).rejects.toMatchObject({ code: 'not-found' })
    await expect(other.call('shutdown', {})).rejects.toMatchObject({ code: 'not-allowed' })
    const { secret } = under.tokens.rotate('reader')
    await expect(client.runs.list()).rejects.toMatchObject({ code: 'not-allowed', data: { reason: 'token' } })
    await (await connectHttp(under.url, secret)).runs.list()
    under.tokens.revoke('reader')
    await expect(connectHttp(under.url, secret)).rejects.toMatchObject({ code: 'not-allowed' })
    expect(() => under.tokens.create('clerk', 'read')).toThrow('already')
    under.tokens.revoke('clerk')
  })

  it('that are taken back end what they had open', async () => {
    const token = under.tokens.create('brief', 'read')
    const client = await connect(under.url.replace('http', 'tcp'), { token: token.secret })
    under.tokens.revoke('brief')
    await expect
      .poll(
        () =>
          client.health().then(
            () => '',
            (error: unknown) => (error as { code: string }).code,
          ),
        { timeout: 5_000 },
      )
      .toBe('not-allowed')
    await client.close()
  })

  it('that are taken back get no answer to what they had asked before', async () => {
    const { secret } = under.tokens.create('waits', 'read')
    const near = await connect(under.socket)
    const run = await near.runs.start('waiting')
    const clients = [
      await connect(under.url.replace('http', 'tcp'), { token: secret }),
      await connectHttp(under.url, secret),
    ]
    const told = clients.flatMap((client) => [
      client.run(run.id).wait({ timeout: 60_000 }).then(String, codeOf),
      lastOf(client.run(run.id).events()).catch(codeOf),
    ])
    const socket = new WebSocket(`${under.url.replace('http', 'ws')}/v1/socket`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    const messages: string[] = []
    socket.on('message', (data) => messages.push((data as Buffer).toString()))
    await once(socket, 'open')
    const gone = once(socket, 'close')
    socket.send(`{"id":1,"call":"runs.wait","input":{"run":"${run.id}","timeout":60000}}`)
    socket.send(`{"id":2,"feed":"events","input":{"run":"${run.id}"}}`)
    await expect.poll(() => messages.length).toBeGreaterThan(0)
    under.tokens.revoke('waits')
    // Each is looked at again within a second of its last look: the last of them, after this.
    const late = await connect(under.url.replace('http', 'tcp'), { token: under.token })
    const looked = Date.now()
    await expect
      .poll(async () => (await late.health()).ok && Date.now() - looked > 1_000, { timeout: 10_000 })
      .toBe(true)
    await run.signal('go', 'a secret')
    await run.result()
    expect(await Promise.all(told)).toEqual([
      'not-allowed',
      'not-allowed',
      'not-allowed',
      expect.not.stringMatching('run-completed'),
    ])
    await gone
    expect(messages.join('')).not.toContain('a secret')
    await Promise.all([...clients, near, late].map((client) => client.close()))
  })

  it('are not taken from a file that others can read, or from a link', () => {
    const folder = scratch()
    const file = join(folder, 'tokens.json')
    openTokens(file)
    symlinkSync(file, join(folder, 'link.json'))
    expect(() => openTokens(join(folder, 'link.json'))).toThrow('is a link')
    chmodSync(file, 0o644)
    expect(() => openTokens(file)).toThrow('can be read by others')
    writeFileSync(join(folder, 'odd.json'), '{"tokens":[{"name":"a","scope":"all","secret":"x"}]}', { mode: 0o600 })
    expect(() => openTokens(join(folder, 'odd.json'))).toThrow('is not a file of tokens')
  })

  it('cannot be guessed at length', async () => {
    const guarded = await hostUnderTest()
    try {
      const codes: string[] = []
      for (let i = 0; i < 25; i += 1)
        await connectHttp(guarded.url, `nrv_${i}`).catch((error: unknown) =>
          codes.push((error as { code: string }).code),
        )
      expect(codes.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 'not-allowed'))
      expect(codes.at(-1)).toBe('limit-reached')
      // Who has a token is not locked out by those who have none.
      await (await connectHttp(guarded.url, guarded.token)).close()
    } finally {
      await guarded.end()
    }
  })

  it('have a limit to how often they ask', async () => {
    const slow = await hostUnderTest({ rate: { burst: 5, perSecond: 0.001 } })
    try {
      const client = await connectHttp(slow.url, slow.token)
      const codes = await Promise.all(
        Array.from({ length: 8 }, () =>
          client.health().then(
            () => 'ok',
            (error: unknown) => (error as { code: string }).code,
          ),
        ),
      )
      expect(codes.filter((code) => code === 'ok')).toHaveLength(4)
      expect(codes.filter((code) => code === 'limit-reached')).toHaveLength(4)
    } finally {
      await slow.end()
    }
  })
})

describe('pages of others', () => {
  it('cannot use it: a foreign Host, Origin or site is refused before anything else', async () => {
    const { port } = new URL(under.url)
    expect((await ask('/v1/health')).status).toBe(200)
    expect((await ask('/v1/health', { headers: { host: `evil.example:${port}` } })).status).toBe(421)
    expect((await ask('/v1/health', { headers: { host: '127.0.0.1:1' } })).status).toBe(421)
    expect((await ask('/v1/health', { headers: { origin: 'https://evil.example' } })).status).toBe(403)
    expect((await ask('/v1/health', { headers: { origin: 'null' } })).status).toBe(403)
    expect((await ask('/v1/health', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    const refused = await ask('/v1/health', { headers: { origin: 'https://evil.example' } })
    expect(refused.headers['access-control-allow-origin']).toBeUndefined()
  })

  it('can when they were named', async () => {
    const origin = 'https://dashboard.example'
    const preflight = await ask('/v1/runs/start', { method: 'OPTIONS', headers: { origin, authorization: '' } })
    expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } })
    expect((await ask('/v1/health', { headers: { origin, 'sec-fetch-site': 'cross-site' } })).status).toBe(200)
  })

  it('cannot send forms: only JSON starts anything', async () => {
    const before = (await under.host.runs()).length
    const form = { method: 'POST', headers: { 'content-type': 'text/plain' } }
    expect((await ask('/v1/runs/start', form, '{"definition":"busy","input":1}')).status).toBe(415)
    expect((await ask('/v1/runs/stream?definition=busy&input=1')).status).toBe(405)
    expect((await under.host.runs()).length).toBe(before)
  })

  it('cannot open WebSockets', async () => {
    const { port } = new URL(under.url)
    const open = (headers: Record<string, string>, path = '/v1/socket'): Promise<string> =>
      new Promise((resolve) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers })
        socket.on('open', () => {
          socket.terminate()
          resolve('open')
        })
        socket.on('error', (error) => resolve(error.message))
      })
    expect(await open({})).toBe('open')
    expect(await open({ origin: 'https://evil.example' })).toContain('403')
    expect(await open({ host: 'evil.example' })).toContain('421')
    expect(await open({ authorization: 'Bearer wrong' })).toContain('401')
    expect(await open({}, '/v1/other')).toContain('404')
  })
})

describe('nonsense', () => {
  it('of any kind is answered or ended, on every transport, and the host goes on', async () => {
    const { port } = new URL(under.url)
    const odd = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((text) => Buffer.from(`${text}\n`)),
      fc
        .record({ id: fc.anything(), call: fc.anything(), input: fc.json() })
        .map((one) => Buffer.from(`${safe(one)}\n`)),
      fc.string().map((text) => Buffer.from(`POST /v1/${text} HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\n{}`)),
      fc
        .constantFrom('{"__proto__":{"call":"health"}}\n', '{"call":"constructor"}\n', '{"call":"__proto__"}\n')
        .map((text) => Buffer.from(text)),
    )
    await fc.assert(
      fc.asyncProperty(odd, fc.boolean(), async (bytes, far) => {
        const socket = far ? connectSocket(Number(port), '127.0.0.1') : connectSocket(under.socket)
        socket.on('error', () => undefined)
        await once(socket, 'connect')
        socket.resume().end(bytes)
        await once(socket, 'close')
      }),
      { numRuns: 150 },
    )
    await (await connect(under.socket)).health()
    expect(under.problems).toEqual([])
  })

  it('in WebSocket messages too', async () => {
    const socket = new WebSocket(`${under.url.replace('http', 'ws')}/v1/socket`, {
      headers: { authorization: `Bearer ${under.token}` },
    })
    const answers: string[] = []
    socket.on('message', (data) => answers.push((data as Buffer).toString()))
    await once(socket, 'open')
    for (const text of ['x', '[]', '{}', '{"id":{}}', '{"call":7}', '{"stop":true}', '{"id":1,"call":"nope"}'])
      socket.send(text)
    await expect.poll(() => answers.length).toBe(6)
    expect(answers.every((text) => text.includes('"error"'))).toBe(true)
    socket.send('x'.repeat(30_000))
    const [code] = (await once(socket, 'close')) as [number]
    expect(code).toBe(1009)
  })

  it('that is too large is refused', async () => {
    const large = JSON.stringify({ definition: 'busy', input: 'x'.repeat(30_000) })
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
    expect((await ask('/v1/runs/start', json, large)).status).toBe(413)
    const chunked = { method: 'POST', headers: { ...json.headers, 'transfer-encoding': 'chunked' } }
    expect((await ask('/v1/runs/start', chunked, large)).status).toBe(413)
    const client = await connect(under.socket)
    await expect(client.runs.start('busy', 'x'.repeat(30_000))).rejects.toMatchObject({ code: 'limit-reached' })
    await expect(client.health()).resolves.toMatchObject({ ok: true })
    await client.close()
  })
})

describe('where it listens', () => {
  const service = { call: () => Promise.resolve(), feed: () => Promise.reject(new Error('none')) }

  it('is private', () => {
    expect(statSync(under.socket).mode & 0o777).toBe(0o600)
  })

  it('is not a link, a file, or a folder that others can write to', async () => {
    const folder = scratch()
    const place = join(folder, 'own')
    mkdirSync(place, { mode: 0o700 })
    const file = join(place, 'file')
    writeFileSync(file, 'mine')
    await expect(startServer({ service, socket: file })).rejects.toThrow('is not a socket')
    expect(readFileSync(file, 'utf8')).toBe('mine')
    symlinkSync(under.socket, join(place, 'link'))
    await expect(startServer({ service, socket: join(place, 'link') })).rejects.toThrow('is not a socket')
    symlinkSync(place, join(folder, 'linked'))
    await expect(startServer({ service, socket: join(folder, 'linked', 's') })).rejects.toThrow('is a link')
    mkdirSync(join(folder, 'open'))
    chmodSync(join(folder, 'open'), 0o777)
    await expect(startServer({ service, socket: join(folder, 'open', 's') })).rejects.toThrow(
      'can be written by others',
    )
    await expect(startServer({ service, socket: join(folder, 'x'.repeat(120)) })).rejects.toThrow('longer than')
  })

  it('is left to a host that is there, and taken from one that is dead', async () => {
    await expect(startServer({ service, socket: under.socket })).rejects.toMatchObject({ code: 'owned-elsewhere' })
    const path = join(scratch(), 's')
    // A socket whose process was killed leaves its file.
    const dead = createServer().listen(path)
    await once(dead, 'listening')
    const { renameSync } = await import('node:fs')
    renameSync(path, `${path}.kept`)
    dead.close()
    renameSync(`${path}.kept`, path)
    const server = await startServer({ service, socket: path })
    await server.close()
    expect(existsSync(path)).toBe(false)
  })

  it('is loopback, unless somebody means it, and never without a token', async () => {
    const tokens = openTokens(join(scratch(), 'tokens.json'))
    await expect(startServer({ service, tcp: { port: 0 } })).rejects.toThrow('needs tokens')
    for (const host of [
      '0.0.0.0',
      '::',
      '127.evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '::ffff:10.0.0.1',
    ])
      await expect(startServer({ service, tokens, tcp: { port: 0, host } })).rejects.toThrow('beyondLoopback')
    const server = await startServer({ service, tokens, tcp: { port: 0, host: '0.0.0.0', beyondLoopback: true } })
    await server.close()
    await expect(startServer({ service })).rejects.toThrow('needs a socket')
  })
})

const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

it.skipIf(!HAS_IPV6).each(['::1', '[::1]', 'localhost'])('%s is loopback, with its own name', async (host) => {
  const tokens = openTokens(join(scratch(), 'tokens.json'))
  const service = { call: () => Promise.resolve({ ok: true }), feed: () => Promise.reject(new Error('none')) }
  const server = await startServer({ service, tokens, tcp: { port: 0, host } })
  try {
    const client = await connectHttp(server.url ?? '', tokens.list()[0]?.secret)
    expect(await client.health()).toEqual({ ok: true })
    await client.close()
  } finally {
    await server.close()
  }
})

it('on the port of the protocol, addresses have no port', () => {
  const doorkeeper = new Doorkeeper({ hosts: ['Nerve.example'] })
  const at = (localPort: number, host: string): void =>
    doorkeeper.checkAddress({ host }, { localPort, localAddress: '127.0.0.1' } as Socket)
  for (const host of ['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST:80', 'nerve.example']) at(80, host)
  expect(() => at(4400, 'localhost')).toThrow('There is no host')
  expect(() => at(80, 'evil.example')).toThrow('There is no host')
  at(4400, 'nerve.example')
  at(4400, 'NERVE.example:4400')
})

function codeOf(error: unknown): string {
  return (error as { code: string }).code
}

/** The type of the last event. */
async function lastOf(items: AsyncIterable<EventItem>): Promise<string> {
  let last = ''
  for await (const { type } of items) last = type
  return last
}

function safe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return 'null'
  }
}
