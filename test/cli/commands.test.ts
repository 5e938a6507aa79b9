/** Each command, its exit code, its text and its --json. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

describe('reading', () => {
  test('a folder without runs is left as it is', async () => {
    const { nerve, dir } = open({ 'greet.ts': files.greet })
    const before = readdirSync(dir)
    const said = await Promise.all(
      [['ps'], ['inbox'], ['doctor'], ['explain', 'greet.ts'], ['resume', '--all'], ['gc', '--older-than', '1d']].map(
        (args) => nerve(args),
      ),
    )
    expect(said.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0])
    expect(await nerve(['ps', '--json'])).toMatchObject({ code: 0, out: '[]\n' })
    expect(await nerve(['inbox', '--json'])).toMatchObject({ code: 0, out: '[]\n' })
    expect(await nerve(['export', 'last'])).toMatchObject({ code: 2 })
    expect(readdirSync(dir)).toEqual(before)
  })

  test('ps, show, events: by id, by its beginning, by last', async () => {
    const { nerve } = open({ 'greet.ts': files.greet, 'parent.ts': files.parent })
    await nerve(['run', 'greet.ts', '--input', '1'])
    await nerve(['run', 'parent.ts'])
    const rows = JSON.parse((await nerve(['ps', '--json'])).out)
    expect(rows.map((row: { definition: string }) => row.definition)).toEqual(['parent', 'greet'])
    expect(rows[1]).toMatchObject({
      status: 'completed',
      steps: 5,
      failures: 0,
      questions: [],
      budget: { usd: 3, tokens: 500 },
    })
    const greet = rows[1].run as string
    const text = (await nerve(['ps'])).out
    expect(text).toMatch(new RegExp(`${greet} {2}greet {3}completed`))
    const shown = JSON.parse((await nerve(['show', greet.slice(0, 12), '--json'])).out)
    expect(shown).toMatchObject({ run: greet, input: 1, params: {}, output: { both: 'LR' }, children: [], forks: [] })
    expect(shown.items.map((item: { path: string }) => item.path)).toEqual([
      'all',
      'all/0/left',
      'all/1/right',
      'review',
      'review#2',
      'review#3',
    ])
    const last = JSON.parse((await nerve(['show', 'last', '--json'])).out)
    expect(last).toMatchObject({ definition: 'parent', output: 42, children: [{ definition: 'small', output: 42 }] })
    const tree = (await nerve(['show', 'last'])).out
    expect(tree).toMatch(/✓ small {2}\w+.*\n {4}✓ double/)
    expect((await nerve(['show', '1'])).code).toBe(2)
    const events = jsonLines((await nerve(['events', greet, '--json', '--after', '2'])).out)
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 3))
    expect((await nerve(['events', greet, '--follow'])).out).toMatch(/run-completed\n$/)
  })

  test('explain tells what the file holds', async () => {
    const { nerve } = open({ 'greet.ts': files.greet })
    const { out } = await nerve(['explain', 'greet.ts'])
    expect(out).toContain('there is no graph to show')
    expect(JSON.parse((await nerve(['explain', 'greet.ts', '--json'])).out)).toEqual({
      file: 'greet.ts',
      workflows: [
        {
          name: 'greet',
          kind: 'workflow',
          description: 'greets',
          params: { mood: 'good' },
          budget: { usd: 3, tokens: 500 },
          errorPolicy: 'stop',
          durability: 'process',
        },
      ],
    })
  })

  test('replay is 0 while the code does what is recorded, and 1 when not', async () => {
    const { nerve, write } = open({ 'greet.ts': files.greet })
    await nerve(['run', 'greet.ts'])
    expect(await nerve(['replay', 'last'])).toMatchObject({ code: 0 })
    write('other.ts', files.greet.replace("'review'", "'check'"))
    const other = await nerve(['replay', 'last', 'other.ts', '--json'])
    expect(other.code).toBe(1)
    expect(JSON.parse(other.out)).toMatchObject({
      same: false,
      problems: [expect.stringContaining('review'), expect.stringContaining('check')],
    })
    expect(here.effects()).toHaveLength(3)
  })

  test('export and import carry a run to another project', async () => {
    const { nerve, dir } = open({ 'greet.ts': files.greet })
    await nerve(['run', 'greet.ts'])
    const { out } = await nerve(['export', 'last'])
    const other = join(dir, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'run.jsonl'), out)
    const imported = await nerve(['import', join(other, 'run.jsonl'), '--dir', other, '--json'])
    const { run } = JSON.parse(imported.out)
    expect((await nerve(['--dir', other, 'export', run])).out).toBe(out)
    expect(await nerve(['import', '-', '--dir', other], { input: out })).toMatchObject({ code: 2 })
    expect((await nerve(['import', 'none.jsonl'])).code).toBe(2)
  })

  test('gc removes what ended long ago', async () => {
    const { nerve } = open({ 'greet.ts': files.greet })
    await nerve(['run', 'greet.ts'])
    expect(JSON.parse((await nerve(['gc', '--older-than', '1d', '--json'])).out)).toEqual({ removed: [] })
    expect(JSON.parse((await nerve(['gc', '--older-than', '0s', '--json'])).out).removed).toHaveLength(1)
    expect((await nerve(['ps', '--json'])).out).toBe('[]\n')
  })

  test('doctor ends with 1 when the database is damaged', async () => {
    const { nerve, dir } = open({ 'greet.ts': files.greet })
    await nerve(['run', 'greet.ts'])
    const good = JSON.parse((await nerve(['doctor', '--json'])).out)
    expect(good).toMatchObject({
      ok: true,
      checks: expect.arrayContaining([
        { name: 'database', ok: true, detail: '1 runs, format 1', advice: expect.any(String) },
      ]),
    })
    writeFileSync(
      join(dir, '.nerve', 'nerve.db'),
      'this is not a database, it is only text, long enough to be looked at',
    )
    const bad = await nerve(['doctor'])
    expect(bad.code).toBe(1)
    expect(bad.out).toMatch(/WRONG {2}database .*damaged/)
    expect((await nerve(['ps'])).code).toBe(1)
  })

  test('the project is the nearest folder above that has runs, and --dir overrides it', async () => {
    const { nerve, dir } = open({ 'greet.ts': files.greet })
    await nerve(['run', 'greet.ts'])
    const below = join(dir, 'a', 'b')
    mkdirSync(below, { recursive: true })
    expect(JSON.parse((await nerve(['ps', '--json', '--dir', below])).out)).toEqual([])
    expect(readdirSync(below)).toEqual([])
  })

  test('a reader that goes away ends it quietly', async () => {
    const { nerve, start } = open({ 'greet.ts': files.greet })
    await nerve(['run', 'greet.ts'])
    const events = start(['events', 'last', '--json'])
    events.child.stdout?.destroy()
    const { code, err } = await events.ended
    expect({ code, err }).toEqual({ code: 0, err: '' })
  })
})
