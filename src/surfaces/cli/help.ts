/** The help, made from the command table, for terminals of any width. */
import { verbOf, type CommandSpec, type OptionSpec } from './command-spec.ts'
import { COMMANDS, GLOBAL_OPTIONS } from './command-table.ts'
import { nearest } from '../../base/nearest.ts'
import { oneLine, said } from './printable.ts'
import { sizeOf } from './style.ts'

const COLUMNS = 100
const LEAST_COLUMNS = 20
/** Beside less than this, an explanation is put below what it explains. */
const LEAST_BESIDE = 30

/** Prints the help of a command, or of all. */
export function helpFor(argv: readonly string[], version: string): number {
  const json = argv.includes('--json')
  const [name, verb] = argv.filter((word) => !word.startsWith('-'))
  if (name === undefined || name === 'help') {
    console.log(json ? JSON.stringify({ version, commands: COMMANDS.map(helpData) }) : overview(version))
    return 0
  }
  const command = COMMANDS.find((one) => one.name === name)
  const spec = verb === undefined || command?.verbs === undefined ? command : verbOf(command, verb)
  if (spec === undefined) {
    const message = command === undefined ? unknownCommand(name) : unknownVerb(command, verb ?? '')
    console.error(json ? JSON.stringify({ error: { code: 'usage', message } }) : oneLine(said(message)))
    return 2
  }
  console.log(json ? JSON.stringify(helpData(spec)) : commandHelp(spec))
  return 0
}

export function unknownCommand(name: string): string {
  const near = nearest(
    name,
    COMMANDS.map((command) => command.name),
  )
  return `there is no command '${name}'.${near === undefined ? '' : ` Did you mean '${near}'?`} See: nerve --help`
}

export function unknownVerb(group: CommandSpec, verb: string): string {
  const near = nearest(verb, verbNames(group))
  const hint = near === undefined ? `Known: ${verbNames(group).join(', ')}.` : `Did you mean '${near}'?`
  return `nerve ${group.name}: there is no '${verb}'. ${hint} See: nerve help ${group.name}`
}

export function whichVerb(group: CommandSpec): string {
  return `nerve ${group.name}: which of ${verbNames(group).join(', ')}? See: nerve help ${group.name}`
}

function verbNames({ name, verbs = [] }: CommandSpec): readonly string[] {
  return verbs.map((one) => one.name.slice(name.length + 1))
}

/** The help as data: for programs that call programs. */
export function helpData(spec: CommandSpec): Readonly<Record<string, unknown>> {
  const { name, summary, about, examples, options, verbs } = spec
  return {
    name,
    usage: usageOf(spec),
    summary,
    ...(about === undefined ? {} : { about }),
    options: Object.entries({ ...options, ...GLOBAL_OPTIONS })
      .filter(([, option]) => option.hidden !== true)
      .map(([option, { type, value, multiple, help }]) => ({
        name: option,
        type,
        ...(value === undefined ? {} : { value }),
        ...(multiple === true ? { multiple } : {}),
        help,
      })),
    examples: examples.map(([command, meaning]) => ({ command, meaning })),
    ...(verbs === undefined ? {} : { verbs: verbs.map(helpData) }),
  }
}

function overview(version: string): string {
  const columns = columnsHere()
  const rows = COMMANDS.map(({ name, usage, summary }) => [shortUsage(name, usage), summary] as const)
  return [
    ...wrapped(`nerve ${version}: durable programs of coding agents`, columns),
    '',
    ...wrapped('usage: nerve COMMAND [options]', columns, 7),
    '',
    ...table(rows, columns),
    '',
    ...table(
      [
        ['nerve help COMMAND', 'more about a command, with examples'],
        ['nerve --version', 'the version'],
      ],
      columns,
    ),
    '',
    ...wrapped('RUN is the id of a run, the beginning of one, or `last` for the newest.', columns),
    ...wrapped('Every command takes --json (JSON on stdout) and --dir FOLDER (the project).', columns),
    ...exitCodes(true, columns),
  ].join('\n')
}

/** Options stay out of the overview. */
function shortUsage(name: string, usage: string): string {
  const words = usage
    .replace(/\[[^\]]*--[^\]]*\]/g, '')
    .replace(/\s\|.*$/, '')
    .trim()
  return `  ${name}${words === '' ? '' : ` ${words}`}`
}

function usageOf({ name, usage }: CommandSpec): string {
  return `nerve ${name}${usage === '' ? '' : ` ${usage}`}`
}

export function commandHelp(spec: CommandSpec): string {
  const { summary, about, examples, options = {}, verbs = [], drives = false } = spec
  const columns = columnsHere()
  const own = optionRows(options)
  return [
    ...wrapped(`usage: ${usageOf(spec)}`, columns, 7),
    '',
    ...wrapped(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, columns),
    ...(about === undefined ? [] : ['', ...wrapped(about, columns)]),
    '',
    ...(verbs.length === 0
      ? []
      : [
          ...table(
            verbs.map((one) => [shortUsage(one.name, one.usage), one.summary]),
            columns,
          ),
          '',
        ]),
    ...(own.length === 0 ? [] : ['options:', ...table(own, columns), '']),
    'options of every command:',
    ...table(optionRows(GLOBAL_OPTIONS), columns),
    '',
    'examples:',
    // A command is copied: it is never broken.
    ...examples.flatMap(([command, meaning]) => [`  ${command}`, ...wrapped(`      ${meaning}`, columns, 6)]),
    '',
    ...exitCodes(drives || verbs.length > 0, columns),
  ].join('\n')
}

function exitCodes(all: boolean, columns: number): string[] {
  const more = all ? ', 3 waiting for a person or paused, 4 budget spent, 5 cancelled' : ''
  return wrapped(`exit codes: 0 done, 1 failed, 2 usage${more}`, columns, 2)
}

function optionRows(options: Readonly<Record<string, OptionSpec>>): (readonly [string, string])[] {
  return Object.entries(options)
    .filter(([, option]) => option.hidden !== true)
    .map(([name, { value, help }]) => [`  --${name}${value === undefined ? '' : ` ${value}`}`, help] as const)
}

/** COLUMNS as for man; else those of the terminal. */
function columnsHere(): number {
  const told = Number(process.env['COLUMNS'])
  const columns =
    Number.isInteger(told) && told > 0 ? told : process.stdout.isTTY ? sizeOf(process.stdout).columns : COLUMNS
  return Math.min(COLUMNS, Math.max(LEAST_COLUMNS, columns))
}

function table(rows: readonly (readonly [string, string])[], columns: number): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  if (columns - width < LEAST_BESIDE)
    return rows.flatMap(([left, right]) => [...wrapped(left, columns, 4), ...wrapped(`      ${right}`, columns, 6)])
  return rows.flatMap(([left, right]) => wrapped(`${left.padEnd(width)}${right}`, columns, width))
}

/** A line, broken between words; what follows the first is moved in. Spaces at its beginning and inside it stay. */
function wrapped(line: string, columns: number, indent = 0): string[] {
  const lines: string[] = []
  let rest = line
  while (rest.length > columns) {
    const least = rest.length - rest.trimStart().length
    const before = rest.lastIndexOf(' ', columns)
    const at = before > least ? before : rest.indexOf(' ', columns)
    if (at === -1) break
    lines.push(rest.slice(0, at).trimEnd())
    rest = `${' '.repeat(indent)}${rest.slice(at).trimStart()}`
  }
  return [...lines, rest]
}
