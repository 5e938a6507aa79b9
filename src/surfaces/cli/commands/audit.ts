/** `nerve audit`. */
import { auditTrail, type AuditRow } from '../../../host/contract/audit-calls.ts'
import type { Invocation } from '../dispatch.ts'
import { budgetText } from '../event-lines.ts'
import { EXIT } from '../exit-code.ts'
import { brief, oneLine } from '../printable.ts'
import { withRun, withRuns } from '../project.ts'
import { wholeNumber } from '../values.ts'

export async function run({ args, out, dir }: Invocation): Promise<number> {
  const limit = wholeNumber(args.text('limit') ?? '50', '--limit', 1)
  const [wanted] = args.words
  const rows =
    wanted === undefined
      ? await withRuns(
          dir,
          (host) => auditTrail(host, { limit }),
          () => [],
        )
      : await withRun(dir, wanted, (host, row) => auditTrail(host, { run: row.run, limit }))
  for (const row of rows) out.data(row)
  if (rows.length === 0) out.line(`Nobody has done anything in ${dir}.`)
  for (const row of rows) out.line(lineOf(row))
  return EXIT.done
}

function lineOf(row: AuditRow): string {
  const { time, run: of, definition, action, by, via } = row
  const when = new Date(time).toLocaleString('sv')
  const who = `${by ?? 'somebody'}${via === undefined ? '' : ` (${via})`}`
  return `${when}  ${brief(who, 30).padEnd(18)}  ${action.padEnd(13)}  ${of}  ${brief(definition, 30)}${detailOf(row)}`
}

function detailOf({ action, prompt, question, signal, value, path, reason, budget, from }: AuditRow): string {
  const told = value === undefined ? '' : brief(value, 60)
  switch (action) {
    case 'answered':
      return `  ${brief(prompt ?? question ?? '', 60)} → ${told}`
    case 'signalled':
      return `  ${oneLine(signal ?? '')}${told === '' ? '' : ` ${told}`}`
    case 'forked':
      return `  from ${from}`
    case 'cancelled':
    case 'interrupted':
      return reason === undefined && path === undefined ? '' : `  ${brief(reason ?? path, 60)}`
    case 'budget-raised':
      return budget === undefined ? '' : `  ${budgetText(budget)}`
    default:
      return ''
  }
}
