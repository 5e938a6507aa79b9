/** `nerve inbox`. */
import { showDuration } from '../../../base/duration.ts'
import type { InboxRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { questionText } from '../outcome.ts'
import { withRuns } from '../project.ts'

export async function run({ out, dir }: Invocation): Promise<number> {
  const rows = await withRuns<InboxRow[]>(
    dir,
    (host) => host.inbox(),
    () => [],
  )
  out.data(rows)
  if (rows.length === 0) out.line('Nothing waits for a person.')
  const now = Date.now()
  for (const row of rows) {
    const [first = '', ...more] = questionText(out, row, now)
    out.line(
      `${first}  ${out.tone(`${row.definition} ${row.run}, ${showDuration(Math.max(0, now - row.asked))} ago`, 'dim')}`,
    )
    for (const line of more) out.line(line)
  }
  return EXIT.done
}
