/** What is under way in a host. A tree that is held (paused, exhausted) starts nothing new, but finishes the steps that run. */
import { worksOn, type Host, type RunRow } from '../../host/api.ts'

type Looked = Pick<Host, 'run' | 'runs' | 'journal'>
type Row = Pick<RunRow, 'run' | 'owner'>

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

/** Some tree that is held has a step that is at work. Reads journals: to be asked when nothing else is left to ask. */
export async function finishesSteps(host: Looked, isMeant: (row: Row) => boolean): Promise<boolean> {
  const rows = (await host.runs({ status: ['queued', 'running', ...HELD], children: true })).filter(isMeant)
  for (const { run } of rows) if (worksOn(run, await host.journal(run))) return true
  return false
}
