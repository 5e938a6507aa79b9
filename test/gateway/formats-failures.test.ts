/** Failures in the words of each format, and streams that break off. */
import { describe, expect, it } from 'vitest'
import type { FailureKind, ModelReply, ModelRequest, WireFormat } from '../../src/gateway/exchange.ts'
import { failureOf } from '../../src/gateway/formats/failures.ts'
import { FORMATS } from '../../src/gateway/formats/formats.ts'
import { eventsOfReply } from '../../src/gateway/formats/reply-events.ts'
import { sseParser } from '../../src/gateway/formats/sse.ts'

const { anthropic, 'openai-chat': chat, gemini } = FORMATS
const NAMES = Object.keys(FORMATS) as WireFormat[]
const NOW = 1_790_000_000_000
const REQUEST: ModelRequest = { model: 'model-1', system: [], messages: [], tools: [], stream: false }
const REPLY: ModelReply = {
  id: 'r1',
  model: 'm',
  parts: [{ type: 'text', text: 'hello' }],
  stop: 'end',
  usage: { input: 1, output: 1 },
}

describe('failures', () => {
  const KINDS: readonly FailureKind[] = [
    'bad-request',
    'too-large',
    'unauthorized',
    'forbidden',
    'not-found',
    'rate-limited',
    'budget',
    'context-full',
    'overloaded',
    'timeout',
    'server',
  ]
  const PAIRS = NAMES.flatMap((name) => KINDS.map((kind) => [name, kind] as const))

  it.each(PAIRS)('%s says %s, and is understood', (name, kind) => {
    const failure = failureOf(kind, 'because', { retryAt: NOW + 7_500 })
    const format = FORMATS[name]
    const { status, headers, body } = format.writeFailure(failure, NOW)
    expect(format.readFailure({ status, headers, body, now: NOW })).toMatchObject({ kind, retryAt: NOW + 7_500 })
    expect(format.readFailure({ status, headers: {}, body: JSON.stringify(body), now: NOW })).toMatchObject({
      kind,
      message: expect.stringContaining('because'),
    })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(headers).toMatchObject({ 'retry-after': '8', 'retry-after-ms': '7500' })
  })

  it.each(PAIRS)('%s says %s in a stream, and is understood', (name, kind) => {
    const reader = FORMATS[name].readStream(REQUEST)
    const text = FORMATS[name].writeStream(REQUEST)({ type: 'failed', failure: failureOf(kind, 'because') })
    const events = sseParser()
      .push(text)
      .flatMap((frame) => reader.push(frame))
    expect(events).toMatchObject([{ type: 'failed', failure: { kind, message: expect.stringContaining('because') } }])
    expect(reader.end()).toEqual([])
  })

  it('tell clients not to try again when the budget is used up', () => {
    expect(anthropic.writeFailure(failureOf('budget', 'x'), NOW)).toMatchObject({
      status: 402,
      headers: { 'x-should-retry': 'false' },
    })
    expect(chat.writeFailure(failureOf('budget', 'x'), NOW)).toMatchObject({
      status: 429,
      body: { error: { code: 'insufficient_quota' } },
    })
    expect(gemini.writeFailure(failureOf('budget', 'x'), NOW).status).toBe(403)
  })

  it.each([
    [
      'anthropic',
      400,
      {},
      { error: { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8' } },
      { kind: 'context-full' },
    ],
    ['anthropic', 529, {}, 'upstream connect error', { kind: 'overloaded', message: 'upstream connect error' }],
    [
      'anthropic',
      429,
      { 'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': '2026-09-21T13:46:40Z' },
      {},
      { retryAt: Date.parse('2026-09-21T13:46:40Z') },
    ],
    ['anthropic', 429, { 'anthropic-ratelimit-unified-reset': '1790000060' }, {}, { retryAt: NOW + 60_000 }],
    [
      'openai-chat',
      400,
      {},
      { error: { code: 'context_length_exceeded', message: 'too long' } },
      { kind: 'context-full' },
    ],
    [
      'openai-chat',
      429,
      { 'retry-after': '20' },
      { error: { type: 'insufficient_quota' } },
      { kind: 'budget', retryAt: NOW + 20_000 },
    ],
    [
      'openai-chat',
      429,
      { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m0.5s' },
      { error: {} },
      { kind: 'rate-limited', retryAt: NOW + 60_500 },
    ],
    [
      'openai-responses',
      429,
      {},
      { error: { type: 'usage_limit_reached', resets_in_seconds: 30 } },
      { kind: 'rate-limited', retryAt: NOW + 30_000 },
    ],
    [
      'openai-chat',
      503,
      { 'retry-after': 'Mon, 21 Sep 2026 13:46:40 GMT' },
      '',
      { kind: 'overloaded', retryAt: Date.parse('2026-09-21T13:46:40Z') },
    ],
    [
      'gemini',
      400,
      {},
      [{ error: { status: 'INVALID_ARGUMENT', message: 'key', details: [{ reason: 'API_KEY_INVALID' }] } }],
      { kind: 'unauthorized', message: 'key' },
    ],
    [
      'gemini',
      429,
      {},
      { error: { status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '34.5s' }] } },
      { kind: 'rate-limited', retryAt: NOW + 34_500 },
    ],
    ['gemini', 418, {}, '<html>', { kind: 'bad-request', message: '<html>' }],
  ] as const)('%s %i %j %j', (name, status, headers, body, expected) => {
    expect(FORMATS[name].readFailure({ status, headers, body, now: NOW })).toMatchObject(expected)
  })
})

describe('streams that end too early', () => {
  it.each(NAMES)('%s', (name) => {
    const write = FORMATS[name].writeStream(REQUEST)
    const events = eventsOfReply(REPLY).slice(0, -1)
    const reader = FORMATS[name].readStream(REQUEST)
    const read = sseParser()
      .push(events.map((event) => write(event)).join(''))
      .flatMap((frame) => reader.push(frame))
    expect([...read, ...reader.end()].at(-1)).toMatchObject({ type: 'failed', failure: { kind: 'server' } })
  })
})
