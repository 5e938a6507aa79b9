/**
 * The text of a screen as lines: without escapes, out of boxes, and joined again where the screen broke them. Linear in the
 * text: no pattern here can backtrack over more than it consumes.
 */

// A control string ends at its terminator, or where another escape or a line begins: an open one must not eat the screen.
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- finding control characters is the point
  /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]?|(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u009C\n]*(?:\u0007|\u001B\\|\u009C)?|\u001B[ -/]*[0-~]?/g
// oxlint-disable-next-line no-control-regex -- the same
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g

/** The text without escapes and control characters. */
function plainText(screen: string): string {
  return screen
    .replace(ESCAPES, (escape) => (escape.endsWith('C') && escape.includes('[') ? ' ' : ''))
    .replace(/\r\n?/g, '\n')
    .replace(CONTROLS, '')
}

/** The lines, with nothing at their ends, and no empty ones at the end. */
export function screenLines(screen: string): string[] {
  const lines = plainText(screen)
    .split('\n')
    .map((line) => line.trimEnd())
  while (lines.at(-1) === '') lines.pop()
  return lines
}

const BORDERS = '│┃║'

/** What is within the borders of a line of a box, or undefined when it is not one. */
export function unboxed(line: string): string | undefined {
  const left = line.startsWith(' ') ? 1 : 0
  const right = withoutScrollBar(line)
  if (right - left < 2 || !BORDERS.includes(line.charAt(left)) || !BORDERS.includes(line.charAt(right - 1)))
    return undefined
  return line.slice(left + (line.charAt(left + 1) === ' ' ? 2 : 1), right - 1).trimEnd()
}

/** Where a line ends when the bar at the right side of the screen is not counted. */
function withoutScrollBar(line: string): number {
  if (!'▄█▀'.includes(line.charAt(line.length - 1) || '│')) return line.length
  return line.slice(0, -1).trimEnd().length
}

/** Out of all the boxes around it. Lines that only draw a box are empty. */
export function withoutBoxes(line: string): string {
  let inner = line
  for (let depth = 0; depth < 4; depth++) {
    if (isBoxEdge(inner)) return ''
    const within = unboxed(inner)
    if (within === undefined) return inner
    inner = within
  }
  return inner
}

/** A line that draws the upper or the lower side of a box, or a line across it. */
export function isBoxEdge(line: string): boolean {
  return /^ ?[╭╮╰╯┌┐└┘├┤│]?[─━═]{6}/.test(line)
}

/** A line of the picture at the head of a screen. */
export function isDrawing(line: string): boolean {
  return /^ *[\u2580-\u259F]/.test(line)
}

export function indentOf(line: string): number {
  let at = 0
  while (line.charCodeAt(at) === 32) at++
  return at
}

/** Without up to so many spaces at the front. */
export function outdented(line: string, most: number): string {
  return line.slice(Math.min(indentOf(line), most))
}

/** Without empty lines at both ends. */
export function trimmedBlock(lines: readonly string[]): readonly string[] {
  let from = 0
  let to = lines.length
  while (from < to && lines[from] === '') from++
  while (to > from && lines[to - 1] === '') to--
  return lines.slice(from, to)
}

const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]/u
const NARROW = /\p{M}|\u200B|\u200C|\u200D|\uFE0F/u

/** How many columns of a terminal a text takes. */
export function columnsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let columns = 0
  for (const character of text) {
    if (character.charCodeAt(0) < 0x300) columns += 1
    else if (!NARROW.test(character)) columns += WIDE.test(character) ? 2 : 1
  }
  return columns
}

/**
 * One text of the lines that a screen with this much room broke it into. A break is the screen's where the next word would not
 * have fitted; elsewhere it is the author's. Without a known width every break stays.
 */
export function joinWrapped(lines: readonly string[], room: number | undefined): string {
  const parts: string[] = []
  let before = ''
  for (const line of lines) {
    if (parts.length > 0) parts.push(room === undefined ? '\n' : between(before, line, room))
    parts.push(line)
    before = line
  }
  return parts.join('')
}

function between(before: string, line: string, room: number): string {
  if (before === '' || line === '' || startsSomething(line)) return '\n'
  const gap = line.indexOf(' ')
  const word = columnsOf(gap === -1 ? line : line.slice(0, gap))
  const used = columnsOf(before)
  if (used + 1 + word <= room) return '\n'
  // A word that is longer than a line was cut, wherever it was full.
  const last = columnsOf(before.slice(before.lastIndexOf(' ') + 1))
  return used >= room - 1 && last + word > room ? '' : ' '
}

/** Indented, or a part of a list, a table or code: the screen breaks a line in two at the start of none of these. */
function startsSomething(line: string): boolean {
  return /^(?: |[-*•+|>] |\d{1,3}[.)] |```|[│├└┌╭╰])/.test(line)
}
