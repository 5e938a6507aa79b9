/** A store that cannot be trusted: full, read-only, damaged, foreign, newer. A clear error, and nothing is changed. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createHost, isNerveError, workflow, type ErrorCode, type Host } from 'nerve'
import { databaseFile } from '../../src/host/open-store.ts'
import { scratch } from './kill.ts'

const [MOUNT, UNMOUNT] = ['/bin/mount', '/bin/umount']
const ROOT = process.getuid?.() === 0 && existsSync(MOUNT)

let dir: string
let clean: (() => void)[]

beforeEach(() => {
  const made = scratch()
  dir = made.dir
  clean = [made.remove]
})

afterEach(() => {
  for (const undo of clean.toReversed()) undo()
})

async function hostIn(folder: string, options: Parameters<typeof createHost>[0] = {}): Promise<Host> {
  const host = await createHost({ dir: folder, onProblem: () => undefined, ...options })
  clean.push(() => void host.close().catch(() => undefined))
  return host
}

async function refusal(work: Promise<unknown>): Promise<{ readonly code: ErrorCode; readonly message: string }> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isNerveError(error)) throw new Error(`expected a NerveError, got ${String(error)}`)
  return { code: error.code, message: error.message }
}

function bytes(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'))
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]))
}

function tmpfs(size: string): void {
  execFileSync(MOUNT, ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir])
  clean.push(() => execFileSync(UNMOUNT, ['-l', dir]))
}

const effects: string[] = []
const long = workflow('long', async (ctx, count: number) => {
  let sum = 0
  for (let i = 0; i < count; i += 1) {
    const label = `step-${i}`
    const text = await ctx.step(label, () => {
      effects.push(label)
      return String(i).padEnd(3_000, '.')
    })
    acks.push(label)
    sum += Number.parseInt(text, 10)
  }
  return sum
})
const acks: string[] = []
const asking = workflow('asking', (ctx) => ctx.ask('Go on?'))
const short = workflow('short', async (ctx, input: number) => {
  const first = await ctx.step('first', () => input)
  return ctx.step('second', () => first * 2)
})

/** A database with one finished and one waiting run, closed. */
async function prepared(): Promise<{ readonly file: string; readonly done: string; readonly waiting: string }> {
  const host = await hostIn(dir)
  const done = await host.start(short, 4)
  await done.result()
  const waiting = await host.start(asking)
  await waiting.rest()
  await host.close()
  return { file: databaseFile(dir), done: done.id, waiting: waiting.id }
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file)
  db.exec(sql)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

describe.skipIf(!ROOT)('a full disk (needs root, to mount a small tmpfs)', () => {
  test('fails the run with store-failed, loses nothing acknowledged, and the run goes on when there is space', async () => {
    tmpfs('700k')
    effects.length = 0
    acks.length = 0
    const host = await hostIn(dir, { definitions: [long] })
    const run = await host.start(long, 400)
    const { code, message } = await refusal(run.result())
    expect(code).toBe('store-failed')
    expect(message).toContain('free some space')
    const told = [...acks]
    expect(told.length).toBeGreaterThan(5)
    expect((await refusal(host.start(long, 1))).code).toBe('store-failed')
    expect((await refusal(run.signal('hello'))).code).toBe('store-failed')

    execFileSync(MOUNT, ['-o', 'remount,size=20m', dir])
    const completed = (await host.journal(run.id)).flatMap(({ event }) =>
      event.type === 'step-completed' ? [event.path] : [],
    )
    expect(completed).toEqual(expect.arrayContaining(told))
    expect((await host.runs()).map((row) => row.run)).toEqual([run.id])
    effects.length = 0
    await host.recover()
    expect(await run.result()).toBe((399 * 400) / 2)
    expect(effects.filter((label) => completed.includes(label))).toEqual([])
  })
})

describe.skipIf(!ROOT)('a read-only file system (needs root, to mount a tmpfs)', () => {
  test('is refused with a clear error and left as it is', async () => {
    tmpfs('20m')
    const { file } = await prepared()
    execFileSync(MOUNT, ['-o', 'remount,ro', dir])
    const before = bytes(join(file, '..'))
    const { code, message } = await refusal(hostIn(dir))
    expect(code).toBe('store-failed')
    expect(message).toContain('can be written')
    expect(bytes(join(file, '..'))).toEqual(before)
  })
})

describe('a damaged database', () => {
  test('with a garbage header is refused and left as it is', async () => {
    mkdirSync(join(dir, '.nerve'))
    writeFileSync(databaseFile(dir), Buffer.alloc(8_192, 'garbage!'))
    const before = bytes(join(dir, '.nerve'))
    const { code, message } = await refusal(hostIn(dir))
    expect(code).toBe('store-corrupt')
    expect(message).toContain(databaseFile(dir))
    expect(bytes(join(dir, '.nerve'))).toEqual(before)
  })

  test('with damaged pages in the middle says so for what it cannot read, and gives the rest', async () => {
    const host = await hostIn(dir)
    for (let i = 0; i < 30; i += 1) await (await host.start(long, 5)).result()
    await host.close()
    const file = databaseFile(dir)
    const data = readFileSync(file)
    for (let page = 30; page < 45; page += 1) data.fill(0xa5, page * 4_096, page * 4_096 + 4_096)
    writeFileSync(file, data)
    const again = await hostIn(dir, { recover: false }).catch((error: unknown) => error)
    const codes = isNerveError(again) ? ['fine', again.code] : await codesOf(again as Host)
    expect(new Set(codes)).toEqual(new Set(['fine', 'store-corrupt']))
  })

  test.each([
    ['broken JSON', `UPDATE events SET data = '{"type":"step-comp' WHERE data LIKE '%step-completed%'`],
    ['no event at all', `UPDATE events SET data = 'null' WHERE data LIKE '%step-completed%'`],
    ['an unknown event', `UPDATE events SET data = '{"type":"stepped"}' WHERE data LIKE '%step-completed%'`],
    ['a missing event', `DELETE FROM events WHERE data LIKE '%"path":"first"%'`],
    ['a missing value', `UPDATE events SET blob = 'nowhere' WHERE data LIKE '%step-completed%'`],
  ])('with %s in the journal of one run names the event, and the other runs are fine', async (_, sql) => {
    const { file, done, waiting } = await prepared()
    change(
      file,
      `${sql}; UPDATE runs SET status = 'running', open = 1, head = json_remove(json_set(head, '$.status', 'running'), '$.ended') WHERE id = '${done}'; DELETE FROM events WHERE data LIKE '%run-completed%'`,
    )
    const host = await hostIn(dir, { definitions: [asking, short] })
    expect(host.recovered.left.map(({ run }) => run)).toEqual([done])
    const { code, message } = await refusal(host.journal(done))
    expect(code).toBe('store-corrupt')
    expect(message).toMatch(/event \d/)
    expect(message).toContain(done)
    const [asked] = await host.inbox()
    await host.answer(asked!.id, 'yes')
    expect(await (await host.handle(waiting)).result()).toBe('yes')
  })

  test('whose making was cut short by a kill is made again', async () => {
    // A rollback journal that was left behind: only a connection that can write can undo what it tells of.
    const making = new DatabaseSync(join(dir, 'making.db'))
    clean.push(() => making.close())
    making.exec('PRAGMA journal_mode = DELETE; PRAGMA user_version = 1; PRAGMA cache_size = 1')
    making.exec('BEGIN IMMEDIATE; CREATE TABLE half(text)')
    for (let i = 0; i < 50; i += 1) making.prepare('INSERT INTO half VALUES(?)').run('x'.repeat(4_000))
    mkdirSync(join(dir, '.nerve'))
    for (const end of ['', '-journal']) copyFileSync(join(dir, `making.db${end}`), databaseFile(dir) + end)
    expect(readFileSync(databaseFile(dir)).length).toBeGreaterThan(10_000)
    const host = await hostIn(dir)
    expect(await (await host.start(short, 4)).result()).toBe(8)
  })

  test('with a WAL that was cut short goes on from what is left of it', async () => {
    effects.length = 0
    const host = await hostIn(dir)
    const run = await host.start(long, 60)
    await run.result()
    const copy = scratch()
    clean.push(copy.remove)
    mkdirSync(join(copy.dir, '.nerve'))
    const [from, to] = [databaseFile(dir), databaseFile(copy.dir)]
    copyFileSync(from, to)
    copyFileSync(`${from}-wal`, `${to}-wal`)
    const whole = readFileSync(`${to}-wal`).length
    expect(whole).toBeGreaterThan(100_000)
    truncateSync(`${to}-wal`, Math.floor(whole * 0.6) + 123)
    // This process, which is alive, is not the owner of the copy.
    change(to, 'DELETE FROM hosts')
    const again = await hostIn(copy.dir, { definitions: [long] })
    expect(again.recovered.left).toEqual([])
    expect(await (await again.handle(run.id)).result()).toBe((59 * 60) / 2)
  })
})

async function codesOf(host: Host): Promise<string[]> {
  const rows = await host.runs().catch((error: unknown) => error)
  if (isNerveError(rows)) return ['fine', rows.code]
  const codes: string[] = []
  for (const row of rows as Awaited<ReturnType<Host['runs']>>) {
    const read = await host.journal(row.run).then(
      () => 'fine',
      (error: unknown) => (isNerveError(error) ? error.code : String(error)),
    )
    codes.push(read)
  }
  return codes
}

describe('a database that is not ours to write', () => {
  test.each([false, true])('of a newer format is refused and left as it is (with an open WAL: %s)', async (hot) => {
    const { file } = await prepared()
    const folder = join(dir, 'copy')
    mkdirSync(join(folder, '.nerve'), { recursive: true })
    const db = new DatabaseSync(file)
    clean.push(() => db.close())
    db.exec(`UPDATE meta SET value = '99' WHERE key = 'format'`)
    if (!hot) db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, databaseFile(folder) + end)
    const before = bytes(join(folder, '.nerve'))
    const { code, message } = await refusal(hostIn(folder))
    expect(code).toBe('store-newer')
    expect(message).toContain('99')
    expect(message).toContain(databaseFile(folder))
    expect(bytes(join(folder, '.nerve'))).toEqual(before)
  })

  test.each([
    ['notes', 'CREATE TABLE notes(text)'],
    ['events', 'CREATE TABLE events(id INTEGER PRIMARY KEY, name TEXT)'],
    ['meta', 'CREATE TABLE meta(key TEXT, value TEXT); CREATE TABLE runs(id TEXT)'],
    ['meta with a format', `CREATE TABLE meta(key TEXT, value TEXT); INSERT INTO meta VALUES('format', '1')`],
  ])('of another program, with a table %s, is refused and left as it is', async (_, sql) => {
    mkdirSync(join(dir, '.nerve'))
    const db = new DatabaseSync(databaseFile(dir))
    db.exec(sql)
    db.close()
    const before = bytes(join(dir, '.nerve'))
    const { code, message } = await refusal(hostIn(dir))
    expect(code).toBe('store-corrupt')
    expect(message).toContain('another program')
    expect(message).toContain(databaseFile(dir))
    expect(bytes(join(dir, '.nerve'))).toEqual(before)
  })
})

if (!ROOT) console.warn('SKIPPED: the tests of a full disk and of a read-only file system need root to mount a tmpfs.')
