/** `nerve gc`. */
import { milliseconds } from '../../../base/duration.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { withRuns } from '../project.ts'

export async function run({ args, out, dir }: Invocation): Promise<number> {
  const olderThan = args.text('older-than')
  if (olderThan === undefined) throw new UsageError('nerve gc: how old? Give --older-than 30d.')
  milliseconds(olderThan, '--older-than')
  const removed = await withRuns<readonly string[]>(
    dir,
    async (host) => (await host.gc({ olderThan })).removed,
    () => [],
  )
  out.data({ removed })
  out.line(`removed ${removed.length} ${removed.length === 1 ? 'run' : 'runs'} that ended more than ${olderThan} ago`)
  return EXIT.done
}
