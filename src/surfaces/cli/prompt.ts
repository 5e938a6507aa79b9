/** A question at the terminal: what is shown, and what keys do to the line being typed. Pure. */
import { showDuration } from '../../base/duration.ts'
import type { OnDeadline } from '../../journal/events.ts'
import { brief, clean, oneLine, readable } from './printable.ts'
import type { KnownQuestion } from './progress.ts'
import { columnsOf, cut, wrapText, type Line } from './style.ts'

export interface Typed {
  readonly text: string
  readonly cursor: number
}

export interface Key {
  readonly name?: string | undefined
  readonly ctrl?: boolean
  readonly meta?: boolean
  readonly sequence?: string | undefined
}

export const NOTHING: Typed = { text: '', cursor: 0 }

/** The line after a key. Enter and Ctrl-C are not for it. */
export function typed(line: Typed, key: Key): Typed {
  const { text, cursor } = line
  const [before, after] = [text.slice(0, cursor), text.slice(cursor)]
  switch (key.ctrl === true ? `ctrl-${key.name ?? ''}` : key.name) {
    case 'backspace':
    case 'ctrl-h': {
      const kept = letters(before).slice(0, -1).join('')
      return { text: kept + after, cursor: kept.length }
    }
    case 'delete':
      return { text: before + letters(after).slice(1).join(''), cursor }
    case 'left':
      return { text, cursor: letters(before).slice(0, -1).join('').length }
    case 'right':
      return { text, cursor: cursor + (letters(after)[0]?.length ?? 0) }
    case 'home':
    case 'ctrl-a':
      return { text, cursor: 0 }
    case 'end':
    case 'ctrl-e':
      return { text, cursor: text.length }
    case 'ctrl-u':
      return { text: after, cursor: 0 }
    case 'ctrl-w': {
      const kept = before.replace(/\S*\s*$/, '')
      return { text: kept + after, cursor: kept.length }
    }
    case 'paste': {
      const more = clean((key.sequence ?? '').replace(/\r\n?/g, '\n'))
      return { text: before + more + after, cursor: cursor + more.length }
    }
    default: {
      const more = key.ctrl === true || key.meta === true ? '' : clean(key.sequence ?? '').replace(/[\n\t]/g, ' ')
      return { text: before + more + after, cursor: cursor + more.length }
    }
  }
}

/** What a person calls letters: an emoji of many code points is one. */
function letters(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
}

/** All of the question: what it asks, its detail, its choices and its deadline. */
export function questionLines(question: KnownQuestion, columns: number, now: number): Line[] {
  const { prompt, detail, free } = question
  const room = roomIn(columns)
  const dim = (text: string): Line[] => wrapText(text, room).map((part): Line => [{ text: `  ${part}`, tone: 'dim' }])
  const [first = '', ...more] = wrapText(clean(prompt), room)
  const { description } = free ?? {}
  return [
    [],
    [
      { text: '? ', tone: 'ask' },
      { text: first, tone: 'bold' },
    ],
    ...more.map((text): Line => [{ text: '  ' }, { text, tone: 'bold' }]),
    ...(detail === undefined ? [] : dim(readable(detail))),
    ...choiceLines(question, columns),
    ...(typeof description === 'string' ? dim(oneLine(description)) : []),
    ...deadlineLines(question, now),
  ]
}

/** What stays at the bottom of a question that is too long for the window, and was written above: never more lines than there is room. */
export function briefLines(question: KnownQuestion, now: number, size: { columns: number; room: number }): Line[] {
  const { columns, room } = size
  const head: Line[] = [
    [
      { text: '? ', tone: 'ask' },
      { text: brief(question.prompt, Math.max(8, roomIn(columns) - 2)), tone: 'bold' },
    ],
    [{ text: '  scroll up for all of it', tone: 'dim' }],
  ]
  const deadline = deadlineLines(question, now)
  const choices = choiceLines(question, columns)
  const count = question.choices?.length ?? 0
  const few: Line[] = count === 0 ? [] : [[{ text: `  1 to ${count}`, tone: 'ask' }, { text: ', or its text' }]]
  const whole = [...head, ...choices, ...deadline]
  const short = [...head.slice(0, 1), ...few, ...head.slice(1), ...deadline]
  return whole.length <= room ? whole : short.slice(0, Math.max(1, room))
}

function roomIn(columns: number): number {
  return Math.max(8, columns - 3)
}

function choiceLines({ choices = [] }: KnownQuestion, columns: number): Line[] {
  return choices.flatMap((choice, index) => {
    const number = `  ${index + 1} `
    const [first = '', ...more] = wrapText(oneLine(choice), Math.max(8, columns - 1 - number.length))
    return [
      [{ text: number, tone: 'ask' }, { text: first }] as Line,
      ...more.map((text): Line => [{ text: ' '.repeat(number.length) + text }]),
    ]
  })
}

function deadlineLines(question: KnownQuestion, now: number): Line[] {
  return question.deadline === undefined ? [] : [[{ text: `  ${deadlineText(question, now)}`, tone: 'warn' }]]
}

/** Why an answer was not taken. What was typed comes first in it, and what can be done last: both are seen, however much was typed. */
export function problemLines(problem: string, columns: number): Line[] {
  const lines = wrapText(problem, Math.max(8, columns - 3))
  const seen = lines.length > 3 ? [`${lines[0] ?? ''} …`, ...lines.slice(-2)] : lines
  return seen.map((text): Line => [{ text: `  ${text}`, tone: 'bad' }])
}

export function deadlineText(
  question: { readonly deadline?: number; readonly onDeadline?: OnDeadline },
  now: number,
): string {
  if (question.deadline === undefined) return ''
  const { onDeadline = 'fail' } = question
  const then = typeof onDeadline === 'object' ? `then: ${brief(onDeadline.default, 30)}` : `then: ${onDeadline}`
  const left = question.deadline - now
  // Nobody drives the run: whoever does next takes it as not answered.
  return left > 0 ? `within ${showDuration(left)} (${then})` : `its deadline has passed (${then})`
}

/** The line being typed, moved along so that its cursor is in sight, and the cursor's column. */
export function typedLine(line: Typed, columns: number): { readonly line: Line; readonly column: number } {
  const room = Math.max(4, columns - 4)
  // As long as what they stand for, so that the cursor is where it was.
  const shown = line.text.replaceAll('\n', '↵').replaceAll('\t', ' ')
  let before = shown.slice(0, line.cursor)
  while (columnsOf(before) >= room) before = letters(before).slice(1).join('')
  const text = cut(before + shown.slice(line.cursor), room)
  return { line: [{ text: '> ', tone: 'ask' }, { text }], column: 2 + columnsOf(before) }
}
