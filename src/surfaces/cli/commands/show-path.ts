/** `nerve show RUN PATH`: one place of a run, with what was given to it, what it gave, and everything that happened there. */
import { showDuration } from '../../../base/duration.ts'
import { NerveError, withoutStack } from '../../../base/nerve-error.ts'
import { nearest } from '../../../base/nearest.ts'
import type { RunEvent, TimelineItem } from '../../../host/api.ts'
import type { Entry } from '../../../journal/events.ts'
import { errorLine, eventData, eventLine, usageText } from '../event-lines.ts'
import type { Output } from '../output.ts'
import { readable } from '../printable.ts'
import type { KnownRun, Progress } from '../progress.ts'
import { renderLine } from '../style.ts'
import { treeLines } from '../tree-view.ts'

/** So many paths are named when several are meant. */
const MOST_NAMED = 5

export interface Place {
  readonly progress: Progress
  readonly run: KnownRun
  readonly item: TimelineItem
  /** What the journal says of it, and of the questions that its function asks. */
  readonly events: readonly RunEvent[]
}

export function placeIn(progress: Progress, run: KnownRun, entries: readonly Entry[], path: string): Place {
  const item = itemAt(run, path)
  const own = entries.filter(({ event }) => 'path' in event && isAt(event.path ?? '', item.path))
  const events = own.map(({ run: id, seq, time, event }) => ({ ...event, run: id, seq, time }))
  return { progress, run, item, events }
}

/** By its path, or by the end of it when no other path ends so: the tree leaves out what goes without saying. */
function itemAt({ run, timeline: { items } }: KnownRun, path: string): TimelineItem {
  const exact = items.get(path)
  if (exact !== undefined) return exact
  const like = [...items.values()].filter((item) => item.path.endsWith(`/${path}`))
  const [one] = like
  if (one !== undefined && like.length === 1) return one
  const named = like.length > 1 ? like.slice(0, MOST_NAMED).map((item) => item.path) : near(path, items)
  const hint = named.length === 0 ? `nerve show ${run} shows what it has.` : `Did you mean ${named.join(' or ')}?`
  throw new NerveError('not-found', `Run ${run} has no place ${JSON.stringify(path)}. ${hint}`, { data: { run, path } })
}

function near(path: string, items: ReadonlyMap<string, TimelineItem>): string[] {
  const meant = nearest(path, [...items.keys()])
  return meant === undefined ? [] : [meant]
}

function isAt(path: string, wanted: string): boolean {
  return path === wanted || path.startsWith(`${wanted}/#`)
}

export function placeData({ run, item, events }: Place, verbose: boolean): Record<string, unknown> {
  return {
    run: run.run,
    ...item,
    ...(item.error === undefined || verbose ? {} : { error: withoutStack(item.error) }),
    events: events.map((event) => eventData(event, verbose)),
  }
}

export function placeText(out: Output, place: Place): string[] {
  const { item, run, events } = place
  const heading = (text: string): string => out.tone(text, 'dim')
  const block = (name: string, value: unknown): string[] =>
    value === undefined ? [] : ['', heading(name), ...indented(readable(value))]
  return [
    `${out.tone(item.path, 'bold')}  ${run.run}  ${item.status}`,
    ...facts(item, Date.now()).map(([name, text]) => `  ${heading(name.padEnd(9))} ${text}`),
    ...block('input', item.input),
    ...block('output', item.output),
    ...(item.error === undefined || item.status === 'completed' ? [] : block('error', errorLine(item.error))),
    ...below(out, place),
    '',
    heading('journal'),
    ...events.map((event) => `  ${String(event.seq).padStart(5)}  ${eventLine(event)}`),
  ]
}

function facts(item: TimelineItem, now: number): (readonly [string, string])[] {
  const end = item.ended ?? (item.status === 'running' ? now : undefined)
  const time = end === undefined ? '' : `, ${showDuration(Math.max(0, end - item.started))}`
  const used = usageText(item.usage)
  return [
    ['kind', item.kind],
    ...(item.node === undefined ? [] : [['node', `${item.node.kind} ${item.node.id}`] as const]),
    ...(item.text === undefined ? [] : [['text', item.text] as const]),
    ['started', `${new Date(item.started).toLocaleString('sv')}${time}`],
    ...(item.attempt > 1 ? [['attempts', String(item.attempt)] as const] : []),
    ...(used === '' ? [] : [['used', used] as const]),
    ...(item.after === undefined ? [] : [['after', item.after] as const]),
    ...(item.child === undefined ? [] : [['child', item.child] as const]),
  ]
}

/** The part of the tree that is below it. */
function below(out: Output, { progress, run, item }: Place): string[] {
  const from = `${item.path}/`
  const parts = [...run.timeline.items.values()].filter(({ path }) => path.startsWith(from) && !isAt(path, item.path))
  if (parts.length === 0) return []
  const items = new Map(parts.map((part) => [part.path, { ...part, path: part.path.slice(from.length) }]))
  const lines = treeLines(progress, { ...run, timeline: { ...run.timeline, items } }, { now: Date.now(), spinner: '▸' })
  return ['', out.tone('steps', 'dim'), ...lines.map(({ line }) => renderLine(line, 10_000, out.color))]
}

function indented(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`.trimEnd())
}
