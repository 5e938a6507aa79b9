/** The doors of a daemon as people start it: what is open, and to whom. */
import { mkdirSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { connect, connectHttp } from 'nerve/client'
import { officialClient } from '../mcp/surface-under-test.ts'
import { stage } from './stage.ts'

const FILES = {
  'hello.ts': `import { workflow } from 'nerve'\nexport default workflow('hello', async (ctx) => ctx.ask('Ready?', { choices: ['yes'] }))\n`,
}

test('a port that others can reach is refused, with the reason, and nothing is left behind', async () => {
  const { nerve, has, remove } = stage(FILES)
  try {
    for (const host of ['0.0.0.0', '::', '127.evil.example', 'localhost.evil.example']) {
      const refused = await nerve(['server', 'start', '--http', '0', '--host', host])
      expect([host, refused.code]).not.toEqual([host, 0])
      expect(refused.err).toContain('--beyond-loopback')
      expect(has('.nerve/server.json')).toBe(false)
      expect(has('.nerve/nerve.sock')).toBe(false)
    }
    expect((await nerve(['server', 'start', '--beyond-loopback'])).err).toContain('are for --http PORT')
  } finally {
    remove()
  }
})

test('everything on the port needs a token and its own name, and the socket needs neither', async () => {
  const { nerve, dir, record, log, remove } = stage(FILES)
  try {
    await nerve(['server', 'start', '--http', '0', '--expose', 'all'])
    const { url = '', socket = '' } = record() ?? {}
    const token = (await nerve(['token', 'show', 'default'])).out.trim()
    expect(statSync(join(dir, '.nerve', 'tokens.json')).mode & 0o777).toBe(0o600)
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    const status = async (path: string, headers: Record<string, string> = {}): Promise<number> => {
      const sent = request(`${url}${path}`, { headers })
      sent.end()
      const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume: () => void }]
      response.resume()
      return response.statusCode
    }
    const known = { authorization: `Bearer ${token}` }
    for (const path of ['/', '/v1/health', '/v1/events', '/v1/openapi.json', '/mcp', '/nothing', '/v1/nothing']) {
      expect([path, await status(path)]).toEqual([path, 401])
      expect([path, await status(`${path}?token=${token}&access_token=${token}`)]).toEqual([path, 401])
      expect([path, await status(path, { ...known, host: 'evil.example' })]).toEqual([path, 421])
      expect([path, await status(path, { ...known, origin: 'https://evil.example' })]).toEqual([path, 403])
    }
    expect(await status('/v1/health', known)).toBe(200)
    const web = new WebSocket(`${url.replace('http', 'ws')}/v1/socket`)
    await once(web, 'open')
    web.send('{"id":1,"call":"health"}')
    expect(String((await once(web, 'message'))[0])).toContain('"not-allowed"')
    await once(web, 'close')
    const far = await connectHttp(url, token)
    await expect(far.call('runs.start', { file: join(dir, 'hello.ts') })).rejects.toMatchObject({
      data: { reason: 'local' },
    })
    const near = await connect(socket)
    expect(await near.call('runs.start', { file: join(dir, 'hello.ts') })).toMatchObject({ run: expect.any(String) })
    await Promise.all([far.close(), near.close()])
    expect(log()).not.toMatch(/problem/)
    expect(log()).not.toContain(token)
    await nerve(['server', 'stop'])
  } finally {
    remove()
  }
})

test('workflows that are named with commas are tools at /mcp, as they are on stdio', async () => {
  const named = (name: string): string =>
    `import { workflow } from 'nerve'\nexport default workflow('${name}', () => 1)\n`
  const { nerve, record, write, log, dir, remove } = stage({})
  try {
    mkdirSync(join(dir, 'workflows'))
    for (const name of ['one', 'two', 'three']) write(`workflows/${name}.ts`, named(name))
    const env = { NERVE_TRUST: '1' }
    await nerve(['server', 'start', '--http', '0', '--expose', 'one,two'], { env })
    const token = (await nerve(['token', 'show', 'default'])).out.trim()
    const tools = async (): Promise<string[]> => {
      const { client } = officialClient({ era: 'today' })
      const requestInit = { headers: { authorization: `Bearer ${token}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${record()?.url}/mcp`), { requestInit }))
      const all = (await client.listTools()).tools.map(({ name }) => name)
      await client.close()
      return all.filter((name) => ['one', 'two', 'three', 'four'].includes(name))
    }
    expect(await tools()).toEqual(['one', 'two'])
    // One that is not there takes nothing from the others.
    const restarted = await nerve(['server', 'restart', '--http', '0', '--expose', 'one,thre,four'], { env })
    expect(restarted.code).toBe(0)
    expect(restarted.err).toMatch(
      /--expose: There is no definition 'thre' here\. Did you mean 'three'\?.*definition 'four'/s,
    )
    for (let i = 0; i < 3; i += 1) expect(await tools()).toEqual(['one'])
    // It is told once, however often somebody comes.
    expect(log().split("There is no definition 'four' here.")).toHaveLength(2)
    write('workflows/four.ts', named('four'))
    expect(await tools()).toEqual(['one', 'four'])
    const wrong = await nerve(['server', 'restart', '--expose', 'one,'], { env })
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('--expose has an empty name') as string })
  } finally {
    remove()
  }
})

test('one that runs in another way than it is wanted is not said to be what is wanted', async () => {
  const { nerve, record, remove } = stage(FILES)
  try {
    await nerve(['run', 'hello.ts', '--detach'])
    const plain = await nerve(['server', 'start'])
    expect({ code: plain.code, out: plain.out }).toEqual({ code: 0, out: expect.stringContaining('needed it for 10m') })
    for (const wanted of ['--http=0', '--idle=1h']) {
      const { code, err } = await nerve(['server', 'start', wanted])
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('nerve server restart') })
    }
    await nerve(['server', 'restart', '--http', '0', '--expose', 'all'])
    const { pid } = record() ?? {}
    const same = await nerve(['server', 'start', '--expose', 'all', '--http', '0', '--json'])
    expect(JSON.parse(same.out)).toMatchObject({ pid, started: false })
  } finally {
    remove()
  }
})
