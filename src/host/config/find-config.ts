import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'

const NAMES: readonly string[] = ['nerve.config.ts', 'nerve.config.mts', 'nerve.config.js', 'nerve.config.mjs']

/** The file of the project in this folder, if it has one. */
export function configFile(dir: string): string | undefined {
  const [file, other] = NAMES.map((name) => join(dir, name)).filter((one) => existsSync(one))
  if (file !== undefined && other !== undefined)
    throw new NerveError('bad-file', `There are ${file} and ${basename(other)}: keep one of them.`)
  return file
}
