/** The rules of the layout, each a pure function from the parsed sources to problems. ARCHITECTURE.md says why. */
import type { Import, Source } from './layout-source.ts'
import { DOORS } from './package-doors.ts'

export const RULES = ['syntax', 'room', 'arrow', 'cycle', 'append', 'name', 'file-size', 'function-size'] as const
export type Rule = (typeof RULES)[number]

export type Problem = {
  readonly file: string
  readonly line: number
  readonly rule: Rule | 'exception'
  readonly message: string
}

const MOST_FILE_LINES = 400
const MOST_FUNCTION_LINES = 60

const CORE = ['base', 'journal', 'engine'] as const
const BELOW_HOST = [
  ...CORE,
  'define',
  'nodes',
  'workspace',
  'discovery',
  'gateway',
  'stores',
  'backends',
  'projections',
] as const

/** Which rooms a room may import, beside itself. A `door` is a file in src itself that the package exports. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  journal: ['base'],
  engine: ['journal', 'base'],
  define: CORE,
  nodes: CORE,
  workspace: CORE,
  discovery: CORE,
  gateway: CORE,
  backends: CORE,
  stores: ['journal', 'base'],
  projections: ['journal', 'base'],
  host: BELOW_HOST,
  surfaces: ['host', 'base'],
  testing: [...BELOW_HOST, 'host', 'door'],
  door: ['define', 'nodes', 'gateway', 'host', ...CORE],
}

const ROOMS = Object.keys(ARROWS).filter((room) => room !== 'door')

/** Where `.append` may be used: the writer, the stores that implement it, and the suites that test stores. */
const APPENDERS = ['engine', 'stores', 'testing']

/** Surfaces that other surfaces are built on: each only on those with a lower number. All others come after them. */
const FOR_PROGRAMS: Readonly<Record<string, number>> = { client: 0, server: 0, mcp: 1, daemon: 2 }
const FOR_PEOPLE = 3

const VAGUE = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc'])
const DATED = new Set(['v2', 'v3', 'new', 'legacy'])

/** Tests are exempt from arrows, the append rule and function size; everything under test/ is one. */
function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.startsWith('test/')
}

/** A conformance suite is a list of test cases in one function, like a test file, though it is exported to users. */
function isSuite(path: string): boolean {
  return path.startsWith('src/testing/') && path.endsWith('-conformance.ts')
}

function isDoor(path: string): boolean {
  return DOORS.some(({ source }) => source === path) && !path.startsWith('src/testing/')
}

function roomOf(path: string): string | undefined {
  if (isDoor(path)) return 'door'
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

/** `surfaces/cli` and `surfaces/web` are rooms of their own towards each other. */
function roomWithinSurfaces(path: string): string {
  return path.split('/').slice(0, -1)[2] ?? ''
}

function* checkSyntax({ path, broken }: Source): Iterable<Problem> {
  if (broken) yield { file: path, line: broken.line, rule: 'syntax', message: `${broken.message}: fix the syntax` }
}

function* checkRoom({ path }: Source): Iterable<Problem> {
  if (!path.startsWith('src/') || isDoor(path)) return
  const room = roomOf(path)
  if (room !== undefined && ROOMS.includes(room)) return
  const message = `is in no room: move it into one of src/{${ROOMS.join(',')}}`
  yield { file: path, line: 1, rule: 'room', message }
}

function* checkArrows({ path, imports }: Source): Iterable<Problem> {
  const from = roomOf(path)
  if (from === undefined || !Object.hasOwn(ARROWS, from) || isTest(path)) return
  const allowed = ARROWS[from] ?? []
  for (const imported of imports) {
    const to = roomOf(imported.target)
    if (to !== undefined && mayImport({ path, from, to, imported, allowed })) continue
    const choice = allowed.length > 0 ? `only ${allowed.join(', ')} and itself` : 'only itself'
    const message =
      `${from} must not import ${imported.target}; ${from} may import ${choice}. ` +
      'Move the code to the room it belongs to, or pass it in as an argument'
    yield { file: path, line: imported.line, rule: 'arrow', message }
  }
}

type Arrow = { path: string; from: string; to: string; imported: Import; allowed: readonly string[] }

function mayImport({ path, from, to, imported, allowed }: Arrow): boolean {
  // A surface that programs use has a door of its own name; no other door leads to it.
  if (from === 'door' && to === 'surfaces') return path === `src/${roomWithinSurfaces(imported.target)}.ts`
  if (from !== 'surfaces') return from === to || allowed.includes(to)
  if (to === 'surfaces') return mayMeet(roomWithinSurfaces(path), roomWithinSurfaces(imported.target))
  return allowed.includes(to) || (to === 'journal' && imported.typeOnly)
}

/** What people use is made of what programs use, and not the other way round. */
function mayMeet(from: string, to: string): boolean {
  const place = (surface: string): number => FOR_PROGRAMS[surface] ?? FOR_PEOPLE
  return from === to || place(to) < place(from)
}

function* checkAppend({ path, appends }: Source): Iterable<Problem> {
  const room = roomOf(path)
  if (room === undefined || APPENDERS.includes(room) || isTest(path)) return
  for (const line of appends) {
    const message =
      'uses `.append`: only the engine writes journals. Ask the engine for what must happen; if this is not a store, ' +
      'rename the method or write an exception'
    yield { file: path, line, rule: 'append', message }
  }
}

function* checkName({ path }: Source): Iterable<Problem> {
  const words = path.split(/[/._-]|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase())
  for (const word of new Set(words)) {
    if (VAGUE.has(word)) {
      const message = `is called "${word}", which says nothing: name it after its main export`
      yield { file: path, line: 1, rule: 'name', message }
    } else if (DATED.has(word)) {
      const message = `is called "${word}", which is about its history: replace the old one, or name what differs`
      yield { file: path, line: 1, rule: 'name', message }
    }
  }
}

function* checkSize({ path, lines, functions }: Source): Iterable<Problem> {
  if (lines > MOST_FILE_LINES) {
    const message = `has ${lines} lines, at most ${MOST_FILE_LINES}: split it by concept`
    yield { file: path, line: 1, rule: 'file-size', message }
  }
  if (isTest(path) || isSuite(path)) return
  for (const { line, lines: length } of functions) {
    if (length <= MOST_FUNCTION_LINES) continue
    const message = `has a function of ${length} lines, at most ${MOST_FUNCTION_LINES}: split it`
    yield { file: path, line, rule: 'function-size', message }
  }
}

/** For each file that reaches itself, in alphabetical order, a shortest way round, unless it was on one already. */
function* checkCycles(sources: readonly Source[]): Iterable<Problem> {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const reported = new Set<string>()
  for (const path of [...byPath.keys()].sort()) {
    if (reported.has(path)) continue
    const cycle = shortestCycle(path, byPath)
    if (!cycle) continue
    for (const member of cycle) reported.add(member)
    const line = loaded(byPath.get(path)).find(({ target }) => target === cycle[1])?.line ?? 1
    const message = `imports itself: ${cycle.join(' -> ')}. Move what both need into a third file, or \`import type\``
    yield { file: path, line, rule: 'cycle', message }
  }
}

function loaded(source: Source | undefined): readonly Import[] {
  return source?.imports.filter(({ typeOnly }) => !typeOnly) ?? []
}

function shortestCycle(start: string, byPath: ReadonlyMap<string, Source>): readonly string[] | undefined {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  for (const path of queue) {
    for (const { target } of loaded(byPath.get(path))) {
      if (target === start) return [start, ...trail(path, start, cameFrom), start]
      if (cameFrom.has(target)) continue
      cameFrom.set(target, path)
      queue.push(target)
    }
  }
  return undefined
}

/** The steps from `start` (left out) to `end`. */
function trail(end: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const steps: string[] = []
  for (let at: string | undefined = end; at !== undefined && at !== start; at = cameFrom.get(at)) steps.unshift(at)
  return steps
}

export function checkSources(sources: readonly Source[]): Problem[] {
  const perFile = [checkSyntax, checkRoom, checkArrows, checkAppend, checkName, checkSize]
  const problems = sources.flatMap((source) => perFile.flatMap((check) => [...check(source)]))
  return [...problems, ...checkCycles(sources)]
}
