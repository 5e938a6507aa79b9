/** The server itself: who may come in, what is refused and how, and what happens when clients are slow, many or gone. */
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createGateway, provider, scripted, type Backend } from 'nerve/gateway'
import { gate, until } from '../behaviour/stage.ts'
import { ask, json, openGateway, readStream, type House, type Loose } from './house.ts'
import { CLOSING, OPENING, delta, fakeUpstream } from './upstream.ts'

const HELLO = { rules: [{ say: 'hello' }] }

/** `fetch` sets Host and Origin itself, so these are made by hand. */
function visit(
  house: House,
  headers: Record<string, string>,
  path = '/v1/messages',
): Promise<{ status: number; body: Loose }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: Loose }>()
  const outgoing = request(house.url + path, { method: 'POST', headers }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
  })
  outgoing.on('error', reject)
  outgoing.end(JSON.stringify(ask('hi')))
  return promise
}

describe('who is not known', () => {
  it('is refused, in the words of the provider', async () => {
    const house = await openGateway(HELLO)
    const other = await openGateway(HELLO)
    const nobody = await visit(house, {})
    expect(nobody).toMatchObject({ status: 401, body: { type: 'error', error: { type: 'authentication_error' } } })
    expect((await visit(house, { 'x-api-key': other.key })).status).toBe(401)
    expect((await visit(house, { 'x-api-key': `${house.key}x` })).status).toBe(401)
    const chat = await visit(house, { authorization: 'Bearer nope' }, '/v1/chat/completions')
    expect(chat).toMatchObject({ status: 401, body: { error: { message: expect.stringContaining('token') } } })
    for (const headers of [
      { host: 'evil.example' },
      { host: '127.0.0.1:1' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      const { status, body } = await visit(house, { 'x-api-key': house.key, ...headers })
      expect([status, body.error.type]).toEqual([403, 'permission_error'])
    }
    expect(house.log.recent).toEqual([])
  })

  it('may ask for the health, and for nothing else', async () => {
    const house = await openGateway(HELLO)
    expect(await (await fetch(`${house.url}/health`)).json()).toMatchObject({
      status: 'ok',
      backends: ['scripted'],
      open: 0,
    })
    expect((await fetch(`${house.url}/v1/models`)).status).toBe(401)
    expect((await fetch(`${house.url}/`)).status).toBe(401)
  })
})

describe('a token', () => {
  it('is taken from wherever the formats put their key', async () => {
    const house = await openGateway(HELLO)
    for (const headers of [
      { 'x-api-key': house.key },
      { authorization: `Bearer ${house.key}` },
      { 'x-goog-api-key': house.key },
    ])
      expect((await visit(house, headers as Record<string, string>)).status).toBe(200)
    expect((await visit(house, {}, `/v1/messages?key=${house.key}`)).status).toBe(200)
    expect(JSON.stringify(house.log.recent)).not.toContain(house.key)
  })

  it('that is revoked ends its calls, and takes no more', async () => {
    const house = await openGateway({ rules: [{ say: 'a long text', stream: { chunk: 1, delay: '1h' } }] })
    const { token, revoke } = house.token()
    const call = (): Promise<Response> =>
      house.post('/v1/messages', ask('hi', { stream: true }), { headers: { authorization: `Bearer ${token}` } })
    const text = (await call()).text()
    const failed = text.then(
      () => false,
      () => true,
    )
    revoke()
    expect(await failed).toBe(true)
    expect((await call()).status).toBe(401)
    const leaving = new AbortController()
    const bound = house.token({ signal: leaving.signal })
    const headers = { authorization: `Bearer ${bound.token}` }
    const open = (await house.post('/v1/messages', ask('hi', { stream: true }), { headers }))
      .text()
      .catch(() => 'ended')
    leaving.abort()
    expect(await open).toBe('ended')
    expect((await house.post('/v1/messages', ask('hi'), { headers })).status).toBe(401)
    expect(() => house.token({ token: 'short' })).toThrow(/at least 20/)
  })
})

describe('a request that cannot be served', () => {
  it('is refused in the words of its format', async () => {
    const house = await openGateway({ backend: scripted(HELLO), maxBody: 10_000 })
    const cases: [path: string, body: unknown, status: number, says: string][] = [
      ['/v1/messages', '{"model":', 400, 'no JSON'],
      ['/v1/messages', { model: 'm', max_tokens: 1 }, 400, 'messages'],
      ['/v1/messages', 'x'.repeat(10_001), 413, 'larger than 10000'],
      ['/v1/chat/completions', { messages: 3 }, 400, 'messages'],
      ['/v1/nothing', {}, 404, '/v1/nothing'],
    ]
    for (const [path, body, status, says] of cases) {
      const response = await house.post(path, body)
      expect(response.status).toBe(status)
      const { error } = (await response.json()) as { error: { message: string } }
      expect(error.message).toContain(says)
    }
  })

  it('is refused while it is still unpacked, when it is a small one that becomes huge', async () => {
    const house = await openGateway({ backend: scripted(HELLO), maxBody: 10_000 })
    const send = (text: string): Promise<Response> =>
      fetch(`${house.url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': house.key, 'content-encoding': 'gzip' },
        body: gzipSync(text),
      })
    expect((await send(JSON.stringify(ask('hi')))).status).toBe(200)
    expect((await send(JSON.stringify(ask('hi'.repeat(1_000_000))))).status).toBe(413)
  })

  it('by a back end that breaks is a failure, not a silence', async () => {
    const backend: Backend = { name: 'broken', answer: () => Promise.reject(new Error('a bug')) }
    const house = await openGateway({ backend })
    const response = await house.post('/v1/messages', ask('hi'))
    expect(response.status).toBe(500)
    expect(house.problems).toEqual([new Error('a bug')])
    expect(await response.text()).not.toContain('a bug')
  })
})

it('routes by model, lists models and counts tokens', async () => {
  const backend = scripted({ rules: [{ say: 'rest' }], models: ['other'] })
  const house = await openGateway({
    routes: [{ model: 'glm-*', backend: scripted({ ...HELLO, models: ['glm-5'] }) }],
    backend,
  })
  const said = async (model: string): Promise<string> =>
    (await json(house.post('/v1/messages', ask('hi', { model })))).content[0].text
  expect([await said('glm-5.3'), await said('claude')]).toEqual(['hello', 'rest'])
  const list = await fetch(`${house.url}/v1/models`, { headers: { authorization: `Bearer ${house.key}` } })
  expect((await json(list)).data.map(({ id }: { id: string }) => id)).toEqual(['glm-5', 'other'])
  const counted = await house.post('/v1/messages/count_tokens', ask('x'.repeat(400)))
  expect((await json(counted)).input_tokens).toBe(101)
  const only = await openGateway({ routes: [{ model: 'glm-*', backend }] })
  expect((await only.post('/v1/messages', ask('hi', { model: 'claude' }))).status).toBe(404)
  await expect(createGateway({})).rejects.toThrow(/backend, or routes/)
  await expect(createGateway({ backend, port: house.port })).rejects.toThrow(/another program uses it/)
})

describe('clients', () => {
  const forever = (response: import('node:http').ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(OPENING)
  }

  it.each([
    ['passed on', '/v1/messages'],
    ['translated', '/v1/chat/completions'],
  ])('that leave end the call of the provider (%s), and what is known is charged', async (_, path) => {
    const upstream = await fakeUpstream(forever)
    const house = await openGateway({ backend: provider('up', { url: upstream.url, format: 'anthropic' }) })
    const leaving = new AbortController()
    const response = await house.post(path, ask('hi', { stream: true, model: 'claude-opus-4-5' }), {
      signal: leaving.signal,
    })
    await response.body?.getReader().read()
    leaving.abort()
    await until(() => upstream.counts.left === 1 && house.log.recent.length === 1)
    expect(house.log.recent[0]).toMatchObject({ aborted: true, usage: { input: 1_000 }, estimated: true })
    const before = new AbortController()
    const early = await fakeUpstream(() => {})
    const quiet = await openGateway({ backend: provider('up', { url: early.url, format: 'anthropic' }) })
    const asked = quiet.post(path, ask('hi', { model: 'm' }), { signal: before.signal }).catch(() => 'left')
    await until(() => early.received.length === 1)
    before.abort()
    expect(await asked).toBe('left')
    await until(() => early.counts.left === 1 && quiet.log.recent.length === 1)
    expect(quiet.log.recent[0]).toMatchObject({ aborted: true })
    expect(quiet.log.recent[0]?.usage).toBeUndefined()
  })

  it('that are slow slow the provider down, and memory stays', async () => {
    const total = 1_000
    const piece = delta('x'.repeat(65_536))
    let written = 0
    const upstream = await fakeUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      function* pieces(): Generator<string> {
        yield OPENING
        for (; written < total; written += 1) yield piece
        yield CLOSING
      }
      Readable.from(pieces()).pipe(response)
    })
    const house = await openGateway({ backend: provider('up', { url: upstream.url, format: 'anthropic' }) })
    const response = await house.post('/v1/messages', ask('hi', { stream: true }))
    const reader = response.body?.getReader()
    await reader?.read()
    // The buffers of the sockets fill, and then nothing moves: not the rest of the 65 MB.
    let before = -1
    while (before !== written) {
      before = written
      await wait(100)
    }
    expect(written).toBeLessThan(total / 2)
    let length = 0
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
      length += (next.value as Uint8Array).length
    expect(length).toBeGreaterThan(total * 65_536 * 0.99)
  })

  it('may be two hundred at once', async () => {
    const everybody = gate()
    const upstream = await fakeUpstream(async (response, { body }, number) => {
      const name = (JSON.parse(body) as { messages: [{ content: string }] }).messages[0].content
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(OPENING)
      if (number === 200) everybody.resolve()
      await everybody.promise
      for (let i = 0; i < 20; i += 1) response.write(delta(`${name}.`))
      response.end(CLOSING)
    })
    const house = await openGateway({ backend: provider('up', { url: upstream.url, format: 'anthropic' }) })
    const texts = await Promise.all(
      Array.from(
        { length: 200 },
        async (_, index) =>
          (await readStream(await house.post('/v1/messages', ask(`n${index}`, { stream: true })))).text,
      ),
    )
    expect(texts).toEqual(Array.from({ length: 200 }, (_, index) => `n${index}.`.repeat(20)))
    expect(await (await fetch(`${house.url}/health`)).json()).toMatchObject({ open: 0 })
  })

  it('are let go when the gateway closes', async () => {
    const upstream = await fakeUpstream(forever)
    const house = await openGateway({ backend: provider('up', { url: upstream.url, format: 'anthropic' }) })
    const response = await house.post('/v1/messages', ask('hi', { stream: true }))
    const ended = response.text().then(
      () => 'whole',
      () => 'broken off',
    )
    await house.close()
    expect(await ended).toBe('broken off')
    await until(() => upstream.counts.left === 1)
  })
})
