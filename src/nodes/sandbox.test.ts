import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually, fakeCall, forest, sleepTag, sleepers } from '../../test/behaviour/shell-stage.ts'
import { bash, type BashResult } from './bash.ts'
import { bwrapArguments, enterSandbox, type BwrapSandbox, type Mount, type Sandbox } from './sandbox.ts'

/** Why bubblewrap cannot be used here, or nothing. */
async function whyNot(): Promise<string | undefined> {
  try {
    await promisify(execFile)('bwrap', [...bwrapArguments({ cwd: '/', mounts: [], network: false }), '--', 'true'])
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
      { level: 'bwrap', hidden: [''] },
      { level: 'bwrap', readable: [7] },
    ])
      expect(() => bash('wrong', { sandbox: sandbox as Sandbox })).toThrow(/sandbox/)
    for (const list of ['writable', 'hidden', 'readable'])
      for (const path of ['/', '/no/such/path'])
        await expect(inside('true', { level: 'bwrap', [list]: [path] })).rejects.toMatchObject({ code: 'bad-option' })
    await expect(inside('true', { level: 'bwrap' }, '/no/such/folder')).rejects.toMatchObject({
      data: { reason: 'cwd' },
    })
  })
})

describe('the arguments of bwrap', () => {
  it('let nothing through that was not asked for', () => {
    const args = bwrapArguments({ cwd: '/work', mounts: [], network: false }).join(' ')
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
    const mounts: readonly Mount[] = [
      { path: '/tmp/here/out', as: 'writable' },
      { path: '/tmp/here', as: 'readable' },
      { path: '/data', as: 'writable' },
      { path: '/data/keys', as: 'hidden-folder' },
      { path: '/data/keys/public', as: 'readable' },
      { path: '/data/token', as: 'hidden-file' },
    ]
    const args = bwrapArguments({ cwd: '/tmp/here', mounts, network: true }).join(' ')
    expect(args).not.toContain('--unshare-net')
    expect(args.indexOf('--tmpfs /tmp')).toBeLessThan(args.indexOf('--ro-bind /tmp/here /tmp/here'))
    expect(args.indexOf('--ro-bind /tmp/here /tmp/here')).toBeLessThan(
      args.indexOf('--bind /tmp/here/out /tmp/here/out'),
    )
    const order = [
      '--tmpfs /run',
      '--bind /data /data',
      '--tmpfs /data/keys',
      '--ro-bind /data/keys/public /data/keys/public',
      '--remount-ro /data/keys',
    ]
    expect(order.map((one) => args.indexOf(one))).toEqual(
      order.map((one) => args.indexOf(one)).toSorted((a, b) => a - b),
    )
    for (const one of [...order, '--ro-bind /dev/null /data/token']) expect(args).toContain(one)
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

  it('hides what is named, and what lies inside says otherwise', async () => {
    const cwd = folder()
    for (const path of ['keys/public', 'keys/private', 'src']) mkdirSync(join(cwd, path), { recursive: true })
    for (const path of ['token', 'keys/private/id', 'keys/public/id', 'src/code'])
      writeFileSync(join(cwd, path), `secret ${path}`)
    const sandbox: Sandbox = {
      level: 'bwrap',
      writable: ['.'],
      hidden: ['keys', 'token'],
      readable: ['keys/public', 'src'],
    }
    const command = 'cat token keys/*/id; touch made; touch src/made; touch keys/made; rm -f token; ls keys'
    const { stdout, stderr } = await inside(command, sandbox, cwd)
    expect(stdout).toBe('secret keys/public/idpublic\n')
    expect(stderr).toContain('token: Permission denied')
    expect(stderr.match(/Read-only file system/g)).toHaveLength(2)
    expect(readFileSync(join(cwd, 'token'), 'utf8')).toBe('secret token')
    expect(['made', 'src/made', 'keys/made'].map((path) => existsSync(join(cwd, path)))).toEqual([true, false, false])
  })

  it('hides keys, logins and the socket of a host, unless they are asked for', async () => {
    const [home, cwd] = [folder(), folder()]
    for (const path of ['.ssh', '.aws', '.config/gh']) mkdirSync(join(home, path), { recursive: true })
    for (const path of ['.ssh/id', '.aws/credentials', '.config/gh/hosts', '.npmrc', '.gitconfig'])
      writeFileSync(join(home, path), `secret ${path}\n`)
    mkdirSync(join(cwd, '.nerve'))
    const server = createServer().listen(join(cwd, '.nerve', 'nerve.sock'))
    onTestFinished(() => void server.close())
    mkdirSync(join(cwd, 'work'))
    const look = async (sandbox: Omit<BwrapSandbox, 'level'>) => {
      const node = bash('look', {
        cwd: join(cwd, 'work'),
        env: { HOME: home },
        check: false,
        sandbox: { level: 'bwrap', ...sandbox },
      })
      return (
        await node.execute(
          'cd; cat .ssh/* .aws/* .config/gh/* .npmrc .gitconfig; ls -A "$OLDPWD/../.nerve"',
          fakeCall(),
        )
      ).stdout
    }
    expect(await look({})).toBe('secret .gitconfig\n')
    expect(await look({ readable: [join(home, '.aws'), join(home, '.npmrc'), '../.nerve'] })).toBe(
      'secret .aws/credentials\nsecret .npmrc\nsecret .gitconfig\nnerve.sock\n',
    )
    expect(await look({ hidden: [home] })).toBe('')
  })

  it('is not made by a program that it could have left behind itself', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'bwrap'), '#!/bin/sh\ntouch escaped\n', { mode: 0o755 })
    const node = bash('again', {
      cwd,
      env: { PATH: `${cwd}:.:/usr/bin:/bin` },
      sandbox: { level: 'bwrap', writable: ['.'] },
    })
    await node.execute('touch inside', fakeCall())
    expect(['inside', 'escaped'].map((name) => existsSync(join(cwd, name)))).toEqual([true, false])
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
    const cwd = realpathSync(mkdtempSync('/tmp/nerve-sandbox-'))
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
    writeFileSync(join(cwd, 'note'), 'here')
    expect(await inside('cat note; touch no', { level: 'bwrap' }, cwd)).toMatchObject({ stdout: 'here', exitCode: 1 })
  })

  it('starts a program that is installed in /tmp, with what it needs, and shows nothing else there', async () => {
    const project = realpathSync(mkdtempSync('/tmp/nerve-sandbox-'))
    onTestFinished(() => rmSync(project, { recursive: true, force: true }))
    const packages = join(project, 'node_modules')
    for (const path of ['node_modules/tool/bin', 'node_modules/needed', 'scripts/.nerve'])
      mkdirSync(join(project, path), { recursive: true })
    for (const path of ['notes', 'node_modules/needed/note', 'scripts/note', 'scripts/.nerve/tokens.json'])
      writeFileSync(join(project, path), `${path}\n`)
    const look = `#!/bin/sh\ncd '${project}'\ncat notes node_modules/needed/note scripts/note scripts/.nerve/*\n`
    const [tool, script] = [join(packages, 'tool', 'bin', 'tool'), join(project, 'scripts', 'look')]
    for (const file of [tool, script]) writeFileSync(file, look, { mode: 0o755 })
    const seen = async (file: string, ...args: readonly string[]): Promise<string> => {
      const enter = await enterSandbox(
        { level: 'bwrap', hidden: [join(project, 'scripts', '.nerve')] },
        { cwd: '/', env: { PATH: '/usr/bin:/bin' } },
      )
      const { file: bwrap, args: all } = enter({ file, args })
      return promisify(execFile)(bwrap, all).then(
        ({ stdout }) => stdout,
        (error: { stdout: string }) => error.stdout,
      )
    }
    expect(await seen(tool)).toBe('node_modules/needed/note\n')
    expect(await seen('/bin/sh', script)).toBe('scripts/note\n')
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
