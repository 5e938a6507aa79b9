/** `nerve ralph` as people call it, with the agent that needs no model. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { whyNoSandbox } from '../../src/testing/agent-isolation-conformance.ts'
import { jsonLines, project, type Project } from './nerve.ts'

const noSandbox = whyNoSandbox()
if (noSandbox !== undefined) console.warn(`SKIPPED: ralph --sandbox: ${noSandbox}`)

const projects: Project[] = []

function open(): Project {
  const made = project()
  projects.push(made)
  return made
}

afterEach(() => {
  for (const one of projects.splice(0)) one.remove()
})

const RALPH = ['ralph', 'write it: `touch done`', '--agent', 'scripted', '--test', 'test -e done']

describe('nerve ralph', () => {
  it('stops when the tests pass, and says so; ps and show know of it', async () => {
    const { nerve, has } = open()
    const { code, out } = await nerve([...RALPH, '--yes'])
    expect([code, has('done')]).toEqual([0, true])
    expect(out).toContain('Ralph stopped (tests-pass): The tests pass')
    expect((await nerve(['ps'])).out).toMatch(/ralph\s+completed/)
    expect((await nerve(['show', 'last'])).out).toMatch(/turn-1[^]*test[^]*stopped.*tests-pass/)
  })

  it.skipIf(noSandbox !== undefined)('is in a sandbox, with its tests, when it is told so', async () => {
    const { nerve, has, dir } = open()
    mkdirSync(join(dir, '.git', 'hooks'), { recursive: true })
    const task = 'write it: `touch done .git/hooks/pre-commit`'
    const test = 'test -e done && ! touch .git/hooks/pre-push && ! cat .nerve/nerve.db'
    const { code, out } = await nerve(['ralph', task, '--agent', 'scripted', '--test', test, '--yes', '--sandbox'])
    expect(out).toContain('Ralph stopped (tests-pass)')
    expect([code, has('done'), has('.git/hooks/pre-commit'), has('.git/hooks/pre-push')]).toEqual([
      0,
      true,
      false,
      false,
    ])
  })

  it('stops at its bound, and at its budget, from where it goes on', async () => {
    const { nerve, has } = open()
    const task = ['ralph', 'write it: `true` or `touch done`', '--agent', 'scripted', '--test', 'test -e done', '--yes']
    const bound = await nerve([...task, '--max', '1', '--json'])
    expect(bound.code).toBe(1)
    expect(jsonLines(bound.out).at(-1)).toMatchObject({ status: 'completed', output: { stopped: 'bound', turns: 1 } })
    const budget = await nerve([...task, '--budget', 'steps=6'])
    expect(budget.code).toBe(4)
    expect(budget.out).toContain('Ralph stopped (budget)')
    expect(has('done')).toBe(false)
    const more = await nerve(['resume', 'last', '--budget', 'steps=20', '--json'])
    expect(jsonLines(more.out).at(-1)).toMatchObject({
      status: 'completed',
      output: { stopped: 'tests-pass', turns: 2 },
    })
  })

  it('asks for the spec and for tools, and goes on in whatever process the answer comes from', async () => {
    const { nerve, has } = open()
    expect((await nerve(RALPH)).code).toBe(3)
    expect((await nerve(['inbox'])).out).toContain('Is this what is to be built?')
    expect((await nerve(['answer', 'last', 'approve'])).code).toBe(3)
    expect((await nerve(['inbox'])).out).toContain('May coder use shell? touch done')
    expect(has('done')).toBe(false)
    expect((await nerve(['answer', 'last', 'allow'])).out).toContain('"stopped": "tests-pass"')
    expect((await nerve(RALPH)).code).toBe(3)
    expect((await nerve(['answer', 'last', 'reject'])).out).toContain('"stopped": "rejected"')
  })

  it('survives kill -9 in the middle of a turn', async () => {
    const { start, write, until, has } = open()
    const task = 'write it: `touch began; while [ ! -e go ]; do sleep 0.05; done; touch done`'
    const running = start(['ralph', task, '--agent', 'scripted', '--test', 'test -e done', '--yes'])
    await until(() => has('began'), 'the first turn')
    running.child.kill('SIGKILL')
    await running.ended
    expect(has('done')).toBe(false)
    const resumed = start(['resume', '--all', '--json'])
    write('go', '')
    const { out } = await resumed.ended
    expect(jsonLines(out).at(-1)).toMatchObject({ status: 'completed', output: { stopped: 'tests-pass', turns: 1 } })
    const ran = jsonLines(out).flatMap(({ type, path }) => (type === 'step-completed' ? [path] : []))
    expect(ran).toEqual(['turn-1/implement', 'turn-1/test'])
  })

  it('commits nothing by itself; with --pr it pushes a branch and opens a pull request', async () => {
    const { nerve, dir, write, read } = open()
    const git = (...args: string[]) => spawnSync('git', ['-C', dir, ...args], { encoding: 'utf8' }).stdout.trim()
    mkdirSync(join(dir, 'bin'))
    write('bin/gh', '#!/bin/sh\nprintf "%s\\n" "$@" > opened\necho https://example.com/pull/1\n')
    chmodSync(join(dir, 'bin', 'gh'), 0o755)
    write('.gitignore', 'bin\n.state\nremote.git\nopened\n')
    git('init', '-q', '-b', 'main')
    git('config', 'user.email', 'ralph@example.com')
    git('config', 'user.name', 'Ralph')
    git('add', '-A')
    git('commit', '-q', '-m', 'first')
    git('init', '-q', '--bare', 'remote.git')
    git('remote', 'add', 'origin', join(dir, 'remote.git'))
    const env = { PATH: `${join(dir, 'bin')}:${process.env['PATH'] ?? ''}` }
    expect((await nerve([...RALPH, '--yes'], { env })).code).toBe(0)
    expect([git('log', '--oneline').split('\n').length, existsSync(join(dir, 'opened'))]).toEqual([1, false])
    const { code, out } = await nerve([...RALPH, '--yes', '--pr'], { env })
    expect(out).toContain('https://example.com/pull/1')
    expect(code).toBe(0)
    expect(read('opened')).toContain('write it: `touch done`')
    const branch = git('branch', '--show-current')
    expect(branch).toMatch(/^ralph\/write-it-touch-done-\w+$/)
    expect(git('ls-remote', 'origin')).toContain(branch)
    expect(git('ls-files')).not.toContain('.nerve')
  })

  it('says that package.json is broken', async () => {
    const { nerve, write } = open()
    write('package.json', '{ broken')
    const { code, err } = await nerve(['ralph', 'x', '--agent', 'scripted'])
    expect([code, err]).toEqual([2, expect.stringMatching(/package\.json cannot be read: .*say --test/)])
  })

  it.each([
    [['ralph', 'x'], /--agent: which agent/],
    [['ralph', 'x', '--agent', 'cladue'], /Did you mean 'claude'/],
    [['ralph', 'x', '--agent', 'scripted'], /--test: which command/],
    [[...RALPH, '--max', 'many'], /--max: many is not/],
    [[...RALPH, '--cwd', 'nowhere'], /there is no folder nowhere/],
    [[...RALPH, '--pr'], /--pr: .* is not in a git repository with a remote 'origin'/],
  ])('refuses %j', async (args, message) => {
    const { nerve, has } = open()
    const { code, err } = await nerve(args)
    expect([code, err]).toEqual([2, expect.stringMatching(message)])
    expect(has('.nerve')).toBe(false)
  })
})
