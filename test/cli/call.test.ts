/** `nerve call`: everything of the contract from the command line, with a daemon and without one. */
import { join } from 'node:path'
import { connect, type Client } from 'nerve/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { contract, type Name } from '../../src/host/contract/contract.ts'
import { fieldsOf, inputOf, outputText, schemas } from '../../src/surfaces/cli/contract-entry.ts'
import { jsonLines, project, type Project } from './nerve.ts'
import * as files from './workflows.ts'

const NAMES = Object.keys(contract) as Name[]
const THERE = { NERVE_LOCAL: '0' }
const SPEC = { nerve: 1, name: 'made', steps: { ok: { prompt: 'Ship it?', choices: ['yes', 'no'] } } }

let here: Project
afterEach(() => here.remove())
const open = (more: Readonly<Record<string, string>> = {}): Project => (here = project(more))

describe('what there is', () => {
  test('is listed as the contract has it, and nothing is made for that', async () => {
    const { nerve, has } = open()
    const listed = JSON.parse((await nerve(['call', '--json'])).out)
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(NAMES)
    expect(listed).toContainEqual({
      name: 'runs.remove',
      kind: 'command',
      scope: 'control',
      summary: contract['runs.remove'].summary,
    })
    expect(listed).toContainEqual(expect.objectContaining({ name: 'definitions.create', local: true }))
    expect(listed).toContainEqual(expect.objectContaining({ name: 'runs.start', localFields: ['file'] }))
    const { out } = await nerve(['call'])
    expect(out).toMatch(/^signals\.send +command +answer +Send a named value into a run$/m)
    expect(out.trimEnd().split('\n')).toHaveLength(NAMES.length)
    expect(has('.nerve')).toBe(false)
  })

  test('shows what it takes and gives, also as JSON Schemas', async () => {
    const { nerve } = open()
    const { out } = await nerve(['call', 'runs.get', '--schema'])
    expect(out).toContain('runs.get: query, needs the scope read\nShow a run.\n')
    expect(out).toContain('\n  run  text, needed  the id of a run, or the beginning of it\n')
    const shown = JSON.parse((await nerve(['call', 'runs.get', '--schema', '--json'])).out)
    expect(shown).toMatchObject({ name: 'runs.get', scope: 'read', input: { required: ['run'] }, output: {} })
  })

  test.each(NAMES)('%s can be shown', (name) => {
    const { input, output } = schemas(name)
    const unclear = /undefined|\[object/
    for (const { type, about } of fieldsOf(input)) expect(`${type} ${about}`).not.toMatch(unclear)
    expect(outputText(output)).not.toMatch(unclear)
    expect(fieldsOf(input).map((field) => field.name)).toEqual(Object.keys(input.properties ?? {}))
  })
})

test('fields one by one are what their schemas say', () => {
  const input = (name: Name, ...pairs: readonly (readonly [string, string])[]) => inputOf(name, {}, pairs)
  expect(input('runs.get', ['run', '12345678'])).toEqual({ run: '12345678' })
  expect(input('runs.list', ['status', 'waiting,failed'], ['limit', '5'], ['children', 'true'])).toEqual({
    ...{ status: ['waiting', 'failed'], limit: 5, children: true },
  })
  expect(input('runs.list', ['status', '["paused"]'], ['limit', 'many'])).toEqual({ status: ['paused'], limit: 'many' })
  expect(input('runs.start', ['input', '{"a":1}'], ['params', '{"b":2}'])).toEqual({
    input: { a: 1 },
    params: { b: 2 },
  })
  expect(input('runs.start', ['input', 'Ada'])).toEqual({ input: 'Ada' })
  expect(input('runs.start', ['budget', '{"usd":2}'])).toEqual({ budget: { usd: 2 } })
  expect(input('runs.fork', ['at', '3'])).toEqual({ at: 3 })
  expect(input('runs.fork', ['at', 'write'])).toEqual({ at: 'write' })
  expect(inputOf('runs.get', { run: 'a', other: 1 }, [['run', 'b']])).toEqual({ run: 'b', other: 1 })
})

test('what is wrong with a call is found before anything is opened for it', async () => {
  const { nerve, has } = open({ 'list.json': '[1]' })
  const refused = async (args: readonly string[], text: string, input = '') => {
    const { code, out, err } = await nerve(['call', ...args], { input })
    expect({ args, code, out, err }).toMatchObject({ code: 2, out: '', err: expect.stringContaining(text) })
  }
  await refused(['run.get'], `there is no 'run.get'. Did you mean 'runs.get'?`)
  await refused(['--param', 'a=1'], 'which NAME?')
  await refused(['--schema'], 'which NAME?')
  await refused(['runs.get', '{"run"'], 'INPUT is not JSON')
  await refused(['runs.get', '-'], 'stdin is not JSON', 'run')
  await refused(['runs.get', '@list.json'], '@list.json is [1]. Give an object')
  await refused(['runs.get', '@none.json'], '@none.json: the file could not be read')
  await refused(['runs.get', '"last"'], 'INPUT is last')
  await refused(['runs.get'], 'run: ')
  await refused(['runs.get', '--param', 'rum=x'], `there is no field 'rum'. Did you mean 'run'?`)
  await refused(['runs.get', '--param', 'run'], `--param is 'run'`)
  await refused(['runs.list', '--param', 'limit=many'], 'limit: ')
  await refused(['runs.list', '{"status":["well"]}'], 'status.0: ')
  await refused(['health', '{"a":1}'], `there is no field 'a'. It takes none.`)
  const { err } = await nerve(['call', 'runs.list', '--param', 'limit=many', '--json'])
  expect(JSON.parse(err)).toMatchObject({
    error: { code: 'bad-input', data: { issues: [expect.stringMatching(/^limit: /)] } },
  })
  expect(has('.nerve')).toBe(false)
})

describe('without a daemon', () => {
  test('who looks makes nothing, and what is not there is said', async () => {
    const { nerve, has } = open()
    expect(JSON.parse((await nerve(['call', 'usage', '--json'])).out)).toEqual({ runs: 0, usage: {}, definitions: [] })
    expect(await nerve(['call', 'runs.list'])).toEqual({ code: 0, out: '[]\n', err: '' })
    expect(await nerve(['call', 'runs.get', '--param', 'run=x'])).toMatchObject({ code: 2, out: '' })
    expect(has('.nerve')).toBe(false)
    expect((await nerve(['call', 'shutdown'])).err).toContain('not to be stopped from outside')
  })

  test('what a call sets going goes on in this process until it rests', async () => {
    const { nerve, start, until, effects, write } = open({ 'asking.ts': files.asking, 'slow.ts': files.slow })
    const slow = start(['call', 'runs.start', '--param', 'file=slow.ts', '--json'])
    const { run: holding } = JSON.parse(await slow.shown('}\n'))
    await until(() => effects().includes('hold'), 'the step that holds')
    expect(slow.child.exitCode).toBe(null)
    write('go', '')
    expect(await slow.ended).toMatchObject({ code: 0, err: 'holding\n' })
    const ended = JSON.parse((await nerve(['call', 'runs.get', `{"run":"${holding}"}`, '--json'])).out)
    expect(ended).toMatchObject({ status: 'completed' })
    const { run } = JSON.parse((await nerve(['call', 'runs.start', '--param', 'file=asking.ts', '--json'])).out)
    const get = async () => JSON.parse((await nerve(['call', 'runs.get', '--param', `run=${run}`, '--json'])).out)
    expect(await get()).toMatchObject({ run, definition: 'asking', status: 'waiting' })
    const [question] = JSON.parse((await nerve(['call', 'questions.list', '--json'])).out)
    const { out } = await nerve([
      'call',
      'questions.answer',
      `{"question":"${question.id}"}`,
      '--param',
      'value=publish',
    ])
    expect(JSON.parse(out)).toEqual({ ok: true })
    expect(await get()).toMatchObject({ status: 'waiting', questions: [{ prompt: 'Under which name?' }] })
    expect(effects()).toEqual(['after-publish', 'before', 'first', 'hold', 'last'])

    const config = { kind: 'bash', id: 'hi', command: 'echo hello' }
    await nerve(['call', 'nodes.create', '-'], { input: JSON.stringify({ config }) })
    const streamed = jsonLines((await nerve(['call', 'nodes.stream', '--param', 'node=hi', '--json'])).out)
    expect(streamed.at(-1)).toMatchObject({ type: 'run-completed', output: { stdout: 'hello\n' } })
    expect(JSON.parse((await nerve(['call', 'sessions.list', '--json'])).out)).toMatchObject([{ name: 'default' }])
  })
})

describe('with the daemon', () => {
  let there: Project
  let client: Client
  const nerve = (...args: readonly string[]) => there.nerve(['call', ...args], { env: THERE })
  beforeAll(async () => {
    there = project({ 'made.json': JSON.stringify({ spec: SPEC }), 'greet.ts': files.greet })
    const { code, err } = await there.nerve(['server', 'start'], { env: THERE })
    if (code !== 0) throw new Error(err)
    client = await connect(join(there.dir, '.nerve', 'nerve.sock'))
  })
  // Ends the daemon as well.
  afterAll(async () => {
    await client.close()
    there.remove()
  })

  test('commands and queries do there what the client does', async () => {
    expect(await nerve('definitions.create', '@made.json', '--json')).toEqual({
      ...{ code: 0, err: '', out: '{"definition":"made","unchecked":[]}\n' },
    })
    const { run } = JSON.parse((await nerve('runs.start', '{"definition":"made"}')).out)
    const waits = await nerve('runs.wait', '--param', `run=${run}`, '--param', 'until=rest', '--json')
    expect(JSON.parse(waits.out)).toEqual({ run, status: 'waiting', ended: false })
    expect(JSON.parse((await nerve('runs.get', '--param', `run=${run.slice(0, 8)}`, '--json')).out)).toEqual(
      await client.runs.get(run),
    )
    const removed = await nerve('definitions.remove', '--param', 'definition=made')
    expect(removed).toMatchObject({ code: 1, err: expect.stringContaining('could not go on without it') })
    expect((await nerve('runs.cancel', '--param', `run=${run}`)).code).toBe(0)
    const audit = JSON.parse((await nerve('audit', `{"run":"${run}"}`, '--json')).out)
    expect(audit).toMatchObject([
      { action: 'cancelled', via: 'cli' },
      { action: 'started', via: 'cli' },
    ])
  })

  test('a feed of what is over ends by itself, from a cursor on', async () => {
    const run = await client.call('runs.start', { file: join(there.dir, 'greet.ts') })
    await client.run(run.run).result()
    const of = ['--param', `run=${run.run}`]
    const all = jsonLines((await nerve('events', ...of, '--json')).out)
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at + 1))
    expect(all.at(-1)).toMatchObject({ type: 'run-completed', run: run.run })
    const rest = await nerve('events', ...of, '--param', `after=${all.length - 1}`)
    expect(rest).toMatchObject({ code: 0, err: '' })
    expect(rest.out).toMatch(new RegExp(`^${run.run} +${all.length}  [\\d:]+  run-completed\\n$`))
  })

  test('a feed that goes on ends with Ctrl-C, says where it was, and goes on from there', async () => {
    const watching = there.start(['call', 'events', '--json', '--param', 'live=true'], THERE)
    // It listens when the first of what is told again and again has come.
    const first = setInterval(() => void client.call('runs.start', { file: join(there.dir, 'greet.ts') }), 100)
    await watching.shown('"type":"run-completed"')
    clearInterval(first)
    watching.child.kill('SIGINT')
    const { code, out, err } = await watching.ended
    expect(code).toBe(0)
    const cursor = /^nerve: To go on from here: --param after='([^']+)'$/m.exec(err)?.[1] ?? ''
    expect(err).toBe(`nerve: To go on from here: --param after='${cursor}'\n`)
    const told = jsonLines(out).flatMap(({ run, seq }) => (seq === undefined ? [] : [`${run} ${seq}`]))
    const { run } = await client.call('runs.start', { file: join(there.dir, 'greet.ts') })
    await client.run(run).result()
    const later = await nerve('events', '--json', '--param', 'once=true', '--param', `after=${cursor}`)
    const more = jsonLines(later.out).map((event) => `${event.run} ${event.seq}`)
    expect(more).toContain(`${run} 1`)
    expect(more.filter((one) => told.includes(one))).toEqual([])
  })

  test('who does not wait for an answer is told that it is not known; what was asked goes on', async () => {
    const command = 'touch begun; until [ -e go ]; do sleep 0.05; done; echo over'
    await client.call('nodes.create', { config: { kind: 'bash', id: 'slow', command } })
    const calling = there.start(['call', 'nodes.execute', '--param', 'node=slow'], THERE)
    await there.until(() => there.has('begun'), 'the node at work')
    calling.child.kill('SIGINT')
    expect(await calling.ended).toMatchObject({ code: 5, out: '', err: expect.stringContaining('is not known') })
    const [row] = await client.runs.list({ limit: 1 })
    expect(row).toMatchObject({ status: 'running' })
    there.write('go', '')
    expect(await client.run(row?.run ?? '').result()).toMatchObject({ stdout: 'over\n' })
  })
})
