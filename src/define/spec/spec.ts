/** Specs: graphs and control nodes as data. */
import { NerveError } from '../../base/nerve-error.ts'
import type { Names } from '../../engine/definition.ts'
import type { Budget, Durability, ErrorPolicy } from '../../journal/events.ts'
import { NOT_A_SPEC } from './check-spec.ts'
import { FORMS } from './forms.ts'
import { isRecord, type JsonSchema, type ShapeProblem } from '../../base/json-schema.ts'
import { readSpec, type SpecGraph } from './read-spec.ts'
import { problemText, readText, type SpecProblem, type SpecText } from './spec-text.ts'

export type SpecStep = Readonly<Record<string, unknown>>

/** A graph as data: what a .yaml or .json file holds. `schema/nerve-spec.schema.json` says all of it. */
export interface Spec {
  readonly nerve: 1
  readonly name: string
  readonly description?: string
  readonly input?: JsonSchema
  readonly params?: Readonly<Record<string, unknown>>
  /** Files of nodes, relative to the file of the spec. */
  readonly nodes?: string | readonly string[]
  readonly maxParallel?: number
  readonly errorPolicy?: ErrorPolicy
  readonly budget?: Budget
  readonly durability?: Durability
  readonly steps: Readonly<Record<string, SpecStep>> | readonly SpecStep[]
  readonly output?: string
}

export interface FromSpecOptions {
  /** What steps can refer to by name. Without it, names are looked up when it runs. */
  readonly names?: Names
}

/** Data that was read from text remembers where it came from, so that problems can point there. */
const TEXTS = new WeakMap<object, SpecText>()

/**
 * The data of a spec, from YAML or JSON. Every problem of the text is told at once, with line and column; so are those
 * that `fromSpec` finds in the data.
 *
 * ```ts
 * import { fromSpec, parseSpec } from 'nerve/spec'
 *
 * const flow = fromSpec(parseSpec('{ nerve: 1, name: greet, steps: { hello: { node: hello, input: "${{ input }}" } } }'))
 * ```
 */
export function parseSpec(text: string, options: { readonly file?: string } = {}): Spec {
  const read = readText(text, options.file)
  if (read.problems.length > 0) throw specError('bad-file', read.problems)
  if (!isRecord(read.data)) throw specError('bad-file', [read.locate({ path: [], message: NOT_A_SPEC })])
  TEXTS.set(read.data, read)
  return read.data as unknown as Spec
}

/**
 * The graph that a spec describes. Nothing in a spec is ever run as code.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { fromSpec } from 'nerve/spec'
 *
 * const hello = defineNode('hello', (name: string) => `Hello ${name}`)
 * const greet = fromSpec(
 *   { nerve: 1, name: 'greet', steps: { hello: { node: 'hello', input: '${{ input }}' } } },
 *   { names: new Map([['hello', hello]]) },
 * )
 * ```
 */
export function fromSpec(data: unknown, { names }: FromSpecOptions = {}): SpecGraph {
  const read = readSpec(data, { forms: FORMS, ...(names === undefined ? {} : { names }) })
  if ('graph' in read) return read.graph
  throw specError('bad-definition', located(data, read.problems))
}

/** What is wrong with the data of a spec, each with its place when it was read from text, from the top down. */
export function located(data: unknown, problems: readonly ShapeProblem[]): readonly SpecProblem[] {
  const text = typeof data === 'object' && data !== null ? TEXTS.get(data) : undefined
  return problems
    .map((problem): SpecProblem => text?.locate(problem) ?? { path: problem.path, message: problem.message })
    .toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
}

export function specError(code: 'bad-definition' | 'bad-file', problems: readonly SpecProblem[]): NerveError {
  const lines = problems.map(problemText)
  return new NerveError(
    code,
    lines.length === 1
      ? `The spec has a problem. ${lines[0]}`
      : `The spec has ${lines.length} problems:\n${lines.join('\n')}`,
    { data: { problems } },
  )
}
