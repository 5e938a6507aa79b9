/** What can be said about a project's database without changing it: for people who ask whether all is well. */
import { existsSync } from 'node:fs'
import { isAlive } from '../engine/ownership.ts'
import { databaseFile } from './open-store.ts'

export interface DatabaseHealth {
  readonly file: string
  /** The version of the format it was written in. */
  readonly format: number
  /** What SQLite's own check found wrong; empty when nothing is. */
  readonly damage: readonly string[]
  readonly runs: number
  /** Hosts that left a sign of life and are gone. */
  readonly dead: readonly string[]
  /** Runs that ran when their host died and that nobody drives now. */
  readonly crashed: readonly string[]
}

/** Undefined when the folder has no database. Throws what opening it throws: damaged, newer, not readable. */
export async function databaseHealth(dir: string, now: number = Date.now()): Promise<DatabaseHealth | undefined> {
  const file = databaseFile(dir)
  if (!existsSync(file)) return undefined
  const { openDatabase } = await import('../stores/sqlite-schema.ts')
  const { SqliteStore } = await import('../stores/sqlite-store.ts')
  const db = await openDatabase({ file, readOnly: true })
  try {
    const store = new SqliteStore(db, file)
    const hosts = await store.hosts()
    const living = new Set(hosts.filter((record) => isAlive(record, now)).map((record) => record.host))
    const open = await store.heads({ status: ['queued', 'running'] })
    const crashed = open.filter(({ head, owner }) => head.run === head.root && !living.has(owner?.host ?? ''))
    return {
      file,
      format: Number(db.prepare(`SELECT value FROM meta WHERE key = 'format'`).get()?.['value'] ?? 0),
      damage: db
        .prepare('PRAGMA quick_check')
        .all()
        .map((row) => String(row['quick_check']))
        .filter((text) => text !== 'ok'),
      runs: Number(db.prepare('SELECT count(*) AS n FROM runs').get()?.['n'] ?? 0),
      dead: hosts.map((record) => record.host).filter((host) => !living.has(host)),
      crashed: crashed.map(({ head }) => head.run),
    }
  } finally {
    db.close()
  }
}
