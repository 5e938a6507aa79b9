/** What is under way in a host. A tree that is held (paused, exhausted) starts nothing new, but finishes the steps that run. */
import { HELD, worksOn, type Host, type RunRow } from '../../host/api.ts'

type Looked = Pick<Host, 'runs' | 'journal'>
type Row = Pick<RunRow, 'run' | 'owner'>

/** Some run that is not held runs, or is about to. */
export async function goesOn(host: Looked, isMeant: (row: Row) => boolean): Promise<boolean> {
  return (await host.runs({ status: ['queued', 'running'], children: true })).some(isMeant)
}

/** Some tree that is held has a step that is at work. Reads journals: to be asked when nothing else is left to ask. */
export async function finishesSteps(host: Looked, isMeant: (row: Row) => boolean): Promise<boolean> {
  const rows = (await host.runs({ status: HELD, children: true })).filter(isMeant)
  for (const { run } of rows) if (worksOn(run, await host.journal(run))) return true
  return false
}
