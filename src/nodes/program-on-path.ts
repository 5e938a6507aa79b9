/** Programs by name, where a system looks for them. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The file of the first one of that name in the folders of a PATH. */
export function programOnPath(
  name: string,
  path: string | undefined,
  takes: (folder: string) => boolean = () => true,
): string | undefined {
  const folders = (path ?? '').split(delimiter).filter((folder) => folder !== '' && takes(folder))
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
