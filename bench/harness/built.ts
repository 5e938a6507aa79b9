// Builds Nerve into a temporary folder, as the package that users get: from the sources, starting and loading on first use would
// mostly measure how fast Node strips types. The benchmark never writes into the repository's own dist.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Built {
  /** The URL of the built entry; undefined when there is none, and then `problem` says why. */
  readonly entry: string | undefined
  readonly problem: string | undefined
  remove(): void
}

export async function buildNerve(): Promise<Built> {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-bench-built-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  try {
    // Imported here, so that what is wrong with the bundler is a problem that is reported and not the end of the run.
    const { bundle } = await import('../../scripts/bundle.ts')
    await bundle(folder)
    // For the packages that terminals need; users have them beside the package, too.
    symlinkSync(join(import.meta.dirname, '..', '..', 'node_modules'), join(folder, 'node_modules'))
    return { entry: pathToFileURL(join(folder, 'index.js')).href, problem: undefined, remove }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { entry: undefined, problem: text.trim().split('\n').slice(0, 3).join(' | '), remove }
  }
}
