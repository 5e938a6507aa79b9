/** `nerve graph`, `nerve workflow`, `nerve session` and `nerve wezterm`. */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { NO_TMUX, endServer } from '../terminal/panes/pane-stage.ts'
import { weztermDouble } from '../terminal/panes/wezterm-stage.ts'
import { paneIdentity } from '../../src/nodes/panes/pane-options.ts'
import { jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

let here: Project
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>> = {}): Project => (here = project(workflows))
const TRUSTED = { env: { NERVE_TRUST: '1' } }
/** With the daemon, which the other tests keep commands from. */
const THERE = { env: { ...TRUSTED.env, NERVE_LOCAL: '' } }

test('graph run, show and validate are run, explain and validate', async () => {
  const { nerve } = open({ 'greet.ts': files.greet })
  const ran = jsonLines((await nerve(['graph', 'run', 'greet.ts', '--input', 'Ada', '--json'])).out).at(-1)
  expect(ran).toMatchObject({ type: 'result', status: 'completed', output: { input: 'Ada' } })
  expect((await nerve(['graph', 'show', 'greet.ts'])).out).toBe((await nerve(['explain', 'greet.ts'])).out)
  expect((await nerve(['graph', 'validate', 'greet.ts'])).out).toBe((await nerve(['validate', 'greet.ts'])).out)
  expect(await nerve(['graph', 'rum', 'greet.ts'])).toMatchObject({ code: 2, err: expect.stringContaining(`'run'`) })
})

describe('workflow', () => {
  test('lists what the folder, the project file and runs know, and what is wrong', async () => {
    const { nerve, dir } = open({ 'slow.ts': files.slow, go: '' })
    expect((await nerve(['workflow', 'list'])).out).toContain('Nothing is known')
    mkdirSync(join(dir, 'workflows'))
    writeFileSync(join(dir, 'workflows', 'parent.ts'), files.parent)
    writeFileSync(join(dir, 'workflows', 'broken.ts'), 'export default')
    here.write(
      'nerve.config.ts',
      `import { workflow } from 'nerve'\nexport default { nodes: [workflow('planned', async () => 7)] }`,
    )
    await nerve(['run', 'slow.ts'], TRUSTED)
    const { definitions, problems } = JSON.parse((await nerve(['workflow', 'list', '--json'], TRUSTED)).out)
    expect(definitions).toEqual([
      { name: 'parent', kind: 'workflow', source: join(dir, 'workflows', 'parent.ts'), runs: 0 },
      { name: 'planned', kind: 'workflow', runs: 0 },
      { name: 'slow', source: join(dir, 'slow.ts'), runs: 1, last: expect.objectContaining({ status: 'completed' }) },
      { name: 'small', kind: 'workflow', source: join(dir, 'workflows', 'parent.ts'), runs: 0 },
    ])
    expect(problems).toEqual([{ source: join(dir, 'workflows', 'broken.ts'), message: expect.any(String) }])
    const text = (await nerve(['workflow', 'list'], TRUSTED)).out
    expect(text).toMatch(/^parent {3}workflow {2}workflows\/parent\.ts {2}never ran$/m)
    expect(text).toMatch(/^workflows\/broken\.ts: /m)

    const output = async (name: string, more: readonly string[] = []) =>
      jsonLines((await nerve(['workflow', 'run', name, '--json', ...more], TRUSTED)).out).at(-1)
    expect(await output('small', ['--input', '4'])).toMatchObject({ definition: 'small', output: 8 })
    expect(await output('planned')).toMatchObject({ output: 7 })
    expect(await output('slow')).toMatchObject({ output: 'over' })
    expect(await output('slow.ts')).toMatchObject({ output: 'over' })
    const unknown = await nerve(['workflow', 'run', 'smal'], TRUSTED)
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining(`Did you mean 'small'?`) })

    const { run } = JSON.parse((await nerve(['workflow', 'run', 'planned', '--detach', '--json'], THERE)).out)
    await here.until(async () => {
      const [row] = JSON.parse((await nerve(['ps', '--json'], THERE)).out)
      return row.run === run && row.status === 'completed'
    }, 'the end of the detached run')
  })
})

describe('session', () => {
  test('list, show, close and remove', async () => {
    const { nerve, has } = open()
    expect(JSON.parse((await nerve(['session', 'list', '--json'])).out)).toEqual([])
    expect(has('.nerve')).toBe(false)
    await nerve(['node', 'create', 'sh', '--kind', 'bash', '--session', 'work'])
    here.write(
      'nerve.config.ts',
      `export default { sessions: { fixed: { tags: ['daily'], nodes: [{ kind: 'identity', id: 'notes' }] } } }`,
    )
    expect(JSON.parse((await nerve(['session', 'list', '--json'], TRUSTED)).out)).toEqual([
      { name: 'fixed', tags: ['daily'], planned: true, members: 1 },
      { name: 'work', tags: [], planned: false, members: 1 },
    ])
    expect((await nerve(['session', 'list'], TRUSTED)).out).toMatch(/^fixed {2}1 {6}daily, nerve\.config$/m)
    expect((await nerve(['session', 'show', 'work'], TRUSTED)).out).toBe('work\n  sh  bash\n')
    expect(JSON.parse((await nerve(['session', 'show', 'work', '--json'], TRUSTED)).out)).toMatchObject({
      name: 'work',
      nodes: [{ name: 'sh', kind: 'bash' }],
    })
    expect((await nerve(['session', 'close', 'work'], TRUSTED)).out).toBe('work is closed\n')
    expect(await nerve(['session', 'remove', 'fixed'], TRUSTED)).toMatchObject({ code: 2 })
    expect((await nerve(['session', 'remove', 'work'], TRUSTED)).out).toBe('work was removed\n')
    expect(await nerve(['session', 'show', 'work'], TRUSTED)).toMatchObject({ code: 2 })
    expect((await nerve(['session', 'show', 'fixd'], TRUSTED)).err).toContain(`Did you mean 'fixed'?`)
  })

  test.skipIf(NO_TMUX !== '')(`close ends panes${NO_TMUX}`, async () => {
    const { nerve, dir } = open()
    try {
      await nerve(['node', 'create', 'pane', '--kind', 'terminal', '--in', 'tmux', '--command', 'bash'])
      expect((await nerve(['node', 'execute', 'pane', 'x=12'])).code).toBe(0)
      expect((await nerve(['node', 'execute', 'pane', 'echo $x'])).out).toBe('12\n')
      const closed = await nerve(['session', 'close', 'default', '--json'])
      expect(JSON.parse(closed.out)).toEqual({ session: 'default', ended: ['pane'] })
      expect((await nerve(['node', 'execute', 'pane', 'echo [$x]'])).out).toBe('[]\n')
      expect((await nerve(['session', 'remove', 'default'])).out).toBe('default was removed; ended: pane\n')
    } finally {
      endServer(paneIdentity(realpathSync(dir), '').socket)
    }
  })
})

test.skipIf(NO_TMUX !== '')(`wezterm, by a double of it: list, spawn, send, read, kill${NO_TMUX}`, async () => {
  const { nerve } = open()
  const { program, socket, end } = weztermDouble()
  try {
    const wezterm = (...words: readonly string[]) =>
      nerve(['wezterm', words[0] ?? '', '--program', program, '--socket', socket, ...words.slice(1)])
    const before = JSON.parse((await wezterm('list', '--json')).out)
    const { pane } = JSON.parse(
      (await wezterm('spawn', '--json', '--', 'sh', '-c', 'read a; echo "got $a"; sleep 100')).out,
    )
    const listed = JSON.parse((await wezterm('list', '--json')).out)
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([...before.map(({ id }: { id: string }) => id), pane])
    expect(await wezterm('send', pane, 'some text', '--key', 'enter')).toMatchObject({
      code: 0,
      out: `typed into ${pane}\n`,
    })
    await here.until(async () => (await wezterm('read', pane)).out.includes('got some text'), 'what was typed')
    expect(JSON.parse((await wezterm('read', pane, '--json', '--above', '5')).out)).toMatchObject({
      pane,
      rows: expect.any(Array),
    })
    expect((await wezterm('list')).out).toMatch(/^PANE {2}SIZE/)
    expect(await wezterm('kill', pane)).toMatchObject({ code: 0 })
    expect(await wezterm('kill', pane)).toMatchObject({ code: 0 })
    expect(await wezterm('read', pane)).toMatchObject({ code: 2, err: expect.stringContaining('There is no pane') })
    for (const bad of [
      ['send', pane],
      ['read', '--', '--help'],
      ['read', 'x'],
    ])
      expect((await wezterm(...bad)).code).toBe(2)
    const missing = await nerve(['wezterm', 'list', '--program', '/no/such/wezterm', '--json'])
    expect(missing.code).toBe(1)
    expect(JSON.parse(missing.err)).toMatchObject({ error: { code: 'pane-failed' } })
  } finally {
    end()
  }
})
