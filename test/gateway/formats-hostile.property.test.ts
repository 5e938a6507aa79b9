/** Whatever comes over the wire: a reader understands it or refuses it by name, and nothing else. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNerveError } from '../../src/base/nerve-error.ts'
import type { ModelRequest, WireFormat } from '../../src/gateway/exchange.ts'
import { FORMATS } from '../../src/gateway/formats/formats.ts'
import { replyCollector } from '../../src/gateway/formats/reply-events.ts'
import { sseParser } from '../../src/gateway/formats/sse.ts'
import { runs } from '../properties/settings.ts'

const FOLDER = join(import.meta.dirname, 'golden')
const NAMES = Object.keys(FORMATS) as WireFormat[]
const REQUEST: ModelRequest = { model: 'm', system: [], messages: [], tools: [], stream: true }

function golden(name: WireFormat, ending: string): readonly string[] {
  const files = readdirSync(FOLDER).filter((file) => file.startsWith(name) && file.endsWith(ending))
  return files
    .filter((file) => !/\.(neutral|written)\./.test(file))
    .map((file) => readFileSync(join(FOLDER, file), 'utf8'))
}

/** One value somewhere in it is another one. */
function changed(value: unknown, at: number, by: unknown): unknown {
  let count = 0
  const walk = (one: unknown): unknown => {
    count += 1
    if (count - 1 === at) return by
    if (Array.isArray(one)) return one.map(walk)
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, walk(inner)]))
  }
  return walk(value)
}

const strange = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(null, -1, '', 'x', [], {}, [null], [{}], { type: 'text' }),
)

function tryTo(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (isNerveError(error, 'bad-input') && typeof error.data['field'] === 'string') return undefined
    throw error
  }
}

describe('hostile wires', () => {
  it.each(NAMES)('requests: %s', (name) => {
    const bodies = golden(name, '-request.json').map((text) => JSON.parse(text) as unknown)
    const format = FORMATS[name]
    fc.assert(
      fc.property(fc.constantFrom(...bodies), fc.nat(250), strange, (body, at, by) => {
        const wire = changed(body, at, by)
        const request = tryTo(() => format.readRequest(wire, { operation: 'call', model: 'm' })) as
          | ModelRequest
          | undefined
        // What was understood can be written, or is refused by name, in every format.
        if (request !== undefined)
          for (const other of NAMES) tryTo(() => JSON.stringify(FORMATS[other].writeRequest(request)))
      }),
      runs(600),
    )
  })

  it.each(NAMES)('streams: %s', (name) => {
    const frames = golden(name, '.sse').flatMap((text) => sseParser().push(text))
    const parsed = frames.map(({ data }) => (data === '[DONE]' ? data : (JSON.parse(data) as unknown)))
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...parsed), fc.nat(20), strange), { maxLength: 12 }), (steps) => {
        const reader = FORMATS[name].readStream(REQUEST)
        const collector = replyCollector()
        const sent = steps.map(([frame, at, by]) => JSON.stringify(changed(frame, at, by)) ?? 'null')
        const events = [...sent.flatMap((data) => reader.push({ data })), ...reader.end()]
        events.forEach((event) => collector.push(event))
        expect(['reply', 'failed']).toContain(collector.done().type)
        // Parts are numbered from 0 and never overlap.
        let open = -1
        let last = -1
        for (const event of events) {
          if (event.type === 'part') {
            expect([open, event.at]).toEqual([-1, last + 1])
            last = open = event.at
          } else if (event.type === 'part-end') {
            expect(event.at).toBe(open)
            open = -1
          } else if ('at' in event) expect(event.at).toBe(open)
          else if (event.type !== 'start') expect(open).toBe(-1)
        }
      }),
      runs(400),
    )
  })
})
