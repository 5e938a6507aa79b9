import { generateText } from 'ai'
import { describe, expect, it } from 'vitest'
import { createHost, type Definition } from 'nerve'
import { chat, llm, tool, type Prompt } from 'nerve/models'
import { SimulatedClock, expectRun, runFacts, scriptedModel } from './index.ts'

const look = tool(({ at }: { at: string }) => `<${at}>`, {
  name: 'look',
  description: 'Looks.',
  input: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
})

async function answerOf<Output>(definition: Definition<Prompt, Output>, input: Prompt): Promise<Output> {
  const host = await createHost({ store: 'memory' })
  try {
    return await (await host.start(definition, input)).result()
  } finally {
    await host.close()
  }
}

describe('a scripted model in this process', () => {
  it('uses tools, and is told what they gave', async () => {
    const model = scriptedModel({
      rules: [
        {
          when: { user: 'look at (\\w+)', system: 'careful' },
          steps: [
            { think: 'Where?', say: 'I look.', call: { tool: 'look', input: { at: '{{1}}' } } },
            { say: 'I saw {{last}}.', usage: { input: 40, output: 2 } },
          ],
        },
      ],
    })
    const host = await createHost({ store: 'memory' })
    const careful = llm('careful', { model, system: 'Be careful.', tools: [look], maxOutputTokens: 50 })
    const run = await host.start(careful, 'Look at moss')
    await run.rest()
    await expectRun(host, run, { output: 'I saw <moss>.', steps: { model: 2, 'tools/1/look': 1 }, usage: { calls: 2 } })
    expect(model.asked[1]).toMatchObject({
      model: 'scripted',
      system: ['Be careful.'],
      maxTokens: 50,
      tools: [{ name: 'look', description: 'Looks.' }],
      messages: [
        { role: 'user', parts: [{ type: 'text', text: 'Look at moss' }] },
        { role: 'assistant', parts: [{ type: 'thinking' }, { type: 'text' }, { type: 'tool-call', name: 'look' }] },
        { role: 'user', parts: [{ type: 'tool-result', name: 'look', parts: [{ text: '<moss>' }] }] },
      ],
    })
    const { steps } = runFacts(await host.journal(run.id))
    expect(steps.at(-1)).toMatchObject({
      path: 'model#2',
      output: { model: 'scripted', usage: { input: 40, output: 2 } },
    })
    await host.close()
  })

  it('answers with an object, and is asked again when it does not fit', async () => {
    const model = scriptedModel((request) => ({
      say: request.messages.length === 1 ? '{}' : '{"name":"Ada"}',
    }))
    const jsonSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    expect(await answerOf(llm<{ name: string }>('who', { model, jsonSchema }), 'Who?')).toEqual({ name: 'Ada' })
    expect(model.asked[0]?.json).toEqual({ schema: jsonSchema })
  })

  it('sees the conversation of a chat, with images', async () => {
    const model = scriptedModel(({ messages }) => ({ say: `${messages.length}` }))
    const helper = chat('helper', { model })
    await answerOf(helper, 'Hello')
    expect(await answerOf(helper, [{ type: 'image', image: 'iVBORw0KGgo=', mediaType: 'image/png' }])).toBe('3')
    expect(model.asked[1]?.messages.at(-1)?.parts).toEqual([
      { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
    ])
  })

  it('fails as a provider does: tried again, at once, in the middle of a reply, or after a time', async () => {
    const passing = scriptedModel({ rules: [{ fail: { status: 529, times: 1 }, say: 'Now.' }] })
    expect(await answerOf(llm('ask', { model: passing, policy: { backoff: 1 } }), 'Hi')).toBe('Now.')
    const cut = scriptedModel({ rules: [{ fail: { status: 500, after: 1, times: 1 }, say: 'A reply in two pieces.' }] })
    expect(await answerOf(llm('ask', { model: cut, policy: { backoff: 1 } }), 'Hi')).toBe('A reply in two pieces.')
    expect(cut.asked).toHaveLength(2)

    const wrong = scriptedModel({ rules: [{ when: { user: 'other' }, say: 'x' }] })
    await expect(answerOf(llm('ask', { model: wrong }), 'Hi')).rejects.toThrow('No rule of the script')
    expect(wrong.asked).toHaveLength(1)

    const clock = new SimulatedClock()
    const limited = scriptedModel(
      { rules: [{ fail: { status: 429, retryAfter: '1h', times: 1 }, say: 'Now.' }] },
      { clock },
    )
    const host = await createHost({ store: 'memory', clock })
    const run = await host.start(llm('ask', { model: limited }), 'Hi')
    expect(await run.rest()).toBe('waiting')
    expect((await host.run(run.id)).wake).toBe(clock.now() + 3_600_000)
    clock.advance(3_600_000)
    expect(await run.result()).toBe('Now.')
    await host.close()
  })

  it('is a model of the AI SDK also without Nerve', async () => {
    const model = scriptedModel({ rules: [{ think: 'Hm.', say: 'Hello, {{user}}.' }] }, { name: 'mine' })
    const { text, finishReason, finalStep } = await generateText({
      model: model as unknown as Parameters<typeof generateText>[0]['model'],
      prompt: 'Ada',
    })
    expect([text, finalStep.reasoningText, finishReason]).toEqual(['Hello, Ada.', 'Hm.', 'stop'])
    expect(finalStep.response.modelId).toBe('mine')
  })
})
