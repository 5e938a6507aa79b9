import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { createHost, workflow, type Node } from 'nerve'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeCall, said } from '../../test/behaviour/shell-stage.ts'
import { bash, quote, type BashOptions, type BashResult } from './bash.ts'

function shell(command: string, options: BashOptions<string> = {}): Promise<BashResult> {
  const { command: _none, ...rest } = options
  return Promise.resolve(bash('shell', rest).execute(command, fakeCall()))
}

function failure(
  command: string,
  options: BashOptions<string> = {},
): Promise<Error & { data: Record<string, unknown> }> {
  return shell(command, options).then(
    () => Promise.reject(new Error('it did not fail')),
    (error: Error & { data: Record<string, unknown> }) => error,
  )
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'nerve-bash-test-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

describe('the result of a command', () => {
  it('has both streams apart, and stderr is no failure', async () => {
    const { durationMs, ...rest } = await shell('echo out; echo err >&2')
    expect(rest).toEqual({ stdout: 'out\n', stderr: 'err\n', exitCode: 0, signal: null })
    expect(durationMs).toBeGreaterThanOrEqual(0)
  })

  it('fails by its exit code, with what it said', async () => {
    const error = await failure('echo almost; echo no such moss >&2; exit 3')
    expect(error).toMatchObject({
      code: 'command-failed',
      retry: 'later',
      message: "The command of bash 'shell' ended with exit code 3. It said last: no such moss",
      data: { reason: 'exit', exitCode: 3, stdout: 'almost\n', stderr: 'no such moss\n' },
    })
  })

  it('takes other exit codes for a success when told', async () => {
    expect(await shell('exit 3', { okCodes: [0, 3] })).toMatchObject({ exitCode: 3 })
    await expect(shell('exit 0', { okCodes: [3] })).rejects.toMatchObject({ code: 'command-failed' })
    expect(await shell('exit 9', { check: false })).toMatchObject({ exitCode: 9 })
  })

  it('says which signal ended it', async () => {
    expect(await failure('kill -USR1 $$')).toMatchObject({
      data: { reason: 'signal', exitCode: null, signal: 'SIGUSR1' },
    })
    expect(await shell('kill -KILL $$', { check: false })).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
  })

  it('has all of the output, also the very end of it', async () => {
    const wanted = Array.from({ length: 30_000 }, (_, index) => `${index + 1}\n`).join('')
    for (let round = 0; round < 5; round += 1) expect((await shell('seq 1 30000')).stdout).toBe(wanted)
  })

  it('waits for what a process substitution still writes', async () => {
    expect((await shell('exec > >(sleep 0.1; cat); echo late')).stdout).toBe('late\n')
  })

  it('holds the end of much output, and a file has all of it', async () => {
    const result = await shell('seq 1 100000; echo oops >&2', { maxOutput: 1_000 })
    expect(result).toMatchObject({ truncated: true, stderr: 'oops\n', exitCode: 0 })
    expect(result.stdout).toHaveLength(1_000)
    expect(result.stdout.endsWith('\n99999\n100000\n')).toBe(true)
    const file = result.spill?.stdout ?? ''
    onTestFinished(() => rmSync(dirname(file), { recursive: true, force: true }))
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(100_001)
    expect(result.spill).not.toHaveProperty('stderr')
  })

  it('leaves no folder behind when nothing was spilled', async () => {
    const spillDir = folder()
    await shell('echo hello; cat', { spillDir, stdin: 'x' })
    await failure('exit 1', { spillDir })
    await failure('exit 1', { spillDir, shell: 'no-such-shell' })
    const { readdirSync } = await import('node:fs')
    expect(readdirSync(spillDir)).toEqual([])
  })
})

describe('what a command reads', () => {
  it('is what it is given, text or bytes', async () => {
    expect((await shell('cat', { stdin: 'moss €' })).stdout).toBe('moss €')
    expect((await shell('od -An -tx1', { stdin: Uint8Array.of(0, 255) })).stdout.trim()).toBe('00 ff')
    const much = 'x'.repeat(3_000_000)
    expect((await shell('wc -c', { stdin: much })).stdout.trim()).toBe('3000000')
    expect((await shell('head -c 3', { stdin: much })).stdout).toBe('xxx')
  })

  it('is nothing by default', async () => {
    expect((await shell('cat; echo end')).stdout).toBe('end\n')
  })

  it('can be opened by name, and so can what it writes to', async () => {
    const { stdout, stderr } = await shell('cat /dev/stdin > /dev/stdout; echo e > /dev/stderr', { stdin: 'in' })
    expect({ stdout, stderr }).toEqual({ stdout: 'in', stderr: 'e\n' })
  })

  it('is made of the input, as the command is', async () => {
    const node = bash('count', {
      command: (one: { word: string }) => `grep -c ${quote(one.word)}`,
      stdin: () => 'a b\na\n',
    })
    expect((await node.execute({ word: 'a b' }, fakeCall())).stdout).toBe('1\n')
  })

  it('is one word when it is quoted, whatever is in it', async () => {
    const echo = bash('echo', { command: (text: string) => `printf %s ${quote(text)}` })
    const text = fc.string({ unit: 'binary' }).filter((one) => !one.includes('\0') && one.isWellFormed())
    await fc.assert(
      fc.asyncProperty(text, async (one) => {
        expect((await echo.execute(one, fakeCall())).stdout).toBe(one)
      }),
      { numRuns: 15, examples: [["it's"], ['$(reboot) `x` "q" \\ \n*']] },
    )
  })
})

describe('the environment of a command', () => {
  it('has only what is allowed and what the node names', async () => {
    process.env['NERVE_TEST_SECRET'] = 'sk-secret'
    process.env['NERVE_TEST_NAMED'] = 'named'
    process.env['LC_TEST'] = 'lc'
    onTestFinished(() => {
      for (const name of ['NERVE_TEST_SECRET', 'NERVE_TEST_NAMED', 'LC_TEST']) delete process.env[name]
    })
    const { stdout } = await shell('env -0', { env: { GIVEN: 'a\nb' }, inherit: ['NERVE_TEST_NAMED', 'NOT_SET'] })
    const names = stdout.split('\0').flatMap((line) => (line === '' ? [] : [line.split('=')[0] ?? '']))
    const allowed =
      /^(PATH|HOME|LANG|LC_.*|TERM|TMPDIR|SHELL|USER|LOGNAME|GIVEN|NERVE_TEST_NAMED|NERVE_TREE|PWD|OLDPWD|SHLVL|_)$/
    expect(names.filter((name) => !allowed.test(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining(['PATH', 'LC_TEST', 'GIVEN', 'NERVE_TEST_NAMED', 'NERVE_TREE']))
    expect(stdout).toContain('GIVEN=a\nb\0')
    expect(stdout).not.toContain('sk-secret')
  })

  it('keeps the mark of a host above this one, which must find everything below', async () => {
    const above = process.env['NERVE_TREE']
    process.env['NERVE_TREE'] = 'above'
    onTestFinished(() => {
      if (above === undefined) delete process.env['NERVE_TREE']
      else process.env['NERVE_TREE'] = above
    })
    expect((await shell('echo $NERVE_TREE')).stdout).toMatch(/^above\.[0-9a-f]{32}\n$/)
  })

  it('runs in its folder, with the shell that was asked for', async () => {
    const cwd = folder()
    expect((await shell('pwd', { cwd })).stdout.trim()).toBe(cwd)
    expect((await shell('echo "${BASH_VERSION:-none}"', { shell: 'sh', env: {} })).exitCode).toBe(0)
    expect((await shell('echo ${BASH_VERSION:+bash}')).stdout).toBe('bash\n')
  })
})

describe('what is wrong is said', () => {
  it('when the command is none', async () => {
    for (const command of ['', '  \n', 'a\0b', undefined, 5]) {
      await expect(shell(command as string)).rejects.toMatchObject({ code: 'bad-input' })
    }
  })

  it('when the folder or the shell is missing', async () => {
    expect(await failure('true', { cwd: '/no/such/folder' })).toMatchObject({
      code: 'command-failed',
      retry: 'never',
      message: '/no/such/folder, in which the command was to run, is not a folder. Make it, or give another cwd.',
      data: { reason: 'cwd' },
    })
    expect(await failure('true', { cwd: '/etc/passwd' })).toMatchObject({ data: { reason: 'cwd' } })
    expect(await failure('true', { shell: 'no-such-shell' })).toMatchObject({ data: { reason: 'shell' } })
    expect(await failure('true', { env: { PATH: '/nowhere' } })).toMatchObject({
      message: expect.stringContaining("'bash' cannot be executed"),
    })
  })

  it('when there is too much of it', async () => {
    const error = await failure('true', { env: { HUGE: 's'.repeat(20_000_000) } })
    expect(error).toMatchObject({ code: 'command-failed', data: { reason: 'too-long' } })
    expect(JSON.stringify(error.message)).not.toContain('ssss')
  })

  it('when a quote is never closed', async () => {
    const error = await failure(`echo "never closed`)
    expect(error.data).toMatchObject({ reason: 'exit', exitCode: 2 })
    expect(error.message).toMatch(/unexpected EOF|syntax error/)
  })

  it('when an option is wrong, before anything runs', () => {
    const wrong: readonly [object, RegExp][] = [
      [{ timeuot: '1s' }, /no option 'timeuot'. Did you mean 'timeout'/],
      [{ command: 5 }, /command must be text/],
      [{ stdin: 5 }, /stdin must be text/],
      [{ timeout: 'soon' }, /not a duration/],
      [{ maxOutput: -1 }, /whole number/],
      [{ maxOutput: 2 ** 40 }, /at most/],
      [{ okCodes: 1 }, /okCodes/],
      [{ background: 'stay' }, /background/],
      [{ env: { 'A=B': 'x' } }, /cannot be the name/],
      [{ env: { NERVE_TREE: 'x' } }, /cannot be the name/],
      [{ env: { A: 5 } }, /env.A must be text/],
      [{ sandbox: 'docker' }, /sandbox is "docker"/],
    ]
    for (const [options, message] of wrong) expect(() => bash('wrong', options)).toThrow(message)
    expect(() => bash('a/b')).toThrow(/not an id/)
  })
})

describe('a bash node', () => {
  it('says what it is, and its copies where they come from', async () => {
    const node = bash('one', { description: 'says one', command: 'echo one' })
    expect(node.info()).toEqual({
      id: 'one',
      kind: 'bash',
      persistent: false,
      description: 'says one',
      abilities: ['interrupt', 'fork'],
    })
    const copy = node.fork?.('two') as Node<unknown, BashResult>
    expect(copy.info()).toMatchObject({ id: 'two', description: 'says one', forkedFrom: 'one' })
    expect(copy.fork?.('three').info()).toMatchObject({ id: 'three', forkedFrom: 'two' })
    expect((await copy.execute(undefined, fakeCall())).stdout).toBe('one\n')
  })

  it('sends what it says while it runs, with whole characters', async () => {
    const call = fakeCall()
    await bash('talk').execute(`printf '\\xe2'; sleep 0.1; printf '\\x82\\xac'; echo e >&2`, call)
    expect(said(call, 'stdout')).toBe('€')
    expect(said(call, 'stderr')).toBe('e\n')
  })

  it('is tried again by the policy of its step, and asks a person after a crash by default', async () => {
    const cwd = folder()
    const flaky = bash('flaky', { cwd, command: 'echo x >> tries; [ "$(wc -l < tries)" -ge 3 ]' })
    expect(flaky.policy).toEqual({ effect: 'once', recordInput: true })
    expect(bash('look', { command: 'ls', effect: 'repeatable' }).policy).toMatchObject({ effect: 'repeatable' })
    const host = await createHost({ store: 'memory' })
    onTestFinished(() => host.close())
    const run = await host.start(workflow('flaky', (ctx) => ctx.run(flaky, undefined, { attempts: 3, backoff: 0 })))
    expect(await run.result()).toMatchObject({ exitCode: 0 })
    expect(readFileSync(join(cwd, 'tries'), 'utf8')).toBe('x\nx\nx\n')
  })
})
