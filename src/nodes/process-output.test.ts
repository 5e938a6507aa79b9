import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { Output } from './process-output.ts'

const folder = mkdtempSync(join(tmpdir(), 'nerve-output-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function output(maxOutput: number, maxSpill = Infinity): Output {
  files += 1
  return new Output({ maxOutput, maxSpill, file: () => join(folder, String(files)) })
}

describe('the output of a command', () => {
  it('is kept whole while it is small, without a file', () => {
    const one = output(10)
    expect(one.take(Buffer.from('hello'))).toBe('hello')
    expect(one.take(Buffer.from('world'))).toBe('world')
    expect(one.end()).toEqual({ text: 'helloworld', truncated: false, dropped: 0 })
  })

  it('is the end of it when there is more, and the file has all', () => {
    const one = output(4)
    for (const text of ['ab', 'cd', 'ef', 'ghijklmnop', 'q']) one.take(Buffer.from(text))
    const { text, truncated, spill = '', dropped } = one.end()
    expect({ text, truncated, dropped }).toEqual({ text: 'nopq', truncated: true, dropped: 0 })
    expect(readFileSync(spill, 'utf8')).toBe('abcdefghijklmnopq')
  })

  it('counts what the file may not hold either', () => {
    const one = output(2, 5)
    one.take(Buffer.from('abcd'))
    one.take(Buffer.from('efgh'))
    const { text, spill = '', dropped } = one.end()
    expect({ text, dropped, kept: readFileSync(spill, 'utf8') }).toEqual({ text: 'gh', dropped: 3, kept: 'abcde' })
  })

  it('makes no file when there may be none', () => {
    const one = output(2, 0)
    one.take(Buffer.from('abcd'))
    expect(one.end()).toEqual({ text: 'cd', truncated: true, dropped: 4 })
  })

  it('is never cut inside of a character', () => {
    const one = output(4)
    one.take(Buffer.from('a€€'))
    expect(one.end().text).toBe('€')
  })

  it('puts characters together that came in pieces, and keeps a byte order mark', () => {
    const one = output(100)
    const bytes = Buffer.from('\uFEFF€😀')
    const live = [...bytes].map((byte) => one.take(Buffer.from([byte]))).join('') + one.rest()
    expect(live).toBe('\uFEFF€😀')
    expect(one.end().text).toBe('\uFEFF€😀')
  })

  it('keeps the bytes of what is no text in the file', () => {
    const one = output(100)
    const bytes = Buffer.from([0xff, 0xfe, 0, 0x61, 0xe2, 0x82])
    one.take(bytes)
    expect(one.rest()).toBe('\uFFFD')
    const { text, spill = '', truncated } = one.end()
    expect({ text, truncated }).toEqual({ text: '\uFFFD\uFFFD\0a\uFFFD', truncated: false })
    expect(readFileSync(spill)).toEqual(bytes)
  })

  it('holds for any chunks and any limit', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), fc.nat(60), (chunks, max) => {
        const one = output(max)
        const live = chunks.map((chunk) => one.take(Buffer.from(chunk))).join('') + one.rest()
        const all = Buffer.concat(chunks)
        const kept = one.end()
        const decode = (bytes: Buffer): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
        expect(live).toBe(decode(all))
        expect(kept.truncated).toBe(all.length > max)
        if (kept.spill !== undefined) expect(readFileSync(kept.spill)).toEqual(all)
        if (!kept.truncated) expect(kept.text).toBe(decode(all))
        else expect(decode(all.subarray(all.length - max)).endsWith(kept.text)).toBe(true)
      }),
    )
  })
})
