/**
 * Removing runs from the SQLite file, in short transactions with pauses: whoever else writes meanwhile would be kept waiting,
 * and give its runs up after a while.
 *
 * Invariants: a run is there as a whole or not at all; its number is never given to another one. What a process that died
 * in the middle has left of a removed run, which nobody sees, goes with the next removal.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { SEQ_SPACE } from './sqlite-schema.ts'

/** How much one transaction does at most, in events and in time. */
const MOST_EVENTS = 5_000
const MOST_MS = 20
/** How much is done between two looks at the clock. */
const EVENTS_AT_ONCE = 200
const BLOBS_AT_ONCE = 20

/** The highest number that was given to a run when the last one was removed. AUTOINCREMENT would write it for each run. */
export const GIVEN = `coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'given'), 0)`

const STATEMENTS = {
  keepGiven: `INSERT OR REPLACE INTO meta SELECT 'given', max(no) FROM runs HAVING max(no) > ${GIVEN}`,
  /** Notes whose events have to go. */
  mark: `INSERT OR IGNORE INTO meta SELECT 'removed/' || no, no FROM runs WHERE id = ?`,
  removeRun: 'DELETE FROM runs WHERE id = ?',
  removeCommands: 'DELETE FROM commands WHERE run = ?',
  marked: `SELECT CAST(value AS INTEGER) AS no FROM meta WHERE key > 'removed/' AND key < 'removed0'`,
  /** Of no run that is there: an older Nerve may have given the number again. */
  removeEvents: 'DELETE FROM events WHERE id >= ? AND id < ? AND NOT EXISTS (SELECT 1 FROM runs WHERE no = ?)',
  firstEvent: 'SELECT min(id) AS id FROM events WHERE id >= ? AND id < ?',
  lastEvent: 'SELECT max(id) AS id FROM events WHERE id >= ? AND id < ?',
  unmark: `DELETE FROM meta WHERE key = 'removed/' || ?`,
  nextBlobs: `SELECT max(hash) AS last FROM (SELECT hash FROM blobs WHERE hash > ? ORDER BY hash LIMIT ${BLOBS_AT_ONCE})`,
  removeBlobs: `DELETE FROM blobs WHERE hash > ? AND hash <= ? AND NOT EXISTS (SELECT 1 FROM events WHERE blob = hash)`,
} as const

type Statements = { readonly [Name in keyof typeof STATEMENTS]: StatementSync }
type Transaction = <Value>(work: () => Value) => Value

export async function removeRuns(db: DatabaseSync, transaction: Transaction, runs: readonly string[]): Promise<void> {
  const removal = stepsOf(db, runs)
  for (;;) {
    const began = performance.now()
    if (transaction(() => goOn(removal, began))) return
    // As long as it took: others look for their turn only now and then.
    await new Promise((resolve) => setTimeout(resolve, performance.now() - began))
  }
}

/** True when it is done. */
function goOn(removal: Iterator<number, void>, began: number): boolean {
  for (let events = 0; events < MOST_EVENTS && performance.now() - began < MOST_MS;) {
    const { done, value } = removal.next()
    if (done === true) return true
    events += value
  }
  return false
}

/** Gives how many events each step has removed. */
function* stepsOf(db: DatabaseSync, runs: readonly string[]): Generator<number, void> {
  const sql = Object.fromEntries(
    Object.entries(STATEMENTS).map(([name, text]) => [name, db.prepare(text)]),
  ) as unknown as Statements
  sql.keepGiven.run()
  for (const run of runs) {
    sql.mark.run(run)
    sql.removeCommands.run(run)
    sql.removeRun.run(run)
    yield 0
  }
  const marked = sql.marked.all().map((row) => Number(row['no']))
  for (const no of marked) {
    yield* eventSteps(sql, no)
    // As a text: a number would be written with a point.
    sql.unmark.run(String(no))
  }
  if (marked.length > 0) yield* blobSteps(sql)
}

function* eventSteps(sql: Statements, no: number): Generator<number, void> {
  const end = (no + 1) * SEQ_SPACE
  const [first, last] = [sql.firstEvent.get(no * SEQ_SPACE, end), sql.lastEvent.get(no * SEQ_SPACE, end)]
  if (typeof first?.['id'] !== 'number' || typeof last?.['id'] !== 'number') return
  for (let from = first['id']; from <= last['id']; from += EVENTS_AT_ONCE)
    yield Number(sql.removeEvents.run(from, Math.min(from + EVENTS_AT_ONCE, end), no).changes)
}

function* blobSteps(sql: Statements): Generator<number, void> {
  for (let after = ''; ;) {
    const last = sql.nextBlobs.get(after)?.['last']
    if (typeof last !== 'string') return
    sql.removeBlobs.run(after, last)
    after = last
    yield 0
  }
}
