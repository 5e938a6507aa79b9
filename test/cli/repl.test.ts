/** `nerve repl`. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { splitWords } from '../../src/surfaces/cli/split-words.ts'
import { HAS_TERMINAL, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

/** On a line of its own, after what came before it. */
const PROMPT = '\r\n\u001B[1G\u001B[0Jnerve> '

let here: Project
afterEach(() => here?.remove())

test.each([
  [`run 'a b.ts' --input "it's"`, ['run', 'a b.ts', '--input', "it's"]],
  [String.raw`a\ b 'c\d' "e\"f" ''`, ['a b', String.raw`c\d`, 'e"f', '']],
  ['ps # all of them', ['ps']],
  ['a#b', ['a#b']],
  ['  ', []],
])('%j is split as a shell does it', (line, words) => {
  expect(splitWords(line)).toEqual(words)
})

test('a quote that is not closed is said', () => {
  expect(() => splitWords(`run 'a`)).toThrow(/not closed/)
})

test('lines from a pipe are commands, one after the other; the gravest code is the end', async () => {
  here = project({ 'asking.ts': files.asking })
  const input = [
    'node create sh --kind bash',
    '# nothing',
    '',
    'list',
    `exec sh echo "a  b" | tr a c`,
    'run asking.ts --yes',
    'answer last Ada',
    'nonsense',
    'repl',
    `'open`,
    'exit',
    'ps --nothing-after-exit',
  ].join('\n')
  const { code, out, err } = await here.nerve(['repl'], { input })
  expect(out).toContain('sh    bash  default')
  expect(out).toContain('c  b\n')
  expect(out).toContain('"name": "Ada"')
  expect(out).not.toContain('nerve>')
  expect(err.split('\n')).toEqual([
    expect.stringContaining(`there is no command 'nonsense'`),
    'nerve repl: this is it already.',
    expect.stringContaining('not closed'),
    '',
  ])
  // The run waited in between.
  expect(code).toBe(3)
})

test('--json is for every line', async () => {
  here = project()
  const { out } = await here.nerve(['repl', '--json'], { input: 'ps\ninbox\n' })
  expect(out).toBe('[]\n[]\n')
})

describe.skipIf(!HAS_TERMINAL)('at a terminal', () => {
  test('there is a prompt, with completion and a history; Ctrl-C gives a line up, Ctrl-D leaves', async () => {
    const { nerve, terminal, read } = (here = project({ 'asking.ts': files.asking }))
    await nerve(['run', 'asking.ts'])
    const { code, out } = await terminal(
      ['repl'],
      [
        ['nerve> ', 'inb'],
        // A key by itself: what comes in one piece is pasted, and not completed.
        ['inb', '\t'],
        ['ox ', '\r'],
        [` publish${PROMPT}`, 'rubbish'],
        ['rubbish', '\u0003'],
        [`^C${PROMPT}`, 'answer last 1\r'],
        ['Under which name?', 'Ada\r'],
        [`}${PROMPT}`, '\u001B[A'],
        ['answer last 1', '\u0003'],
        [`^C${PROMPT}`, '\u0004'],
      ],
      { size: [100, 40], env: { NO_COLOR: '1' } },
    ).ended
    expect({ code, out }).toMatchObject({ code: 0 })
    expect(out).not.toContain('there is no command')
    expect(read('.nerve/repl-history')).toBe('answer last 1\ninbox \n')
  })

  test('Tab and Enter in one piece, and a history that cannot be written, disturb nobody', async () => {
    const { terminal, dir } = (here = project())
    mkdirSync(join(dir, '.nerve/repl-history'), { recursive: true, mode: 0o700 })
    const { code, out } = await terminal(
      ['repl'],
      [
        ['nerve> ', 'ps\r'],
        [`nerve run FILE${PROMPT}`, 'inb\t\r'],
        [`Did you mean 'inbox'? See: nerve --help${PROMPT}`, '\u0004'],
      ],
      { size: [100, 40], env: { NO_COLOR: '1' } },
    ).ended
    expect({ code, out }).toMatchObject({ code: 0 })
    expect(out).not.toContain('ERR_USE_AFTER_CLOSE')
  })

  test('several lines in one piece are as many commands, and the last may be finished by hand', async () => {
    const { nerve, terminal } = (here = project({ 'asking.ts': files.asking }))
    await nerve(['run', 'asking.ts'])
    const { code, out } = await terminal(
      ['repl'],
      [
        ['nerve> ', 'ps --limit 1\rinbox\rexi'],
        [` publish${PROMPT}`, 't\r'],
      ],
      { size: [100, 40], env: { NO_COLOR: '1' } },
    ).ended
    expect({ code, out }).toMatchObject({ code: 0 })
    expect(out.indexOf('nerve> inbox')).toBeGreaterThan(out.indexOf('RUN '))
  })
})
