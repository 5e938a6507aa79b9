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

/** Such a tree starts nothing new, but finishes the steps that run. */
export const HELD: readonly ShownStatus[] = ['paused', 'exhausted']

/** A child that is at work as far as its own journal says. What holds it is said by its root. */
export function isChildAtWork({ run, root, status }: OwnedHead['head']): boolean {
  return run !== root && isAtWork(status)
}

function isAtWork(status: RunStatus): boolean {
  return status === 'running' || status === 'queued'
}

/**
 * `isDriven` tells whether a living process has the run. One that runs and was let go of waits for the next host. `root` is what the
 * root says, which a child goes no further than.
 */
export function runRow({ head, owner }: OwnedHead, isDriven: boolean, root?: RunStatus): RunRow {
  const status = root !== undefined && HELD.includes(root) && isChildAtWork(head) ? root : head.status
  if (isDriven && owner !== undefined) return { ...head, status, owner: owner.host }
  if (!isAtWork(status)) return { ...head, status }
  return { ...head, status: owner === undefined ? 'queued' : 'crashed' }
}

/** Those of runs that have not ended. */
export const OPEN: readonly ShownStatus[] = ['queued', 'running', 'waiting', 'paused', 'exhausted', 'crashed']

/** What may be stored of runs that are shown so: whether one that runs is driven, left, lost or held, its owner and its root tell. */
export function storedAs(shown: readonly ShownStatus[], children: boolean): RunStatus[] {
  const stored = shown.flatMap((status): readonly RunStatus[] => {
    if (status === 'running' || status === 'queued' || status === 'crashed') return ['running', 'queued']
    return children && HELD.includes(status) ? [status, 'running', 'queued'] : [status]
  })
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
