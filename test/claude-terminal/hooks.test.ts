/** Where hooks arrive: only what Claude Code sends to the address that it was given does anything. */
import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Hook } from '../../src/nodes/claude-terminal/hook-events.ts'
import { openHookDoor, type HookDoor } from '../../src/nodes/claude-terminal/hook-server.ts'

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const SESSION = '7b0ad4a6-5f0e-4a52-8f47-2f4a1c9f3b10'
const STOP = { session_id: SESSION, hook_event_name: 'Stop', last_assistant_message: 'done', prompt_id: 'p' }

async function opened(reply: () => Record<string, unknown> = () => ({})): Promise<{ door: HookDoor; heard: Hook[] }> {
  const heard: Hook[] = []
  const door = await openHookDoor((hook) => {
    heard.push(hook)
    return reply()
  })
  onTestFinished(() => door.close())
  return { door, heard }
}

function send({ url }: HookDoor, { method = 'POST', path, host, headers = {}, body = JSON.stringify(STOP) }: Sent) {
  const { hostname, port, pathname } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const wanted = { ...(host === undefined ? {} : { host }), ...headers }
  const sent = request({ hostname, port, method, path: path ?? pathname, headers: wanted }, (response) => {
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (piece: string) => {
      text += piece
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
  })
  sent.on('error', reject)
  sent.end(method === 'POST' ? body : undefined)
  return promise
}

describe('the door for hooks', () => {
  it('takes hooks, and gives back what the listener says', async () => {
    const { door, heard } = await opened(() => ({ fine: true }))
    expect(door.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/hooks\/[0-9a-f]{64}$/)
    expect(await send(door, {})).toEqual({ status: 200, body: '{"fine":true}' })
    expect(heard).toEqual([{ session: SESSION, event: { type: 'stop', text: 'done', promptId: 'p' } }])
  })

  const wrong: Readonly<Record<string, readonly [Sent, number]>> = {
    'another name of this machine': [{ host: 'localhost' }, 403],
    'a page that was led here': [{ host: 'evil.example:80' }, 403],
    'another address': [{ path: `/hooks/${'0'.repeat(64)}` }, 404],
    'no address': [{ path: '/' }, 404],
    'more than an address': [{ path: '/hooks/' }, 404],
    'another method': [{ method: 'GET' }, 405],
    'no JSON': [{ body: '{' }, 400],
    'no object': [{ body: '[]' }, 400],
    'no hook': [{ body: JSON.stringify({ session_id: SESSION, hook_event_name: 'Other' }) }, 400],
    'no session': [{ body: JSON.stringify({ hook_event_name: 'Stop' }) }, 400],
    'a session that would be an argument': [{ body: JSON.stringify({ ...STOP, session_id: '--print' }) }, 400],
    'a body that says that it is huge': [{ headers: { 'content-length': String(10 ** 9) } }, 413],
  }
  for (const [what, [sent, status]] of Object.entries(wrong))
    it(`refuses ${what}`, async () => {
      const { door, heard } = await opened()
      expect((await send(door, sent)).status).toBe(status)
      expect(heard).toEqual([])
      expect((await send(door, {})).status).toBe(200)
    })

  it('refuses a body that turns out to be huge', async () => {
    const { door, heard } = await opened()
    const { hostname, port, pathname } = new URL(door.url)
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    const sent = request({ hostname, port, method: 'POST', path: pathname }, (response) => {
      resolve(response.statusCode)
      response.resume()
    })
    // The rest of what is written meets a closed door.
    sent.on('error', () => resolve(undefined))
    const piece = Buffer.alloc(1024 * 1024, ' ')
    for (let count = 0; count < 34; count += 1) sent.write(piece)
    expect([413, undefined]).toContain(await promise)
    sent.destroy()
    expect(heard).toEqual([])
    expect((await send(door, {})).status).toBe(200)
  })

  it('is closed for one without being closed for the others, and gone after the last', async () => {
    const one = await opened()
    const two = await opened()
    expect(new URL(one.door.url).port).toBe(new URL(two.door.url).port)
    one.door.close()
    expect((await send(one.door, {})).status).toBe(404)
    expect((await send(two.door, {})).status).toBe(200)
    two.door.close()
    await expect(send(two.door, {})).rejects.toThrow(/ECONNREFUSED|hang up|ECONNRESET/)
  })
})
