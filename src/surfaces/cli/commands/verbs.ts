/** `nerve pause`, `nerve interrupt` and `nerve cancel`: they drive nothing. */
import { NerveError } from '../../../base/nerve-error.ts'
import type { RunRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { me, withRun } from '../project.ts'
import type { RunHost } from '../run-host.ts'

export function run({ command, args, out, dir }: Invocation): Promise<number> {
  return withRun(dir, args.words[0] ?? '', async (host, row) => {
    const handle = await host.handle(row.run)
    if (command === 'pause') await handle.pause(me())
    else if (command === 'cancel') await handle.cancel(me())
    else if (row.owner === undefined)
      throw new NerveError('run-ended', `Run ${row.run} is ${row.status} and nobody drives it: nothing runs in it now.`)
    else if (await nothingRuns(host, row))
      throw new NerveError('run-ended', `Run ${row.run} is ${row.status}: nothing runs in it now.`)
    else await handle.interrupt(me())
    const { run: id, definition, status } = await host.run(row.run)
    out.data({ run: id, status })
    out.line(`${definition}  ${id}  ${DONE[command]} (${status})`)
    if (command === 'pause') out.line(`  nerve resume ${id}`)
    return EXIT.done
  })
}

async function nothingRuns(host: RunHost, { root }: RunRow): Promise<boolean> {
  const rows = await host.runs({ root, children: true })
  return !rows.some(({ status }) => status === 'running')
}

const DONE: Readonly<Record<string, string>> = {
  pause: 'starts nothing new',
  cancel: 'was told to end',
  interrupt: 'was interrupted',
}
