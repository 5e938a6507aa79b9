/** An agent whose subscription has reached its limit parks its step until the vendor takes something again, and then goes on in its session. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, workflow } from 'nerve'
import { agent } from 'nerve/agents'
import { createGateway, scripted } from 'nerve/gateway'
import { SimulatedClock } from 'nerve/testing'
import { agentNamed, missing, ROOT } from './under-test.ts'

const HOUR_S = 3_600

/** A vendor with a limit, as it tells of it, before a model that answers. */
async function vendorWithLimit(refusal: (reset: number) => Refusal) {
  const asked: string[] = []
  const gateway = await createGateway({
    backend: scripted(({ messages }) => {
      asked.push(JSON.stringify(messages))
      return { say: 'done at last' }
    }),
  })
  const { token } = gateway.token()
  const state = { reset: 0, refused: 0, asked }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    if (state.reset > 0 && request.method === 'POST') {
      state.refused += 1
      const { headers, error } = refusal(state.reset)
      response.writeHead(429, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(error))
      return
    }
    const passed = await fetch(`${gateway.url}${request.url ?? ''}`, {
      method: request.method ?? 'GET',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body === '' ? {} : { body }),
    })
    const type = passed.headers.get('content-type') ?? 'application/json'
    response.writeHead(passed.status, { 'content-type': type }).end(await passed.text())
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    await gateway.close()
  })
  const { port } = server.address() as AddressInfo
  return { state, url: `http://127.0.0.1:${port}`, token }
}

interface Refusal {
  readonly headers: Readonly<Record<string, string>>
  readonly error: unknown
}

const VENDORS = {
  claude: {
    refusal: (reset: number): Refusal => ({
      headers: {
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-reset': String(reset),
        'anthropic-ratelimit-unified-representative-claim': 'five_hour',
      },
      error: { type: 'error', error: { type: 'rate_limit_error', message: 'This would exceed the limit.' } },
    }),
    // It has limits only as a subscriber.
    env: (url: string) => ({
      ANTHROPIC_BASE_URL: url,
      CLAUDE_CODE_OAUTH_TOKEN: `sk-ant-oat01-${'scripted'.repeat(10)}`,
    }),
    isSubscriber: true,
  },
  codex: {
    refusal: (reset: number): Refusal => ({
      headers: {
        'x-codex-primary-used-percent': '100',
        'x-codex-primary-window-minutes': '300',
        'x-codex-primary-reset-at': String(reset),
      },
      error: { error: { type: 'usage_limit_reached', message: 'The limit has been reached', resets_at: reset } },
    }),
    env: () => ({}),
    isSubscriber: false,
  },
} as const

describe.each(['claude', 'codex'] as const)('%s', (name) => {
  const vendor = agentNamed(name)
  const skip = missing(vendor) !== undefined
  it('waits for the time that its vendor has told, and goes on in its session', { timeout: 60_000, skip }, async () => {
    mkdirSync(join(ROOT, 'coverage'), { recursive: true })
    const home = mkdtempSync(join(ROOT, 'coverage', 'quota-'))
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    const { refusal, env, isSubscriber } = VENDORS[name]
    const { state, url, token } = await vendorWithLimit(refusal)
    const place = { home, gateway: { url, token } }
    const coder = agent('coder', {
      use: vendor.adapter,
      cwd: mkdtempSync(join(home, 'work-')),
      env: { ...vendor.env(place), ...env(url) },
      ...(isSubscriber ? {} : { gateway: { url, token: () => ({ token, revoke: () => undefined }) } }),
      ...(vendor.model === undefined ? {} : { model: vendor.model }),
    })
    onTestFinished(() => coder.stop())
    const clock = new SimulatedClock(Date.now())
    const host = await createHost({ store: 'memory', clock })
    onTestFinished(() => host.close())

    state.reset = Math.floor(clock.now() / 1_000) + HOUR_S
    const run = await host.start(workflow('limited', async (ctx) => (await ctx.run(coder, 'Mend the roof.')).text))
    expect(await run.rest()).toBe('waiting')
    expect(state.refused).toBeGreaterThan(0)
    expect(await host.run(run.id)).toMatchObject({ wake: state.reset * 1_000, questions: [] })
    const refused = state.refused
    clock.advance((HOUR_S - 10) * 1_000)
    expect(state.refused).toBe(refused)

    state.reset = 0
    clock.advance(11_000)
    expect(await run.result()).toBe('done at last')
    expect(state.asked.at(-1)).toContain('You were interrupted')
    const events = (await host.journal(run.id)).map(({ event }) => event)
    expect(events.filter(({ type }) => type === 'step-failed')).toEqual([])
    expect(events.find(({ type }) => type === 'step-stopped')).toMatchObject({ reason: 'quota' })
  })
})
