/** Who may come in at /mcp, and how long what is kept for them lives. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { connect as connectSocket } from 'node:net'
import { workflow } from 'nerve'
import { expect, it, onTestFinished } from 'vitest'
import { dataOf, officialClient, surfaceUnderTest, tool, type Surface } from './surface-under-test.ts'

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }

interface Raw {
  readonly token?: string | undefined
  readonly session?: string | null
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

function raw({ url, tokens }: Surface, body: unknown, options: Raw = {}): Promise<Response> {
  const { token = tokens.list()[0]?.secret, session, method = 'POST', headers = {} } = options
  return fetch(url, {
    method,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(typeof session === 'string' ? { 'mcp-session-id': session } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

async function begin(surface: Surface, token?: string): Promise<string> {
  const response = await raw(surface, INITIALIZE, { token })
  await response.text()
  const session = response.headers.get('mcp-session-id')
  expect(response.status).toBe(200)
  return session ?? ''
}

it('has the checks of everything else: token, page, host, size and type', async () => {
  const surface = await surfaceUnderTest({}, { server: { maxBody: 10_000 } })
  const status = async (body: unknown, options: Raw): Promise<number> => (await raw(surface, body, options)).status
  expect(await status(LIST, { token: '' })).toBe(401)
  expect(await status(LIST, { token: 'nrv_wrong' })).toBe(401)
  expect(await status(LIST, { headers: { origin: 'https://evil.example' } })).toBe(403)
  expect(await status(LIST, { headers: { 'content-type': 'text/plain' } })).toBe(415)
  expect(await status('{', {})).toBe(400)
  expect(await status({ ...LIST, pad: 'x'.repeat(20_000) }, {})).toBe(413)
  expect(surface.problems).toEqual([])
  // Nothing was loaded or made for any of them.
  expect(surface.open()).toBe(0)
})

it('a session belongs to the token that began it', async () => {
  const surface = await surfaceUnderTest()
  const session = await begin(surface)
  const other = surface.tokens.create('phone', 'control').secret
  expect((await raw(surface, LIST, { session })).status).toBe(200)
  expect((await raw(surface, LIST, { session, token: other })).status).toBe(404)
  expect((await raw(surface, undefined, { session, token: other, method: 'DELETE' })).status).toBe(404)
  expect((await raw(surface, LIST, { session: 'nothing' })).status).toBe(404)
  expect((await raw(surface, LIST)).status).toBe(400)
  surface.tokens.revoke('default')
  expect((await raw(surface, LIST, { session, token: 'nrv_old' })).status).toBe(401)
})

it('a session ends when its client says so', async () => {
  const surface = await surfaceUnderTest()
  const session = await begin(surface)
  expect(surface.open()).toBe(1)
  expect((await raw(surface, undefined, { session, method: 'DELETE' })).status).toBe(200)
  expect(surface.open()).toBe(0)
  expect((await raw(surface, LIST, { session })).status).toBe(404)
})

it('a session of which nothing is heard ends after a while, and one that is listened to does not', async () => {
  const surface = await surfaceUnderTest({ idle: 50 })
  const leaving = new AbortController()
  const silent = await begin(surface)
  const listening = await begin(surface)
  const token = surface.tokens.list()[0]?.secret ?? ''
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'mcp-session-id': listening }
  const stream = await fetch(surface.url, { headers, signal: leaving.signal })
  expect(stream.status).toBe(200)
  await expect.poll(() => surface.open()).toBe(1)
  expect((await raw(surface, LIST, { session: silent })).status).toBe(404)
  expect((await raw(surface, LIST, { session: listening })).status).toBe(200)
  // The client goes without a word.
  leaving.abort()
  await expect.poll(() => surface.open()).toBe(0)
})

it('a session whose handshake is refused is not kept, and there are not too many', async () => {
  const surface = await surfaceUnderTest({ maxSessions: 2 })
  expect((await raw(surface, INITIALIZE, { headers: { accept: 'text/html' } })).status).toBe(406)
  await expect.poll(() => surface.open()).toBe(0)
  await begin(surface)
  await begin(surface)
  expect((await raw(surface, INITIALIZE)).status).toBe(429)
  // Those of others are not taken from them.
  await begin(surface, surface.tokens.create('phone', 'read').secret)
})

it('there are not too many sessions either when many begin at once', async () => {
  const surface = await surfaceUnderTest({ maxSessions: 2, workflows: 'all' })
  const statuses = async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => raw(surface, INITIALIZE)))
    await Promise.all(answers.map((answer) => answer.text()))
    return answers.map(({ status }) => status).toSorted((a, b) => a - b)
  }
  expect(await statuses()).toEqual([200, 200, 429, 429, 429, 429, 429, 429])
  expect(surface.open()).toBe(2)
  expect(await statuses()).toEqual(Array.from({ length: 8 }, () => 429))
})

it('who asks and does not read is not answered any more', async () => {
  const limits = { maxUnread: 1_000_000, patience: 1_000, rate: { burst: 100_000, perSecond: 100_000 } }
  const definitions = [workflow('vast', async () => 'x'.repeat(300_000))]
  const surface = await surfaceUnderTest({}, { server: limits, host: { store: 'memory', definitions } })
  const handle = await surface.host.start(definitions[0] as never)
  await handle.result()
  const session = await begin(surface)
  const { port, host, pathname } = new URL(surface.url)
  const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'runs_journal', arguments: { run: handle.id } } }
  const token = surface.tokens.list()[0]?.secret ?? ''
  const ask = (id: number): string => {
    const body = JSON.stringify({ ...call, id })
    const headers = {
      host,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'mcp-session-id': session,
    }
    const more = { accept: 'application/json, text/event-stream', 'content-length': body.length }
    const lines = Object.entries({ ...headers, ...more }).map(([name, value]) => `${name}: ${value}\r\n`)
    return `POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
  }
  let id = 10
  const sockets = Array.from({ length: 30 }, () => {
    const socket = connectSocket(Number(port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined).pause()
    return socket
  })
  const asking = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(ask((id += 1)))
  }, 10)
  onTestFinished(() => clearInterval(asking))
  const again = async (): Promise<number> => (await raw(surface, LIST, { session })).status
  await expect.poll(again, { timeout: 15_000 }).toBe(429)
  clearInterval(asking)
  await expect.poll(again, { timeout: 15_000 }).toBe(200)
  expect(surface.problems).toEqual([])
})

it('requests without a session leave nothing behind, also when the client goes in the middle', async () => {
  const surface = await surfaceUnderTest()
  const { client } = await surface.connect({ era: 'today' })
  const { run } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
  expect(surface.open()).toBe(0)
  const leaving = new AbortController()
  const wait = client.callTool(
    { name: 'runs_wait', arguments: { run, until: 'end', timeout: 600_000 } },
    { signal: leaving.signal },
  )
  await expect.poll(() => surface.open()).toBe(1)
  leaving.abort()
  await expect(wait).rejects.toThrow(/abort/i)
  await expect.poll(() => surface.open()).toBe(0)
  expect((await surface.host.run(run)).status).toBe('waiting')
  expect(surface.problems).toEqual([])
})

it('a token that is taken back ends what is being read', async () => {
  const surface = await surfaceUnderTest()
  const { secret } = surface.tokens.create('phone', 'control')
  const { client } = await surface.connect({ era: 'today', token: secret })
  const { run } = dataOf(await tool(client, 'runs_start', { definition: 'waiting' }))
  const heard: unknown[] = []
  void client
    .callTool(
      { name: 'runs_wait', arguments: { run, until: 'end', timeout: 600_000 } },
      { onprogress: (progress) => void heard.push(progress) },
    )
    .catch(String)
  const handle = await surface.host.handle(run)
  const nudging = setInterval(() => void handle.signal('other'), 50)
  try {
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    surface.tokens.revoke('phone')
    await expect.poll(() => surface.open(), { timeout: 5_000 }).toBe(0)
  } finally {
    clearInterval(nudging)
  }
})

it('closes with the server', async () => {
  const surface = await surfaceUnderTest()
  await begin(surface)
  const { client } = officialClient({ era: 'handshake' })
  const token = surface.tokens.list()[0]?.secret
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(surface.url), { requestInit }))
  expect(surface.open()).toBe(2)
  await surface.end()
  expect(surface.open()).toBe(0)
})
