/** The tables of a project's database, and opening it without harming what is there. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { NerveError } from '../base/nerve-error.ts'
import { loadSqlite } from '../base/load-sqlite.ts'
import { checkOwnFolder, makeOwnFolder } from '../base/own-folder.ts'
import { FORMAT } from '../journal/events.ts'

const BUSY_MS = 10_000
const SQLITE_BUSY = 5

/** A commit writes whole pages, an ordinary step one of them for a hundred bytes: so half of what SQLite takes by itself. */
const PAGE_BYTES = 2_048

/** A checkpoint waits for the disk, and a log that has to grow costs more than one that is written over: between the two. */
const LOG_BYTES = 3_000 * PAGE_BYTES

/** An event's key is its run's number and its sequence number in one integer: one b-tree, in order of reading. */
export const SEQ_SPACE = 2 ** 26

/**
 * Indexes are partial, so that an ordinary run touches few pages when it starts and ends. The one of open runs has them in
 * the order of lists, and whether they ask: an index of its own for that would be a page more for each question and answer.
 */
const TABLES = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs(
  no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, root TEXT NOT NULL, definition TEXT NOT NULL, status TEXT NOT NULL,
  updated INTEGER NOT NULL, wake INTEGER, asking INTEGER NOT NULL, open INTEGER NOT NULL, owner TEXT, epoch INTEGER NOT NULL,
  head TEXT NOT NULL);
CREATE INDEX runs_child ON runs(root) WHERE root <> id;
CREATE INDEX runs_open ON runs(open, no, asking) WHERE open = 1;
CREATE INDEX runs_wake ON runs(wake) WHERE wake IS NOT NULL;
CREATE TABLE events(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, data TEXT NOT NULL, blob TEXT);
CREATE INDEX events_blob ON events(blob) WHERE blob IS NOT NULL;
CREATE TABLE blobs(hash TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE hosts(host TEXT PRIMARY KEY, pid INTEGER NOT NULL, machine TEXT NOT NULL, birth TEXT NOT NULL, beat INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE commands(id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, run TEXT NOT NULL, body TEXT NOT NULL, result TEXT);
CREATE INDEX commands_open ON commands(root) WHERE result IS NULL;
`

export interface OpenOptions {
  readonly file: string
  readonly readOnly?: boolean
  /** Whoever owns it, and whoever can write to it. */
  readonly foreign?: boolean
}

/** Opens or creates the database. A database that is damaged or newer than this Nerve is refused and left as it is. */
export async function openDatabase(options: OpenOptions): Promise<DatabaseSync> {
  const { DatabaseSync: Database } = loadSqlite()
  const fresh = !existsSync(options.file)
  if (fresh && options.readOnly === true) throw new NerveError('not-found', `There is no database at ${options.file}.`)
  if (options.foreign !== true) checkOwnFolder(dirname(options.file), basename(options.file))
  if (fresh) prepare(options.file)
  try {
    if (fresh) return writable(new Database(options.file), options.file)
    // Looked at first by a connection that cannot write: one that can would also tidy up what it then refuses.
    const look = (): DatabaseSync => checked(new Database(options.file, { readOnly: true }), options.file)
    if (options.readOnly === true) return look()
    if (!isHot(options.file)) look().close()
    return writable(checked(new Database(options.file), options.file), options.file)
  } catch (error) {
    throw error instanceof NerveError ? error : storeError(error, options.file)
  }
}

/** A process died while it made the database: what it left can be undone only by a connection that can write. */
function isHot(file: string): boolean {
  return existsSync(`${file}-journal`)
}

function checked(db: DatabaseSync, file: string): DatabaseSync {
  return orClosed(db, () => {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    checkFormat(db, file)
  })
}

function writable(db: DatabaseSync, file: string): DatabaseSync {
  return orClosed(db, () => {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    // A database that is there keeps the pages it has.
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}`)
    switchToWal(db)
    db.exec('PRAGMA synchronous = NORMAL')
    db.exec('PRAGMA journal_size_limit = 16777216')
    createTables(db, file)
    const page = Number(db.prepare('PRAGMA page_size').get()?.['page_size'])
    db.exec(`PRAGMA wal_autocheckpoint = ${LOG_BYTES / page}`)
  })
}

/**
 * Of two processes that make a database at the same time, SQLite refuses one right here instead of letting it wait: each
 * could be in the other's way. It takes the other a moment.
 */
function switchToWal(db: DatabaseSync): void {
  const patience = Date.now() + BUSY_MS
  for (;;) {
    try {
      return db.exec('PRAGMA journal_mode = WAL')
    } catch (error) {
      if (!isBusy(error) || Date.now() > patience) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
    }
  }
}

function isBusy(error: unknown): boolean {
  // The low byte: the others say more about the same.
  return (Number((error as { readonly errcode?: unknown }).errcode) & 0xff) === SQLITE_BUSY
}

function orClosed(db: DatabaseSync, prepare: () => void): DatabaseSync {
  try {
    prepare()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** What SQLite said, as an error that says what to do about it. */
export function storeError(error: unknown, file: string): NerveError {
  const text = error instanceof Error ? error.message : String(error)
  if (/not a database|malformed|disk image/.test(text)) {
    return new NerveError(
      'store-corrupt',
      `${file} is damaged (${text}). Nothing was changed. Move it away and restore a copy, or import exported runs.`,
      { cause: error },
    )
  }
  const advice = /full/.test(text)
    ? 'The disk is full: free some space, then resume the run.'
    : /readonly|read-only|unable to open|permission/i.test(text)
      ? 'Check that the file and its folder can be written.'
      : 'Nothing of this write was kept.'
  return new NerveError('store-failed', `${file} could not be written or read: ${text}. ${advice}`, { cause: error })
}

/** The folder, and an empty file for this user alone: SQLite gives the files beside it the same mode. */
function prepare(file: string): void {
  makeOwnFolder(dirname(file))
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch (cause) {
    throw new NerveError('store-failed', `${file} could not be made: ${(cause as Error).message}.`, { cause })
  }
}

function checkFormat(db: DatabaseSync, file: string): void {
  if (!hasTables(db, file)) return
  const row = db.prepare(`SELECT value FROM meta WHERE key = 'format'`).get()
  const format = Number(row?.['value'] ?? 0)
  if (format <= FORMAT) return
  throw new NerveError(
    'store-newer',
    `${file} was written by a newer Nerve (format ${format}, this one knows ${FORMAT}). Nothing was changed. Update Nerve.`,
    { data: { format } },
  )
}

const OURS: readonly string[] = ['meta', 'runs', 'events', 'blobs', 'hosts', 'commands']

/** False for a new database. A table of the same name in a database of another program does not make it ours. */
function hasTables(db: DatabaseSync, file: string): boolean {
  const tables = db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()
  if (tables.length === 0) return false
  const names = new Set(tables.map((row) => row['name']))
  if (OURS.every((name) => names.has(name))) return true
  throw new NerveError(
    'store-corrupt',
    `${file} belongs to another program: it is an SQLite file without Nerve's tables. Nothing was changed.`,
  )
}

function createTables(db: DatabaseSync, file: string): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    if (!hasTables(db, file)) {
      db.exec(TABLES)
      db.prepare(`INSERT INTO meta VALUES('format', ?)`).run(String(FORMAT))
    }
    forgetForeignHosts(db, file)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

/**
 * The hosts in a copied database have the one it was copied from: none of them does anything here, however alive its process is. The
 * place of a file stays the same when it is moved, and a copy cannot have it.
 */
function forgetForeignHosts(db: DatabaseSync, file: string): void {
  const { dev, ino } = statSync(file, { bigint: true })
  const place = `${dev}:${ino}`
  const known = db.prepare(`SELECT value FROM meta WHERE key = 'place'`).get()?.['value']
  if (known === place) return
  // One of an older Nerve does not say where it was.
  if (known !== undefined) db.exec('DELETE FROM hosts')
  db.prepare(`INSERT OR REPLACE INTO meta VALUES('place', ?)`).run(place)
}
