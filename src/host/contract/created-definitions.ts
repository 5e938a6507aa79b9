/** Definitions that came as data, as a project keeps them: a file for each. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { contentHash } from '../../base/value.ts'
import type { Host } from '../host.ts'

const ENDING = '.json'

/** A file of definitions that could not be loaded. */
export interface FileProblem {
  readonly source: string
  readonly problem: unknown
}

export function createdFolder(dir: string): string {
  return join(dir, '.nerve', 'definitions')
}

/** Names may have letters that file names may not, and some file systems do not tell capitals apart. */
export function createdFile(dir: string, name: string): string {
  const file = `${name.replaceAll(/[^\w-]+/g, '-').slice(0, 60)}-${contentHash(name).slice(0, 8)}${ENDING}`
  return join(createdFolder(dir), file)
}

export function createdFiles(dir: string): readonly string[] {
  const folder = createdFolder(dir)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith(ENDING))
    .toSorted()
    .map((file) => join(folder, file))
}

export interface Registered {
  /** In which file each is, by its name. */
  readonly sources: ReadonlyMap<string, string>
  readonly problems: readonly FileProblem[]
}

/** Makes those that are kept known to a host. One that cannot be read hides no other. */
export async function registerCreated({ dir, registry }: Host): Promise<Registered> {
  const sources = new Map<string, string>()
  const problems: FileProblem[] = []
  for (const file of dir === undefined ? [] : createdFiles(dir)) {
    try {
      const { loadDefinitions } = await import('../definition-file.ts')
      for (const one of await loadDefinitions(file)) {
        // A run that was taken up may have brought it already.
        registry.replace(one)
        sources.set(one.name, file)
      }
    } catch (problem) {
      problems.push({ source: file, problem })
    }
  }
  return { sources, problems }
}

/** Their names, to be offered to somebody who types: nothing is checked, and what cannot be read has none. */
export function createdNames(dir: string): readonly string[] {
  return createdFiles(dir).flatMap((file) => {
    try {
      const { name } = JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: unknown }
      return typeof name === 'string' ? [name] : []
    } catch {
      return []
    }
  })
}

/** Whether anybody has looked at them yet or not: a node that took the name of one would be in its way for good. */
export function refuseCreated(dir: string | undefined, name: string): void {
  if (dir === undefined || !existsSync(createdFile(dir, name))) return
  throw new NerveError(
    'bad-option',
    `The name '${name}' is taken by a definition that was made by definitions.create. Names are unique across nodes, graphs and workflows.`,
    { data: { name } },
  )
}
