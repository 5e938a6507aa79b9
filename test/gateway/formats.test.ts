/** What the formats must be exact about, one thing at a time. Whole messages are in the golden files. */
import { describe, expect, it } from 'vitest'
import { isNerveError } from '../../src/base/nerve-error.ts'
import type { ModelPart, ModelReply, ModelRequest, WireFormat } from '../../src/gateway/exchange.ts'
import { failureFrom } from '../../src/gateway/formats/failures.ts'
import type { RequestRoute } from '../../src/gateway/formats/format.ts'
import { FORMATS } from '../../src/gateway/formats/formats.ts'
import { eventsOfReply } from '../../src/gateway/formats/reply-events.ts'
import { routeOf } from '../../src/gateway/formats/route.ts'
import { sseParser } from '../../src/gateway/formats/sse.ts'

const { anthropic, 'openai-chat': chat, 'openai-responses': responses, gemini } = FORMATS
const NAMES = Object.keys(FORMATS) as WireFormat[]
const CALL: RequestRoute = { operation: 'call', model: 'model-1' }
const NOW = 1_790_000_000_000

const REQUEST: ModelRequest = { model: 'model-1', system: [], messages: [], tools: [], stream: false }
const hello = { role: 'user' as const, parts: [{ type: 'text' as const, text: 'hello' }] }
const reply = (...parts: ModelPart[]): ModelReply => ({
  id: 'r1',
  model: 'm',
  parts,
  stop: 'end',
  usage: { input: 1, output: 1 },
})

function fieldOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return isNerveError(error, 'bad-input') ? error.data['field'] : error
  }
  return undefined
}

// oxlint-disable-next-line no-explicit-any -- tests look into what was written
const bodyOf = (format: WireFormat, request: ModelRequest): any => FORMATS[format].writeRequest(request).body

describe('routes', () => {
  it.each([
    ['POST', '/v1/messages', 'anthropic', 'call'],
    ['POST', '/v1/messages?beta=true', 'anthropic', 'call'],
    ['POST', '//v1//messages/', 'anthropic', 'call'],
    ['POST', '/v1//chat//completions', 'openai-chat', 'call'],
    ['POST', '/v1/messages/count_tokens', 'anthropic', 'count'],
    ['POST', '/v1/chat/completions', 'openai-chat', 'call'],
    ['POST', '/chat/completions', 'openai-chat', 'call'],
    ['POST', '/v1/responses', 'openai-responses', 'call'],
    ['POST', '/v1/responses/input_tokens', 'openai-responses', 'count'],
    ['POST', '/v1beta/models/a-b.1:generateContent', 'gemini', 'call', 'a-b.1'],
    ['POST', '/v1beta/models/a-b.1:streamGenerateContent?alt=sse', 'gemini', 'stream', 'a-b.1'],
    ['POST', '/v1beta/models/some%2Fmodel:countTokens', 'gemini', 'count', 'some/model'],
    ['GET', '/v1/models', 'openai-chat', 'models'],
    ['GET', '/v1beta/models?pageSize=50', 'gemini', 'models'],
    ['GET', '/v1/models/gpt-1', 'openai-chat', 'models', 'gpt-1'],
  ] as const)('%s %s', (method, path, format, operation, model?: string) => {
    expect(routeOf(method, path)).toEqual({ format, operation, ...(model === undefined ? {} : { model }) })
  })

  it('knows lists of models by their headers, and nothing else', () => {
    expect(routeOf('GET', '/v1/models', { 'anthropic-version': '2023-06-01' })?.format).toBe('anthropic')
    expect(routeOf('GET', '/v1/models', { 'x-goog-api-key': 'x' })?.format).toBe('gemini')
    expect(routeOf('GET', '/v1/messages')).toBeUndefined()
    expect(routeOf('POST', '/v1/embeddings')).toBeUndefined()
    expect(routeOf('POST', '/v1/models/%ZZ:other')).toBeUndefined()
    expect(routeOf('DELETE', '/v1/models')).toBeUndefined()
  })
})

describe('server-sent events', () => {
  const text =
    '\uFEFF: hi\r\ndata: ä\r\ndata:b\r\n\r\nevent: x\ndata: 1\n\nevent: none\n\ndata\n\nid: 7\rdata: 2\r\rdata: last'
  const frames = [{ data: 'ä\nb' }, { event: 'x', data: '1' }, { data: '' }, { data: '2' }, { data: 'last' }]

  it('are the same wherever the bytes are cut', () => {
    const bytes = new TextEncoder().encode(text)
    for (let size = 1; size <= bytes.length; size += 1) {
      const parser = sseParser()
      const read = []
      for (let from = 0; from < bytes.length; from += size) read.push(...parser.push(bytes.subarray(from, from + size)))
      read.push(...parser.end())
      expect(read, `pieces of ${size}`).toEqual(frames)
    }
  })
})

describe('requests that do not fit', () => {
  const messages = [{ role: 'user', content: 'hello' }]
  it.each([
    ['anthropic', [], 'body'],
    ['anthropic', { max_tokens: 1, messages }, 'model'],
    ['anthropic', { model: 'm', messages }, 'max_tokens'],
    ['anthropic', { model: 'm', max_tokens: 1 }, 'messages'],
    ['anthropic', { model: 'm', max_tokens: '1', messages }, 'max_tokens'],
    ['anthropic', { model: 'm', max_tokens: 1, messages: [{ role: 'robot', content: '' }] }, 'messages.0.role'],
    [
      'anthropic',
      { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages.0.content.0.text',
    ],
    ['anthropic', { model: 'm', max_tokens: 1, messages, tools: [{ name: 'x' }] }, 'tools.0.input_schema'],
    ['openai-chat', { model: 'm', messages, n: 2 }, 'n'],
    ['openai-chat', { model: 'm', messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.tool_call_id'],
    ['openai-chat', { model: 'm', messages, reasoning_effort: 'lots' }, 'reasoning_effort'],
    [
      'openai-responses',
      { model: 'm', input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,%E0%A4' }] }] },
      'input.0.content.0.image_url',
    ],
    ['openai-responses', { model: 'm', input: 'x', previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['openai-responses', { model: 'm', input: 'x', conversation: 'c' }, 'conversation'],
    ['openai-responses', { model: 'm', input: 'x', background: true }, 'background'],
    ['openai-responses', { model: 'm' }, 'input'],
    ['gemini', {}, 'contents'],
    ['gemini', { contents: [], generationConfig: { candidateCount: 2 } }, 'generationConfig.candidateCount'],
    ['gemini', { contents: [{ role: 'robot', parts: [] }] }, 'contents.0.role'],
  ] as const)('%s %j names %s', (format, body, field) => {
    expect(fieldOf(() => FORMATS[format].readRequest(body, CALL))).toBe(field)
  })

  it('are refused in the words of the format', () => {
    const body = { model: 'm', input: 'x', previous_response_id: 'resp_1' }
    const failure = failureFrom(catchError(() => responses.readRequest(body, CALL)))
    expect(responses.writeFailure(failure, NOW)).toMatchObject({
      status: 400,
      body: {
        error: {
          type: 'invalid_request_error',
          param: 'previous_response_id',
          message: expect.stringContaining('whole conversation'),
        },
      },
    })
  })
})

function catchError(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

describe('what only one format has', () => {
  it('is refused in a translation, and kept for its own format', () => {
    const logprobs = chat.readRequest({ model: 'm', messages: [{ role: 'user', content: 'x' }], logprobs: true }, CALL)
    expect(fieldOf(() => anthropic.writeRequest(logprobs))).toBe('logprobs')
    expect(fieldOf(() => chat.writeRequest(logprobs))).toBeUndefined()
    const block = { type: 'search_result', source: 'x', title: 'y', content: [] }
    const search = anthropic.readRequest(
      { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: [block] }] },
      CALL,
    )
    expect(fieldOf(() => gemini.writeRequest(search))).toBe('messages')
    expect(bodyOf('anthropic', search).messages[0].content).toEqual([block])
  })

  it('is not offered when it is a tool that another provider runs', () => {
    const body = {
      model: 'm',
      input: 'x',
      tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: null }],
      tool_choice: 'auto',
    }
    const request = responses.readRequest(body, CALL)
    expect(bodyOf('anthropic', request).tools).toMatchObject([{ name: 'f' }])
    expect(bodyOf('openai-responses', request).tools).toContainEqual({ type: 'web_search' })
    const forced = responses.readRequest({ ...body, tool_choice: { type: 'web_search' } }, CALL)
    expect(fieldOf(() => anthropic.writeRequest(forced))).toBe('tool_choice')
    const alone = responses.readRequest({ ...body, tools: [{ type: 'web_search' }] }, CALL)
    expect(bodyOf('openai-chat', alone)).not.toHaveProperty('tool_choice')
  })
})

describe('Anthropic', () => {
  it('gets what it demands', () => {
    expect(bodyOf('anthropic', { ...REQUEST, messages: [hello] })).toEqual({
      model: 'model-1',
      max_tokens: 32_000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    })
    const thinking = bodyOf('anthropic', { ...REQUEST, maxTokens: 100, temperature: 0, thinking: { budget: 2_000 } })
    expect(thinking).toMatchObject({ max_tokens: 3_024, thinking: { type: 'enabled', budget_tokens: 2_000 } })
    expect(thinking).not.toHaveProperty('temperature')
    const tools = [{ name: 'f', input: {} }]
    const forced = bodyOf('anthropic', { ...REQUEST, tools, toolChoice: 'required', thinking: { effort: 'high' } })
    expect(forced).not.toHaveProperty('thinking')
    expect(forced.tools).toEqual([{ name: 'f', input_schema: { type: 'object' } }])
  })

  it('gets no thoughts without proof, and tools for the calls of the conversation', () => {
    const messages = [
      hello,
      {
        role: 'assistant' as const,
        parts: [
          { type: 'thinking' as const, text: 'hm' },
          { type: 'tool-call' as const, id: 'functions.f:0', name: 'f', input: 'broken {' },
        ],
      },
      { role: 'user' as const, parts: [{ type: 'tool-result' as const, id: 'functions.f:0', name: 'f', parts: [] }] },
    ]
    const body = bodyOf('anthropic', { ...REQUEST, messages, thinking: { budget: 2_000 } })
    expect(body.messages[1].content).toEqual([
      { type: 'tool_use', id: 'functions_f_0', name: 'f', input: { input: 'broken {' } },
    ])
    expect(body.messages[2].content).toEqual([{ type: 'tool_result', tool_use_id: 'functions_f_0', content: [] }])
    expect(body).toMatchObject({ tools: [{ name: 'f' }], tool_choice: { type: 'none' } })
    expect(body).not.toHaveProperty('thinking')
  })
})

describe('proofs of thoughts', () => {
  it('reach OpenAI with the id of their item again, through a client of another format', () => {
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'secret' },
    ]
    const heard = responses.readReply({ id: 'resp_1', model: 'm', status: 'completed', output }, REQUEST)
    const { content } = anthropic.writeReply(heard, REQUEST) as { content: unknown }
    const sent = { model: 'm', max_tokens: 1, messages: [{ role: 'assistant', content }] }
    const [item] = bodyOf('openai-responses', anthropic.readRequest(sent, CALL)).input
    expect(item).toEqual(output[0])
  })

  it('of another provider pass a client of Responses as they are', () => {
    for (const part of [
      { type: 'thinking', text: 'hm', signature: 'proof' },
      { type: 'thinking', text: '', hidden: 'proof' },
      { type: 'thinking', text: '', signature: 'proof' },
    ] as const) {
      const { output } = responses.writeReply(reply(part), REQUEST) as { output: unknown }
      const [message] = responses.readRequest({ model: 'm', input: output }, CALL).messages
      expect(message?.parts).toEqual([part])
    }
  })

  it('of calls are asked for by newer Gemini models only, for the first of several', () => {
    const call = (id: string) => ({ type: 'tool-call', id, name: 'f', input: {} }) as const
    const messages = [hello, { role: 'assistant' as const, parts: [call('a'), call('b')] }]
    const parts = (model: string): unknown => bodyOf('gemini', { ...REQUEST, model, messages }).contents[1].parts
    expect(parts('gemini-3-pro')).toMatchObject([{ thoughtSignature: 'skip_thought_signature_validator' }, {}])
    expect(JSON.stringify(parts('gemini-2.5-pro'))).not.toContain('thoughtSignature')
    const body = { contents: [{ role: 'model', parts: parts('gemini-3-pro') }] }
    expect(gemini.readRequest(body, CALL).messages[0]?.parts).toEqual([call('a'), call('b')])
  })
})

describe('tools that take plain text, and groups of tools', () => {
  const tools = [
    { type: 'custom', name: 'apply_patch' },
    { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read', parameters: { type: 'object' } }] },
  ]
  const request = responses.readRequest(
    { model: 'm', input: 'x', tools, tool_choice: { type: 'custom', name: 'apply_patch' } },
    CALL,
  )
  const calls = [
    { type: 'tool_use', id: 'a', name: 'apply_patch', input: { input: '*** "Begin"\n' } },
    { type: 'tool_use', id: 'b', name: 'files__read', input: { at: 1 } },
  ]
  const items = [
    { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** "Begin"\n' },
    { type: 'function_call', call_id: 'b', name: 'read', namespace: 'files', arguments: '{"at":1}' },
  ]

  it('are told to a provider that has neither', () => {
    expect(bodyOf('anthropic', request)).toMatchObject({
      tools: [
        { name: 'apply_patch', input_schema: { properties: { input: { type: 'string' } } } },
        { name: 'files__read' },
      ],
      tool_choice: { type: 'tool', name: 'apply_patch' },
    })
  })

  it('are what the client offered when the reply comes back, at once and as a stream', () => {
    const heard = anthropic.readReply(
      { id: 'msg', model: 'm', content: calls, stop_reason: 'tool_use', usage: {} },
      request,
    )
    expect(responses.writeReply(heard, request)).toMatchObject({ output: items })
    const write = responses.writeStream(request)
    const text = eventsOfReply(heard)
      .map((event) => write(event))
      .join('')
    const done = sseParser()
      .push(text)
      .map(({ data }) => JSON.parse(data) as { type: string; item: unknown })
    expect(done.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)).toMatchObject(items)
    expect(done.filter(({ type }) => type === 'response.custom_tool_call_input.delta')).toMatchObject([
      { delta: '*** "Begin"\n' },
    ])
  })
})

describe('Gemini', () => {
  it('has calls without ids: they get ones that stay as the conversation grows', () => {
    const call = (at: number) => ({ functionCall: { name: 'f', args: { at } } })
    const answer = (output: string) => ({ functionResponse: { name: 'f', response: { output } } })
    const contents = [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: [call(1), call(2)] },
      { role: 'user', parts: [answer('one'), answer('two')] },
    ]
    const before = gemini.readRequest({ contents }, CALL)
    const heard = gemini.readReply({ candidates: [{ content: { parts: [call(3)] }, finishReason: 'STOP' }] }, before)
    const after = gemini.readRequest({ contents: [...contents, { role: 'model', parts: [call(3)] }] }, CALL)
    expect(after.messages.slice(0, 3)).toEqual(before.messages)
    expect(after.messages[3]?.parts).toEqual(heard.parts)
    expect(before.messages[2]?.parts).toMatchObject([
      { id: 'call_0', parts: [{ text: 'one' }] },
      { id: 'call_1', parts: [{ text: 'two' }] },
    ])
    expect(heard.parts).toMatchObject([{ id: 'call_2' }])
  })

  it('has turns in pieces, as its clients send streams back', () => {
    const thought = (text: string, more = {}) => ({ text, thought: true, ...more })
    const parts = [
      thought('A '),
      thought('file.'),
      thought('', { thoughtSignature: 'proof' }),
      thought('B'),
      { text: 'I ' },
      { text: 'am' },
    ]
    const contents = [
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'model', parts },
    ]
    const [asked, told] = gemini.readRequest({ contents }, CALL).messages
    expect(asked?.parts).toHaveLength(2)
    expect(told?.parts).toEqual([
      { type: 'thinking', text: 'A file.', signature: 'proof' },
      { type: 'thinking', text: 'B' },
      { type: 'text', text: 'I am' },
    ])
  })
})

describe('usage in a stream of Chat Completions', () => {
  const events = eventsOfReply(reply({ type: 'text', text: 'x' }))
  const last = (request: ModelRequest): string => {
    const write = chat.writeStream(request)
    return events.map((event) => write(event)).join('')
  }

  it('comes only when the client asked for it', () => {
    expect(last(REQUEST)).not.toContain('usage')
    expect(last({ ...REQUEST, streamUsage: true })).toMatch(
      /"choices":\[\],"usage":\{"prompt_tokens":1,.*\}\n\ndata: \[DONE\]\n\n$/,
    )
  })

  it('is always asked for', () => {
    expect(bodyOf('openai-chat', { ...REQUEST, stream: true })).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('is unknown, not zero, when the provider does not say', () => {
    expect(chat.readReply({ choices: [] }, REQUEST).usage).toEqual({ input: 0, output: 0, unknown: true })
  })
})

describe('lists of models, and counts', () => {
  it.each(NAMES)('%s', (name) => {
    const { writeModels, writeModel, counting } = FORMATS[name]
    const list = JSON.stringify(writeModels([{ id: 'a' }, { id: 'b' }]))
    expect(list).toContain(JSON.stringify(writeModel({ id: 'b' })))
    if (counting !== undefined) expect(counting.readCount(counting.writeCount(12))).toBe(12)
    expect(counting === undefined).toBe(name === 'openai-chat')
  })
})
