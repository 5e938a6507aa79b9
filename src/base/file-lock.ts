/**
 * A lock that one process has at a time. It is the system's, held through SQLite on an empty file: it is gone when the process
 * is, however that ended. Nothing else may open the file: closing it would give the lock away.
 */
import { rmSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { loadSqlite } from './load-sqlite.ts'
import { NerveError } from './nerve-error.ts'

const SQLITE_BUSY = 5

/** Holds the lock until what it returns is called; undefined when somebody else has it, also after `patience` ms. */
export function holdFile(file: string, patience = 0): (() => void) | undefined {
  const { DatabaseSync: Database } = loadSqlite()
  for (;;) {
    const before = inodeOf(file)
    let lock: DatabaseSync | undefined
    try {
      lock = new Database(file)
      lock.exec(`PRAGMA busy_timeout = ${patience}`)
      lock.exec('BEGIN EXCLUSIVE')
    } catch (error) {
      lock?.close()
      if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
      throw new NerveError(
        'store-failed',
        `${file} could not be locked: ${(error as Error).message}. Check that its folder can be written and that the disk is not full.`,
        { cause: error },
      )
    }
    // Whoever held it before may have removed the file after it was opened here: then this is a lock on nothing.
    if (before !== undefined && before === inodeOf(file))
      return () => {
        // Where somebody may wait for it, it stays: they would wait for a file that is not there any more. Another file in its
        // place, as in a folder that was replaced, is not ours.
        if (patience === 0 && inodeOf(file) === before) rmSync(file, { force: true })
        lock.close()
      }
    lock.close()
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}
