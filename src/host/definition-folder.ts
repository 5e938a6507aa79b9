/**
 * Everything that the files of one folder export. Hidden files, tests, type declarations and data that is no spec are left
 * out.
 */
import { readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { NerveError } from '../base/nerve-error.ts'
import type { AnyDefinition, AnyRunnable } from '../engine/definition.ts'
import { KINDS, loadDefinitions, loadRunnables } from './definition-file.ts'
import { isSpecFile } from './spec-file.ts'
import { SPEC_KINDS } from './spec-kinds.ts'

export async function loadFolder(folder: string): Promise<readonly AnyRunnable[]> {
  const found: AnyRunnable[] = []
  for (const path of await definitionFiles(folder)) found.push(...(await loadRunnables(path)))
  return found
}

/** What a file defines, or why that is not known. */
export interface LoadedFile {
  readonly source: string
  readonly definitions: readonly AnyDefinition[]
  readonly problem?: unknown
}

/** How long a file may take to load; one that took longer before is not waited for again. */
const LOAD_MS = 5_000
const LATE_MS = 100
const late = new Set<string>()

/** What each of these files defines. One that cannot be loaded, or does not come to an end of that, hides no other. */
export function definitionsIn(files: readonly string[]): Promise<readonly LoadedFile[]> {
  return Promise.all(files.map(definitionsInTime))
}

async function definitionsInTime(source: string): Promise<LoadedFile> {
  const over = new AbortController()
  const tooLong = delay(late.has(source) ? LATE_MS : LOAD_MS, undefined, { signal: over.signal }).then(() => {
    late.add(source)
    throw new NerveError('timeout', `${source} takes more than ${LOAD_MS / 1_000} s to load, and is left out.`)
  })
  try {
    const definitions = await Promise.race([loadDefinitions(source), tooLong])
    late.delete(source)
    return { source, definitions }
  } catch (problem) {
    return { source, definitions: [], problem }
  } finally {
    over.abort()
    // Nobody waits for it any more.
    tooLong.catch(() => undefined)
  }
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
