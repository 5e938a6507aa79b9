/**
 * Definitions from files. A .ts or .js file is loaded as it is, and `nerve` resolves from it even when not installed there;
 * a .yaml or .json file is a spec.
 */
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, extname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { placeOf } from '../base/error-place.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { AnyDefinition, AnyNode, AnyRunnable } from '../engine/definition.ts'
import { isDefinition, isNode } from '../engine/run-node.ts'
import { addressOf, importedAddress, isInstalled, notLoaded, noticeChanges } from './module-versions.ts'
import { SPEC_KINDS } from './spec-kinds.ts'

const CODE_KINDS: readonly string[] = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']
export const KINDS: readonly string[] = [...CODE_KINDS, ...SPEC_KINDS]
const TYPESCRIPT = import.meta.url.endsWith('.ts')
/** How long a file may take to load. */
const LOAD_MS = 60_000

/** Where `nerve` and its doors are, built or not: what the package itself says. */
function findDoors(): ReadonlyMap<string, string> {
  const place = new URL('../../package.json', import.meta.url)
  const { exports } = JSON.parse(readFileSync(place, 'utf8')) as { exports: Record<string, Record<string, string>> }
  return new Map(
    Object.entries(exports).flatMap(([path, target]) => {
      const file = target[TYPESCRIPT ? 'nerve-source' : 'default']
      return file === undefined ? [] : [[`nerve${path.slice(1)}`, new URL(file, place).href] as const]
    }),
  )
}

let hooked = false

function hook(): void {
  if (hooked) return
  hooked = true
  const doors = findDoors()
  // Always this Nerve: a second copy would not know the runs and definitions of the first.
  registerHooks({
    resolve: (specifier, context, next) => {
      const door = doors.get(specifier)
      if (door !== undefined)
        return { url: door, shortCircuit: true, format: TYPESCRIPT ? 'module-typescript' : 'module' }
      const found = next(specifier, context)
      const url = importedAddress(found.url, context.parentURL)
      // Modules that are required are kept under their path.
      return context.conditions?.includes('require') === true ? found : { ...asModule(found), url }
    },
  })
}

/** What no file of the older kind of modules can have: a line that begins with an import or an export. */
const MODULE_SYNTAX = /^(?:import|export)[\s{*]/m
const OLDER_SYNTAX = /\bmodule\.exports\b|^exports\./m

/**
 * The package around a file may say that its files are of the older kind, as `npm init` makes it say, or nothing. A definition that is
 * written as a module is one all the same.
 */
function asModule<Found extends { readonly url: string; readonly format?: string | null | undefined }>(
  found: Found,
): Found {
  const { url, format } = found
  const isOpen = /^commonjs(-typescript)?$/.test(format ?? 'commonjs') && /^file:.*\.[jt]s(\?|$)/.test(url)
  if (!isOpen || isInstalled(url)) return found
  const text = readFileSync(new URL(url), 'utf8')
  if (!MODULE_SYNTAX.test(text) || OLDER_SYNTAX.test(text)) return found
  return { ...found, format: /\.ts(\?|$)/.test(url) ? 'module-typescript' : 'module' }
}

/**
 * The definitions in a file: its default export first, then the others by name. Where there are only nodes, each is a
 * graph of one step, so that it can be run alone.
 */
export async function loadDefinitions(file: string): Promise<readonly AnyDefinition[]> {
  const found = await loadRunnables(file)
  const definitions = found.filter(isDefinition)
  if (definitions.length > 0) return definitions
  if (found.length > 0) return Promise.all(found.filter(isNode).map(alone))
  throw new NerveError(
    'bad-file',
    `${file} exports no workflow, graph or node. Export one: export default workflow('name', async (ctx, input) => …)`,
  )
}

/** The nodes and definitions in a file, as it is now. */
export async function loadRunnables(file: string): Promise<readonly AnyRunnable[]> {
  return load(file, [])
}

/** `around`: the specs that are being read, each naming the next among its nodes. */
async function load(file: string, around: readonly string[]): Promise<readonly AnyRunnable[]> {
  const path = resolve(file)
  if (!existsSync(path)) throw new NerveError('bad-file', `There is no file ${file}.`)
  const kind = extname(path)
  if (SPEC_KINDS.includes(kind)) return [await loadSpec(file, path, around)]
  if (CODE_KINDS.includes(kind)) return loadCode(file)
  throw new NerveError('bad-file', `${file} is not a workflow file or a spec: give a ${KINDS.join(', ')} file.`)
}

async function loadSpec(file: string, path: string, around: readonly string[]): Promise<AnyDefinition> {
  if (around.includes(path)) throw new NerveError('bad-file', `${file} is among its own nodes.`)
  const { readSpecFile } = await import('./spec-file.ts')
  const read = await readSpecFile(path, (inner) => load(inner, [...around, path]))
  if (read.graph !== undefined) return read.graph
  const { specError } = await import('../define/spec/spec.ts')
  throw specError('bad-file', read.problems)
}

/** Everything that a file of code exports. One that has changed since it was loaded is loaded again. */
export async function importFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  hook()
  const url = pathToFileURL(resolve(file)).href
  try {
    noticeChanges()
    return (await inTime(import(addressOf(url)))) as Record<string, unknown>
  } catch (cause) {
    notLoaded(url)
    throw new NerveError('bad-file', `${file} could not be loaded: ${reason(cause)}`, { cause })
  }
}

/** A module may wait at its top level. For what never comes, it is not waited without a word. */
async function inTime<Loaded>(loading: Promise<Loaded>): Promise<Loaded> {
  const { promise, reject } = Promise.withResolvers<never>()
  const giveUp = (): void =>
    reject(new NerveError('timeout', 'a top-level await in it, or in what it imports, does not end.'))
  const late = setTimeout(giveUp, LOAD_MS).unref()
  // Nothing is left that could end it.
  process.once('beforeExit', giveUp)
  try {
    return await Promise.race([loading, promise])
  } finally {
    clearTimeout(late)
    process.off('beforeExit', giveUp)
  }
}

async function loadCode(file: string): Promise<readonly AnyRunnable[]> {
  const { default: exported, ...named } = await importFile(file)
  const main = isCompiled(exported) ? exported.default : exported
  const found = [main, ...Object.values(named)].filter((one) => isDefinition(one) || isNode(one))
  return [...new Set(found)]
}

async function alone(node: AnyNode): Promise<AnyDefinition> {
  const { graph } = await import('../define/graph.ts')
  const { description } = node.info()
  return graph(node.id, description === undefined ? {} : { description })
    .step(node.id, node, { inputFn: (_, { input }) => input })
    .returns((results): unknown => results[node.id])
}

/** What a compiler makes of `export default` for the older kind of modules. */
function isCompiled(exported: unknown): exported is { readonly default?: unknown } {
  return typeof exported === 'object' && exported !== null && '__esModule' in exported
}

function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const { code, url } = cause as { readonly code?: unknown; readonly url?: unknown }
  if (code === 'ERR_MODULE_NOT_FOUND') return `${cause.message}${typeof url === 'string' ? otherEnding(url) : ''}`
  const place = code === 'timeout' ? undefined : placeOf(cause.stack)
  const message = place === undefined ? cause.message : `${cause.message} (${place})`
  return code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'
    ? `${message}. Only syntax that can be erased is supported (no enum, namespace or parameter properties).`
    : message
}

/** Files are imported by their whole names, which not every tool asks for. */
function otherEnding(url: string): string {
  if (!url.startsWith('file:')) return ''
  const path = fileURLToPath(url)
  const plain = path.replace(/\.[mc]?js$/, '')
  const there = CODE_KINDS.flatMap((kind) => [`${plain}${kind}`, `${path}${kind}`]).find((one) => existsSync(one))
  return there === undefined ? '' : `. Its name is ${basename(there)} here: import it with its ending.`
}
