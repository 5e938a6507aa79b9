/** `nerve node …` and `nerve session …` where a daemon runs: what is started lives in it from one command to the next. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from 'nerve/client'
import { jsonLines, project, type Ended, type Running } from './nerve.ts'

const ENV = { NERVE_LOCAL: '0' }
const here = project({
  'flow.ts': `import { workflow } from 'nerve'
export default workflow('flow', async (ctx) => ctx.run('t', 'echo "$word $answer"'))`,
})
const { until, write } = here

const nerve = (...args: readonly string[]): Promise<Ended> => here.nerve(args, { env: ENV })
const start = (...args: readonly string[]): Running => here.start(args, ENV)
const execute = async (node: string, line: string): Promise<string> => (await nerve('node', 'execute', node, line)).out
const pid = (): number => JSON.parse(readFileSync(join(here.dir, '.nerve', 'server.json'), 'utf8')).pid as number
const WAITS = 'echo begun; until [ -e go ]; do sleep 0.05; done; echo over'

beforeAll(async () => {
  const { code, err } = await nerve('server', 'start')
  if (code !== 0) throw new Error(err)
})
// Kills the daemon as well, whatever became of the tests.
afterAll(() => here.remove())

describe('nodes in the daemon', () => {
  test('a terminal on a PTY is one shell for all commands, and for runs', async () => {
    const made = await nerve('node', 'create', 't', '--kind', 'terminal', '--command', 'bash')
    expect(made).toEqual({ code: 0, out: 't  terminal in session default\n', err: '' })
    expect(await nerve('node', 'execute', 't', 'cd /usr; word=kept')).toEqual({ code: 0, out: '', err: '' })
    expect(await nerve('node', 'run', 't', 'read answer')).toMatchObject({ code: 0, out: 'typed into t\n' })
    expect((await nerve('node', 'write', 't', 'moss', '--key', 'enter')).code).toBe(0)
    expect(await execute('t', 'pwd; echo "$word $answer"')).toBe('/usr\nkept moss\n')
    expect((await nerve('node', 'read', 't', '--tail', '3')).out).toContain('kept moss')
    const { screen } = JSON.parse((await nerve('node', 'read', 't', '--screen', '--json')).out)
    expect(screen.rows.join('\n')).toContain('kept moss')
    const ran = jsonLines((await nerve('run', 'flow.ts', '--json')).out).at(-1)
    expect(ran).toMatchObject({ status: 'completed', output: { output: 'kept moss\n', exitCode: 0 } })
  })

  test('it is watched, interrupted, started again, stopped and copied', async () => {
    const watching = start('node', 'read', 't', '--follow')
    await nerve('node', 'run', 't', 'while sleep 0.1; do echo "tick $((40 + 2))"; done')
    await watching.shown('tick 42')
    watching.child.kill('SIGINT')
    expect(await watching.ended).toMatchObject({ code: 0, err: '' })
    expect((await nerve('node', 'interrupt', 't')).out).toBe('t was interrupted\n')
    expect(await execute('t', 'echo $word')).toBe('kept\n')
    expect((await nerve('node', 'reset', 't')).out).toBe('t has started again\n')
    expect((await nerve('node', 'stop', 't')).out).toBe('t has stopped\n')
    expect(await execute('t', 'echo "[$word]"')).toBe('[]\n')
    expect((await nerve('node', 'fork', 't')).out).toContain('t-fork-1  is a copy of t')
    const inputs = jsonLines((await nerve('node', 'history', 't', '--inputs', '--json')).out)
    expect(new Set(inputs.map(({ operation }) => operation))).toEqual(new Set(['send', 'run', 'write']))
  })

  test('one whose program has ended by itself has stopped, and starts again when it is used', async () => {
    await nerve('node', 'run', 't', 'exit 3')
    const client = await connect(join(here.dir, '.nerve', 'nerve.sock'))
    const states = async (): Promise<unknown> => {
      const { members } = await client.call('sessions.get', { session: 'default' })
      return [(await client.node('t').info()).info?.state, members.find(({ name }) => name === 't')?.['state']]
    }
    await expect.poll(states, { timeout: 10_000 }).toEqual(['stopped', 'stopped'])
    expect((await nerve('node', 'read', 't', '--tail', '3')).out).toContain('exit 3')
    expect(await states()).toEqual(['stopped', 'stopped'])
    expect(await execute('t', 'echo again')).toBe('again\n')
    expect(await states()).toEqual(['ready', 'ready'])
    await client.close()
  })

  test('execute shows what is printed as it comes; Ctrl-C is for the node, and a second one leaves', async () => {
    for (const args of [['hang', '--command', WAITS], ['deaf', '--command', `trap "" INT TERM; ${WAITS}`], ['sh']])
      expect((await nerve('node', 'create', ...args, '--kind', 'bash')).code).toBe(0)
    const json = JSON.parse((await nerve('node', 'execute', 'sh', '--json', '--', 'echo 42; echo no >&2')).out)
    expect(json).toMatchObject({ session: 'default', node: 'sh', output: { stdout: '42\n', stderr: 'no\n' } })
    const both = await nerve('node', 'execute', 'sh', 'seq 1 100000; echo no >&2; exit 3')
    expect(both).toMatchObject({ code: 1, err: expect.stringMatching(/^no\nnerve: .*exit code 3/) })
    expect(both.out.split('\n')).toHaveLength(100_001)

    const [mine, other] = [start('node', 'execute', 'hang'), start('node', 'execute', 'hang')]
    await Promise.all([mine.shown('begun'), other.shown('begun')])
    mine.child.kill('SIGINT')
    expect(await mine.ended).toMatchObject({ code: 1, err: expect.stringContaining('interrupted') })
    // What the node does for somebody else goes on.
    const interrupted = JSON.parse((await nerve('node', 'interrupt', 'hang', '--json')).out)
    expect(interrupted).toEqual({ session: 'default', node: 'hang', runs: [expect.any(String)] })
    expect(await other.ended).toMatchObject({ code: 1, err: expect.stringContaining('interrupted') })
    const deaf = start('node', 'execute', 'deaf')
    await deaf.shown('begun')
    deaf.child.kill('SIGINT')
    // The second one has to be heard as another one.
    await until(() => {
      if (deaf.child.exitCode === null) deaf.child.kill('SIGINT')
      return deaf.child.exitCode !== null
    }, 'the end of the command')
    expect((await deaf.ended).code).toBe(5)
  })

  test('a command for a process of its own does not take what the daemon has', async () => {
    const held = await here.nerve(['node', 'execute', 't', 'echo 1', '--json'])
    expect(JSON.parse(held.err)).toMatchObject({ error: { code: 'owned-elsewhere' } })
    expect(await nerve('node', 'run', 'sh', 'ls')).toMatchObject({
      code: 2,
      err: expect.stringContaining('not a term'),
    })
  })
})

test('sessions are listed, shown and closed; nodes are removed', async () => {
  expect((await nerve('node', 'remove', 't-fork-1')).out).toBe('t-fork-1  was removed from session default\n')
  expect(JSON.parse((await nerve('session', 'list', '--json')).out)).toEqual([
    { name: 'default', tags: [], planned: false, members: 4 },
  ])
  expect((await nerve('session', 'show', 'default')).out).toBe(
    'default\n  t  terminal\n  hang  bash\n  deaf  bash\n  sh  bash\n',
  )
  expect(JSON.parse((await nerve('session', 'close', 'default', '--json')).out)).toEqual({
    session: 'default',
    ended: ['t'],
  })
  expect((await nerve('node', 'list')).out).toMatch(/^NAME .*\nt .*\nhang .*\ndeaf .*\nsh /)
})

describe('after kill -9 of the daemon', () => {
  test('whoever waits for a node starts another one, which goes on by the rules for steps in flight', async () => {
    await nerve('node', 'create', 'again', '--kind', 'bash', '--command', WAITS, '--set', 'effect=repeatable')
    const running = start('node', 'execute', 'again')
    await running.shown('begun')
    const killed = pid()
    process.kill(killed, 'SIGKILL')
    write('go', '')
    const { code, out } = await running.ended
    expect(code).toBe(0)
    expect(out).toMatch(/over\n$/)
    expect(pid()).not.toBe(killed)
  })

  test('the next command says so, and has a new one', async () => {
    process.kill(pid(), 'SIGKILL')
    const { code, out, err } = await nerve('node', 'execute', 't', 'echo "[$word]"; word=fresh')
    expect({ code, out }).toEqual({ code: 0, out: '[]\n' })
    expect(err).toContain('The daemon had died, and what lived in it is gone.')
    expect(await nerve('node', 'execute', 't', 'echo $word')).toEqual({ code: 0, out: 'fresh\n', err: '' })
    expect((await nerve('session', 'remove', 'default')).out).toBe('default was removed; ended: t\n')
    expect((await nerve('server', 'stop')).code).toBe(0)
    expect((await nerve('node', 'list', '--json')).out).toBe('[]\n')
  })
})
