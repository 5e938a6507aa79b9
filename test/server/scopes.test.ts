/** Who may only look changes nothing, and who may answer only answers: by every name of the contract, in every way. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { connect, connectHttp } from 'nerve/client'
import { contract, isFeed, isSafe, type Name } from '../../src/host/contract/contract.ts'
import { SCOPES, type Scope } from '../../src/host/contract/scopes.ts'
import { pathOf } from '../../src/host/contract/wire.ts'
import type { Actor } from '../../src/journal/events.ts'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'

const NAMES = Object.keys(contract) as Name[]
const PATIENCE_MS = 10_000

const dir = mkdtempSync(join(tmpdir(), 'nerve-scopes-'))
let under: UnderTest
/** What can be asked, so that it would do something if it were allowed. */
let inputs: Readonly<Record<Name, object>>

beforeAll(async () => {
  under = await hostUnderTest({}, { dir })
  const near = await connect(under.socket)
  for (const id of ['never', 'lit'])
    await near.call('nodes.create', { session: 'shells', config: { kind: 'terminal', id } })
  await near.node('lit').run('printf "%s-%s\\n" printed once')
  const isPrinted = async () => expect(await near.node('lit').read({ tail: 5 })).toContain('printed-once')
  await vi.waitFor(isPrinted, { timeout: PATIENCE_MS })
  const spec = { nerve: 1, name: 'made', steps: { one: { node: 'shout' } } }
  await near.call('definitions.create', { spec })
  const done = await near.runs.start('busy', 1)
  await done.result()
  const waits = await near.runs.start('review', { file: 'a' })
  await waits.wait({ until: 'rest' })
  const [question] = await near.questions.list()
  inputs = inputsFor({ run: waits.id, ended: done.id, question: question?.id ?? '', text: await done.export(), spec })
  await near.close()
})
afterAll(async () => {
  await under.end()
  rmSync(dir, { recursive: true, force: true })
})

interface There {
  readonly run: string
  readonly ended: string
  readonly question: string
  readonly text: string
  readonly spec: object
}

function inputsFor({ run, ended, question, text, spec }: There): Readonly<Record<Name, object>> {
  const start = { definition: 'busy', input: 1 }
  const node = { node: 'lit' }
  const session = { session: 'shells' }
  return {
    'runs.start': start,
    'runs.stream': start,
    'runs.list': {},
    'runs.get': { run },
    'runs.journal': { run },
    'runs.wait': { run, until: 'rest', timeout: 50 },
    'runs.pause': { run },
    'runs.resume': { run, budget: { steps: 9 } },
    'runs.interrupt': { run },
    'runs.cancel': { run, reason: 'mine' },
    'runs.fork': { run: ended },
    'runs.plan': { run: ended },
    'runs.replay': { run: ended },
    'runs.export': { run: ended },
    'runs.import': { text: text.replaceAll(ended, `${ended.slice(0, -1)}0`) },
    'runs.remove': { olderThan: 0 },
    'questions.list': {},
    'questions.answer': { question, value: 'yes' },
    'signals.send': { run, name: 'note', value: 1 },
    events: { run: ended },
    usage: {},
    audit: {},
    'sessions.list': {},
    'sessions.get': session,
    'sessions.create': { session: 'mine' },
    'sessions.close': session,
    'sessions.remove': session,
    'nodes.list': {},
    'nodes.get': node,
    'nodes.kinds': {},
    'nodes.create': { session: 'shells', config: { kind: 'bash', id: 'mine', command: 'true' } },
    'nodes.remove': node,
    'nodes.execute': { node: 'shout', input: 'x' },
    'nodes.stream': { node: 'shout', input: 'x' },
    'nodes.watch': { node: 'never' },
    'nodes.run': { ...node, line: 'echo mine' },
    'nodes.write': { ...node, text: 'mine' },
    'nodes.read': { node: 'never', tail: 3 },
    'nodes.interrupt': node,
    'nodes.start': { node: 'never' },
    'nodes.reset': node,
    'nodes.stop': node,
    'nodes.fork': { ...node, as: 'mine' },
    'nodes.history': node,
    'definitions.list': {},
    'definitions.explain': { definition: 'busy' },
    'definitions.problems': {},
    'definitions.validate': { spec },
    'definitions.create': { spec: { ...spec, name: 'mine' } },
    'definitions.remove': { definition: 'made' },
    'gateway.status': {},
    health: {},
    shutdown: {},
  }
}

/** Everything that somebody could have changed. */
async function everything(): Promise<unknown> {
  const { host, service, tokens, stops } = under
  const ask = (name: string, input: object = {}) => service.call(name, input, { scope: 'control', local: true })
  const rows = await host.runs({ children: true })
  const nodes = (await ask('nodes.list')) as { name: string }[]
  return {
    runs: await Promise.all(rows.map(({ run }) => host.journal(run))),
    sessions: await ask('sessions.list'),
    nodes: await Promise.all(nodes.map(({ name }) => ask('nodes.get', { node: name }))),
    histories: await Promise.all(nodes.map(({ name }) => ask('nodes.history', { node: name }))),
    definitions: await ask('definitions.list'),
    tokens: tokens.list(),
    files: filesIn(join(dir, '.nerve')),
    stops: [...stops],
  }
}

/** But not the database, whose runs are above. */
function filesIn(folder: string): Record<string, string> {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !/nerve\.db|\.lock/.test(name),
  )
  const files = all.filter((name) => statSync(join(folder, name)).isFile())
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

/** Asks, and tells the code and the reason of what is refused. */
type Way = (token: string, name: Name, input: object) => Promise<string>

const ways: Readonly<Record<string, Way>> = {
  'HTTP, POST': async (token, name, input) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return told(await fetch(under.url + pathOf(name), { method: 'POST', headers, body: JSON.stringify(input) }))
  },
  'HTTP, GET': async (token, name, input) => {
    const query = new URLSearchParams(
      Object.entries(input).map(([key, value]): [string, string] => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    )
    const headers = { authorization: `Bearer ${token}` }
    return told(await fetch(`${under.url}${pathOf(name)}?${query.toString()}`, { headers }))
  },
  TCP: async (token, name, input) => {
    const socket = connectSocket(Number(new URL(under.url).port), '127.0.0.1')
    const lines: string[] = []
    let rest = ''
    socket.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString()).split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts)
    })
    const frame = isFeed(name) ? { id: 1, feed: name, input } : { id: 1, call: name, input }
    socket.write(`${JSON.stringify({ token })}\n${JSON.stringify(frame)}\n`)
    try {
      await expect.poll(() => lines.length, { timeout: PATIENCE_MS, interval: 5 }).toBeGreaterThan(1)
      return codeIn(lines[1] ?? '')
    } finally {
      socket.destroy()
    }
  },
  WebSocket: async (token, name, input) => {
    const socket = new WebSocket(`${under.url.replace('http', 'ws')}/v1/socket`)
    try {
      await once(socket, 'open')
      socket.send(JSON.stringify({ token }))
      await once(socket, 'message')
      socket.send(JSON.stringify(isFeed(name) ? { id: 1, feed: name, input } : { id: 1, call: name, input }))
      const [data] = (await once(socket, 'message')) as [Buffer]
      return codeIn(data.toString())
    } finally {
      socket.terminate()
    }
  },
}

async function told(response: Response): Promise<string> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return codeIn(await response.text())
  const first = await response.body?.getReader().read()
  return first?.done === true ? 'nothing' : 'done'
}

function codeIn(text: string): string {
  const { error } = JSON.parse(text) as { error?: { code: string; data?: { reason?: string } } }
  return error === undefined ? 'done' : `${error.code} ${error.data?.reason ?? ''}`.trim()
}

/** What somebody with this scope is told. */
function expected(scope: Scope, name: Name, way: string): string {
  const { scope: needed } = contract[name]
  if (way === 'HTTP, GET' && !isSafe(name)) return 'bad-input method'
  if (SCOPES.indexOf(scope) < SCOPES.indexOf(needed)) return 'not-allowed scope'
  // It is not started for them.
  if (name === 'nodes.read' || name === 'nodes.watch') return 'not-allowed scope'
  // A spec does not fit into an address.
  return way === 'HTTP, GET' && name === 'definitions.validate' ? 'bad-input' : 'done'
}

describe.each(Object.entries(ways))('over %s', (way, ask) => {
  it('who may only look changes nothing, by any name', async () => {
    const { secret } = under.tokens.create(`looks-${Object.keys(ways).indexOf(way)}`, 'read')
    const before = await everything()
    const answers: Record<string, string> = {}
    for (const name of NAMES) answers[name] = await ask(secret, name, inputs[name])
    expect(answers).toEqual(Object.fromEntries(NAMES.map((name) => [name, expected('read', name, way)])))
    expect(await everything()).toEqual(before)
  })
})

it('a terminal that runs is looked at, and what it printed stays for others', async () => {
  const { secret } = under.tokens.create('watches', 'read')
  const before = await everything()
  const client = await connectHttp(under.url, secret)
  expect(await client.node('lit').read({ tail: 5 })).toContain('printed-once')
  expect(await client.node('lit').read({ screen: true })).toContain('printed-once')
  await expect(client.node('lit').read()).rejects.toMatchObject({ code: 'not-allowed', data: { scope: 'control' } })
  const over = new AbortController()
  const watching = client.node('lit').watch({ signal: over.signal })[Symbol.asyncIterator]().next()
  expect(await everything()).toEqual(before)
  const near = await connect(under.socket)
  expect(await near.node('lit').read()).toContain('printed-once')
  await near.node('lit').run('printf "%s-%s\\n" seen it')
  expect((await watching).value).toMatchObject({ live: true })
  over.abort()
  await Promise.all([near.close(), client.close()])
})

it.each(['today', 'handshake'])('over MCP (%s) who may only look has no tool that changes anything', async (era) => {
  const { secret } = under.tokens.create(`models-${era}`, 'read')
  const before = await everything()
  const client = new McpClient(
    { name: 'test', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: era === 'today' ? 'auto' : 'legacy' },
    },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { answer: 'yes' } }))
  const requestInit = { headers: { authorization: `Bearer ${secret}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${under.url}/mcp`), { requestInit }))
  try {
    const names = new Set((await client.listTools()).tools.map(({ name }) => name))
    for (const name of NAMES) {
      const tool = name.replaceAll('.', '_')
      if (contract[name].scope !== 'read') expect(names).not.toContain(tool)
      await client.callTool({ name: tool, arguments: inputs[name] as Record<string, unknown> }).catch(String)
    }
    for (const name of ['busy', 'review', 'made', 'shout'])
      await client.callTool({ name, arguments: { input: 1 } }).catch(String)
    // A state that says that it has asked, with an answer to what it never asked.
    const { question, run } = { ...inputs['questions.answer'], ...inputs['runs.get'] } as {
      question: string
      run: string
    }
    const forged = {
      name: 'runs_wait',
      arguments: { run, timeout: 10 },
      requestState: JSON.stringify({ run, passed: [], round: 1, told: 0 }),
      inputResponses: { [question]: { action: 'accept', content: { answer: 'yes' } } },
    }
    await client.callTool(forged as never).catch(String)
  } finally {
    await client.close()
  }
  expect(await everything()).toEqual(before)
})

it('who may answer answers and sends signals, and changes nothing else', async () => {
  const { secret } = under.tokens.create('answers', 'answer')
  const before = (await everything()) as Record<string, unknown>
  const answers: Record<string, string> = {}
  const last: readonly Name[] = ['questions.answer', 'signals.send']
  const others = NAMES.filter((name) => !last.includes(name))
  for (const name of others) answers[name] = await ways['TCP']!(secret, name, inputs[name])
  expect(answers).toEqual(Object.fromEntries(others.map((name) => [name, expected('answer', name, 'TCP')])))
  expect(await everything()).toEqual(before)
  for (const name of last) expect(await ways['TCP']!(secret, name, inputs[name])).toBe('done')
  const { run } = inputs['runs.get'] as { run: string }
  await expect.poll(async () => (await under.host.run(run)).status).toBe('completed')
  const { runs: _runs, ...after } = (await everything()) as Record<string, unknown>
  expect(after).toEqual({ ...before, runs: undefined })
  const done = (await under.host.journal(run)).flatMap(({ event }) =>
    'by' in event ? [`${event.type} ${event.by}`] : [],
  )
  expect(done.slice(-2)).toEqual(['question-answered answers', 'signal-received answers'])
})

it('nobody says for themselves who they are: by and via are no part of anything that can be asked', async () => {
  const before = await everything()
  const named = { by: 'somebody', via: 'cli' }
  for (const name of NAMES) {
    const refused = contract[name].kind === 'query' && isSafe(name) ? 'bad-input' : /^(bad-input|not-allowed local)$/
    expect(await ways['HTTP, POST']!(under.token, name, { ...inputs[name], ...named })).toMatch(refused)
  }
  expect(await everything()).toEqual(before)
})

it('the trail says by which token and in which way a run was started', async () => {
  const { secret } = under.tokens.create('phone', 'control')
  const start = { definition: 'busy', input: 1 }
  const expected: string[] = []
  for (const [way, via] of [
    ['HTTP, POST', 'http'],
    ['TCP', 'tcp'],
    ['WebSocket', 'websocket'],
  ] as const) {
    expect(await ways[way]!(secret, 'runs.start', start)).toBe('done')
    expected.push(`phone ${via}`)
  }
  const near = await connect(under.socket)
  const named = await connect(under.socket, { via: 'my-tool' })
  for (const client of [near, named]) await client.runs.start('busy', 1)
  await Promise.all([near.close(), named.close()])
  const user = userInfo().username
  const rows = (await under.service.call('audit', { limit: 5 }, { scope: 'read', local: true })) as Actor[]
  const told = rows.map(({ by, via }) => `${by} ${via}`)
  expect(told.toSorted()).toEqual([...expected, `${user} socket`, `${user} my-tool`].toSorted())
  // On a port, nobody gives the way another name.
  await expect(connect(under.url.replace('http', 'tcp'), { token: secret, via: 'cli' })).rejects.toMatchObject({
    code: 'bad-input',
  })
})

it('is asked for everything', () => {
  expect(Object.keys(inputs).toSorted()).toEqual(NAMES.toSorted())
  expect(under.problems).toEqual([])
})
