/** Where the program of an agent is: where it was said to be, on the PATH, or in an npm package. */
import { execFile } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

export interface ProgramPlaces {
  /** As it was given. */
  readonly command?: string | undefined
  /** Its name on the PATH. */
  readonly name: string
  /** Packages and files in them, to look for in the project and beside Nerve. */
  readonly packages?: readonly { readonly package: string; readonly file: string }[]
}

export function findProgram(
  { command, name, packages = [] }: ProgramPlaces,
  path = process.env['PATH'] ?? '',
): string | undefined {
  if (command !== undefined) return isProgram(command) ? command : undefined
  const onPath = path.split(delimiter).map((folder) => join(folder, name))
  const installed = packages.flatMap(({ package: from, file }) =>
    packageFolders(from).map((folder) => join(folder, file)),
  )
  return [...onPath, ...installed].find(isProgram)
}

/** The folders of a package: as the project sees it, and as Nerve does. */
export function packageFolders(name: string): readonly string[] {
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
export async function versionOf(program: string, env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { env, timeout: 15_000 })
    return /\d+\.\d+[\w.-]*/.exec(stdout)?.[0]
  } catch {
    return undefined
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
