/** Runs as rows, by what they are shown with. */
import type { Engine } from '../engine/engine.ts'
import type { RunStatus, ShownStatus } from '../journal/events.ts'
import type { OwnedHead } from '../journal/port.ts'
import { isChildAtWork, runRow, storedAs, type RunRow } from '../projections/runs.ts'

export interface RunFilter {
  /** As runs are shown: `queued` and `crashed` are also those that a host has left, or that died with theirs. */
  readonly status?: readonly ShownStatus[]
  readonly definition?: string
  readonly limit?: number
  /** Only the run tree of this root; with `children`, the root and everything below it. */
  readonly root?: string
  /** Also child runs (default false). */
  readonly children?: boolean
  /** Only runs of which something happened at this time (milliseconds since the epoch) or later. */
  readonly movedSince?: number
}

/** The newest first. Who drives a run is not stored with its status: more may have to be read than are wanted. */
export async function listRuns(engine: Engine, { children, status, limit, ...rest }: RunFilter): Promise<RunRow[]> {
  await engine.committer.listed()
  const stored = status === undefined ? {} : { status: storedAs(status, children === true) }
  const filter = { ...rest, ...stored, ...(children === true ? {} : { roots: true }) }
  for (let most = limit; ; most = most === undefined ? undefined : most * 4) {
    const heads = await engine.store.heads(most === undefined ? filter : { ...filter, limit: most })
    const rows = (await rowsOf(engine, heads)).filter((row) => status?.includes(row.status) ?? true)
    if (most === undefined || heads.length < most || rows.length >= (limit ?? 0)) return rows.slice(0, limit)
  }
}

async function rowsOf(engine: Engine, heads: readonly OwnedHead[]): Promise<RunRow[]> {
  const roots = await rootsOf(engine, heads)
  const living = await engine.ownership.living()
  return heads.map((owned) => rowWith(engine, owned, { living, root: roots.get(owned.head.root) }))
}

export async function rowOf(engine: Engine, owned: OwnedHead): Promise<RunRow> {
  const roots = await rootsOf(engine, [owned])
  const living = await engine.ownership.living()
  return rowWith(engine, owned, { living, root: roots.get(owned.head.root) })
}

interface Around {
  readonly living: ReadonlySet<string>
  readonly root: RunStatus | undefined
}

function rowWith(engine: Engine, owned: OwnedHead, { living, root }: Around): RunRow {
  return runRow(owned, engine.isDriven(owned.head.root, owned.owner, living), root)
}

/** What the roots of children say that are at work. */
async function rootsOf(engine: Engine, heads: readonly OwnedHead[]): Promise<ReadonlyMap<string, RunStatus>> {
  const found = new Map<string, RunStatus>()
  if (!heads.some(({ head }) => isChildAtWork(head))) return found
  for (const { head } of heads) if (head.run === head.root) found.set(head.run, head.status)
  for (const { head } of heads) {
    if (!isChildAtWork(head) || found.has(head.root)) continue
    const root = await engine.store.find(head.root)
    if (root !== undefined) found.set(head.root, root.head.status)
  }
  return found
}
