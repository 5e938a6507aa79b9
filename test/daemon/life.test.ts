/** The life of a daemon: one per project, whatever happens to it, with the code of now. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { jsonLines } from '../cli/nerve.ts'
import * as files from '../cli/workflows.ts'
import { isAlive, stage, type Stage } from './stage.ts'

let here: Stage
afterEach(() => here.remove())

const open = (workflows: Readonly<Record<string, string>>): Stage => (here = stage(workflows))

const statusOf = async (run: string): Promise<string> => {
  const client = await here.client()
  const { status } = await client.runs.get(run)
  await client.close()
  return status
}

describe('--detach', () => {
  test('the run belongs to the daemon, which the command starts; its output is in the log', async () => {
    const { nerve, until, write, effects, log, record } = open({ 'slow.ts': files.slow })
    const { code, out } = await nerve(['run', 'slow.ts', '--detach', '--json'])
    expect(code).toBe(0)
    const { run, pid } = JSON.parse(out)
    expect(record()?.pid).toBe(pid)
    expect(['running', 'queued']).toContain(await statusOf(run))
    await until(() => log().includes('holding'), 'the log')
    expect((await nerve(['server', 'logs'])).out).toContain('holding')
    write('go', '')
    await until(async () => (await statusOf(run)) === 'completed', 'completed')
    expect(effects()).toEqual(['first', 'hold', 'last'])
    const stopped = await nerve(['server', 'stop', '--json'])
    expect(JSON.parse(stopped.out)).toEqual({ stopped: true })
    expect({ record: record(), alive: isAlive(pid) }).toEqual({ record: undefined, alive: false })
    expect((await nerve(['server', 'status'])).code).toBe(1)
  })

  test('a start that fails says why and leaves nothing behind', async () => {
    const { nerve, has } = open({ 'empty.ts': 'export {}' })
    const { code, err } = await nerve(['run', 'empty.ts', '--detach'])
    expect({ code, nerve: has('.nerve') }).toEqual({ code: 2, nerve: false })
    expect(err).toContain('exports no workflow')
    expect((await nerve(['run', 'empty.ts', '--detach', '--local'])).code).toBe(2)
  })

  test('with --yes, questions with choices are answered by whoever stays behind', async () => {
    const { nerve, until, effects } = open({ 'asking.ts': files.asking })
    const { out } = await nerve(['run', 'asking.ts', '--detach', '--yes', '--input', '-'], {
      input: '{"from":"stdin"}',
    })
    const client = await here.client()
    await until(async () => (await client.questions.list())[0]?.prompt === 'Under which name?', 'the next question')
    const [question] = await client.questions.list()
    await client.questions.answer(question?.id ?? '', 'Ada')
    expect(await client.run(out.trim()).result()).toEqual({ answer: 'publish', name: 'Ada' })
    expect(effects()).toEqual(['after-publish', 'before'])
  })
})

test('many commands at once start one daemon, also after it was killed', async () => {
  const { nerve, kill, record, client } = open({ 'greet.ts': files.greet })
  const several = async (): Promise<Set<number>> => {
    const all = await Promise.all(Array.from({ length: 3 }, () => nerve(['run', 'greet.ts', '--detach', '--json'])))
    expect(all.map(({ code, err }) => ({ code, err }))).toEqual(all.map(() => ({ code: 0, err: '' })))
    return new Set(all.map(({ out }) => (JSON.parse(out) as { pid: number }).pid))
  }
  expect(await several()).toEqual(new Set([record()?.pid]))
  const first = record()?.pid
  await kill()
  expect(existsSync(join(here.dir, '.nerve/nerve.sock'))).toBe(true)
  expect(JSON.parse((await nerve(['server', 'status', '--json'])).out)).toEqual({ running: false, died: true })
  expect(await several()).toEqual(new Set([record()?.pid]))
  expect(record()?.pid).not.toBe(first)
  const again = await nerve(['server', 'start', '--foreground'])
  expect({ code: again.code, err: again.err }).toEqual({ code: 1, err: expect.stringContaining('runs already') })
  expect((await (await client()).runs.list()).length).toBe(6)
})

test('SIGTERM: nothing new starts, what runs may finish, and the next daemon goes on', async () => {
  const { nerve, write, kill, log, until, effects } = open({ 'slow.ts': files.slow, 'asking.ts': files.asking })
  const { run } = JSON.parse((await nerve(['run', 'slow.ts', '--detach', '--json'])).out)
  const { run: other } = JSON.parse((await nerve(['run', 'asking.ts', '--detach', '--json'])).out)
  await until(() => log().includes('holding'), 'the step runs')
  const ended = kill('SIGTERM')
  await until(() => log().includes('ends: SIGTERM'), 'it ends')
  write('go', '')
  await ended
  expect(log()).toMatch(/ ended\n$/)
  // The step was finished, and the next one was not begun.
  expect(effects()).toEqual(['before', 'first', 'hold'])
  const rows = JSON.parse((await nerve(['ps', '--json'])).out) as { run: string; status: string }[]
  expect(rows.map(({ status }) => status)).toEqual(['waiting', 'queued'])
  await nerve(['server', 'start'])
  await until(async () => (await statusOf(run)) === 'completed', 'completed')
  expect(await statusOf(other)).toBe('waiting')
  expect(effects()).toEqual(['before', 'first', 'hold', 'last'])
})

test.each([
  ['a signal', {}, (daemon: Stage) => daemon.kill('SIGTERM')],
  ['a command', { via: 'cli' }, (daemon: Stage) => daemon.nerve(['server', 'stop'])],
])('whoever watches all runs is told once that it ends, by %s', async (_by, data, stop) => {
  const { nerve, client } = open({})
  await nerve(['server', 'start'])
  const over = new AbortController()
  const [listens, told] = [Promise.withResolvers<void>(), [] as unknown[]]
  const watch = async (): Promise<void> => {
    const options = { live: true, signal: over.signal, onCursor: () => listens.resolve(), onLost: () => over.abort() }
    for await (const item of (await client()).events(options)) told.push(item)
  }
  const watching = watch()
  await listens.promise
  await stop(here)
  await watching
  expect(told).toMatchObject([{ live: true, type: 'host-stopping', data }])
})

test('what a command in this process leaves is taken up by the daemon', async () => {
  const { nerve, start, until, write, effects } = open({ 'slow.ts': files.slow })
  await nerve(['server', 'start'])
  const local = start(['run', 'slow.ts', '--local'])
  await local.shown('holding')
  local.child.kill('SIGKILL')
  write('go', '')
  const client = await here.client()
  const [row] = await client.runs.list()
  expect(await client.run(row?.run ?? '').result()).toBe('over')
  expect(effects()).toEqual(['first', 'hold', 'hold', 'last'])
  await until(() => here.log().includes(`took up ${row?.run}`), 'the log')
})

test('one that has died and is stopped is not started again', async () => {
  const { nerve, kill, record } = open({ 'greet.ts': files.greet })
  await nerve(['server', 'start'])
  await kill()
  expect(JSON.parse((await nerve(['server', 'stop', '--json'])).out)).toEqual({ stopped: false })
  expect(JSON.parse((await nerve(['server', 'status', '--json'])).out)).toEqual({ running: false })
  expect((await nerve(['run', 'greet.ts', '--input', 'Ada'])).code).toBe(0)
  expect(record()).toBeUndefined()
})

test('a daemon that nobody needs ends', async () => {
  const { nerve, until, record, log } = open({ 'greet.ts': files.greet })
  const { out } = await nerve(['server', 'start', '--idle', '300ms', '--json'])
  const { pid } = JSON.parse(out)
  const client = await here.client()
  const stays = await client.health()
  expect(stays.ok).toBe(true)
  await client.close()
  await until(() => !isAlive(pid), 'it has ended')
  expect(record()).toBeUndefined()
  expect(log()).toContain('nobody needed it')
})

test('a newer command puts an idle older daemon out of the way, and leaves one that works to it', async () => {
  const { nerve, until, record, write, dir } = open({ 'slow.ts': files.slow, 'greet.ts': files.greet })
  const worker = fileURLToPath(new URL('old-daemon.ts', import.meta.url))
  const old = spawn(process.execPath, ['--conditions=nerve-source', worker, dir], { cwd: dir, stdio: 'ignore' })
  try {
    await until(() => record() !== undefined, 'the old one listens')
    const client = await here.client()
    const run = await client.call('runs.start', { file: join(dir, 'slow.ts') })
    await until(() => here.effects().includes('hold'), 'it works')
    const busy = await nerve(['ps', '--json'])
    expect(busy.err).toContain('The daemon is of version 0.0.1')
    expect(record()?.pid).toBe(old.pid)
    write('go', '')
    await client.run(run.run).result()
    await client.close()
    const idle = await nerve(['ps', '--json'])
    expect(idle.err).toMatch(/The daemon was of version 0\.0\.1; one of version \d/)
    expect(JSON.parse(idle.out)).toMatchObject([{ run: run.run, status: 'completed' }])
    expect(record()?.pid).not.toBe(old.pid)
    expect((await nerve(['ps'])).err).toBe('')
  } finally {
    if (old.exitCode === null && old.signalCode === null) {
      old.kill('SIGKILL')
      await once(old, 'exit')
    }
  }
})

test('a run that nobody can take up does not keep an older daemon in its place', async () => {
  const { start, nerve, until, record, dir } = open({ 'slow.ts': files.slow })
  const local = start(['run', 'slow.ts', '--local'])
  await local.shown('holding')
  local.child.kill('SIGKILL')
  await local.ended
  rmSync(join(dir, 'slow.ts'))
  const worker = fileURLToPath(new URL('old-daemon.ts', import.meta.url))
  const old = spawn(process.execPath, ['--conditions=nerve-source', worker, dir], { cwd: dir, stdio: 'ignore' })
  const over = once(old, 'exit')
  try {
    await until(() => record() !== undefined, 'the old one listens')
    expect((await nerve(['ps', '--json'])).err).toMatch(/The daemon was of version 0\.0\.1; one of version \d/)
    expect(record()?.pid).not.toBe(old.pid)
  } finally {
    old.kill('SIGKILL')
    await over
  }
})

const version = (text: string, word = 'flow'): string => `import { workflow } from 'nerve'
import { said } from './said.ts'
export default workflow('${word}', async (ctx) => ctx.step('say', () => '${text} ' + said))
`

test.each([
  ['many newer commands at once', Array.from({ length: 12 }, () => ['run', 'greet.ts', '--detach'])],
  ['a newer server start', [['server', 'start']]],
])('%s: an older daemon is put out of the way, and each of them is answered', async (_who, commands) => {
  const { nerve, until, record, dir } = open({ 'greet.ts': files.greet })
  const worker = fileURLToPath(new URL('old-daemon.ts', import.meta.url))
  const old = spawn(process.execPath, ['--conditions=nerve-source', worker, dir], { cwd: dir, stdio: 'ignore' })
  const over = once(old, 'exit')
  try {
    await until(() => record() !== undefined, 'the old one listens')
    const all = await Promise.all(commands.map((args) => nerve(args)))
    expect(all.map(({ code, err }) => (code === 0 ? 'done' : err))).toEqual(commands.map(() => 'done'))
    expect(record()?.pid).not.toBe(old.pid)
  } finally {
    old.kill('SIGKILL')
    await over
  }
})

test('a restart is not content with a daemon that another command has started in between', async () => {
  const { nerve, write, until, log, record } = open({ 'slow.ts': files.slow, 'greet.ts': files.greet })
  await nerve(['server', 'start', '--http', '0'])
  await nerve(['run', 'slow.ts', '--detach'])
  await until(() => log().includes('holding'), 'the step runs')
  const restarted = nerve(['server', 'restart', '--json'])
  await until(() => record() === undefined, 'it ends')
  const other = nerve(['run', 'greet.ts', '--detach'])
  const began = Date.now()
  await until(() => Date.now() - began > 1_500, 'another one waits for its end')
  write('go', '')
  expect((await other).code).toBe(0)
  const { code, out } = await restarted
  expect({ code, said: jsonLines(out).at(-1) }).toMatchObject({ code: 0, said: { started: true, pid: record()?.pid } })
  expect(record()?.url).toMatch(/^http:/)
})

test('runs have the code of now, and files may have definitions of the same name', async () => {
  const { nerve, write, dir } = open({
    'one.ts': version('one'),
    'two.ts': version('two'),
    'said.ts': "export const said = 'first'",
  })
  await nerve(['trust'])
  await nerve(['server', 'start'])
  const client = await here.client()
  const result = async (file: string): Promise<unknown> => {
    const { run } = await client.call('runs.start', { file: join(dir, file) })
    return client.run(run).result()
  }
  expect(await result('one.ts')).toBe('one first')
  expect(await result('two.ts')).toBe('two first')
  write('one.ts', version('changed'))
  write('said.ts', "export const said = 'second'")
  expect(await result('one.ts')).toBe('changed second')
  expect(await result('two.ts')).toBe('two second')
  mkdirSync(join(dir, 'workflows'))
  writeFileSync(join(dir, 'workflows', 'named.ts'), version('by name', 'named').replace('./said', '../said'))
  expect(await (await client.runs.start('named')).result()).toBe('by name second')
  expect((await client.definitions()).map(({ name }) => name)).toEqual(['named'])
})

const careless = `import { workflow } from 'nerve'
export default workflow('careless', async (ctx) => {
  console.log('I am careless')
  void Promise.reject(new Error('nobody caught me'))
  setTimeout(() => { throw new Error('thrown into the air') })
  await ctx.step('exit', () => process.exit(3))
})
`

test('a careless workflow does not end the daemon', async () => {
  const { nerve, until, log, record } = open({ 'careless.ts': careless, 'greet.ts': files.greet })
  await nerve(['server', 'start'])
  const { pid } = record() ?? {}
  const { code, out, err } = await nerve(['run', 'careless.ts', '--json'])
  expect(code).toBe(1)
  // What it prints is shown as if it were in this process, from the first line on, and what it did not catch too.
  expect(err).toMatch(/^I am careless\n.*nobody caught me/s)
  expect(jsonLines(out).at(-1).error.message).toContain('process.exit(3)')
  await until(() => log().includes('nobody caught me') && log().includes('thrown into the air'), 'the log')
  expect((await nerve(['run', 'greet.ts'])).code).toBe(0)
  expect(record()?.pid).toBe(pid)
})

const restless = `import { workflow } from 'nerve'
export default workflow('restless', async (ctx) => {
  const problem = await ctx.step('move', () => process.chdir('/')).catch((error) => error.message)
  return { problem, at: process.cwd() }
})
`

test('a workflow does not move the working folder away from under the others', async () => {
  const { nerve, dir } = open({ 'restless.ts': restless })
  await nerve(['server', 'start'])
  const { output } = jsonLines((await nerve(['run', 'restless.ts', '--json'])).out).at(-1)
  expect(output).toEqual({ problem: expect.stringContaining('process.chdir'), at: realpathSync(dir) })
})

test('variables that the daemon does not have are told of, and never written down', async () => {
  const { nerve, read } = open({ 'greet.ts': files.greet })
  await nerve(['server', 'start'], { env: { OPENAI_API_KEY: 'sk-the-old-one' } })
  const same = await nerve(['run', 'greet.ts'], { env: { OPENAI_API_KEY: 'sk-the-old-one' } })
  expect(same.err).toBe('')
  const other = await nerve(['run', 'greet.ts'], { env: { OPENAI_API_KEY: 'sk-the-new-one' } })
  expect(other.err).toContain('OPENAI_API_KEY')
  expect(read('.nerve/server.json')).not.toMatch(/sk-the/)
})

describe('what is not safe', () => {
  test('a port that others can reach needs to be meant', async () => {
    const { nerve, record, has, kill } = open({ 'greet.ts': files.greet })
    const beyond = await nerve(['server', 'start', '--http', '0', '--host', '0.0.0.0'])
    expect({ code: beyond.code, err: beyond.err }).toEqual({
      code: 1,
      err: expect.stringContaining('can be reached from other machines'),
    })
    expect({ record: record(), socket: has('.nerve/nerve.sock') }).toEqual({ record: undefined, socket: false })
    expect((await nerve(['server', 'start', '--http', '99999'])).code).toBe(2)
    expect((await nerve(['server', 'start', '--idle', 'soon'])).code).toBe(2)
    const fine = await nerve(['server', 'start', '--http', '0', '--json'])
    const { url } = JSON.parse(fine.out)
    expect((await fetch(`${url}/v1/health`)).status).toBe(401)
    const { secret } = JSON.parse((await nerve(['token', 'show', 'default', '--json'])).out)
    const health = await fetch(`${url}/v1/health`, { headers: { authorization: `Bearer ${secret}` } })
    expect(await health.json()).toMatchObject({ ok: true, open: 0 })
    // Who starts it again starts it as it was.
    await kill()
    expect((await nerve(['run', 'greet.ts'])).code).toBe(0)
    const revived = await fetch(`${record()?.url}/v1/runs/list`, { headers: { authorization: `Bearer ${secret}` } })
    expect(await revived.json()).toHaveLength(1)
  })

  test('a restart that cannot be leaves the daemon as it is', async () => {
    const { nerve, record, write } = open({ 'greet.ts': files.greet })
    await nerve(['server', 'start'])
    const first = record()?.pid
    const beyond = await nerve(['server', 'restart', '--http', '0', '--host', '0.0.0.0'])
    expect({ code: beyond.code, err: beyond.err }).toEqual({
      code: 1,
      err: expect.stringContaining('If that is meant: --beyond-loopback'),
    })
    const page = await nerve(['server', 'restart', '--http', '0', '--origin', 'dashboard.example'])
    expect({ code: page.code, err: page.err }).toEqual({
      code: 2,
      err: expect.stringContaining('--origin: "dashboard.example" is not where pages come from.'),
    })
    write('nerve.config.ts', 'export default { nodes: 7 }')
    expect((await nerve(['server', 'restart'])).err).toContain('nobody has trusted this project yet')
    expect(await nerve(['server', 'restart'], { env: { NERVE_TRUST: '1' } })).toMatchObject({ code: 2 })
    expect(record()?.pid).toBe(first)
    rmSync(join(here.dir, 'nerve.config.ts'))
    // That a port is taken shows only when it is tried.
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const { code, err } = await nerve(['server', 'restart', '--http', String(port)])
    taken.close()
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(
        /in use by another program\. Give another port: nerve server start --http PORT\. The daemon runs again, as it did/,
      ),
    })
    expect((await nerve(['server', 'status'])).code).toBe(0)
  })

  test('a folder that others can write to, and a socket or record that is not ours to use', async () => {
    const { nerve, dir, has } = open({})
    mkdirSync(join(dir, '.nerve'))
    chmodSync(join(dir, '.nerve'), 0o777)
    const shared = await nerve(['server', 'start'])
    expect({ code: shared.code, err: shared.err }).toEqual({
      code: 2,
      err: expect.stringContaining('can be written by others'),
    })
    chmodSync(join(dir, '.nerve'), 0o700)
    symlinkSync('/etc/passwd', join(dir, '.nerve/nerve.sock'))
    const linked = await nerve(['server', 'start'])
    expect({ code: linked.code, err: linked.err }).toEqual({ code: 1, err: expect.stringContaining('is not a socket') })
    expect(has('.nerve/nerve.sock')).toBe(true)
    rmSync(join(dir, '.nerve/nerve.sock'))
    writeFileSync(join(dir, '.nerve/server.json'), '{"pid":1,"socket":"/tmp/x","version":"9"}')
    chmodSync(join(dir, '.nerve/server.json'), 0o666)
    const forged = await nerve(['server', 'status'])
    expect(forged.err).toContain('is not a file that only you can write')
  })
})
