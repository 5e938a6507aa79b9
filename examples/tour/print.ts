/** How the tour looks. */
import type { RunEvent } from 'nerve'

const COLORS = { red: 31, green: 32, cyan: 36, dim: 2, bold: 1 } as const
const colored = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
let silent = false

/** Prints nothing from here on: for --json. */
export function quiet(): void {
  silent = true
}

export function print(text: string | undefined): void {
  if (text !== undefined && !silent) console.log(text)
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
      const time = `${((event.time - event.started) / 1_000).toFixed(1)}s`
      const cost = event.usage?.usd === undefined ? '' : `  $${event.usage.usd.toFixed(2)}`
      return `  ${tone('✓', 'green')} ${name(event.path).padEnd(14)} ${tone(`${time}${cost}`, 'dim')}`
    }
    case 'step-failed':
      return `  ${tone('↻', 'cyan')} ${name(event.path).padEnd(14)} ${tone(`${event.error.message}; tried again`, 'dim')}`
    case 'question-asked':
      return `  ${tone('?', 'cyan')} ${event.prompt}`
    case 'question-answered':
      return `  ${tone('→', 'green')} ${String(event.value)} ${tone(`(answered by ${event.by ?? 'somebody'}, from another process)`, 'dim')}`
    default:
      return undefined
  }
}

/** The last part of a path, with an iteration as people write it. */
function name(path: string): string {
  return (path.split('/').at(-1) ?? path).replace('#', ' ·')
}
