/** MCP servers as nodes: real servers, as programs and over HTTP. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import { mcp, type McpNode, type McpOptions } from 'nerve/mcp'
import { openStage, rejection, until } from '../behaviour/stage.ts'
import { testServer } from './server.ts'

const PROGRAM = join(import.meta.dirname, 'server.ts')

function program(options: Partial<McpOptions> = {}): McpNode {
  const node = mcp('test', { command: process.execPath, args: [PROGRAM], ...options })
  onTestFinished(() => node.stop())
  return node
}

/** The same server over HTTP; `seen` has the headers of each request. */
async function overHttp(options: Partial<McpOptions> = {}): Promise<{ node: McpNode; seen: (string | undefined)[] }> {
  const handler = createMcpHandler(testServer)
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    void (async () => {
      seen.push(request.headers.authorization)
      const body = request.method === 'POST' ? await new Response(request as never).text() : undefined
      const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      const answer = await handler.fetch(
        new Request(`http://127.0.0.1${request.url ?? ''}`, {
          method: request.method ?? 'GET',
          headers,
          ...(body === undefined ? {} : { body }),
        }),
      )
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      for await (const piece of answer.body ?? []) response.write(piece)
      response.end()
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const node = mcp('test', { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, ...options })
  onTestFinished(async () => {
    await node.stop()
    server.closeAllConnections()
    server.close()
  })
  return { node, seen }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe.each([
  ['as a program', async () => program()],
  ['over HTTP', async () => (await overHttp()).node],
])('a server %s', (_, open) => {
  it('lists its tools and resources', async () => {
    const node = await open()
    const tools = await node.tools()
    expect(tools.find(({ name }) => name === 'add')).toMatchObject({
      description: 'adds',
      input: { type: 'object', required: ['a', 'b'] },
      output: { required: ['sum'] },
      hints: { readOnlyHint: true },
    })
    expect(await node.resources()).toMatchObject([
      { uri: 'memo://note', name: 'note', description: 'a note', mediaType: 'text/plain' },
    ])
  })

  it('is called and read in steps, and the results are in the journal', async () => {
    const { host } = await openStage()
    const node = await open()
    const run = await host.start(
      workflow('sums', async (ctx) => {
        const { data } = await ctx.run(node, { tool: 'add', input: { a: 2, b: 3 } }, { label: 'add' })
        const { text } = await ctx.run(node, { resource: 'memo://note' }, { label: 'read' })
        return [data, text]
      }),
    )
    expect(await run.result()).toEqual([{ sum: 5 }, 'buy milk'])
    expect((await host.replay(run.id)).same).toBe(true)
  })

  it('says what went wrong: in a tool, in its input, in its name', async () => {
    const node = await open()
    const failed = await rejection(node.execute({ tool: 'fail' }))
    expect(failed).toMatchObject({ code: 'mcp-failed', data: { tool: 'fail', reason: 'tool' } })
    expect(failed.message).toBe("The tool fail of 'test' failed: the disk is full")
    expect((await rejection(node.execute({ tool: 'add', input: { a: 'x' } }))).message).toContain('a')
    expect((await rejection(node.execute({ tool: 'nothing' }))).message).toContain('nothing')
    expect((await rejection(node.execute({ resource: 'memo://none' }))).code).toBe('mcp-failed')
    for (const wrong of [{}, 'add', undefined, { tool: 'add', resource: 'memo://note' }])
      expect(await rejection(node.execute(wrong as never))).toMatchObject({ code: 'bad-input' })
  })

  it('asks a person: a choice, a form, and no', async () => {
    const stage = await openStage()
    const node = await open()
    const asking = workflow('asking', async (ctx) => {
      const texts: string[] = []
      for (const tool of ['choose', 'fill', 'fill']) texts.push((await ctx.run(node, { tool })).text)
      return texts
    })
    const run = await stage.host.start(asking)
    const next = async (before?: string) => {
      await until(async () => ![undefined, before].includes((await stage.host.inbox())[0]?.id), 'a question')
      return (await stage.host.inbox())[0]
    }
    const choose = await next()
    expect(choose).toMatchObject({ prompt: 'Please choose.', choices: ['red', 'blue', 'decline'], kind: 'ask' })
    await stage.host.answer(choose?.id ?? '', 'blue')
    const fill = await next(choose?.id)
    expect(fill).toMatchObject({ detail: { node: 'test', schema: { required: ['name', 'age'] } } })
    for (const wrong of ['Ann', { name: 'Ann' }, { name: 'Ann', age: 1.5 }, { name: 'Ann', age: 1, size: 2 }])
      expect(await rejection(stage.host.answer(fill?.id ?? '', wrong))).toMatchObject({ code: 'answer-rejected' })
    await stage.host.answer(fill?.id ?? '', { name: 'Ann', age: 30 })
    await stage.host.answer((await next(fill?.id))?.id ?? '', 'decline')
    expect(await run.result()).toEqual(['{"colour":"blue"}', '{"name":"Ann","age":30}', 'refused'])
  })

  it('tells of progress, and a call that is stopped ends at once', async () => {
    const { host } = await openStage()
    const node = await open()
    const heard: unknown[] = []
    host.subscribe({ live: true }, (part) => heard.push((part as { data?: unknown }).data))
    const run = await host.start(workflow('long', (ctx) => ctx.run(node, { tool: 'wait', input: { steps: 3 } })))
    await until(() => heard.length === 3)
    expect(heard[2]).toMatchObject({ progress: 3, total: 3 })
    await run.cancel()
    expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
    expect((await node.execute({ tool: 'add', input: { a: 1, b: 1 } })).text).toBe('2')
  })

  it('without anybody to ask goes on without an answer', async () => {
    const node = await open()
    expect((await node.execute({ tool: 'choose' })).text).toBe('refused')
  })
})

describe('a server as a program', () => {
  it('gets only the variables that it was given, and none of them is told', async () => {
    process.env['NERVE_TEST_SECRET'] = 'very secret'
    onTestFinished(() => void delete process.env['NERVE_TEST_SECRET'])
    const node = program({ env: { OWN_KEY: 'my secret' } })
    const { text } = await node.execute({ tool: 'env' })
    expect(text.split(' ')).toContain('OWN_KEY')
    expect(text).not.toContain('NERVE_TEST_SECRET')
    expect(JSON.stringify(node.info())).not.toContain('my secret')
    expect(node.info()).toMatchObject({ connected: true, config: { env: ['OWN_KEY'] } })
  })

  it('that dies tells its last words, and is started again', async () => {
    const node = program()
    const died = await rejection(node.execute({ tool: 'die' }))
    expect(died).toMatchObject({ code: 'mcp-failed', retry: 'later' })
    expect(died.message).toContain('out of memory')
    expect((await node.execute({ tool: 'add', input: { a: 1, b: 1 } })).text).toBe('2')
  })

  it('ends with everything that it started, and can be started again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nerve-mcp-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const node = program()
    await node.execute({ tool: 'leave', input: { file: join(folder, 'pids') } })
    const pids = readFileSync(join(folder, 'pids'), 'utf8').split(' ').map(Number)
    expect(pids.map(isAlive)).toEqual([true, true])
    await Promise.all([node.stop(), node.stop()])
    expect(pids.map(isAlive)).toEqual([false, false])
    expect(node.info().connected).toBe(false)
    expect((await node.execute({ tool: 'add', input: { a: 1, b: 1 } })).text).toBe('2')
  })

  it('that cannot start says so, and nothing is left', async () => {
    const missing = await rejection(program({ command: 'no-such-program' }).start())
    expect(missing).toMatchObject({ code: 'mcp-failed' })
    expect(missing.message).toContain('no-such-program')
    const wrong = program({ args: ['-e', 'console.error("no licence"); process.exit(1)'] })
    expect((await rejection(wrong.start())).message).toContain('no licence')
  })
})

it('sends its headers over HTTP and tells only their names', async () => {
  const { node, seen } = await overHttp({ headers: { authorization: 'Bearer my secret' } })
  await node.tools()
  expect(new Set(seen)).toEqual(new Set(['Bearer my secret']))
  expect(JSON.stringify(node.info())).not.toContain('my secret')
})

it('says that a server over HTTP is not there', async () => {
  const node = mcp('test', { url: 'http://127.0.0.1:9/mcp' })
  expect(await rejection(node.start())).toMatchObject({ code: 'mcp-failed' })
})

it.each([
  [{}, /needs either a command to start or the url/],
  [{ command: 'x', url: 'http://x' }, /needs either a command to start or the url/],
  [{ url: 'http://x', args: ['y'] }, /args means nothing with url/],
  [{ command: 'x', headers: {} }, /headers means nothing with command/],
  [{ url: 'ftp://x' }, /is no address/],
  [{ comand: 'x' }, /Did you mean 'command'/],
  [{ command: 'x', args: 'y' }, /args must be a list/],
  [{ url: 'http://x', headers: { a: 1 } }, /headers.a must be text/],
])('refuses %j', (options, message) => {
  expect(() => mcp('test', options as never)).toThrow(message)
})
