/** The screen of Claude Code, versions 1 and 2: a transcript of marked blocks, and under it the input or a dialog. */
import { claudeBottom } from './claude-bottom.ts'
import type { ParsedScreen, Parser, Section } from './parser.ts'
import { isDrawing, joinWrapped, outdented, screenLines, trimmedBlock } from './screen-lines.ts'

type Kind = 'prompt' | 'reply' | 'thinking' | 'cut' | 'other'

/** What one mark at the left side begins. */
interface Block {
  readonly kind: Kind
  readonly turn: number
  readonly lines: string[]
  /** What hangs under it, each with its own mark. */
  readonly results: string[][]
}

const RESULT = /^ {1,4}⎿[ \u00A0]{0,2}/
const THINKING = /^[✻✽✶✢✳·∴∗*] Thinking…?$/
const EXPANDS = '(ctrl+o to expand)'

export const claude: Parser = {
  name: 'claude',
  parse(screen): ParsedScreen {
    const lines = screenLines(screen)
    const { top, columns, ...bottom } = claudeBottom(lines)
    const sections = blocksOf(lines.slice(0, top)).flatMap((block) => sectionsOf(block, columns))
    return { sections, ...bottom, raw: screen }
  },
}

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = []
  let turn = 0
  const open = (kind: Kind, text: string): void => {
    if (kind === 'prompt') turn += 1
    blocks.push({ kind, turn, lines: [text], results: [] })
  }
  lines.forEach((line, at) => {
    const marked = markOf(line)
    const block = blocks.at(-1)
    const calls = lines[at - 1] === '' && line.startsWith('  ') && RESULT.test(lines[at + 1] ?? '')
    if (marked !== undefined) open(marked.kind, marked.text)
    else if (calls && !RESULT.test(line)) open('reply', line.trim())
    else if (block === undefined) {
      if (line.startsWith('  ') && !isDrawing(line)) open('cut', '')
      if (blocks.length > 0) addTo(blocks.at(-1), line)
    } else addTo(block, line)
  })
  return blocks
}

/** The mark in the first column. A line that has none but begins there belongs to no block. */
function markOf(line: string): { readonly kind: Kind; readonly text: string } | undefined {
  const first = line.charAt(0)
  const text = line.slice(2)
  if (first === '' || first === ' ') return isDrawing(line) ? { kind: 'other', text } : undefined
  if (line.charAt(1).trim() !== '') return { kind: 'other', text }
  if (first === '❯' || first === '>') return { kind: 'prompt', text }
  if (first === '●' || first === '⏺') return { kind: 'reply', text }
  return THINKING.test(line) ? { kind: 'thinking', text: '' } : { kind: 'other', text }
}

function addTo(block: Block | undefined, line: string): void {
  if (block === undefined) return
  const result = block.results.at(-1)
  if (RESULT.test(line)) block.results.push([line.replace(RESULT, '')])
  else if (result === undefined) block.lines.push(outdented(line, 2))
  else result.push(outdented(line, 5))
}

function sectionsOf(block: Block, columns: number | undefined): Section[] {
  const room = (indent: number): number | undefined => (columns === undefined ? undefined : columns - indent)
  const { kind, turn } = block
  const text = joinWrapped(trimmedBlock(block.lines), room(2))
  const results = block.results.map((lines) => joinWrapped(trimmedBlock(lines), room(5)))
  if (kind === 'thinking') return text === '' ? [] : [{ type: 'thinking', text, turn }]
  if (kind === 'prompt') return underPrompt(text, results, turn)
  if (kind === 'cut') return textSection([text, ...results].filter((part) => part !== '').join('\n'), turn)
  if (kind === 'other') return []
  if (text === '') return textSection(results.join('\n'), turn)
  if (results.length > 0 || isCall(text) || text.endsWith(EXPANDS)) return [toolSection(text, results, turn)]
  return textSection(text, turn)
}

function textSection(text: string, turn: number): Section[] {
  return text === '' ? [] : [{ type: 'text', text, turn }]
}

/** A command of the person has its result under it; so have a turn that failed, and one that was interrupted. */
function underPrompt(prompt: string, results: readonly string[], turn: number): Section[] {
  if (results.length === 0) return []
  if (!prompt.startsWith('/'))
    return textSection(results.filter((one) => !one.startsWith('Interrupted')).join('\n'), turn)
  const gap = prompt.indexOf(' ')
  const tool = gap === -1 ? prompt : prompt.slice(0, gap)
  const given = gap === -1 ? '' : prompt.slice(gap + 1)
  return [{ type: 'tool', tool, arguments: given, result: results.join('\n'), turn }]
}

const SHELL = '$ '

function toolSection(call: string, results: readonly string[], turn: number): Section {
  const [first = '', ...rest] = results
  if (first.startsWith(SHELL)) return tool('Bash', first.slice(SHELL.length), rest, turn)
  const open = argumentsAt(call)
  if (open === -1)
    return tool((call.endsWith(EXPANDS) && call.slice(0, -EXPANDS.length).trim()) || call, '', results, turn)
  const close = call.lastIndexOf(')')
  return tool(call.slice(0, open).trim(), call.slice(open + 1, close > open ? close : undefined), results, turn)
}

function tool(name: string, given: string, results: readonly string[], turn: number): Section {
  const result = results.length === 0 ? {} : { result: results.join('\n') }
  return { type: 'tool', tool: name, arguments: given, ...result, turn }
}

/** `Write(hello.txt)`: with no result yet, only this shape tells a call from a text. */
function isCall(text: string): boolean {
  return text.endsWith(')') && !text.includes('\n\n') && argumentsAt(text) !== -1
}

/** Where the arguments begin: after a name like `Write`, or like `server - tool (MCP)`. */
function argumentsAt(call: string): number {
  const mcp = /^[\w.:-]{1,60} - [\w.:-]{1,60} \(MCP\)\(/.exec(call)
  if (mcp !== null) return mcp[0].length - 1
  const name = /^[A-Z][\w.:-]{0,60}\(/.exec(call)
  return name === null ? -1 : name[0].length - 1
}
