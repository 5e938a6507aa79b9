/**
 * Splits what a terminal prints into text, control characters and escape sequences. It keeps nothing but the sequence
 * that is not finished, and of that no more than a few kilobytes: a program cannot make it grow.
 */

export interface EscapeSink {
  /** Characters to show, and line ends (`\r\n`) between them: much output is mostly lines, and is faster as a whole. */
  text(text: string): void
  /** Another control character outside of sequences: the code of `\b`, of a `\r` alone, … */
  control(code: number): void
  /** `ESC [ params final`; params has the private prefix and the intermediates too. */
  csi(final: string, params: string): void
  /** `ESC ] payload BEL`. One that is too long is not reported. */
  osc(payload: string): void
  /** `ESC` and what follows it: `c`, `M`, `(B`. */
  escape(sequence: string): void
}

type State = 'ground' | 'escape' | 'csi' | 'osc' | 'string'

const MOST_KEPT = 4_096
/** A longer piece is read in parts: the search for the end of the text needs room for each of its lines. */
const MOST_READ = 65_536
// oxlint-disable-next-line no-control-regex -- control characters are what ends it.
const TEXT = /(?:[^\u0000-\u001f\u007f-\u009f]+|\r\n)*/y
// oxlint-disable-next-line no-control-regex -- the ends of a string: BEL, CAN, SUB, ESC, ST.
const STRING_END = /[\u0007\u0018\u001a\u001b\u009c]/g
const ESC = 0x1b
const OPENERS: Readonly<Record<string, State>> = {
  '[': 'csi',
  ']': 'osc',
  P: 'string',
  X: 'string',
  '^': 'string',
  _: 'string',
}
const C1_OPENERS: Readonly<Record<number, State>> = {
  0x90: 'string',
  0x98: 'string',
  0x9b: 'csi',
  0x9d: 'osc',
  0x9e: 'string',
  0x9f: 'string',
}

export class EscapeParser {
  #state: State = 'ground'
  #kept = ''
  #tooLong = false
  readonly #sink: EscapeSink

  constructor(sink: EscapeSink) {
    this.#sink = sink
  }

  /** Reads one more piece. Sequences may be cut anywhere. */
  read(piece: string): void {
    for (let from = 0; from < piece.length; from += MOST_READ)
      this.#read(piece.length > MOST_READ ? piece.slice(from, from + MOST_READ) : piece)
  }

  #read(piece: string): void {
    let at = 0
    while (at < piece.length) {
      if (this.#state === 'ground') at = this.#ground(piece, at)
      else if (this.#state === 'escape') at = this.#escape(piece, at)
      else if (this.#state === 'csi') at = this.#csi(piece, at)
      else at = this.#string(piece, at)
    }
  }

  #ground(piece: string, from: number): number {
    TEXT.lastIndex = from
    TEXT.test(piece)
    const end = TEXT.lastIndex
    if (end > from) this.#sink.text(from === 0 && end === piece.length ? piece : piece.slice(from, end))
    if (end === piece.length) return end
    const code = piece.charCodeAt(end)
    const opened = C1_OPENERS[code]
    if (code === ESC) this.#open('escape')
    else if (opened !== undefined) this.#open(opened)
    else if (code < 0x20) this.#sink.control(code)
    return end + 1
  }

  #escape(piece: string, at: number): number {
    const character = piece.charAt(at)
    const code = piece.charCodeAt(at)
    if (code === ESC) this.#open('escape')
    else if (code < 0x20) this.#broken(code)
    else if (this.#kept === '' && OPENERS[character] !== undefined) this.#open(OPENERS[character])
    else if (code < 0x30) this.#keep(character)
    else {
      const sequence = this.#kept + character
      this.#open('ground')
      // The second half of `ESC \`, which only ends a string, says nothing.
      if (sequence !== '\\') this.#sink.escape(sequence)
    }
    return at + 1
  }

  #csi(piece: string, from: number): number {
    let at = from
    while (at < piece.length && piece.charCodeAt(at) >= 0x20 && piece.charCodeAt(at) < 0x40) at += 1
    if (at > from) this.#keep(piece.slice(from, at))
    if (at === piece.length) return at
    const code = piece.charCodeAt(at)
    if (code === ESC) this.#open('escape')
    else if (code < 0x20) this.#broken(code)
    else {
      const params = this.#kept
      const whole = !this.#tooLong
      this.#open('ground')
      if (whole && code < 0x7f) this.#sink.csi(piece.charAt(at), params)
    }
    return at + 1
  }

  #string(piece: string, from: number): number {
    STRING_END.lastIndex = from
    const found = STRING_END.exec(piece)
    const end = found === null ? piece.length : found.index
    if (end > from) this.#keep(piece.slice(from, end))
    if (found === null) return end
    const code = piece.charCodeAt(end)
    const payload = this.#kept
    const whole = this.#state === 'osc' && !this.#tooLong && code !== 0x18 && code !== 0x1a
    // Only a control string is ended by BEL; in the others it is data.
    if (code === 0x07 && this.#state !== 'osc') return end + 1
    this.#open(code === ESC ? 'escape' : 'ground')
    if (whole) this.#sink.osc(payload)
    return end + 1
  }

  /** A control character within a sequence works at once; CAN and SUB end the sequence. */
  #broken(code: number): void {
    if (code === 0x18 || code === 0x1a) this.#open('ground')
    else this.#sink.control(code)
  }

  #open(state: State): void {
    this.#state = state
    this.#kept = ''
    this.#tooLong = false
  }

  #keep(part: string): void {
    if (this.#kept.length + part.length > MOST_KEPT) this.#tooLong = true
    else this.#kept += part
  }
}
