/** The text of a spec, YAML or JSON, as data that knows where in the text each part of it is. */
import type { Document, Node, Pair, Scalar } from 'yaml'
import type { Key, ShapeProblem } from '../../base/json-schema.ts'

const MAX_CHARACTERS = 1_000_000

/** What is wrong with a spec, and where. */
export interface SpecProblem {
  readonly message: string
  /** The way to it in the spec. */
  readonly path: readonly Key[]
  readonly file?: string
  /** From 1, when it was read from text. */
  readonly line?: number
  readonly column?: number
}

export interface SpecText {
  readonly data: unknown
  /** What the text itself has wrong, before anybody looks at what it says. */
  readonly problems: readonly SpecProblem[]
  /** A problem with its place in the text. */
  readonly locate: (problem: ShapeProblem) => SpecProblem
}

type Yaml = typeof import('yaml')
let yaml: Yaml | undefined

/** Loaded when the first spec is read: it takes longer to load than all of Nerve. */
function library(): Yaml {
  yaml ??= process.getBuiltinModule('node:module').createRequire(import.meta.url)('yaml') as Yaml
  return yaml
}

export function readText(text: string, file?: string): SpecText {
  const named = file === undefined ? {} : { file }
  if (text.length > MAX_CHARACTERS)
    return failed({ ...named, path: [], message: `the text is longer than ${MAX_CHARACTERS} characters.` })
  const { LineCounter, parseDocument } = library()
  const lines = new LineCounter()
  const place = (at: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(at)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: 'silent',
      schema: 'core',
    })
    const problems = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
      ...named,
      ...place(pos[0]),
      path: [],
      message: `${message.replace(/\.$/u, '')}.`,
    }))
    if (problems.length > 0) return { ...failed(...problems) }
    return {
      data: document.toJS({ maxAliasCount: 100 }) as unknown,
      problems,
      locate: ({ path, message, key, text: source, offset }) => ({
        ...named,
        ...place(offsetOf(document, text, { path, key: key === true, source, offset })),
        path,
        message,
      }),
    }
  } catch (error) {
    return failed({ ...named, path: [], message: `the text cannot be read: ${(error as Error).message}.` })
  }
}

function failed(...problems: readonly SpecProblem[]): SpecText {
  return { data: undefined, problems, locate: ({ path, message }) => ({ path, message }) }
}

interface Wanted {
  readonly path: readonly Key[]
  readonly key: boolean
  readonly source: string | undefined
  readonly offset: number | undefined
}

/** Where a part begins; for one that is not there, where what it should be in begins. */
function offsetOf(document: Document, text: string, { path, key, source, offset = 0 }: Wanted): number {
  const { isAlias, isMap, isPair, isScalar, isSeq } = library()
  let at: Node | null = document.contents
  let found = startOf(at) ?? 0
  for (const [index, step] of path.entries()) {
    const inside: Node | null | undefined = isAlias(at) ? at.resolve(document) : at
    const last = index === path.length - 1
    if (isMap(inside)) {
      const pair: Pair | undefined = inside.items.find(
        (one) => isPair(one) && isScalar(one.key) && String(one.key.value) === String(step),
      )
      if (pair === undefined) return found
      const value = pair.value as Node | null
      found = (last && key ? undefined : startOf(value)) ?? startOf(pair.key as Scalar) ?? found
      at = value
    } else if (isSeq(inside)) {
      const item = inside.items[Number(step)] as Node | undefined
      if (item === undefined) return found
      found = startOf(item) ?? found
      at = item
    } else return found
  }
  if (source === undefined || !isScalar(at)) return found
  const inText = text.slice(found, at.range?.[1] ?? found).indexOf(source)
  return inText === -1 ? found : found + inText + offset
}

function startOf(node: Node | null | undefined): number | undefined {
  return node?.range?.[0]
}

/** A problem as one line that editors and people can follow. */
export function problemText({ file, line, column, path, message }: SpecProblem): string {
  const place = [file, ...(line === undefined ? [] : [line, column])].filter((part) => part !== undefined).join(':')
  const way = path.map((part) => (/^[\w-]+$/u.test(String(part)) ? part : JSON.stringify(part))).join('.')
  return [place, way, message].filter((part) => part !== '').join(': ')
}
