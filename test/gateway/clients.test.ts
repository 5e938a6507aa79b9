/** The gateway with clients that nobody here wrote: streaming and not, with tools, pictures, errors and aborts. */
import { describe, expect, it } from 'vitest'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { generateText, jsonSchema, Output } from 'ai'
import OpenAI from 'openai'
import {
  provider,
  record,
  replay,
  scripted,
  type Backend,
  type ModelReply,
  type ModelRequest,
  type ScriptFunction,
  type WireFormat,
} from 'nerve/gateway'
import { CLIENTS, MODELS, SYSTEM, type Client } from './clients.ts'
import { openGateway, temporaryFolder, type House } from './house.ts'

const PICTURE = Buffer.from('not really a picture').toString('base64')
const USAGE = { input: 100, output: 20, cacheRead: 40, thinking: 5 }

/** Looks at two places at once, then tells; with nothing to look with, it just tells. */
function model(seen: ModelRequest[]): ScriptFunction {
  return (request, { user, last, step }) => {
    seen.push(request)
    if (user.startsWith('fail'))
      return { fail: { status: Number(user.split(' ')[1]), message: 'as scripted', retryAfter: '7s' } }
    if (user === 'go on and on') return { say: 'on and on '.repeat(10_000), stream: { chunk: 8, delay: 2 } }
    const looks = ['here', 'dort ✓'].map((at) => ({ tool: 'look', input: { at } }))
    if (request.tools.length > 0 && step === 0)
      return { think: 'Two places.', say: 'I look.', call: looks, usage: USAGE }
    return { think: 'Well.', say: step === 0 ? `You said ${user} ✓` : `I have ${last}`, usage: USAGE }
  }
}

async function open(): Promise<{ readonly gate: House; readonly seen: ModelRequest[] }> {
  const seen: ModelRequest[] = []
  return { gate: await openGateway({ backend: scripted(model(seen)) }), seen }
}

/** A gateway before a gateway: the first one's provider speaks another format than its client. */
async function openTranslated(format: WireFormat): Promise<{ readonly gate: House; readonly seen: ModelRequest[] }> {
  const { gate: upstream, seen } = await open()
  const url = format.startsWith('openai') ? `${upstream.url}/v1` : upstream.url
  const backend = provider('upstream', {
    url,
    format,
    key: 'UPSTREAM_KEY',
    env: { UPSTREAM_KEY: upstream.key },
    retries: 0,
  })
  return { gate: await openGateway({ backend }), seen }
}

const WAYS = CLIENTS.flatMap((client) =>
  [true, false].map((stream) => [client.name, stream ? 'streaming' : 'at once', client, stream] as const),
)
const FORMATS = ['anthropic', 'openai-chat', 'openai-responses', 'gemini'] as const
const PAIRS = CLIENTS.flatMap((client) => FORMATS.map((format) => [client.name, format, client] as const))

describe('a client', () => {
  it.each(WAYS)('%s, %s, hears the reply', async (_name, _way, client, stream) => {
    const { gate, seen } = await open()
    let pieces = ''
    const heard = await client.ask(gate, { text: 'hello', stream, onPiece: (piece) => (pieces += piece) })
    expect(heard.text).toBe('You said hello ✓')
    if (stream) expect(pieces).toBe(heard.text)
    expect(heard.usage).toEqual({ input: 100, output: 20 })
    expect(seen[0]?.system).toEqual([SYSTEM])
  })

  it.each(WAYS)('%s, %s, calls tools in a loop', async (_name, _way, client, stream) => {
    const { gate, seen } = await open()
    const heard = await client.ask(gate, { text: 'look', tools: true, stream })
    expectLoop(client, heard, seen)
  })

  it.each(WAYS)('%s, %s, shows a picture', async (_name, _way, client, stream) => {
    const { gate, seen } = await open()
    await client.ask(gate, { text: 'see', picture: PICTURE, stream })
    expect(seen[0]?.messages).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'see' },
          { type: 'file', mediaType: 'image/png', data: PICTURE },
        ],
      },
    ])
  })

  it.each(WAYS)('%s, %s, is told of failures', async (_name, _way, client, stream) => {
    const { gate } = await open()
    for (const status of [400, 401, 404, 429, 500]) {
      const failure = await failureOf(client.ask(gate, { text: `fail ${status}`, stream }))
      expect(failure).toMatchObject({ status })
      expect(failure.text).toContain('as scripted')
    }
  })

  it.each(WAYS.filter(([, , , stream]) => stream))('%s, %s, leaves', async (_name, _way, client) => {
    const { gate } = await open()
    const controller = new AbortController()
    const asked = client.ask(gate, {
      text: 'go on and on',
      stream: true,
      signal: controller.signal,
      onPiece: () => controller.abort(),
    })
    await expect(asked).rejects.toThrow(/abort/i)
    await expect.poll(() => gate.log.recent.at(-1)).toMatchObject({ aborted: true })
  })
})

describe('a client of a provider', () => {
  it.each(PAIRS)('%s through %s', async (_name, format, client) => {
    const { gate, seen } = await openTranslated(format)
    for (const stream of [true, false]) {
      seen.length = 0
      const heard = await client.ask(gate, { text: 'look', tools: true, picture: PICTURE, stream })
      expectLoop(client, heard, seen)
      expect(seen[0]?.messages[0]?.parts).toContainEqual({ type: 'file', mediaType: 'image/png', data: PICTURE })
      expect(heard.usage.input).toBeGreaterThanOrEqual(100)
      const failure = await failureOf(client.ask(gate, { text: 'fail 400', stream }))
      expect(failure).toMatchObject({ status: 400, text: expect.stringContaining('as scripted') })
    }
    expect(await failureOf(client.ask(gate, { text: 'fail 429', stream: true }))).toMatchObject({ status: 429 })
  })
})

describe('a client of a recording', () => {
  it.each(CLIENTS.map((client) => [client.name, client] as const))('%s hears it again', async (_name, client) => {
    const folder = temporaryFolder()
    const first = await openGateway({ backend: record({ backend: scripted(model([])), folder }) })
    const again = await openGateway({ backend: replay({ folder }) })
    const asks = [true, false].map((stream) => ({ text: 'look', tools: true, stream }))
    const heard = []
    for (const ask of asks) heard.push(await client.ask(first, ask))
    for (const [at, ask] of asks.entries()) expect(await client.ask(again, ask)).toEqual(heard[at])
  })
})

/** Thinks with proof, and wants proof back for the call, too. */
function proving(seen: ModelRequest[]): Backend {
  const call = {
    type: 'tool-call',
    id: 'call_1',
    name: 'look',
    input: { at: 'here' },
    signature: 'call-proof',
  } as const
  const thought = { type: 'thinking', text: 'Hm.', signature: 'proof' } as const
  const head = { id: 'reply_1', model: 'model-1', usage: { input: 1, output: 1 } }
  return {
    name: 'proving',
    answer: (request) => {
      seen.push(request)
      const done = request.messages.length > 1
      const reply: ModelReply = done
        ? { ...head, parts: [{ type: 'text', text: 'Done.' }], stop: 'end' }
        : { ...head, parts: [thought, call], stop: 'tool' }
      return Promise.resolve({ type: 'reply', reply })
    },
  }
}

describe('proofs of thoughts', () => {
  const carriers = WAYS.filter(([, , client]) => client.format !== 'openai-chat')
  it.each(carriers)('come back from %s, %s', async (_name, _way, client, stream) => {
    const seen: ModelRequest[] = []
    const gate = await openGateway({ backend: proving(seen) })
    await client.ask(gate, { text: 'look', tools: true, stream })
    const parts = seen[1]?.messages[1]?.parts ?? []
    expect(parts).toContainEqual({ type: 'thinking', text: 'Hm.', signature: 'proof' })
    const call = parts.find((part) => part.type === 'tool-call')
    expect(call).toMatchObject(client.format === 'gemini' ? { signature: 'call-proof' } : { id: 'call_1' })
  })
})

describe('lists of models, and counts', () => {
  it('are read by the official clients', async () => {
    const gate = await openGateway({ backend: { ...scripted(model([])), models: ['model-1', 'model-2'] } })
    const claude = new Anthropic({ baseURL: gate.url, apiKey: gate.key })
    const gpt = new OpenAI({ baseURL: `${gate.url}/v1`, apiKey: gate.key })
    const google = new GoogleGenAI({ apiKey: gate.key, httpOptions: { baseUrl: gate.url } })
    const ids = ['model-1', 'model-2']
    expect((await claude.models.list()).data.map(({ id }) => id)).toEqual(ids)
    expect((await gpt.models.list()).data.map(({ id }) => id)).toEqual(ids)
    expect((await google.models.list()).page.map(({ name }) => name)).toEqual(ids.map((id) => `models/${id}`))
    const said = { role: 'user', content: 'hello' } as const
    const counted = await claude.messages.countTokens({ model: 'model-1', messages: [said] })
    expect(counted.input_tokens).toBeGreaterThan(0)
    expect(await gpt.responses.inputTokens.count({ model: 'model-1', input: [said] })).toMatchObject({
      input_tokens: counted.input_tokens,
    })
    expect(await google.models.countTokens({ model: 'model-1', contents: 'hello' })).toMatchObject({
      totalTokens: counted.input_tokens,
    })
  })
})

describe('replies of a shape', () => {
  it.each(MODELS)('are asked for by %s', async (_name, languageModel) => {
    const seen: ModelRequest[] = []
    const tell: ScriptFunction = (request) => {
      seen.push(request)
      return { say: '{"city":"Bern"}' }
    }
    const gate = await openGateway({ backend: scripted(tell) })
    const schema = jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    })
    const { output } = await generateText({
      model: languageModel(gate),
      prompt: 'where',
      output: Output.object({ schema }),
      maxRetries: 0,
    })
    expect(output).toEqual({ city: 'Bern' })
    expect(JSON.stringify(seen[0]?.json?.schema ?? seen[0]?.tools)).toContain('"city":{"type":"string"}')
  })
})

function expectLoop(client: Client, heard: Awaited<ReturnType<Client['ask']>>, seen: readonly ModelRequest[]): void {
  expect(heard.calls).toEqual([{ at: 'here' }, { at: 'dort ✓' }])
  expect(heard.text).toBe('I have seen here\nseen dort ✓')
  // OpenAI's own package for chat knows no thoughts in streams.
  if (!client.name.includes('chat')) expect(heard.thoughts).toBe('Two places.Well.')
  expect(seen).toHaveLength(2)
  const [, called, told] = seen[1]!.messages
  const ids = called!.parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []))
  expect(new Set(ids).size).toBe(2)
  expect(told?.parts).toEqual(
    ids.map((id, at) => ({
      type: 'tool-result',
      id,
      name: 'look',
      parts: [{ type: 'text', text: ['seen here', 'seen dort ✓'][at] }],
    })),
  )
}

/** What a client's error says, whatever the client calls it. */
async function failureOf(asked: Promise<unknown>): Promise<{ readonly status: unknown; readonly text: string }> {
  const error = await asked.then(
    () => expect.fail('it did not fail'),
    (reason: unknown) => reason as { status?: number; statusCode?: number; message: string; responseBody?: string },
  )
  return { status: error.status ?? error.statusCode, text: `${error.message} ${error.responseBody ?? ''}` }
}
