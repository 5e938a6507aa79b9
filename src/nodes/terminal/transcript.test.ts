import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EscapeParser } from './escape-parser.ts'
import { Transcript } from './transcript.ts'

function written(text: string | readonly string[], limits = { lines: 1_000, characters: 100_000 }): Transcript {
  const transcript = new Transcript(limits, 80, 24)
  const parser = new EscapeParser({
    text: (part) => transcript.text(part),
    control: (code) => transcript.control(code),
    csi: (final, params) => transcript.csi(final, params),
    osc: () => undefined,
    escape: (sequence) => transcript.escape(sequence),
  })
  for (const piece of typeof text === 'string' ? [text] : text) parser.read(piece)
  return transcript
}

const shown = (text: string): string => written(text).toString()

describe('Transcript', () => {
  it('keeps lines as they were written, whatever the width of the screen', () => {
    expect(shown('a\r\nb')).toBe('a\nb')
    expect(shown('a\tb \r\n')).toBe('a\tb \n')
    expect(shown(`${'x'.repeat(300)}\r\ny`)).toBe(`${'x'.repeat(300)}\ny`)
    expect(shown(`${'你'.repeat(130)}\r\ny`)).toBe(`${'你'.repeat(130)}\ny`)
    expect(shown('\u001b[31mred\u001b[0m\r\n')).toBe('red\n')
  })

  it('writes over what is written over', () => {
    expect(shown(' 10%\r 20%\r100%\r\n')).toBe('100%\n')
    expect(shown('abc\b\bX')).toBe('aXc')
    expect(shown('abcdef\r\u001b[Kxy')).toBe('xy')
    expect(shown('one\r\ntwo\r\n\u001b[2A\u001b[2KONE\r\n')).toBe('ONE\ntwo\n')
    expect(shown('abcdef\r\u001b[2P')).toBe('cdef')
    expect(shown('abc\r\u001b[2@')).toBe('  abc')
    expect(shown('abc\u001b[5Cd')).toBe('abc     d')
  })

  it('forgets what is cleared, and leaves out what full-screen programs draw', () => {
    expect(shown('before\r\n\u001b[H\u001b[2J\u001b[3Jafter')).toBe('after')
    expect(shown('a\r\n\u001b[?1049h\u001b[H~~~\r\nfile\u001b[?1049lb')).toBe('a\nb')
    expect(shown('before\u001bcafter')).toBe('after')
  })

  it('is bounded in lines, and counts what went', () => {
    const text = Array.from({ length: 5_000 }, (_, at) => `line ${at}`).join('\r\n')
    const transcript = written(text, { lines: 100, characters: 100_000 })
    const lines = transcript.toString().split('\n')
    expect(lines.length).toBeLessThan(150)
    expect(lines.at(-1)).toBe('line 4999')
    expect(transcript.dropped + transcript.toString().length).toBe(text.replaceAll('\r', '').length)
    expect(transcript.tail(2)).toBe('line 4998\nline 4999')
  })

  it('is bounded in characters, also within one line', () => {
    const transcript = new Transcript({ lines: 10, characters: 1_000 }, 80, 24)
    for (let at = 0; at < 1_000; at += 1) transcript.text('0123456789'.repeat(10))
    transcript.text('end')
    expect(transcript.toString().length).toBeLessThan(1_500)
    expect(transcript.toString().endsWith('789end')).toBe(true)
    expect(transcript.dropped + transcript.toString().length).toBe(100_003)
  })

  it('tells what has come since a place', () => {
    const transcript = written('one\r\ntw')
    const place = transcript.end
    transcript.text('o')
    transcript.control(0x0d)
    transcript.control(0x0a)
    transcript.text('three')
    expect(transcript.since(place)).toBe('o\nthree')
    expect(transcript.since(transcript.end)).toBe('')
    transcript.clear()
    expect(transcript.since(place)).toBe('')
  })

  it('moves no further than a screen, however far a program says', () => {
    expect(shown('a\u001b[999999999Cb').length).toBeLessThan(200)
    expect(shown('\u001b[999999999;999999999Hb').length).toBeLessThan(200)
    expect(shown('\u001b[999999999Bb').length).toBeLessThan(1_100)
  })

  it('is the same in whole lines as character by character', () => {
    const part = fc.constantFrom(
      'a',
      'bcd',
      '你',
      ' ',
      '\r\n',
      '\r\n',
      '\r',
      '\n',
      '\t',
      '\b',
      '\u001b[A',
      '\u001b[2C',
      '\u001b[K',
      '\u001b[2;3H',
      '\u001b[J',
    )
    const limits = { lines: 8, characters: 60 }
    fc.assert(
      fc.property(fc.array(part, { maxLength: 200 }), (parts) => {
        const text = parts.join('')
        const [whole, single] = [written(text, limits), written(Array.from(text), limits)]
        expect(whole.dropped + whole.toString().length).toBe(single.dropped + single.toString().length)
        expect(whole.tail(3)).toBe(single.tail(3))
        expect(whole.end).toEqual(single.end)
      }),
    )
  })
})
