/** What is under way in a host. A tree that is held (paused, exhausted) starts nothing new, but finishes the steps that run. */
import { addToTimeline, emptyTimeline, type Host, type RunRow } from '../../host/api.ts'

type Looked = Pick<Host, 'run' | 'runs' | 'journal'>
type Row = Pick<RunRow, 'status' | 'owner'>

const HELD = ['paused', 'exhausted'] as const

export function isHeld({ status }: Pick<RunRow, 'status'>): boolean {
  return HELD.some((one) => one === status)
}

/** Some run that is not held runs, or is about to. */
export async function goesOn(host: Looked, isMeant: (row: Row) => boolean): Promise<boolean> {
  const busy = (await host.runs({ status: ['queued', 'running'], children: true })).filter(isMeant)
  const roots = new Set(busy.map(({ root }) => root))
  // What holds a tree is said by its root: its children say that they run, also when nothing of them does.
  for (const root of roots) if (!isHeld(busy.find(({ run }) => run === root) ?? (await host.run(root)))) return true
  return false
}

/** Some tree that is held has a step that runs. Reads journals: to be asked when nothing else is left to ask. */
export async function finishesSteps(host: Looked, isMeant: (row: Row) => boolean): Promise<boolean> {
  const rows = await host.runs({ status: ['queued', 'running', ...HELD], children: true })
  for (const row of rows) if (isMeant(row) && (await hasSteps(host, row.run))) return true
  return false
}

/** Whether the function of a step runs, as the journal of its run says it. */
export async function hasSteps(host: Pick<Host, 'journal'>, run: string): Promise<boolean> {
  const timeline = emptyTimeline()
  for (const entry of await host.journal(run)) addToTimeline(timeline, entry)
  return [...timeline.items.values()].some(({ kind, status }) => kind === 'step' && status === 'running')
}
