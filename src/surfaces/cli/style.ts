/** Lines for a terminal: spans of text with a tone, cut to its columns. Pure. */
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

/** A line as text, cut with an ellipsis when it is wider than the terminal. */
export function renderLine(line: Line, columns: number, color: boolean): string {
  let left = columns
  let text = ''
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
    used += charColumns(char.codePointAt(0) ?? 0)
    if (used > columns) break
    end += char.length
  }
  return text.slice(0, end)
}

export function columnsOf(text: string): number {
  let columns = 0
  for (const char of text) columns += charColumns(char.codePointAt(0) ?? 0)
  return columns
}

/** Words in lines of at most so many columns. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const paragraph of text.split('\n')) {
    let line = ''
    for (const word of paragraph.split(' ')) {
      const longer = line === '' ? word : `${line} ${word}`
      if (columnsOf(longer) <= columns || line === '') line = longer
      else {
        lines.push(line)
        line = word
      }
    }
    lines.push(line)
  }
  return lines
}

function charColumns(code: number): number {
  if (code < 32 || (code >= 0x7f && code < 0xa0)) return 0
  if (code < 0x300) return 1
  if (isMark(code)) return 0
  return isWide(code) ? 2 : 1
}

function isMark(code: number): boolean {
  return (
    (code >= 0x300 && code <= 0x36f) ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x20d0 && code <= 0x20ff) ||
    (code >= 0xfe00 && code <= 0xfe0f) ||
    (code >= 0xe0100 && code <= 0xe01ef)
  )
}

function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf && code !== 0x303f) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x1f300 && code <= 0x1f64f) ||
    (code >= 0x1f680 && code <= 0x1f6ff) ||
    (code >= 0x1f900 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  )
}
