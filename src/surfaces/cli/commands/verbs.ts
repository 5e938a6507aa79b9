/** `nerve pause`, `nerve interrupt` and `nerve cancel`: they drive nothing. */
import { NerveError } from '../../../base/nerve-error.ts'
import { addToTimeline, emptyTimeline, HELD, type RunRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { me, withRun } from '../project.ts'
import type { RunHost } from '../run-host.ts'

export function run({ command, args, out, dir }: Invocation): Promise<number> {
  return withRun(dir, args.words[0] ?? '', async (host, row) => {
    const handle = await host.handle(row.run)
    if (command === 'pause') await handle.pause(me())
    else if (command === 'cancel') await handle.cancel(me())
    // One that has ended says so itself.
    else if (row.ended === undefined && (await nothingRuns(host, row))) throw nothingToInterrupt(row)
    else await handle.interrupt(me())
    const { run: id, definition, status } = await host.run(row.run)
    out.data({ run: id, status })
    out.line(`${definition}  ${id}  ${DONE[command]} (${status})`)
    if (command === 'pause') out.line(`  nerve resume ${id}`)
    return EXIT.done
  })
}

async function nothingRuns(host: RunHost, { root, owner }: RunRow): Promise<boolean> {
  if (owner === undefined) return true
  for (const row of await host.runs({ root, children: true }))
    if (row.status === 'running' || (HELD.includes(row.status) && (await hasSteps(host, row.run)))) return false
  return true
}

async function hasSteps(host: RunHost, id: string): Promise<boolean> {
  const timeline = emptyTimeline()
  for (const entry of await host.journal(id)) addToTimeline(timeline, entry)
  return [...timeline.items.values()].some(({ kind, status }) => kind === 'step' && status === 'running')
}

function nothingToInterrupt({ run: id, status, owner }: RunRow): NerveError {
  const how = owner === undefined ? `${status}, and nobody drives it` : status
  return new NerveError('nothing-runs', `Run ${id} is ${how}: nothing runs in it now. To end it: nerve cancel ${id}`, {
    data: { run: id, status },
  })
}

const DONE: Readonly<Record<string, string>> = {
  pause: 'starts nothing new',
  cancel: 'was told to end',
  interrupt: 'was interrupted',
}
