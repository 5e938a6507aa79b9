/** nerve.config.ts: trusted once, then known to every command that needs nodes. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { HAS_TERMINAL, jsonLines, project, type Project } from './nerve.ts'

let here: Project
afterEach(() => here.remove())

const CONFIG = `
import { appendFileSync } from 'node:fs'
import { defineNode } from 'nerve'
import { config } from 'nerve/config'
import { bash } from 'nerve/nodes'

appendFileSync('ran.txt', 'ran\\n')

const log = (text: string) => appendFileSync('effects.txt', text + '\\n')

export default config({
  nodes: [
    bash('hello', { command: 'echo hello' }),
    { kind: 'bash', id: 'where', command: 'pwd' },
    defineNode('counter', (by: number) => (log('count ' + by), by + 1), {
      persistent: true, start: () => log('start counter'), stop: () => log('stop counter'),
    }),
  ],
  sessions: { work: { tags: ['w'], nodes: ['counter'] } },
  defaults: { budget: { steps: 20 } },
})
`

const SPEC = `
nerve: 1
name: flow
steps:
  - id: one
    node: hello
  - id: two
    node: counter
    after: [one]
    input: 41
`

const WORKFLOW = `
import { workflow } from 'nerve'
export default workflow('flow', async (ctx) => {
  await ctx.ask('Go on?', { choices: ['yes', 'no'] })
  const { stdout } = await ctx.run('where', undefined)
  return [stdout, await ctx.run('counter', 1)]
})
`

function open(files: Readonly<Record<string, string>> = {}): Project {
  return (here = project({ 'nerve.config.ts': CONFIG, 'flow.yaml': SPEC, 'flow.ts': WORKFLOW, ...files }))
}

describe('trust', () => {
  test.each([
    ['node', 'list'],
    ['run', 'flow.yaml'],
    ['run', 'flow.yaml', '--detach'],
  ])('without it, and without a terminal, nothing of the file runs: %s %s', async (...args) => {
    const { nerve, has, dir } = open()
    const { code, out, err } = await nerve([...args, '--json'], { env: { NERVE_LOCAL: '' } })
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(JSON.parse(err)).toMatchObject({
      error: { code: 'not-trusted', data: { file: join(dir, 'nerve.config.ts') } },
    })
    expect(err).toContain(`nerve trust ${dir}`)
    expect([has('ran.txt'), has('.nerve'), has('.state')]).toEqual([false, false, false])
  })

  test('is given by a command, holds when the file changes, and is taken back', async () => {
    const { nerve, write } = open()
    expect(await nerve(['trust'])).toMatchObject({ code: 0, out: expect.stringContaining('is trusted') })
    expect(await nerve(['node', 'execute', 'hello'])).toMatchObject({ code: 0, out: 'hello\n', err: '' })
    write('nerve.config.ts', CONFIG.replace('echo hello', 'echo changed'))
    expect(await nerve(['node', 'execute', 'hello'])).toMatchObject({ code: 0, out: 'changed\n' })
    expect(JSON.parse((await nerve(['trust', '--list', '--json'])).out)).toMatchObject([{ changed: true }])
    await nerve(['trust', '--revoke'])
    expect(await nerve(['node', 'execute', 'hello'])).toMatchObject({ code: 2 })
    expect(await nerve(['node', 'execute', 'hello'], { env: { NERVE_TRUST: '1' } })).toMatchObject({ code: 0 })
    expect(JSON.parse((await nerve(['trust', '--list', '--json'])).out)).toEqual([])
  })

  test.skipIf(!HAS_TERMINAL)('is asked for at a terminal, once', async () => {
    const { terminal, has, dir } = open()
    const no = await terminal(['node', 'list'], [['Trust it?', 'n\r']]).ended
    expect(no.code).toBe(2)
    expect([has('ran.txt'), has('.state')]).toEqual([false, false])
    const yes = await terminal(['node', 'list'], [['Trust it?', 'y\r']]).ended
    expect(yes.code).toBe(0)
    expect(yes.out).toContain(join(dir, 'nerve.config.ts'))
    expect(yes.out).toMatch(/counter +function +work/)
    const again = await terminal(['node', 'list'], []).ended
    expect(again.out).not.toContain('Trust it?')
  })

  test('commands that need no nodes ask for none', async () => {
    const { nerve, has } = open()
    for (const args of [['ps'], ['inbox'], ['doctor'], ['explain', 'flow.ts']]) expect((await nerve(args)).code).toBe(0)
    expect(has('ran.txt')).toBe(false)
  })
})

describe('its nodes', () => {
  const trusted = { env: { NERVE_TRUST: '1' } }

  test('are known to definitions by their names; persistent ones in their session', async () => {
    const { nerve, effects, dir } = open()
    const { code, out } = await nerve(['run', 'flow.yaml', '--json'], trusted)
    expect(code).toBe(0)
    expect(jsonLines(out)[0]).toMatchObject({ budget: { steps: 20 } })
    expect(jsonLines(out).at(-1)).toMatchObject({ output: { one: { stdout: 'hello\n' }, two: 42 } })
    expect(effects()).toEqual(['count 41', 'start counter', 'stop counter'])
    const history = join(dir, '.nerve', 'history', 'work', 'counter.jsonl')
    expect(readFileSync(history, 'utf8')).toContain('"input":41')
  })

  test('are there again when a run goes on in another process', async () => {
    const { nerve, dir } = open()
    expect((await nerve(['run', 'flow.ts'], trusted)).code).toBe(3)
    expect((await nerve(['answer', 'last', 'yes'])).code).toBe(2)
    const { code, out } = await nerve(['answer', 'last', 'yes', '--json'], trusted)
    expect(code).toBe(0)
    expect(jsonLines(out).at(-1)).toMatchObject({ output: [`${dir}\n`, 2] })
  })

  test('are listed with those that are recorded, and are removed in the file alone', async () => {
    const { nerve } = open()
    await nerve(['node', 'create', 'mine', '--kind', 'identity', '--session', 'work'], trusted)
    const list = JSON.parse((await nerve(['node', 'list', '--json'], trusted)).out)
    expect(list).toMatchObject([
      { name: 'hello', kind: 'bash', session: 'default', planned: true },
      { name: 'where', session: 'default', planned: true, config: { command: 'pwd' } },
      { name: 'counter', kind: 'function', session: 'work', tags: ['w'], persistent: true, planned: true },
      { name: 'mine', session: 'work', planned: false },
    ])
    expect(await nerve(['node', 'remove', 'hello'], trusted)).toMatchObject({
      code: 2,
      err: expect.stringContaining('take it out there'),
    })
    expect(await nerve(['node', 'create', 'HELLO', '--kind', 'bash'], trusted)).toMatchObject({ code: 2 })
  })

  test('that are gone from the file leave a session that says what to do', async () => {
    const { nerve, write, dir } = open()
    expect((await nerve(['node', 'execute', 'counter', '1'], trusted)).out).toBe('2\n')
    await nerve(['node', 'create', 'mine', '--kind', 'identity', '--session', 'work'], trusted)
    write('nerve.config.ts', 'export default {}')
    const gone = await nerve(['node', 'execute', 'mine', '1'], trusted)
    expect(gone.code).toBe(1)
    expect(gone.err).toContain(`'counter' (function) is made by code`)
    expect(gone.err).toContain('nerve node remove')
    expect((await nerve(['node', 'remove', 'counter'], trusted)).code).toBe(0)
    expect((await nerve(['node', 'execute', 'mine', '1'], trusted)).out).toBe('1\n')
    expect(existsSync(join(dir, '.nerve', 'history', 'work', 'counter.jsonl'))).toBe(true)
  })
})

test('a file that is wrong is told with everything that is wrong with it', async () => {
  const { nerve } = open({ 'nerve.config.ts': `export default { nods: [], sessions: { a: { nodes: ['b'] } } }` })
  const { code, err } = await nerve(['node', 'list'], { env: { NERVE_TRUST: '1' } })
  expect(code).toBe(2)
  expect(err).toMatch(
    /nerve\.config\.ts has 2 problems:\n {2}- nods: .*Did you mean 'nodes'\?\n {2}- sessions\.a\.nodes\[0\]/,
  )
})
