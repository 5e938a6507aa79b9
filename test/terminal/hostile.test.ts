/** What goes wrong, and what means harm: each has a clear result, and nothing is left. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loaded } from '../../src/nodes/terminal/load-packages.ts'
import { terminal } from 'nerve/terminal'
import { alive, folder, installed, open, until } from './open.ts'

describe('a start that cannot be', () => {
  it('names the program that is missing', async () => {
    const shell = open({ command: 'no-such-program-1' })
    await expect(shell.start()).rejects.toMatchObject({ code: 'command-failed', data: { reason: 'program' } })
    expect(shell.state).toBe('error')
    await shell.stop()
  })

  it('names the folder that has vanished', async () => {
    const cwd = folder()
    const shell = open({ cwd })
    await shell.start()
    rmSync(cwd, { recursive: true })
    expect((await shell.execute('echo still here')).output).toBe('still here\n')
    await expect(shell.reset()).rejects.toMatchObject({ code: 'command-failed', data: { reason: 'cwd' } })
  })

  it('tells what a shell said that ended at once', async () => {
    const shell = open({ command: 'sh', args: ['-c', 'echo bad luck; exit 3'] })
    await expect(shell.start()).rejects.toMatchObject({
      code: 'terminal-ended',
      message: expect.stringContaining('bad luck'),
      data: { exitCode: 3 },
    })
  })

  it('does not wait for ever for a prompt', async () => {
    const rc = join(folder(), 'rc')
    writeFileSync(rc, 'echo stuck; sleep 100\n')
    const shell = open({ rc, startTimeout: 500 })
    await expect(shell.start()).rejects.toMatchObject({ code: 'timeout', message: expect.stringContaining('stuck') })
  })

  it('says how to install what is missing', async () => {
    const load = (): Promise<never> => Promise.reject(new Error('Cannot find package'))
    await expect(loaded('@lydell/node-pty', load)).rejects.toMatchObject({
      code: 'package-missing',
      message: expect.stringContaining('npm install @lydell/node-pty@1.1.0 @xterm/headless@6.0.0'),
    })
  })

  it('is refused for options that are wrong', () => {
    expect(() => terminal('a/b')).toThrow(/not an id/)
    expect(() => terminal('a', { colls: 3 } as never)).toThrow(/Did you mean 'cols'/)
    expect(() => terminal('a', { cols: 1.5 })).toThrow(/cols is 1.5/)
    expect(() => terminal('a', { marks: 'on' as never })).toThrow(/'auto' or 'off'/)
    expect(() => terminal('a', { timeout: 'soon' })).toThrow(/not a duration/)
  })
})

describe('output', () => {
  it('that is no UTF-8 is shown as such, and kept as it is', async () => {
    const shell = open({ log: folder() })
    const { output } = await shell.execute(String.raw`printf 'a\xff\xfeb\n'`)
    expect(output).toBe('a\ufffd\ufffdb\n')
    const raw = readFileSync(shell.info().log!)
    expect(raw.includes(Buffer.from([0x61, 0xff, 0xfe, 0x62]))).toBe(true)
  })

  it.each(['bash', 'zsh', 'fish'].filter(installed))(
    'cannot type into %s: queries get no answer that counts',
    async (command) => {
      const shell = open({ command })
      const queries = String.raw`printf '\033[c\033[6n\033[5n\033[>c\033[21t\033]10;?\007\033P$qm\033\\\033]0;rm -rf x\007'; sleep 0.3`
      expect(await shell.execute(queries)).toMatchObject({ exitCode: 0, rule: 'marks' })
      expect(await shell.execute('echo clean')).toMatchObject({ output: 'clean\n', exitCode: 0 })
      if (command === 'bash')
        expect(await shell.execute('read -t 0.05 -n 1 answer; echo "[$answer]"')).toMatchObject({ output: '[]\n' })
    },
  )

  it('gets the two harmless answers when that was asked for', async () => {
    const shell = open({ answers: true })
    const ask = String.raw`IFS= read -rs -d c -p "$(printf '\033[c')" answer; printf '%q\n' "$answer"`
    expect((await shell.execute(ask)).output).toContain(String.raw`$'\E[?1;2'`)
  })

  it('without an end is bounded in memory, and Ctrl-C is not kept waiting by it', { timeout: 60_000 }, async () => {
    const shell = open({ maxOutput: 100_000, timeout: '50s', log: folder(), logLimit: 4_000_000 })
    await shell.start()
    const before = process.memoryUsage().rss
    const flood = shell.execute('yes "a line of output that never ends"')
    let bytes = 0
    const forget = shell.watch((part) => {
      if (part.type === 'output') bytes += part.text.length
    })
    await until(shell, () => bytes > 20_000_000, 25_000)
    const atOnce = bytes
    await shell.interrupt()
    const { output, exitCode, rule, dropped } = await flood
    forget()
    // No more than was on its way came before the answer: nothing waits in line behind the flood.
    expect(bytes - atOnce).toBeLessThan(1_000_000)
    expect({ exitCode, rule }).toEqual({ exitCode: 130, rule: 'marks' })
    expect(output.length).toBeLessThan(130_000)
    expect(dropped).toBeGreaterThan(10_000_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
    const files = readdirSync(join(shell.info().log!, '..'))
    expect(files.toSorted()).toEqual([`${shell.id}.log`, `${shell.id}.log.1`])
  })

  it('may be one line of a hundred million characters', { timeout: 120_000 }, async () => {
    const shell = open({ maxOutput: 1_000, timeout: '100s' })
    await shell.start()
    const before = process.memoryUsage().rss
    let most = 0
    shell.watch(() => {
      most = Math.max(most, process.memoryUsage.rss() - before)
    })
    const { output, dropped, exitCode } = await shell.execute("head -c 100000000 /dev/zero | tr '\\0' x; echo end")
    expect(exitCode).toBe(0)
    expect(output.endsWith('xend\n')).toBe(true)
    expect(output.length + dropped!).toBe(100_000_004)
    expect(most).toBeLessThan(150_000_000)
    expect((await shell.screen()).rows.some((row) => row.endsWith('xend'))).toBe(true)
  })

  it('that is no text at all harms nothing', async () => {
    const place = folder()
    writeFileSync(join(place, 'binary'), noise(1_000_000))
    const shell = open({ cwd: place, log: folder() })
    const { exitCode, rule } = await shell.execute("cat binary; sh -c 'exit 7'")
    expect({ exitCode, rule }).toEqual({ exitCode: 7, rule: 'marks' })
    expect(await shell.execute('echo on')).toMatchObject({ output: 'on\n', exitCode: 0 })
  })

  it('that ends in the middle of something harms nothing', async () => {
    const shell = open()
    const ends = [
      '\\033]0;open',
      '\\033Popen',
      '\\033_open',
      '\\033[1;2',
      '\\033',
      '\\xf0\\x9f',
      '\\x9d',
      '\\xc2\\x9d',
      '\\016',
      '\\r',
    ]
    for (const end of ends) {
      const { exitCode, rule } = await shell.execute(`printf 'x${end}'; sh -c 'exit 7'`)
      expect({ end, exitCode, rule }).toEqual({ end, exitCode: 7, rule: 'marks' })
      expect(await shell.execute('echo on')).toMatchObject({ output: 'on\n', exitCode: 0 })
    }
  })

  it('sets a title, and no more than that', async () => {
    const shell = open()
    await shell.execute(String.raw`printf '\033]0;%s\007' "$(head -c 3000 /dev/zero | tr '\0' t)"`)
    expect((await shell.screen()).title).toBe('t'.repeat(500))
    // A title that was set cannot come back as input.
    expect(await shell.execute(String.raw`printf '\033]2;touch pwned\007\033[21t'; sleep 0.1`)).toMatchObject({
      exitCode: 0,
    })
    expect(await shell.execute('ls pwned')).toMatchObject({ exitCode: 2 })
  })

  it('is there to the last byte when the program ends', async () => {
    for (let round = 0; round < 10; round += 1) {
      const shell = open({ command: 'bash', args: ['-c', 'read -r go; seq 1 3000; echo END'] })
      const { output, rule } = await shell.execute('go')
      expect(rule).toBe('exit')
      expect(output.endsWith('2999\n3000\nEND\n')).toBe(true)
      expect(output.split('\n')).toHaveLength(3_002)
      await shell.stop()
    }
  })
})

/** Bytes without any order, the same each time. */
function noise(size: number): Buffer {
  let state = 1
  return Buffer.from(
    Array.from({ length: size }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return state >> 16
    }),
  )
}

describe('stop', () => {
  it('ends everything that was started, also what left the session', async () => {
    const shell = open()
    const { output } = await shell.execute(
      "head -1 < <(setsid sh -c 'echo $$; exec sleep 1000'); head -1 < <(setsid sh -c 'trap : HUP TERM; echo $$; while sleep 1; do :; done'); nohup sleep 1000 >/dev/null 2>&1 & jobs -p; echo ok",
    )
    const pids = [shell.info().pid!, ...(output.match(/^\d+$/gm) ?? []).map(Number)]
    expect(pids).toHaveLength(4)
    expect(pids.filter(alive)).toEqual(pids)
    await shell.stop()
    expect(pids.filter(alive)).toEqual([])
    expect(shell.state).toBe('stopped')
    await shell.stop()
    await expect(shell.execute('echo')).rejects.toMatchObject({ code: 'terminal-ended' })
    expect(shell.readTail()).toContain('ok')
  })

  it('also ends a command in flight', async () => {
    const shell = open()
    await shell.start()
    const running = shell.execute('sleep 1000')
    await until(shell, () => shell.readTail(1).includes('sleep'))
    await shell.stop()
    expect((await running).rule).toBe('exit')
  })

  it('leaves no file of the shell', async () => {
    const tmp = folder()
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = tmp
    const shell = open()
    await shell.start()
    process.env['TMPDIR'] = before
    if (before === undefined) delete process.env['TMPDIR']
    expect(readdirSync(tmp)).toEqual([])
    await shell.stop()
    expect(existsSync(tmp)).toBe(true)
  })
})

describe('a host that is killed', () => {
  it('leaves no process of its terminals', async () => {
    const worker = fileURLToPath(new URL('killed-host.ts', import.meta.url))
    const host = spawn(process.execPath, ['--conditions=nerve-source', worker], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void host.kill('SIGKILL'))
    const [line] = (await once(host.stdout.setEncoding('utf8'), 'data')) as [string]
    const pids = JSON.parse(line) as number[]
    expect(pids).toHaveLength(3)
    expect(pids.every(alive)).toBe(true)
    host.kill('SIGKILL')
    await expect.poll(() => pids.filter(alive), { timeout: 10_000 }).toEqual([])
  })
})
