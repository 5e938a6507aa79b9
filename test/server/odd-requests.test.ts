/** Requests as no well-meaning client makes them, byte by byte: each is answered with what is wrong, and nobody stays who was not let in. */
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectSocket, Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connect, connectHttp } from 'nerve/client'
import { startServer } from 'nerve/server'
import { hostUnderTest, waiting, type UnderTest } from './host-under-test.ts'

let under: UnderTest
let own: string
let known: string
beforeAll(async () => {
  under = await hostUnderTest({ maxBody: 100_000 })
  own = `host: 127.0.0.1:${portOf(under)}\r\n`
  known = `${own}authorization: Bearer ${under.token}\r\n`
})
afterAll(() => under.end())

function portOf({ url }: UnderTest): number {
  return Number(new URL(url).port)
}

function open(at: UnderTest, text = ''): Socket & { said: string } {
  const socket = Object.assign(connectSocket({ port: portOf(at), host: '127.0.0.1', allowHalfOpen: true }), {
    said: '',
  })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => (socket.said += chunk.toString('latin1')))
  socket.write(text)
  return socket
}

/** The statuses of the answers, in their order. */
function statuses({ said }: { readonly said: string }): number[] {
  return [...said.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((found) => Number(found[1]))
}

/** The last of the answers to what was sent. */
async function statusOf(text: string, answers = 1): Promise<number | undefined> {
  const socket = open(under, text)
  await expect.poll(() => statuses(socket).length, { interval: 5 }).toBe(answers)
  socket.destroy()
  return statuses(socket).at(-1)
}

/** Older ones take every offer of another protocol for a WebSocket. */
const [MAJOR = 0, MINOR = 0] = process.versions.node.split('.').map(Number)
const CAN_REFUSE_UPGRADES = MAJOR > 24 || (MAJOR === 24 && MINOR >= 9) || (MAJOR === 22 && MINOR >= 21)
const JSON_TYPE = 'content-type: application/json\r\n'

describe('is answered with what is wrong', () => {
  const cases: Readonly<Record<string, readonly [text: () => string, status: number]>> = {
    'an address that is none': [() => `GET http://[ HTTP/1.1\r\n${known}\r\n`, 400],
    'an empty authority': [() => `GET //// HTTP/1.1\r\n${known}\r\n`, 400],
    'the address of somebody else': [() => `GET http://evil.example/v1/nothing HTTP/1.1\r\n${known}\r\n`, 404],
    'a second Host': [() => `GET /v1/health HTTP/1.1\r\nhost: evil.example\r\n${known}\r\n`, 421],
    'no Host': [() => 'GET /v1/health HTTP/1.0\r\n\r\n', 421],
    'a Host with a dot at its end': [() => `GET /v1/health HTTP/1.1\r\nhost: localhost.:${portOf(under)}\r\n\r\n`, 421],
    'two lengths': [
      () => `POST /v1/health HTTP/1.1\r\n${known}${JSON_TYPE}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
      400,
    ],
    'a length and pieces': [
      () =>
        `POST /v1/health HTTP/1.1\r\n${known}${JSON_TYPE}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    'pieces without a length': [
      () => `POST /v1/health HTTP/1.1\r\n${known}${JSON_TYPE}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
      400,
    ],
    'a header that goes on in the next line': [
      () => `GET /v1/health HTTP/1.1\r\n${own}authorization: Bearer\r\n x\r\n\r\n`,
      400,
    ],
    'headers without end': [() => `GET /v1/health HTTP/1.1\r\n${known}x: ${'a'.repeat(70_000)}\r\n\r\n`, 431],
    'a token in the address': [() => `GET /v1/health?token=${under.token} HTTP/1.1\r\n${own}\r\n`, 401],
    'a token with odd letters': [
      () => `GET /v1/health HTTP/1.1\r\n${own}authorization: Bearer \u00ff\u00fe%00\r\n\r\n`,
      401,
    ],
    'another kind of authorization': [
      () => `GET /v1/health HTTP/1.1\r\n${own}authorization: Basic ${btoa(`x:${under.token}`)}\r\n\r\n`,
      401,
    ],
    'a method that only looks alike': [() => `TRACE /v1/health HTTP/1.1\r\n${known}\r\n`, 405],
    'the same at /mcp': [() => `TRACE /mcp HTTP/1.1\r\n${known}\r\n`, 405],
    'a body that is not UTF-8': [
      () => `POST /v1/health HTTP/1.1\r\n${known}${JSON_TYPE}content-length: 3\r\n\r\n"\xff"`,
      400,
    ],
    'a body that is a list': [
      () => `POST /v1/events HTTP/1.1\r\n${known}${JSON_TYPE}last-event-id: 3\r\ncontent-length: 2\r\n\r\n[]`,
      400,
    ],
    'a type that only begins right': [
      () => `POST /v1/health HTTP/1.1\r\n${known}content-type: application/jsonp\r\ncontent-length: 2\r\n\r\n{}`,
      415,
    ],
    'names of the language': [() => `GET /v1/__proto__ HTTP/1.1\r\n${known}\r\n`, 404],
    'fields of the language': [() => `GET /v1/runs/list?__proto__=1&constructor=2 HTTP/1.1\r\n${known}\r\n`, 400],
    'numbers that are none': [() => `GET /v1/runs/list?limit=9e999 HTTP/1.1\r\n${known}\r\n`, 400],
  }
  it.each(Object.entries(cases))('%s', async (_what, [text, status]) => {
    const socket = connectSocket(portOf(under), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let said = ''
    socket.on('error', () => undefined).on('data', (chunk: Buffer) => (said += chunk.toString('latin1')))
    socket.write(Buffer.from(text(), 'latin1'))
    await expect.poll(() => statuses({ said })[0], { interval: 5 }).toBe(status)
    expect(said).not.toContain('    at ')
  })

  it('and none of it is a problem of the host', () => {
    expect(under.problems).toEqual([])
  })
})

describe('is taken', () => {
  it('one request after the other, without waiting, and each with its own token', async () => {
    const health = `GET /v1/health HTTP/1.1\r\n${known}\r\n`
    expect(await statusOf(health.repeat(3), 3)).toBe(200)
    expect(await statusOf(`${health}GET /v1/health HTTP/1.1\r\n${own}\r\n`, 2)).toBe(401)
  })

  it('a client that asks first whether it may send its body', async () => {
    const socket = open(
      under,
      `POST /v1/runs/list HTTP/1.1\r\n${known}${JSON_TYPE}content-length: 2\r\nexpect: 100-continue\r\n\r\n`,
    )
    await expect.poll(() => socket.said).toContain('100 Continue')
    socket.write('{}')
    await expect.poll(() => statuses(socket).at(-1)).toBe(200)
  })

  it.skipIf(!CAN_REFUSE_UPGRADES)(
    'a client that offers HTTP/2 with its request: it is answered in HTTP/1.1',
    async () => {
      const offer = 'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n'
      expect(await statusOf(`GET /v1/health HTTP/1.1\r\n${known}${offer}\r\n`)).toBe(200)
    },
  )

  it('a client that says no more is still answered what it has asked, for a while', async () => {
    const { id } = await under.host.start(waiting)
    const own = await hostUnderTest({ patience: 300 })
    onTestFinished(() => own.end())
    const ask = (at: UnderTest, timeout: number, run: string) => {
      const socket = open(at, `{"token":"${at.token}"}\n`)
      socket.end(
        `{"id":1,"call":"runs.wait","input":{"run":"${run}","timeout":${timeout}}}\n{"id":2,"feed":"events"}\n`,
      )
      return socket
    }
    const answered = ask(under, 200, id)
    await once(answered, 'close')
    expect(answered.said).toContain(`{"id":1,"result":{"run":"${id}","status":"waiting","ended":false}}`)
    expect(answered.said).not.toContain('"end"')
    const { id: other } = await own.host.start(waiting)
    const tired = ask(own, 600_000, other)
    await once(tired, 'close')
    expect(tired.said).not.toContain('"id":1')
    await expect.poll(() => own.server.connections).toBe(0)
  })

  it('a client that leaves in the middle of its body: that is no problem of the host', async () => {
    const socket = open(under, `POST /v1/runs/list HTTP/1.1\r\n${known}${JSON_TYPE}content-length: 50\r\n\r\n{`)
    await once(socket, 'connect')
    await expect.poll(() => under.server.connections).toBeGreaterThan(0)
    socket.destroy()
    await expect.poll(() => under.server.connections).toBe(0)
    expect(under.problems).toEqual([])
  })

  it('a body that is too large is read far enough for its client to hear that', async () => {
    const client = await connectHttp(under.url, under.token)
    for (const size of [110_000, 1_000_000, 1_500_000])
      await expect(client.runs.start('busy', 'x'.repeat(size))).rejects.toMatchObject({
        code: 'limit-reached',
        data: { reason: 'size' },
      })
    await client.close()
  })
})

it('an answer that cannot be sent is an error without a word about the code', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-odd-'))
  const service = { call: () => Promise.resolve({ odd: () => 1 }), feed: () => Promise.reject(new Error('none')) }
  const server = await startServer({ service, socket: join(folder, 's') })
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const socket = connectSocket(join(folder, 's'))
  socket.write('{"id":1,"call":"health"}\n')
  const [data] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  expect(JSON.parse(data.toString())).toEqual({ id: 1, error: expect.objectContaining({ code: 'bad-value' }) })
  expect(data.toString()).not.toContain('stack')
})

describe('nonsense from who was let in', () => {
  it('in the frames of a WebSocket ends it, and nothing else', async () => {
    const key = 'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    const upgrade = `GET /v1/socket HTTP/1.1\r\n${known}connection: upgrade\r\nupgrade: websocket\r\n${key}`
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 })
    /** Frames as they should be, with anything in them. */
    const framed = fc.tuple(
      fc.constantFrom(0x81, 0x82, 0x88, 0x89, 0x8a, 0x01, 0x00),
      fc.uint8Array({ maxLength: 120 }),
    )
    const odd = fc.oneof(
      bytes.map((one) => Buffer.from(one)),
      framed.map(([kind, one]) => Buffer.concat([Buffer.from([kind, 0x80 | one.length, 0, 0, 0, 0]), one])),
    )
    await fc.assert(
      fc.asyncProperty(odd, async (text) => {
        const socket = connectSocket(portOf(under), '127.0.0.1')
        socket.on('error', () => undefined).write(upgrade)
        await once(socket, 'data')
        socket.resume().end(text)
        await once(socket, 'close')
      }),
      { numRuns: 100 },
    )
    expect(under.problems).toEqual([])
  })

  it('as the body of anything, also of MCP, is refused', async () => {
    const headers = {
      authorization: `Bearer ${under.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const before = (await under.host.runs()).length
    const message = fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.json(),
      method: fc.string(),
      params: fc.anything(),
    })
    const body = fc.oneof(fc.json(), fc.string(), message.map(safely))
    const paths = ['/mcp', '/v1/runs/start', '/v1/questions/answer', '/v1/nodes/execute', '/v1/definitions/validate']
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), body, async (path, text) => {
        const response = await fetch(`${under.url}${path}`, { method: 'POST', headers, body: text })
        await response.text()
        expect([path, text, response.status < 500]).toEqual([path, text, true])
      }),
      { numRuns: 150 },
    )
    expect((await under.host.runs()).length).toBe(before)
    expect(under.problems).toEqual([])
  })
})

/** Some of what can be made up has no JSON. */
function safely(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '{}'
  }
}

describe('who was not let in', () => {
  it('does not stay, by any way of staying', async () => {
    const patient = await hostUnderTest({ patience: 300 })
    onTestFinished(() => patient.end())
    const host = `host: 127.0.0.1:${portOf(patient)}\r\n`
    const health = `GET /v1/health HTTP/1.1\r\n${host}`
    const upgrade =
      'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    const ways = {
      'says nothing': ['', ''],
      'does not end a line': ['{"tok', 'e'],
      'does not end a request': [`GET /v1/health HTTP/1.1\r\n`, 'x: y\r\n'],
      'does not end the second request': [`${health}\r\n${health}`, 'x: y\r\n'],
      'was let in once, and does not end the second request': [
        `${health}authorization: Bearer ${patient.token}\r\n\r\n${health}`,
        'x: y\r\n',
      ],
      'asks again and again': [`${health}\r\n`, `${health}\r\n`],
      'asks whether it may': [
        `OPTIONS /v1/health HTTP/1.1\r\n${host}\r\n`,
        `OPTIONS /v1/health HTTP/1.1\r\n${host}\r\n`,
      ],
      'sends a body without end': [
        `POST /v1/health HTTP/1.1\r\n${host}${JSON_TYPE}content-length: 100000\r\n\r\n`,
        ' ',
      ],
      'comes by another page': [`${health}origin: https://evil.example\r\n\r\n`, `${health}\r\n`],
      'has a wrong token': ['{"token":"nrv_wrong"}\n', '{}\n'],
      'wants a WebSocket where there is none': [`GET /mcp HTTP/1.1\r\n${host}${upgrade}`, ' '],
    }
    const sockets = Object.entries(ways).map(([name, [first, then = '']]) => {
      const socket = open(patient, first)
      const again = setInterval(() => void (socket.writable && socket.write(then)), 100)
      socket.on('close', () => clearInterval(again))
      return { name, socket }
    })
    await Promise.all(sockets.map(({ socket }) => once(socket, 'connect')))
    // Some of them do not close their end: the host does not wait for it.
    await expect.poll(() => patient.server.connections, { timeout: 10_000 }).toBe(0)
    for (const { socket } of sockets) socket.destroy()
  })

  it('is not kept in memory: who has much to say before the token is put out, and who has it after that is not', async () => {
    const much = 'x'.repeat(90_000)
    const upgrade =
      `GET /v1/socket HTTP/1.1\r\n${own}connection: upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
    // A frame of 99,999 bytes, masked with zeros, that does not end.
    const frame = `\u0081\u00FF${'\0'.repeat(5)}\u0001\u0086\u009F${'\0'.repeat(4)}{"token":"${much}`
    const line = open(under, `{"token":"${much}`)
    const socket = open(under, upgrade)
    const ended = [line, socket].map((one) => once(one, 'end'))
    await expect.poll(() => socket.said).toContain('101 Switching')
    socket.write(frame, 'latin1')
    await Promise.all(ended)
    expect(line.said).toContain('A token is needed here')
    const known = open(
      under,
      `{"token":"${under.token}"}\n{"id":1,"call":"runs.start","input":{"definition":"${much}"}}\n`,
    )
    await expect.poll(() => known.said).toContain('"code":"bad-input"')
  })

  it('learns nothing of the machine, also when the file of tokens is broken', async () => {
    const broken = await hostUnderTest()
    onTestFinished(() => broken.end())
    const headers = { authorization: `Bearer ${broken.token}` }
    const ask = async (): Promise<string> => (await fetch(`${broken.url}/v1/health`, { headers })).text()
    expect(await ask()).toContain('"ok":true')
    chmodSync(broken.tokens.file, 0o644)
    for (let i = 0; i < 3; i += 1) expect(await ask()).toMatch(/"code":"not-allowed","data":\{"reason":"token"\}/)
    chmodSync(broken.tokens.file, 0o600)
    expect(await ask()).toContain('"ok":true')
    writeFileSync(broken.tokens.file, '{')
    expect(await ask()).not.toContain(broken.folder)
    // Whoever runs the host hears of it, once.
    expect(broken.problems.map((one) => (one as { code: string }).code)).toEqual(['not-allowed', 'bad-file'])
    // Neighbours need no token.
    await (await connect(broken.socket)).close()
  })
})

it('who was not let in hears one word, however much they said at once', async () => {
  const warned: Error[] = []
  const warn = (warning: Error): void => void warned.push(warning)
  process.on('warning', warn)
  onTestFinished(() => void process.off('warning', warn))
  const socket = open(under, '{}\n'.repeat(10_000))
  await once(socket, 'end')
  expect({ words: socket.said.split('\n').length - 1, warned }).toEqual({ words: 1, warned: [] })
})

it.each([
  ['/v1/health', 'PUT', 'GET, POST'],
  ['/v1/runs/start', 'GET', 'POST'],
  ['/mcp', 'PUT', 'GET, POST, DELETE'],
])('%s says which methods it takes instead of %s', async (path, method, allowed) => {
  const headers = { authorization: `Bearer ${under.token}` }
  const { status, headers: said } = await fetch(`${under.url}${path}`, { method, headers })
  expect([status, said.get('allow')]).toEqual([405, allowed])
})

it('goes on when the system has nothing left for somebody who comes', async () => {
  const at = await hostUnderTest()
  onTestFinished(() => at.end())
  const doors = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles().filter((one) => {
    const where = one instanceof Server ? one.address() : null
    return where === at.socket || (typeof where === 'object' && where?.port === portOf(at))
  }) as Server[]
  expect(doors).toHaveLength(2)
  const full = new Error('accept ENFILE')
  for (const door of [...doors, ...doors]) door.emit('error', full)
  expect(at.problems).toEqual([full, full, full, full])
  const client = await connect(at.socket)
  expect(await client.call('health', {})).toMatchObject({ ok: true })
  await client.close()
})
