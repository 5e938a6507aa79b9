import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { NerveError, createHost, workflow, type Schema } from 'nerve'
import { SimulatedClock } from 'nerve/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { timePasses } from '../../test/behaviour/stage.ts'
import { fakeCall } from '../../test/behaviour/shell-stage.ts'
import { retryAfter } from './http-response.ts'
import { http, type HttpOptions } from './http.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A server on loopback; closed with the test. */
async function serve(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => answer(request, response, body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const json = (response: ServerResponse, value: unknown): void =>
  void response.setHeader('content-type', 'application/json; charset=utf-8').end(JSON.stringify(value))

async function failure(url: string, options: HttpOptions<string> = {}): Promise<NerveError> {
  const { url: _none, ...rest } = options
  try {
    await http('ask', rest).execute(url, fakeCall())
  } catch (error) {
    return error as NerveError
  }
  throw new Error('it did not fail')
}

describe('a request', () => {
  it('returns status, headers and the parsed body', async () => {
    const url = await serve((request, response) => {
      response.setHeader('x-kind', 'moss').setHeader('set-cookie', 'session=top-secret')
      json(response, { asked: request.url, method: request.method })
    })
    const result = await http('get').execute(`${url}/a?b=c`, fakeCall())
    expect(result).toMatchObject({ status: 200, body: { asked: '/a?b=c', method: 'GET' } })
    expect(result.headers).toMatchObject({ 'x-kind': 'moss' })
    expect(JSON.stringify(result)).not.toContain('top-secret')
  })

  it('sends JSON, text and bytes, with a key that is the same for every attempt', async () => {
    const url = await serve((request, response, body) => {
      json(response, [request.method, request.headers['content-type'], request.headers['idempotency-key'], body])
    })
    const post = http('post', { url, method: 'post', body: (input: unknown) => input })
    const sent = async (input: unknown): Promise<unknown> => (await post.execute(input, fakeCall())).body
    expect(await sent({ a: 1 })).toEqual(['POST', 'application/json', 'run%2Fstep', '{"a":1}'])
    expect(await sent('plain')).toEqual(['POST', 'text/plain;charset=UTF-8', 'run%2Fstep', 'plain'])
    expect(await sent(Buffer.from('bytes'))).toEqual(['POST', null, 'run%2Fstep', 'bytes'])
  })

  it('reads text, bytes, other alphabets and nothing', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/latin')
        response.setHeader('content-type', 'text/plain; charset=iso-8859-1').end(Buffer.from([0xe9]))
      else if (request.url === '/empty') response.setHeader('content-type', 'application/json').end()
      else if (request.url === '/odd') response.setHeader('content-type', 'text/plain; charset=klingon').end('é')
      else response.setHeader('content-type', 'application/vnd.api+json').end('{"a":1}')
    })
    const body = async (path: string, options: HttpOptions<string> & { url?: undefined } = {}): Promise<unknown> =>
      (await http('read', options).execute(url + path, fakeCall())).body
    expect(await body('/latin')).toBe('é')
    expect(await body('/odd')).toBe('é')
    expect(await body('/empty')).toBeNull()
    expect(await body('/api')).toEqual({ a: 1 })
    expect(await body('/api', { parse: 'text' })).toBe('{"a":1}')
    expect(await body('/api', { parse: 'bytes' })).toEqual(new Uint8Array(Buffer.from('{"a":1}')))
  })

  it('checks the body with a schema', async () => {
    const url = await serve((_, response) => json(response, { count: '3' }))
    const count: Schema<number> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => {
          const found = Number((value as { count?: unknown }).count)
          return found > 2 ? { value: found } : { issues: [{ message: 'too few', path: ['count'] }] }
        },
      },
    }
    expect((await http('count', { url, schema: count }).execute(undefined, fakeCall())).body).toBe(3)
    const few = await serve((_, response) => json(response, { count: '1' }))
    await expect(http('few', { url: few, schema: count }).execute(undefined, fakeCall())).rejects.toMatchObject({
      code: 'bad-output',
      message: "The answer to http 'few' does not fit its schema: count: too few",
    })
  })

  it('takes a name and a password from the address', async () => {
    const url = await serve((request, response) => json(response, request.headers.authorization))
    const { body } = await http('user').execute(url.replace('//', '//ada:pa%20ss@'), fakeCall())
    expect(body).toBe(`Basic ${Buffer.from('ada:pa ss').toString('base64')}`)
  })
})

describe('a request that fails', () => {
  it('is tried again only when that may help', async () => {
    const url = await serve((request, response) => {
      response.statusCode = Number(request.url?.slice(1))
      response.end('because')
    })
    const hints = await Promise.all(
      [400, 404, 408, 425, 429, 500, 503].map(async (status) => {
        const { code, retry, data } = await failure(`${url}/${status}`)
        return [code, retry, data['status'], data['body']]
      }),
    )
    expect(hints).toEqual([
      ['http-failed', 'never', 400, 'because'],
      ['http-failed', 'never', 404, 'because'],
      ['http-failed', 'later', 408, 'because'],
      ['http-failed', 'later', 425, 'because'],
      ['http-failed', 'later', 429, 'because'],
      ['http-failed', 'later', 500, 'because'],
      ['http-failed', 'later', 503, 'because'],
    ])
    expect((await http('ok', { okStatus: [404] }).execute(`${url}/404`, fakeCall())).status).toBe(404)
    expect((await http('ok', { okStatus: (status) => status < 600 }).execute(`${url}/500`, fakeCall())).body).toBe(
      'because',
    )
  })

  it('waits for as long as the server says', async () => {
    const url = await serve((_, response) => response.writeHead(429, { 'retry-after': '120' }).end())
    expect(await failure(url)).toMatchObject({
      code: 'quota',
      retry: 'pause',
      data: { status: 429, retryAfter: 120_000 },
    })
    const now = Date.parse('2026-01-01T00:00:00Z')
    expect(retryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000)
    expect(retryAfter('Thu, 01 Jan 2015 00:00:00 GMT', now)).toBe(1_000)
    expect(retryAfter('0', now)).toBe(1_000)
    expect(retryAfter('tomorrow', now)).toBeUndefined()
    expect(retryAfter(null, now)).toBeUndefined()
  })

  it('parks its step until then, and costs no attempt', async () => {
    let asked = 0
    const url = await serve((_, response) => {
      asked += 1
      if (asked === 1) response.writeHead(503, { 'retry-after': '3600' }).end()
      else json(response, 'here')
    })
    const clock = new SimulatedClock()
    const host = await createHost({ store: 'memory', clock })
    onTestFinished(() => host.close())
    const began = clock.now()
    const run = await host.start(workflow('parked', (ctx) => ctx.run(http('ask', { url }))))
    expect(await timePasses(clock, run.result())).toMatchObject({ body: 'here' })
    expect(clock.now() - began).toBeGreaterThanOrEqual(3_600_000)
    expect(asked).toBe(2)
  })

  it('shows nobody what authorized it', async () => {
    const url = await serve((request, response) => {
      response.statusCode = 401
      response.end(`bad: ${request.headers.authorization} ${String(request.headers['x-api-key'])} ${request.url}`)
    })
    const headers = { authorization: 'Bearer sk-very-secret', 'x-api-key': 'key-secret' }
    const error = await failure(`${url}/me?access_token=tok-secret&q=1`, { headers })
    expect(JSON.stringify([error.message, error.data])).not.toMatch(/very-secret|key-secret|tok-secret/)
    expect(error.data['body']).toContain('[redacted]')
    const bad = await failure(url, { headers: { authorization: 'line\nbreak-secret' } })
    expect(bad.message).toContain('"authorization"')
    expect(`${bad.message} ${String(bad.cause)}`).not.toContain('break-secret')
  })

  it('says so when nobody answers, in time or at all', async () => {
    const url = await serve(() => undefined)
    expect(await failure(url, { timeout: 50 })).toMatchObject({ code: 'timeout', retry: 'later' })
    expect(await failure('http://127.0.0.1:1')).toMatchObject({
      code: 'http-failed',
      retry: 'later',
      data: { reason: 'network' },
    })
    const cut = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('part')
      response.socket?.destroy()
    })
    expect(await failure(cut)).toMatchObject({ code: 'http-failed', data: { reason: 'network' } })
  })

  it('reads no more than it may, whatever was promised', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/told') response.writeHead(200, { 'content-length': '5000' }).end('x'.repeat(5_000))
      else if (request.url === '/packed')
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(1_000_000)))
      else {
        const more = (): void => void response.write('x'.repeat(1_000), () => !response.destroyed && setImmediate(more))
        more()
      }
    })
    for (const path of ['/told', '/packed', '/endless'])
      expect(await failure(url + path, { maxBytes: 4_000 })).toMatchObject({
        code: 'http-failed',
        retry: 'never',
        data: { reason: 'size', maxBytes: 4_000 },
      })
  })

  it('does not take for JSON what is none', async () => {
    const url = await serve((_, response) => response.setHeader('content-type', 'application/json').end('<html>'))
    expect(await failure(url)).toMatchObject({ code: 'http-failed', retry: 'later', data: { reason: 'json' } })
  })

  it('stops with its step, and when its node is interrupted', async () => {
    const asked = Promise.withResolvers<void>()
    const url = await serve(() => asked.resolve())
    const stop = new AbortController()
    const node = http('wait', { url })
    const one = Promise.resolve(node.execute(undefined, fakeCall(stop.signal)))
    await asked.promise
    stop.abort(new Error('enough'))
    await expect(one).rejects.toThrow('enough')
    const two = Promise.resolve(node.execute(undefined, fakeCall()))
    await node.interrupt?.()
    await expect(two).rejects.toMatchObject({ code: 'interrupted' })
  })
})

describe('an http node', () => {
  it('says what it is, and when it must not be repeated', () => {
    const node = http('get', { url: 'http://127.0.0.1', description: 'gets' })
    expect(node.info()).toMatchObject({ id: 'get', kind: 'http', persistent: false, abilities: ['interrupt', 'fork'] })
    expect(node.fork?.('copy').info()).toMatchObject({ id: 'copy', description: 'gets', forkedFrom: 'get' })
    const effects = ['GET', 'HEAD', 'PUT', 'DELETE', 'POST', 'PATCH'].map(
      (method) => http('x', { method }).policy?.effect,
    )
    expect(effects).toEqual(['repeatable', 'repeatable', 'repeatable', 'repeatable', 'once', 'once'])
  })

  it('refuses what is wrong', async () => {
    for (const options of [
      { methd: 'GET' },
      { method: 'G T' },
      { body: 'x' },
      { timeout: 'x' },
      { maxBytes: -1 },
      { parse: 'xml' },
      { okStatus: 200 },
    ])
      expect(() => http('wrong', options as HttpOptions<string> & { url?: undefined })).toThrow(NerveError)
    for (const url of ['', 'file:///etc/passwd', 'data:text/plain,x', 'nowhere', undefined])
      expect(await failure(url as string)).toMatchObject({ code: 'bad-input' })
  })
})
