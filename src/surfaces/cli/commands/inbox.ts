/** `nerve inbox`. */
import { existsSync } from 'node:fs'
import { showDuration } from '../../../base/duration.ts'
import { databaseFile, type InboxRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { questionText } from '../outcome.ts'
import type { Output } from '../output.ts'
import { brief } from '../printable.ts'
import { withRuns } from '../project.ts'
import type { RunHost } from '../run-host.ts'
import { pause, unlessEnded, untilSignal } from '../until-signal.ts'

/** How often the journals are looked at: another process asks, and does not say so here. */
const LOOK_MS = 250

export async function run({ args, out, dir }: Invocation): Promise<number> {
  if (args.flag('watch')) return watch(out, dir)
  const rows = await withRuns<InboxRow[]>(
    dir,
    (host) => host.inbox(),
    () => [],
  )
  out.data(rows)
  if (rows.length === 0) out.line('Nothing waits for a person.')
  for (const row of rows) show(out, row)
  return EXIT.done
}

function show(out: Output, row: InboxRow): void {
  const now = Date.now()
  const [first = '', ...more] = questionText(out, row, now)
  const about = `${row.definition} ${row.run}, ${showDuration(Math.max(0, now - row.asked))} ago`
  out.line(`${first}  ${out.tone(about, 'dim')}`)
  for (const line of more) out.line(line)
}

/** Until Ctrl-C. A project that has no runs yet may get some. */
async function watch(out: Output, dir: string): Promise<number> {
  const { signal, release } = untilSignal()
  try {
    out.line(out.tone('Questions as they are asked. Ctrl-C ends this, and nothing else.', 'dim'))
    while (!signal.aborted && !existsSync(databaseFile(dir))) await pause(LOOK_MS, signal)
    await withRuns(
      dir,
      (host) => follow(host, out, signal),
      () => undefined,
    )
    return EXIT.done
  } finally {
    release()
  }
}

async function follow(host: RunHost, out: Output, signal: AbortSignal): Promise<void> {
  const open = new Map<string, InboxRow>()
  while (!signal.aborted) {
    const rows = await unlessEnded(host.inbox(), signal)
    if (rows === undefined) return
    const now = new Set(rows.map(({ id }) => id))
    for (const [id, row] of open) {
      if (now.has(id)) continue
      open.delete(id)
      out.data({ type: 'closed', id, run: row.run })
      out.line(out.tone(`✓ ${brief(row.prompt, 60)}  ${id}`, 'dim'))
    }
    for (const row of rows) {
      if (open.has(row.id)) continue
      open.set(row.id, row)
      out.data({ type: 'asked', ...row })
      show(out, row)
    }
    await pause(LOOK_MS, signal)
  }
}
