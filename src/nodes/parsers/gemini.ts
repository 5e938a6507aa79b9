/** The screen of Gemini CLI. */
import { numberedChoices, questionAbove } from './choices.ts'
import { geminiBlocks, inputTop, type GeminiBlock } from './gemini-blocks.ts'
import { geminiCalls } from './gemini-calls.ts'
import type { ParsedScreen, Parser, ScreenQuestion, ScreenState, ScreenTokens, Section } from './parser.ts'
import { columnsOf, joinWrapped, screenLines, trimmedBlock, withoutBoxes } from './screen-lines.ts'

export const gemini: Parser = {
  name: 'gemini',
  parse(screen): ParsedScreen {
    const lines = screenLines(screen)
    const top = inputTop(lines)
    const blocks = geminiBlocks(lines.slice(0, top))
    const bottom = bottomOf(blocks, top === undefined ? undefined : lines.slice(top))
    const tokens = tokensOf(blocks)
    return {
      sections: sectionsOf(blocks, bottom.dialog, columnsOfScreen(lines)),
      state: bottom.state,
      ...(tokens === undefined ? {} : { tokens }),
      ...(bottom.question === undefined ? {} : { question: bottom.question }),
      raw: screen,
    }
  },
}

interface Bottom {
  readonly state: ScreenState
  readonly question?: ScreenQuestion
  /** The box that asks. */
  readonly dialog?: GeminiBlock
}

const BUSY = /^ {0,3}(?:[\u2800-\u28FF] .{0,300})?\(?esc to cancel|^ ?\S.{0,300}\(esc to cancel/

/** Only what is under the transcript tells the state: above it, models write what they like. */
function bottomOf(blocks: readonly GeminiBlock[], input: readonly string[] | undefined): Bottom {
  const last = blocks.findLastIndex(({ kind }) => kind !== 'other')
  const block = blocks[last]
  const question = block?.kind === 'box' ? questionIn(block) : undefined
  if (block !== undefined && question !== undefined)
    return { state: isPermission(question) ? 'permission' : 'asking', question, dialog: block }
  const status = [...blocks.slice(last + 1).flatMap(({ lines }) => lines), ...(input ?? [])]
  if (status.some((line) => BUSY.test(line))) return { state: 'busy' }
  return { state: input === undefined ? 'unknown' : 'ready' }
}

const WAITS = /^ {0,4}Enter to (?:select|submit|confirm)/

function questionIn(box: GeminiBlock): ScreenQuestion | undefined {
  const lines = box.lines.map(withoutBoxes)
  const list = numberedChoices(lines)
  if (list !== undefined) return questionAbove(lines.slice(0, list.row), list)
  const hint = lines.findLastIndex((line) => WAITS.test(line))
  return hint === -1 ? undefined : questionAbove(lines.slice(0, hint), { choices: [], row: hint })
}

function isPermission({ prompt, choices }: ScreenQuestion): boolean {
  return /^(?:Allow|Apply) /.test(prompt) || choices.some(({ label }) => /^(?:Yes, )?allow once/i.test(label))
}

function sectionsOf(blocks: readonly GeminiBlock[], dialog?: GeminiBlock, columns?: number): Section[] {
  let turn = 0
  return blocks.flatMap((block): Section[] => {
    if (block.kind === 'prompt') turn += 1
    if (block.kind === 'box' || block.kind === 'tool') return geminiCalls(block, block === dialog, turn)
    if (block.kind === 'prompt' || block.kind === 'other') return []
    const text = joinWrapped(trimmedBlock(block.lines), columns === undefined ? undefined : columns - REPLY_INDENT)
    return text === '' ? [] : [{ type: block.kind === 'thinking' ? 'thinking' : 'text', text, turn }]
  })
}

const REPLY_INDENT = 2

/** As wide as what is drawn across it. */
function columnsOfScreen(lines: readonly string[]): number | undefined {
  let most = 0
  for (const line of lines) if (/^ ?[▀▄╭╰─]{10}/.test(line)) most = Math.max(most, columnsOf(line))
  return most === 0 ? undefined : most
}

/** The table of models on the pages about usage; numbers end where the names of their columns end. */
function tokensOf(blocks: readonly GeminiBlock[]): ScreenTokens | undefined {
  const table = blocks.findLast(({ kind, lines }) => kind === 'box' && lines.some(isTableHead))
  if (table === undefined) return undefined
  const at = table.lines.findLastIndex(isTableHead)
  const head = table.lines[at] ?? ''
  // What is under a model's name is a part of it.
  const rows = table.lines.slice(at + 1).filter((line) => !line.trimStart().startsWith('↳'))
  const sum = (name: string): number => {
    const end = head.indexOf(name) + name.length
    return rows.reduce((total, row) => total + numberBefore(row, end), 0)
  }
  return { input: sum(INPUT_TOKENS), output: sum(OUTPUT_TOKENS) }
}

const INPUT_TOKENS = 'Input Tokens'
const OUTPUT_TOKENS = 'Output Tokens'

function isTableHead(line: string): boolean {
  return line.includes(INPUT_TOKENS) && line.includes(OUTPUT_TOKENS)
}

function numberBefore(row: string, end: number): number {
  const found = / (\d[\d,]{0,14})$/.exec(row.slice(Math.max(0, end - 18), end))
  return found === null ? 0 : Number((found[1] ?? '').replaceAll(',', ''))
}
