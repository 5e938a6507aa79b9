/** The help, made from the command table. */
import type { CommandSpec, OptionSpec } from './command-spec.ts'
import { COMMANDS, GLOBAL_OPTIONS } from './command-table.ts'
import { nearest } from '../../base/nearest.ts'

/** Prints the help of a command, or of all. */
export function helpFor(argv: readonly string[], version: string): number {
  const [name, verb] = argv.filter((word) => !word.startsWith('-'))
  if (name === undefined) {
    console.log(overview(version))
    return 0
  }
  const command = COMMANDS.find((one) => one.name === name)
  const spec = verb === undefined || command?.verbs === undefined ? command : verbOf(command, verb)
  if (spec === undefined) {
    console.error(command === undefined ? unknownCommand(name) : unknownVerb(command, verb ?? ''))
    return 2
  }
  console.log(commandHelp(spec))
  return 0
}

export function verbOf(group: CommandSpec, verb: string): CommandSpec | undefined {
  return group.verbs?.find(({ name }) => name === `${group.name} ${verb}`)
}

export function unknownCommand(name: string): string {
  const near = nearest(
    name,
    COMMANDS.map((command) => command.name),
  )
  return `there is no command '${name}'.${near === undefined ? '' : ` Did you mean '${near}'?`} See: nerve --help`
}

export function unknownVerb({ name, verbs = [] }: CommandSpec, verb: string): string {
  const known = verbs.map((one) => one.name.slice(name.length + 1))
  const near = nearest(verb, known)
  return `nerve ${name}: there is no '${verb}'. ${near === undefined ? `Known: ${known.join(', ')}.` : `Did you mean '${near}'?`} See: nerve help ${name}`
}

function overview(version: string): string {
  const rows = COMMANDS.map(({ name, usage, summary }) => [shortUsage(name, usage), summary] as const)
  return [
    `nerve ${version}: durable programs of coding agents`,
    '',
    'usage: nerve COMMAND [options]',
    '',
    ...table(rows),
    '',
    ...table([
      ['nerve help COMMAND', 'more about a command, with examples'],
      ['nerve --version', 'the version'],
    ]),
    '',
    'RUN is the id of a run, the beginning of one, or `last` for the newest.',
    'Every command takes --json (JSON on stdout) and --dir FOLDER (the project).',
    'exit codes: 0 done  1 failed  2 usage  3 waiting for a person  4 budget spent  5 cancelled',
  ].join('\n')
}

/** Options stay out of the overview. */
function shortUsage(name: string, usage: string): string {
  const words = usage
    .replace(/\[[^\]]*--[^\]]*\]/g, '')
    .replace(/\|.*$/, '')
    .trim()
  return `  ${name}${words === '' ? '' : ` ${words}`}`
}

export function commandHelp(spec: CommandSpec): string {
  const { name, usage, summary, about, examples, options = {}, verbs = [] } = spec
  const own = optionRows(options)
  return [
    `usage: nerve ${name}${usage === '' ? '' : ` ${usage}`}`,
    '',
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    ...(about === undefined ? [] : ['', ...wrap(about, 100)]),
    '',
    ...(verbs.length === 0 ? [] : [...table(verbs.map((one) => [shortUsage(one.name, one.usage), one.summary])), '']),
    ...(own.length === 0 ? [] : ['options:', ...table(own), '']),
    ...table(optionRows(GLOBAL_OPTIONS)),
    '',
    'examples:',
    ...examples.flatMap(([command, meaning]) => [`  ${command}`, `      ${meaning}`]),
  ].join('\n')
}

function optionRows(options: Readonly<Record<string, OptionSpec>>): (readonly [string, string])[] {
  return Object.entries(options)
    .filter(([, option]) => option.hidden !== true)
    .map(([name, { value, help }]) => [`  --${name}${value === undefined ? '' : ` ${value}`}`, help] as const)
}

function table(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`)
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
