/**
 * A real browser, where there is one (in the path, or at $NERVE_CHROMIUM): a page that was named uses a host, and a page that was
 * not gets nothing done, whatever it tries.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostUnderTest, type UnderTest } from './host-under-test.ts'

const BROWSER = [process.env['NERVE_CHROMIUM'] ?? '', 'chromium', 'google-chrome'].find(
  (name) => name !== '' && spawnSync('sh', ['-c', `command -v ${name}`]).status === 0,
)

/** Runs in the page. What it gives is told to the test. */
const USES = `
const client = await nerve.connectHttp(URL_OF_HOST, TOKEN)
const run = await client.runs.start('review', { file: 'p' })
let prompt
for await (const question of client.questions.watch()) {
  prompt = question.prompt
  await client.questions.answer(question.id, 'yes')
  break
}
await run.signal('note', 'from a page')
const output = await run.result()
const types = []
for await (const { type } of run.events()) types.push(type)
const wrong = await client.runs.get('nothing').catch((error) => error.code)
const over = new AbortController()
const waits = await client.runs.start('waiting')
const aborted = waits.result({ signal: over.signal }).catch((error) => error.name)
over.abort()
const socket = new WebSocket(URL_OF_HOST.replace('http', 'ws') + '/v1/socket')
const heard = await new Promise((resolve) => {
  socket.onopen = () => socket.send(JSON.stringify({ token: TOKEN }))
  socket.onmessage = ({ data }) => resolve(data)
})
const mcp = await fetch(URL_OF_HOST + '/mcp', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + TOKEN, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'page', version: '1' } } }),
})
const session = mcp.headers.get('mcp-session-id')
const pending = waits.result().catch((error) => error.code)
await client.close()
return { prompt, output, last: types.at(-1), wrong, aborted: await aborted, closed: await pending, heard, session: typeof session }
`

/** The same token, which it should not have; it gets in by no way. */
const TRIES = `
const failed = (promise) => promise.then((response) => response.type + ' ' + response.status, (error) => error.name)
const json = { authorization: 'Bearer ' + TOKEN, 'content-type': 'application/json' }
const body = JSON.stringify({ definition: 'busy', input: 1 })
const start = URL_OF_HOST + '/v1/runs/start'
const reads = await failed(fetch(URL_OF_HOST + '/v1/health', { headers: { authorization: 'Bearer ' + TOKEN } }))
const starts = await failed(fetch(start, { method: 'POST', headers: json, body }))
await failed(fetch(start, { method: 'POST', mode: 'no-cors', body }))
await failed(fetch(start, { method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body }))
const form = document.createElement('form')
form.action = start
form.method = 'POST'
form.enctype = 'text/plain'
form.target = 'frame'
const field = document.createElement('input')
field.name = '{"definition":"busy","input":1,"x":"'
field.value = '"}'
form.append(field)
const frame = document.createElement('iframe')
frame.name = 'frame'
document.body.append(frame, form)
const loaded = new Promise((resolve) => (frame.onload = resolve))
form.submit()
await loaded
const socket = new WebSocket(URL_OF_HOST.replace('http', 'ws') + '/v1/socket')
const opened = await new Promise((resolve) => {
  socket.onopen = () => resolve('open')
  socket.onerror = () => resolve('refused')
})
return { reads, starts, opened }
`

describe.skipIf(BROWSER === undefined)('a real browser', () => {
  let profile = ''
  let under: UnderTest
  let pages: Server
  let code = ''
  const heard: Record<string, unknown> = {}
  /** The same page under two names, of which one was named to the host. */
  const origin = (name: string): string => `http://${name}:${(pages.address() as AddressInfo).port}`

  beforeAll(async () => {
    profile = mkdtempSync(join(tmpdir(), 'nerve-browser-'))
    const build = await rolldown({
      input: join(import.meta.dirname, '../../src/surfaces/client/http-client.ts'),
      platform: 'browser',
    })
    code = (await build.generate({ format: 'iife', name: 'nerve', codeSplitting: false })).output[0].code
    await build.close()
    pages = createServer((request, response) => {
      const at = request.url ?? ''
      if (request.method !== 'POST') return void response.setHeader('content-type', 'text/html').end(pageOf(at))
      let text = ''
      request.on('data', (chunk: Buffer) => (text += chunk.toString()))
      request.on('end', () => {
        heard[at] = JSON.parse(text)
        response.end()
      })
    }).listen(0, '127.0.0.1')
    await once(pages, 'listening')
    under = await hostUnderTest({ origins: [origin('127.0.0.1')] })
  })
  afterAll(async () => {
    pages.closeAllConnections()
    pages.close()
    await under.end()
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  })

  function pageOf(at: string): string {
    const script = at === '/uses' ? USES : TRIES
    const values = `const [URL_OF_HOST, TOKEN] = ${JSON.stringify([under.url, under.token])}`
    const tell = `fetch(${JSON.stringify(at)}, { method: 'POST', body: JSON.stringify(result) })`
    return `<!doctype html><body><script>${code}</script><script>${values}
      const told = (async () => { ${script} })()
      told.catch((error) => String(error.stack)).then((result) => ${tell})</script>`
  }

  async function visit(address: string): Promise<unknown> {
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`, '--no-first-run']
    const browser = spawn(BROWSER ?? '', [...flags, '--remote-debugging-port=0', address], {
      stdio: 'ignore',
      // It is killed, and would leave its sockets where temporary files are.
      env: { ...process.env, TMPDIR: profile },
    })
    const gone = once(browser, 'exit')
    const { pathname } = new URL(address)
    try {
      await expect.poll(() => heard[pathname], { timeout: 25_000 }).toBeDefined()
    } finally {
      browser.kill('SIGKILL')
      await gone
    }
    return heard[pathname]
  }

  it('drives a run with a question to its end, in a page that was named', async () => {
    expect(await visit(`${origin('127.0.0.1')}/uses`)).toEqual({
      prompt: 'Publish draft of p?',
      output: { draft: 'draft of p', answer: 'yes', note: 'from a page', when: '1970-01-01T00:00:00.000Z' },
      last: 'run-completed',
      wrong: 'not-found',
      aborted: 'AbortError',
      closed: 'connection-lost',
      heard: '{"result":{"scope":"control"}}',
      session: 'string',
    })
    expect(under.problems).toEqual([])
  })

  it('gets nothing done in any other page', async () => {
    const before = await under.host.runs()
    expect(await visit(`${origin('localhost')}/tries`)).toEqual({
      reads: 'TypeError',
      starts: 'TypeError',
      opened: 'refused',
    })
    expect(await under.host.runs()).toEqual(before)
  })
})
