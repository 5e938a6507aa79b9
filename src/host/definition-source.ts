/** Where the definition of a recorded run comes from: a file, or Nerve itself. */
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { AnyDefinition, AnyRunnable, Names } from '../engine/definition.ts'
import { nameOf } from './registry.ts'

/** What stands for a file in runs of definitions that Nerve brings along. */
const BUILT_IN = 'nerve:'

export function isBuiltIn(source: string | undefined): boolean {
  return source?.startsWith(BUILT_IN) === true
}

export function builtInSource(name: string): string {
  return `${BUILT_IN}${name}`
}

export async function builtInAt(source: string): Promise<readonly AnyDefinition[]> {
  const { builtIn } = await import('./library/built-in.ts')
  const found = builtIn(source.slice(BUILT_IN.length))
  return found === undefined ? [] : [found]
}

interface Sourced {
  readonly source?: string | undefined
}

/** As it is recorded: a file of the project by its place in there, so that runs find it again when the project is moved or copied. */
export function recorded<Value extends Sourced>(dir: string | undefined, value: Value): Value {
  const { source } = value
  if (source === undefined || dir === undefined || isBuiltIn(source)) return value
  const within = relative(dir, resolve(source))
  const isOutside = within === '..' || within.startsWith(`..${sep}`) || isAbsolute(within)
  return { ...value, source: isOutside ? resolve(source) : within.replaceAll(sep, '/') }
}

/** With its file where that is now. */
export function placed<Value extends Sourced>(dir: string | undefined, value: Value): Value {
  const { source } = value
  if (source === undefined || dir === undefined || isBuiltIn(source)) return value
  return { ...value, source: resolve(dir, source) }
}

/** Definitions from files. Each may refer by name to whatever else its file exports, before what the host knows. */
export class Sources {
  readonly #beside = new WeakMap<AnyDefinition, Names>()

  /** For a definition that was loaded from this file. */
  async know(source: string, definition: AnyDefinition): Promise<void> {
    if (isBuiltIn(source) || this.#beside.has(definition)) return
    const { loadRunnables } = await import('./definition-file.ts')
    this.#keep(definition, await loadRunnables(source))
  }

  /** The definition of this name as its file has it now. */
  async find(source: string, name: string): Promise<AnyDefinition | undefined> {
    if (isBuiltIn(source)) return (await builtInAt(source))[0]
    const { loadDefinitions, loadRunnables } = await import('./definition-file.ts')
    const found = (await loadDefinitions(source)).find((definition) => definition.name === name)
    if (found !== undefined && !this.#beside.has(found)) this.#keep(found, await loadRunnables(source))
    return found
  }

  /** What a definition may refer to. */
  before(known: Names, definition: AnyDefinition): Names {
    const beside = this.#beside.get(definition)
    if (beside === undefined) return known
    return {
      get: (name) => beside.get(name) ?? known.get(name),
      keys: () => new Set([...beside.keys(), ...known.keys()]),
    }
  }

  #keep(definition: AnyDefinition, all: readonly AnyRunnable[]): void {
    this.#beside.set(definition, new Map([...all, definition].map((one) => [nameOf(one), one])))
  }
}
