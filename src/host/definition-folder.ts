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
  const found: AnyRunnable[] = []
  for (const path of await definitionFiles(folder)) found.push(...(await loadRunnables(path)))
  return found
}

/** The files that may hold definitions, in the order of their names. */
export async function definitionFiles(folder: string): Promise<readonly string[]> {
  let files: readonly string[]
  try {
    files = await readdir(folder)
  } catch (cause) {
    throw new NerveError('bad-file', `The folder ${folder} cannot be read: ${(cause as Error).message}`, { cause })
  }
  const wanted = files.filter((file) => KINDS.includes(extname(file)) && !/^\.|\.test\.|\.d\.[mc]?ts$/u.test(file))
  return wanted
    .toSorted()
    .map((file) => join(folder, file))
    .filter((path) => !SPEC_KINDS.includes(extname(path)) || isSpecFile(path))
}
