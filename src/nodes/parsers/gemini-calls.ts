/** The calls of tools in a box of Gemini CLI, or in a line. */
import type { GeminiBlock } from './gemini-blocks.ts'
import type { Section } from './parser.ts'
import { indentOf, trimmedBlock, withoutBoxes } from './screen-lines.ts'

/** The mark of its state, then the name. A letter or a dash could begin any line, so these need both spaces. */
const HEAD = /^ ?(?:[✓✔✕✗⊶⊷?\u2800-\u28FF] {1,2}|[xo-] {2})(\S.*)$/
/** Names with spaces; the first word is the name of every other tool. */
const LONG_NAMES = ['Ask User', 'Activate Skill', 'Enter Plan Mode', 'Exit Plan Mode', 'Google Search', 'Shell Command']
const ARROW = ' → '

export function geminiCalls(block: GeminiBlock, asks: boolean, turn: number): Section[] {
  if (block.kind === 'tool') return [inLine(block.lines, turn)]
  const calls: { readonly head: string; readonly lines: string[] }[] = []
  block.lines.forEach((line, at) => {
    const head = at === 0 || block.lines[at - 1] === '' ? HEAD.exec(line)?.[1] : undefined
    if (head !== undefined) calls.push({ head, lines: [] })
    else calls.at(-1)?.lines.push(withoutBoxes(line))
  })
  return calls.map(({ head, lines }, at) => {
    // What is under the last call of a dialog is the question.
    const waits = asks && at === calls.length - 1
    return callOf(head, waits ? '' : resultOf(lines), turn)
  })
}

/** `✓  WriteFile  config.json → Accepted`, and the change under it. */
function inLine([first = '', ...rest]: readonly string[], turn: number): Section {
  const head = HEAD.exec(first)?.[1] ?? first
  const arrow = head.indexOf(ARROW)
  if (arrow === -1) return callOf(head, resultOf(rest), turn)
  return callOf(head.slice(0, arrow), [head.slice(arrow + ARROW.length), resultOf(rest)].join('\n').trimEnd(), turn)
}

/** Without what all lines are indented by. */
function resultOf(lines: readonly string[]): string {
  const shown = trimmedBlock(lines)
  const least = shown.reduce((indent, line) => (line === '' ? indent : Math.min(indent, indentOf(line))), Infinity)
  return shown.map((line) => line.slice(line === '' ? 0 : least)).join('\n')
}

function callOf(head: string, result: string, turn: number): Section {
  const shown = (head.endsWith('←') && head.slice(0, -1).trimEnd()) || head
  const gap = shown.indexOf(' ')
  const tool = LONG_NAMES.find((name) => shown.startsWith(name)) ?? (gap === -1 ? shown : shown.slice(0, gap))
  const given = shown.slice(tool.length).trim()
  return { type: 'tool', tool, arguments: given, ...(result === '' ? {} : { result }), turn }
}
