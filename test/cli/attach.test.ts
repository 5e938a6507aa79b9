/** `nerve attach` and `nerve inbox --watch`: looking at what another process does. */
import { afterEach, describe, expect, test } from 'vitest'
import { HAS_TERMINAL, jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

/** Where an answer is typed: the tree shows the question a moment earlier. */
const FIRST = '(then: revise)\r\n> '
const SECOND = 'Under which name?\r\n> '
const PLAIN = { env: { NO_COLOR: '1' } }

let here: Project
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>>): Project => (here = project(workflows))

describe('attach', () => {
  test('shows what another process does, with its children, and ends as the run does', async () => {
    const { start, nerve, write } = open({ 'slow.ts': files.slow, 'parent.ts': files.parent })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    const attached = start(['attach', 'last', '--json'])
    await attached.shown('"hold"')
    write('go', '')
    const { code, out, err } = await attached.ended
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = jsonLines(out)
    expect(lines.map(({ type }) => type)).toEqual(expect.arrayContaining(['run-created', 'run-completed']))
    expect(lines.at(-1)).toMatchObject({ type: 'result', status: 'completed', output: 'over' })
    expect((await running.ended).code).toBe(0)

    await nerve(['run', 'parent.ts'])
    const whole = jsonLines((await nerve(['attach', 'last', '--json'])).out)
    expect(new Set(whole.map(({ run }) => run)).size).toBe(2)
  })

  test('leaving changes nothing', async () => {
    const { start, nerve, write } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    const before = (await nerve(['events', 'last', '--json'])).out
    const attached = start(['attach', 'last'])
    await attached.shown('hold')
    attached.child.kill('SIGINT')
    const { code, out } = await attached.ended
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/goes on\. Come back: nerve attach \w+\n$/) })
    expect((await nerve(['events', 'last', '--json'])).out).toBe(before)
    write('go', '')
    expect((await running.ended).code).toBe(0)
  })

  test('a run that nobody drives: how it rests, and what to do', async () => {
    const { nerve } = open({ 'asking.ts': files.asking, 'failing.ts': files.failing })
    await nerve(['run', 'asking.ts'])
    const { code, out } = await nerve(['attach', 'last'])
    expect(code).toBe(3)
    expect(out).toMatch(/nerve answer \w+-\d+ publish/)
    await nerve(['run', 'failing.ts'])
    expect((await nerve(['attach', 'last'])).code).toBe(1)
    expect((await nerve(['attach', 'nope'])).code).toBe(2)
  })

  test('a run that sleeps, and that nobody will wake, is not waited for', async () => {
    const { start, nerve } = open({ 'asleep.ts': files.asleep })
    const running = start(['run', 'asleep.ts'])
    await running.shown('timer-set')
    running.child.kill('SIGKILL')
    await running.ended
    const { code, out } = await nerve(['attach', 'last'])
    expect({ code, out }).toEqual({ code: 3, out: expect.stringMatching(/waiting {2}asleep/) })
  })

  describe.skipIf(!HAS_TERMINAL)('at a terminal', () => {
    test('q leaves the run alone', async () => {
      const { start, terminal, write } = open({ 'slow.ts': files.slow })
      const running = start(['run', 'slow.ts'])
      await running.shown('holding')
      const { code, out } = await terminal(['attach', 'last'], [['hold', 'q']]).ended
      expect(code).toBe(0)
      expect(out).toContain('goes on')
      expect(running.child.exitCode).toBe(null)
      write('go', '')
      expect((await running.ended).code).toBe(0)
    })

    test('questions are answered, and the run goes on in the process that drives it', async () => {
      const { terminal, effects } = open({ 'asking.ts': files.asking })
      const first = terminal(['run', 'asking.ts'], [])
      await first.shown('Publish this?')
      const second = terminal(
        ['attach', 'last'],
        [
          [FIRST, '1\r'],
          [SECOND, 'q\r'],
        ],
        PLAIN,
      )
      expect((await second.ended).code).toBe(0)
      const { code, out } = await first.ended
      expect(code).toBe(0)
      // While a question is asked, q is only a letter.
      expect(out).toContain('"name": "q"')
      expect(effects()).toEqual(['after-publish', 'before'])
    })

    test('an answer takes a run that nobody drives into this process', async () => {
      const { nerve, terminal, effects } = open({ 'asking.ts': files.asking })
      await nerve(['run', 'asking.ts'])
      const { code, out } = await terminal(
        ['attach', 'last'],
        [
          [FIRST, '2\r'],
          [SECOND, 'Ada\r'],
        ],
        PLAIN,
      ).ended
      expect(code).toBe(0)
      expect(out).toContain('"name": "Ada"')
      expect(effects()).toEqual(['after-revise', 'before'])
    })
  })
})

test('inbox --watch tells what is asked and what is closed, from before there are runs, until Ctrl-C', async () => {
  const { start, nerve } = open({ 'asking.ts': files.asking })
  const watching = start(['inbox', '--watch', '--json'])
  const people = start(['inbox', '--watch'])
  await people.shown('Ctrl-C')
  await nerve(['run', 'asking.ts'])
  await watching.shown('Publish this?')
  await people.shown('nerve answer')
  await nerve(['answer', 'last', '1'])
  await watching.shown('Under which name?')
  await people.shown('✓ Publish this?')
  for (const { child } of [watching, people]) child.kill('SIGINT')
  const { code, out } = await watching.ended
  expect(code).toBe(0)
  expect(jsonLines(out).map(({ type, prompt }) => `${type} ${prompt}`)).toEqual([
    'asked Publish this?',
    'closed undefined',
    'asked Under which name?',
  ])
  expect((await people.ended).code).toBe(0)
})
