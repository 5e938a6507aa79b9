/** A tmux pane outlives its host: what runs in it runs once, and its result reaches the run. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHost } from 'nerve'
import { describe, expect, it, onTestFinished } from 'vitest'
import { alive } from '../open.ts'
import { deployFlow } from './deploy-flow.ts'
import { NO_TMUX, inTmux, project, tmux } from './pane-stage.ts'

/** A project whose host was killed with -9 while its command ran in the pane. */
async function killedHost(): Promise<string> {
  const dir = project()
  const worker = fileURLToPath(new URL('deploy-worker.ts', import.meta.url))
  const host = spawn(process.execPath, ['--conditions=nerve-source', worker, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void host.kill('SIGKILL'))
  await once(host.stdout, 'data')
  host.kill('SIGKILL')
  await once(host, 'exit')
  return dir
}

async function recovered(dir: string) {
  const { shell, deploy } = deployFlow(dir)
  onTestFinished(() => shell.stop())
  const host = await createHost({ dir, definitions: [deploy] })
  onTestFinished(() => host.close())
  const [row] = await host.runs()
  return { shell, host, run: await host.handle(row!.run) }
}

const EXACT = { output: 'begun here\ndone\n', exitCode: 7, rule: 'marks', after: 'still here\n' }

describe.skipIf(NO_TMUX !== '')(`a command in flight when its host is killed${NO_TMUX}`, () => {
  it('is waited for, and not typed again', async () => {
    const dir = await killedHost()
    const { run, shell } = await recovered(dir)
    await expect.poll(() => shell.state).toBe('busy')
    writeFileSync(join(dir, 'go'), '')
    expect(await run.result()).toEqual(EXACT)
    expect(readFileSync(join(dir, 'ran'), 'utf8')).toBe('once\n')
  })

  it('may end while there is no host: its output and exit code are known', async () => {
    const dir = await killedHost()
    writeFileSync(join(dir, 'go'), '')
    await expect.poll(() => existsSync(join(dir, 'ran'))).toBe(true)
    const { run } = await recovered(dir)
    expect(await run.result()).toEqual(EXACT)
    expect(readFileSync(join(dir, 'ran'), 'utf8')).toBe('once\n')
  })

  it('fails the step when the pane is gone too: nobody knows how far it came', async () => {
    const dir = await killedHost()
    // Who kills the server leaves the loop of an interactive shell running: nobody hangs up on that.
    const shells = spawnSync('pgrep', ['-P', tmux(dir, 'list-panes', '-a', '-F', '#{pane_pid}')], { encoding: 'utf8' })
    tmux(dir, 'kill-server')
    for (const pid of shells.stdout.trim().split('\n')) process.kill(Number(pid), 'SIGKILL')
    const { run } = await recovered(dir)
    await expect(run.result()).rejects.toMatchObject({ cause: { code: 'interrupted', data: { reason: 'in-flight' } } })
    expect(existsSync(join(dir, 'ran'))).toBe(false)
  })
})

describe.skipIf(NO_TMUX !== '')(`a step that resumes${NO_TMUX}`, () => {
  const step = { key: 'run/deploy', attempt: 1 }

  it('types its command, when it had not come to that', async () => {
    const dir = project()
    const before = inTmux(dir)
    await before.execute('echo one', { key: 'run/other', attempt: 1 })
    await before.detach()
    const after = inTmux(dir)
    expect(await after.execute('echo two', { ...step, resumed: true })).toMatchObject({ output: 'two\n', exitCode: 0 })
  })

  it('gets the result of its own command, also when others came after it', async () => {
    const dir = project()
    const before = inTmux(dir)
    await before.execute('echo mine >>log; echo mine; false', step)
    await before.execute('echo other')
    await before.detach()
    const after = inTmux(dir)
    const found = await after.execute('echo mine >>log; echo mine; false', { ...step, resumed: true })
    expect(found).toMatchObject({ output: 'mine\n', exitCode: 1, rule: 'marks' })
    expect(readFileSync(join(dir, 'log'), 'utf8')).toBe('mine\n')
    expect(await after.execute('echo on')).toMatchObject({ output: 'on\n' })
  })

  it('gets the end of a shell that its command ended', async () => {
    const dir = project()
    const before = inTmux(dir)
    const pid = Number((await before.execute('echo $$')).output)
    void before.execute('echo last; sleep 0.3; exit 5', step).catch(() => undefined)
    await expect.poll(() => before.readTail()).toContain('\nlast')
    await before.detach()
    await expect.poll(() => alive(pid)).toBe(false)
    const after = inTmux(dir)
    const found = await after.execute('echo last; sleep 0.3; exit 5', { ...step, resumed: true })
    expect(found).toMatchObject({ output: 'last\nexit\n', exitCode: 5, rule: 'exit' })
    await expect(after.execute('echo')).rejects.toMatchObject({ code: 'terminal-ended' })
    await after.reset()
    expect(await after.execute('echo new')).toMatchObject({ output: 'new\n' })
  })

  it('does not guess what became of input for a program', async () => {
    const dir = project()
    const before = inTmux(dir)
    await before.execute('read -p "name? " name')
    await before.execute('Ann', step)
    await before.detach()
    const after = inTmux(dir)
    await expect(after.execute('Ann', { ...step, resumed: true })).rejects.toMatchObject({ code: 'interrupted' })
  })
})
