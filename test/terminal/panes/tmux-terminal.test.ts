/** A terminal in tmux is what a terminal on a PTY is, and more: it lives on without its process. */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { NerveError } from '../../../src/base/nerve-error.ts'
import { paneIdentity } from '../../../src/nodes/panes/pane-options.ts'
import { terminal, type TerminalNode } from 'nerve/terminal'
import { describe, expect, it } from 'vitest'
import { alive, installed, open, until } from '../open.ts'
import { NO_TMUX, inTmux, project, tmux } from './pane-stage.ts'

const places: readonly [string, (options?: object) => TerminalNode][] = [
  ['on a PTY', (options) => open(options)],
  ['in tmux', (options) => inTmux(project(), 'shell', options)],
]

describe.skipIf(NO_TMUX !== '').each(places)(`a terminal %s${NO_TMUX}`, (_, make) => {
  it('gives exact output and exit codes', async () => {
    const shell = make()
    expect(await shell.execute('printf "no newline"; (exit 42)')).toMatchObject({
      output: 'no newline',
      exitCode: 42,
      rule: 'marks',
    })
    expect((await shell.execute(`printf '%0300d\\n' 7`)).output).toBe(`${'7'.padStart(300, '0')}\n`)
    expect((await shell.execute('echo 你好🚀')).output).toBe('你好🚀\n')
    expect((await shell.execute('seq 1 4000')).output).toBe(
      `${Array.from({ length: 4_000 }, (_, at) => at + 1).join('\n')}\n`,
    )
    expect((await shell.execute('echo one\necho two')).output).toBe('one\ntwo\n')
    expect((await shell.execute("printf '\\033]133;D;0;n=abc;k=9\\007'; false")).exitCode).toBe(1)
    expect(await shell.execute('echo "open')).toMatchObject({ continuation: true })
    expect((await shell.execute('end"')).output).toBe('open\nend\n')
    expect((await shell.execute('')).exitCode).toBeUndefined()
  })

  it('asks, reads, streams, clears, resizes, shows its screen', async () => {
    const shell = make()
    expect(await shell.execute('read -p "name? " name')).toMatchObject({ output: 'name? ', rule: 'kernel' })
    await shell.execute('Ann')
    const pieces: string[] = []
    for await (const piece of shell.stream('echo $name; sleep 0.1; echo $name')) pieces.push(piece)
    expect(pieces.join('')).toBe('Ann\nAnn\n')
    expect(shell.read()).toContain('Ann\nAnn\n')
    expect(shell.read()).toBe('')
    shell.resize(100, 30)
    expect((await shell.execute('stty size')).output).toBe('30 100\n')
    expect((await shell.execute('clear; echo top')).output).toContain('top\n')
    const { columns, rows } = await shell.screen()
    expect([columns, rows.length, rows[0]]).toEqual([100, 30, 'top'])
    shell.clearBuffer()
    expect(shell.readTail()).toBe('')
  })

  it('is interrupted, killed, taken over, forked, reset', async () => {
    const shell = make()
    const stop = new AbortController()
    const running = shell.execute(`bash -c 'trap "" INT; echo deaf; sleep 30; sleep 30'`, { signal: stop.signal })
    await until(shell, () => shell.readTail(1) === 'deaf')
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    await shell.run(`sh -c 'echo napping; exec sleep 100'; here=1`)
    await until(shell, () => shell.readTail(1) === 'napping')
    await shell.interrupt()
    expect((await shell.execute('echo free')).output).toBe('free\n')
    shell.takeOver('ann')
    await expect(shell.write('x')).rejects.toMatchObject({ code: 'writer-taken' })
    await shell.run('here=2', 'ann')
    shell.handBack('ann')
    expect((await shell.execute('echo $here')).output).toBe('2\n')
    const fork = shell.fork('other')
    expect((await fork.execute('echo "<$here>"')).output).toBe('<>\n')
    await fork.stop()
    await shell.reset()
    expect((await shell.execute('echo "<$here>"')).output).toBe('<>\n')
  })

  it('ends with everything that it started, and loses nothing at its end', async () => {
    const shell = make()
    const { output } = await shell.execute(
      `head -1 < <(setsid sh -c 'echo $$; exec sleep 1000'); nohup sleep 1000 >/dev/null 2>&1 & jobs -p`,
    )
    const pids = (output.match(/^\d+$/gm) ?? []).map(Number)
    expect(pids).toHaveLength(2)
    const { pid } = shell.info()
    await shell.stop()
    expect([...pids, pid!].filter(alive)).toEqual([])
    await shell.start()
    const last = await shell.execute('seq 1 3000; echo END; exit 9')
    expect(last).toMatchObject({ rule: 'exit', exitCode: 9 })
    expect(last.output.slice(-20)).toBe('\n2999\n3000\nEND\nexit\n')
    expect(shell.state).toBe('stopped')
  })

  it('knows a shell that was killed', async () => {
    const shell = make()
    await shell.start()
    const dying = shell.execute('kill -9 $$')
    expect(await dying).toMatchObject({ rule: 'exit', exitCode: 137 })
  })

  it.skipIf(!installed('zsh') || !installed('fish'))('is zsh or fish too', async () => {
    for (const command of ['zsh', 'fish']) {
      const shell = make({ command })
      expect(await shell.execute('echo hello; sh -c "exit 3"')).toMatchObject({
        output: 'hello\n',
        exitCode: 3,
        rule: 'marks',
      })
      await shell.stop()
    }
  })
})

describe.skipIf(NO_TMUX !== '')(`a pane in tmux${NO_TMUX}`, () => {
  it('is found again, with its state, its screen and what it printed in between', async () => {
    const dir = project()
    const first = inTmux(dir)
    await first.execute('here=kept; echo before')
    first.resize(90, 20)
    await first.run('sleep 0.3; echo meanwhile')
    const { pid } = first.info()
    await first.detach()
    expect(first.state).toBe('created')
    expect(alive(pid!)).toBe(true)
    const second = inTmux(dir)
    await second.start()
    expect(second.info().pid).toBe(pid)
    expect((await second.execute('echo $here; stty size')).output).toBe('kept\n20 90\n')
    expect(second.readTail(50)).toMatch(/before\n(?:.*\n)+meanwhile\n/)
    expect((await second.screen()).rows.filter((row) => row === 'meanwhile')).toHaveLength(1)
    // The one that let go comes back the same way.
    expect((await first.execute('echo $here')).output).toBe('kept\n')
    await first.detach()
    await second.stop()
    expect(alive(pid!)).toBe(false)
    expect(tmux(dir, 'list-sessions')).toBe('')
  })

  it('may be used by several processes; who lets go in the middle of a command hears that', async () => {
    const dir = project()
    const [one, two] = [inTmux(dir), inTmux(dir)]
    await one.start()
    await two.start()
    expect(two.info().pid).toBe(one.info().pid)
    expect((await one.execute('here=1; echo one')).output).toBe('one\n')
    await until(two, () => two.readTail().includes('\none\n'))
    const running = one.execute('echo napping; sleep 0.3; here=2')
    running.catch(() => undefined)
    await until(two, () => two.readTail(1) === 'napping')
    await one.detach()
    await expect(running).rejects.toMatchObject({ code: 'interrupted' })
    expect((await two.execute('echo $here')).output).toBe('2\n')
  })

  it('keeps of a flood what is last, and marks go on working', async () => {
    const dir = project()
    const first = inTmux(dir)
    await first.start()
    await first.run('seq 1 1200000 | tr 1 x; echo over')
    await first.detach()
    const second = inTmux(dir)
    expect(await second.execute('echo $((1 + 1))')).toMatchObject({ output: '2\n', exitCode: 0, rule: 'marks' })
    expect(second.readTail(3)).toContain('2')
    expect(second.info().marked).toBe(true)
  })

  it('is nobody else’s: another project, another node', async () => {
    const [one, two] = [project(), project()]
    const shells = [inTmux(one), inTmux(two), inTmux(one, 'other'), inTmux(one, 'shell.x'), inTmux(one, 'shell-x')]
    const pids = new Set<number>()
    for (const shell of shells) {
      expect((await shell.execute('echo "<$mine>"; mine=1')).output).toBe('<>\n')
      pids.add(shell.info().pid!)
    }
    expect(pids.size).toBe(shells.length)
  })

  it('is not taken for the node’s when it runs something else, or belongs to somebody else', async () => {
    const dir = project()
    const before = inTmux(dir)
    await before.start()
    await before.detach()
    const changed = inTmux(dir, 'shell', { cwd: '/' })
    await expect(changed.start()).rejects.toMatchObject({ code: 'pane-failed', data: { reason: 'changed' } })
    await changed.reset()
    expect((await changed.execute('pwd')).output).toBe('/\n')
    await changed.detach()
    tmux(dir, 'set-option', '-t', paneIdentity(dir, 'shell').session, '@nerve_owner', 'somebody')
    await expect(changed.start()).rejects.toMatchObject({ code: 'pane-failed', data: { reason: 'owner' } })
  })

  it('is ended when whoever made it died before it was whole, and made anew', async () => {
    const dir = project()
    const { socket, session } = paneIdentity(dir, 'shell')
    spawnSync('tmux', ['-L', socket, '-f', '/dev/null', 'new-session', '-d', '-s', session, '--', 'sleep', '1000'])
    expect((await inTmux(dir).execute('echo new')).output).toBe('new\n')
  })

  it('is interrupted by a process that never used it', async () => {
    const dir = project()
    const before = inTmux(dir)
    await before.start()
    await before.run(`sh -c 'echo napping; exec sleep 100'`)
    await until(before, () => before.readTail(1) === 'napping')
    await before.detach()
    const after = inTmux(dir)
    await after.interrupt()
    expect((await after.execute('echo free')).output).toBe('free\n')
  })

  it('is stopped by a process that never used it', async () => {
    const dir = project()
    const before = inTmux(dir)
    await before.execute('setsid sleep 1000 & disown')
    const { pid } = before.info()
    await before.detach()
    await inTmux(dir).stop()
    expect(alive(pid!)).toBe(false)
    expect(tmux(dir, 'list-sessions')).toBe('')
    expect(existsSync(paneIdentity(dir, 'shell').folder)).toBe(false)
  })

  it('that a person ends is over, and one whose connection is cut is found again', async () => {
    const dir = project()
    const shell = inTmux(dir)
    await shell.execute('here=kept')
    tmux(dir, 'detach-client', '-a', '-s', paneIdentity(dir, 'shell').session)
    tmux(dir, 'detach-client', '-s', paneIdentity(dir, 'shell').session)
    await expect.poll(() => shell.state).toBe('error')
    expect((await shell.execute('echo $here')).output).toBe('kept\n')
    tmux(dir, 'kill-server')
    await expect.poll(() => shell.state).toBe('stopped')
    await expect(shell.execute('echo')).rejects.toMatchObject({ code: 'terminal-ended' })
  })

  it('says what is wrong: its record is deleted, tmux is missing, options that mean nothing', async () => {
    const dir = project()
    const shell = inTmux(dir)
    await shell.start()
    await shell.detach()
    rmSync(paneIdentity(dir, 'shell').folder, { recursive: true })
    await expect(shell.start()).rejects.toMatchObject({ code: 'pane-failed', data: { reason: 'record' } })
    await shell.stop()
    const missing = terminal('none', { in: { mux: 'tmux', project: dir, program: 'no-such-tmux' } })
    await expect(missing.start()).rejects.toMatchObject({ code: 'pane-failed', data: { reason: 'missing' } })
    expect(() => terminal('x', { in: 'screen' as never })).toThrow(NerveError)
    expect(() => terminal('x', { in: { mux: 'tmux', panes: '1' } as never })).toThrow(/did you mean 'pane'/i)
  })

  it('works in a project with any name', async () => {
    const dir = project(`it's #{odd} %d "x" $y`)
    const shell = inTmux(dir)
    await shell.execute('here=1; echo before')
    await shell.detach()
    expect((await shell.execute('echo $here; pwd')).output).toBe(`1\n${dir}\n`)
    expect(shell.readTail(20)).toContain('before\n')
    await shell.stop()
  })
})
