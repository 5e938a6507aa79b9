/** Where the definition of a recorded run comes from: a file, or Nerve itself. */
import type { AnyDefinition } from '../engine/definition.ts'
import { nameOf, type Registry } from './registry.ts'

/** What stands for a file in runs of definitions that Nerve brings along. */
const BUILT_IN = 'nerve:'

export function isBuiltIn(source: string | undefined): boolean {
  return source?.startsWith(BUILT_IN) === true
}

export function builtInSource(name: string): string {
  return `${BUILT_IN}${name}`
}

/** A definition may refer by name to whatever else its file exports. Names that stand for something already keep it. */
export async function knowSource(known: Registry, source: string, definition: string): Promise<void> {
  if (isBuiltIn(source)) return
  const { loadRunnables } = await import('./definition-file.ts')
  const found = (await loadRunnables(source)).filter((one) => nameOf(one) !== definition)
  known.replace(...found.filter((one) => known.names.get(nameOf(one)) === undefined))
}

export async function fromSource(known: Registry, source: string, name: string): Promise<AnyDefinition | undefined> {
  if (isBuiltIn(source)) {
    const { builtIn } = await import('./library/built-in.ts')
    return builtIn(source.slice(BUILT_IN.length))
  }
  await knowSource(known, source, name)
  const { loadDefinitions } = await import('./definition-file.ts')
  return (await loadDefinitions(source)).find((definition) => definition.name === name)
}
