/** Each command, its exit code, its text and its --json. */
import { afterEach, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/surfaces/cli/command-table.ts'
import { jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

let here: Project
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>> = {}): Project => (here = project(workflows))

describe('run', () => {
  test('prints a line for each event and the output, and ends with 0', async () => {
    const { nerve, effects } = open({ 'greet.ts': files.greet })
    const { code, out, err } = await nerve(['run', 'greet.ts', '--input', 'Ada'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/step-completed\s+all\/0\/left/)
    expect(out).toMatch(/completed {2}greet {2}\w{16} {2}\S+ {2}5 steps {2}\$0\.03 {2}30 tokens/)
    expect(out).toContain('"both": "LR"')
    expect(out).not.toContain('\u001B')
    expect(effects()).toEqual(['review-0', 'review-1', 'review-2'])
  })

  test('--json is one event on each line and the result on the last', async () => {
    const { nerve } = open({ 'greet.ts': files.greet })
    const ended = await nerve([
      'run',
      'greet.ts',
      '--json',
      '--input',
      '{"a":1}',
      '--param',
      'mood=bad',
      '--param',
      'n=2',
    ])
    const lines = jsonLines(ended.out)
    expect(lines[0]).toMatchObject({
      type: 'run-created',
      seq: 1,
      definition: 'greet',
      input: { a: 1 },
      params: { mood: 'bad', n: 2 },
    })
    expect(lines.at(-1)).toEqual({
      type: 'result',
      run: lines[0].run,
      definition: 'greet',
      status: 'completed',
      output: { input: { a: 1 }, mood: 'bad', both: 'LR' },
      failures: 0,
      usage: expect.objectContaining({ usd: 0.03, tokens: 30 }),
    })
  })

  test('what a workflow prints itself does not break --json', async () => {
    const { nerve, write } = open({ 'slow.ts': files.slow })
    write('go', '')
    const { out, err } = await nerve(['run', 'slow.ts', '--json'])
    expect(jsonLines(out).at(-1)).toMatchObject({ type: 'result', output: 'over' })
    expect(err).toContain('holding')
  })

  test.each([
    ['{not json', '{not json'],
    ['{"a": {"b": 1}}', { a: { b: 1 } }],
    ['{{ braces }} and } more {', '{{ braces }} and } more {'],
    ['42', 42],
    ['-5', -5],
    ['"quoted"', 'quoted'],
    ['', ''],
  ])('--input %j', async (text, value) => {
    const { nerve } = open({ 'greet.ts': files.greet })
    const { out } = await nerve(['run', 'greet.ts', '--json', '--input', text])
    expect(jsonLines(out).at(-1).output.input).toEqual(value)
  })

  test('--input - reads stdin and --input @file a file', async () => {
    const { nerve, write } = open({ 'greet.ts': files.greet })
    write('in.json', '[1, 2]\n')
    const [piped, file, missing] = await Promise.all([
      nerve(['run', 'greet.ts', '--json', '--input', '-'], { input: 'two\nlines\n' }),
      nerve(['run', 'greet.ts', '--json', '--input', '@in.json']),
      nerve(['run', 'greet.ts', '--json', '--input', '@none.json']),
    ])
    expect(jsonLines(piped.out).at(-1).output.input).toBe('two\nlines')
    expect(jsonLines(file.out).at(-1).output.input).toEqual([1, 2])
    expect(missing.code).toBe(2)
    expect(JSON.parse(missing.err)).toEqual({ error: { code: 'usage', message: expect.stringContaining('none.json') } })
  })

  test('a failed run ends with 1 and shows no stack, and nothing that changes the terminal', async () => {
    const { nerve } = open({ 'failing.ts': files.failing })
    const text = await nerve(['run', 'failing.ts'])
    expect(text.code).toBe(1)
    expect(text.out).toMatch(/^bad: boom red\n {2}in failing\.ts:\d+:\d+\n/m)
    expect(text.out).not.toMatch(/\bat .*failing\.ts/)
    expect(text.out).not.toContain('\u001B')
    expect((await nerve(['show', 'last'])).out).toMatch(/^error {2}boom red\n {2}in failing\.ts:\d+:\d+\n$/m)
    const json = await nerve(['run', 'failing.ts', '--json'])
    expect(json.code).toBe(1)
    expect(jsonLines(json.out).at(-1)).toMatchObject({
      status: 'failed',
      error: { name: 'TypeError', data: { step: 'bad' } },
    })
    expect(json.out).not.toContain('"stack"')
    const verbose = await nerve(['run', 'failing.ts', '--json'], { env: { NERVE_DEBUG: '1' } })
    expect(verbose.out).toContain('"stack"')
  })

  test('completed with failures ends with 0 and says so loudly', async () => {
    const { nerve } = open({ 'tolerant.ts': files.tolerant })
    const { code, out } = await nerve(['run', 'tolerant.ts'])
    expect(code).toBe(0)
    expect(out).toMatch(/completed-with-failures {2}tolerant/)
    expect(out).toContain('1 steps FAILED')
  })

  test('a spent budget ends with 4, and a larger one goes on without repeating anything', async () => {
    const { nerve, effects } = open({ 'costly.ts': files.costly })
    const spent = await nerve(['run', 'costly.ts', '--budget', 'tokens=100k,usd=2'])
    expect(spent.code).toBe(4)
    expect(spent.out).toMatch(/usd: \$2\.00 of \$2\.00/)
    const run = /nerve resume (\w+) --budget usd=N/.exec(spent.out)?.[1] ?? ''
    const on = await nerve(['resume', run, '--budget', 'usd=9', '--json'])
    expect(on.code).toBe(0)
    expect(jsonLines(on.out).at(-1)).toMatchObject({ type: 'result', run, status: 'completed', output: 'rich' })
    expect(effects()).toEqual(['call-0', 'call-1', 'call-2', 'call-3'])
  })

  test('waits through a sleep', async () => {
    const { nerve } = open({ 'sleeping.ts': files.sleeping })
    const { code, out } = await nerve(['run', 'sleeping.ts'])
    expect(code).toBe(0)
    expect(out).toContain('rested')
  })
})

describe('files that cannot be run', () => {
  test.each([
    ['none.ts', undefined, 'There is no file'],
    ['empty.ts', 'export const a = 1', 'exports no workflow'],
    ['enum.ts', 'enum A { b }\nexport default A', 'Only syntax that can be erased'],
    ['broken.ts', 'export default (', /broken\.ts could not be loaded: .+ \(.*\/broken\.ts:1\)\n$/],
    [
      'imports.ts',
      `import './wrong.ts'`,
      /imports\.ts could not be loaded: Expression expected \(.*\/wrong\.ts:2\)\n$/,
    ],
    ['throws.ts', `\nthrow new Error('no key')`, /could not be loaded: no key \(.*\/throws\.ts:2:7\)\n$/],
    ['ending.ts', `import './other'`, /Cannot find module '.*\/other' .* Its name is other\.ts here/],
    ['compiled.ts', `import './other.js'`, /Cannot find module '.*\/other\.js' .* Its name is other\.ts here/],
    ['waits.ts', 'await new Promise(() => undefined)', 'a top-level await in it, or in what it imports, does not end'],
    ['text.md', '# hello', 'is not a workflow file'],
  ])('%s', async (file, text, message) => {
    const { nerve, write, has } = open({ 'wrong.ts': '\nconst a = ;', 'other.ts': 'export {}' })
    if (text !== undefined) write(file, text)
    const { code, out, err } = await nerve(['run', file])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(message)
    expect(err).not.toMatch(/\n\s+at /)
    expect(has('.nerve')).toBe(false)
  })

  test('--verbose shows where it began', async () => {
    const { nerve } = open({ 'throws.ts': `\nthrow new Error('no key')` })
    const { code, err } = await nerve(['run', 'throws.ts', '--verbose'])
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^Error: no key\n\s+at .*throws\.ts:2:7/m) })
  })

  test('a type error is no error: types are erased', async () => {
    const { nerve } = open({
      'typed.ts': `import { workflow } from 'nerve'\nconst n: number = 'text'\nexport default workflow('typed', async () => n)`,
    })
    expect(await nerve(['run', 'typed.ts'])).toMatchObject({ code: 0 })
  })
})

describe('calls that make no sense', () => {
  test.each([
    [['rum', 'x.ts'], "Did you mean 'run'?"],
    [['run', 'x.ts', '--imput', '1'], "Did you mean '--input'?"],
    [['run'], 'usage: nerve run FILE'],
    [['run', 'a.ts', 'b.ts'], "'b.ts' is too much"],
    [['run', 'greet.ts', '--budget', 'token=5'], "Did you mean 'tokens'?"],
    [['run', 'greet.ts', '--budget', 'usd=much'], "usd is 'much'"],
    [['run', 'greet.ts', '--param', 'x'], '--param name=value'],
    [['run', 'greet.ts', '--input'], '--input needs a value'],
    [['ps', '--json=yes'], 'takes no value'],
    [['ps', '--dir', 'nowhere'], 'there is no folder nowhere'],
    [['resume'], 'which run?'],
    [['gc'], '--older-than'],
    [['gc', '--older-than', 'soon'], 'is not a duration'],
    [['show', 'last'], 'there are no runs'],
    [['answer', 'x-1', 'yes'], 'there are no runs'],
  ] as const)('%j', async (args, message) => {
    const { nerve, has } = open({ 'greet.ts': files.greet })
    const { code, err } = await nerve(args)
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect(has('.nerve')).toBe(false)
  })

  test('with --json the error is one JSON object on stderr', async () => {
    const { nerve } = open()
    const { out, err } = await nerve(['show', 'nothing', '--json'])
    expect(out).toBe('')
    expect(JSON.parse(err)).toEqual({ error: { code: 'not-found', message: expect.any(String) } })
  })
})

describe('help and version', () => {
  test('the overview names every command; help COMMAND and COMMAND --help are the same', async () => {
    const { nerve } = open()
    const help = (await nerve(['--help'])).out
    const names = [...help.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name!)
    expect(names).toEqual(expect.arrayContaining(COMMANDS.map(({ name }) => name)))
    const page = (await nerve(['help', 'run'])).out
    expect(page).toMatch(/^usage: nerve[^]*examples:\n {2}/)
    expect((await nerve(['run', '--help'])).out).toBe(page)
    expect(page).not.toContain('--owned')
  })

  test('help of help is help, and version is known without its dashes', async () => {
    const { nerve } = open()
    expect((await nerve(['help', 'help'])).out).toBe((await nerve(['--help'])).out)
    expect((await nerve(['version'])).out).toBe((await nerve(['--version'])).out)
  })

  test('--version', async () => {
    const { nerve } = open()
    expect((await nerve(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(JSON.parse((await nerve(['--version', '--json'])).out)).toMatchObject({ node: process.version })
  })
})
