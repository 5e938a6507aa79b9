/** Words to arguments and options, by a command's entry in the table; mistakes name the nearest right word. */
import { parseArgs } from 'node:util'
import { placeWords, type CommandSpec, type OptionSpec } from './command-spec.ts'
import { GLOBAL_OPTIONS } from './command-table.ts'
import { UsageError } from './exit-code.ts'
import { nearest } from '../../base/nearest.ts'

export interface Arguments {
  readonly words: readonly string[]
  flag(name: string): boolean
  text(name: string): string | undefined
  texts(name: string): readonly string[]
}

export function parseArguments(spec: CommandSpec, argv: readonly string[]): Arguments {
  const known: Readonly<Record<string, OptionSpec>> = { ...spec.options, ...GLOBAL_OPTIONS }
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { type, multiple }]) => [
      name,
      { type, multiple: multiple ?? false, ...(name === 'help' ? { short: 'h' } : {}) },
    ]),
  )
  // Not strict: its errors suggest nothing, and it takes a value that begins with a dash for an option.
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const found = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const values = found.get(token.name) ?? []
    found.set(token.name, [...values, checkOption(spec, known[token.name], token)])
  }
  if (!found.has('help')) checkCount(spec, positionals)
  return {
    words: positionals,
    flag: (name) => found.has(name),
    text: (name) => found.get(name)?.at(-1),
    texts: (name) => found.get(name) ?? [],
  }
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
}

function checkOption(spec: CommandSpec, option: OptionSpec | undefined, token: OptionToken): string {
  const { name, rawName, value } = token
  if (option === undefined) {
    const names = Object.entries({ ...spec.options, ...GLOBAL_OPTIONS }).filter(([, one]) => one.hidden !== true)
    const near = nearest(
      name,
      names.map(([one]) => one),
    )
    const hint = near === undefined ? '' : ` Did you mean '--${near}'?`
    const dash = /^-\d/.test(rawName) ? ` For a value that begins with a dash, write -- before it.` : ''
    throw new UsageError(
      `nerve ${spec.name}: there is no option '${rawName}'.${hint}${dash} See: nerve help ${spec.name}`,
    )
  }
  if (option.type === 'string' && value === undefined)
    throw new UsageError(`nerve ${spec.name}: ${rawName} needs a value: ${rawName} ${option.value ?? 'VALUE'}`)
  if (option.type === 'boolean' && value !== undefined)
    throw new UsageError(`nerve ${spec.name}: ${rawName} takes no value; it got '${value}'.`)
  return value ?? ''
}

function checkCount(spec: CommandSpec, words: readonly string[]): void {
  const [least, most] = spec.takes
  const problem =
    words.length < least
      ? `${wordAt(spec, words.length)} is missing`
      : words.length > most
        ? `'${words[most]}' is too much`
        : // As of a variable that is not set: every run begins with nothing.
          words[0] === ''
          ? `${wordAt(spec, 0)} is empty`
          : undefined
  if (problem === undefined) return
  throw new UsageError(`nerve ${spec.name}: ${problem}. usage: nerve ${spec.name} ${spec.usage}`.trimEnd())
}

function wordAt(spec: CommandSpec, at: number): string {
  const words = placeWords(spec, at)
  return words.length === 0 ? `word ${at + 1}` : words.join('|')
}
