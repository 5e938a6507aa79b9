/** One file of an agent: YAML, JSON, or Markdown whose front matter is YAML and whose text is the prompt. */
import { readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { checkShape, isRecord, resolverOf } from '../../base/json-schema.ts'
import { problemText, readText, type SpecProblem } from '../../define/spec/spec-text.ts'
import type { AgentBundle } from './bundle-layers.ts'
import { BUNDLE_SCHEMA } from './bundle-schema.ts'

export const BUNDLE_KINDS: readonly string[] = ['.md', '.yaml', '.yml', '.json']

export interface BundleFile {
  readonly name: string
  readonly bundle: AgentBundle
  readonly problems: readonly string[]
}

const FRONT_MATTER = /^---[ \t]*\r?\n([^]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/u
const OPENED = /^---[ \t]*\r?(?:\n|$)/u

/** `shown` is how the file is called in problems. */
export function readBundleFile(file: string, shown: string): BundleFile {
  const name = basename(file, extname(file))
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/u, '')
  if (extname(file) !== '.md') return { name, ...readBundle(text, shown, 0) }
  const front = FRONT_MATTER.exec(text)
  // Else what it says of its agent, what it must not do among it, would be taken for words to it.
  if (front === null && OPENED.test(text))
    return { name, bundle: {}, problems: [`${shown}:1:1: its front matter has no end. Close it with a line ---.`] }
  const read = readBundle(front?.[1] ?? '', shown, 1)
  const body = text.slice(front?.[0].length ?? 0).trim()
  if (body === '') return { name, ...read }
  const twice = read.bundle.prompt === undefined ? [] : [`${shown}: has both a prompt and a text. Give one of them.`]
  return { name, bundle: { ...read.bundle, prompt: body }, problems: [...read.problems, ...twice] }
}

/** `before` is how many lines of the file come before the text. */
function readBundle(text: string, file: string, before: number): Omit<BundleFile, 'name'> {
  const { data = {}, problems, locate } = readText(text, file)
  const shape = { path: [], resolve: resolverOf(BUNDLE_SCHEMA) }
  const found = problems.length > 0 ? problems : checkShape(BUNDLE_SCHEMA, data ?? {}, shape).map(locate)
  const sorted = found.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
  const lines = sorted.map(({ line, ...rest }): SpecProblem => ({
    ...rest,
    ...(line === undefined ? {} : { line: line + before }),
  }))
  return { bundle: isRecord(data) && found.length === 0 ? data : {}, problems: lines.map(problemText) }
}
