/**
 * Everything that the files of one folder export. Hidden files, tests, type declarations and data that is no spec are left
 * out.
 */
import { readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { NerveError } from '../base/nerve-error.ts'
import type { AnyRunnable } from '../engine/definition.ts'
import { KINDS, loadRunnables } from './definition-file.ts'
import { isSpecFile } from './spec-file.ts'
import { SPEC_KINDS } from './spec-kinds.ts'

export async function loadFolder(folder: string): Promise<readonly AnyRunnable[]> {
  let files: readonly string[]
  try {
    files = await readdir(folder)
  } catch (cause) {
    throw new NerveError('bad-file', `The folder ${folder} cannot be read: ${(cause as Error).message}`, { cause })
  }
  const wanted = files.filter((file) => KINDS.includes(extname(file)) && !/^\.|\.test\.|\.d\.[mc]?ts$/u.test(file))
  const found: AnyRunnable[] = []
  for (const file of wanted.toSorted()) {
    const path = join(folder, file)
    if (SPEC_KINDS.includes(extname(file)) && !isSpecFile(path)) continue
    found.push(...(await loadRunnables(path, { fresh: true })))
  }
  return found
}
