/**
 * The golden files of the wire formats. `X.json` and `X.sse` are as they came over the wire; `X.neutral.json` is what they
 * mean, `X.written.json` and `X.written.sse` what is written from that. `vitest -u` writes the latter two: read the difference.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelRequest, WireFormat } from '../../src/gateway/exchange.ts'
import type { Format } from '../../src/gateway/formats/format.ts'
import { FORMATS } from '../../src/gateway/formats/formats.ts'
import { eventsOfReply, replyCollector, type Collected } from '../../src/gateway/formats/reply-events.ts'
import { sseParser } from '../../src/gateway/formats/sse.ts'

const FOLDER = join(import.meta.dirname, 'golden')
const FILES = readdirSync(FOLDER).filter((name) => !/\.(neutral|written)\./.test(name))

const REQUEST: ModelRequest = {
  model: 'model-1',
  system: ['You are brief.'],
  messages: [],
  tools: [
    { name: 'apply_patch', input: {}, freeform: {} },
    { name: 'patch', input: {}, freeform: {} },
  ],
  stream: true,
  streamUsage: true,
}

function formatOf(file: string): Format {
  const names = Object.keys(FORMATS) as WireFormat[]
  return FORMATS[names.find((name) => file.startsWith(name)) as WireFormat]
}

async function expectFile(value: unknown, name: string): Promise<void> {
  const text = typeof value === 'string' ? value : `${JSON.stringify(value, null, 2)}\n`
  await expect(text).toMatchFileSnapshot(join(FOLDER, name))
}

function readStream(format: Format, text: string): Collected {
  const reader = format.readStream(REQUEST)
  const collector = replyCollector()
  const parser = sseParser()
  const frames = [...parser.push(text), ...parser.end()]
  const events = [...frames.flatMap((frame) => reader.push(frame)), ...reader.end()]
  events.forEach((event) => collector.push(event))
  return collector.done()
}

describe('golden wire formats', () => {
  it.each(FILES.filter((name) => name.endsWith('-request.json')))('%s', async (file) => {
    const format = formatOf(file)
    const wire: unknown = JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))
    const request = format.readRequest(wire, {
      operation: 'stream',
      ...(format.name === 'gemini' ? { model: 'gemini-3-pro' } : {}),
    })
    await expectFile(request, file.replace('.json', '.neutral.json'))
    await expectFile(format.writeRequest(request), file.replace('.json', '.written.json'))
  })

  it.each(FILES.filter((name) => name.endsWith('-reply.json')))('%s', async (file) => {
    const format = formatOf(file)
    const reply = format.readReply(JSON.parse(readFileSync(join(FOLDER, file), 'utf8')), REQUEST)
    await expectFile(reply, file.replace('.json', '.neutral.json'))
    await expectFile(format.writeReply(reply, REQUEST), file.replace('.json', '.written.json'))
  })

  it.each(FILES.filter((name) => name.endsWith('.sse')))('%s', async (file) => {
    const format = formatOf(file)
    const collected = readStream(format, readFileSync(join(FOLDER, file), 'utf8'))
    await expectFile(collected, file.replace('.sse', '.neutral.json'))
    const events = collected.type === 'reply' ? eventsOfReply(collected.reply) : [collected]
    const write = format.writeStream(REQUEST)
    await expectFile(events.map((event) => write(event)).join(''), file.replace('.sse', '.written.sse'))
  })
})
