import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WireFormat } from './exchange.ts'
import { streamTap, wholeTap } from './usage-tap.ts'

const frames = (...data: unknown[]): string => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')

const STREAMS: readonly (readonly [WireFormat, string, object])[] = [
  [
    'anthropic',
    frames(
      { type: 'message_start', message: { usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } } },
      { type: 'content_block_delta', delta: { text: 'the "usage" of ☂' } },
      { type: 'message_delta', usage: { output_tokens: 7 } },
    ),
    { input: 15, output: 7, cacheRead: 5 },
  ],
  [
    'openai-chat',
    `${frames({ choices: [{ delta: { content: 'a' } }], usage: null }, { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })}data: [DONE]\n\n`,
    { input: 3, output: 4 },
  ],
  [
    'openai-responses',
    frames(
      { type: 'response.created', response: { usage: null } },
      {
        type: 'response.completed',
        response: { usage: { input_tokens: 8, output_tokens: 9, output_tokens_details: { reasoning_tokens: 2 } } },
      },
    ),
    { input: 8, output: 9, thinking: 2 },
  ],
  [
    'gemini',
    frames(
      { candidates: [], usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 1 } },
      { candidates: [], usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 3, thoughtsTokenCount: 2 } },
    ).replaceAll('\n', '\r\n'),
    { input: 6, output: 5, thinking: 2 },
  ],
]

/** The bytes, cut at these places. */
function cut(text: string, places: readonly number[]): Uint8Array[] {
  const bytes = Buffer.from(text)
  const at = [0, ...places.map((place) => place % bytes.length).toSorted((one, two) => one - two), bytes.length]
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

describe('a tap', () => {
  it.each(STREAMS)(
    'finds the usage of %s, wherever the stream is cut, and passes every byte',
    (format, text, usage) => {
      fc.assert(
        fc.property(fc.array(fc.nat(10_000), { maxLength: 12 }), (places) => {
          const tap = streamTap(format)
          const passed = [...cut(text, places).map((piece) => tap.take(piece)), tap.end()]
          expect(Buffer.concat(passed).toString()).toBe(text)
          expect(tap.usage).toEqual(usage)
        }),
      )
    },
  )

  it('keeps the chunk of the usage back when told to, and nothing else', () => {
    const [, text] = STREAMS[1] ?? ['', '']
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { maxLength: 12 }), (places) => {
        const tap = streamTap('openai-chat', true)
        const passed = [...cut(String(text), places).map((piece) => tap.take(piece)), tap.end()]
        expect(Buffer.concat(passed).toString()).toBe(
          `${frames({ choices: [{ delta: { content: 'a' } }], usage: null })}data: [DONE]\n\n`,
        )
        expect(tap.usage).toEqual({ input: 3, output: 4 })
      }),
    )
  })

  it('reads a reply that comes at once', () => {
    const tap = wholeTap('anthropic')
    for (const piece of cut(JSON.stringify({ usage: { input_tokens: 3, output_tokens: 4 } }), [3, 9])) tap.take(piece)
    tap.end()
    expect(tap.usage).toEqual({ input: 3, output: 4 })
    const none = wholeTap('gemini')
    none.take(Buffer.from('<html>'))
    none.end()
    expect(none.usage).toBeUndefined()
  })
})
