/** What may follow the words of a command line, by the command table. Pure but for the values, which the project has. */
import { placeWords, verbOf, type CommandSpec, type CommandTable, type OptionSpec } from './command-spec.ts'

export interface Suggestion {
  readonly value: string
  readonly about?: string
}

/** What stands at a place of a command line, as the usage of the command calls it. */
export interface Place {
  readonly word: string
  readonly command: string
  /** The option whose value it is, if it is one. */
  readonly option?: string
  /** The positional words before it. */
  readonly words: readonly string[]
  readonly current: string
  /** What --dir says. */
  readonly dir?: string
}

export type Values = (place: Place) => Promise<readonly Suggestion[]>

/** Where suggestions come from. */
export interface Known {
  readonly table: CommandTable
  readonly values: Values
}

/** Suggestions for the last of these words, which follow `nerve`. */
export async function suggestions(line: readonly string[], known: Known): Promise<readonly Suggestion[]> {
  const current = line.at(-1) ?? ''
  const { table, values } = known
  const read = readLine(line.slice(0, -1), table)
  const { spec, names, dir } = read
  if (spec === undefined) return matching(commandWords(read, current, table), current)
  const command = { command: spec.name, words: names, ...(dir === undefined ? {} : { dir }) }
  const joined = /^--([^=]+)=(.*)$/s.exec(current)
  if (read.options && joined !== null) {
    const [, option = '', text = ''] = joined
    const found = await ofOption(spec, { ...command, option, current: text }, known)
    return matching(found, text).map((one) => ({ ...one, value: `--${option}=${one.value}` }))
  }
  if (read.awaits !== undefined)
    return matching(await ofOption(spec, { ...command, option: read.awaits, current }, known), current)
  if (read.options && current.startsWith('-')) return matching(optionWords(spec, read.used, table), current)
  const [word, ...choices] = placeWords(spec, names.length)
  if (choices.length > 0) return matching([word ?? '', ...choices].map(plain), current)
  return word === undefined ? [] : matching(await values({ ...command, word, current }), current)
}

interface ReadLine {
  readonly spec: CommandSpec | undefined
  /** The group whose verb comes next, or whose help is asked for. */
  readonly group: CommandSpec | undefined
  readonly help: boolean
  readonly names: readonly string[]
  readonly used: ReadonlySet<string>
  /** The option that waits for its value. */
  readonly awaits: string | undefined
  /** False after `--`. */
  readonly options: boolean
  readonly dir: string | undefined
}

function readLine(words: readonly string[], { commands, globals }: CommandTable): ReadLine {
  let spec: CommandSpec | undefined
  let group: CommandSpec | undefined
  let help = false
  let awaits: string | undefined
  let options = true
  let dir: string | undefined
  const names: string[] = []
  const used = new Set<string>()
  for (const word of words) {
    if (awaits !== undefined) {
      if (awaits === 'dir') dir = word
      awaits = undefined
    } else if (options && word === '--') options = false
    else if (options && word.startsWith('-')) {
      const [name = '', value] = word.replace(/^--?/, '').split(/=(.*)/s)
      used.add(name)
      if (name === 'dir' && value !== undefined) dir = value
      const option = { ...spec?.options, ...globals }[name]
      if (option?.type === 'string' && value === undefined) awaits = name
    } else if (spec !== undefined) names.push(word)
    else if (group !== undefined) spec = verbOf(group, word)
    else if (word === 'help') help = true
    else {
      const command = commands.find(({ name }) => name === word)
      if (command?.verbs === undefined) spec = command
      else group = command
      if (command === undefined) names.push(word)
    }
  }
  return { spec: help ? undefined : spec, group, help, names, used, awaits, options, dir }
}

function commandWords(
  { group, help, names, awaits }: ReadLine,
  current: string,
  table: CommandTable,
): readonly Suggestion[] {
  // After a word that is no command nothing is known; a folder is left to the values, which need a command.
  if (names.length > 0 || awaits !== undefined) return []
  if (current.startsWith('-') && group === undefined && !help)
    return [...optionWords(undefined, new Set(), table), { value: '--version', about: 'the version' }]
  if (group !== undefined)
    return (group.verbs ?? []).map(({ name, summary }) => ({
      value: name.slice(group.name.length + 1),
      about: summary,
    }))
  const all = table.commands.map(({ name, summary }) => ({ value: name, about: summary }))
  return help ? all : [...all, { value: 'help', about: 'more about a command, with examples' }]
}

function optionWords(
  spec: CommandSpec | undefined,
  used: ReadonlySet<string>,
  { globals }: CommandTable,
): readonly Suggestion[] {
  return Object.entries({ ...spec?.options, ...globals })
    .filter(([name, { hidden, multiple }]) => hidden !== true && (multiple === true || !used.has(name)))
    .map(([name, { help }]) => ({ value: `--${name}`, about: help }))
}

async function ofOption(
  spec: CommandSpec,
  place: Omit<Place, 'word'> & { readonly option: string },
  { table, values }: Known,
): Promise<readonly Suggestion[]> {
  const option: OptionSpec | undefined = { ...spec.options, ...table.globals }[place.option]
  if (option?.value === undefined) return []
  return option.values === undefined ? values({ ...place, word: option.value }) : option.values.map(plain)
}

function plain(value: string): Suggestion {
  return { value }
}

function matching(all: readonly Suggestion[], current: string): readonly Suggestion[] {
  return all.filter(({ value }) => value.startsWith(current))
}
