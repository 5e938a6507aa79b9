import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EscapeParser } from './escape-parser.ts'

function parsed(...pieces: readonly string[]): string[] {
  const heard: string[] = []
  const parser = new EscapeParser({
    text: (text) => {
      for (const part of text.split(/(\r\n)/))
        if (part === '\r\n') heard.push('control 13', 'control 10')
        else if (part !== '') heard.push(`text ${part}`)
    },
    control: (code) => heard.push(`control ${code}`),
    csi: (final, params) => heard.push(`csi ${params} ${final}`),
    osc: (payload) => heard.push(`osc ${payload}`),
    escape: (sequence) => heard.push(`escape ${sequence}`),
  })
  for (const piece of pieces) parser.read(piece)
  return heard
}

describe('EscapeParser', () => {
  it('tells text, controls and sequences apart', () => {
    expect(parsed('a\r\n\u001b[31mred\u001b[0m')).toEqual([
      'text a',
      'control 13',
      'control 10',
      'csi 31 m',
      'text red',
      'csi 0 m',
    ])
    expect(parsed('\u001b]133;A\u0007x\u001b]0;title\u001b\\y')).toEqual([
      'osc 133;A',
      'text x',
      'osc 0;title',
      'text y',
    ])
    expect(parsed('\u001bc\u001b(B\u001bM')).toEqual(['escape c', 'escape (B', 'escape M'])
    expect(parsed('\u001b[?2004h\u009b2Jz')).toEqual(['csi ?2004 h', 'csi 2 J', 'text z'])
  })

  it('says nothing of strings for devices, and of what was broken off', () => {
    expect(parsed('a\u001bP1$r0m\u001b\\b\u001b]8;x\u0018c\u001b[12\u001ad')).toEqual([
      'text a',
      'text b',
      'text c',
      'text d',
    ])
  })

  it('does not grow with a sequence that never ends', () => {
    const heard = parsed('\u001b]0;', ...Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)), '\u0007after')
    expect(heard).toEqual(['text after'])
    expect(parsed('\u001b[', '1;'.repeat(10_000), 'mafter')).toEqual(['text after'])
  })

  it('reads the same, wherever the pieces are cut', () => {
    const part = fc.constantFrom(
      'a',
      '你🚀',
      '\r\n',
      '\u001b[1;2H',
      '\u001b]133;D;0;n=ab;k=1\u0007',
      '\u001b]0;t\u001b\\',
      '\u001bPq\u0007\u001b\\',
      '\u001b(B',
      '\u001b',
      '\u001b[',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat(60), { maxLength: 6 }), (parts, cuts) => {
        const text = parts.join('')
        const places = [...new Set(cuts.map((cut) => Math.min(cut, text.length)))].sort((one, two) => one - two)
        const pieces = [0, ...places].map((from, at) => text.slice(from, places[at] ?? text.length))
        expect(joined(parsed(...pieces))).toEqual(joined(parsed(text)))
      }),
    )
  })
})

/** A text may come in any number of pieces. */
function joined(heard: readonly string[]): string[] {
  const result: string[] = []
  for (const one of heard) {
    const last = result.at(-1)
    if (one.startsWith('text ') && last?.startsWith('text ') === true) result[result.length - 1] = last + one.slice(5)
    else result.push(one)
  }
  return result
}
