/**
 * Much output is lines that have left the screen, and the scrollback too, before anybody looks. Drawing them is most of the
 * work of a screen, and for nothing. Here they are left out, where it makes no difference: among characters, line ends, colours and
 * erased ends of lines, which do nothing but fill the current row and move down.
 *
 * The text is bytes, one to a character: what is looked for is the same in UTF-8, and is found faster.
 */

export interface Printed {
  readonly text: string
  /** True when the text ends outside of any sequence. */
  readonly ground: boolean
  /** True when it may have changed how lines scroll: margins, the alternate screen, a reset. */
  readonly changes: boolean
  /** From where on there are only lines. */
  readonly linesFrom: number | undefined
}

// oxlint-disable no-control-regex -- control characters are what these look for.
/** Where something begins that is none of these. */
const OTHER = /[\u000e\u000f]|\u00c2(?:[\u0080-\u009f]|$)|\u001b(?!\[[\d;:]*[mK])/g
/** One of those, when it is whole. A string with another end than BEL ends with a sequence of its own. */
const WHOLE =
  /[\u000e\u000f]|\u001b(?:\[[\u0020-\u003f]*[\u0040-\u007e]|[\u0020-\u002f]*[\u0030-\u004f\u0051-\u0057\u0059\u005a\u005c\u0060-\u007e]|\][^\u0007\u0018\u001a\u001b\u00c2]*\u0007)/y
const CHANGES = /\u00c2[\u0080-\u009f]|\u001b(?:c|\[[\d;]*r|\[\?[\d;]*[hl]|\[!p)/
const COLOUR = /\u001b\[[\d;:]*m/g
const LONGEST_OPEN = 64
const NO_COLOUR = /^\u001b\[0?m$/
// oxlint-enable no-control-regex

/** What is printed next. `ground`: the text before it ended outside of any sequence. */
export function readPrinted(text: string, ground: boolean): Printed {
  let last = -1
  for (let found = OTHER.exec(text); found !== null; found = OTHER.exec(text)) last = found.index
  if (last === -1) {
    // Whatever was open, the next sequence ends it.
    const from = ground ? 0 : text.indexOf('\u001b')
    return { text, ground: from !== -1, changes: !ground, linesFrom: from === -1 ? undefined : from }
  }
  WHOLE.lastIndex = last
  const whole = WHOLE.test(text)
  const linesFrom = whole ? WHOLE.lastIndex : undefined
  return { text, ground: whole, changes: !ground || CHANGES.test(text.slice(0, linesFrom)), linesFrom }
}

/** Where a sequence, or a character, begins that may go on in the next text. */
export function openEnd(text: string): number {
  const sequence = text.lastIndexOf('\u001b')
  if (sequence >= text.length - LONGEST_OPEN && sequence !== -1) return sequence
  return text.endsWith('\u00c2') ? text.length - 1 : text.length
}

/** Without the lines from there on that at least so many others follow; what colours they set stays. */
export function withoutUnseen(text: string, from: number, lines: number): string {
  let end = text.length
  for (let count = 0; count < lines && end > from; count += 1) end = text.lastIndexOf('\n', end - 1)
  // Only after a whole line end is the cursor known to be in the first column.
  while (end > from && text.charAt(end - 1) !== '\r') end = text.lastIndexOf('\n', end - 1)
  if (end <= from) return text
  const colours = text.slice(from, end + 1).match(COLOUR) ?? []
  const since = colours.findLastIndex((colour) => NO_COLOUR.test(colour))
  return text.slice(0, from) + colours.slice(Math.max(0, since)).join('') + text.slice(end + 1)
}
