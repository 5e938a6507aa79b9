/** Values as people type them. */
import { readFileSync } from 'node:fs'
import { milliseconds } from '../../base/duration.ts'
import { NerveError } from '../../base/nerve-error.ts'
import type { Budget } from '../../journal/events.ts'
import type { OpenQuestion } from '../../journal/port.ts'
import { UsageError } from './exit-code.ts'
import { nearest } from '../../base/nearest.ts'

/** JSON when it parses, else the text itself: braces alone do not make JSON. */
export function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `-` is stdin, `@file` a file, anything else the value itself. */
export async function readInput(text: string): Promise<unknown> {
  return parseValue(await readText(text, `For a text that begins with @, write it as JSON: '"@…"'.`))
}

/** The same as text, whatever it looks like. */
export async function readText(text: string, hint = ''): Promise<string> {
  if (text === '-') return withoutLastBreak(await readAll(process.stdin))
  if (!text.startsWith('@')) return text
  try {
    return withoutLastBreak(readFileSync(text.slice(1), 'utf8'))
  } catch (error) {
    throw new UsageError(`${text}: the file could not be read (${(error as Error).message}). ${hint}`.trimEnd())
  }
}

/** `-` is stdin. */
export async function readFileOrStdin(file: string): Promise<string> {
  if (file === '-') return readAll(process.stdin)
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new NerveError('bad-file', `${file} could not be read: ${(cause as Error).message}`, { cause })
  }
}

async function readAll(stream: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}

export function parsePairs(texts: readonly string[], option: string): Record<string, unknown> {
  return Object.fromEntries(pairsIn(texts, option).map(([name, text]) => [name, parseValue(text)]))
}

/** The same with the values as they were typed. */
export function pairsIn(texts: readonly string[], option: string): readonly (readonly [name: string, text: string])[] {
  return texts.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw new UsageError(`${option} is '${text}'; give a name and a value: ${option} name=value`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
}

const DIMENSIONS = ['usd', 'tokens', 'calls', 'steps', 'seconds', 'depth']
const MULTIPLES: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6 }

/** `usd=2,tokens=100k`. Seconds may be a duration. */
export function parseBudget(text: string): Budget {
  const budget: Record<string, number> = {}
  for (const part of text.split(',')) {
    const [name = '', amount = '', ...rest] = part.split('=').map((word) => word.trim())
    if (!DIMENSIONS.includes(name)) {
      const near = nearest(name, DIMENSIONS)
      throw new UsageError(
        `--budget: '${name}' cannot be limited.${near === undefined ? '' : ` Did you mean '${near}'?`} Known: ${DIMENSIONS.join(', ')}.`,
      )
    }
    const value = rest.length > 0 ? Number.NaN : amountOf(name, amount)
    if (!(value >= 0))
      throw new UsageError(`--budget: ${name} is '${amount}'; give a number such as 2, 0.5, 100k or 2m.`)
    budget[name] = value
  }
  return budget
}

function amountOf(name: string, text: string): number {
  if (name === 'seconds' && /^[\d.]+\s*(ms|s|m|h|d)$/.test(text)) return milliseconds(text, '--budget seconds') / 1_000
  const found = /^(\d+(?:\.\d+)?)([km]?)$/i.exec(text)
  return found === null ? Number.NaN : Number(found[1]) * (MULTIPLES[(found[2] ?? '').toLowerCase()] ?? Number.NaN)
}

/** What a typed answer may mean for this question, the likeliest first. */
export function answerValues(
  question: Pick<OpenQuestion, 'kind' | 'choices' | 'schema' | 'free'> | undefined,
  text: string,
): unknown[] {
  const value = parseValue(text)
  const isObject = typeof value === 'object' && value !== null
  if (question?.kind === 'recovery' && isObject) return [value]
  if (value === text || (question?.schema !== true && question?.free === undefined)) return [text]
  // Beside choices, a word or a number is a choice first, and only then anything else.
  return isObject || question.choices === undefined ? [value, text] : [text, value]
}

export function wholeNumber(text: string, option: string, least = 0): number {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text)
  throw new UsageError(`${option} is '${text}'; give a whole number${least === 0 ? '' : ` from ${least}`}.`)
}

/** The names of `--expose`: repeated, with commas, or all. */
export function exposed(given: readonly string[], command: string): 'all' | readonly string[] {
  const names = given.flatMap((text) => text.split(',')).map((name) => name.trim())
  if (names.includes(''))
    throw new UsageError(`${command}: --expose has an empty name: --expose all, or --expose publish,review`)
  return names.includes('all') ? 'all' : names
}
