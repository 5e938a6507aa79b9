/** `nerve events`. */
import { isLive } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { eventData, eventLine } from '../event-lines.ts'
import { EXIT } from '../exit-code.ts'
import { withRun } from '../project.ts'
import { wholeNumber } from '../values.ts'

export function run({ args, out, dir }: Invocation): Promise<number> {
  const after = wholeNumber(args.text('after') ?? '0', '--after')
  return withRun(dir, args.words[0] ?? '', async (host, row) => {
    const handle = await host.handle(row.run)
    for await (const item of handle.events({ after, once: !args.flag('follow') })) {
      if (isLive(item)) continue
      out.data(eventData(item, out.verbose))
      out.line(`${String(item.seq).padStart(5)}  ${eventLine(item)}`)
    }
    return EXIT.done
  })
}
