// Builds Nerve into a temporary folder, as the package that users get: from the sources, starting and loading on first use would
// mostly measure how fast Node strips types. The benchmark never writes into the repository's own dist.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..', '..')

export interface Built {
  /** The URL of the built entry; undefined when there is none, and then `problem` says why. */
  readonly entry: string | undefined
  readonly problem: string | undefined
  remove(): void
}

export function buildNerve(): Built {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-bench-built-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  const options = [
    '-p',
    join(ROOT, 'tsconfig.build.json'),
    '--outDir',
    folder,
    '--declaration',
    'false',
    '--sourceMap',
    'false',
  ]
  const built = spawnSync(process.execPath, [compiler(), ...options], { encoding: 'utf8' })
  const entry = join(folder, 'index.js')
  if (existsSync(entry)) return { entry: pathToFileURL(entry).href, problem: undefined, remove }
  return {
    entry: undefined,
    problem: `${built.stdout}${built.stderr}`.trim().split('\n').slice(0, 3).join(' | '),
    remove,
  }
}

const compiler = (): string => {
  const manifest = createRequire(join(ROOT, 'package.json')).resolve('typescript/package.json')
  return join(dirname(manifest), 'bin', 'tsc')
}
