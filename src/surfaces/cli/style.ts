/** Lines for a terminal: spans of text with a tone, cut to its columns. Pure. */
import { clean } from './printable.ts'

export type Tone = 'plain' | 'bold' | 'dim' | 'good' | 'bad' | 'warn' | 'ask'

export interface Span {
  readonly text: string
  readonly tone?: Tone
}

export type Line = readonly Span[]

const CODES: Readonly<Record<Tone, string>> = {
  plain: '',
  bold: '1',
  dim: '2',
  good: '32',
  bad: '31',
  warn: '33',
  ask: '36',
}

export function paint(text: string, tone: Tone, color: boolean): string {
  const code = CODES[tone]
  return !color || code === '' || text === '' ? text : `\u001B[${code}m${text}\u001B[0m`
}

/** A line as text, cut with an ellipsis when it is wider than the terminal. Whatever is in it, it stays one line. */
export function renderLine(spans: Line, columns: number, color: boolean): string {
  let left = columns
  let text = ''
  const line = spans.map((span) => ({ ...span, text: clean(span.text).replace(/[\n\t]/g, ' ') }))
  const whole = line.reduce((sum, span) => sum + columnsOf(span.text), 0) <= columns
  for (const span of line) {
    const part = whole ? span.text : cut(span.text, left - 1)
    text += paint(part, span.tone ?? 'plain', color)
    left -= columnsOf(part)
    if (!whole && part !== span.text) return left > 0 ? `${text}…` : text
  }
  return text
}

/** As much of a text as fits. */
export function cut(text: string, columns: number): string {
  let used = 0
  let end = 0
  for (const char of text) {
    used += charColumns(char)
    if (used > columns) break
    end += char.length
  }
  return text.slice(0, end)
}

export function columnsOf(text: string): number {
  let columns = 0
  for (const char of text) columns += charColumns(char)
  return columns
}

/** With spaces up to so many columns. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)))
}

/** Words in lines of at most so many columns. One that is longer than a line goes on in the next. */
export function wrapText(text: string, columns: number): string[] {
  return text.split('\n').flatMap((paragraph) => wrapLine(paragraph, columns))
}

function wrapLine(text: string, columns: number): string[] {
  if (columnsOf(text) <= columns) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<=\S) /)) {
    const longer = line === '' ? word : `${line} ${word}`
    if (columnsOf(longer) <= columns) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
    while (columnsOf(line) > columns) {
      const part = cut(line, columns) || line
      lines.push(part)
      line = line.slice(part.length)
    }
  }
  return [...lines, line]
}

/** The size of a terminal. One that says 0, as some in CI do, does not know it. */
export function sizeOf(terminal: { readonly columns?: number; readonly rows?: number }): {
  readonly columns: number
  readonly rows: number
} {
  const { columns = 0, rows = 0 } = terminal
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 }
}

// What has no column of its own: marks on a letter, joiners, what chooses the form of an emoji.
const MARK = /^[\p{Mn}\p{Me}\p{Cf}]$/u
// What the signs of East Asia and emoji take: two columns.
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{1B2FF}\u{1F200}-\u{1F265}\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1FAFF}\u{20000}-\u{3FFFD}]$/u

function charColumns(char: string): number {
  const code = char.codePointAt(0) ?? 0
  if (code < 32 || (code >= 0x7f && code < 0xa0)) return 0
  if (code < 0x300) return 1
  if (MARK.test(char)) return 0
  return WIDE.test(char) ? 2 : 1
}
