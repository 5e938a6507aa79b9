/** What a person does with a daemon: start here, leave, watch there, answer from anywhere, and nothing is lost. */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { HAS_TERMINAL, jsonLines } from '../cli/nerve.ts'
import * as files from '../cli/workflows.ts'
import { stage, type Stage } from './stage.ts'

const execute = promisify(execFile)
const QUESTION = '(then: revise)\r\n> '

let here: Stage
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>>): Stage => (here = stage(workflows))

const curl = async (path: string, body?: unknown): Promise<unknown> => {
  const post = body === undefined ? [] : ['-H', 'content-type: application/json', '-d', JSON.stringify(body)]
  const socket = here.record()?.socket ?? ''
  const { stdout } = await execute('curl', ['-sS', '--unix-socket', socket, ...post, `http://nerve/v1/${path}`])
  return JSON.parse(stdout)
}

describe.skipIf(!HAS_TERMINAL)('at a terminal', () => {
  test('a window is closed, another one watches, curl answers, the daemon is killed, and the run finishes', async () => {
    const { terminal, start, nerve, kill, until, effects } = open({ 'asking.ts': files.asking })
    const first = terminal(['run', 'asking.ts'], [[QUESTION, 'SIGHUP']])
    expect((await first.ended).out).toContain('goes on. Come back: nerve attach')
    const watcher = start(['attach', 'last', '--json'])
    await watcher.shown('question-asked')
    const [question] = (await curl('questions/list')) as { id: string; run: string }[]
    expect(await curl('questions/answer', { question: question?.id, value: 'publish' })).toEqual({ ok: true })
    await watcher.shown('Under which name?')
    await kill()
    // Whoever watches starts it again, and goes on where it was.
    await until(async () => (await nerve(['server', 'status'])).code === 0, 'it is there again')
    const { code, out } = await nerve(['answer', 'last', 'Ada', '--json'])
    expect({ code, last: jsonLines(out).at(-1) }).toMatchObject({
      code: 0,
      last: { type: 'result', run: question?.run, status: 'completed', output: { answer: 'publish', name: 'Ada' } },
    })
    const watched = await watcher.ended
    expect(watched.code).toBe(0)
    const lines = jsonLines(watched.out)
    expect(lines.at(-1)).toMatchObject({ type: 'result', status: 'completed' })
    const seqs = lines.filter(({ seq }) => seq !== undefined).map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.map((_, at) => at + 1))
    expect(effects()).toEqual(['after-publish', 'before'])
  })

  test('Ctrl-Z leaves the run to itself, also while it asks; Ctrl-C pauses it, and again cancels it', async () => {
    const { terminal, nerve, write, until, log } = open({ 'asking.ts': files.asking, 'slow.ts': files.slow })
    const left = await terminal(['run', 'asking.ts'], [[QUESTION, '\u001A']]).ended
    expect({ code: left.code, out: left.out }).toEqual({ code: 0, out: expect.stringContaining('goes on. Come back') })
    expect(left.out).toContain('Ctrl-Z leaves it running, Ctrl-C pauses it')
    expect(left.out).toContain('The daemon runs now, process')
    const [asking] = JSON.parse((await nerve(['ps', '--json'])).out)
    expect(asking).toMatchObject({ definition: 'asking', status: 'waiting' })

    const paused = await terminal(['run', 'slow.ts'], [['hold', '\u0003']]).ended
    expect(paused.out).not.toContain('The daemon runs now')
    expect({ code: paused.code, out: paused.out }).toEqual({ code: 3, out: expect.stringContaining('nerve resume') })
    await until(() => log().includes('holding'), 'the step goes on in the daemon')
    const cancelled = await terminal(
      ['resume', 'last'],
      [
        ['hold', '\u0003'],
        ['Ctrl-C again', '\u0003'],
      ],
    ).ended
    expect(cancelled.code).toBe(5)
    write('go', '')
  })

  test('who comes to a run is asked what it asks now, and told nothing of what was answered before', async () => {
    const { nerve, terminal } = open({ 'asking.ts': files.asking })
    await nerve(['run', 'asking.ts', '--detach'])
    await nerve(['answer', 'last', 'publish'])
    const { code, out } = await terminal(['attach', 'last'], [['Under which name?\r\n> ', 'Ada\r']]).ended
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('"name": "Ada"') })
    expect(out).not.toContain('Somebody else')
  })

  test('attach says how to answer from elsewhere; without a terminal it ends with 3 at a question that has no deadline', async () => {
    const { nerve, start, terminal } = open({ 'asking.ts': files.asking })
    await nerve(['run', 'asking.ts', '--detach'])
    const piped = start(['attach', 'last'])
    await piped.shown('nerve answer')
    const dumb = terminal(['attach', 'last'], [['nerve answer', 'SIGTERM']], { env: { TERM: 'dumb' } })
    const { code, out } = await dumb.ended
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/question-asked[^]*nerve answer \S+ publish\r\n.* goes on/),
    })
    await nerve(['answer', 'last', 'publish'])
    expect(await piped.ended).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        /nerve answer \S+ publish\n[^]*question-answered[^]*waiting {2}asking[^]*\n {2}nerve answer \S+ VALUE\n$/,
      ),
    })
    await nerve(['answer', 'last', 'Ada'])
    expect(await nerve(['attach', 'last'])).toMatchObject({ code: 0, out: expect.not.stringContaining('nerve answer') })
  })

  test('the daemon is restarted, and takes its time to end: whoever watches goes on with the next one', async () => {
    const { start, nerve, write, until, log, record } = open({ 'slow.ts': files.slow })
    await nerve(['run', 'slow.ts', '--detach'])
    await until(() => log().includes('holding'), 'the step runs')
    const watching = start(['attach', 'last', '--json'])
    await watching.shown('step-started')
    const { pid } = record() ?? {}
    const restarted = nerve(['server', 'restart'])
    await until(() => log().includes('ends: asked'), 'it ends')
    // Longer than one that is gone would be waited for.
    const began = Date.now()
    await until(() => Date.now() - began > 3_500, 'some time has passed')
    write('go', '')
    expect((await restarted).code).toBe(0)
    const { code, out } = await watching.ended
    expect({ code, last: jsonLines(out).at(-1) }).toMatchObject({
      code: 0,
      last: { status: 'completed', output: 'over' },
    })
    expect(record()?.pid).not.toBe(pid)
  })

  test('the daemon is stopped while somebody watches: that is told, and nobody starts it again', async () => {
    const { terminal, nerve, record } = open({ 'asking.ts': files.asking })
    const watching = terminal(['run', 'asking.ts'], [])
    await watching.shown(QUESTION)
    await nerve(['server', 'stop'])
    const { code, out } = await watching.ended
    expect({ code, out }).toEqual({ code: 3, out: expect.stringContaining('The daemon was stopped') })
    expect(record()).toBeUndefined()
  })
})

test('answers, signals, forks, pauses and budgets go through the daemon', async () => {
  const { nerve, until, effects } = open({
    'asking.ts': files.asking,
    'signalled.ts': files.signalled,
    'costly.ts': files.costly,
  })
  await nerve(['server', 'start'])
  const last = async (...args: string[]) => {
    const { code, out } = await nerve([...args, '--json'])
    return { code, ...jsonLines(out).at(-1) }
  }
  expect(await last('run', 'asking.ts')).toMatchObject({ code: 3, status: 'waiting' })
  expect(await nerve(['interrupt', 'last'])).toMatchObject({ code: 2, err: expect.stringContaining('nothing runs') })
  const answered = await nerve(['answer', 'last', 'publish', '--json'])
  expect(answered.code).toBe(3)
  // What was known before is not told again.
  expect(jsonLines(answered.out)[0]).toMatchObject({ type: 'question-answered' })
  expect(await last('answer', 'last', 'Ada')).toMatchObject({ code: 0, output: { name: 'Ada' } })
  expect(await last('fork', 'last', '--at', 'after')).toMatchObject({ code: 3, status: 'waiting' })
  expect(effects()).toEqual(['after-publish', 'after-publish', 'before'])
  expect(await last('cancel', 'last')).toMatchObject({ code: 0 })
  expect(await last('run', 'signalled.ts')).toMatchObject({ code: 3, signals: ['paid'] })
  expect(await last('signal', 'last', 'paid', '{"amount":12}')).toMatchObject({
    code: 0,
    output: { paid: { amount: 12 } },
  })
  expect(await last('run', 'costly.ts', '--budget', 'usd=2')).toMatchObject({ code: 4, status: 'exhausted' })
  expect(await last('resume', 'last', '--budget', 'usd=9')).toMatchObject({ code: 0, output: 'rich' })
  expect((await nerve(['answer', 'nope-1', 'x'])).code).toBe(2)
  expect((await nerve(['show', 'nope'])).code).toBe(2)
  const shown = await nerve(['events', 'last', '--json', '--after', '2'])
  expect(jsonLines(shown.out)[0].seq).toBe(3)
  const whole = await nerve(['export', 'last'])
  const again = await nerve(['import', '-', '--json'], { input: whole.out })
  expect({ code: again.code, err: again.err }).toEqual({ code: 2, err: expect.stringContaining('already') })
  await until(async () => (await nerve(['inbox', '--json'])).out.trim() === '[]', 'no question is open')
  const trail = jsonLines((await nerve(['audit', '--json'])).out)
  expect(trail.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['answered', 'cancelled', 'signalled', 'forked', 'started']),
  )
})

test('a daemon that is killed while nobody watches: who looks is told, who watches sees the run end', async () => {
  const { nerve, until, write, kill, effects } = open({ 'slow.ts': files.slow })
  await nerve(['run', 'slow.ts', '--detach'])
  await until(() => effects().includes('hold'), 'the step runs')
  await kill()
  expect((await nerve(['ps'])).out).toMatch(/crashed .* its process is gone: nerve resume --all/)
  expect((await nerve(['server', 'status'])).code).toBe(1)
  write('go', '')
  expect(await nerve(['attach', 'last'])).toMatchObject({ code: 0, out: expect.stringContaining('over') })
  expect(effects()).toEqual(['first', 'hold', 'hold', 'last'])
})

/** A way to the daemon for commands. When it is cut, nobody is answered any more; it resolves when somebody has asked then. */
async function wayToDaemon(): Promise<{ readonly cut: () => Promise<void>; readonly close: () => void }> {
  const [file, socket] = ['server.json', 'way.sock'].map((name) => join(here.dir, '.nerve', name)) as [string, string]
  const asked = Promise.withResolvers<void>()
  let isCut = false
  const way = createServer((client) => {
    const daemon = connect(join(here.dir, '.nerve', 'nerve.sock'))
    for (const one of [client, daemon]) one.on('error', () => undefined)
    client.on('data', (request) => (isCut ? asked.resolve() : daemon.write(request)))
    daemon.on('data', (reply) => isCut || client.write(reply))
  })
  await new Promise<void>((resolve) => way.listen(socket, resolve))
  writeFileSync(file, JSON.stringify({ ...here.record(), socket }))
  const cut = (): Promise<void> => {
    isCut = true
    return asked.promise
  }
  return { cut, close: () => way.close() }
}

test.each([
  { args: ['attach', 'last'], said: 'goes on. Come back' },
  { args: ['inbox', '--watch'], said: 'Publish this?' },
])('whoever watches can leave while the daemon does not answer: $args', async ({ args, said }) => {
  const { nerve, start } = open({ 'asking.ts': files.asking })
  await nerve(['run', 'asking.ts', '--detach'])
  const { cut, close } = await wayToDaemon()
  const watcher = start(args)
  await watcher.shown('Publish this?')
  await cut()
  watcher.child.kill('SIGINT')
  expect(await watcher.ended).toMatchObject({ code: 0, out: expect.stringContaining(said) })
  close()
})

/** Goes on without an answer, in a moment. */
const patient = `import { workflow } from 'nerve'
export default workflow('patient', (ctx) => ctx.ask('Well?', { deadline: '2s', onDeadline: { default: 'nothing' } }))
`

test('who watches a run that waits, and that the daemon does not have in memory, sees it end', async () => {
  const { nerve } = open({ 'patient.ts': patient })
  expect((await nerve(['run', 'patient.ts'])).code).toBe(3)
  await nerve(['server', 'start'])
  expect(await nerve(['attach', 'last'])).toMatchObject({ code: 0, out: expect.stringContaining('nothing') })
})

test('who comes to a run says yes to what it asks now, and not to what was answered before', async () => {
  const { nerve } = open({ 'asking.ts': files.asking })
  await nerve(['run', 'asking.ts', '--detach'])
  await nerve(['answer', 'last', 'publish'])
  await nerve(['answer', 'last', 'Ada'])
  const { code, out } = await nerve(['attach', 'last', '--yes'])
  expect({ code, out }).toMatchObject({ code: 0, out: expect.not.stringContaining('answered already') })
})

test('what is larger than a stranger may send goes through the daemon as it does without one', async () => {
  const { nerve, write, dir: home } = open({ 'greet.ts': files.greet })
  mkdirSync(join(home, 'other'))
  for (const dir of ['.', 'other']) await nerve(['server', 'start', '--dir', dir])
  write('large.txt', 'x'.repeat(3_000_000))
  const { code, out } = await nerve(['run', 'greet.ts', '--input', '@large.txt'])
  expect({ code, ended: out.includes('completed') }).toEqual({ code: 0, ended: true })
  write('run.jsonl', (await nerve(['export', 'last'])).out)
  expect(await nerve(['import', 'run.jsonl', '--dir', 'other'])).toMatchObject({ code: 0, err: '' })
  await nerve(['server', 'stop', '--dir', 'other'])
})
