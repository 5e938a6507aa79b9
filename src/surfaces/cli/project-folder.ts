/** Which folder is the project. Apart from project.ts, which loads the host. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { UsageError } from './exit-code.ts'

/** The folder of a project whose files are definitions that can be run by name. */
export const WORKFLOWS = 'workflows'

/**
 * The nearest folder from here upwards that has .nerve; else that has package.json or .git; else this one. A folder above that
 * everybody can write to, such as the one for temporary files, is nobody's project.
 */
export function projectFolder(cwd: string, given: string | undefined): string {
  if (given !== undefined) return folderNamed(cwd, given, '--dir')
  const folders = upwards(cwd).filter((folder) => folder === cwd || !isEverybodys(folder))
  const has = (...names: string[]) => folders.find((folder) => names.some((name) => existsSync(join(folder, name))))
  return has('.nerve') ?? has('package.json', '.git') ?? cwd
}

/** A folder that somebody names: in `what`. */
export function folderNamed(cwd: string, given: string, what: string): string {
  if (given === '') throw new UsageError(`${what} is empty: give a folder.`)
  const dir = resolve(cwd, given)
  if (!existsSync(dir) || !statSync(dir).isDirectory()) throw new UsageError(`${what}: there is no folder ${given}.`)
  return dir
}

/** What nobody may look into would else be taken for a project without runs. */
export function demandReadable(dir: string): void {
  const folder = join(dir, '.nerve')
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw new NerveError('bad-file', `${folder} is no folder, and has to be one. Move it away.`)
  try {
    accessSync(folder, constants.R_OK | constants.X_OK)
  } catch (cause) {
    throw new NerveError(
      'not-allowed',
      `${folder} is not yours to read: somebody else ran Nerve here, perhaps root. Take it over (chown), or name another project: --dir FOLDER`,
      { cause, data: { reason: 'file' } },
    )
  }
}

function isEverybodys(folder: string): boolean {
  return process.getuid !== undefined && (statSync(folder).mode & 0o002) !== 0
}

function upwards(cwd: string): string[] {
  const folders = [cwd]
  for (let at = cwd; dirname(at) !== at; at = dirname(at)) folders.push(dirname(at))
  return folders
}
