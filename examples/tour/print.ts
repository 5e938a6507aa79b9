/** How the tour looks. */
import { inspect } from 'node:util'
import type { RunEvent } from 'nerve'
import { textOf, type ModelReply } from 'nerve/models'

const COLORS = { red: 31, green: 32, cyan: 36, dim: 2, bold: 1 } as const
const colored = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
let silent = false

/** Prints nothing from here on: for --json. */
export function quiet(): void {
  silent = true
}

/** Lines that are too long go on below, as far in as they began. */
export function print(text: string | undefined): void {
  if (text !== undefined && !silent) for (const line of text.split('\n')) console.log(wrapped(line, columns()))
}

export function title(number: string, text: string): void {
  print(`\n${tone(number, 'cyan')} ${tone(text, 'bold')}`)
}

export function tone(text: string, color: keyof typeof COLORS): string {
  return colored ? `\u001B[${COLORS[color]}m${text}\u001B[0m` : text
}

/** A line about an event; undefined for what a newcomer need not see. */
export function eventText(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'step-completed': {
      if (event.kind === 'item') return undefined
      const took = `${((event.time - event.started) / 1_000).toFixed(1)}s`
      return line('✓', 'green', event.path, isReply(event.output) ? replyText(event.output) : took)
    }
    case 'step-failed':
      return line('↻', 'cyan', event.path, `${event.error.message}; tried again`)
    case 'question-asked': {
      const { input } = (event.detail ?? {}) as { readonly input?: unknown }
      const detail = input === undefined ? '' : ` ${tone(inspect(input), 'dim')}`
      return `  ${tone('?', 'cyan')} ${event.prompt}${detail}`
    }
    case 'question-answered':
      return `  ${tone('→', 'green')} ${String(event.value)} ${tone(`(answered by ${event.by ?? 'somebody'}, from another process)`, 'dim')}`
    default:
      return undefined
  }
}

function isReply(output: unknown): output is ModelReply {
  return typeof output === 'object' && output !== null && 'message' in output
}

/** What a call of the model cost, and what it said or wants to do. */
function replyText({ message, usage }: ModelReply): string {
  const parts = typeof message.content === 'string' ? [] : message.content
  const uses = parts.filter(({ type }) => type === 'tool-call').map(({ toolName }) => `→ ${String(toolName)}`)
  const said = [textOf(message), ...uses].filter((text) => text !== '')
  return `${usage.input + usage.output} tokens  ${said.join(' ')}`
}

function line(sign: string, color: 'green' | 'cyan', path: string, more: string): string {
  // The last part of the path, with a repetition as people write it.
  const name = (path.split('/').at(-1) ?? path).replace('#', ' ·')
  return `  ${tone(sign, color)} ${name.padEnd(12)} ${tone(more, 'dim')}`
}

/** Without a terminal, as wide as the environment says. One that says 0, as some in CI do, does not know it. */
function columns(): number {
  return Math.max(20, process.stdout.columns || Number(process.env['COLUMNS']) || 80)
}

// oxlint-disable-next-line no-control-regex -- colours take no room
const COLOR = /\u001B\[\d+m/g
const length = (text: string): number => text.replaceAll(COLOR, '').length

function wrapped(text: string, width: number): string {
  const indent = /^\s*(?:[^\sA-Za-z] )?\s*/.exec(text.replaceAll(COLOR, ''))?.[0].length ?? 0
  const lines: string[] = []
  let current = ''
  for (const word of text.split(/(?<=\S) /)) {
    const longer = current === '' ? word : `${current} ${word}`
    if (current !== '' && length(longer.trimEnd()) > width) {
      lines.push(current.trimEnd())
      current = ' '.repeat(indent) + word.trimStart()
    } else current = longer
  }
  return [...lines, current].join('\n')
}
