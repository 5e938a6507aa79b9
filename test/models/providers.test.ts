/** Models by name, through real provider packages, against the gateway's scripted model: no key, no network but loopback. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { createGateway, scripted, type Script } from 'nerve/gateway'
import { chat, llm, textOf, tool } from 'nerve/models'
import { openStage, rejection, timePasses, until } from '../behaviour/stage.ts'

const SCRIPT: Script = {
  rules: [
    {
      when: { user: 'add' },
      steps: [
        { think: 'Easy.', say: 'I add.', call: { tool: 'add', input: { a: 2, b: 3 } } },
        { say: 'It is {{last}}.' },
      ],
    },
    { when: { user: 'json' }, say: '{"name":"Ada"}' },
    { when: { user: 'busy' }, fail: { status: 429, times: 1, retryAfter: '1h' }, say: 'now' },
    { when: { user: 'slow' }, say: 'a b c d e f'.repeat(99), stream: { chunk: 1, delay: '50ms' } },
    { when: { user: 'wrong' }, fail: { status: 400, message: 'no such thing' } },
    { when: { user: 'look' }, say: 'A dot.' },
  ],
  usage: { input: 40, output: 4 },
}
const MODELS = ['anthropic:claude-x', 'openai:gpt-x', 'google:gemini-x', 'openai-compatible:local-x']

async function place() {
  const gateway = await createGateway({ backend: scripted(SCRIPT) })
  onTestFinished(() => gateway.close())
  const { token } = gateway.token()
  return { at: { baseURL: `${gateway.url}/v1`, apiKey: token }, log: gateway.log }
}

const add = tool(({ a, b }: { a: number; b: number }) => a + b, {
  name: 'add',
  description: 'Adds.',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
})

describe.each(MODELS)('%s', (model) => {
  it('talks, uses tools, looks at images and gives JSON', async () => {
    const { host } = await openStage()
    const { at } = await place()
    const helper = chat('helper', { model, ...at, tools: [add], maxOutputTokens: 500 })
    const run = await host.start(helper, 'add 2 and 3')
    expect(await run.result()).toBe('It is 5.')
    expect((await host.run(run.id)).usage).toMatchObject({ calls: 2, tokens: 88 })
    // With the tool's use and result of the first turn in it.
    const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const looking = await host.start(helper, [
      { type: 'text', text: 'look' },
      { type: 'image', image: dot },
    ])
    expect(await looking.result()).toBe('A dot.')
    expect(helper.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ])
    expect(textOf(helper.messages[1] ?? { content: '' })).toBe('I add.')
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
      additionalProperties: false,
    }
    const json = llm<{ name: string }>('who', { model, ...at, jsonSchema: schema })
    expect(await (await host.start(json, 'json please')).result()).toEqual({ name: 'Ada' })
  })

  it('waits for a limit, and stops when it is told to', async () => {
    const { host, clock } = await openStage()
    const { at, log } = await place()
    const ask = llm('ask', { model, ...at, policy: { attempts: 1 } })
    const busy = await host.start(ask, 'busy?')
    await until(async () => (await host.run(busy.id)).status === 'waiting')
    const { wake = 0 } = await host.run(busy.id)
    expect(Math.abs(wake - clock.now() - 3_600_000)).toBeLessThan(2_000)
    expect(await timePasses(clock, busy.result())).toBe('now')
    const error = await rejection((await host.start(ask, 'wrong')).result())
    expect(error.cause).toMatchObject({ code: 'model-failed', data: { status: 400, fault: 'request' } })
    expect(error.message).toContain('no such thing')
    const heard = Promise.withResolvers<unknown>()
    host.subscribe({ live: true, type: 'text-delta' }, heard.resolve)
    const slow = await host.start(ask, 'slow')
    await heard.promise
    await slow.cancel()
    // The provider hears of it too.
    await until(() => log.recent.some(({ aborted }) => aborted === true))
    expect((await host.run(slow.id)).status).toBe('cancelled')
  })
})

describe('names of models', () => {
  it('say which package is missing and how to get it', async () => {
    const { host } = await openStage()
    const error = await rejection((await host.start(llm('ask', { model: 'nowhere:x' }), 'go')).result())
    expect(error.cause).toMatchObject({
      code: 'package-missing',
      data: { package: '@ai-sdk/nowhere', install: 'npm install ai @ai-sdk/nowhere' },
    })
  })
})
