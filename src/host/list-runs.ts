/** Runs as rows, by what they are shown with. */
import type { Engine } from '../engine/engine.ts'
import type { ShownStatus } from '../journal/events.ts'
import { runRow, storedAs, type RunRow } from '../projections/runs.ts'

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
  const stored = status === undefined ? {} : { status: storedAs(status) }
  const filter = { ...rest, ...stored, ...(children === true ? {} : { roots: true }) }
  for (let most = limit; ; most = most === undefined ? undefined : most * 4) {
    const heads = await engine.store.heads(most === undefined ? filter : { ...filter, limit: most })
    const living = await engine.ownership.living()
    const rows = heads
      .map((owned) => runRow(owned, engine.isDriven(owned.head.root, owned.owner, living)))
      .filter((row) => status?.includes(row.status) ?? true)
    if (most === undefined || heads.length < most || rows.length >= (limit ?? 0)) return rows.slice(0, limit)
  }
}
