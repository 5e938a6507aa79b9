/** Which folder is the project. Apart from project.ts, which loads the host. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { UsageError } from './exit-code.ts'

/** The nearest folder from here upwards that has .nerve; else that has package.json or .git; else this one. */
export function projectFolder(cwd: string, given: string | undefined): string {
  if (given !== undefined) {
    const dir = resolve(cwd, given)
    if (!existsSync(dir) || !statSync(dir).isDirectory()) throw new UsageError(`--dir: there is no folder ${given}.`)
    return dir
  }
  const folders = upwards(cwd)
  const has = (...names: string[]) => folders.find((folder) => names.some((name) => existsSync(join(folder, name))))
  return has('.nerve') ?? has('package.json', '.git') ?? cwd
}

function upwards(cwd: string): string[] {
  const folders = [cwd]
  for (let at = cwd; dirname(at) !== at; at = dirname(at)) folders.push(dirname(at))
  return folders
}
