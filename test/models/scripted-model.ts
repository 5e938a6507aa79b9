/** A model of the AI SDK that says what a function of the conversation says, and remembers what it was asked. */
import { MockLanguageModelV3 } from 'ai/test'

export interface Said {
  readonly think?: string
  readonly text?: string
  readonly calls?: readonly { readonly tool: string; readonly input: unknown }[]
  readonly finish?: 'stop' | 'length' | 'content-filter'
  readonly usage?: { readonly input: number; readonly output: number }
}

export interface Asked {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools?: readonly { readonly name: string }[]
  readonly toolChoice?: { readonly type: string; readonly toolName?: string }
  readonly responseFormat?: { readonly type: string; readonly schema?: unknown }
  readonly maxOutputTokens?: number
  readonly abortSignal?: AbortSignal
}

export interface ScriptedModel extends MockLanguageModelV3 {
  readonly asked: Asked[]
}

/** The replies: a list, in order, or a function. Errors are thrown. */
export function scriptedModel(
  script: readonly (Said | string | Error)[] | ((asked: Asked, call: number) => Said | string | Error | Promise<Said>),
  modelId = 'scripted',
): ScriptedModel {
  const asked: Asked[] = []
  const model = new MockLanguageModelV3({
    provider: 'test',
    modelId,
    doStream: async (options) => {
      const request = options as unknown as Asked
      asked.push(request)
      const reply = typeof script === 'function' ? await script(request, asked.length) : script[asked.length - 1]
      if (reply === undefined) throw new Error(`The script has no reply ${asked.length}.`)
      if (reply instanceof Error) throw reply
      return { stream: streamOf(typeof reply === 'string' ? { text: reply } : reply, asked.length) as never }
    },
  })
  return Object.assign(model, { asked })
}

function streamOf(said: Said, number: number): ReadableStream<unknown> {
  const { input, output } = said.usage ?? { input: 100, output: 10 }
  const calls = said.calls ?? []
  const parts: unknown[] = [{ type: 'stream-start', warnings: [] }]
  if (said.think !== undefined)
    parts.push(
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: said.think },
      { type: 'reasoning-end', id: 'r', providerMetadata: { test: { signature: 'signed' } } },
    )
  if (said.text !== undefined) {
    const pieces = said.text.match(/\S+\s*|\s+/g) ?? []
    parts.push({ type: 'text-start', id: 't' })
    for (const delta of pieces) parts.push({ type: 'text-delta', id: 't', delta })
    parts.push({ type: 'text-end', id: 't' })
  }
  for (const [at, { tool, input: given }] of calls.entries())
    parts.push({
      type: 'tool-call',
      toolCallId: `call-${number}-${at + 1}`,
      toolName: tool,
      input: typeof given === 'string' ? given : JSON.stringify(given),
    })
  const unified = said.finish ?? (calls.length > 0 ? 'tool-calls' : 'stop')
  parts.push({
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: { inputTokens: { total: input, noCache: input }, outputTokens: { total: output, text: output } },
  })
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

/** The last text of a user, and how many replies there were since. */
export function lastUser({ prompt }: Asked): { readonly text: string; readonly replies: number } {
  const at = prompt.findLastIndex(({ role }) => role === 'user')
  const content = prompt[at]?.content as readonly { readonly text?: string }[] | undefined
  const replies = prompt.slice(at).filter(({ role }) => role === 'assistant').length
  return { text: content?.map(({ text = '' }) => text).join('') ?? '', replies }
}

/** The results of tools in the last message. */
export function toolResults({ prompt }: Asked): readonly string[] {
  const last = prompt.at(-1)
  if (last?.role !== 'tool') return []
  return (last.content as readonly { readonly output: { readonly type: string; readonly value: string } }[]).map(
    ({ output }) => `${output.type}: ${output.value}`,
  )
}

/** An error as the AI SDK's providers throw it. */
export function providerError(statusCode: number, headers: Readonly<Record<string, string>> = {}): Error {
  return Object.assign(new Error(`status ${statusCode}`), {
    name: 'AI_APICallError',
    statusCode,
    responseHeaders: headers,
    isRetryable: statusCode >= 500 || statusCode === 429,
  })
}
