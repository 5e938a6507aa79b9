import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundle } from './bundle.ts'

const home = mkdtempSync(join(tmpdir(), 'nerve-bundle-'))
const dist = join(home, 'dist')

beforeAll(async () => {
  copyFileSync(join(import.meta.dirname, '..', 'package.json'), join(home, 'package.json'))
  await bundle(dist)
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Runs a program beside the built package, without the condition that leads to the sources. */
function run(...args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: home,
    encoding: 'utf8',
  })
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
  return stdout.trim()
}

const program = (text: string): string => run('--input-type=module', '--eval', text)

it('gives every door the same classes, under their own names', () => {
  const shown = program(`
    import { NerveError, createHost, isNerveError, workflow } from 'nerve'
    import { MemoryStore } from 'nerve/testing'
    const host = await createHost({ store: new MemoryStore() })
    const run = await host.start(workflow('greet', async (ctx, name) => ctx.step('write', () => 'Hello ' + name)), 'Ada')
    console.log(await run.result())
    const error = await host.run('none').catch((error) => error)
    console.log(error instanceof NerveError, isNerveError(error, 'not-found'), NerveError.name, MemoryStore.name)
    await host.close()
  `)
  expect(shown.split('\n')).toEqual(['Hello Ada', 'true true NerveError MemoryStore'])
})

it('loads one file behind the main door, and neither SQLite nor the streams of node:fs', () => {
  const core = readFileSync(join(dist, 'chunks', 'core.js'), 'utf8')
  expect(core.match(/^import .* from "\..*/gm)).toBeNull()
  const loaded = program(`
    import 'nerve'
    process.stdout.write(process.moduleLoadList.filter((name) => /sqlite|fs\\/streams/.test(name)).join())
  `)
  expect(loaded).toBe('')
})

it('keeps what is imported when it is wanted in files of its own', () => {
  const files = readdirSync(join(dist, 'chunks'))
  expect(files).toEqual(expect.arrayContaining(['sqlite-store.js', 'definition-file.js', 'dispatch.js', 'transfer.js']))
})

it('has a command that runs a file, to which `nerve` means this package', () => {
  const cli = join(dist, 'surfaces', 'cli', 'main.js')
  expect(run(cli, '--version')).toMatch(/^\d+\.\d+\.\d+$/)
  const elsewhere = mkdtempSync(join(tmpdir(), 'nerve-bundle-file-'))
  const file = join(elsewhere, 'greet.ts')
  writeFileSync(
    file,
    `import { NerveError, workflow } from 'nerve'
     import { MemoryStore } from 'nerve/testing'
     export default workflow('greet', async (ctx) => ctx.step('write', () => [NerveError.name, MemoryStore.name]))`,
  )
  try {
    expect(run(cli, 'run', file, '--json', '--dir', elsewhere)).toContain('["NerveError","MemoryStore"]')
  } finally {
    rmSync(elsewhere, { recursive: true, force: true })
  }
})
