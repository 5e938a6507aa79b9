/** Which folder is the project. Apart from project.ts, which loads the host. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { UsageError } from './exit-code.ts'

/**
 * The nearest folder from here upwards that has .nerve; else that has package.json or .git; else this one. A folder above that
 * everybody can write to, such as the one for temporary files, is nobody's project.
 */
export function projectFolder(cwd: string, given: string | undefined): string {
  if (given !== undefined) {
    const dir = resolve(cwd, given)
    if (!existsSync(dir) || !statSync(dir).isDirectory()) throw new UsageError(`--dir: there is no folder ${given}.`)
    return dir
  }
  const folders = upwards(cwd).filter((folder) => folder === cwd || !isEverybodys(folder))
  const has = (...names: string[]) => folders.find((folder) => names.some((name) => existsSync(join(folder, name))))
  return has('.nerve') ?? has('package.json', '.git') ?? cwd
}

function isEverybodys(folder: string): boolean {
  return process.getuid !== undefined && (statSync(folder).mode & 0o002) !== 0
}

function upwards(cwd: string): string[] {
  const folders = [cwd]
  for (let at = cwd; dirname(at) !== at; at = dirname(at)) folders.push(dirname(at))
  return folders
}
