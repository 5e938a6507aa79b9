/** `nerve node …`: nodes that are recorded in a session, and used by one process after the other. */
import { afterEach, describe, expect, test } from 'vitest'
import { keyNamed } from '../../src/surfaces/cli/keys.ts'
import { jsonLines, project, type Project } from './nerve.ts'

let here: Project
afterEach(() => here.remove())

const open = (files: Readonly<Record<string, string>> = {}): Project => (here = project(files))
const WAITS = 'echo begun; until [ -e go ]; do sleep 0.05; done; echo over'

async function created(...nodes: readonly (readonly string[])[]): Promise<Project> {
  const { nerve } = open()
  for (const args of nodes) expect(await nerve(['node', 'create', ...args])).toMatchObject({ code: 0, err: '' })
  return here
}

describe('nodes of the command line', () => {
  test('are created, executed, listed, shown, copied and removed', async () => {
    const { nerve, dir } = await created(['sh', '--kind', 'bash', '--timeout', '20s'])
    expect(await nerve(['node', 'execute', 'sh', 'echo 42; echo no >&2; pwd'])).toEqual({
      code: 0,
      out: `42\n${dir}\n`,
      err: 'no\n',
    })
    const json = JSON.parse((await nerve(['node', 'execute', 'sh', '--json', '--', 'echo 42'])).out)
    expect(json).toMatchObject({ session: 'default', node: 'sh', output: { stdout: '42\n', exitCode: 0 } })
    const rows = JSON.parse((await nerve(['ps', '--json'])).out)
    expect(rows).toMatchObject([{ run: json.run, definition: 'default:send', status: 'completed' }, {}])

    expect((await nerve(['node', 'fork', 'sh'])).out).toContain('sh-fork-1')
    expect((await nerve(['node', 'fork', 'sh-fork-1', 'third'])).code).toBe(0)
    expect(JSON.parse((await nerve(['node', 'forks', '--json'])).out)).toMatchObject([
      { name: 'sh', forks: [{ name: 'sh-fork-1', forks: [{ name: 'third', forkedFrom: 'sh-fork-1', depth: 2 }] }] },
    ])
    expect((await nerve(['node', 'forks'])).out).toMatch(/^sh {2}bash\n {2}sh-fork-1.*\n {4}third/)
    expect((await nerve(['node', 'execute', 'third', 'echo copy'])).out).toBe('copy\n')

    expect(JSON.parse((await nerve(['node', 'show', 'sh', '--json'])).out)).toMatchObject({
      name: 'sh',
      session: 'default',
      config: { kind: 'bash', cwd: dir, timeout: '20s' },
    })
    expect((await nerve(['node', 'remove', 'third'])).code).toBe(0)
    expect((await nerve(['node', 'list'])).out).toMatch(/^NAME .*\nsh .*\nsh-fork-1 .*copy of sh\n$/)
  })

  test('write their history', async () => {
    const { nerve } = await created(['sh', '--kind', 'bash'])
    for (const line of ['echo one', 'exit 3']) await nerve(['node', 'execute', 'sh', line])
    const lines = jsonLines((await nerve(['node', 'history', 'sh', '--json'])).out)
    expect(lines).toMatchObject([
      { seq: 1, operation: 'send', input: 'echo one' },
      { seq: 2, operation: 'stream', of: 1, buffer: 'one\n' },
      { seq: 3, operation: 'send', input: 'exit 3' },
      { seq: 4, operation: 'send', of: 3, error: { code: 'command-failed' } },
    ])
    const inputs = await nerve(['node', 'history', 'sh', '--inputs', '--last', '1', '--since', '1h'])
    expect(inputs.out).toMatch(/^ {4}3 {2}\S+ {2}send {7}> exit 3\n$/)
    expect((await nerve(['node', 'history', 'sh', '--operation', 'writ'])).code).toBe(2)
    expect((await nerve(['node', 'history', 'sh', '--since', 'soon'])).code).toBe(2)
  })

  test('that fail end with 1; values are JSON, and stay so', async () => {
    const { nerve } = await created(['same', '--kind', 'identity'], ['bad', '--kind', 'bash', '--command', 'exit 3'])
    expect((await nerve(['node', 'execute', 'same', '{"a":1}', '--json'])).out).toContain('"output":{"a":1}')
    expect((await nerve(['node', 'execute', 'same', '-'], { input: 'two\nlines\n' })).out).toBe('two\nlines\n')
    const bad = await nerve(['node', 'execute', 'bad'])
    expect(bad).toMatchObject({ code: 1, out: '' })
    expect(bad.err).toContain('ended with exit code 3')
  })

  test('are known by name to what `nerve run` starts', async () => {
    const { nerve, write } = await created(['sh', '--kind', 'bash'], ['t', '--kind', 'terminal', '--command', 'bash'])
    write(
      'flow.ts',
      `import { workflow } from 'nerve'
      export default workflow('flow', async (ctx) => [await ctx.run('sh', 'echo 1'), await ctx.run('t', 'echo 2')])`,
    )
    const { code, out } = await nerve(['run', 'flow.ts', '--json'])
    expect(code).toBe(0)
    expect(jsonLines(out).at(-1).output).toMatchObject([{ stdout: '1\n' }, { output: '2\n', exitCode: 0 }])
  })

  test('are made again by whoever takes up their run after kill -9', async () => {
    const { nerve, start, write } = await created([
      ...['hang', '--kind', 'bash', '--command', WAITS, '--set', 'effect=repeatable'],
    ])
    const { child, shown, ended } = start(['node', 'execute', 'hang'])
    await shown('begun')
    child.kill('SIGKILL')
    await ended
    write('go', '')
    const { code, out } = await nerve(['resume', '--all', '--json'])
    expect(code).toBe(0)
    expect(jsonLines(out).at(-1)).toMatchObject({ status: 'completed', output: { stdout: 'begun\nover\n' } })
    expect((await nerve(['node', 'history', 'hang', '--json'])).out).toContain('begun\\nover')
  })

  test('are interrupted from another process, and by Ctrl-C', async () => {
    const { nerve, start } = await created(['hang', '--kind', 'bash', '--command', WAITS])
    expect((await nerve(['node', 'interrupt', 'hang'])).out).toContain('Nothing runs')
    for (const how of ['command', 'signal']) {
      const { child, shown, ended } = start(['node', 'execute', 'hang'])
      await shown('begun')
      if (how === 'signal') child.kill('SIGINT')
      else expect(await nerve(['node', 'interrupt', 'hang'])).toMatchObject({ code: 0 })
      const { code, err } = await ended
      expect(code).toBe(1)
      expect(err).toContain('interrupted')
    }
  })

  test('go on when nobody reads what they say', async () => {
    const { nerve, start, write } = await created(['loud', '--kind', 'bash', '--command', `${WAITS}; echo err >&2`])
    const { child, shown } = start(['node', 'execute', 'loud'])
    await shown('begun')
    child.stderr?.destroy()
    child.stdout?.destroy()
    write('go', '')
    const code = await new Promise((resolve) => child.once('exit', resolve))
    expect(code).toBe(0)
    expect(JSON.parse((await nerve(['ps', '--json'])).out)).toMatchObject([{ status: 'completed' }])
  })

  test('that are not at work yet are not begun after Ctrl-C', async () => {
    const { nerve, start, until, has, write } = await created([
      'slow',
      '--kind',
      'terminal',
      '--command',
      'bash',
      '--set',
      'rc=slow.sh',
    ])
    write('slow.sh', 'echo > begun; until [ -e go ]; do sleep 0.05; done')
    const { child, ended } = start(['node', 'execute', 'slow', 'echo done > effects.txt'])
    await until(() => has('begun'), 'the shell begins')
    child.kill('SIGINT')
    await until(async () => (await nerve(['ps', '--json'])).out.includes('"cancelled"'), 'the run is cancelled')
    write('go', '')
    const { code, err } = await ended
    expect(code).toBe(5)
    expect(err).toContain('was cancelled')
    expect(has('effects.txt')).toBe(false)
  })

  test('that keep nothing wait for nobody; persistent ones are used by one process at a time', async () => {
    const { nerve, start, write } = await created(
      ['hang', '--kind', 'bash', '--command', WAITS],
      ['same', '--kind', 'identity'],
      ['t', '--kind', 'terminal', '--command', 'bash'],
    )
    const { shown, ended } = start(['node', 'execute', 'hang'])
    await shown('begun')
    expect((await nerve(['node', 'execute', 'same', '1'])).out).toBe('1\n')
    expect((await nerve(['node', 'list'])).code).toBe(0)
    const held = await nerve(['node', 'execute', 't', 'echo 1', '--json'])
    expect(JSON.parse(held.err)).toMatchObject({ error: { code: 'owned-elsewhere' } })
    write('go', '')
    expect((await ended).code).toBe(0)
  })
})

describe('calls that make no sense', () => {
  test.each([
    [['node', 'exec', 'x'], "Did you mean 'execute'?"],
    [['node', 'create', 'x'], 'of what kind?'],
    [['node', 'create', 'x', '--kind', 'bsh'], "Did you mean 'bash'?"],
    [['node', 'create', 'a/b', '--kind', 'bash'], 'is not a name'],
    [['node', 'create', 'x', '--kind', 'bash', '--set', 'comand=x'], "Did you mean 'command'?"],
    [['node', 'create', 'x', '--kind', 'bash', '--config', 'x'], '--config is not a JSON object'],
    [['node', 'create', 'x', '--kind', 'bash', '--set', 'env={"API_KEY":"a-secret"}'], 'secrets are not recorded'],
    [['node', 'execute', 'nothing'], "There is no node 'nothing' in this project"],
    [['node', 'show', 'nothing', '--session', 'x'], "in session 'x'"],
    [['trust', 'nowhere'], 'there is no folder nowhere'],
  ] as const)('%j', async (args, message) => {
    const { nerve } = open()
    const { code, err } = await nerve(args)
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect((await nerve(['node', 'list', '--json'])).out).toBe('[]\n')
  })

  test('help of a group lists its verbs, and help of a verb has examples', async () => {
    const { nerve } = open()
    const group = await nerve(['help', 'node'])
    expect(group.out).toMatch(/^ {2}node create NAME.*\n {2}node list/m)
    expect(await nerve(['node', '--help'])).toMatchObject({ code: 0, out: group.out })
    expect(await nerve(['node'])).toMatchObject({ code: 2 })
    const page = await nerve(['help', 'node', 'create'])
    expect(page.out).toMatch(/^usage: nerve node create NAME[^]*examples:/)
    expect((await nerve(['node', 'create', '--help'])).out).toBe(page.out)
    expect((await nerve(['help', 'node', 'creat'])).err).toContain("Did you mean 'create'?")
  })

  test('a session without nodes is not a project without nodes', async () => {
    const { nerve } = await created(['sh', '--kind', 'bash'])
    const { code, out } = await nerve(['node', 'list', '--session', 'other'])
    expect({ code, out }).toEqual({ code: 0, out: "There are no nodes in session 'other'. See: nerve session list\n" })
  })

  test('a terminal that lives only in its process says so', async () => {
    const { nerve } = await created(['t', '--kind', 'terminal', '--command', 'bash'], ['sh', '--kind', 'bash'])
    expect((await nerve(['node', 'execute', 't', 'echo $((40 + 2)); false'])).out).toBe('42\n')
    for (const verb of [
      ['run', 't', 'ls'],
      ['write', 't', 'x'],
      ['read', 't'],
      ['reset', 't'],
      ['stop', 't'],
    ]) {
      const { code, err } = await nerve(['node', ...verb])
      expect(code).toBe(2)
      expect(err).toContain('--in tmux')
    }
    expect((await nerve(['node', 'read', 'sh'])).err).toContain('not a terminal')
  })

  test('keys', () => {
    expect(['enter', 'ctrl-c', 'Escape', 'up'].map(keyNamed).join('')).toBe('\r\u0003\u001B\u001B[A')
    expect(() => keyNamed('entr')).toThrow(/Did you mean 'enter'/u)
  })
})
