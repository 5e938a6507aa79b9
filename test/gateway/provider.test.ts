/** Providers: what passes, what is translated, what is tried again, and what is never told to either side. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { provider, type ProviderOptions } from 'nerve/gateway'
import { SimulatedClock } from 'nerve/testing'
import { timePasses, until } from '../behaviour/stage.ts'
import { ask, json, openGateway, readStream, type House } from './house.ts'
import {
  CLOSING,
  ENV,
  KEY,
  MESSAGE,
  OPENING,
  delta,
  fakeUpstream,
  sendJson,
  sendStream,
  type Behaviour,
  type FakeUpstream,
} from './upstream.ts'

async function open(
  behave: Behaviour,
  options: ProviderOptions = {},
): Promise<{ gateway: House; upstream: FakeUpstream; clock: SimulatedClock }> {
  const upstream = await fakeUpstream(behave)
  const clock = new SimulatedClock()
  const backend = provider('test', {
    url: upstream.url,
    format: 'anthropic',
    key: 'UPSTREAM_KEY',
    env: ENV,
    clock,
    random: () => 0.5,
    ...options,
  })
  return { upstream, clock, gateway: await openGateway({ backend, clock }) }
}

describe('a call in the format of the provider', () => {
  it('passes byte for byte, with the key of the environment and without the token', async () => {
    const strange = { ...MESSAGE, something_new: { of: ['the', 'provider'] } }
    const { gateway, upstream } = await open((response) =>
      sendJson(response, strange, 200, { 'request-id': 'req_1', 'set-cookie': 'a=b' }),
    )
    const body = `{"model":"claude-opus-4-5",  "max_tokens":10,"messages":[{"role":"user","content":"hi"}], "unknown_field": 1}`
    const response = await gateway.post('/v1/messages?beta=true', body, {
      headers: { 'anthropic-beta': 'x-1', cookie: 'c=d' },
    })
    expect(await response.json()).toEqual(strange)
    expect(response.headers.get('request-id')).toBe('req_1')
    expect(response.headers.get('set-cookie')).toBeNull()
    const [sent] = upstream.received
    expect(sent?.body).toBe(body)
    expect(sent?.headers).toMatchObject({
      'x-api-key': KEY,
      'anthropic-beta': 'x-1',
      'anthropic-version': '2023-06-01',
    })
    expect(JSON.stringify(sent)).not.toContain(gateway.key)
    expect(sent?.headers['cookie']).toBeUndefined()
    expect(gateway.log.recent[0]).toMatchObject({
      usage: { input: 1_000, output: 200 },
      usd: 0.01,
      status: 200,
      tries: 1,
    })
  })

  it('streams byte for byte, and its usage is read on the way', async () => {
    const sent = [OPENING, delta('on'), delta('e ☂'), CLOSING].join('')
    const { gateway } = await open(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      // In pieces that end in the middle of frames and of characters.
      const bytes = Buffer.from(sent)
      for (let at = 0; at < bytes.length; at += 37) {
        if (!response.write(bytes.subarray(at, at + 37))) await once(response, 'drain')
        await new Promise((resolve) => setImmediate(resolve))
      }
      response.end()
    })
    const response = await gateway.post('/v1/messages', ask('hi', { stream: true, model: 'claude-opus-4-5-20251101' }))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(await response.text()).toBe(sent)
    await until(() => gateway.log.recent.length > 0)
    expect(gateway.log.recent[0]).toMatchObject({
      usage: { input: 1_000, output: 200 },
      usd: 0.01,
      reply: [{ type: 'text', text: 'one ☂' }],
    })
  })

  it('asks for another model when told to, and costs what that one costs', async () => {
    const { gateway, upstream } = await open((response) => sendJson(response, MESSAGE), { model: 'claude-haiku-4-5' })
    await gateway.post('/v1/messages', ask('hi', { model: 'whatever' }))
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual(ask('hi', { model: 'claude-haiku-4-5' }))
    expect(gateway.log.recent[0]).toMatchObject({ model: 'whatever', askedModel: 'claude-haiku-4-5', usd: 0.002 })
  })

  it('asks a stream of chunks for its usage, and keeps it from a client that did not ask', async () => {
    const chunk = (more: object): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...more })}\n\n`
    const told = chunk({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }], usage: null })
    const usage = chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 } })
    const { gateway, upstream } = await open(
      (response) =>
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`${told}${usage}data: [DONE]\n\n`) as never,
      { format: 'openai-chat' },
    )
    const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true }
    const plain = await gateway.post('/v1/chat/completions', body)
    expect(await plain.text()).toBe(`${told}data: [DONE]\n\n`)
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({ ...body, stream_options: { include_usage: true } })
    expect(upstream.received[0]?.headers['authorization']).toBe(`Bearer ${KEY}`)
    const asking = await gateway.post('/v1/chat/completions', { ...body, stream_options: { include_usage: true } })
    expect(await asking.text()).toBe(`${told}${usage}data: [DONE]\n\n`)
    await until(() => gateway.log.recent.length === 2)
    expect(gateway.log.recent.map(({ usage: used, usd }) => [used, usd])).toEqual([
      [{ input: 5, output: 6 }, null],
      [{ input: 5, output: 6 }, null],
    ])
  })
})

describe('a call in another format', () => {
  it('is translated there and back, at once and as a stream', async () => {
    const { gateway, upstream } = await open((response, { body }) =>
      (JSON.parse(body) as { stream?: boolean }).stream === true
        ? sendStream(response, 'on', 'e')
        : sendJson(response, MESSAGE),
    )
    const body = {
      model: 'claude-opus-4-5',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      max_tokens: 9,
    }
    const whole = await json(gateway.post('/v1/chat/completions', body))
    expect(whole.choices[0].message.content).toBe('Hi.')
    expect(whole.usage).toMatchObject({ prompt_tokens: 1_000, completion_tokens: 200 })
    expect(upstream.received[0]?.url).toBe('/v1/messages')
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toMatchObject({ max_tokens: 9, messages: [{ role: 'user' }] })
    const streamed = await readStream(await gateway.post('/v1/chat/completions', { ...body, stream: true }))
    expect(streamed.text).toBe('one')
    expect(gateway.log.recent.map(({ usd }) => usd)).toEqual([0.01, 0.01])
  })

  it('fails in its own words', async () => {
    const error = { type: 'error', error: { type: 'not_found_error', message: 'model: nope' } }
    const { gateway } = await open((response) => sendJson(response, error, 404))
    const response = await gateway.post('/v1/chat/completions', {
      model: 'nope',
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { message: 'model: nope' } })
  })
})

describe('failures', () => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }
  const limited = { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }

  it('that may pass are tried again, after the time that the provider names', async () => {
    const { gateway, clock, upstream } = await open((response, _, number) => {
      if (number === 1) sendJson(response, limited, 429, { 'retry-after': '7' })
      else if (number === 2) response.destroy()
      else sendJson(response, MESSAGE)
    })
    const start = clock.now()
    const response = await timePasses(clock, gateway.post('/v1/messages', ask('hi')))
    expect(response.status).toBe(200)
    expect(upstream.received).toHaveLength(3)
    expect(clock.now() - start).toBe(7_000 + 1_000)
    expect(gateway.log.recent[0]).toMatchObject({ tries: 3, status: 200 })
  })

  it('that last too long, or cannot pass, are told at once, as the provider said them', async () => {
    const { gateway, upstream } = await open((response, _, number) =>
      number === 1
        ? sendJson(response, limited, 429, { 'retry-after': '3600' })
        : sendJson(response, { odd: `key ${KEY}` }, 401),
    )
    const response = await gateway.post('/v1/messages', ask('hi'))
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3600'])
    expect(await response.json()).toEqual(limited)
    const wrong = await gateway.post('/v1/messages', ask('hi', { model: 'another' }))
    expect(await wrong.text()).toBe('{"odd":"key [redacted]"}')
    expect(upstream.received).toHaveLength(2)
    expect(JSON.stringify(gateway.log.recent)).not.toContain(KEY)
  })

  it('in a row open the breaker: nobody is asked until it has cooled down, then one', async () => {
    const healthy = { now: false }
    const { gateway, clock, upstream } = await open(
      (response) => (healthy.now ? sendJson(response, MESSAGE) : sendJson(response, overloaded, 529)),
      { retries: 0, breaker: { failures: 3, cooldown: '30s' } },
    )
    const statuses = async (count: number): Promise<number[]> =>
      (await Promise.all(Array.from({ length: count }, () => gateway.post('/v1/messages', ask('hi'))))).map(
        ({ status }) => status,
      )
    await statuses(3)
    expect(upstream.received).toHaveLength(3)
    const [refused] = await Promise.all([
      gateway.post('/v1/messages', ask('hi')),
      ...Array.from({ length: 20 }, () => statuses(1)),
    ])
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([529, '30'])
    expect(await refused.text()).toContain('so this one was not made')
    expect(upstream.received).toHaveLength(3)
    clock.advance(30_000)
    healthy.now = true
    expect((await statuses(5)).toSorted((one, two) => one - two)).toEqual([200, 529, 529, 529, 529])
    expect(await statuses(2)).toEqual([200, 200])
    expect(upstream.received).toHaveLength(6)
  })

  it('with a time when the limit ends keep everybody away until then, for this model', async () => {
    const { gateway, clock, upstream } = await open((response, { body }) =>
      body.includes('spent')
        ? sendJson(response, limited, 429, { 'retry-after': '3600' })
        : sendJson(response, MESSAGE),
    )
    await gateway.post('/v1/messages', ask('hi', { model: 'spent' }))
    clock.advance(600_000)
    const second = await gateway.post('/v1/messages', ask('hi', { model: 'spent' }))
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '3000'])
    expect(upstream.received).toHaveLength(1)
    expect((await gateway.post('/v1/messages', ask('hi', { model: 'other' }))).status).toBe(200)
  })

  it('of the network name it, and never hang', async () => {
    const { gateway, clock, upstream } = await open(() => {}, { retries: 0, timeouts: { firstByte: '1m' } })
    const answer = gateway.post('/v1/messages', ask('hi'))
    await until(() => upstream.received.length === 1)
    const response = await timePasses(clock, answer)
    expect(response.status).toBe(504)
    expect(await response.text()).toContain('did not answer within 60 s')
    const backend = provider('gone', { url: 'http://127.0.0.1:1', retries: 0 })
    const gone = await (
      await openGateway({ backend })
    ).post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    expect(gone.status).toBe(502)
    expect(await gone.text()).toContain('127.0.0.1:1')
  })

  it('in the middle of a stream break it off, so that nobody takes it for a whole one', async () => {
    const { gateway, clock, upstream } = await open(
      (response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(OPENING + delta('half')),
      { timeouts: { idle: '1m' } },
    )
    const response = await gateway.post('/v1/messages', ask('hi', { stream: true, model: 'claude-opus-4-5' }))
    const text = response.text().then(String, (error: Error) => error)
    await until(() => upstream.counts.open === 1 && clock.next !== undefined)
    expect(await timePasses(clock, text)).toBeInstanceOf(Error)
    await until(() => gateway.log.recent.length === 1)
    // The input was told, the output was not.
    expect(gateway.log.recent[0]).toMatchObject({
      failure: { kind: 'timeout' },
      usage: { input: 1_000 },
      estimated: true,
    })
    const translated = await gateway.post('/v1/chat/completions', {
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
    })
    expect(await timePasses(clock, translated.text())).toContain('did not go on within 60 s')
  })
})

describe('options', () => {
  it('that are wrong are refused, with what to do', () => {
    expect(() => provider('antropic')).toThrow(/no provider 'antropic'\. Did you mean 'anthropic'/)
    expect(() => provider('anthropic', { env: {} })).toThrow(/ANTHROPIC_API_KEY is not set/)
    expect(() => provider('x', { url: 'ftp://models' })).toThrow(/no address/)
    expect(() => provider('gemini', { format: 'anthropic', env: { GEMINI_API_KEY: 'x' } })).toThrow(
      /does not speak anthropic/,
    )
  })
})
