/** The package that the tests start: built-package.ts makes it. */
import { join } from 'node:path'
import { inject } from 'vitest'

/** A file or folder of the built package. */
export function built(...path: readonly string[]): string {
  const home: string | undefined = inject('builtPackage')
  if (home === undefined)
    throw new Error('Only the tests of the project `built` have the built package: name this one in vitest.config.ts.')
  return join(home, ...path)
}

/** For the environment of processes that load the same files: they are compiled once, and not by each of them. */
export function compileCache(): { readonly NODE_COMPILE_CACHE: string } {
  return { NODE_COMPILE_CACHE: built('compile-cache') }
}
