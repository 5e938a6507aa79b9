import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually, fakeCall, forest, sleepTag, sleepers } from '../../test/behaviour/shell-stage.ts'
import { bash, type BashResult } from './bash.ts'
import { bwrapArguments, type Sandbox } from './sandbox.ts'

/** Why bubblewrap cannot be used here, or nothing. */
async function whyNot(): Promise<string | undefined> {
  try {
    await promisify(execFile)('bwrap', [...bwrapArguments({ cwd: '/', writable: [], network: false }), '--', 'true'])
    return undefined
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string }
    return code === 'ENOENT' ? 'bwrap is not installed' : `bwrap cannot run here: ${String(stderr).trim()}`
  }
}

const reason = await whyNot()
if (reason !== undefined) console.warn(`\n!! the real sandbox is NOT tested: ${reason}\n`)

function folder(): string {
  // Not in /tmp: that is another one inside.
  const made = realpathSync(mkdtempSync(join(homedir(), '.nerve-sandbox-')))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function inside(command: string, sandbox: Sandbox, cwd = '/'): Promise<BashResult> {
  return Promise.resolve(bash('inside', { sandbox, cwd, check: false, grace: '300ms' }).execute(command, fakeCall()))
}

describe('a sandbox that is not there', () => {
  it('is an error that says how to get it, and nothing runs', async () => {
    const cwd = folder()
    const node = bash('closed', { cwd, env: { PATH: '/nowhere' }, sandbox: { level: 'bwrap', writable: ['.'] } })
    await expect(node.execute('/bin/touch made', fakeCall())).rejects.toMatchObject({
      code: 'sandbox-missing',
      retry: 'never',
      message: expect.stringContaining('apt-get install bubblewrap'),
    })
    expect(existsSync(join(cwd, 'made'))).toBe(false)
  })

  it('is an error too when it cannot be made', async () => {
    const bin = folder()
    writeFileSync(join(bin, 'bwrap'), '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n', {
      mode: 0o755,
    })
    const node = bash('closed', { cwd: bin, env: { PATH: `${bin}:/usr/bin:/bin` }, sandbox: { level: 'bwrap' } })
    await expect(node.execute('true', fakeCall())).rejects.toMatchObject({
      code: 'sandbox-missing',
      message: expect.stringContaining('No permissions to create new namespace'),
    })
  })

  it('is refused when it is none', async () => {
    for (const sandbox of [
      'bwrap',
      { level: 'docker' },
      { level: 'bwrap', net: true },
      { level: 'bwrap', network: 'no' },
      { level: 'bwrap', writable: '/x' },
    ])
      expect(() => bash('wrong', { sandbox: sandbox as Sandbox })).toThrow(/sandbox/)
    for (const writable of [['/'], ['/no/such/path']])
      await expect(inside('true', { level: 'bwrap', writable })).rejects.toMatchObject({ code: 'bad-option' })
    await expect(inside('true', { level: 'bwrap' }, '/no/such/folder')).rejects.toMatchObject({
      data: { reason: 'cwd' },
    })
  })
})

describe('the arguments of bwrap', () => {
  it('let nothing through that was not asked for', () => {
    const args = bwrapArguments({ cwd: '/work', writable: [], network: false }).join(' ')
    for (const part of [
      '--die-with-parent',
      '--new-session',
      '--unshare-pid',
      '--unshare-net',
      '--cap-drop ALL',
      '--ro-bind / /',
      '--proc /proc',
      '--tmpfs /tmp',
      '--tmpfs /run',
      '--chdir /work',
    ])
      expect(args).toContain(part)
    expect(args).not.toMatch(/ --bind /)
  })

  it('open what was asked for, over what lies below', () => {
    const args = bwrapArguments({ cwd: '/tmp/here', writable: ['/tmp/here/out', '/data'], network: true }).join(' ')
    expect(args).not.toContain('--unshare-net')
    expect(args.indexOf('--tmpfs /tmp')).toBeLessThan(args.indexOf('--ro-bind /tmp/here /tmp/here'))
    expect(args.indexOf('--ro-bind /tmp/here /tmp/here')).toBeLessThan(
      args.indexOf('--bind /tmp/here/out /tmp/here/out'),
    )
    expect(args).toContain('--bind /data /data')
    expect(bwrapArguments({ cwd: '/tmpfoo', writable: [], network: false })).not.toContain('/tmpfoo --ro-bind')
  })
})

// Where it cannot run, the lines above say so in the output of the tests.
describe.skipIf(reason !== undefined)('the real bwrap', () => {
  it('can be read from and written to only where it may', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'out'))
    const own = `/tmp/nerve-own-${process.pid}`
    const command = `cat /etc/passwd >/dev/null && touch out/yes ${own} && test -f ${own}; touch no /etc/no`
    const result = await inside(command, { level: 'bwrap', writable: ['out'] }, cwd)
    expect(existsSync(join(cwd, 'out', 'yes'))).toBe(true)
    expect([join(cwd, 'no'), '/etc/no', own].map((path) => existsSync(path))).toEqual([false, false, false])
    expect(result.stderr.match(/Read-only file system/g)).toHaveLength(2)
  })

  it('shows no other process', async () => {
    const { stdout } = await inside('ls /proc | grep -c "^[0-9]"; cat /proc/[0-9]*/cmdline | tr "\\0" "\\n"', {
      level: 'bwrap',
    })
    expect(Number(stdout.split('\n')[0])).toBeLessThan(10)
    expect(stdout).not.toContain('vitest')
    expect(existsSync(`/proc/${process.pid}`)).toBe(true)
    expect((await inside(`kill -0 ${process.pid}`, { level: 'bwrap' })).exitCode).not.toBe(0)
  })

  it('has no network unless it was asked for', async () => {
    const server = createServer((socket) => socket.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const connect = `exec 3<>/dev/tcp/127.0.0.1/${(server.address() as AddressInfo).port}`
    expect((await inside(connect, { level: 'bwrap' })).exitCode).not.toBe(0)
    expect((await inside(connect, { level: 'bwrap', network: true })).exitCode).toBe(0)
  })

  it('runs in a folder in /tmp, which can be read there', async () => {
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'nerve-sandbox-')))
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
    writeFileSync(join(cwd, 'note'), 'here')
    expect(await inside('cat note; touch no', { level: 'bwrap' }, cwd)).toMatchObject({ stdout: 'here', exitCode: 1 })
  })

  it('lets nothing escape when it is stopped', async () => {
    const tag = sleepTag()
    const { command, size } = escapes(tag)
    const stop = new AbortController()
    const node = bash('forest', { sandbox: { level: 'bwrap' }, cwd: '/', grace: '300ms' })
    const ended = Promise.resolve(node.execute(command, fakeCall(stop.signal)))
    await eventually(() => sleepers(tag).length === size, 'all of them sleep')
    stop.abort(new Error('enough'))
    await expect(ended).rejects.toThrow('enough')
    expect(sleepers(tag)).toEqual([])
  })

  it('lets nothing escape when the host is killed', async () => {
    const tag = sleepTag()
    const { command, size } = escapes(tag)
    const worker = fileURLToPath(new URL('../../test/behaviour/bash-host-worker.ts', import.meta.url))
    const args = ['--conditions=nerve-source', worker, command, 'bwrap']
    const host = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 2] })
    onTestFinished(() => void host.kill('SIGKILL'))
    await eventually(() => sleepers(tag).length === size, 'all of them sleep')
    host.kill('SIGKILL')
    await eventually(() => sleepers(tag).length === 0, 'all of them have ended')
    expect(sleepers(tag)).toEqual([])
  })
})

/** With one more that only a sandbox holds: without its environment, its session and its parent. */
function escapes(tag: string): { readonly command: string; readonly size: number } {
  const { command, size } = forest(tag)
  return { command: `(env -i setsid sh -c 'sleep ${tag} & exit' &)\n${command}`, size: size + 1 }
}
