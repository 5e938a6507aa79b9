/**
 * Who did what, to one run or to all: a projection of the journals. The rows of runs say when each was last changed, so the
 * journals are read from the newest change back, and no more of them than are needed.
 */
import { NerveError, isNerveError } from '../../base/nerve-error.ts'
import { createRedactor, type Redactor } from '../../base/redact.ts'
import type { Entry } from '../../journal/events.ts'
import { auditEntries, type AuditEntry } from '../../projections/audit.ts'
import type { RunRow } from '../../projections/runs.ts'
import type { Host } from '../host.ts'
import type { Calls } from './calls.ts'

const LIMIT = 100
const MOST_VALUE = 200

/** As people see it: a value is the beginning of its text, without secrets. */
export interface AuditRow extends Omit<AuditEntry, 'value'> {
  readonly value?: string
}

export interface AuditOptions {
  /** Only this run, and what it started. */
  readonly run?: string | undefined
  /** How many (default 100). */
  readonly limit?: number | undefined
  /** The id of an entry: go on with those that are older. */
  readonly after?: string | undefined
}

/** What is needed of a host for it. */
type Journals = Pick<Host, 'runs' | 'run' | 'journal'>

export function auditCalls(host: Host): Calls<'audit'> {
  return { audit: async (wanted, { read }) => [...(await read(() => auditTrail(host, wanted)))] }
}

/** The newest first. */
export async function auditTrail(host: Journals, options: AuditOptions = {}): Promise<readonly AuditRow[]> {
  const { run, limit = LIMIT, after } = options
  const rows = run === undefined ? await host.runs({ children: true }) : await treeOf(host, run)
  const before = after === undefined ? undefined : await entryAt(host, after)
  const redactor = createRedactor({ longest: MOST_VALUE })
  let found: AuditEntry[] = []
  for (const row of rows.toSorted((one, two) => two.updated - one.updated)) {
    // Nothing that happened in this run, or in those that come after it, is newer than what there is.
    const last = found[limit - 1]
    if (last !== undefined && row.updated < last.time) break
    if (before !== undefined && row.created > before.time) continue
    const own = auditEntries(await journalOf(host, row.run))
    const older = before === undefined ? own : own.filter((entry) => newestFirst(before, entry) < 0)
    found.push(...older)
    if (found.length >= limit) found = found.toSorted(newestFirst).slice(0, limit)
  }
  return found.toSorted(newestFirst).map((entry) => shown(entry, redactor))
}

/** Those of one moment by their runs, and in the order of the journal. */
function newestFirst(one: AuditEntry, two: AuditEntry): number {
  if (one.time !== two.time) return two.time - one.time
  if (one.run !== two.run) return one.run < two.run ? 1 : -1
  return seqOf(two) - seqOf(one)
}

function seqOf({ id }: AuditEntry): number {
  return Number(id.slice(id.lastIndexOf(':') + 1))
}

/** The run and everything below it. */
async function treeOf(host: Journals, wanted: string): Promise<readonly RunRow[]> {
  const { run, root } = await host.run(wanted)
  const below = new Set([run])
  const tree = (await host.runs({ root, children: true })).toSorted((one, two) => one.created - two.created)
  // Parents are older than their children, or as old: so more than once, until nothing is added.
  for (let size = 0; size !== below.size;) {
    size = below.size
    for (const row of tree) if (row.parent !== undefined && below.has(row.parent)) below.add(row.run)
  }
  return tree.filter((row) => below.has(row.run))
}

async function entryAt(host: Journals, id: string): Promise<AuditEntry> {
  const [, run = '', seq] = /^([^:]{1,200}):(\d{1,9})$/.exec(id) ?? []
  const found = auditEntries(await journalOf(host, run)).find((entry) => entry.id === `${run}:${seq}`)
  if (found !== undefined) return found
  throw new NerveError('bad-input', `after: ${JSON.stringify(id.slice(0, 80))} is not the id of an entry.`, {
    data: { field: 'after' },
  })
}

/** Empty when it was removed meanwhile. */
async function journalOf(host: Journals, run: string): Promise<readonly Entry[]> {
  try {
    return await host.journal(run)
  } catch (error) {
    if (isNerveError(error, 'not-found')) return []
    throw error
  }
}

function shown({ value, ...entry }: AuditEntry, redactor: Redactor): AuditRow {
  if (value === undefined) return entry
  const text = typeof value === 'string' ? redactor.text(value) : redactor.text(JSON.stringify(redactor.value(value)))
  return { ...entry, value: text }
}
