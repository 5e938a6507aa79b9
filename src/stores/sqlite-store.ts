/**
 * The journal in one SQLite file (node:sqlite, WAL). Owns the file. Knows nothing of what events mean.
 *
 * Invariants: see journal/port.ts. A batch is one transaction. A fenced run in a batch writes nothing, the others do. The
 * number of a removed run is never given to another one, so what is remembered of it here finds nothing.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { failpoint } from '../base/failpoint.ts'
import type { Row } from '../journal/codec.ts'
import { isEnded, type Durability } from '../journal/events.ts'
import type {
  Append,
  AppendResult,
  Command,
  HeadFilter,
  HostRecord,
  JournalStore,
  OwnedHead,
  RunHead,
} from '../journal/port.ts'
import { openDatabase, SEQ_SPACE, storeError, type OpenOptions } from './sqlite-schema.ts'
import { headQuery } from './sqlite-heads.ts'
import { GIVEN, removeRuns } from './sqlite-removal.ts'

const MOST_KNOWN = 1_024

/** A run that was appended to here: its number, who owned it then, and the last event that was seen of it. */
interface Known {
  readonly no: number
  readonly epoch: number
  last: number
}

// Plain question marks only: Node 22 takes ?1 for a named parameter, and binds nothing to it.
const STATEMENTS = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  /**
   * Writes nothing when the run has another epoch: then there is no time, and an event without one is ignored. An INSERT
   * ... SELECT would say it plainer, and make a temporary table each time.
   */
  ownEvent: 'INSERT OR IGNORE INTO events VALUES(?, (SELECT ? FROM runs WHERE no = ? AND epoch = ? AND id = ?), ?, ?)',
  runNumber: 'SELECT no, epoch FROM runs WHERE id = ?',
  lastEvent: 'SELECT max(id) AS id FROM events WHERE id >= ? AND id < ?',
  event: 'INSERT INTO events VALUES(?, ?, ?, ?)',
  blob: 'INSERT OR IGNORE INTO blobs VALUES(?, ?)',
  createRun: `INSERT INTO runs VALUES(1 + max(coalesce((SELECT max(no) FROM runs), 0), ${GIVEN}),
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  head: 'UPDATE runs SET status = ?, updated = ?, wake = ?, asking = ?, open = ?, head = ? WHERE no = ?',
  read: `SELECT e.id, e.time, e.data, e.blob, b.text FROM events e LEFT JOIN blobs b ON b.hash = e.blob
    WHERE e.id > ? AND e.id < ? ORDER BY e.id LIMIT ?`,
  find: 'SELECT owner, epoch, head FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 2',
  owner: 'SELECT owner, epoch FROM runs WHERE id = ?',
  claim: 'UPDATE runs SET owner = ?, epoch = ? WHERE id = ? OR (root = ? AND root <> id)',
  release: 'UPDATE runs SET owner = NULL WHERE (id = ? OR (root = ? AND root <> id)) AND owner = ?',
  beat: 'INSERT OR REPLACE INTO hosts VALUES(?, ?, ?, ?, ?)',
  hosts: 'SELECT host, pid, machine, birth, beat FROM hosts',
  forgetHost: 'DELETE FROM hosts WHERE host = ?',
  post: 'INSERT INTO commands(root, run, body) VALUES(?, ?, ?)',
  commandsOf: `SELECT c.id, c.root, c.run, c.body FROM commands c JOIN runs r ON r.id = c.root
    WHERE c.result IS NULL AND r.owner IS ? ORDER BY c.id`,
  settle: 'UPDATE commands SET result = ? WHERE id = ? AND result IS NULL',
  withdraw: `UPDATE commands SET result = '{"withdrawn":true}' WHERE id = ? AND result IS NULL
    AND (SELECT owner FROM runs WHERE runs.id = commands.root) IS ?`,
  result: 'SELECT result FROM commands WHERE id = ?',
  version: 'PRAGMA data_version',
  nextWake: `SELECT min(wake) AS wake FROM runs WHERE wake IS NOT NULL AND owner IS NULL
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = runs.root AND r.status IN ('paused', 'exhausted'))`,
} as const

type Statements = { readonly [Name in keyof typeof STATEMENTS]: StatementSync }
type Cells = Readonly<Record<string, unknown>>

export async function openSqliteStore(options: OpenOptions): Promise<SqliteStore> {
  return new SqliteStore(await openDatabase(options), options.file)
}

export class SqliteStore implements JournalStore {
  readonly #db: DatabaseSync
  readonly #file: string
  readonly #sql: Statements
  readonly #known = new Map<string, Known>()
  #durability: Durability = 'process'

  constructor(db: DatabaseSync, file: string) {
    this.#db = db
    this.#file = file
    this.#sql = Object.fromEntries(
      Object.entries(STATEMENTS).map(([name, text]) => [name, db.prepare(text)]),
    ) as unknown as Statements
    // Journals are read whole, so this is the one query where arrays instead of objects pay. Early 24s lack them.
    const { read } = this.#sql as { readonly read: Partial<StatementSync> }
    read.setReturnArrays?.(true)
  }

  append(batch: readonly Append[], durability: Durability): readonly AppendResult[] | Promise<readonly AppendResult[]> {
    try {
      this.#sync(durability)
      const only = batch.length === 1 ? batch[0] : undefined
      // One statement is a transaction of its own.
      if (only !== undefined && isSingleRow(only)) return [this.#append(only)]
      return this.#transaction(() => batch.map((append) => this.#append(append)))
    } catch (error) {
      return Promise.reject(storeError(error, this.#file))
    }
  }

  read(run: string, after: number, limit: number): Promise<readonly Row[]> {
    return this.#try(() => {
      const no = this.#sql.runNumber.get(run)?.['no']
      if (no === undefined) return []
      const base = Number(no) * SEQ_SPACE
      const found: readonly object[] = this.#sql.read.all(base + after, base + SEQ_SPACE, limit)
      return found.map((cells) => toRow((Array.isArray(cells) ? cells : Object.values(cells)) as never, base))
    })
  }

  heads(filter: HeadFilter): Promise<readonly OwnedHead[]> {
    return this.#try(() => {
      const { text, values } = headQuery(filter)
      return (this.#db.prepare(text).all(...values) as Cells[]).map(toHead)
    })
  }

  find(id: string): Promise<OwnedHead | undefined> {
    return this.#try(() => {
      const found = (this.#sql.find.all(id, `${id}~`) as Cells[]).map(toHead)
      return found.find((one) => one.head.run === id) ?? (found.length === 1 ? found[0] : undefined)
    })
  }

  claim(root: string, host: string, mayTake: (owner: string | undefined) => boolean): Promise<number | undefined> {
    return this.#try(() =>
      this.#transaction(() => {
        const row = this.#sql.owner.get(root)
        if (row === undefined) return undefined
        const owner = row['owner'] as string | null
        if (!mayTake(owner ?? undefined)) return undefined
        const epoch = Number(row['epoch']) + 1
        this.#sql.claim.run(host, epoch, root, root)
        return epoch
      }),
    )
  }

  release(root: string, host: string): Promise<void> {
    return this.#try(() => void this.#sql.release.run(root, root, host))
  }

  beat(record: HostRecord): Promise<void> {
    return this.#try(() => void this.#sql.beat.run(record.host, record.pid, record.machine, record.birth, record.beat))
  }

  hosts(): Promise<readonly HostRecord[]> {
    return this.#try(() => this.#sql.hosts.all() as unknown as HostRecord[])
  }

  forgetHost(host: string): Promise<void> {
    return this.#try(() => void this.#sql.forgetHost.run(host))
  }

  post(command: Omit<Command, 'id'>): Promise<number> {
    return this.#try(() => Number(this.#sql.post.run(command.root, command.run, command.body).lastInsertRowid))
  }

  commands(host: string | undefined): Promise<readonly Command[]> {
    return this.#try(() => this.#sql.commandsOf.all(host ?? null) as unknown as Command[])
  }

  settle(command: number, result: string): Promise<void> {
    return this.#try(() => void this.#sql.settle.run(result, command))
  }

  withdraw(command: number, owner: string | undefined): Promise<boolean> {
    return this.#try(() => this.#sql.withdraw.run(command, owner ?? null).changes === 1)
  }

  result(command: number): Promise<string | undefined> {
    return this.#try(() => (this.#sql.result.get(command)?.['result'] ?? undefined) as string | undefined)
  }

  version(): number {
    return Number(this.#sql.version.get()?.['data_version'] ?? 0)
  }

  nextWake(): Promise<number | undefined> {
    return this.#try(() => (this.#sql.nextWake.get()?.['wake'] ?? undefined) as number | undefined)
  }

  async remove(runs: readonly string[]): Promise<void> {
    try {
      await removeRuns(this.#db, (work) => this.#transaction(work), runs)
    } catch (error) {
      throw storeError(error, this.#file)
    }
  }

  close(): Promise<void> {
    return this.#try(() => this.#db.close())
  }

  #isOwned(run: string, epoch: number, no?: number): boolean {
    const row = this.#sql.runNumber.get(run)
    return row?.['epoch'] === epoch && (no === undefined || row['no'] === no)
  }

  /** Looked up anew for each owner: the run of this id may have been removed and made again. */
  #find({ run, epoch }: Append): Known | undefined {
    const known = this.#known.get(run)
    if (known?.epoch === epoch) return known
    const row = this.#sql.runNumber.get(run)
    const no = row?.['no']
    if (typeof no !== 'number' || row?.['epoch'] !== epoch) return undefined
    return this.#keep(run, { no, epoch, last: this.#lastOf(no) })
  }

  #lastOf(no: number): number {
    const base = no * SEQ_SPACE
    const found = this.#sql.lastEvent.get(base, base + SEQ_SPACE)?.['id']
    return typeof found === 'number' ? found - base : 0
  }

  /** An event that does not follow the last one seen may still follow one that another process appended. */
  #follows(known: Known, { seq }: Row): boolean {
    if (seq !== known.last + 1) known.last = this.#lastOf(known.no)
    return seq === known.last + 1
  }

  #keep(run: string, known: Known): Known {
    if (this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#known.set(run, known)
    return known
  }

  #append(append: Append): AppendResult {
    const { run, rows, head, create, epoch } = append
    const created = create !== undefined && head !== undefined
    // A child may be created only by whoever owns its tree.
    if (created && run !== head.root && !this.#isOwned(head.root, epoch)) return 'fenced'
    const known = created ? this.#create(head, create.host, epoch) : this.#find(append)
    if (known === undefined) return 'fenced'
    // The first event finds out whether the run is still owned here, as it is written.
    let owned = created
    for (const row of rows) {
      if (!this.#follows(known, row) || !this.#insert(append, known.no, row, owned)) {
        if (owned || this.#isOwned(run, epoch, known.no)) throw gap(run, row.seq)
        return 'fenced'
      }
      owned = true
      known.last = row.seq
    }
    if (!owned && !this.#isOwned(run, epoch, known.no)) return 'fenced'
    if (head !== undefined && !created) this.#update(head, known.no)
    for (const done of append.settle ?? []) this.#sql.settle.run(done.result, done.command)
    return 'ok'
  }

  /** False when the run is not owned here, unless that is known. */
  #insert({ run, epoch }: Append, no: number, row: Row, owned: boolean): boolean {
    const id = no * SEQ_SPACE + row.seq
    const { time, data, blob = null } = row
    if (owned) this.#sql.event.run(id, time, data, blob)
    else if (this.#sql.ownEvent.run(id, time, no, epoch, run, data, blob).changes === 0) return false
    if (blob !== null && row.blobText !== undefined) this.#sql.blob.run(blob, row.blobText)
    return true
  }

  #update(head: RunHead, no: number): void {
    const { status, updated, wake, questions } = head
    const open = isEnded(status) ? 0 : 1
    this.#sql.head.run(status, updated, wake ?? null, questions.length, open, JSON.stringify(head), no)
  }

  #create(head: RunHead, host: string, epoch: number): Known {
    const { run, root, definition, status, updated, wake, questions } = head
    const { lastInsertRowid } = this.#sql.createRun.run(
      run,
      root,
      definition,
      status,
      updated,
      wake ?? null,
      questions.length,
      isEnded(status) ? 0 : 1,
      host,
      epoch,
      JSON.stringify(head),
    )
    return this.#keep(run, { no: Number(lastInsertRowid), epoch, last: 0 })
  }

  #sync(durability: Durability): void {
    if (durability === this.#durability) return
    this.#db.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`)
    this.#durability = durability
  }

  #transaction<Value>(work: () => Value): Value {
    this.#sql.begin.run()
    try {
      const value = work()
      failpoint('commit-half')
      this.#sql.commit.run()
      return value
    } catch (error) {
      // Neither the runs it created nor the events it appended are there.
      this.#known.clear()
      if (this.#db.isTransaction) this.#sql.rollback.run()
      throw error
    }
  }

  #try<Value>(work: () => Value): Promise<Value> {
    try {
      return Promise.resolve(work())
    } catch (error) {
      return Promise.reject(storeError(error, this.#file))
    }
  }
}

function isSingleRow(append: Append): boolean {
  return (
    append.rows.length === 1 &&
    append.rows[0]?.seq !== 1 &&
    append.head === undefined &&
    append.create === undefined &&
    append.settle === undefined &&
    append.rows[0]?.blob === undefined
  )
}

function gap(run: string, seq: number): Error {
  return new Error(`event ${seq} of run ${run} does not follow its last one`)
}

type EventCells = readonly [id: number, time: number, data: string, blob: string | null, text: string | null]

function toRow([id, time, data, blob, text]: EventCells, base: number): Row {
  const seq = id - base
  if (blob === null) return { seq, time, data }
  return { seq, time, data, blob, ...(text === null ? {} : { blobText: text }) }
}

function toHead(cells: Cells): OwnedHead {
  const owner = cells['owner']
  return {
    head: JSON.parse(String(cells['head'])) as RunHead,
    owner: typeof owner === 'string' ? { host: owner, epoch: Number(cells['epoch']) } : undefined,
  }
}
