/**
 * The package as people install it, built once for all tests, with the programs among the tests that are started most.
 * A process that loads few files of JavaScript starts in a third of the time of one that loads a hundred of TypeScript, and the tests
 * start some thousands.
 */
import { cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { bundle } from '../scripts/bundle.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the built package. */
    readonly builtPackage: string
  }
}

export async function setup(project: TestProject): Promise<() => void> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'nerve-built-')))
  for (const file of ['package.json', 'schema']) cpSync(join(ROOT, file), join(home, file), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'), 'junction')
  await bundle(join(home, 'dist'), {
    'test/crash/worker': join(ROOT, 'test/crash/worker.ts'),
    'test/crash/many-worker': join(ROOT, 'test/crash/many-worker.ts'),
  })
  project.provide('builtPackage', home)
  return () => rmSync(home, { recursive: true, force: true, maxRetries: 5 })
}
