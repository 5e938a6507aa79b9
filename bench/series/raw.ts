// The floor with persistence: the bare loop, plus the rows that Nerve writes for the same run, appended to `node:sqlite` by hand.
// Variants: `single` (a commit per row) and `grouped` (rows of one tick share a commit), WAL with synchronous=NORMAL;
// `power` and `power-grouped` are the same with synchronous=FULL. `read` only reads what another series wrote.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Series, Setup } from '../harness/contract.ts'
import { effect, expectEqual, killSelf, now, sumBelow, text } from '../harness/measure.ts'

interface Output {
  readonly path: string
  readonly after?: string
  readonly output: unknown
}

interface Journal {
  append(run: number, seq: number, row: Output): void | Promise<void>
  read(run: number): Output[]
  close(): void
}

/** As in Nerve's own table, run and sequence number share one integer key; and its pages. */
const SEQ_SPACE = 2 ** 26
const PAGE_BYTES = 2048
const TABLE = 'events(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, data TEXT NOT NULL, blob TEXT)'

function open({ variant, dir }: Setup): Journal {
  mkdirSync(dir, { recursive: true })
  const db = new DatabaseSync(join(dir, 'raw.db'))
  db.exec(`PRAGMA page_size=${PAGE_BYTES}; PRAGMA journal_mode=WAL`)
  db.exec(`PRAGMA synchronous=${variant?.startsWith('power') ? 'FULL' : 'NORMAL'}`)
  db.exec(`CREATE TABLE IF NOT EXISTS ${TABLE}`)
  const insert = db.prepare('INSERT INTO events VALUES(?, ?, ?, NULL)')
  const select = db.prepare('SELECT data FROM events WHERE id >= ? AND id < ? ORDER BY id')
  const append = (run: number, seq: number, row: Output): void => {
    const time = Date.now()
    insert.run(
      run * SEQ_SPACE + seq,
      time,
      JSON.stringify({ type: 'step-completed', attempt: 1, started: time, ...row }),
    )
  }
  return {
    append: variant?.endsWith('grouped') ? grouped(db, append) : append,
    read: (run) =>
      select.all(run * SEQ_SPACE, (run + 1) * SEQ_SPACE).map((row) => JSON.parse(String(row['data'])) as Output),
    close: () => db.close(),
  }
}

type Append = (run: number, seq: number, row: Output) => void

/** Rows that become ready in one tick share one transaction; the caller goes on when it is committed. */
function grouped(db: DatabaseSync, append: Append): (...row: Parameters<Append>) => Promise<void> {
  let waiting: { row: Parameters<Append>; committed: () => void }[] = []
  const flush = (): void => {
    const batch = waiting
    waiting = []
    db.exec('BEGIN')
    for (const { row } of batch) append(...row)
    db.exec('COMMIT')
    for (const { committed } of batch) committed()
  }
  return (...row) =>
    new Promise((committed) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ row, committed })
    })
}

/** The run before the measured ones has the ordinal -1. */
const runNo = (ordinal: number): number => ordinal + 2

/** A run of `total` steps one after the other, between the row that opens it and the row that ends it. */
async function sequence(
  journal: Journal,
  run: number,
  total: number,
  step: (i: number) => Promise<Output>,
): Promise<void> {
  await journal.append(run, 0, { path: '', output: { count: 0 } })
  for (let i = 0; i < total; i++) await journal.append(run, i + 1, await step(i))
  await journal.append(run, total + 1, { path: '', output: null })
}

function chain(setup: Setup) {
  const journal = open(setup)
  return {
    steps: setup.n,
    close: () => journal.close(),
    verify: (count: number) => expectEqual(count, setup.n, 'count'),
    run: async (ordinal: number) => {
      let count = 0
      await sequence(journal, runNo(ordinal), setup.n, async (i) => {
        count += 1
        return { path: `n${i}`, after: `n${i - 1}`, output: { count } }
      })
      return count
    },
  }
}

function loop(setup: Setup) {
  const journal = open(setup)
  return {
    steps: 2 * setup.n,
    close: () => journal.close(),
    verify: (count: number) => expectEqual(count, setup.n, 'count'),
    run: async (ordinal: number) => {
      let count = 0
      await sequence(journal, runNo(ordinal), 2 * setup.n, async (i) => {
        if (i % 2 === 1) return { path: `b/${count}`, after: `a/${count}`, output: { other: count } }
        count += 1
        return { path: `a/${count}`, after: `b/${count - 1}`, output: { count } }
      })
      return count
    },
  }
}

function fanOut(setup: Setup) {
  const journal = open(setup)
  const branch = async (i: number): Promise<number> => i
  return {
    steps: setup.n,
    close: () => journal.close(),
    verify: (sum: number) => expectEqual(sum, sumBelow(setup.n), 'sum'),
    run: async (ordinal: number) => {
      const run = runNo(ordinal)
      await journal.append(run, 0, { path: '', output: { count: 0 } })
      const values = await Promise.all(
        Array.from({ length: setup.n }, async (_, i) => {
          const value = await branch(i)
          await journal.append(run, i + 1, { path: `all/${i}/w`, output: value })
          return value
        }),
      )
      await journal.append(run, setup.n + 1, { path: '', output: null })
      return values.reduce((sum, value) => sum + value, 0)
    },
  }
}

function grow(setup: Setup) {
  const journal = open(setup)
  return {
    steps: setup.n,
    close: () => journal.close(),
    verify: (length: number) => expectEqual(length, setup.n, 'messages'),
    run: async (ordinal: number) => {
      const messages: unknown[] = []
      await sequence(journal, runNo(ordinal), setup.n, async (i) => {
        const message = { role: 'user', content: text(setup.messageBytes, ordinal * setup.n + i) }
        messages.push(message)
        return { path: `turn/${i}`, after: `turn/${i - 1}`, output: message }
      })
      return messages.length
    },
  }
}

/** n rows, a question row; then, timed: an answer row, reading all rows back as a stateless engine must, and the last row. */
function ask(setup: Setup) {
  const journal = open(setup)
  return {
    steps: 1,
    close: () => journal.close(),
    verify: () => {},
    run: async (ordinal: number) => {
      const run = runNo(ordinal)
      const began = now()
      for (let i = 0; i < setup.n; i++) await journal.append(run, i, { path: `n${i}`, output: { count: i + 1 } })
      await journal.append(run, setup.n, { path: 'ask', output: 'ok?' })
      const asked = now()
      await journal.append(run, setup.n + 1, { path: 'ask', output: 'yes' })
      expectEqual(journal.read(run).length, setup.n + 2, 'rows')
      await journal.append(run, setup.n + 2, { path: '', output: 'yes' })
      return { pauseMs: asked - began, answerMs: now() - asked }
    },
  }
}

async function seed(setup: Setup): Promise<unknown> {
  const journal = open(setup)
  for (let i = 0; i < setup.n; i++) {
    effect(setup.dir, i)
    await journal.append(runNo(0), i, { path: `n/${i}`, after: `n/${i - 1}`, output: { count: i + 1 } })
  }
  return killSelf()
}

const ready = async (setup: Setup): Promise<void> => open(setup).close()

async function resume(setup: Setup): Promise<number> {
  const journal = open(setup)
  const last = journal.read(runNo(0)).at(-1)?.output as { count: number }
  await journal.append(runNo(0), setup.n, { path: `n/${setup.n}`, output: { count: last.count + 1 } })
  return last.count + 1
}

/** Only reads the rows that a killed Nerve process left: the same file, the same rows, nothing else. */
async function read({ dir }: Setup): Promise<number> {
  const db = new DatabaseSync(join(dir, '.nerve', 'nerve.db'))
  const rows = db.prepare('SELECT id, time, data FROM events ORDER BY id').all()
  const events = rows.map((row) => JSON.parse(String(row['data'])) as { type: string })
  db.close()
  return events.filter((event) => event.type === 'step-completed').length
}

/** Imported when it is wanted: only they need the PTY. */
const shells = () => import('./raw-terminal.ts')

const gateways = () => import('./raw-gateway.ts')
const servers = () => import('./raw-server.ts')

export async function load(): Promise<Series> {
  return {
    versions: { sqlite: process.versions['sqlite'] ?? '?' },
    ready,
    read,
    chain,
    loop,
    fanOut,
    grow,
    ask,
    seed,
    resume,
    printed: async (setup) => (await shells()).printed(setup),
    echoed: async () => (await shells()).echoed(),
    halted: async (setup) => (await shells()).halted(setup),
    command: async () => (await shells()).command(),
    called: async () => (await gateways()).called(),
    streamed: async (setup) => (await gateways()).streamed(setup),
    asked: async () => (await servers()).asked(),
    subscribed: async (setup) => (await servers()).subscribed(setup),
  }
}
