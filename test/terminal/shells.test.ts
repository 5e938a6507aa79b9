/** What every marked shell must do. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { terminal, type TerminalNode, type TerminalResult } from 'nerve/terminal'
import { alive, folder, installed, open, until } from './open.ts'

const VI = ['vim', 'vi'].find(installed)

for (const command of ['bash', 'zsh', 'fish'] as const) {
  const missing = !installed(command)
  describe.skipIf(missing)(`${command}${missing ? ' (skipped: it is not installed here)' : ''}`, () => {
    const fish = command === 'fish'
    let shell: TerminalNode
    beforeAll(async () => {
      shell = terminal(`shared-${command}`, { command, cwd: tmpdir(), env: { LC_ALL: 'C.UTF-8' }, timeout: '20s' })
      await shell.start()
    })
    afterAll(() => shell.stop())

    const run = async (line: string): Promise<Omit<TerminalResult, 'durationMs'>> => {
      const { durationMs, ...result } = await shell.execute(line)
      expect(durationMs).toBeGreaterThanOrEqual(0)
      return result
    }
    const ok = (output: string) => ({ output, exitCode: 0, rule: 'marks' })

    it('gives the output exactly, with or without a line break at its end', async () => {
      expect(await run('echo hello')).toEqual(ok('hello\n'))
      expect(await run("printf 'abc'")).toEqual(ok('abc'))
      expect(await run('true')).toEqual(ok(''))
      expect(await run("printf 'a\\tb  \\n\\n'")).toEqual(ok('a\tb  \n\n'))
      expect(await run("printf '\\033[31mred\\033[0m\\n'")).toEqual(ok('red\n'))
    })

    it('gives exit codes', async () => {
      expect(await run("sh -c 'exit 42'")).toEqual({ ...ok(''), exitCode: 42 })
      expect((await run('no-such-command-123')).exitCode).toBe(127)
      const { output, exitCode } = await run('ls /no-such-folder')
      expect(exitCode).toBe(2)
      expect(output).toContain('/no-such-folder')
      expect(await run('false')).toEqual({ ...ok(''), exitCode: 1 })
    })

    it('gives no exit code when nothing ran', async () => {
      expect((await shell.execute('false')).exitCode).toBe(1)
      expect(await run('')).toEqual({ output: '', rule: 'marks' })
      if (fish) return
      const { exitCode, rule } = await run(')')
      expect({ exitCode, rule }).toEqual({ exitCode: undefined, rule: 'marks' })
    })

    it('knows no width: long lines are one line', async () => {
      expect(await run(`printf 'x%.0s' ${fish ? '(seq 300)' : '$(seq 300)'}; echo`)).toEqual(ok(`${'x'.repeat(300)}\n`))
      expect(await run(`echo ${'y'.repeat(300)}`)).toEqual(ok(`${'y'.repeat(300)}\n`))
    })

    it('takes wide characters', async () => {
      expect(await run('echo 你好🚀é')).toEqual(ok('你好🚀é\n'))
      expect(await run(`echo ${'你'.repeat(150)}`)).toEqual(ok(`${'你'.repeat(150)}\n`))
    })

    it('takes several lines as one command', async () => {
      const loop = fish ? 'for i in 1 2 3\n\techo $i\nend' : 'for i in 1 2 3\ndo\n\techo $i\ndone'
      expect(await run(loop)).toEqual(ok('1\n2\n3\n'))
      const two = await run("echo one\nsh -c 'exit 3'")
      expect(two).toEqual({ output: 'one\n', exitCode: 3, rule: 'marks' })
    })

    it('does not lose lines that left the screen', async () => {
      const { output, exitCode } = await shell.execute('seq 1 4000')
      expect(exitCode).toBe(0)
      expect(output).toBe(Array.from({ length: 4_000 }, (_, at) => `${at + 1}\n`).join(''))
    })

    it('leaves out what was cleared', async () => {
      expect(await run('echo before; clear; echo after')).toEqual(ok('after\n'))
    })

    it('keeps its folder and variables from one command to the next', async () => {
      expect(await run('cd /usr')).toEqual(ok(''))
      expect(await run('pwd')).toEqual(ok('/usr\n'))
      await run(fish ? 'set -g kept yes' : 'kept=yes')
      expect(await run('echo $kept')).toEqual(ok('yes\n'))
    })

    it('is interrupted, with 130', async () => {
      const sleeping = shell.execute('sleep 30')
      await until(shell, () => readdirSync('/proc').some((pid) => isSleep(pid, shell.info().pid)))
      await shell.interrupt()
      const { exitCode, rule, durationMs } = await sleeping
      expect({ exitCode, rule }).toEqual({ exitCode: 130, rule: 'marks' })
      expect(durationMs).toBeLessThan(5_000)
      expect(await run('echo on')).toEqual(ok('on\n'))
    })

    it('says that more is wanted, and takes it', async () => {
      expect(await run("echo 'abc")).toEqual({ output: '', rule: 'marks', continuation: true })
      expect(await run("def'")).toEqual(ok('abc\ndef\n'))
    })

    it('may have another shell in it', async () => {
      const outer = open({ command })
      const { rule } = await outer.execute("env PS1='inner$ ' bash --norc -i")
      expect(['paste', 'kernel']).toContain(rule)
      const inner = await outer.execute('echo $((40 + 2))')
      expect(inner.output).toContain('42\n')
      expect(inner.exitCode).toBeUndefined()
      // Marks that the inner shell prints are not those of the outer one.
      await outer.execute(String.raw`printf '\033]133;D;0\007'`)
      expect(await outer.execute('exit 4')).toMatchObject({ exitCode: 4, rule: 'marks' })
      expect(await outer.execute('echo out')).toMatchObject({ output: 'out\n', exitCode: 0, rule: 'marks' })
    })

    it.skipIf(VI === undefined)('may have vim on the whole screen (skipped when it is not installed)', async () => {
      const editing = open({ command, cwd: folder() })
      await editing.start()
      await editing.run(`${VI} -u NONE note.txt`)
      await until(editing, async () => (await editing.screen()).alternate)
      await editing.write('ihello from vim\u001b')
      await until(editing, async () => (await editing.screen()).rows[0] === 'hello from vim')
      await editing.write(':wq\r')
      await until(editing, async () => !(await editing.screen()).alternate)
      expect(await editing.execute('cat note.txt')).toMatchObject({ output: 'hello from vim\n', exitCode: 0 })
      expect(editing.readTail()).not.toMatch(/^~$/m)
    })

    it('is not deceived by marks that a program prints', async () => {
      const forged = String.raw`printf '\033]133;D;0\007\033]133;B\007\033]133;D;0;n=00;k=9\007'; sleep 0.2; echo real; sh -c 'exit 9'`
      expect(await run(forged)).toEqual({ output: 'real\n', exitCode: 9, rule: 'marks' })
    })

    it('is not deceived by its own log, printed again', async () => {
      const own = open({ command, log: folder() })
      await own.execute('echo one')
      const { log } = own.info()
      expect(readFileSync(log!, 'latin1')).toContain('133;D;0')
      const { output, exitCode, rule } = await own.execute(`cat '${log}'; sleep 0.2; echo last; sh -c 'exit 7'`)
      expect({ exitCode, rule }).toEqual({ exitCode: 7, rule: 'marks' })
      expect(output.endsWith('last\n')).toBe(true)
    })

    it('reads a file of the person first, and survives a prompt of their own', async () => {
      const rc = join(folder(), 'rc')
      writeFileSync(rc, fish ? 'set -g from_rc yes\n' : "from_rc=yes\nPS1='mine> '\n")
      const own = open({ command, rc })
      expect((await own.execute('echo $from_rc')).output).toBe('yes\n')
      if (!fish) await own.execute("PS1='other> '")
      expect(await own.execute("sh -c 'exit 5'")).toMatchObject({ exitCode: 5, rule: 'marks' })
    })

    it('tells how it ended, when it is told to end', async () => {
      const own = open({ command })
      const { output, exitCode, rule } = await own.execute('echo bye; exit 3')
      expect({ exitCode, rule, said: output.startsWith('bye\n') }).toEqual({ exitCode: 3, rule: 'exit', said: true })
      await expect(own.execute('echo more')).rejects.toMatchObject({ code: 'terminal-ended', data: { exitCode: 3 } })
      await own.reset()
      expect((await own.execute('echo again')).output).toBe('again\n')
      const { pid } = own.info()
      await own.stop()
      expect(alive(pid!)).toBe(false)
    })
  })
}

/** Whether it is a `sleep` in this session. */
function isSleep(pid: string, session: number | undefined): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.includes('(sleep)') && text.slice(text.lastIndexOf(')') + 2).split(' ')[3] === String(session)
  } catch {
    return false
  }
}
