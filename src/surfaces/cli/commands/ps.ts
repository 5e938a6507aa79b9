/** `nerve ps`. */
import { showDuration } from '../../../base/duration.ts'
import { nearest } from '../../../base/nearest.ts'
import type { RunRow } from '../../../host/api.ts'
import type { ShownStatus } from '../../../journal/events.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { joined } from '../event-lines.ts'
import { spent } from '../outcome.ts'
import type { Output } from '../output.ts'
import { brief } from '../printable.ts'
import { newestRuns, withRuns } from '../project.ts'
import { STATUSES } from '../statuses.ts'
import { columnsOf, padded, renderLine, sizeOf, type Line, type Span, type Tone } from '../style.ts'
import { wholeNumber } from '../values.ts'

export async function run({ args, out, dir }: Invocation): Promise<number> {
  const limit = wholeNumber(args.text('limit') ?? '50', '--limit', 1)
  const status = args.texts('status').flatMap((text) => text.split(',').map(statusOf))
  const definition = args.text('definition')
  const rows = await withRuns(
    dir,
    (host) => newestRuns(host, limit, { status, definition }),
    () => [],
  )
  out.data(rows)
  if (rows.length > 0) for (const line of table(out, rows)) out.line(line)
  else if (status.length === 0 && definition === undefined)
    out.line(`There are no runs in ${dir}. Start one: nerve run FILE`)
  else out.line(`No run here ${wanted(status, definition)}. See: nerve ps`)
  return EXIT.done
}

function statusOf(text: string): ShownStatus {
  const found = STATUSES.find((one) => one === text)
  if (found !== undefined) return found
  const meant = nearest(text, STATUSES)
  throw new UsageError(
    `--status: '${text}'. ${meant === undefined ? `Give one of: ${STATUSES.join(', ')}.` : `Did you mean '${meant}'?`}`,
  )
}

function wanted(status: readonly string[], definition: string | undefined): string {
  return [
    ...(status.length === 0 ? [] : [`is ${status.join(' or ')}`]),
    ...(definition === undefined ? [] : [`is of the definition ${definition}`]),
  ].join(' and ')
}

const TONES: Partial<Record<RunRow['status'], Tone>> = {
  completed: 'good',
  failed: 'bad',
  crashed: 'bad',
  running: 'ask',
  queued: 'ask',
  cancelled: 'dim',
}

/** Below so many columns a run takes two lines: its id is never cut, because it is copied. */
const NARROW = 72

function table(out: Output, rows: readonly RunRow[]): string[] {
  const now = Date.now()
  const columns = process.stdout.isTTY ? sizeOf(process.stdout).columns : Number.POSITIVE_INFINITY
  const narrow = columns < NARROW
  const shown = rows.map((row) => ({
    row,
    name: brief(row.definition, 30),
    age: showDuration(Math.max(0, now - row.created)),
    rest: joined(spent(row), noteOf(row, now)),
  }))
  const names = Math.max(4, ...shown.map(({ name }) => columnsOf(name)))
  const states = Math.max(6, ...rows.map((row) => row.status.length))
  const head = ['RUN'.padEnd(16), ...(narrow ? [] : ['NAME'.padEnd(names)]), 'STATUS'.padEnd(states), 'AGE'].join('  ')
  const lines = shown.flatMap(({ row, name, age, rest }): Line[] => {
    const status: Span = { text: row.status.padEnd(states), tone: TONES[row.status] ?? 'warn' }
    if (!narrow)
      return [[{ text: `${row.run}  ${padded(name, names)}  ` }, status, { text: `  ${age.padEnd(6)}  ${rest}` }]]
    return [[{ text: `${row.run}  ` }, status, { text: `  ${age}` }], [{ text: `  ${name}  ${rest}`, tone: 'dim' }]]
  })
  return [out.tone(head, 'dim'), ...lines.map((line) => renderLine(line, columns, out.color).trimEnd())]
}

function noteOf(row: RunRow, now: number): string {
  const [question] = row.questions
  if (question !== undefined) return `? ${brief(question.prompt, 60)}`
  const [signal] = row.signals
  if (signal !== undefined) return `waits for the signal ${brief(signal, 60)}`
  if (row.error !== undefined) return brief(row.error, 60)
  if (row.status === 'crashed') return 'its process is gone: nerve resume --all'
  return row.wake === undefined ? '' : `wakes in ${showDuration(Math.max(0, row.wake - now))}`
}
