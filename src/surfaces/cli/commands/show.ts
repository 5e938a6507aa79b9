/** `nerve show`. */
import { showDuration } from '../../../base/duration.ts'
import { NerveError, errorText, withoutStack } from '../../../base/nerve-error.ts'
import type { RunRow } from '../../../host/api.ts'
import type { Invocation } from '../dispatch.ts'
import { budgetText, joined } from '../event-lines.ts'
import { EXIT } from '../exit-code.ts'
import { questionText, spent } from '../outcome.ts'
import type { Output } from '../output.ts'
import { placeLines } from '../place-lines.ts'
import { brief, readable } from '../printable.ts'
import { Progress } from '../progress.ts'
import { withRun } from '../project.ts'
import type { RunHost } from '../run-host.ts'
import { renderLine, sizeOf } from '../style.ts'
import { treeLines } from '../tree-view.ts'
import { placeData, placeIn, placeText } from './show-path.ts'
import type { Entry, ResumePlan } from '../../../journal/events.ts'

interface Shown {
  readonly row: RunRow
  readonly rows: readonly RunRow[]
  readonly progress: Progress
  readonly entries: ReadonlyMap<string, readonly Entry[]>
  readonly forks: readonly string[]
}

export function run({ args, out, dir }: Invocation): Promise<number> {
  return withRun(dir, args.words[0] ?? '', async (host, row) => {
    const shown = await look(host, row)
    const [, path] = args.words
    if (path !== undefined) return showPlace(out, shown, path)
    if (out.json) out.data(showData(shown, row.run, out.verbose))
    else for (const line of showLines(out, shown)) out.line(line)
    return EXIT.done
  })
}

function showPlace(out: Output, { row, progress, entries }: Shown, path: string): number {
  const known = progress.runs.get(row.run)
  if (known === undefined) throw new NerveError('not-found', `Run ${row.run} has no journal.`)
  const place = placeIn(progress, known, entries.get(row.run) ?? [], path)
  if (out.json) out.data(placeData(place, out.verbose))
  else for (const line of placeText(out, place)) out.line(line)
  return EXIT.done
}

async function look(host: RunHost, row: RunRow): Promise<Shown> {
  const tree = await host.runs({ root: row.root, children: true })
  const rows = below(tree.toReversed(), row.run)
  const progress = new Progress()
  const entries = new Map<string, readonly Entry[]>()
  for (const one of rows) {
    const own = await host.journal(one.run)
    entries.set(one.run, own)
    for (const { run: id, seq, time, event } of own) progress.hear({ ...event, run: id, seq, time })
  }
  const forks = (await host.runs()).filter((one) => one.forkedFrom === row.run).map((one) => one.run)
  return { row, rows, progress, entries, forks }
}

/** A run and what it started, parents first. */
function below(rows: readonly RunRow[], run: string): RunRow[] {
  const found = new Set([run])
  return rows.filter((row) => {
    if (row.parent !== undefined && found.has(row.parent)) found.add(row.run)
    return found.has(row.run)
  })
}

/** Everything about one run as data; its children are the same again. */
function showData(shown: Shown, run: string, verbose: boolean): Record<string, unknown> {
  const row = shown.rows.find((one) => one.run === run)
  const created = shown.entries.get(run)?.[0]?.event
  const end = shown.progress.ends.get(run)
  const items = [...(shown.progress.runs.get(run)?.timeline.items.values() ?? [])]
  const children = shown.rows.filter((one) => one.parent === run)
  const plan = shown.progress.plans.get(run)
  return {
    ...row,
    ...(created?.type === 'run-created' ? { input: created.input ?? null, params: created.params ?? {} } : {}),
    ...(created?.type === 'run-created' && created.forkedFrom !== undefined ? { fork: created.forkedFrom } : {}),
    ...(end?.type === 'run-completed' ? { output: end.output ?? null } : {}),
    ...(end?.type === 'run-failed' ? { error: verbose ? end.error : withoutStack(end.error) } : {}),
    ...(plan === undefined ? {} : { plan }),
    items: items.map((item) =>
      verbose || item.error === undefined ? item : { ...item, error: withoutStack(item.error) },
    ),
    children: children.map((child) => showData(shown, child.run, verbose)),
    ...(run === shown.row.run ? { forks: shown.forks } : {}),
  }
}

function showLines(out: Output, shown: Shown): string[] {
  const { row, rows, progress } = shown
  const columns = out.live ? sizeOf(process.stdout).columns : 10_000
  const known = progress.runs.get(row.run)
  const now = Date.now()
  const tree =
    known === undefined ? [] : treeLines(progress, known, { now, spinner: '▸', isLeft: row.owner === undefined })
  const questions = rows.flatMap((one) =>
    one.questions.flatMap((question) =>
      questionText(out, { ...question, run: one.run, definition: one.definition }, now),
    ),
  )
  return [
    `${out.tone(row.definition, 'bold')}  ${row.run}  ${row.status}`,
    ...facts(shown, now).map(([name, text]) => `  ${out.tone(name.padEnd(9), 'dim')} ${text}`),
    ...(tree.length === 0 ? [] : ['']),
    ...tree.map(({ line }) => renderLine(line, columns, out.color)),
    ...(questions.length === 0 ? [] : ['', ...questions]),
    ...ending(out, shown),
  ]
}

function facts(shown: Shown, now: number): (readonly [string, string])[] {
  const { row, forks, entries, progress } = shown
  const created = entries.get(row.run)?.[0]?.event
  const input = created?.type === 'run-created' ? created.input : undefined
  const until = row.status === 'running' ? now : row.updated
  const time = showDuration(Math.max(0, (row.ended ?? until) - row.created))
  const plan = progress.plans.get(row.run)
  return [
    ['started', `${new Date(row.created).toLocaleString('sv')}, ${time}${row.ended === undefined ? ' so far' : ''}`],
    ['used', joined(spent(row), row.failures === 0 ? '' : `${row.failures} failed`)],
    ...(row.budget === undefined ? [] : [['budget', budgetText(row.budget)] as const]),
    ...(row.source === undefined ? [] : [['file', row.source] as const]),
    ...(input === undefined ? [] : [['input', brief(input, 100)] as const]),
    ...(row.owner === undefined ? [] : [['driven by', row.owner] as const]),
    ...(row.parent === undefined ? [] : [['child of', row.parent] as const]),
    ...(row.forkedFrom === undefined ? [] : [['fork of', row.forkedFrom] as const]),
    ...(forks.length === 0 ? [] : [['forks', forks.join(', ')] as const]),
    ...(row.wake === undefined
      ? []
      : [['wakes', row.wake <= now ? 'now' : `in ${showDuration(row.wake - now)}`] as const]),
    ...(row.signals.length === 0 ? [] : [['waits for', `the signal ${row.signals.join(', ')}`] as const]),
    ...(plan === undefined ? [] : [['changed', planText(plan)] as const]),
  ]
}

function planText(plan: ResumePlan): string {
  return `the code has changed: keep ${plan.keep}, re-run ${plan.rerun.length}, unknown ${plan.unknown.length} (nerve resume RUN --plan)`
}

function ending(out: Output, { row, progress }: Shown): string[] {
  const end = progress.ends.get(row.run)
  if (end?.type === 'run-failed') {
    const place = out.verbose && end.error.stack !== undefined ? [end.error.stack] : placeLines(end.error)
    return ['', `${out.tone('error', 'bad')}  ${errorText(end.error)}`, ...place]
  }
  if (end?.type === 'run-completed' && end.output !== undefined) return ['', readable(end.output)]
  if (row.status === 'crashed') return ['', `Its process is gone. Drive it on: nerve resume ${row.run}`]
  return row.status === 'paused' || row.status === 'exhausted' ? ['', `  nerve resume ${row.run}`] : []
}
