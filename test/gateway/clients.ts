/**
 * Clients that nobody here wrote, behind one face: the providers' own packages and the AI SDK's. Each sends back what it
 * got in the way its package does, so that a conversation is a true one.
 */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI, type Content, type Part } from '@google/genai'
import { generateText, isStepCount, jsonSchema, streamText, tool, type LanguageModel, type ModelMessage } from 'ai'
import OpenAI from 'openai'
import type { WireFormat } from '../../src/gateway/exchange.ts'

export interface Gate {
  readonly url: string
  readonly key: string
}

export interface Ask {
  readonly text: string
  /** A picture, as base64 of a PNG. */
  readonly picture?: string
  /** With the tool `look`; its calls are answered until the model is done. */
  readonly tools?: boolean
  readonly stream: boolean
  readonly signal?: AbortSignal
  /** Hears of each piece of a stream. */
  readonly onPiece?: (piece: string) => void
}

export interface Heard {
  readonly text: string
  readonly thoughts: string
  /** Inputs of the calls. */
  readonly calls: readonly unknown[]
  readonly usage: { readonly input: number | undefined; readonly output: number | undefined }
}

export interface Client {
  readonly name: string
  readonly format: WireFormat
  ask(gate: Gate, ask: Ask): Promise<Heard>
}

const MODEL = 'model-1'
export const SYSTEM = 'Be brief.'
const SCHEMA = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } as const
const LOOK = { name: 'look', description: 'Looks at a place.' }

/** What the tool finds. */
function found(input: unknown): string {
  return `seen ${(input as { at: string }).at}`
}

/** Asks, answers calls and asks again; one round is the client's own. */
async function converse(ask: Ask, round: (answers: Answers | undefined) => Promise<Round>): Promise<Heard> {
  const calls: unknown[] = []
  let thoughts = ''
  for (let answers: Answers | undefined; ;) {
    const { text, thinking, asked, usage } = await round(answers)
    thoughts += thinking
    if (asked.length === 0) return { text, thoughts, calls, usage }
    calls.push(...asked.map(({ input }) => input))
    answers = asked.map((call) => ({ ...call, output: found(call.input) }))
  }
}

type Answers = readonly {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly output: string
}[]

interface Round {
  readonly text: string
  readonly thinking: string
  readonly asked: readonly { readonly id: string; readonly name: string; readonly input: unknown }[]
  readonly usage: Heard['usage']
}

const anthropic: Client = {
  name: '@anthropic-ai/sdk',
  format: 'anthropic',
  ask: ({ url, key }, ask) => {
    const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
    const source = { type: 'base64', media_type: 'image/png', data: ask.picture ?? '' } as const
    const messages: Anthropic.MessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: ask.text },
          ...(ask.picture === undefined ? [] : [{ type: 'image', source } as const]),
        ],
      },
    ]
    const tools =
      ask.tools === true ? { tools: [{ ...LOOK, input_schema: SCHEMA as unknown as Anthropic.Tool.InputSchema }] } : {}
    return converse(ask, async (answers) => {
      if (answers !== undefined) {
        const content = answers.map(
          ({ id, output }) => ({ type: 'tool_result', tool_use_id: id, content: output }) as const,
        )
        messages.push({ role: 'user', content })
      }
      const body = { model: MODEL, max_tokens: 1_000, system: SYSTEM, messages, ...tools }
      const options = ask.signal === undefined ? {} : { signal: ask.signal }
      const message = ask.stream
        ? await client.messages
            .stream(body, options)
            .on('text', (piece) => ask.onPiece?.(piece))
            .finalMessage()
        : await client.messages.create(body, options)
      messages.push({ role: 'assistant', content: message.content as Anthropic.ContentBlockParam[] })
      const { input_tokens, cache_read_input_tokens, output_tokens } = message.usage
      return {
        text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        thinking: message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
        asked: message.content.flatMap((block) => (block.type === 'tool_use' ? [block] : [])),
        usage: { input: input_tokens + (cache_read_input_tokens ?? 0), output: output_tokens },
      }
    })
  },
}

const openaiChat: Client = {
  name: 'openai chat',
  format: 'openai-chat',
  ask: ({ url, key }, ask) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${ask.picture ?? ''}` } } as const
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'developer', content: SYSTEM },
      { role: 'user', content: [{ type: 'text', text: ask.text }, ...(ask.picture === undefined ? [] : [picture])] },
    ]
    const look = {
      type: 'function',
      function: { ...LOOK, parameters: SCHEMA as unknown as OpenAI.FunctionParameters },
    } as const
    const tools = ask.tools === true ? { tools: [look] } : {}
    return converse(ask, async (answers = []) => {
      messages.push(...answers.map(({ id, output }) => ({ role: 'tool', tool_call_id: id, content: output }) as const))
      const body = { model: MODEL, messages, ...tools }
      const options = ask.signal === undefined ? {} : { signal: ask.signal }
      const completion = ask.stream
        ? await client.chat.completions
            .stream({ ...body, stream_options: { include_usage: true } }, options)
            .on('content', (piece) => ask.onPiece?.(piece))
            .finalChatCompletion()
        : await client.chat.completions.create(body, options)
      const message = completion.choices[0]!.message
      messages.push(message)
      const { prompt_tokens: input, completion_tokens: output } = completion.usage ?? {}
      return {
        text: message.content ?? '',
        thinking: (message as { reasoning_content?: string }).reasoning_content ?? '',
        asked: (message.tool_calls ?? []).flatMap((call) =>
          call.type === 'function'
            ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) }]
            : [],
        ),
        usage: { input, output },
      }
    })
  },
}

const openaiResponses: Client = {
  name: 'openai responses',
  format: 'openai-responses',
  ask: ({ url, key }, ask) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
    const picture = {
      type: 'input_image',
      detail: 'auto',
      image_url: `data:image/png;base64,${ask.picture ?? ''}`,
    } as const
    const input: OpenAI.Responses.ResponseInput = [
      {
        role: 'user',
        content: [{ type: 'input_text', text: ask.text }, ...(ask.picture === undefined ? [] : [picture])],
      },
    ]
    const look = {
      type: 'function',
      ...LOOK,
      parameters: SCHEMA as unknown as Record<string, unknown>,
      strict: false,
    } as const
    const tools = ask.tools === true ? { tools: [look] } : {}
    return converse(ask, async (answers = []) => {
      input.push(...answers.map(({ id, output }) => ({ type: 'function_call_output', call_id: id, output }) as const))
      const body = { model: MODEL, instructions: SYSTEM, input, store: false, ...tools }
      const options = ask.signal === undefined ? {} : { signal: ask.signal }
      const response = ask.stream
        ? await client.responses
            .stream(body, options)
            .on('response.output_text.delta', ({ delta }) => ask.onPiece?.(delta))
            .finalResponse()
        : await client.responses.create(body, options)
      input.push(...(response.output as OpenAI.Responses.ResponseInput))
      const summaries = response.output.flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
      return {
        text: response.output_text,
        thinking: summaries.map(({ text }) => text).join(''),
        asked: response.output.flatMap((item) =>
          item.type === 'function_call'
            ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) }]
            : [],
        ),
        usage: { input: response.usage?.input_tokens, output: response.usage?.output_tokens },
      }
    })
  },
}

const google: Client = {
  name: '@google/genai',
  format: 'gemini',
  ask: ({ url, key }, ask) => {
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })
    const picture = ask.picture === undefined ? [] : [{ inlineData: { mimeType: 'image/png', data: ask.picture } }]
    const contents: Content[] = [{ role: 'user', parts: [{ text: ask.text }, ...picture] }]
    const tools =
      ask.tools === true ? { tools: [{ functionDeclarations: [{ ...LOOK, parametersJsonSchema: SCHEMA }] }] } : {}
    return converse(ask, async (answers) => {
      if (answers !== undefined) {
        const parts = answers.map(({ id, name, output }) => ({ functionResponse: { id, name, response: { output } } }))
        contents.push({ role: 'user', parts })
      }
      const config = {
        systemInstruction: SYSTEM,
        ...tools,
        ...(ask.signal === undefined ? {} : { abortSignal: ask.signal }),
      }
      const body = { model: MODEL, contents, config }
      const parts: Part[] = []
      let usage: { promptTokenCount?: number; candidatesTokenCount?: number; thoughtsTokenCount?: number } | undefined
      const replies = ask.stream
        ? await client.models.generateContentStream(body)
        : [await client.models.generateContent(body)]
      for await (const reply of replies) {
        const more = reply.candidates?.[0]?.content?.parts ?? []
        parts.push(...more)
        for (const { text, thought } of more) if (text !== undefined && thought !== true) ask.onPiece?.(text)
        usage = reply.usageMetadata ?? usage
      }
      contents.push({ role: 'model', parts })
      return {
        text: parts.map(({ text, thought }) => (thought === true ? '' : (text ?? ''))).join(''),
        thinking: parts.map(({ text, thought }) => (thought === true ? (text ?? '') : '')).join(''),
        asked: parts.flatMap(({ functionCall: call }) =>
          call === undefined ? [] : [{ id: call.id ?? '', name: call.name ?? '', input: call.args }],
        ),
        usage: {
          input: usage?.promptTokenCount,
          output: (usage?.candidatesTokenCount ?? 0) + (usage?.thoughtsTokenCount ?? 0),
        },
      }
    })
  },
}

function aiSdk(name: string, format: WireFormat, model: (gate: Gate) => LanguageModel): Client {
  return {
    name,
    format,
    ask: async (gate, ask) => {
      const calls: unknown[] = []
      const look = tool({
        description: LOOK.description,
        inputSchema: jsonSchema<{ at: string }>(SCHEMA as never),
        execute: (input) => {
          calls.push(input)
          return found(input)
        },
      })
      const picture =
        ask.picture === undefined ? [] : [{ type: 'file', mediaType: 'image/png', data: ask.picture } as const]
      const messages: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: ask.text }, ...picture] }]
      const body = {
        model: model(gate),
        instructions: SYSTEM,
        messages,
        maxRetries: 0,
        stopWhen: isStepCount(5),
        providerOptions: { openai: { store: false } },
        ...(ask.tools === true ? { tools: { look } } : {}),
        ...(ask.signal === undefined ? {} : { abortSignal: ask.signal }),
      }
      const heard = (result: AiResult): Heard => ({
        text: result.text,
        thoughts: result.steps.map(({ reasoningText }) => reasoningText ?? '').join(''),
        calls,
        usage: { input: result.usage.inputTokens, output: result.usage.outputTokens },
      })
      if (!ask.stream) return heard(await generateText(body))
      let failure: unknown
      const result = streamText({ ...body, onError: ({ error }) => void (failure = error) })
      for await (const piece of result.textStream) ask.onPiece?.(piece)
      if (failure !== undefined) throw failure
      ask.signal?.throwIfAborted()
      return heard({ text: await result.text, steps: await result.steps, usage: await result.usage })
    },
  }
}

interface AiResult {
  readonly text: string
  readonly steps: readonly { readonly reasoningText?: string | undefined }[]
  readonly usage: { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined }
}

type Made = (gate: Gate) => LanguageModel

const AI_SDK: readonly (readonly [name: string, format: WireFormat, model: Made])[] = [
  ['@ai-sdk/anthropic', 'anthropic', ({ url, key }) => createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(MODEL)],
  [
    '@ai-sdk/openai chat',
    'openai-chat',
    ({ url, key }) => createOpenAI({ baseURL: `${url}/v1`, apiKey: key }).chat(MODEL),
  ],
  [
    '@ai-sdk/openai responses',
    'openai-responses',
    ({ url, key }) => createOpenAI({ baseURL: `${url}/v1`, apiKey: key })(MODEL),
  ],
  [
    '@ai-sdk/openai-compatible',
    'openai-chat',
    ({ url, key }) => {
      const options = { name: 'gateway', baseURL: `${url}/v1`, apiKey: key }
      return createOpenAICompatible({ ...options, includeUsage: true, supportsStructuredOutputs: true })(MODEL)
    },
  ],
  ['@ai-sdk/google', 'gemini', ({ url, key }) => createGoogle({ baseURL: `${url}/v1beta`, apiKey: key })(MODEL)],
]

export const MODELS = AI_SDK.map(([name, , model]) => [name, model] as const)

export const CLIENTS: readonly Client[] = [
  anthropic,
  openaiChat,
  openaiResponses,
  google,
  ...AI_SDK.map((one) => aiSdk(...one)),
]
