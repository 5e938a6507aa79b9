/** The types of the package as people have them, who installed none of the optional peers. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DOORS } from './package-doors.ts'

const ROOT = join(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'nerve-declarations-'))

beforeAll(() => {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', home], { cwd: ROOT })
}, 120_000)
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** The packages that a file of types names, itself or through others, each with the file that does. */
function packagesBehind(
  file: string,
  found = new Map<string, string>(),
  seen = new Set<string>(),
): Map<string, string> {
  if (seen.has(file)) return found
  seen.add(file)
  const text = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\//g, '')
  for (const [, name = ''] of text.matchAll(/(?:\bfrom |\bimport\(|^import )['"]([^'"]+)['"]/gm)) {
    if (name.startsWith('.')) packagesBehind(join(file, '..', name.replace(/\.ts$/, '.d.ts')), found, seen)
    else if (!name.startsWith('node:')) found.set(name, file.slice(home.length + 1))
  }
  return found
}

it.each(DOORS)('$name needs no package that is not installed with Nerve', ({ source }) => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object }
  const found = packagesBehind(join(home, source.replace(/^src\/(.*)\.ts$/, '$1.d.ts')))
  const strange = [...found].filter(([name]) => !Object.keys(dependencies).includes(name))
  expect(strange).toEqual([])
})
