/** Budgets of runs, kept at the gateway: asked before a call, charged with what it did cost. */
import { describe, expect, it } from 'vitest'
import { workflow, type Budget, type NerveError } from 'nerve'
import { modelError, provider, scripted, type GatewayOptions } from 'nerve/gateway'
import { openStage, rejection, timePasses, until } from '../behaviour/stage.ts'
import { ask, openGateway, type House } from './house.ts'
import { CLOSING, MESSAGE, OPENING, delta, fakeUpstream, sendJson } from './upstream.ts'

/** A call of the model: 51 tokens of input and at most 50 of output are reserved. */
const ASK = ask('x'.repeat(200), { max_tokens: 50, model: 'claude-opus-4-5' })
const RESERVED = 101

const SCRIPT = { rules: [{ say: 'ok', wait: '20ms', usage: { input: 60, output: 40 } }] }

interface Outcome {
  readonly status: number
  readonly type?: string
}

/** Steps that each call the model through a token of their own. */
function crowd(house: House, { budget, steps, calls = 1 }: { budget: Budget; steps: number; calls?: number }) {
  return workflow('crowd', { budget }, (ctx) =>
    ctx.map(
      Array.from({ length: steps }, (_, index) => index),
      (index) =>
        ctx.step(`call-${index}`, async ({ reserve, usage, path }): Promise<readonly Outcome[]> => {
          const { token, revoke } = house.token({ path, reserve, usage })
          const one = async (): Promise<Outcome> => {
            const response = await house.post('/v1/messages', ASK, { headers: { authorization: `Bearer ${token}` } })
            const body = (await response.json()) as { error?: { type: string } }
            return { status: response.status, ...(body.error === undefined ? {} : { type: body.error.type }) }
          }
          try {
            return await Promise.all(Array.from({ length: calls }, one))
          } finally {
            revoke()
          }
        }),
    ),
  )
}

describe('a budget', () => {
  it('for ten of fifty parallel calls is never exceeded, and goes on with more', async () => {
    const house = await openGateway(SCRIPT)
    const { host, clock } = await openStage()
    const budget = { tokens: 10 * RESERVED }
    const run = await host.start(crowd(house, { budget, steps: 50 }))
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
    await until(async () => (await host.run(run.id)).status === 'exhausted')
    await until(() => house.log.recent.length === 50)
    const asked = house.log.recent.filter(({ failure }) => failure?.kind !== 'budget')
    expect(asked).toHaveLength(10)
    // The row of a run that is held lags behind its journal.
    const spent = async (): Promise<number> =>
      (await host.journal(run.id)).reduce(
        (sum, { event }) => sum + ('usage' in event ? (event.usage?.tokens ?? 0) : 0),
        0,
      )
    await until(async () => (await spent()) === 1_000)
    // Refused, in the provider's words, before the call was made.
    const refused = house.log.recent.find(({ failure }) => failure?.kind === 'budget')
    expect(refused).toMatchObject({ status: 402, failure: { message: expect.stringContaining('tokens') } })
    await run.resume({ budget: { tokens: 50 * RESERVED } })
    const outcomes = await timePasses(clock, run.result())
    expect(outcomes.flat()).toEqual(Array.from({ length: 50 }, () => ({ status: 200 })))
    expect((await host.run(run.id)).usage).toMatchObject({ tokens: 5_000, calls: 50, usd: expect.closeTo(50 * 0.0013) })
    expect(house.problems).toEqual([])
  })

  it.each([
    ['tokens', { tokens: 3 * RESERVED }],
    ['dollars', { usd: 3 * (51 * 5e-6 + 50 * 25e-6) }],
    ['calls', { calls: 3 }],
  ])('in %s holds for the parallel calls of one step too', async (_, budget) => {
    const house = await openGateway(SCRIPT)
    const { host, clock } = await openStage()
    const run = await host.start(crowd(house, { budget, steps: 1, calls: 12 }))
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
    await until(() => house.log.recent.length === 12)
    expect(house.log.recent.filter(({ failure }) => failure?.kind === 'budget')).toHaveLength(9)
  })

  it('counts only tokens where nobody knows the price', async () => {
    const house = await openGateway(SCRIPT)
    const spent: object[] = []
    const wanted: object[] = []
    const { token } = house.token({ reserve: (more) => wanted.push(more), usage: (more) => spent.push(more) })
    const headers = { authorization: `Bearer ${token}` }
    await house.post('/v1/messages', { ...ASK, model: 'claude-opus-4-5-turbo' }, { headers })
    expect([wanted, spent]).toEqual([[{ calls: 1, tokens: RESERVED }], [{ calls: 1 }, { tokens: 100 }]])
    expect(house.log.recent[0]?.usd).toBeNull()
  })

  it('is charged before the client knows that the reply is over', async () => {
    const upstream = await fakeUpstream((response) => {
      // The reply is complete, the connection is not.
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(OPENING + delta('hi') + CLOSING)
    })
    const house = await openGateway({ backend: provider('up', { url: upstream.url, format: 'anthropic' }) })
    for (const [path, last] of [
      ['/v1/messages', 'message_stop'],
      ['/v1/chat/completions', '[DONE]'],
    ] as const) {
      const client = house.token()
      const response = await house.post(
        path,
        { ...ASK, stream: true },
        { headers: { authorization: `Bearer ${client.token}` } },
      )
      const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
      for (let text = ''; !text.includes(last); text += (await reader.read()).value ?? '');
      expect(client.spent).toEqual({ calls: 1, tokens: 1_200, usd: 0.01 })
      await reader.cancel()
    }
  })

  it('is charged for the call, and not for tokens, when the provider fails', async () => {
    const upstream = await fakeUpstream((response) => sendJson(response, { error: {} }, 500))
    const house = await openGateway({
      backend: provider('up', { url: upstream.url, format: 'anthropic', retries: 0 }),
    } satisfies GatewayOptions)
    const client = house.token()
    await house.post('/v1/messages', ASK, { headers: { authorization: `Bearer ${client.token}` } })
    expect(client.spent).toEqual({ calls: 1 })
  })

  it('can be checked with prices of one’s own', async () => {
    const prices = { mine: { input: 1_000, output: 10_000 } }
    const house = await openGateway({ backend: scripted(SCRIPT), prices })
    const client = house.token()
    await house.post(
      '/v1/messages',
      { ...ASK, model: 'mine' },
      { headers: { authorization: `Bearer ${client.token}` } },
    )
    expect(client.spent).toEqual({ calls: 1, tokens: 100, usd: 0.06 + 0.4 })
  })
})

describe('a quota of the provider', () => {
  it('parks the step until it ends, and uses up no attempt', async () => {
    const { host, clock } = await openStage()
    const upstream = await fakeUpstream((response, _, number) => {
      const error = { type: 'error', error: { type: 'rate_limit_error', message: 'spent' } }
      if (number === 1) sendJson(response, error, 429, { 'retry-after': '3600' })
      else sendJson(response, MESSAGE)
    })
    const backend = provider('up', { url: upstream.url, format: 'anthropic', clock })
    const house = await openGateway({ backend, clock })
    const attempts: number[] = []
    const asking = workflow('asking', (ctx) =>
      ctx.step('ask', async ({ attempt }) => {
        attempts.push(attempt)
        const response = await house.post('/v1/messages', ASK)
        if (response.ok) return 'done'
        const after = Number(response.headers.get('retry-after')) * 1_000
        throw modelError(
          { kind: 'rate-limited', status: 429, message: 'spent', retryAt: clock.now() + after },
          'claude',
        )
      }),
    )
    const start = clock.now()
    const run = await host.start(asking)
    await until(async () => (await host.run(run.id)).status === 'waiting')
    expect(await timePasses(clock, run.result())).toBe('done')
    expect(clock.now() - start).toBe(3_600_000)
    expect(attempts).toEqual([1, 1])
  })

  it('and other failures tell the engine what to do', () => {
    const of = (kind: Parameters<typeof modelError>[0]['kind'], retryAt?: number): NerveError =>
      modelError({ kind, status: 500, message: 'm', ...(retryAt === undefined ? {} : { retryAt }) })
    expect([of('rate-limited', 5)].map(({ code, retry, data }) => [code, retry, data['until']])).toEqual([
      ['quota', 'pause', 5],
    ])
    expect(
      [of('rate-limited'), of('overloaded'), of('server'), of('bad-request'), of('budget')].map(({ code, retry }) => [
        code,
        retry,
      ]),
    ).toEqual([
      ['model-failed', 'later'],
      ['model-failed', 'later'],
      ['model-failed', 'later'],
      ['model-failed', 'never'],
      ['budget-exhausted', 'never'],
    ])
  })
})
