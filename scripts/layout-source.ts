/** What the layout rules look at: one file's imports, functions and `.append` uses, read from its syntax tree. */
import { posix } from 'node:path'
import { Visitor, parseSync } from 'oxc-parser'
import { DOORS } from './package-doors.ts'

/** A file of the repository; `path` is relative to its root and uses slashes. */
export type SourceText = { readonly path: string; readonly text: string }

export type Import = {
  readonly line: number
  /** The imported file of this repository, as a path from its root; imports of packages are not listed. */
  readonly target: string
  /** `import type` and the like: gone at run time. `import { type X }` is not: it still loads the module. */
  readonly typeOnly: boolean
}

export type Source = {
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly functions: readonly { readonly line: number; readonly lines: number }[]
  /** Lines that read a member called `append`, called or not. */
  readonly appends: readonly number[]
  /** A syntax error; then nothing else is known. */
  readonly broken?: { readonly line: number; readonly message: string }
}

type Span = { readonly start: number; readonly end: number }

/** The package's own name leads back into its sources. */
const SOURCES: ReadonlyMap<string, string> = new Map(DOORS.map(({ name, source }) => [name, source]))

export function parseSource({ path, text }: SourceText): Source {
  const lineOf = lineCounter(text)
  const lines = lineOf(text.endsWith('\n') ? text.length - 1 : text.length)
  const { program, errors } = parseSync(path, text)
  const error = errors[0]
  if (error) {
    const line = lineOf(error.labels[0]?.start ?? 0)
    return { path, lines, imports: [], functions: [], appends: [], broken: { line, message: error.message } }
  }
  const imports: Import[] = []
  const functions: { line: number; lines: number }[] = []
  const appends: number[] = []
  const addImport = (node: Span, specifier: unknown, typeOnly: boolean) => {
    const target = typeof specifier === 'string' ? resolve(path, specifier) : undefined
    if (target !== undefined) imports.push({ line: lineOf(node.start), target, typeOnly })
  }
  const addFunction = (node: Span) =>
    functions.push({ line: lineOf(node.start), lines: lineOf(node.end) - lineOf(node.start) + 1 })
  new Visitor({
    ImportDeclaration: (node) => addImport(node, node.source.value, node.importKind === 'type'),
    ExportNamedDeclaration: (node) => addImport(node, node.source?.value, node.exportKind === 'type'),
    ExportAllDeclaration: (node) => addImport(node, node.source.value, node.exportKind === 'type'),
    ImportExpression: (node) => addImport(node, 'value' in node.source ? node.source.value : undefined, false),
    TSImportType: (node) => addImport(node, node.source.value, true),
    FunctionDeclaration: addFunction,
    FunctionExpression: addFunction,
    ArrowFunctionExpression: addFunction,
    MemberExpression: ({ property }) => {
      const name = property.type === 'Identifier' ? property.name : property.type === 'Literal' ? property.value : ''
      if (name === 'append') appends.push(lineOf(property.start))
    },
  }).visit(program)
  return { path, lines, imports, functions, appends }
}

function resolve(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return SOURCES.get(specifier)
  return posix.normalize(posix.join(posix.dirname(from), specifier))
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }
}
