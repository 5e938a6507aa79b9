/** The choices at the end of a screen, and what is asked above them. */
import type { ScreenChoice, ScreenQuestion } from './parser.ts'
import { indentOf, isBoxEdge, joinWrapped, trimmedBlock } from './screen-lines.ts'

const NUMBERED = /^ {0,6}([❯●>])? {0,3}(\d{1,2})\. {1,3}(\S.*)$/
/** Dialogs are short; what is further up is not one of them. */
const MOST_ROWS = 80

export interface ChoiceList {
  readonly choices: readonly ScreenChoice[]
  /** The row of the first choice. */
  readonly row: number
}

/** The last list of numbered choices that starts with 1 and has one of them selected. */
export function numberedChoices(lines: readonly string[], room?: number): ChoiceList | undefined {
  let expected: number | undefined
  for (let row = lines.length - 1; row >= Math.max(0, lines.length - MOST_ROWS); row--) {
    const number = Number(NUMBERED.exec(lines[row] ?? '')?.[2] ?? Number.NaN)
    if (Number.isNaN(number) || (expected !== undefined && number !== expected)) continue
    if (number > 1) {
      expected = number - 1
      continue
    }
    const choices = choicesFrom(lines, row, room)
    return choices.some(({ selected }) => selected) ? { choices, row } : undefined
  }
  return undefined
}

interface Growing {
  readonly key: string
  readonly selected: boolean
  readonly lines: string[]
}

function choicesFrom(lines: readonly string[], start: number, room?: number): ScreenChoice[] {
  const found: Growing[] = []
  let open = false
  for (let row = start; row < lines.length; row++) {
    const line = lines[row] ?? ''
    const match = NUMBERED.exec(line)
    if (match !== null && Number(match[2]) === found.length + 1) {
      found.push({ key: match[2] ?? '', selected: match[1] !== undefined, lines: [match[3] ?? ''] })
      open = true
    } else if (line === '' || isBoxEdge(line)) open = false
    else if (open && indentOf(line) >= 4) found.at(-1)?.lines.push(line.trim())
  }
  return found.map((one) => choice(one, room))
}

/** What is under a label is the rest of it when it did not fit, else it tells more. */
function choice({ key, selected, lines }: Growing, room?: number): ScreenChoice {
  const [label = '', ...rest] = joinWrapped(lines, room === undefined ? undefined : room - LABEL_INDENT).split('\n')
  return { label, key, selected, ...(rest.length === 0 ? {} : { detail: rest.join('\n') }) }
}

const LABEL_INDENT = 6

/** A list without numbers: the selected line and its neighbours. */
export function plainChoices(lines: readonly string[]): ChoiceList | undefined {
  const from = Math.max(0, lines.length - MOST_ROWS)
  const at = lines.findLastIndex((line, row) => row >= from && /^ {0,4}❯ \S/.test(line))
  if (at === -1) return undefined
  let first = at
  let last = at
  while (first > from && isChoice(lines[first - 1])) first--
  while (last + 1 < lines.length && isChoice(lines[last + 1])) last++
  const choices = lines
    .slice(first, last + 1)
    .map((line, index) => ({ label: line.replace('❯', ' ').trim(), selected: first + index === at }))
  return { choices, row: first }
}

function isChoice(line: string | undefined): boolean {
  return line !== undefined && /^ {2,8}\S/.test(line) && !isBoxEdge(line)
}

/** The question above a list of choices: the nearest paragraph with a question mark, else the nearest. */
export function questionAbove(above: readonly string[], list: ChoiceList, room?: number): ScreenQuestion {
  const paragraphs = paragraphsOf(above)
  const asked = paragraphs.findLastIndex((lines) => lines.some((line) => line.includes('?')))
  const at = asked === -1 ? paragraphs.length - 1 : asked
  const inner = room === undefined ? undefined : room - 2
  const detail = paragraphs
    .slice(0, Math.max(at, 0))
    .map((lines) => lines.join('\n'))
    .join('\n')
  return {
    prompt: joinWrapped(paragraphs[at] ?? [], inner),
    choices: list.choices,
    ...(detail === '' ? {} : { detail }),
  }
}

/** Parted by empty lines, and by lines across the dialog. */
function paragraphsOf(lines: readonly string[]): (readonly string[])[] {
  const paragraphs: string[][] = [[]]
  for (const line of trimmedBlock(lines)) {
    const text = line.trim()
    if (text === '' || /^[─━╌▔]{6}/.test(text)) paragraphs.push([])
    else paragraphs.at(-1)?.push(text)
  }
  return paragraphs.filter((paragraph) => paragraph.length > 0)
}
