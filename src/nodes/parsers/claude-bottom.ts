/**
 * What is under the transcript on a screen of Claude Code: the box for input, or a dialog. Only this tells the state, because
 * the transcript holds text of models, which may look like anything.
 */
import { numberedChoices, plainChoices, questionAbove } from './choices.ts'
import type { ScreenQuestion, ScreenState, ScreenTokens } from './parser.ts'
import { columnsOf, unboxed } from './screen-lines.ts'

export interface Bottom {
  /** The row where it begins, and the transcript ends. */
  readonly top: number
  /** Of the screen, when a line across it shows it. */
  readonly columns?: number
  readonly state: ScreenState
  readonly question?: ScreenQuestion
  readonly tokens?: ScreenTokens
}

const MOST_ROWS = 100
/** Completions and hints under the input. */
const MOST_FOOTER_ROWS = 16
const MOST_SPINNER_ROWS = 40
const RULE = /^[╭╰]?[─━▔]{10}/
const PROMPT = /^[❯>!#](?:\s|$)/
const SPINNER = /^[·✢✳✶✻✽✺✱∗*+] [^…]{1,100}…/
const HINT = /(?:[Ee]sc to (?:cancel|exit|go back)|Enter to (?:select|confirm|submit|continue)|\(esc\)$)/
const REPLY = /^[●⏺](?:\s|$)/

export function claudeBottom(lines: readonly string[]): Bottom {
  const from = Math.max(0, lines.length - MOST_ROWS)
  const rows = lines.slice(from).map((line) => unboxed(line) ?? line)
  const rules = rows.flatMap((row, at) => (RULE.test(row) ? [at] : []))
  const columns = Math.max(0, ...rules.map((at) => columnsOf(lines[from + at] ?? '')))
  const found = input(rows, rules) ?? dialog(rows, rules, columns)
  const width = columns === 0 ? {} : { columns }
  if (found === undefined) return { top: lines.length, state: 'unknown', ...width }
  return { ...found, top: from + found.top, ...width }
}

/** The line for input is between the last two lines across the screen. */
function input(rows: readonly string[], rules: readonly number[]): Bottom | undefined {
  const [top, end] = rules.slice(-2)
  if (top === undefined || end === undefined || !PROMPT.test(rows[top + 1] ?? '')) return undefined
  const footer = rows.slice(end + 1)
  if (footer.length > MOST_FOOTER_ROWS) return undefined
  const spinner = spinnerAbove(rows, top)
  const busy = spinner !== undefined || footer.some((line) => line.includes('esc to interrupt'))
  const tokens = spinner === undefined ? undefined : turnTokens(spinner)
  return { top, state: busy ? 'busy' : 'ready', ...(tokens === undefined ? {} : { tokens }) }
}

/** The line that moves while Claude works is the last thing above the input, but for tips and tasks under it. */
function spinnerAbove(rows: readonly string[], top: number): string | undefined {
  for (let at = top - 1; at >= Math.max(0, top - MOST_SPINNER_ROWS); at--) {
    const row = rows[at] ?? ''
    if (SPINNER.test(row)) return row
    if (row !== '' && !row.startsWith(' ')) return undefined
  }
  return undefined
}

function dialog(rows: readonly string[], rules: readonly number[], columns: number): Bottom | undefined {
  const hint = rows
    .filter((row) => row !== '' && !RULE.test(row))
    .slice(-3)
    .find((row) => HINT.test(row.slice(-200)))
  if (hint === undefined) return undefined
  const room = columns === 0 ? undefined : columns
  const list = numberedChoices(rows, room) ?? plainChoices(rows)
  if (list === undefined) return pageOf(rows, rules)
  // The line above a long dialog is above the screen.
  const rule = rules.findLast((at) => at < list.row) ?? -1
  if (rows.slice(rule + 1).some((row) => REPLY.test(row))) return undefined
  const question = questionAbove(rows.slice(rule + 1, list.row), list, room)
  return { top: Math.max(rule, 0), state: isPermission(question, hint) ? 'permission' : 'asking', question }
}

/** A question of Claude Code about itself is confirmed with Enter; only one about a tool is a permission. */
function isPermission({ prompt }: ScreenQuestion, hint: string): boolean {
  return /^(?:Do you want to|Would you like to) /.test(prompt) && !hint.includes('Enter to confirm')
}

/** Settings, usage and the like: nothing is asked, and nothing can be typed. */
function pageOf(rows: readonly string[], rules: readonly number[]): Bottom | undefined {
  const top = rules.at(-1)
  if (top === undefined) return undefined
  const tokens = sessionTokens(rows.slice(top))
  return { top, state: 'unknown', ...(tokens === undefined ? {} : { tokens }) }
}

function turnTokens(spinner: string): ScreenTokens | undefined {
  const found = /([↑↓])? ?(\d{1,9}(?:\.\d{1,3})?)([km]?) tokens/.exec(spinner.slice(0, 300))
  if (found === null) return undefined
  const amount = tokensOf(found[2], found[3])
  return found[1] === '↑' ? { input: amount } : { output: amount }
}

const USED = /(\d{1,9}(?:\.\d{1,3})?)([km]?) input, (\d{1,9}(?:\.\d{1,3})?)([km]?) output/

function sessionTokens(rows: readonly string[]): ScreenTokens | undefined {
  const found = rows.map((row) => USED.exec(row.slice(0, 300))).filter((match) => match !== null)
  if (found.length === 0) return undefined
  const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0)
  return {
    input: sum(found.map((match) => tokensOf(match[1], match[2]))),
    output: sum(found.map((match) => tokensOf(match[3], match[4]))),
  }
}

function tokensOf(digits = '0', unit = ''): number {
  return Math.round(Number(digits) * (unit === 'k' ? 1_000 : unit === 'm' ? 1_000_000 : 1))
}
