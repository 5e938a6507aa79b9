/** Commands that drive runs: questions, signals, pausing, crashes, changed code, forks; one process or two. */
import { afterEach, describe, expect, test } from 'vitest'
import { jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

let here: Project
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>> = {}): Project => (here = project(workflows))
const status = async (run = 'last'): Promise<string> =>
  JSON.parse((await here.nerve(['show', run, '--json'])).out).status

describe('questions', () => {
  test('without a terminal the run parks, tells how to answer, and ends with 3', async () => {
    const { nerve, effects } = open({ 'asking.ts': files.asking })
    const asked = await nerve(['run', 'asking.ts'])
    expect(asked.code).toBe(3)
    expect(asked.out).toContain('1 publish, 2 revise')
    const [, id = ''] = /nerve answer (\S+) publish\n/.exec(asked.out) ?? []
    expect(JSON.parse((await nerve(['inbox', '--json'])).out)).toMatchObject([
      { id, definition: 'asking', prompt: 'Publish this?', choices: ['publish', 'revise'] },
    ])
    expect((await nerve(['inbox'])).out).toContain(`nerve answer ${id} publish`)

    const wrong = await nerve(['answer', id, 'maybe'])
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('"maybe" is not a choice') })

    const next = await nerve(['answer', id, '2', '--json'])
    expect(next.code).toBe(3)
    expect(jsonLines(next.out)[0]).toMatchObject({ type: 'question-answered', id, value: 'revise', via: 'cli' })
    const result = jsonLines(next.out).at(-1)
    expect(result).toMatchObject({ type: 'result', status: 'waiting', questions: [{ prompt: 'Under which name?' }] })

    const again = await nerve(['answer', id, 'publish'])
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining('answered already') })

    const over = await nerve(['answer', 'last', '42', '--json'])
    expect(over.code).toBe(0)
    expect(jsonLines(over.out).at(-1)).toMatchObject({ status: 'completed', output: { answer: 'revise', name: '42' } })
    expect(effects()).toEqual(['after-revise', 'before'])
  })

  test('--yes takes the first choice, and still asks what has none', async () => {
    const { nerve, effects } = open({ 'asking.ts': files.asking })
    const { code, out } = await nerve(['run', 'asking.ts', '--yes', '--json'])
    expect(code).toBe(3)
    expect(jsonLines(out).at(-1)).toMatchObject({ questions: [{ prompt: 'Under which name?' }] })
    expect(effects()).toEqual(['after-publish', 'before'])
  })

  test('an unknown question', async () => {
    const { nerve } = open({ 'asking.ts': files.asking })
    await nerve(['run', 'asking.ts'])
    expect(await nerve(['answer', 'zzz-3', 'x'])).toMatchObject({ code: 2 })
    expect(await nerve(['answer', 'nonsense', 'x'])).toMatchObject({ code: 2 })
  })
})

test('a signal takes a parked run on', async () => {
  const { nerve } = open({ 'signalled.ts': files.signalled })
  const parked = await nerve(['run', 'signalled.ts'])
  expect(parked.code).toBe(3)
  expect(parked.out).toMatch(/nerve signal \w+ paid/)
  expect((await nerve(['signal', 'last', 'other', '1'])).code).toBe(3)
  const { code, out } = await nerve(['signal', 'last', 'paid', '{"amount":12}', '--json'])
  expect(code).toBe(0)
  expect(jsonLines(out).at(-1)).toMatchObject({ output: { paid: { amount: 12 } } })
  expect(await nerve(['signal', 'last', 'paid'])).toMatchObject({ code: 2, err: expect.stringContaining('has ended') })
})

describe('pause, interrupt, cancel', () => {
  test('of a run that another process drives', async () => {
    const { nerve, start, until, write, effects } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    expect(await nerve(['pause', 'last', '--json'])).toMatchObject({ code: 0 })
    write('go', '')
    const { code, out } = await running.ended
    expect(code).toBe(3)
    expect(out).toMatch(/paused {2}slow/)
    expect(out).toMatch(/nerve resume \w+/)
    expect(effects()).toEqual(['first', 'hold'])
    await until(async () => (await status()) === 'paused', 'paused')
    expect((await nerve(['resume', 'last'])).code).toBe(0)
    expect(effects()).toEqual(['first', 'hold', 'last'])
  })

  test('cancel ends the run in the other process with 5', async () => {
    const { nerve, start } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts', '--json'])
    await running.shown('"hold"')
    expect((await nerve(['cancel', 'last'])).code).toBe(0)
    const { code, out } = await running.ended
    expect(code).toBe(5)
    expect(jsonLines(out).at(-1)).toMatchObject({ type: 'result', status: 'cancelled' })
    expect(await nerve(['cancel', 'last'])).toMatchObject({ code: 2, err: expect.stringContaining('has ended') })
  })

  test('interrupt stops the step; its policy decides', async () => {
    const { nerve, start } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    expect((await nerve(['interrupt', 'last'])).code).toBe(0)
    expect((await running.ended).code).toBe(1)
    expect((await nerve(['interrupt', 'last'])).code).toBe(2)
  })

  test('interrupt also stops a step that a paused run still finishes', async () => {
    const { nerve, start, effects } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    expect((await nerve(['pause', 'last'])).code).toBe(0)
    expect(await nerve(['interrupt', 'last'])).toMatchObject({ code: 0, err: '' })
    await running.ended
    expect(effects()).not.toContain('last')
    expect(await nerve(['interrupt', 'last'])).toMatchObject({ code: 2 })
  })

  test('of a parked run, without driving it', async () => {
    const { nerve } = open({ 'asking.ts': files.asking })
    await nerve(['run', 'asking.ts'])
    expect(await nerve(['interrupt', 'last'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('nobody drives it'),
    })
    expect(JSON.parse((await nerve(['pause', 'last', '--json'])).out)).toMatchObject({ status: 'paused' })
    const answered = await nerve(['answer', 'last', 'publish'])
    expect(answered.code).toBe(3)
    expect(here.effects()).toEqual(['before'])
    expect(JSON.parse((await nerve(['cancel', 'last', '--json'])).out)).toMatchObject({ status: 'cancelled' })
  })
})

describe('Ctrl-C', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('%s once pauses and parks, and resume goes on', async (signal) => {
    const { nerve, start, write, effects } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    running.child.kill(signal)
    await running.shown('run-paused')
    write('go', '')
    const { code, out } = await running.ended
    expect(code).toBe(3)
    expect(out).toMatch(/nerve resume \w+\n$/)
    expect(await status()).toBe('paused')
    expect((await nerve(['resume', 'last'])).code).toBe(0)
    expect(effects()).toEqual(['first', 'hold', 'last'])
  })

  test.each(['SIGHUP', 'SIGTERM'] as const)('%s again and again never cancels', async (signal) => {
    const { nerve, start, write } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    running.child.kill(signal)
    await running.shown('run-paused')
    for (const again of ['SIGHUP', 'SIGTERM', 'SIGHUP'] as const) running.child.kill(again)
    const { code, out } = await running.ended
    expect(code).toBe(3)
    expect(out).toMatch(/nerve resume \w+\n$/)
    expect(await status()).toBe('paused')
    write('go', '')
    expect((await nerve(['resume', 'last'])).code).toBe(0)
  })

  test('twice cancels', async () => {
    const { start } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    running.child.kill('SIGINT')
    await running.shown('Pausing')
    running.child.kill('SIGINT')
    const { code, out } = await running.ended
    expect(code).toBe(5)
    expect(out).toMatch(/cancelled {2}slow/)
    expect(await status()).toBe('cancelled')
  })
})

describe('crashes', () => {
  test('kill -9, then resume --all: nothing that was done is done again', async () => {
    const { nerve, start, write, effects } = open({ 'slow.ts': files.slow, 'asking.ts': files.asking })
    await nerve(['run', 'asking.ts'])
    const running = start(['run', 'slow.ts'])
    await running.shown('step-started       hold')
    running.child.kill('SIGKILL')
    await running.ended
    expect(await status()).toBe('crashed')
    const { out: shown } = await nerve(['show', 'last'])
    expect(shown).toMatch(
      /^slow {2}\w+ {2}crashed\n[^]*◦ hold {2}was running\n[^]*Its process is gone. Drive it on: nerve resume/,
    )
    expect((await nerve(['doctor'])).code).toBe(1)
    // Reading and starting other runs drive nothing of it.
    await nerve(['ps'])
    expect(await status()).toBe('crashed')
    write('go', '')
    const { code, out } = await nerve(['resume', '--all', '--json'])
    expect(code).toBe(0)
    const results = jsonLines(out).filter((line) => line.type === 'result')
    expect(results).toMatchObject([{ definition: 'slow', status: 'completed', output: 'over' }])
    expect(effects()).toEqual(['before', 'first', 'hold', 'hold', 'last'])
    expect((await nerve(['resume', '--all'])).out).toContain('Nothing was left behind')
  })

  test('what cannot be taken up is named, and is a failure', async () => {
    const { nerve, start, write } = open({ 'slow.ts': files.slow })
    const running = start(['run', 'slow.ts'])
    await running.shown('holding')
    running.child.kill('SIGKILL')
    await running.ended
    write('slow.ts', 'export default 1')
    const { code, out } = await nerve(['resume', '--all'])
    expect(code).toBe(1)
    expect(out).toMatch(/left {2}\w+ {2}/)
  })
})

describe('changed code', () => {
  test.each([
    { change: 'renamed', plan: { keep: 1, rerun: [], unknown: ['two', 'ask'] }, ran: { one: 1, two: 1, renamed: 1 } },
    // What comes after a step that is new or runs again is not known to fit.
    { change: 'other-input', plan: { keep: 0, rerun: ['one'], unknown: ['two', 'ask'] }, ran: { one: 2, two: 2 } },
  ])('$change: shows the plan, changes nothing, and goes on when told', async ({ change, plan, ran }) => {
    const { nerve, write, effects } = open({ 'changing.ts': files.changing('') })
    await nerve(['run', 'changing.ts'])
    write('changing.ts', files.changing(change))
    const planned = await nerve(['resume', 'last', '--plan', '--json'])
    expect(planned.code).toBe(0)
    expect(JSON.parse(planned.out)).toEqual({ run: expect.any(String), ...plan })
    const { out } = await nerve(['resume', 'last', '--plan'])
    expect(out).toContain(`keep ${plan.keep}`)
    expect(out).toMatch(/\nGo on with: nerve resume \S+ --accept, or --from PATH\n$/)

    const refused = await nerve(['resume', 'last'])
    expect(refused.code).toBe(3)
    expect(refused.out).toMatch(/The code has changed[^]*--accept/)
    const shown = jsonLines((await nerve(['resume', 'last', '--json'])).out).at(-1)
    expect(shown).toMatchObject({ type: 'result', status: 'paused', plan })
    expect(effects()).toEqual(['one', 'two'])

    const accepted = await nerve(['resume', 'last', '--accept', '--json'])
    expect(accepted.code).toBe(3)
    expect(jsonLines(accepted.out).at(-1)).toMatchObject({ status: 'waiting', questions: [{ prompt: 'Go on?' }] })
    expect(
      Object.fromEntries(
        Map.groupBy(effects(), (name) => name)
          .entries()
          .map(([name, all]) => [name, all.length]),
      ),
    ).toEqual(ran)
    expect((await nerve(['answer', 'last', 'yes'])).code).toBe(0)
    write('changing.ts', files.changing(''))
    expect((await nerve(['resume', 'last', '--plan'])).out).toMatch(
      /\nThe run has ended\. .*: nerve fork \S+ --at PATH\n$/,
    )
  })

  test('--from PATH runs that step and what follows again', async () => {
    const { nerve, effects } = open({ 'changing.ts': files.changing('') })
    await nerve(['run', 'changing.ts'])
    expect((await nerve(['resume', 'last', '--from', 'two'])).code).toBe(3)
    expect(effects()).toEqual(['one', 'two', 'two'])
    expect((await nerve(['resume', 'last', '--from', 'nowhere'])).code).toBe(2)
    expect((await nerve(['resume', 'last', '--accept', '--plan'])).code).toBe(2)
  })
})

test('events --follow shows what another process does, to the end', async () => {
  const { start, write } = open({ 'slow.ts': files.slow })
  const running = start(['run', 'slow.ts'])
  await running.shown('holding')
  const following = start(['events', 'last', '--follow', '--json'])
  await following.shown('"hold"')
  write('go', '')
  const { code, out } = await following.ended
  expect(code).toBe(0)
  expect(jsonLines(out).at(-1)).toMatchObject({ type: 'run-completed', output: 'over' })
  expect((await running.ended).code).toBe(0)
})

test('a run goes on when nobody reads it any more', async () => {
  const { start, write, effects } = open({ 'slow.ts': files.slow })
  const running = start(['run', 'slow.ts'])
  await running.shown('holding')
  running.child.stdout?.destroy()
  write('go', '')
  const { code, err } = await running.ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(effects()).toEqual(['first', 'hold', 'last'])
})

test('a step that must not run twice becomes a question after a crash, which --yes leaves to a person', async () => {
  const { nerve, start, effects } = open({ 'once.ts': files.once })
  const running = start(['run', 'once.ts', '--yes'])
  await running.shown('holding')
  running.child.kill('SIGKILL')
  await running.ended
  const resumed = await nerve(['resume', 'last'])
  expect(resumed.code).toBe(3)
  expect(resumed.out).toMatch(/must not run twice[^]*1 retry, 2 skip, 3 fail/)
  const { code, out } = await nerve(['answer', 'last', '{"skip":"by hand"}', '--json'])
  expect(code).toBe(0)
  expect(jsonLines(out).at(-1)).toMatchObject({ output: 'by hand' })
  expect(effects()).toEqual(['pay'])
})

test('fork goes on from a path, with another result before it', async () => {
  const { nerve, effects } = open({ 'changing.ts': files.changing('') })
  await nerve(['run', 'changing.ts'])
  await nerve(['answer', 'last', 'no'])
  const old = JSON.parse((await nerve(['ps', '--json'])).out)[0].run
  const { code, out } = await nerve([
    'fork',
    'last',
    '--at',
    'three',
    '--set',
    'one={"x":1}',
    '--set',
    'ask="yes"',
    '--json',
  ])
  expect(code).toBe(0)
  const result = jsonLines(out).at(-1)
  expect(result).toMatchObject({ type: 'result', status: 'completed', output: { one: { x: 1 }, answer: 'yes' } })
  expect(result.run).not.toBe(old)
  expect(effects()).toEqual(['one', 'three', 'three', 'two'])
  const shown = JSON.parse((await nerve(['show', old, '--json'])).out)
  expect(shown.forks).toEqual([result.run])
  const plain = await nerve(['fork', old, '--at', 'three'])
  expect(plain.out).toMatch(/^\d\d:\d\d:\d\d {2}run-created/)
  expect(plain.out).not.toContain('died')
  expect((await nerve(['fork', old])).code).toBe(2)
  expect((await nerve(['fork', old, '--at', 'nowhere'])).code).toBe(2)
})

describe('a workflow that ends the process that drives it', () => {
  const ending = (code: string): string => `import { workflow } from 'nerve'
export default workflow('ending', async (ctx) => {
  await ctx.step('first', () => 1)
  await ctx.step('ends', () => { ${code}; return new Promise(() => setTimeout(() => undefined, 60_000)) })
})
`
  test.each([
    ['as if all were well', 'process.exit(0)'],
    ['with the code of a run that waits', 'process.exit(3)'],
    ['by what it does not catch', `void Promise.reject(new Error('lost'))`],
  ])('%s: it is a failure, and is told as one', async (_how, code) => {
    const { nerve } = open({ 'ending.ts': ending(code) })
    const { code: ended, err, out } = await nerve(['run', 'ending.ts', '--json'])
    expect(ended).toBe(1)
    // What Node says of an error that nobody caught stands around it.
    const told = err.split('\n').filter((line) => line.startsWith('{'))
    expect(told.map((line) => JSON.parse(line))).toEqual([
      { error: { code: 'unexpected', message: expect.stringContaining('nerve resume --all') } },
    ])
    expect(jsonLines(out).at(-1)).toMatchObject({ type: expect.stringContaining('step') })
    expect(await status()).toBe('crashed')
  })

  test('also when it is only looked at', async () => {
    const { nerve } = open({ 'script.ts': 'process.exit(0)\n' })
    for (const command of ['validate', 'explain'])
      expect(await nerve([command, 'script.ts'])).toMatchObject({
        code: 1,
        err: expect.stringContaining('before the command was done'),
      })
  })
})
