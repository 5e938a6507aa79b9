/** `nerve ps`. */
import { showDuration } from '../../../base/duration.ts'
import type { RunRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { EXIT } from '../exit-code.ts'
import { joined } from '../event-lines.ts'
import { spent } from '../outcome.ts'
import type { Output } from '../output.ts'
import { brief } from '../printable.ts'
import { newestRuns, withRuns } from '../project.ts'
import type { Tone } from '../style.ts'
import { wholeNumber } from '../values.ts'

export async function run({ args, out, dir }: Invocation): Promise<number> {
  const limit = wholeNumber(args.text('limit') ?? '50', '--limit')
  const rows = await withRuns(
    dir,
    (host) => newestRuns(host, Math.max(1, limit)),
    () => [],
  )
  out.data(rows)
  if (rows.length === 0) out.line(`There are no runs in ${dir}. Start one: nerve run FILE`)
  else for (const line of table(out, rows)) out.line(line)
  return EXIT.done
}

const TONES: Partial<Record<RunRow['status'], Tone>> = {
  completed: 'good',
  failed: 'bad',
  crashed: 'bad',
  running: 'ask',
  queued: 'ask',
  cancelled: 'dim',
}

function table(out: Output, rows: readonly RunRow[]): string[] {
  const now = Date.now()
  const names = Math.max(4, ...rows.map((row) => Math.min(30, row.definition.length)))
  const states = Math.max(6, ...rows.map((row) => row.status.length))
  const head = `${'RUN'.padEnd(16)}  ${'NAME'.padEnd(names)}  ${'STATUS'.padEnd(states)}  ${'AGE'.padEnd(6)}`
  return [
    out.tone(head, 'dim'),
    ...rows.map((row) => {
      const status = out.tone(row.status.padEnd(states), TONES[row.status] ?? 'warn')
      const age = showDuration(Math.max(0, now - row.created)).padEnd(6)
      return `${row.run}  ${brief(row.definition, 30).padEnd(names)}  ${status}  ${age}  ${joined(spent(row), noteOf(row, now))}`
    }),
  ]
}

function noteOf(row: RunRow, now: number): string {
  const [question] = row.questions
  if (question !== undefined) return `? ${brief(question.prompt, 60)}`
  const [signal] = row.signals
  if (signal !== undefined) return `waits for the signal ${signal}`
  if (row.error !== undefined) return brief(row.error, 60)
  return row.wake === undefined ? '' : `wakes in ${showDuration(Math.max(0, row.wake - now))}`
}
