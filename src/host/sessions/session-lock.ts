/**
 * A session is open in one process at a time. The lock is the system's, held through SQLite on an empty file: it is gone
 * when the process is, however that ended. Nothing else may open the file: closing it would give the lock away.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { NerveError } from '../../base/nerve-error.ts'
import { loadSqlite } from '../../stores/sqlite-schema.ts'
import { sessionFolder } from './session-folder.ts'

const SQLITE_BUSY = 5

/** Holds the session's name in this folder until what it returns is called. */
export async function holdSession(dir: string, name: string): Promise<() => void> {
  const folder = sessionFolder(dir)
  const file = join(folder, `${name}.lock`)
  const { DatabaseSync } = await loadSqlite()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (;;) {
    const before = inodeOf(file)
    const lock = new DatabaseSync(file)
    try {
      lock.exec('PRAGMA busy_timeout = 0')
      lock.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      lock.close()
      throw (error as { errcode?: number }).errcode === SQLITE_BUSY ? openElsewhere(name, dir) : error
    }
    // Whoever held it before may have removed the file after it was opened here: then this is a lock on nothing.
    if (before !== undefined && before === inodeOf(file))
      return () => {
        rmSync(file, { force: true })
        lock.close()
      }
    lock.close()
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

function openElsewhere(name: string, dir: string): NerveError {
  return new NerveError(
    'owned-elsewhere',
    `Session '${name}' in ${dir} is open already, in this process or in another one. Close it there, or choose another name.`,
    { data: { session: name } },
  )
}
