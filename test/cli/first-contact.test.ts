/** What meets somebody on the first day: an older Node, a package as `npm init` makes it, slips of the hand, a folder of somebody else. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { COMMAND, HAS_TERMINAL, jsonLines, project, type Project } from './nerve.ts'

let here: Project
afterEach(() => here.remove())

const ASK = `import { workflow } from 'nerve'
import { words } from './words.ts'
export default workflow('ask', async (ctx) => ctx.ask(words))
`
const FILES = { 'ask.ts': ASK, 'words.ts': `export const words: string = 'What?'\n` }
const open = (files: Readonly<Record<string, string>> = FILES): Project => (here = project(files))

test('in a package whose files are not modules, as npm init makes it, a workflow runs as it is', async () => {
  const { nerve } = open({
    ...FILES,
    'package.json': '{"type":"commonjs"}',
    'older.js': `const text = \`
export default nothing
\`
const { workflow } = require('nerve')
module.exports = workflow('older', async (ctx) => ctx.step('one', () => 'as ever'))
`,
  })
  expect(await nerve(['run', 'ask.ts'])).toMatchObject({ code: 3, err: '' })
  expect(await nerve(['run', 'older.js'])).toMatchObject({ code: 0, err: '', out: expect.stringContaining('as ever') })
})

test('a package that does not say what its files are gets no warning of Node', async () => {
  const { nerve } = open({ ...FILES, 'package.json': '{}', 'plain.js': ASK.replace('./words.ts', './words.js') })
  here.write('words.js', `export const words = 'What?'\n`)
  expect(await nerve(['run', 'ask.ts'])).toMatchObject({ code: 3, err: '' })
  expect(await nerve(['run', 'plain.js'])).toMatchObject({ code: 3, err: '' })
})

test('a workflow runs as a compiler leaves it for an older package, and as a file that says it is of that kind', async () => {
  const compiled = `"use strict"
Object.defineProperty(exports, "__esModule", { value: true })
const nerve_1 = require("nerve")
exports.default = (0, nerve_1.workflow)('older', async (ctx) => ctx.step('one', () => 'as ever'))
`
  const { nerve } = open({ 'package.json': '{"type":"commonjs"}', 'flow.js': compiled, 'flow.cjs': compiled })
  for (const file of ['flow.js', 'flow.cjs'])
    expect(await nerve(['run', file])).toMatchObject({ code: 0, err: '', out: expect.stringContaining('as ever') })
})

test('an older Node is told what is needed', () => {
  open()
  // As Node 20 is: without this, and with that version.
  const older = `import { registerHooks } from 'node:module'
registerHooks({ resolve: (name, context, next) => name === 'node:module' ? { url: 'data:text/javascript,export default {}', shortCircuit: true } : next(name, context) })
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } })
Object.defineProperty(process, 'version', { value: 'v20.11.0' })`
  const [program = '', main = ''] = COMMAND
  const call = (...words: string[]) =>
    spawnSync(program, ['--import', `data:text/javascript,${encodeURIComponent(older)}`, main, ...words], {
      encoding: 'utf8',
    })
  expect(call('ps')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: 'nerve needs Node 22.19 or newer; this is v20.11.0.\n',
  })
  expect(call('--help')).toMatchObject({ status: 0, stderr: '' })
})

describe('slips', () => {
  test('a word that is empty, as of a variable that is not set, means no run and no question', async () => {
    const { nerve } = open()
    await nerve(['run', 'ask.ts'])
    for (const call of [
      ['cancel', ''],
      ['pause', ''],
      ['show', ''],
      ['answer', '', 'yes'],
      ['ps', '--dir', ''],
    ]) {
      const { code, out, err } = await nerve(call)
      expect({ call, code, out }).toEqual({ call, code: 2, out: '' })
      expect(err).toMatch(/^nerve.*(RUN|QUESTION|--dir) is empty/)
    }
    expect(JSON.parse((await nerve(['show', 'last', '--json'])).out)).toMatchObject({ status: 'waiting' })
    expect(await nerve(['answer', 'last', ''])).toMatchObject({ code: 0 })
  })

  test('the beginning of more than one id names them; what is missing is named', async () => {
    const { nerve } = open()
    const runs: string[] = []
    for (let at = 0; at < 2; at += 1) runs.push(jsonLines((await nerve(['run', 'ask.ts', '--json'])).out)[0].run)
    const [one = '', other = ''] = runs
    const same = one.split('').findIndex((letter, at) => letter !== other[at])
    const { code, err } = await nerve(['cancel', one.slice(0, same), '--json'])
    const { error } = JSON.parse(err) as { error: { message: string; data: object } }
    expect(code).toBe(2)
    expect(error.data).toEqual({ runs: [other, one] })
    expect(error.message).toContain(`${one} (ask, waiting)`)
    expect((await nerve(['show', 'nothing'])).err).toContain('There is no run nothing')
    expect((await nerve(['answer', 'last'])).err).toMatch(/^nerve answer: VALUE is missing/)
    expect((await nerve(['show'])).err).toMatch(/^nerve show: RUN is missing/)
  })

  test.each([
    [['ps', '--limit', '0'], "--limit is '0'; give a whole number from 1"],
    [['--nonsense'], "nerve: there is no option '--nonsense'"],
    [['--json'], 'which command?'],
    [['trust', 'nowhere'], 'DIR: there is no folder nowhere'],
    [['init', 'ask.ts'], 'ask.ts is a file'],
    [['help', 'nonsense'], "nerve: there is no command 'nonsense'"],
    [['wezterm', 'list', '--program', 'no-such-wezterm'], '--program FILE'],
  ])('%s', async (call, message) => {
    const { nerve } = open()
    const { code, out, err } = await nerve(call)
    expect({ code, out }).toEqual({ code: call[0] === 'wezterm' ? 1 : 2, out: '' })
    expect(err).toContain(message)
  })

  test('interrupt of a run in which nothing runs, and of one that has ended', async () => {
    const { nerve } = open()
    const run = jsonLines((await nerve(['run', 'ask.ts', '--json'])).out)[0].run as string
    const interrupted = async (): Promise<unknown> => {
      const { code, err } = await nerve(['interrupt', 'last', '--json'])
      return { exit: code, ...(JSON.parse(err) as { error: object }).error }
    }
    const nothing = { exit: 2, code: 'nothing-runs', data: { run, status: 'waiting' } }
    expect(await interrupted()).toMatchObject({ ...nothing, message: expect.stringContaining('waiting') })
    await nerve(['answer', 'last', 'x'])
    expect(await interrupted()).toMatchObject({ exit: 2, code: 'run-ended', data: { run, status: 'completed' } })
  })
})

test.skipIf(!HAS_TERMINAL)('in a narrow terminal a run takes two lines, and its id is whole', async () => {
  const { nerve, terminal } = open()
  const run = jsonLines((await nerve(['run', 'ask.ts', '--json'])).out)[0].run as string
  const { out } = await terminal(['ps'], [], { size: [28, 20], env: { NO_COLOR: '1' } }).ended
  const lines = out.replaceAll('\r', '').trimEnd().split('\n')
  expect(lines.slice(0, 2)).toEqual([expect.stringMatching(/^RUN {15}STATUS {3}AGE$/), expect.stringContaining(run)])
  expect(lines[2]).toMatch(/^ {2}ask {2}0 steps {2}\? What\?$/)
  const { out: wide } = await terminal(['ps'], [], { size: [80, 20], env: { NO_COLOR: '1' } }).ended
  expect(wide.trimEnd().split('\n')).toHaveLength(2)
})

const ROOT = process.getuid?.() === 0
/** Some user who is not this one; root can be anybody, and for others a folder that nobody may read does. */
const OTHER = ROOT ? { uid: 65_534, gid: 65_534 } : {}

test.skipIf(process.platform === 'win32')(
  'a project that is not yours to read is not taken for an empty one',
  (context) => {
    const { dir } = open()
    const [program = '', main = ''] = COMMAND
    const call = (...words: string[]) => spawnSync(program, [main, ...words], { cwd: dir, encoding: 'utf8', ...OTHER })
    mkdirSync(join(dir, '.nerve'), { mode: 0o700 })
    chmodSync(dir, 0o755)
    if (ROOT) chmodSync(join(dirname(main), '..', '..', '..'), 0o755)
    else chmodSync(join(dir, '.nerve'), 0o000)
    if (call('--version').status !== 0) context.skip('another user cannot read this package')
    for (const words of [['ps'], ['inbox'], ['run', 'ask.ts']])
      expect(call(...words)).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringContaining('not yours to read'),
      })
    const doctor = call('doctor')
    chmodSync(join(dir, '.nerve'), 0o700)
    expect(doctor).toMatchObject({ status: 1, stdout: expect.stringMatching(/WRONG {2}folder/) })
  },
)

test('a .nerve that is a file', async () => {
  const { nerve } = open({ ...FILES, '.nerve': 'a file' })
  for (const words of [['ps'], ['run', 'ask.ts']])
    expect(await nerve(words)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('.nerve is no folder') })
})

// Where nobody can make a folder, root included.
test.skipIf(process.platform !== 'linux')('a folder that cannot be made: each command says so', async () => {
  const { dir, nerve } = open()
  for (const words of [
    ['run', join(dir, 'ask.ts')],
    ['run', join(dir, 'ask.ts'), '--detach'],
    ['server', 'start'],
    ['token', 'create', 'a', '--scope', 'read'],
  ]) {
    const { code, out, err } = await nerve([...words, '--dir', '/sys'], { env: { NERVE_LOCAL: '0' } })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/^nerve: \/sys\/\.nerve could not be made: .* can be written/)
  }
})

test('a run that fails tells the line that led to it, also where Nerve refused what it was given, and why', async () => {
  const failing = (body: string): string =>
    `import { workflow } from 'nerve'\n\nexport default workflow('failing', async (ctx) => {\n  ${body}\n})\n`
  const { nerve } = open({
    'refused.ts': failing('await ctx.sleep(Number(undefined))'),
    'caused.ts': failing(`throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })`),
  })
  const refused = await nerve(['run', 'refused.ts'])
  expect(refused.code).toBe(1)
  expect(refused.out).toContain('\nsleep: NaN is not a duration.')
  expect(refused.out).toContain('\n  in refused.ts:4:13\n')
  const caused = await nerve(['run', 'caused.ts'])
  expect(caused.out).toContain('\nfetch failed: connect ECONNREFUSED\n  in caused.ts:4:9\n')
  expect((await nerve(['show', 'last'])).out).toContain('fetch failed: connect ECONNREFUSED')
  expect((await nerve(['ps'])).out).toContain('fetch failed: connect ECONNREFUSED')
})
