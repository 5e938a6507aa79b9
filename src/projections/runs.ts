/** Runs and open questions as people see them: heads, and who owns them, as rows. Pure. */
import type { Budget, Entry, RunStatus, ShownStatus, Usage } from '../journal/events.ts'
import { foldAll, isWorking } from '../journal/fold.ts'
import type { OpenQuestion, OwnedHead } from '../journal/port.ts'

export interface RunRow {
  readonly run: string
  readonly definition: string
  readonly status: ShownStatus
  readonly created: number
  readonly updated: number
  readonly ended?: number
  readonly wake?: number
  readonly parent?: string
  readonly root: string
  readonly forkedFrom?: string
  readonly source?: string
  readonly steps: number
  readonly failures: number
  readonly usage: Usage
  readonly budget?: Budget
  readonly questions: readonly OpenQuestion[]
  readonly signals: readonly string[]
  readonly error?: string
  /** The host that drives it now. */
  readonly owner?: string
}

export interface InboxRow extends OpenQuestion {
  readonly run: string
  readonly definition: string
}

/** `isDriven` tells whether a living process has the run. One that runs and was let go of waits for the next host. */
export function runRow(owned: OwnedHead, isDriven: boolean): RunRow {
  const { head, owner } = owned
  if (isDriven && owner !== undefined) return { ...head, owner: owner.host }
  if (head.status !== 'running' && head.status !== 'queued') return head
  return { ...head, status: owner === undefined ? 'queued' : 'crashed' }
}

/** Those of runs that have not ended. */
export const OPEN: readonly ShownStatus[] = ['queued', 'running', 'waiting', 'paused', 'exhausted', 'crashed']

/** What may be stored of runs that are shown so: whether one that runs is driven, left or lost, its owner tells. */
export function storedAs(shown: readonly ShownStatus[]): RunStatus[] {
  const stored = shown.flatMap((status): readonly RunStatus[] =>
    status === 'running' || status === 'queued' || status === 'crashed' ? ['running', 'queued'] : [status],
  )
  return [...new Set(stored)]
}

/** Whether a step of a run is at work, as its journal says it: also one that is held finishes those that run. */
export function worksOn(run: string, entries: Iterable<Entry>): boolean {
  return isWorking(foldAll(run, entries))
}

export function inboxRows(heads: readonly OwnedHead[]): InboxRow[] {
  return heads
    .flatMap(({ head }) =>
      head.questions.map((question) => ({ ...question, run: head.run, definition: head.definition })),
    )
    .toSorted((a, b) => a.asked - b.asked)
}
