/** Definitions from files: a .ts or .js file is loaded as it is, and `nerve` resolves from it even when not installed there. */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { NerveError } from '../base/nerve-error.ts'
import type { AnyDefinition } from '../engine/definition.ts'

const KINDS: readonly string[] = ['.ts', '.mts', '.js', '.mjs']
const TYPESCRIPT = import.meta.url.endsWith('.ts')

/** Where `nerve` and its doors are: beside this file, built or not. */
const DOORS: Readonly<Record<string, string>> = {
  nerve: new URL(TYPESCRIPT ? '../index.ts' : '../index.js', import.meta.url).href,
  'nerve/testing': new URL(TYPESCRIPT ? '../testing/index.ts' : '../testing/index.js', import.meta.url).href,
}

let hooked = false

function hook(): void {
  if (hooked) return
  hooked = true
  // Always this Nerve: a second copy would not know the runs and definitions of the first.
  registerHooks({
    resolve: (specifier, context, next) => {
      const url = DOORS[specifier]
      return url === undefined
        ? next(specifier, context)
        : { url, shortCircuit: true, format: TYPESCRIPT ? 'module-typescript' : 'module' }
    },
  })
}

/** The definitions that a file exports: its default export first, then the others by name. */
export async function loadDefinitions(file: string): Promise<readonly AnyDefinition[]> {
  const path = resolve(file)
  if (!existsSync(path)) throw new NerveError('bad-file', `There is no file ${file}.`)
  if (!KINDS.includes(extname(path)))
    throw new NerveError('bad-file', `${file} is not a workflow file: give a ${KINDS.join(', ')} file.`)
  hook()
  let loaded: Record<string, unknown>
  try {
    loaded = (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    throw new NerveError('bad-file', `${file} could not be loaded: ${reason(cause)}`, { cause })
  }
  const { default: main, ...named } = loaded
  const found = [main, ...Object.values(named)].filter(isDefinition)
  const unique = [...new Map(found.map((definition) => [definition.name, definition])).values()]
  if (unique.length > 0) return unique
  throw new NerveError(
    'bad-file',
    `${file} exports no workflow. Export one: export default workflow('name', async (ctx, input) => …)`,
  )
}

function isDefinition(value: unknown): value is AnyDefinition {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { kind?: unknown }).kind === 'workflow' &&
    typeof (value as { run?: unknown }).run === 'function'
  )
}

function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const code = (cause as NodeJS.ErrnoException).code
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return `${cause.message}. Only syntax that can be erased is supported (no enum, namespace or parameter properties).`
  return cause.message
}
