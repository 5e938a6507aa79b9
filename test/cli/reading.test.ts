/** The commands that look, and change nothing. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

let here: Project
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>> = {}): Project => (here = project(workflows))

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

  test('show RUN PATH: what a step was given, what it gave, and what happened there', async () => {
    const { nerve } = open({ 'told.ts': files.told })
    await nerve(['run', 'told.ts'])
    const { code, out } = await nerve(['show', 'last', 'all/1/say'])
    expect(code).toBe(0)
    expect(out).toMatch(/^all\/1\/say {2}\w{16} {2}completed\n {2}kind {6}step\n {2}node {6}bash say\n {2}started /)
    expect(out).toMatch(
      /\ninput\n {2}echo two\n {2}echo lines\n\noutput\n {2}\{\n[^]*"stdout": "two\\nlines\\n"[^]*\njournal\n {6}\d {2}\S+ {2}step-started /,
    )
    const step = JSON.parse((await nerve(['show', 'last', 'all/1/say', '--json'])).out)
    expect(step).toMatchObject({
      path: 'all/1/say',
      kind: 'step',
      status: 'completed',
      node: { id: 'say', kind: 'bash' },
      input: 'echo two\necho lines',
      output: { stdout: 'two\nlines\n' },
    })
    expect(step.events.map(({ type }: { type: string }) => type)).toEqual(['step-started', 'step-completed'])
    // A scope is shown with what is in it; the end of a path will do where it is the only one.
    expect((await nerve(['show', 'last', 'all'])).out).toMatch(/\nsteps\n {2}✓ say {2}.*\n {2}✓ say /)
    expect((await nerve(['show', 'last', 'flaky'])).out).toMatch(
      /attempts {2}2[^]*step-failed +retry\/flaky {2}attempt 1: not yet/,
    )
    for (const [path, hint] of [
      ['say', 'Did you mean all/0/say or all/1/say?'],
      ['al', 'Did you mean all?'],
      ['something else', 'shows what it has.'],
    ]) {
      const refused = await nerve(['show', 'last', path ?? ''])
      expect([refused.code, refused.out]).toEqual([2, ''])
      expect(refused.err).toContain(hint)
    }
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
