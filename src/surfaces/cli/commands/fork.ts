/** `nerve fork`. */
import type { Invocation } from '../dispatch.ts'
import { driveNew } from '../drive-command.ts'
import { UsageError } from '../exit-code.ts'
import { forDriving, me, withRun } from '../project.ts'
import { parsePairs } from '../values.ts'

export function run({ args, out, dir }: Invocation): Promise<number> {
  const at = args.text('at')
  const set = parsePairs(args.texts('set'), '--set')
  if (at === undefined && Object.keys(set).length === 0)
    throw new UsageError('nerve fork: where? Give --at PATH (a path from `nerve show RUN`).')
  const place = at === undefined ? {} : { at: /^\d+$/.test(at) ? Number(at) : at }
  return withRun(
    dir,
    args.words[0] ?? '',
    (host, row) =>
      driveNew(host, out, async () => {
        const forked = await (
          await host.handle(row.run)
        ).fork({ ...place, ...(args.flag('set') ? { set } : {}), ...me() })
        return forked.id
      }),
    forDriving(out),
  )
}
