/** Programs inside a terminal: those that wait for input, those that take the whole screen, and people. */
import { describe, expect, it } from 'vitest'
import { folder, installed, open, until } from './open.ts'

describe('a program that waits for input', () => {
  it('is known from the kernel, and gets the next line', async () => {
    const shell = open()
    const asked = await shell.execute('read -p "name? " name')
    expect(asked).toMatchObject({ output: 'name? ', rule: 'kernel' })
    expect(asked.exitCode).toBeUndefined()
    expect(await shell.execute('bob')).toMatchObject({ exitCode: 0, rule: 'marks' })
    expect(await shell.execute('echo $name')).toMatchObject({ output: 'bob\n', rule: 'marks' })
  })

  it('is not taken for one while it works, or reads from a pipe', async () => {
    const shell = open()
    expect(await shell.execute('sleep 1 | cat; echo done')).toMatchObject({
      output: 'done\n',
      exitCode: 0,
      rule: 'marks',
    })
  })

  it('may be all there is in the terminal', async () => {
    const program = 'while read -r line; do case $line in stop) exit 6;; *) echo "got $line";; esac; done'
    const shell = open({ command: 'sh', args: ['-c', program] })
    await shell.start()
    expect(shell.info().marked).toBe(false)
    expect(await shell.execute('one')).toMatchObject({ output: 'got one\n', rule: 'kernel' })
    expect(await shell.execute('stop')).toMatchObject({ exitCode: 6, rule: 'exit' })
  })

  it('may be known by its prompt alone', async () => {
    const script = `process.stdin.on('data', (d) => setTimeout(() => process.stdout.write('you said ' + d + 'app> '), 300)); process.stdout.write('app> ')`
    const shell = open({ command: process.execPath, args: ['-e', script], readyPattern: /^app> $/ })
    const { output, rule } = await shell.execute('hi')
    expect(rule).toBe('stable')
    expect(output).toBe('you said hi\napp> ')
  })

  it('is given up after a while, and goes on', async () => {
    const shell = open()
    const { rule, exitCode, output } = await shell.execute({ line: 'echo up; sleep 1; echo later', timeout: 300 })
    expect({ rule, exitCode, output }).toEqual({ rule: 'timeout', exitCode: undefined, output: 'up\n' })
    // The next command waits for its turn at the prompt.
    expect(await shell.execute('echo next')).toMatchObject({ output: 'next\n', exitCode: 0 })
    expect(shell.readTail()).toContain('later')
  })
})

describe('marks that are switched off', () => {
  it('leave the other rules', async () => {
    const shell = open({ marks: 'off', args: ['--norc', '-i'], env: { PS1: '$ ' } })
    const { output, rule, exitCode } = await shell.execute('echo hi')
    expect(['paste', 'kernel']).toContain(rule)
    expect(output).toContain('hi\n')
    expect(exitCode).toBeUndefined()
  })
})

describe.skipIf(!installed('less'))('less (skipped when it is not installed)', () => {
  it('shows a page, and is left with q', async () => {
    const shell = open({ rows: 10 })
    const shown = await shell.execute('seq 1 100 | less')
    expect(shown.rule).toBe('kernel')
    expect((await shell.screen()).rows.slice(0, 3)).toEqual(['1', '2', '3'])
    await shell.write('q')
    expect(await shell.execute('echo left')).toMatchObject({ output: 'left\n', exitCode: 0 })
  })
})

describe('the screen', () => {
  it('is what a person would see', async () => {
    const shell = open({ cols: 40, rows: 10 })
    await shell.execute("printf '\\033]0;a title\\007'; clear; printf 'top\\n\\033[5;3Hmiddle'; printf '\\033[?25l'")
    const screen = await shell.screen()
    expect(screen.rows).toHaveLength(10)
    expect(screen.rows[0]).toBe('top')
    expect(screen.rows[4]).toMatch(/^ {2}middle/)
    expect(screen).toMatchObject({
      columns: 40,
      title: 'a title',
      alternate: false,
      cursor: { row: 4, visible: false },
    })
  })

  it('has the size that it was given last', async () => {
    const shell = open({ cols: 40, rows: 10 })
    await shell.start()
    shell.resize(100, 30)
    expect((await shell.execute('stty size')).output).toBe('30 100\n')
    expect((await shell.screen()).rows).toHaveLength(30)
    expect(() => shell.resize(0, 30)).toThrow(/cols is 0/)
    await shell.reset()
    expect((await shell.execute('stty size')).output).toBe('30 100\n')
  })

  it('can be left out', async () => {
    const shell = open({ screen: false })
    expect((await shell.execute('echo hi')).output).toBe('hi\n')
    await expect(shell.screen()).rejects.toMatchObject({ code: 'bad-option' })
  })
})

describe('reading', () => {
  it('gives what is new, the last lines, and nothing after it was cleared', async () => {
    const shell = open()
    await shell.execute('echo one')
    expect(shell.read()).toContain('one\n')
    await shell.execute('echo two')
    const fresh = shell.read()
    expect(fresh).toContain('two\n')
    expect(fresh).not.toContain('one')
    expect(shell.readTail(2).split('\n')[0]).toBe('two')
    shell.clearBuffer()
    expect(shell.read()).toBe('')
    expect(shell.readTail()).toBe('')
    expect((await shell.execute('echo three')).output).toBe('three\n')
  })

  it('is live, in pieces', async () => {
    const shell = open()
    const pieces: string[] = []
    const stream = shell.stream('echo one; sleep 0.2; echo two; sh -c "exit 4"')
    let next = await stream.next()
    for (; next.done !== true; next = await stream.next()) pieces.push(next.value)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe('one\ntwo\n')
    expect(next.value).toMatchObject({ output: 'one\ntwo\n', exitCode: 4 })
  })

  it('interrupts the command, when nobody reads on', async () => {
    const shell = open()
    for await (const piece of shell.stream('echo one; sleep 30')) {
      expect(piece).toBe('one\n')
      break
    }
    expect(await shell.execute('echo free')).toMatchObject({ output: 'free\n' })
  })
})

describe('writers', () => {
  it('are one at a time; steps wait until it is handed back', async () => {
    const shell = open()
    await shell.start()
    shell.takeOver('ann')
    expect(shell.info().writer).toBe('ann')
    expect(() => shell.takeOver('bob')).toThrow(/held by ann/)
    expect(() => shell.handBack('bob')).toThrow(/held by ann/)
    await expect(shell.write('x')).rejects.toMatchObject({ code: 'writer-taken', data: { holder: 'ann' } })
    const told: string[] = []
    const waiting = shell.execute('echo after', { emit: (type) => told.push(type) })
    await shell.run('typed_by=ann', 'ann')
    await shell.write('half a li', 'ann')
    await until(shell, () => shell.readTail(1).includes('half a li'))
    expect(told).toEqual(['waiting'])
    shell.handBack('ann')
    // What was typed and not sent is no part of the command.
    expect(await waiting).toMatchObject({ output: 'after\n', exitCode: 0 })
    expect(await shell.execute('echo $typed_by')).toMatchObject({ output: 'ann\n' })
  })

  it('have any number of watchers', async () => {
    const shell = open()
    const heard: string[][] = [[], []]
    const forget = heard.map((list) => shell.watch((part) => list.push(part.type)))
    await shell.execute('echo hi')
    expect(heard[0]).toEqual(heard[1])
    expect(new Set(heard[0])).toEqual(new Set(['state', 'output']))
    for (const one of forget) one()
    const before = heard[0]!.length
    await shell.execute('echo hi')
    expect(heard[0]).toHaveLength(before)
  })
})

describe('commands', () => {
  it('are done one after the other', async () => {
    const shell = open()
    const results = await Promise.all([1, 2, 3].map((number) => shell.execute(`sleep 0.1; echo ${number}`)))
    expect(results.map(({ output }) => output)).toEqual(['1\n', '2\n', '3\n'])
  })

  it('are interrupted when they are aborted, and killed when they do not care', async () => {
    const shell = open()
    const stop = new AbortController()
    const running = shell.execute(`bash -c 'trap "" INT; echo $$; sleep 30; sleep 30'`, { signal: stop.signal })
    await until(shell, () => /^\d+$/m.test(shell.readTail(1)))
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    expect(await shell.execute('echo free')).toMatchObject({ output: 'free\n', exitCode: 0 })
  })

  it('see little of the environment of this process', async () => {
    process.env['TERMINAL_TEST_SECRET'] = 'secret'
    process.env['TERMINAL_TEST_NAMED'] = 'named'
    const shell = open({ inherit: ['TERMINAL_TEST_NAMED'], env: { TERMINAL_TEST_GIVEN: 'given' } })
    const { output } = await shell.execute('env | grep TERMINAL_TEST | sort')
    expect(output).toBe('TERMINAL_TEST_GIVEN=given\nTERMINAL_TEST_NAMED=named\n')
    expect(JSON.stringify(shell.info())).not.toContain('"given"')
    delete process.env['TERMINAL_TEST_SECRET']
    delete process.env['TERMINAL_TEST_NAMED']
  })

  it('are the same in a fork, which has its own state', async () => {
    const place = folder()
    const shell = open({ cwd: place, env: { GIVEN: 'yes' } })
    await shell.execute('here=1; cd /')
    const fork = shell.fork('other')
    expect(fork.info()).toMatchObject({ id: 'other', forkedFrom: shell.id, config: shell.info().config })
    expect((await fork.execute('echo "$here $GIVEN"; pwd')).output).toBe(` yes\n${place}\n`)
    await fork.stop()
    expect((await shell.execute('echo $here')).output).toBe('1\n')
  })
})
