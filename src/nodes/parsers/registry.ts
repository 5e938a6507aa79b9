/** The parsers by name. */
import { nearest } from '../../base/nearest.ts'
import { NerveError } from '../../base/nerve-error.ts'
import { claude } from './claude.ts'
import { gemini } from './gemini.ts'
import { none } from './none.ts'
import type { ParsedScreen, Parser } from './parser.ts'

const PARSERS = { claude, gemini, none } as const

export type ParserName = keyof typeof PARSERS

export const PARSER_NAMES = Object.keys(PARSERS) as readonly ParserName[]

/**
 * The parser of this name.
 *
 *     parserNamed('claude').parse(screen).state // 'ready'
 */
export function parserNamed(name: string): Parser {
  const known = PARSER_NAMES.find((one) => one === name)
  if (known !== undefined) return PARSERS[known]
  const near = nearest(name, PARSER_NAMES)
  const hint = near === undefined ? '' : ` Did you mean '${near}'?`
  throw new NerveError('not-found', `There is no parser '${name}'.${hint} Known: ${PARSER_NAMES.join(', ')}.`)
}

/** What a step may have given: a text, or something with a text of its screen or its output in it. */
export type ScreenOutput =
  | string
  | { readonly screen: string }
  | { readonly output: string }
  | { readonly stdout: string }

/**
 * A parser as the `parser` of a step: the step's result is what the screen says.
 *
 *     graph('ask').step('reply', terminal, { input: 'hello', parser: parsed('claude') })
 */
export function parsed(name: ParserName): (output: ScreenOutput) => ParsedScreen {
  const parser = parserNamed(name)
  return (output) => parser.parse(textOf(output, name))
}

function textOf(output: unknown, name: string): string {
  if (typeof output === 'string') return output
  const { screen, output: text, stdout } = (output ?? {}) as Readonly<Record<string, unknown>>
  const found = [screen, text, stdout].find((one) => typeof one === 'string')
  if (typeof found === 'string') return found
  throw new NerveError(
    'bad-value',
    `The parser '${name}' needs a text, or an object with a text as screen, output or stdout; it got ${kindOf(output)}. ` +
      `Pick the text first: parser: (output) => parsed('${name}')(output.text)`,
  )
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return typeof value === 'object' ? `an object with ${Object.keys(value).join(', ') || 'nothing in it'}` : typeof value
}
