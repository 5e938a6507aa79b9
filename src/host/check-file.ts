/** Everything that is wrong with a file of definitions, found without running it. */
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { NerveError } from '../base/nerve-error.ts'
import type { SpecProblem } from '../define/spec/spec-text.ts'
import { problemsIn } from '../engine/recursion.ts'
import { isDefinition } from '../engine/run-node.ts'
import { loadRunnables } from './definition-file.ts'
import { namedIn } from './named-in.ts'
import { nameOf } from './registry.ts'
import { SPEC_KINDS } from './spec-kinds.ts'

export interface FileCheck {
  /** The names of what is in it. */
  readonly definitions: readonly string[]
  readonly problems: readonly SpecProblem[]
  /** Nodes that it refers to by name and does not bring along: whether they exist shows in the host that runs it. */
  readonly unchecked: readonly string[]
}

export async function checkFile(file: string): Promise<FileCheck> {
  if (!existsSync(file)) throw new NerveError('bad-file', `There is no file ${file}.`)
  if (!SPEC_KINDS.includes(extname(file))) return checkCode(file)
  const { readSpecFile } = await import('./spec-file.ts')
  const read = await readSpecFile(file, loadRunnables)
  if (read.graph === undefined) return { definitions: [], problems: read.problems, unchecked: [] }
  return { definitions: [read.graph.name], problems: [], unchecked: [...namedIn(read.graph)] }
}

async function checkCode(file: string): Promise<FileCheck> {
  const found = await loadRunnables(file)
  const names = new Map(found.map((one) => [nameOf(one), one]))
  const problems = found.filter(isDefinition).flatMap((definition) =>
    problemsIn(definition, names).map((message) => ({
      file,
      path: [],
      message: `${definition.kind} '${definition.name}': ${message}`,
    })),
  )
  return { definitions: found.map(nameOf), problems, unchecked: [] }
}
