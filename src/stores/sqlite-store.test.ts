import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, it } from 'vitest'
import { encodeEvent, INLINE_LIMIT } from '../journal/codec.ts'
import { headOf } from '../journal/head.ts'
import { fold } from '../journal/fold.ts'
import { emptyState } from '../journal/run-state.ts'
import type { JournalEvent } from '../journal/events.ts'
import type { JournalStore } from '../journal/port.ts'
import { storeConformance } from '../testing/store-conformance.ts'
import { openSqliteStore } from './sqlite-store.ts'

const folders: string[] = []
const files = new WeakMap<JournalStore, string>()

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nerve-store-'))
  folders.push(folder)
  return join(folder, '.nerve', 'nerve.db')
}

async function open(file = newFile()): Promise<JournalStore> {
  const store = await openSqliteStore({ file })
  files.set(store, file)
  return store
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

// Every case throws when the store does not conform.
/* oxlint-disable vitest/expect-expect */
describe('SqliteStore', () => {
  const reopen = (store: JournalStore): Promise<JournalStore> => open(files.get(store))
  for (const { name, run } of storeConformance({ open: () => open(), reopen })) it(name, run)
})

describe('the file of a SqliteStore', () => {
  it('keeps a value that is written many times once, and drops it with its last run', async () => {
    const file = newFile()
    const store = await open(file)
    const output = 'same'.repeat(INLINE_LIMIT)
    for (const run of ['r1', 'r2']) await writeRun(store, run, output)
    const raw = new DatabaseSync(file)
    const blobs = (): number => Number(raw.prepare('SELECT count(*) AS n FROM blobs').get()?.['n'])
    expect(blobs()).toBe(1)
    await store.remove(['r1'])
    expect(blobs()).toBe(1)
    await store.remove(['r2'])
    expect(blobs()).toBe(0)
    expect(raw.prepare('SELECT count(*) AS n FROM events').get()?.['n']).toBe(0)
    raw.close()
    await store.close()
  })

  it('has small pages, and keeps those it has', async () => {
    const [small, large] = [newFile(), newFile()]
    await (await open(large)).close()
    rmSync(large)
    const made = new DatabaseSync(large)
    made.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL')
    made.close()
    for (const file of [small, large]) {
      const store = await open(file)
      await writeRun(store, 'r1', 'a')
      expect(await store.read('r1', 0, 10)).toHaveLength(2)
      await store.close()
    }
    const pageOf = (file: string): number => readFileSync(file).readUInt16BE(16)
    expect([pageOf(small), pageOf(large)]).toEqual([2048, 4096])
  })

  it('lies in a folder that ignores itself in git', async () => {
    const file = newFile()
    await (await open(file)).close()
    expect(readFileSync(join(file, '..', '.gitignore'), 'utf8')).toBe('*\n')
    expect(statSync(join(file, '..')).mode & 0o077).toBe(0)
  })

  it('is left as it is when it was written by a newer Nerve', async () => {
    const file = newFile()
    await (await open(file)).close()
    const raw = new DatabaseSync(file)
    raw.exec(`UPDATE meta SET value = '999' WHERE key = 'format'`)
    raw.close()
    await expect(open(file)).rejects.toMatchObject({ code: 'store-newer' })
  })

  it('is left as it is when it belongs to another program or is no database', async () => {
    const other = newFile()
    await (await open(other)).close()
    rmSync(other)
    const raw = new DatabaseSync(other)
    raw.exec('CREATE TABLE mine(a)')
    raw.close()
    await expect(open(other)).rejects.toMatchObject({ code: 'store-corrupt' })
    writeFileSync(other, 'This is not a database at all. '.repeat(100))
    await expect(open(other)).rejects.toMatchObject({ code: 'store-corrupt' })
    expect(readFileSync(other, 'utf8')).toContain('This is not a database')
  })

  it('lets others write while it removes much, and goes on later where it was broken off', async () => {
    const file = newFile()
    const [store, other] = [await open(file), await open(file)]
    const raw = new DatabaseSync(file)
    const left = (): unknown[] =>
      ['events', 'blobs', 'meta'].map((name) => raw.prepare(`SELECT count(*) AS n FROM ${name}`).get()?.['n'])
    await writeRun(other, 'r0', 1)
    const none = left()
    const rows = (from: number, count: number, output: unknown) =>
      Array.from({ length: count }, (_, index) =>
        encodeEvent({ type: 'step-completed', path: 'b', attempt: 1, started: 1, output }, index + from, 1),
      )
    const fill = async (): Promise<void> => {
      for (const run of ['r1', 'r2']) {
        await writeRun(store, run, 'same'.repeat(INLINE_LIMIT))
        await store.append([{ run, epoch: 1, rows: rows(3, 3_000, run) }], 'process')
      }
    }
    await fill()
    let isDone = false
    const removed = store.remove(['r1', 'r2']).finally(() => (isDone = true))
    let seq = 3
    await new Promise(setImmediate)
    for (; !isDone; seq += 1) {
      expect(await store.find('r1')).toBeUndefined()
      expect(await other.append([{ run: 'r0', epoch: 1, rows: rows(seq, 1, 1) }], 'process')).toEqual(['ok'])
      await new Promise(setImmediate)
    }
    await removed
    expect(seq).toBeGreaterThan(3)
    expect(await other.read('r0', 0, 10_000)).toHaveLength(seq - 1)
    await other.remove(['r0'])
    await fill()
    const broken = store.remove(['r1', 'r2'])
    await store.close()
    await expect(broken).rejects.toMatchObject({ code: 'store-failed' })
    expect(await other.heads({})).toEqual([])
    await writeRun(other, 'r0', 1)
    expect(left()).not.toEqual(none)
    await other.remove([])
    // And the number that is never given again.
    expect(left()).toEqual([none[0], none[1], Number(none[2]) + 1])
    expect(await other.read('r0', 0, 10)).toHaveLength(2)
    raw.close()
    await other.close()
  })

  it('keeps runs apart also where an older Nerve removed one and gave its number to the next', async () => {
    const file = newFile()
    const store = await open(file)
    await writeRun(store, 'r1', 1)
    const raw = new DatabaseSync(file)
    raw.exec('DELETE FROM events; DELETE FROM runs')
    raw.close()
    const other = await open(file)
    await writeRun(other, 'r2', 1)
    const row = encodeEvent({ type: 'step-completed', path: 'b', attempt: 1, started: 1 }, 3, 1)
    expect(await store.append([{ run: 'r1', epoch: 1, rows: [row] }], 'process')).toEqual(['fenced'])
    expect(await other.read('r2', 0, 10)).toHaveLength(2)
    await other.close()
    await store.close()
  })

  it('has hosts of its own: those in a copy are gone, those in a file that was moved are not', async () => {
    const file = newFile()
    const store = await open(file)
    const { pid } = process
    await store.beat({ host: 'h1', pid, machine: 'here', birth: '', beat: 1 })
    const copy = join(dirname(file), 'copy.db')
    for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${copy}${end}`)
    const other = await open(copy)
    expect(await other.hosts()).toEqual([])
    await other.beat({ host: 'h2', pid, machine: 'here', birth: '', beat: 1 })
    await other.close()
    await store.close()
    const moved = join(dirname(file), 'moved.db')
    renameSync(file, moved)
    for (const [place, host] of [
      [moved, 'h1'],
      [copy, 'h2'],
    ] as const) {
      const again = await open(place)
      expect(await again.hosts()).toMatchObject([{ host }])
      await again.close()
    }
  })

  it('can be made by two processes at the same moment', async () => {
    for (let round = 0; round < 6; round += 1) expect(await madeByTwo(newFile())).toEqual(['ready\n', 'ready\n'])
  }, 60_000)

  it('opens read-only without writing, and says so when there is none', async () => {
    const file = newFile()
    await expect(openSqliteStore({ file, readOnly: true })).rejects.toMatchObject({ code: 'not-found' })
    const store = await open(file)
    await writeRun(store, 'r1', 1)
    const reader = await openSqliteStore({ file, readOnly: true })
    expect((await reader.read('r1', 0, 10)).length).toBe(2)
    await expect(reader.release('r1', 'h1')).rejects.toMatchObject({ code: 'store-failed' })
    await reader.close()
    await store.close()
  })
})

/** What two processes say that open a database as soon as a file is there, which is when both are waiting for it. */
async function madeByTwo(file: string): Promise<string[]> {
  const go = join(dirname(dirname(file)), 'go')
  const program = `
    import { existsSync } from 'node:fs'
    import { openSqliteStore } from ${JSON.stringify(new URL('sqlite-store.ts', import.meta.url).href)}
    await import('node:sqlite')
    const { ppid } = process
    console.log('ready')
    // Whoever is killed cannot tell it to go.
    while (!existsSync(${JSON.stringify(go)})) if (process.ppid !== ppid) process.exit(1)
    await (await openSqliteStore({ file: ${JSON.stringify(file)} })).close()`
  let waiting = 0
  const one = (): Promise<string> =>
    new Promise((resolve) => {
      const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program]
      const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] })
      let said = ''
      child.stderr.on('data', (data: Buffer) => (said += String(data)))
      child.stdout.on('data', (data: Buffer) => {
        said += String(data)
        waiting += 1
        if (waiting === 2) writeFileSync(go, '')
      })
      child.on('close', () => resolve(said))
    })
  return Promise.all([one(), one()])
}

async function writeRun(store: JournalStore, run: string, output: unknown): Promise<void> {
  const events: JournalEvent[] = [
    { type: 'run-created', format: 1, definition: 'demo', root: run, depth: 0 },
    { type: 'step-completed', path: 'a', attempt: 1, started: 1, output },
  ]
  const state = emptyState(run)
  for (const [index, event] of events.entries()) fold(state, index + 1, 1, event)
  const rows = events.map((event, index) => encodeEvent(event, index + 1, 1))
  await store.append([{ run, epoch: 1, rows, head: headOf(state), create: { host: 'h1' } }], 'process')
}
