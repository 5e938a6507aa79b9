/** From words to a command that runs: finds it, parses for it, and turns what it throws into a message and a code. */
import { verbOf, type CommandSpec, type CommandTable } from './command-spec.ts'
import { COMMANDS, GLOBAL_OPTIONS } from './command-table.ts'
import { parseArguments, type Arguments } from './arguments.ts'
import { endProcess } from './end-process.ts'
import { EXIT, UsageError, exitCodeOfError } from './exit-code.ts'
import { commandHelp, helpData, unknownCommand, unknownVerb, whichVerb } from './help.ts'
import { createOutput, type Output } from './output.ts'
import { demandReadable, projectFolder } from './project-folder.ts'

/** What a command gets. */
export interface Invocation {
  readonly command: string
  readonly args: Arguments
  readonly out: Output
  readonly cwd: string
  /** The project folder. */
  readonly dir: string
  /** All that there is, for commands about commands. */
  readonly table: CommandTable
}

export async function dispatch(argv: readonly string[]): Promise<number> {
  const debug = process.env['NERVE_DEBUG'] === '1'
  const before = argv.findIndex((word) => word === '--')
  const ours = before === -1 ? argv : argv.slice(0, before)
  const out = createOutput({ json: ours.includes('--json'), verbose: debug || ours.includes('--verbose') })
  try {
    const { name, rest } = commandFirst(argv)
    const spec = COMMANDS.find((command) => command.name === name)
    if (spec === undefined) throw new UsageError(unknownCommand(name))
    return await (spec.verbs === undefined ? runCommand(spec, rest, out) : runVerb(spec, rest, out))
  } catch (error) {
    out.error(error)
    return exitCodeOfError(error)
  }
}

/** A command of a group: `node create`. */
async function runVerb(group: CommandSpec, rest: readonly string[], out: Output): Promise<number> {
  if (rest.every((word) => word.startsWith('-'))) {
    const asked = rest.includes('--help') || rest.includes('-h')
    if (out.json && !asked) throw new UsageError(whichVerb(group))
    showHelp(group, out)
    return asked ? EXIT.done : EXIT.usage
  }
  const verb = commandFirst(rest)
  const spec = verbOf(group, verb.name)
  if (spec === undefined) throw new UsageError(unknownVerb(group, verb.name))
  return runCommand(spec, verb.rest, out)
}

function showHelp(spec: CommandSpec, out: Output): void {
  if (out.json) out.data(helpData(spec))
  else out.write(`${commandHelp(spec)}\n`)
}

async function runCommand(spec: CommandSpec, rest: readonly string[], out: Output): Promise<number> {
  const args = parseArguments(spec, rest)
  if (args.flag('help')) {
    showHelp(spec, out)
    return EXIT.done
  }
  if (args.flag('local')) process.env['NERVE_LOCAL'] = '1'
  if (spec.drives !== true) leaveWithReader()
  const cwd = process.cwd()
  const { run } = (await spec.load()) as { readonly run: (invocation: Invocation) => Promise<number> }
  const table = { commands: COMMANDS, globals: GLOBAL_OPTIONS }
  const dir = projectFolder(cwd, args.text('dir'))
  // Whoever looks for what is wrong is told so among the rest.
  if (spec.name !== 'doctor') demandReadable(dir)
  return run({ command: spec.name, args, out, cwd, dir, table })
}

/** A run does not depend on its watchers (`| head -1`); everything else ends with whoever reads it. */
function leaveWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') endProcess(EXIT.done)
  })
}

function noCommand(argv: readonly string[]): string {
  const known = Object.keys(GLOBAL_OPTIONS)
  const wrong = argv.find((word) => !known.includes(word.replace(/^--/, '').replace(/=.*/s, '')))
  return wrong === undefined || argv.includes('--dir')
    ? 'which command? See: nerve --help'
    : `there is no option '${wrong}', and which command? See: nerve --help`
}

/** `nerve --json ps` means `nerve ps --json`. */
function commandFirst(argv: readonly string[]): { readonly name: string; readonly rest: readonly string[] } {
  let at = 0
  while (argv[at]?.startsWith('-') === true && argv[at] !== '--') at += argv[at] === '--dir' ? 2 : 1
  const name = argv[at]
  if (name === undefined) throw new UsageError(noCommand(argv))
  return { name, rest: [...argv.slice(0, at), ...argv.slice(at + 1)] }
}
