/**
 * The layout check: rooms and arrows, no import cycles, only the engine appends, names, file and function size.
 *
 *     node scripts/layout.ts
 *
 * scripts/layout-exceptions.json lists what is allowed all the same, `[{ file, rule, reason }]`: each covers one rule in one
 * file. An exception without a reason, or one that is no longer needed, is a problem itself.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { RULES, checkSources, type Problem } from './layout-rules.ts'
import { parseSource, type SourceText } from './layout-source.ts'

const ROOTS = ['src', 'test', 'examples', 'bench', 'scripts']
const EXCEPTIONS = 'scripts/layout-exceptions.json'

export type Exception = { readonly file: string; readonly rule: string; readonly reason: string }

export function checkLayout(files: readonly SourceText[], exceptions: readonly Exception[]): Problem[] {
  const found = checkSources(files.map(parseSource))
  const covers = (exception: Exception, problem: Problem) =>
    exception.file === problem.file && exception.rule === problem.rule
  const uncovered = found.filter((problem) => !exceptions.some((exception) => covers(exception, problem)))
  const faults = exceptions.flatMap((exception) => {
    const message = faultOf(
      exception,
      found.some((problem) => covers(exception, problem)),
    )
    return message === undefined ? [] : [{ file: EXCEPTIONS, line: 1, rule: 'exception' as const, message }]
  })
  return [...uncovered, ...faults].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
}

function faultOf({ file, rule, reason }: Exception, needed: boolean): string | undefined {
  const which = `the exception for ${file} (${rule})`
  if (!RULES.some((known) => known === rule)) return `${which} names no rule: use one of ${RULES.join(', ')}`
  if (reason.trim() === '') return `${which} gives no reason: say why the rule is worse here`
  if (!needed) return `${which} is no longer needed: delete it`
  return undefined
}

/** Entries that are not what they should be become text that the check above complains about. */
function parseExceptions(json: string): Exception[] {
  const entries: unknown = JSON.parse(json)
  if (!Array.isArray(entries)) throw new Error(`${EXCEPTIONS} must be a list of { file, rule, reason }`)
  return entries.map((entry: unknown) => {
    const field = (name: string) => {
      const value: unknown = typeof entry === 'object' && entry !== null ? Reflect.get(entry, name) : undefined
      return typeof value === 'string' ? value : ''
    }
    return { file: field('file'), rule: field('rule'), reason: field('reason') }
  })
}

function readSources(root: string): SourceText[] {
  const paths = ROOTS.filter((folder) => existsSync(`${root}${folder}`)).flatMap((folder) => listFiles(root, folder))
  return paths.map((path) => ({ path, text: readFileSync(`${root}${path}`, 'utf8') }))
}

/** Walks by hand rather than recursively by Node, because bench/peers may hold a big node_modules. */
function listFiles(root: string, folder: string): string[] {
  return readdirSync(`${root}${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listFiles(root, path)
    return /\.(ts|mts|mjs|js)$/.test(entry.name) ? [path] : []
  })
}

function main(): void {
  const root = fileURLToPath(new URL('../', import.meta.url))
  const files = readSources(root)
  const problems = checkLayout(files, parseExceptions(readFileSync(`${root}${EXCEPTIONS}`, 'utf8')))
  for (const { file, line, rule, message } of problems) console.log(`${file}:${line} [${rule}] ${message}`)
  console.log(problems.length === 0 ? `${files.length} files, all in place` : `${problems.length} problems`)
  if (problems.length > 0) process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
