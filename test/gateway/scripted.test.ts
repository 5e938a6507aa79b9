/** The scripted back end through the gateway, as raw requests in several formats. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseScript, scripted } from 'nerve/gateway'
import { SimulatedClock } from 'nerve/testing'
import { rejection, timePasses } from '../behaviour/stage.ts'
import { ask, json, openGateway, readStream, type House, type Loose } from './house.ts'

const SCRIPT = await parseScript(`
models: [scripted]
rules:
  - when: { user: 'fix (\\w+)' }
    steps:
      - think: The tests first.
        say: I look at {{1}}.
        call: { sh: npm test }
      - call:
          - { write: { path: a.txt, text: "done {{1}}" } }
          - { read: a.txt }
      - say: 'It said: {{last}}'
  - when: { user: hello }
    say: Hello yourself
    usage: { input: 7, output: 3 }
`)

const TOOLS = [
  {
    name: 'Bash',
    input_schema: {
      type: 'object',
      properties: { command: { type: 'string' }, description: { type: 'string' } },
      required: ['command', 'description'],
    },
  },
  { name: 'Write', input_schema: { type: 'object', properties: { file_path: {}, content: {} } } },
  { name: 'Read', input_schema: { type: 'object', properties: { file_path: {} } } },
]

describe('a script', () => {
  it('is followed step by step, by the transcript alone', async () => {
    const { post } = await openGateway(SCRIPT)
    const messages: object[] = [{ role: 'user', content: 'please fix parsing' }]
    const next = async (): Promise<Loose> => {
      const response = await post('/v1/messages', ask('', { messages, tools: TOOLS }))
      expect(response.status).toBe(200)
      return response.json()
    }
    const first = await next()
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'The tests first.' },
      { type: 'text', text: 'I look at parsing.' },
      { type: 'tool_use', name: 'Bash', input: { command: 'npm test', description: 'a step of the script' } },
    ])
    expect(first.stop_reason).toBe('tool_use')
    // The same transcript has the same reply, ids and all.
    expect(await next()).toEqual(first)
    const call = first.content[2].id
    messages.push(
      { role: 'assistant', content: first.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: call, content: '1 failed' },
          { type: 'text', text: '<system-reminder>hello</system-reminder>' },
        ],
      },
    )
    const second = await next()
    expect(second.content).toMatchObject([
      { name: 'Write', input: { file_path: 'a.txt', content: 'done parsing' } },
      { name: 'Read', input: { file_path: 'a.txt' } },
    ])
    messages.push(
      { role: 'assistant', content: second.content },
      {
        role: 'user',
        content: second.content.map(({ id }: { id: string }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: `result`,
        })),
      },
    )
    expect((await next()).content).toMatchObject([{ type: 'text', text: 'It said: result\nresult' }])
  })

  it('streams, and reports its usage', async () => {
    const { post } = await openGateway(SCRIPT)
    const { data, text } = await readStream(await post('/v1/messages', ask('hello', { stream: true })))
    expect(text).toBe('Hello yourself')
    expect(data.find((one) => one.type === 'message_delta').usage).toMatchObject({ output_tokens: 3 })
    const chat = await readStream(
      await post('/v1/chat/completions', {
        model: 'scripted',
        messages: [{ role: 'user', content: 'hello' }],
        stream: true,
        stream_options: { include_usage: true },
      }),
    )
    expect(chat.text).toBe('Hello yourself')
    expect(chat.data.at(-1).usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 })
  })
})

describe('a rule', () => {
  const said = async (house: House, body: object): Promise<string> => {
    const reply = await json(house.post('/v1/messages', body))
    return reply.error?.message ?? reply.content.map((part: Loose) => part.text).join()
  }

  it('matches what the user, the system, the model and the tools are', async () => {
    const house = await openGateway({
      rules: [
        { when: { system: 'title' }, say: 'A title' },
        { when: { model: '^small', user: 'hi' }, say: 'small' },
        { when: { tool: '^search$' }, say: 'can search' },
        { when: { user: 'HI (?<name>.*)' }, say: 'hi {{1}}, {{user}}, {{nothing}}' },
      ],
    })
    expect(await said(house, ask('x', { system: 'Write a title' }))).toBe('A title')
    expect(await said(house, ask('hi', { model: 'small-1' }))).toBe('small')
    expect(await said(house, ask('x', { tools: [{ name: 'search', input_schema: { type: 'object' } }] }))).toBe(
      'can search',
    )
    expect(await said(house, ask('hi Ann'))).toBe('hi Ann, hi Ann, {{nothing}}')
    expect(await said(house, ask('nobody knows'))).toMatch(/^No rule of the script matches .* "nobody knows"/)
  })

  it('that has had its answer is not taken again for what comes after', async () => {
    const house = await openGateway({ rules: [{ when: { user: 'one' }, say: 'first' }], otherwise: { say: 'other' } })
    const turn = (role: string, content: string): object => ({ role, content })
    const messages = [turn('user', 'one'), turn('assistant', 'first'), turn('user', 'two')]
    expect(await said(house, ask('', { messages }))).toBe('other')
  })

  it('that calls a tool answers requests on the side, which offer none', async () => {
    const rules = [{ when: { user: 'go' }, steps: [{ call: { sh: 'ls' } }, { say: 'done' }] }]
    expect(await said(await openGateway({ rules, side: 'A title' }), ask('go'))).toBe('A title')
    const wrong = await openGateway({ rules })
    const tools = [{ name: 'search', input_schema: { type: 'object' } }]
    expect(await said(wrong, ask('go', { tools }))).toBe(
      "The script wants to call 'sh', and no tool can do it. Offered: search.",
    )
  })

  it('whose steps are over says so', async () => {
    const house = await openGateway({ rules: [{ when: { user: 'go' }, steps: [{ call: { tool: 't' } }] }] })
    const call = { type: 'tool_use', id: 'c', name: 't', input: {} }
    const result = { type: 'tool_result', tool_use_id: 'c', content: 'x' }
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [call] },
      { role: 'user', content: [result] },
    ]
    const tools = [{ name: 't', input_schema: { type: 'object' } }]
    expect(await said(house, ask('', { messages, tools }))).toBe('The script has ended.')
  })

  it('may be a function of the transcript', async () => {
    const house = await openGateway({
      backend: scripted(({ model }, { user, step }) =>
        user === 'no' ? undefined : { say: `${model} ${user} ${step}` },
      ),
    })
    expect(await said(house, ask('yes'))).toBe('scripted yes 0')
    expect(await said(house, ask('no'))).toContain('No rule')
  })
})

describe('a scripted failure', () => {
  it('comes so often as it says, for each client and request', async () => {
    const house = await openGateway({
      rules: [{ when: { user: 'x' }, fail: { status: 529, times: 2, retryAfter: '3s' }, say: 'at last' }],
    })
    const status = async (text: string, headers = {}): Promise<number> =>
      (await house.post('/v1/messages', ask(text), { headers })).status
    expect([await status('x'), await status('x'), await status('x'), await status('x')]).toEqual([529, 529, 200, 200])
    expect(await status('x 2')).toBe(529)
    expect(await status('x', { authorization: `Bearer ${house.token().token}` })).toBe(529)
    const first = await house.post('/v1/messages', ask('x 3'))
    expect(first.headers.get('retry-after')).toBe('3')
    expect(await json(first)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
  })

  it('may come in the middle of a stream', async () => {
    const house = await openGateway({
      rules: [{ say: 'abcdef', fail: { status: 500, after: 2 }, stream: { chunk: 2 } }],
    })
    const { data, text } = await readStream(await house.post('/v1/messages', ask('x', { stream: true })))
    expect(text).toBe('abcd')
    expect(data.at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    expect((await house.post('/v1/messages', ask('x'))).status).toBe(500)
  })
})

it('a script streams as slowly as it says', async () => {
  const clock = new SimulatedClock()
  const backend = scripted({ rules: [{ say: 'abcdef', wait: '1m', stream: { chunk: 2, delay: '10s' } }] }, { clock })
  const house = await openGateway({ backend, clock })
  const start = clock.now()
  const response = await timePasses(clock, house.post('/v1/messages', ask('x', { stream: true })))
  const { text } = await timePasses(clock, readStream(response))
  expect([text, clock.now() - start]).toEqual(['abcdef', 60_000 + 30_000])
})

describe('the formats', () => {
  const script = { rules: [{ say: 'Hello yourself', usage: { input: 7, output: 3 } }] }

  it('of the responses and of Gemini are spoken too, at once and as streams', async () => {
    const house = await openGateway(script)
    const input = { model: 'scripted', input: 'hello' }
    expect(await json(house.post('/v1/responses', input))).toMatchObject({
      output: [{ content: [{ text: 'Hello yourself' }] }],
      usage: { input_tokens: 7, output_tokens: 3 },
    })
    const streamed = await readStream(await house.post('/v1/responses', { ...input, stream: true }))
    expect(streamed.data.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { usage: { output_tokens: 3 } },
    })
    const contents = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }
    const whole = await json(house.post('/v1beta/models/scripted:generateContent', contents))
    expect(whole).toMatchObject({
      candidates: [{ content: { parts: [{ text: 'Hello yourself' }] } }],
      usageMetadata: { promptTokenCount: 7 },
    })
    const gemini = await readStream(await house.post('/v1beta/models/scripted:streamGenerateContent?alt=sse', contents))
    expect(gemini.data.map((one) => one.candidates[0].content?.parts?.[0]?.text ?? '').join('')).toBe('Hello yourself')
    expect(house.log.recent.map(({ usage }) => usage)).toEqual(
      Array.from({ length: 4 }, () => ({ input: 7, output: 3 })),
    )
  })
})

it('the script of the documentation is one', async () => {
  const page = readFileSync(new URL('../../docs/guide/gateway.md', import.meta.url), 'utf8')
  const { rules } = await parseScript(/```yaml\n([^]*?)```/.exec(page)?.[1] ?? '')
  expect(rules).toHaveLength(3)
})

describe('a script that is wrong', () => {
  it('is refused with everything that is wrong with it', async () => {
    const text = `
rules:
  - when: { user: '(' , colour: red }
    say: 3
  - steps: []
  - call: { sh: ls, read: a }
  - fail: 200
    steam: { chunk: 0 }
more: 1
`
    const error = await rejection(parseScript(text, 'a.yaml'))
    expect(error).toMatchObject({ code: 'bad-file' })
    for (const problem of [
      /^a\.yaml cannot be used/,
      /rules\[0\]\.when\.user is no regular expression/,
      /rules\[0\]\.when\.colour is unknown/,
      /rules\[0\]\.say is 3, not text/,
      /rules\[1\]\.steps is empty/,
      /rules\[2\]\.call calls 2 tools/,
      /rules\[3\]\.fail is 200, not a status/,
      /rules\[3\]\.steam is unknown \(did you mean stream\?\)/,
      /more is unknown/,
    ])
      expect(error.message).toMatch(problem)
    expect((await rejection(parseScript('rules: [', 'b.yaml'))).message).toMatch(/^b\.yaml is no YAML/)
    expect((await rejection(parseScript('{}'))).message).toContain('has no rules')
  })
})
