/** Specs from files, with the nodes that they name. Those are code of the same project, and nothing else is loaded. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isNerveError } from '../base/nerve-error.ts'
import { FORMS } from '../define/spec/forms.ts'
import { readSpec, type SpecGraph } from '../define/spec/read-spec.ts'
import { located, parseSpec, type Spec } from '../define/spec/spec.ts'
import { readText, type SpecProblem } from '../define/spec/spec-text.ts'
import type { AnyRunnable } from '../engine/definition.ts'
import { isNode } from '../engine/run-node.ts'

export type SpecFile =
  | { readonly graph: SpecGraph; readonly problems: readonly [] }
  | { readonly graph?: undefined; readonly problems: readonly SpecProblem[] }

type Load = (file: string) => Promise<readonly AnyRunnable[]>

/** The graph of a spec file, or everything that is wrong with it. */
export async function readSpecFile(file: string, load: Load): Promise<SpecFile> {
  const path = resolve(file)
  const shown = shownFile(path)
  let data: Spec
  try {
    data = parseSpec(readFileSync(path, 'utf8'), { file: shown })
  } catch (error) {
    if (!isNerveError(error, 'bad-file')) throw error
    return { problems: error.data['problems'] as readonly SpecProblem[] }
  }
  const nodes = await loadNodes(path, data, load)
  // Without all of its nodes, every name would be one more problem.
  const names = nodes === undefined || nodes.problems.length > 0 ? {} : { names: nodes.names }
  const read = readSpec(data, { forms: FORMS, ...names })
  const problems = [...(nodes?.problems ?? []), ...('graph' in read ? [] : located(data, read.problems))]
  return 'graph' in read && problems.length === 0 ? { graph: read.graph, problems: [] } : { problems }
}

/** True when a file of data says that it is a spec, if a broken one: folders hold other files of the same kinds. */
export function isSpecFile(file: string): boolean {
  const text = readFileSync(file, 'utf8')
  const { data, problems } = readText(text)
  if (problems.length > 0) return /^nerve\s*:|"nerve"\s*:\s*1\b/mu.test(text)
  return typeof data === 'object' && data !== null && 'nerve' in data
}

interface Nodes {
  readonly names: ReadonlyMap<string, AnyRunnable>
  readonly problems: readonly SpecProblem[]
}

/** undefined when it names no files: then the host's own names hold. */
async function loadNodes(spec: string, data: Spec, load: Load): Promise<Nodes | undefined> {
  const wanted: unknown = (data as Partial<Spec> | null)?.nodes
  const files = (typeof wanted === 'string' ? [wanted] : Array.isArray(wanted) ? wanted : []) as readonly unknown[]
  if (wanted === undefined) return undefined
  const names = new Map<string, AnyRunnable>()
  const problems: SpecProblem[] = []
  for (const [at, file] of files.entries()) {
    if (typeof file !== 'string') continue
    const path = typeof wanted === 'string' ? ['nodes'] : ['nodes', at]
    const said = await addNodes(spec, file, { load, names })
    if (said !== undefined) problems.push(...located(data, [{ path, message: said }]))
  }
  return { names, problems }
}

/** What is wrong with a file of nodes, or undefined. */
async function addNodes(
  spec: string,
  file: string,
  { load, names }: { readonly load: Load; readonly names: Map<string, AnyRunnable> },
): Promise<string | undefined> {
  const path = resolve(dirname(spec), file)
  if (isAbsolute(file) || /^[\w+.-]+:/u.test(file))
    return `'${file}' is not a file of this project: give it relative to this file.`
  if (!existsSync(path)) return `there is no file ${file} beside this one.`
  if (!isInside(projectOf(spec), path)) return `'${file}' is outside the project, so it is not loaded.`
  try {
    for (const one of await load(path)) {
      const there = names.get(nameOf(one))
      if (there !== undefined && there !== one) return `'${nameOf(one)}' of ${file} is taken by a ${there.kind}.`
      names.set(nameOf(one), one)
    }
    return undefined
  } catch (error) {
    if (!isNerveError(error)) throw error
    return error.message
  }
}

/** The nearest folder upwards that is a project; else the folder of the spec. */
function projectOf(spec: string): string {
  const own = dirname(spec)
  for (let at = own; ; at = dirname(at)) {
    if (['package.json', '.git', '.nerve'].some((name) => existsSync(join(at, name)))) return at
    if (dirname(at) === at) return own
  }
}

/** Also where links lead. */
function isInside(folder: string, file: string): boolean {
  return realpathSync(file).startsWith(`${realpathSync(folder)}${sep}`)
}

function nameOf(one: AnyRunnable): string {
  return isNode(one) ? one.id : one.name
}

function shownFile(path: string): string {
  const near = relative(process.cwd(), path)
  return near.startsWith('..') || isAbsolute(near) ? path : near
}
