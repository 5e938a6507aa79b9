/** `nerve attach`: watches a run, and answers it. When nobody drives the run, an answer takes it into this process. */
import type { Invocation } from '../dispatch.ts'
import { driveRecorded } from '../drive-command.ts'
import { Prints } from '../prints.ts'
import { forWatching, withRun } from '../project.ts'
import { watchRun } from '../watched-run.ts'

export function run({ args, out, dir }: Invocation): Promise<number> {
  return withRun(
    dir,
    args.words[0] ?? '',
    async (host, row) =>
      (await watchRun(host, out, row, {
        yes: args.flag('yes'),
        prints: await Prints.open(host),
        // Where nobody types and no program reads, nobody may ever look: it does not wait for an answer without end.
        until: out.json || process.stdin.isTTY ? 'end' : 'dead-end',
      })) ?? driveRecorded(host, out, row, async () => undefined),
    forWatching(out),
  )
}
