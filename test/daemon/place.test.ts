/** Where a daemon is looked for: records that are stale, foreign or broken, folders that are copied and moved, numbers of processes. */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { COMMAND } from '../cli/nerve.ts'
import * as files from '../cli/workflows.ts'
import { isAlive, stage, type Stage } from './stage.ts'

let here: Stage
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  here.remove()
})

const open = (workflows: Readonly<Record<string, string>>): Stage => (here = stage(workflows))

const status = async (dir = here.dir): Promise<Record<string, unknown>> =>
  JSON.parse((await here.nerve(['server', 'status', '--json', '--dir', dir])).out)

test('many start it at the same time: all of them have it, and its log is whole', async () => {
  const { nerve, record, log } = open({})
  const all = await Promise.all(Array.from({ length: 8 }, () => nerve(['server', 'start', '--json'])))
  expect(all.map(({ code, err }) => ({ code, err }))).toEqual(all.map(() => ({ code: 0, err: '' })))
  const told = all.map(({ out }) => JSON.parse(out) as { pid: number; started: boolean })
  expect(new Set(told.map(({ pid }) => pid))).toEqual(new Set([record()?.pid]))
  expect(told.filter(({ started }) => started)).toHaveLength(1)
  expect(log()).toContain(`process ${record()?.pid}`)
})

describe('the number of its process', () => {
  test('belongs to another one by now: that one is left alone, and nobody waits for its end', async () => {
    const { nerve, write, read, kill, until } = open({})
    await nerve(['server', 'start'])
    await kill()
    const other = spawn('sleep', ['600'])
    ends.push(() => other.kill('SIGKILL'))
    await until(() => other.pid !== undefined, 'the other process')
    write('.nerve/server.json', JSON.stringify({ ...JSON.parse(read('.nerve/server.json')), pid: other.pid }))
    expect(await status()).toEqual({ running: false, died: true })
    expect(JSON.parse((await nerve(['server', 'stop', '--force', '--json'])).out)).toEqual({ stopped: false })
    expect(isAlive(other.pid ?? 0)).toBe(true)
    expect((await nerve(['server', 'start'])).code).toBe(0)
  })

  test('stays listed, because nobody takes note of its end, as in a container: its end is seen all the same', async () => {
    const { nerve, until, dir } = open({})
    const [program, main] = COMMAND
    const start = async (): Promise<void> => {
      // What is started in the background becomes a child of a program that never looks after its children.
      const script = '"$0" "$1" server start --foreground >/dev/null 2>&1 & exec sleep 600'
      const env = { ...process.env, NERVE_LOCAL: '', XDG_STATE_HOME: join(dir, '.state') }
      const careless = spawn('sh', ['-c', script, program ?? '', main ?? ''], { cwd: dir, env })
      ends.push(() => careless.kill('SIGKILL'))
      await until(async () => (await status())['running'] === true, 'it runs')
    }
    await start()
    expect((await nerve(['server', 'stop'])).out).toContain('has ended')
    await start()
    expect((await nerve(['server', 'stop', '--force'])).out).toContain('has ended')
  })
})

test('a record that says nothing, as after a power cut, is no record, and the next one writes another', async () => {
  const { nerve, write, kill } = open({})
  await nerve(['server', 'start'])
  await kill()
  for (const text of ['', 'null', '[]', '{"pid":12', '{"pid":"x","socket":5}']) {
    write('.nerve/server.json', text)
    expect({ text, ...(await status()) }).toEqual({ text, running: false })
  }
  expect((await nerve(['server', 'stop'])).out).toContain('No daemon runs here')
  expect((await nerve(['server', 'start'])).code).toBe(0)
  expect(await status()).toMatchObject({ running: true })
})

test('a copy of the project is another project, also with the record of a daemon that lives', async () => {
  const { nerve, dir, record } = open({ 'asking.ts': files.asking })
  await nerve(['server', 'start'])
  const copy = `${dir}-copy`
  cpSync(dir, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') })
  ends.push(async () => {
    await nerve(['server', 'stop', '--force', '--dir', copy])
    rmSync(copy, { recursive: true, force: true, maxRetries: 5 })
  })
  expect(await status(copy)).toEqual({ running: false })
  expect(JSON.parse((await nerve(['server', 'stop', '--json', '--dir', copy])).out)).toEqual({ stopped: false })
  await nerve(['trust', copy])
  const { code, out, err } = await nerve(['run', join(copy, 'asking.ts'), '--detach', '--json', '--dir', copy])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(JSON.parse(out).pid).not.toBe(record()?.pid)
  expect(JSON.parse((await nerve(['ps', '--json'])).out)).toEqual([])
  expect(await status()).toMatchObject({ running: true, pid: record()?.pid })
})

test('by another name the project is the same', async () => {
  const { nerve, dir, record } = open({})
  await nerve(['server', 'start'])
  const link = `${dir}-link`
  symlinkSync(dir, link)
  ends.push(() => rmSync(link))
  expect(await status(link)).toMatchObject({ running: true, pid: record()?.pid })
})

test('a project that is moved has its daemon in the new place, when one is needed there', async () => {
  const { nerve, dir, record, until } = open({ 'asking.ts': files.asking })
  await nerve(['run', 'asking.ts', '--detach'])
  const { pid = 0 } = record() ?? {}
  const moved = `${dir}-moved`
  renameSync(dir, moved)
  // Its folder is there again for the commands of the test.
  mkdirSync(dir)
  ends.push(async () => {
    await nerve(['server', 'stop', '--force', '--dir', moved])
    rmSync(moved, { recursive: true, force: true, maxRetries: 5 })
  })
  const { code, err } = await nerve(['server', 'start', '--dir', moved])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  await until(() => !isAlive(pid), 'the old one is gone')
  expect(readFileSync(join(moved, '.nerve/logs/server.log'), 'utf8')).toContain('ends: its folder was moved or removed')
  const rows = JSON.parse((await nerve(['ps', '--json', '--dir', moved])).out)
  expect(rows).toMatchObject([{ definition: 'asking', status: 'waiting' }])
  await until(async () => (await status(moved))['running'] === true, 'it is there')
})

test('a daemon whose project is removed ends, and leaves another one in that place alone', async () => {
  const { nerve, dir, record, until, write } = open({})
  await nerve(['server', 'start'])
  const { pid = 0 } = record() ?? {}
  rmSync(dir, { recursive: true })
  mkdirSync(dir)
  write('package.json', '{"type":"module"}')
  expect((await nerve(['server', 'start'])).code).toBe(0)
  await until(() => !isAlive(pid), 'the old one is gone')
  await until(async () => (await status())['running'] === true, 'the new one can be asked')
  expect(record()?.pid).not.toBe(pid)
  expect(existsSync(join(dir, '.nerve/server.lock'))).toBe(true)
})

test('a record and a socket that somebody removed come back, and nobody loses the connection', async () => {
  const { nerve, dir, record, client, until } = open({})
  await nerve(['server', 'start'])
  const { pid } = record() ?? {}
  const connected = await client()
  const both = ['server.json', 'nerve.sock'].map((name) => join(dir, '.nerve', name))
  for (const file of both) rmSync(file)
  await until(() => both.every((file) => existsSync(file)), 'both are there again')
  writeFileSync(join(dir, '.nerve/server.json'), '{}')
  await until(async () => (await status())['running'] === true, 'it can be found')
  expect(record()?.pid).toBe(pid)
  expect((await connected.health()).ok).toBe(true)
})

test('whoever watches does not start it again when it is ended by force', async () => {
  const { nerve, start, record, until } = open({ 'asking.ts': files.asking })
  await nerve(['run', 'asking.ts', '--detach'])
  const { pid = 0 } = record() ?? {}
  const watching = start(['inbox', '--watch', '--json'])
  await watching.shown('asked')
  expect(JSON.parse((await nerve(['server', 'stop', '--force', '--json'])).out)).toEqual({ stopped: true })
  expect(await watching.ended).toMatchObject({ code: 1, err: expect.stringContaining('The daemon was stopped') })
  await until(() => !isAlive(pid), 'it is gone')
  expect(record()).toBeUndefined()
  expect((await nerve(['server', 'start', '--json'])).code).toBe(0)
})

test.each([
  ['removed', []],
  ['restored from a copy', ['kept']],
])('its database is %s: it ends, and what comes then is in the one that is there', async (_how, kept) => {
  const { nerve, dir, record, until, log } = open({ 'asking.ts': files.asking })
  const runs = async (): Promise<string[]> =>
    JSON.parse((await nerve(['ps', '--json'])).out).map(({ definition }: { definition: string }) => definition)
  const copy = join(dir, 'copy.db')
  if (kept.length > 0) {
    await nerve(['run', 'asking.ts', '--local'])
    cpSync(join(dir, '.nerve/nerve.db'), copy)
  }
  const { pid } = JSON.parse((await nerve(['run', 'asking.ts', '--detach', '--json'])).out)
  for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `.nerve/nerve.db${end}`), { force: true })
  if (kept.length > 0) cpSync(copy, join(dir, '.nerve/nerve.db'))
  await until(() => !isAlive(pid), 'it has ended')
  expect(log()).toContain('ends: its database was moved or removed')
  expect(record()).toBeUndefined()
  expect((await nerve(['run', 'asking.ts', '--detach'])).code).toBe(0)
  await nerve(['server', 'stop'])
  expect(await runs()).toEqual(['asking', ...kept.map(() => 'asking')])
})
