/** The doors of a daemon as people start it: what is open, and to whom. */
import { statSync } from 'node:fs'
import { request } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { connect, connectHttp } from 'nerve/client'
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
