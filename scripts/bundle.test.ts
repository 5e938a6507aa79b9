import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundle } from './bundle.ts'
import { DOORS } from './package-doors.ts'

const home = mkdtempSync(join(tmpdir(), 'nerve-bundle-'))
const dist = join(home, 'dist')

beforeAll(async () => {
  copyFileSync(join(import.meta.dirname, '..', 'package.json'), join(home, 'package.json'))
  // Optional peers can be found here: what loads none does not want any.
  symlinkSync(join(import.meta.dirname, '..', 'node_modules'), join(home, 'node_modules'), 'junction')
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
    import { NerveError as OfClient } from 'nerve/client'
    import { MemoryStore } from 'nerve/testing'
    const host = await createHost({ store: new MemoryStore() })
    const run = await host.start(workflow('greet', async (ctx, name) => ctx.step('write', () => 'Hello ' + name)), 'Ada')
    console.log(await run.result())
    const error = await host.run('none').catch((error) => error)
    console.log(error instanceof NerveError, isNerveError(error, 'not-found'), NerveError === OfClient, NerveError.name, MemoryStore.name)
    await host.close()
  `)
  expect(shown.split('\n')).toEqual(['Hello Ada', 'true true true NerveError MemoryStore'])
})

it('tells a program what is needed when its Node is older than package.json says', () => {
  const older = (node: string): string =>
    program(`
      Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })
      const { createHost } = await import('nerve')
      const host = await createHost({ store: 'memory' }).catch((error) => console.log(error.code, error.message))
      await host?.close()
    `)
  const { engines } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { engines: { node: string } }
  const [, oldest = '', major = '', minor = ''] = /^>=((\d+)\.(\d+))$/.exec(engines.node) ?? []
  expect(older(`${oldest}.0`)).toBe('')
  for (const node of [`${major}.${Number(minor) - 1}.9`, `${Number(major) - 2}.99.0`])
    expect(older(node)).toMatch(`package-missing Nerve needs Node ${oldest} or newer; this is v`)
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

/** The files that loading a door loads, from the folder of the package. */
function loadedBy(door: string): string[] {
  const files = program(`
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context)
        if (!found.url.startsWith('node:')) console.log(found.url)
        return found
      },
    })
    await import('${door}')
  `).split('\n')
  return files.map((url) => url.replace(/^.*?\/(?=dist\/|node_modules\/)/, ''))
}

it('loads two files for the main door, also when everything else is there', () => {
  expect(loadedBy('nerve')).toEqual(['dist/index.js', 'dist/chunks/core.js'])
})

it.each(['testing', 'models', 'mcp', 'gateway', 'agents'])(
  'loads no package for nerve/%s before it is used',
  (door) => {
    const files = loadedBy(`nerve/${door}`)
    expect(files).toContain('dist/chunks/core.js')
    expect(files.filter((file) => !file.startsWith('dist/'))).toEqual([])
  },
)

it('names no optional package to a bundler, which would look for it and stop', () => {
  const { peerDependencies } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    peerDependencies: object
  }
  const text = readdirSync(join(dist, 'chunks'), { encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(dist, 'chunks', file), 'utf8'))
    .join('\n')
  const named = [...text.matchAll(/\b(?:import\(|from |import )\s*["'`]([^"'`.]+)["'`]/g)].map(([, name = '']) => name)
  const known = Object.keys(peerDependencies)
  expect(named.filter((name) => known.some((peer) => name === peer || name.startsWith(`${peer}/`)))).toEqual([])
})

it('keeps what is imported when it is wanted in files of its own', () => {
  const files = readdirSync(join(dist, 'chunks'))
  expect(files).toEqual(expect.arrayContaining(['sqlite-store.js', 'definition-file.js', 'dispatch.js', 'transfer.js']))
})

it('has a command that can be executed: npm makes it so only where it installs it, and a clone is built again', () => {
  const cli = join(dist, 'surfaces', 'cli', 'main.js')
  expect(spawnSync(cli, ['--version']).status).toBe(0)
})

it('has a command that runs a file, to which `nerve` means this package, behind every door', () => {
  const cli = join(dist, 'surfaces', 'cli', 'main.js')
  expect(run(cli, '--version')).toMatch(/^\d+\.\d+\.\d+$/)
  const elsewhere = mkdtempSync(join(tmpdir(), 'nerve-bundle-file-'))
  const file = join(elsewhere, 'greet.ts')
  writeFileSync(
    file,
    `import { NerveError, workflow } from 'nerve'
     import { MemoryStore } from 'nerve/testing'
     ${DOORS.map(({ name }, at) => `import * as door${at} from '${name}'`).join('\n')}
     const doors = [${DOORS.map((_, at) => `door${at}`).join()}].filter((door) => Object.keys(door).length > 0)
     export default workflow('greet', async (ctx) => ctx.step('write', () => [NerveError.name, MemoryStore.name, doors.length]))`,
  )
  try {
    expect(run(cli, 'run', file, '--json', '--dir', elsewhere)).toContain(
      `["NerveError","MemoryStore",${DOORS.length}]`,
    )
  } finally {
    rmSync(elsewhere, { recursive: true, force: true })
  }
})

it('has a client for browsers that needs nothing of Node', () => {
  const client = readFileSync(join(dist, 'browser', 'client.js'), 'utf8')
  expect(client).not.toMatch(/^import |\bimport\(|["']node:/m)
  const shown = program(`
    import { standalone } from 'nerve/client'
    import { workflow } from 'nerve'
    const client = await standalone({ store: 'memory', definitions: [workflow('greet', async () => 'Hello')] })
    console.log(await (await client.runs.start('greet')).result())
    await client.close()
  `)
  expect(shown).toBe('Hello')
})
