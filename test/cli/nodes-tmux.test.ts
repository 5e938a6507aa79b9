/** Terminals in tmux, used by one process after the other. */
import { spawnSync } from 'node:child_process'
import { realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { paneIdentity } from '../../src/nodes/panes/pane-options.ts'
import { jsonLines, project, type Project } from './nerve.ts'

const HAS_TMUX = spawnSync('tmux', ['-V']).status === 0
const WAITS = 'echo begun; until [ -e go ]; do sleep 0.05; done; echo over'

let here: Project
afterEach(() => {
  const { socket } = paneIdentity(realpathSync(here.dir), 'shell')
  spawnSync('tmux', ['-L', socket, 'kill-server'])
  rmSync(join(process.env['TMUX_TMPDIR'] ?? '/tmp', `tmux-${process.getuid?.()}`, socket), { force: true })
  here.remove()
})

async function shell(): Promise<Project> {
  here = project()
  const made = await here.nerve(['node', 'create', 'shell', '--kind', 'terminal', '--command', 'bash', '--in', 'tmux'])
  expect(made).toMatchObject({ code: 0, err: '' })
  return here
}

const panes = (): number =>
  spawnSync('tmux', ['-L', paneIdentity(realpathSync(here.dir), 'shell').socket, 'list-panes', '-a'])
    .stdout.toString()
    .split('\n')
    .filter((line) => line !== '').length

describe.skipIf(!HAS_TMUX)('a terminal in tmux', () => {
  test('keeps what it has from one command to the next, until it is stopped', async () => {
    const { nerve } = await shell()
    expect(await nerve(['node', 'execute', 'shell', 'cd /usr; word=kept'])).toEqual({ code: 0, out: '', err: '' })
    expect((await nerve(['node', 'execute', 'shell', 'pwd; echo $word'])).out).toBe('/usr\nkept\n')
    expect((await nerve(['node', 'run', 'shell', 'read answer'])).code).toBe(0)
    expect((await nerve(['node', 'write', 'shell', 'moss', '--key', 'enter'])).code).toBe(0)
    expect((await nerve(['node', 'execute', 'shell', 'echo "got $answer"'])).out).toBe('got moss\n')
    expect(JSON.parse((await nerve(['node', 'read', 'shell', '--tail', '3', '--json'])).out).text).toContain('got moss')
    const { screen } = JSON.parse((await nerve(['node', 'read', 'shell', '--screen', '--json'])).out)
    expect(screen.rows.join('\n')).toContain('got moss')
    await nerve(['node', 'run', 'shell', 'sleep 100'])
    expect((await nerve(['node', 'interrupt', 'shell'])).code).toBe(0)
    expect((await nerve(['node', 'execute', 'shell', 'echo $word'])).out).toBe('kept\n')
    await nerve(['node', 'reset', 'shell'])
    expect((await nerve(['node', 'execute', 'shell', 'echo "[$word]"'])).out).toBe('[]\n')
    const operations = jsonLines((await nerve(['node', 'history', 'shell', '--inputs', '--json'])).out)
    expect(new Set(operations.map(({ operation }) => operation))).toEqual(new Set(['send', 'run', 'write']))
    expect(panes()).toBe(1)
    expect((await nerve(['node', 'remove', 'shell'])).code).toBe(0)
    expect(panes()).toBe(0)
  })

  test('is removed also when it cannot start, or when there is no tmux', async () => {
    const { nerve, dir } = await shell()
    await nerve(['node', 'create', 'bad', '--kind', 'terminal', '--command', 'no-such-program', '--in', 'tmux'])
    await nerve(['node', 'create', 'lost', '--kind', 'terminal', '--cwd', 'nowhere', '--in', 'tmux'])
    for (const name of ['bad', 'lost'])
      expect(await nerve(['node', 'remove', name])).toMatchObject({ code: 0, err: '' })
    expect((await nerve(['node', 'remove', 'shell'], { env: { PATH: dir } })).code).toBe(0)
    expect((await nerve(['node', 'list', '--json'])).out).toBe('[]\n')
  })

  test('can be read and typed into while another process executes it', async () => {
    const { nerve, start, write, dir, until } = await shell()
    const { shown, ended } = start(['node', 'execute', 'shell', `cd '${dir}'; ${WAITS}`])
    await shown('begun')
    expect((await nerve(['node', 'read', 'shell', '--tail', '2'])).out).toContain('begun')
    expect(await nerve(['node', 'write', 'shell', 'echo $((40 + 2))', '--key', 'enter'])).toMatchObject({ code: 0 })
    write('go', '')
    expect((await ended).out).toContain('over')
    const seen = async (): Promise<string> => (await nerve(['node', 'read', 'shell', '--tail', '5'])).out
    await until(async () => /^42$/m.test(await seen()), 'what was typed meanwhile')
    expect((await nerve(['node', 'stop', 'shell'])).code).toBe(0)
    expect(panes()).toBe(0)
  })

  test('is watched while others use it', async () => {
    const { nerve, start } = await shell()
    await nerve(['node', 'execute', 'shell', ':'])
    const { child, shown, ended } = start(['node', 'read', 'shell', '--follow'])
    // It says nothing before something is printed, so that has to go on until it is heard.
    const talking = start(['node', 'execute', 'shell', 'until [ -e go ]; do echo "tick $((40 + 2))"; sleep 0.1; done'])
    await shown('tick 42')
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0, err: '' })
    here.write('go', '')
    expect((await talking.ended).code).toBe(0)
    expect(await nerve(['node', 'read', 'shell', '--follow', '--tail', '3'])).toMatchObject({ code: 2 })
  })

  test('goes on when its process is killed, and so does its run', async () => {
    const { nerve, start, write, dir } = await shell()
    const { child, shown, ended } = start(['node', 'execute', 'shell', `cd '${dir}'; ${WAITS}`])
    await shown('begun')
    child.kill('SIGKILL')
    await ended
    write('go', '')
    const { code, out } = await nerve(['resume', '--all', '--json'])
    expect(code).toBe(0)
    expect(jsonLines(out).at(-1)).toMatchObject({ output: { output: 'begun\nover\n', exitCode: 0 } })
  })
})
