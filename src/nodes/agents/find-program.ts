/** An agent that is a program, and where that is: where it was said to be, on the PATH, or in an npm package. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { NerveError } from '../../base/nerve-error.ts'
import { commandEnvironment } from '../bash-environment.ts'
import { isProgram, programOnPath } from '../program-on-path.ts'
import { CONTRACT, type AgentAdapter, type AgentOpen, type AgentProbe, type AgentSession } from './adapter.ts'

export interface ProgramOptions {
  /** The program: a file, or a name on the PATH (default: the agent's own on the PATH, or that of its package). */
  readonly command?: string
}

export interface AgentProgram extends Pick<AgentAdapter, 'capabilities' | 'variables' | 'folders'> {
  /** As it was given: a file, or a name on the PATH. */
  readonly command?: string | undefined
  /** The name of the agent, and of its program on the PATH. */
  readonly name: string
  /** What to start it with before its own arguments, for one that is a script. */
  readonly first?: readonly string[]
  readonly install: string
  readonly licence?: string | undefined
  /** Packages and files in them, to look for in the project and beside Nerve. */
  readonly packages?: readonly { readonly package: string; readonly file: string }[]
}

/** Its adapter: `open` is given the program that was found. */
export function programAgent(
  wanted: AgentProgram,
  open: (program: string, options: AgentOpen) => Promise<AgentSession>,
): AgentAdapter {
  const { name, variables, capabilities, folders } = wanted
  return {
    contract: CONTRACT,
    name,
    variables,
    capabilities,
    ...(folders === undefined ? {} : { folders }),
    probe: () => probeProgram(wanted),
    open: async (options) => open(needProgram(wanted), options),
  }
}

function findProgram({ command, name, packages = [] }: AgentProgram): string | undefined {
  if (command?.includes('/') === true) return isProgram(command) ? command : undefined
  const onPath = programOnPath(command ?? name, process.env['PATH'])
  if (onPath !== undefined || command !== undefined) return onPath
  return packages
    .flatMap(({ package: from, file }) => packageFolders(from).map((folder) => join(folder, file)))
    .find(isProgram)
}

/** Some take long to say who they are, on a machine that has much to do. */
const PATIENCE_MS = 60_000

/** The program, for starting it. */
function needProgram(wanted: AgentProgram): string {
  const found = findProgram(wanted)
  if (found !== undefined) return found
  const { command, name, install } = wanted
  throw new NerveError('package-missing', `${command ?? name} was not found. Install it: ${install}`, {
    data: { install },
  })
}

async function probeProgram(wanted: AgentProgram): Promise<AgentProbe> {
  const { command, name, install, licence, first } = wanted
  const where = findProgram(wanted)
  const known = { install, ...(licence === undefined ? {} : { licence }) }
  if (where === undefined) return { found: false, problem: `${command ?? name} was not found`, ...known }
  const version = await versionOf(where, first)
  return version === undefined
    ? { found: false, where, problem: `${where} does not run`, ...known }
    : { found: true, where, version, ...known }
}

/** The folders of a package: as the project sees it, and as Nerve does. */
function packageFolders(name: string): readonly string[] {
  const places = [pathToFileURL(join(process.cwd(), 'package.json')).href, import.meta.url]
  return places.flatMap((place) => {
    try {
      return [dirname(createRequire(place).resolve(`${name}/package.json`))]
    } catch {
      return []
    }
  })
}

/** What a program says of its version; undefined when it does not run. */
async function versionOf(program: string, first: readonly string[] = []): Promise<string | undefined> {
  try {
    // Saying who it is takes no secrets.
    const env = commandEnvironment(process.env, {})
    const { stdout } = await promisify(execFile)(program, [...first, '--version'], {
      timeout: PATIENCE_MS,
      // One that hangs may not listen.
      killSignal: 'SIGKILL',
      env,
    })
    return /\d+\.\d+[\w.-]*/.exec(stdout)?.[0]
  } catch {
    return undefined
  }
}
