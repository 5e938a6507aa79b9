/** Model nodes: what a model is told, what becomes of what it says. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { workflow, type LivePart } from 'nerve'
import { graph } from 'nerve/graph'
import { llm, tool } from 'nerve/models'
import { jsonSchema } from 'nerve/spec'
import { expectSame, paths } from '../behaviour/journal-views.ts'
import { openStage, quiet, rejection, timePasses, until } from '../behaviour/stage.ts'
import { providerError, scriptedModel } from './scripted-model.ts'

describe('llm', () => {
  it('tells the model what it is given and gives its answer', async () => {
    const { host } = await openStage()
    const model = scriptedModel(['Hello you.'])
    const greet = llm('greet', { model, system: 'Be kind.', prompt: (name: string) => `Greet ${name}.` })
    const run = await host.start(greet, 'Ada')
    expect(await run.result()).toBe('Hello you.')
    expect(model.asked[0]?.prompt).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Greet Ada.' }] },
    ])
    expect((await host.run(run.id)).usage).toMatchObject({ calls: 1, tokens: 110 })
  })

  it('streams text, thoughts and tool calls as live parts', async () => {
    const { host } = await openStage()
    const parts: unknown[] = []
    host.subscribe({ live: true }, (part) => {
      const { path, type, data } = part as LivePart
      parts.push([path, type, data])
    })
    const model = scriptedModel([{ think: 'Hm.', text: 'One two', calls: [{ tool: 'add', input: { a: 1 } }] }, 'done'])
    const add = tool(({ a }: { a: number }) => a + 1, {
      name: 'add',
      description: 'Adds one.',
      input: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
    })
    expect(await (await host.start(llm('ask', { model, tools: [add] }), 'go')).result()).toBe('done')
    expect(parts).toEqual([
      ['model', 'thinking-delta', 'Hm.'],
      ['model', 'text-delta', 'One '],
      ['model', 'text-delta', 'two'],
      ['model', 'tool-call', { id: 'call-1-1', name: 'add', input: { a: 1 } }],
      ['model#2', 'text-delta', 'done'],
    ])
    // What the model thought goes back to it with the provider's signature.
    expect(model.asked[1]?.prompt[1]).toMatchObject({
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'Hm.', providerOptions: { test: { signature: 'signed' } } }, {}, {}],
    })
  })

  it('takes images and files', async () => {
    const { host } = await openStage()
    const model = scriptedModel(['A cat.'])
    const image = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10])
    const look = llm('look', { model })
    const run = await host.start(look, [
      { type: 'text', text: 'What is this?' },
      { type: 'image', image },
    ])
    expect(await run.result()).toBe('A cat.')
    const [, sent] = (model.asked[0]?.prompt[0]?.content ?? []) as readonly Record<string, unknown>[]
    expect(sent).toMatchObject({ type: 'file', mediaType: 'image/png' })
    expect(JSON.stringify(sent)).toContain('137')
    const error = await rejection((await host.start(look, { text: 'no' } as never)).result())
    expect(error.message).toMatch(/input of llm 'look' is an object.*option prompt/)
  })

  it('gives what the schema makes of the answer', async () => {
    const { host } = await openStage()
    const model = scriptedModel(['```json\n{"name":"Ada","age":36}\n```'])
    const schema = z.object({ name: z.string().transform((name) => name.toUpperCase()), age: z.number() })
    const who = llm('who', { model, schema })
    expect(await (await host.start(who, 'Who?')).result()).toEqual({ name: 'ADA', age: 36 })
    expect(model.asked[0]?.responseFormat).toMatchObject({
      type: 'json',
      schema: { type: 'object', properties: { age: { type: 'number' } }, required: ['name', 'age'] },
    })
  })

  it('asks again for an answer that fits, each time as a step, and not for ever', async () => {
    const { host } = await openStage()
    const schema = jsonSchema<{ age: number }>({
      type: 'object',
      properties: { age: { type: 'number' } },
      required: ['age'],
    })
    const model = scriptedModel(['I think 36', '{"age":"36"}', '{"age":36}'])
    const run = await host.start(llm('age', { model, schema }), 'Age?')
    expect(await run.result()).toEqual({ age: 36 })
    const again = model.asked[2]?.prompt.at(-1)?.content as readonly { readonly text: string }[]
    expect(again[0]?.text).toMatch(/cannot be used: age: should be a number.*Answer again/)
    expect(model.asked[0]?.prompt[0]?.content).toMatch(/fit this JSON Schema: \{"type":"object"/)
    expect(await paths(host, run.id)).toEqual(['model', 'model#2', 'model#3'])
    await expectSame(host, run.id)

    const stubborn = scriptedModel(() => 'no')
    const error = await rejection(
      (await host.start(llm('age', { model: stubborn, schema, reasks: 1 }), 'Age?')).result(),
    )
    expect(error.cause).toMatchObject({ code: 'bad-output', data: { text: 'no' } })
    expect(stubborn.asked.length).toBe(2)
  })

  it('fails for an answer that was cut off or refused, unless a part will do', async () => {
    const { host } = await openStage()
    const model = scriptedModel(() => ({ text: 'Once upon', finish: 'length' }))
    const error = await rejection((await host.start(llm('tell', { model }), 'Tell.')).result())
    expect(error.cause).toMatchObject({ code: 'model-failed', data: { finish: 'length', text: 'Once upon' } })
    expect(await (await host.start(llm('tell', { model, cut: 'keep' }), 'Tell.')).result()).toBe('Once upon')
    const refusing = scriptedModel([{ text: '', finish: 'content-filter' }])
    expect((await rejection((await host.start(llm('tell', { model: refusing }), 'Tell.')).result())).message).toMatch(
      /refused/,
    )
  })

  it('tries again what may pass, and nothing else', async () => {
    const { host, clock } = await openStage()
    const model = scriptedModel([providerError(529), new Error('socket hang up'), 'at last'])
    const run = await host.start(llm('ask', { model }), 'go')
    expect(await timePasses(clock, run.result())).toBe('at last')
    expect((await host.run(run.id)).usage.calls).toBe(3)

    const wrong = scriptedModel([providerError(400)])
    const error = await rejection((await host.start(llm('ask', { model: wrong }), 'go')).result())
    expect(error.cause).toMatchObject({ code: 'model-failed', data: { status: 400, fault: 'request' } })
    expect(wrong.asked.length).toBe(1)
  })

  it('parks until a limit is over, and uses up no attempt', async () => {
    const { host, clock } = await openStage()
    const model = scriptedModel([
      providerError(429, { 'Retry-After': '3600' }),
      providerError(429, { 'retry-after-ms': '5' }),
      'here',
    ])
    const run = await host.start(llm('ask', { model, policy: { attempts: 1 } }), 'go')
    await run.rest()
    expect(await host.run(run.id)).toMatchObject({ status: 'waiting', wake: clock.now() + 3_600_000 })
    expect(await timePasses(clock, run.result())).toBe('here')
  })

  it('turns to other models when one cannot answer, not when the request is at fault', async () => {
    const { host, clock } = await openStage()
    const first = scriptedModel(() => providerError(429, { 'retry-after': '3600' }), 'first')
    const second = scriptedModel(() => providerError(500), 'second')
    const third = scriptedModel(() => 'third here', 'third')
    const ask = llm('ask', { model: first, fallback: [second, third] })
    const run = await host.start(ask, 'go')
    expect(await run.result()).toBe('third here')
    expect([first, second, third].map(({ asked }) => asked.length)).toEqual([1, 1, 1])
    expect((await host.run(run.id)).status).toBe('completed')

    const limited = scriptedModel([providerError(429, { 'retry-after': '60' }), 'later'], 'limited')
    const parked = await host.start(llm('ask', { model: first, fallback: [limited] }), 'go')
    await parked.rest()
    expect(await host.run(parked.id)).toMatchObject({ status: 'waiting', wake: clock.now() + 60_000 })
    expect(await timePasses(clock, parked.result())).toBe('later')

    const wrong = scriptedModel(() => providerError(401))
    const other = scriptedModel(() => 'no')
    const refused = await host.start(llm('ask', { model: wrong, fallback: [other] }), 'go')
    expect((await rejection(timePasses(clock, refused.result()))).cause).toMatchObject({ code: 'model-failed' })
    expect(other.asked.length).toBe(0)
  })

  it('sets tokens and dollars aside before it calls, and is refused before a call that would exceed', async () => {
    const { host } = await openStage()
    const model = scriptedModel(() => ({ text: 'yes', usage: { input: 1_000, output: 500 } }))
    const ask = llm('ask', { model, maxOutputTokens: 1_000, price: { input: 1, output: 4 } })
    const twice = workflow('twice', async (ctx) => [await ctx.run(ask, 'a'), await ctx.run(ask, 'b')])
    const run = await host.start(twice, undefined, { budget: { usd: 0.006 } })
    await until(async () => (await host.run(run.id)).status === 'exhausted')
    expect(model.asked.length).toBe(1)
    expect((await host.run(run.id)).usage).toMatchObject({ calls: 1, tokens: 1_500, usd: 0.003 })
    await run.resume({ budget: { usd: 0.01 } })
    expect(await run.result()).toEqual(['yes', 'yes'])
    expect(model.asked[0]?.maxOutputTokens).toBe(1_000)
  })

  it('never makes more calls at once than a budget has, and goes on when it is raised', async () => {
    const { host } = await openStage()
    let most = 0
    let open = 0
    const model = scriptedModel(async () => {
      most = Math.max(most, (open += 1))
      await quiet(3)
      open -= 1
      return { text: 'yes' }
    })
    const ask = llm('ask', { model })
    const many = workflow('many', (ctx) => ctx.map([...Array(50).keys()], (n) => ctx.run(ask, `${n}`)))
    const run = await host.start(many, undefined, { budget: { calls: 10 } })
    await until(async () => (await host.run(run.id)).status === 'exhausted')
    await quiet()
    expect(model.asked.length).toBe(10)
    expect(most).toBeLessThanOrEqual(10)
    expect((await host.run(run.id)).usage.calls).toBe(10)
    await run.resume({ budget: { calls: 50 } })
    expect(await run.result()).toHaveLength(50)
    expect(model.asked.length).toBe(50)
  })

  it('says how full the window is', async () => {
    const { host } = await openStage()
    const model = scriptedModel([{ text: 'yes', usage: { input: 600, output: 150 } }])
    const run = await host.start(llm('ask', { model, contextWindow: 1_000 }), 'a')
    await run.result()
    expect((await host.run(run.id)).usage.window).toBe(0.75)
  })

  it('stops the call when the run is cancelled', async () => {
    const { host } = await openStage()
    const model = scriptedModel(
      ({ abortSignal }) =>
        new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(abortSignal.reason as Error))),
    )
    const run = await host.start(llm('ask', { model }), 'go')
    await until(() => model.asked.length === 1)
    await run.cancel()
    expect(model.asked[0]?.abortSignal?.aborted).toBe(true)
    expect((await host.run(run.id)).status).toBe('cancelled')
  })

  it('is a step of a graph, shown with its tools', async () => {
    const { host } = await openStage()
    const model = scriptedModel(['B'])
    const shout = tool('shouter', { name: 'shout', description: 'Shouts.', input: { type: 'string' } })
    const ask = llm('ask', { model, tools: [shout] })
    expect(ask.outline?.()).toEqual({
      id: 'ask',
      kind: 'llm',
      note: 'test:scripted',
      parts: [{ id: 'shout', kind: 'tool', note: 'shouter' }],
    })
    const flow = graph<string>('flow').step('answer', ask, { inputFn: (_, { input }) => input })
    expect((await rejection(host.start(flow, 'A'))).message).toMatch(/tool 'shout' refers to the node 'shouter'/)
    const plain = graph<string>('plain').step('answer', llm('ask', { model }), { inputFn: (_, { input }) => input })
    expect(await (await host.start(plain, 'A')).result()).toEqual({ answer: 'B' })
  })

  it('names what is wrong with its options', () => {
    const model = scriptedModel([])
    expect(() => llm('a/b', { model })).toThrow(/not an id for a llm/)
    expect(() => llm('a', { model: 'claude' })).toThrow(/Write PROVIDER:MODEL/)
    expect(() => llm('a', { model: {} as never })).toThrow(/neither a model object/)
    expect(() => llm('a', { model, sytem: 'x' } as never)).toThrow(/no option 'sytem'. Did you mean 'system'/)
    expect(() => llm('a', { model, rounds: 0 })).toThrow(/rounds is 0/)
    expect(() => llm('a', { model, jsonSchema: { type: 'string' } })).toThrow(/not that of an object/)
    const mute = { '~standard': { version: 1, vendor: 'mute', validate: () => ({ value: 1 }) } } as const
    expect(() => llm('a', { model, schema: mute })).toThrow(/'mute' cannot say its schemas as JSON Schema/)
    expect(() => llm('a', { model, toolChoice: { tool: 'x' } })).toThrow(/toolChoice/)
  })
})
