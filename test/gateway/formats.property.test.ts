/** Translation there and back: nothing is lost that both formats can say, however a stream is cut. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelReply, ModelRequest, ReplyEvent, WireFormat } from '../../src/gateway/exchange.ts'
import type { Format, RequestRoute } from '../../src/gateway/formats/format.ts'
import { FORMATS, readEvents } from '../../src/gateway/formats/formats.ts'
import { collectReply, eventsOfReply } from '../../src/gateway/formats/reply-events.ts'
import { routeOf } from '../../src/gateway/formats/route.ts'
import { runs } from '../properties/settings.ts'
import { replyFor, requestFor } from './formats-exchanges.ts'

const NAMES = Object.keys(FORMATS) as WireFormat[]
const PAIRS = NAMES.flatMap((one) => NAMES.map((other) => [one, other] as const))

const REQUEST: ModelRequest = {
  model: 'model-1',
  system: [],
  messages: [],
  tools: [{ name: 'patch', input: {}, freeform: {} }],
  stream: true,
}

/** As it goes over the wire: JSON, at the address that the writer chose. */
function there(request: ModelRequest, format: Format): ModelRequest {
  const { path, body } = format.writeRequest(request)
  const route = routeOf('POST', `/v1${path}`)
  expect(route?.format).toBe(format.name)
  const { streamUsage: _, ...read } = format.readRequest(JSON.parse(JSON.stringify(body)), route as RequestRoute)
  return read
}

function whole(reply: ModelReply, format: Format): ModelReply {
  return format.readReply(JSON.parse(JSON.stringify(format.writeReply(reply, REQUEST))), REQUEST)
}

/** Cuts texts of events, and then the bytes, where the numbers say. */
async function streamed(reply: ModelReply, format: Format, cuts: readonly number[]): Promise<unknown> {
  const write = format.writeStream({ ...REQUEST, streamUsage: true })
  const events = eventsOfReply(reply).flatMap((event, at) => pieces(event, cuts[at % cuts.length] ?? 1))
  const bytes = new TextEncoder().encode(events.map((event) => write(event)).join(''))
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let from = 0, at = 0; from < bytes.length; at++) {
      const size = cuts[at % cuts.length] ?? 1
      yield bytes.subarray(from, (from += size))
    }
  }
  return collectReply(readEvents(format, chunks(), REQUEST))
}

function pieces(event: ReplyEvent, size: number): readonly ReplyEvent[] {
  const cut = (text: string): string[] => text.match(new RegExp(`.{1,${size}}`, 'gsu')) ?? ['']
  if (event.type === 'text' || event.type === 'thinking') return cut(event.text).map((text) => ({ ...event, text }))
  return event.type === 'input' ? cut(event.json).map((json) => ({ ...event, json })) : [event]
}

describe('formats', () => {
  it.each(PAIRS)('translate requests from %s to %s and back', (one, other) => {
    fc.assert(
      fc.property(requestFor(one, other), (request) => {
        const first = there(request, FORMATS[one])
        expect(first).toEqual(request)
        expect(there(there(first, FORMATS[other]), FORMATS[one])).toEqual(request)
      }),
      runs(60),
    )
  })

  it.each(PAIRS)('translate replies from %s to %s and back', (one, other) => {
    fc.assert(
      fc.property(replyFor(one, other), (reply) => {
        expect(whole(whole(reply, FORMATS[one]), FORMATS[other])).toEqual(reply)
      }),
      runs(60),
    )
  })

  it.each(NAMES)('give the same reply as a stream, cut anywhere, as at once: %s', async (name) => {
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(replyFor(name, name), cuts, async (reply, sizes) => {
        expect(whole(reply, FORMATS[name])).toEqual(reply)
        expect(await streamed(reply, FORMATS[name], sizes)).toEqual({ type: 'reply', reply })
      }),
      runs(150),
    )
  })
})
