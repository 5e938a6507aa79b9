/** Where in which file something failed is for whoever can read the journal anyway: callers with a token are not told. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { connect, connectHttp, type Client } from 'nerve/client'
import type { Name } from '../../src/host/contract/contract.ts'
import { dataOf, officialClient } from '../mcp/surface-under-test.ts'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'
import { WAYS } from './ways.ts'

/** A line of a stack, as JSON. */
const TRACE = /\\n\s+at [^"]+:\d+:\d+/
const WHAT = 'no luck'

const dir = mkdtempSync(join(tmpdir(), 'nerve-stacks-'))
let under: UnderTest
let run: string
beforeAll(async () => {
  under = await hostUnderTest({}, { dir })
  const broken = (): Promise<never> => Promise.reject(new Error(WHAT, { cause: new Error('below') }))
  await under.sessions.create({
    name: 'broken',
    nodes: [defineNode('clumsy', broken), defineNode('ill', () => 1, { persistent: true, start: broken })],
  })
  const client = await connect(under.socket)
  const failed = await client.runs.start('failing')
  await failed.wait()
  run = failed.id
  await Promise.allSettled([client.node('clumsy').execute(), client.node('ill').start()])
  await client.close()
})
afterAll(async () => {
  await under.end()
  rmSync(dir, { recursive: true, force: true })
})

/** What can be asked, and is answered with an error that is data. */
const asked: { readonly [One in Name]?: (client: Client) => Promise<unknown> } = {
  'runs.wait': (client) => client.call('runs.wait', { run }),
  'runs.journal': (client) => client.call('runs.journal', { run }),
  events: (client) => all(client.run(run).events()),
  'runs.stream': (client) => all(client.runs.stream('failing')),
  'nodes.stream': (client) => all(client.node('clumsy').stream()),
  'nodes.get': (client) => client.call('nodes.get', { node: 'ill' }),
  'nodes.history': (client) => client.call('nodes.history', { node: 'clumsy' }),
}

describe.each(Object.entries(WAYS))('over %s', (_way, { open, near }) => {
  let client: Client
  beforeAll(async () => {
    client = await open(under)
  })
  afterAll(() => client.close())

  it.each(Object.entries(asked))('%s', async (_name, ask) => {
    const said = textOf(await ask(client))
    expect(said).toContain(WHAT)
    expect(TRACE.test(said)).toBe(near)
  })

  it('what a node comes to, told while it happens', async () => {
    const over = new AbortController()
    const began = Promise.withResolvers<string>()
    const path = 'session/broken/node/ill'
    const events = client.events({ live: true, path, signal: over.signal, onCursor: began.resolve })
    const found = (async () => {
      for await (const item of events) if (textOf(item).includes(WHAT)) return textOf(item)
      return 'nothing'
    })()
    await began.promise
    await expect(client.node('ill').reset()).rejects.toThrow(WHAT)
    const said = await found
    over.abort()
    expect(said).toContain('node-state')
    expect(TRACE.test(said)).toBe(near)
  })
})

const headers = (): Record<string, string> => ({ authorization: `Bearer ${under.token}` })

it('an error that is a value has none on the wire', async () => {
  const gives = workflow('gives', (ctx) => ctx.step('one', () => ({ found: [new Error(WHAT)] })))
  const { id } = await under.host.start(gives)
  for (const what of [`runs/wait?run=${id}`, `runs/journal?run=${id}`, `events?run=${id}`]) {
    const said = await (await fetch(`${under.url}/v1/${what}`, { headers: headers() })).text()
    expect(said).toContain(WHAT)
    expect(said).not.toMatch(TRACE)
  }
})

it('a model that asks over HTTP is told none', async () => {
  const { client } = officialClient({ era: 'today' })
  const requestInit = { headers: headers() }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${under.url}/mcp`), { requestInit }))
  for (const [name, args] of [
    ['runs_wait', { run }],
    ['nodes_execute', { node: 'clumsy' }],
  ] as const) {
    const said = textOf(dataOf(await client.callTool({ name, arguments: args })))
    expect(said).toContain(WHAT)
    expect(said).not.toMatch(TRACE)
  }
  await client.close()
})

it('an exported run is the journal as it is: a replay elsewhere has to find the same', async () => {
  const far = await connectHttp(under.url, under.token)
  expect(await far.run(run).export()).toMatch(TRACE)
  await far.close()
})

async function all(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const item of items) found.push(item)
  return found
}

function textOf(value: unknown): string {
  return JSON.stringify(value)
}
