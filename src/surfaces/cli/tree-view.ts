/** A run tree as lines: paths make the tree, a repeated label is an iteration. Pure. */
import { showDuration } from '../../base/duration.ts'
import type { TimelineItem } from '../../host/api.ts'
import { errorLine, joined, usageText } from './event-lines.ts'
import { brief, oneLine } from './printable.ts'
import type { KnownRun, Progress } from './progress.ts'
import type { Line, Span, Tone } from './style.ts'

export interface TreeOptions {
  readonly now: number
  /** What stands before a step that runs. */
  readonly spinner: string
  /** Nobody drives the run: what it was at, it is not at now. */
  readonly isLeft?: boolean
}

/** A line, and whether what it tells is over: those may be left out when there is no room. */
export interface TreeLine {
  readonly line: Line
  readonly over: boolean
}

interface Branch {
  readonly name: string
  item: TimelineItem | undefined
  readonly below: Map<string, Branch>
}

type State = TimelineItem['status']

const SYMBOLS: Readonly<Record<State, readonly [string, Tone]>> = {
  running: ['', 'ask'],
  waiting: ['◷', 'warn'],
  retrying: ['↻', 'warn'],
  completed: ['✓', 'good'],
  failed: ['✗', 'bad'],
  skipped: ['–', 'warn'],
  stopped: ['◦', 'dim'],
}

export function treeLines(progress: Progress, run: KnownRun, options: TreeOptions): TreeLine[] {
  const lines: TreeLine[] = []
  const top = branches(run)
  for (const branch of top.below.values()) addLines({ progress, options, lines }, shortened(branch, undefined), 1)
  return lines
}

interface Walk {
  readonly progress: Progress
  readonly options: TreeOptions
  readonly lines: TreeLine[]
}

function branches(run: KnownRun): Branch {
  const top: Branch = { name: '', item: undefined, below: new Map() }
  for (const item of run.timeline.items.values()) {
    let at = top
    for (const name of item.path.split('/')) {
      const next: Branch = at.below.get(name) ?? { name, item: undefined, below: new Map() }
      at.below.set(name, next)
      at = next
    }
    at.item = item
  }
  return top
}

function addLines(walk: Walk, branch: Branch, depth: number): void {
  const { options, lines } = walk
  const state = options.isLeft === true ? stateLeft(walk, branch) : stateOf(branch)
  lines.push({ line: branchLine(branch, state, depth, options), over: isOver(state) })
  for (const next of branch.below.values()) addLines(walk, shortened(next, branch.item), depth + 1)
  for (const next of inChild(walk, branch)) addLines(walk, shortened(next, undefined), depth + 1)
}

function inChild({ progress }: Walk, { item }: Branch): Iterable<Branch> {
  const child = item?.child === undefined ? undefined : progress.runs.get(item.child)
  return child === undefined ? [] : branches(child).below.values()
}

/** Of a run that nobody drives. What runs as far as its journal says was stopped with its process, or only waits for what is in it. */
function stateLeft(walk: Walk, branch: Branch): State {
  const state = stateOf(branch)
  if (state !== 'running') return state
  const ends = [...statesIn(walk, branch)].filter(isOpen)
  return ends.length === 0 || ends.includes('running') ? state : 'waiting'
}

/** The states of the steps and waits that are at this branch, below it and in its children. */
function* statesIn(walk: Walk, branch: Branch): Iterable<State> {
  const { item, below } = branch
  if (item !== undefined && item.kind !== 'scope' && item.kind !== 'child') yield item.status
  for (const next of [...below.values(), ...inChild(walk, branch)]) yield* statesIn(walk, next)
}

/** A branch of `all` with one call in it is that call; an iteration of a loop with one call in it is that call, numbered. Items of maps have names. */
function shortened(branch: Branch, around: TimelineItem | undefined): Branch {
  if (isMap(around)) return branch
  const only = branch.item === undefined && branch.below.size === 1 ? [...branch.below.values()][0] : undefined
  if (only === undefined) return branch
  const isIteration = around?.kind === 'scope' && around.size === undefined && /^\d+$/.test(branch.name)
  return shortened(isIteration ? { ...only, name: `${only.name.split('#')[0]}#${branch.name}` } : only, branch.item)
}

function isMap(item: TimelineItem | undefined): boolean {
  return item?.kind === 'scope' && item.text === 'map'
}

function isOver(state: State): boolean {
  return state === 'completed' || state === 'skipped' || state === 'stopped'
}

function isOpen(state: State): boolean {
  return state === 'running' || state === 'waiting' || state === 'retrying'
}

/** A scope has no end of its own: it is what is in it. */
function stateOf(branch: Branch): State {
  const { item, below } = branch
  if (item !== undefined && item.kind !== 'scope') return item.status
  const states = [...below.values()].map(stateOf)
  if (states.includes('running')) return 'running'
  if (states.includes('retrying')) return 'retrying'
  if (states.includes('waiting')) return 'waiting'
  if (item !== undefined && item.status !== 'running') return item.status
  if (states.includes('failed')) return 'failed'
  const begun = item?.size === undefined || below.size >= item.size
  return begun ? 'completed' : 'running'
}

function branchLine(branch: Branch, state: State, depth: number, options: TreeOptions): Line {
  const { item } = branch
  const wasAt = options.isLeft === true && state === 'running'
  const [symbol, tone] = wasAt ? SYMBOLS.stopped : symbolOf(item, state, options)
  const [label, ordinal] = branch.name.startsWith('#') ? [branch.name.slice(1), undefined] : branch.name.split('#')
  const spans: Span[] = [
    { text: '  '.repeat(depth) },
    { text: `${symbol} `, tone },
    {
      text: item === undefined || item.kind === 'item' ? `[${oneLine(label ?? '')}]` : oneLine(label ?? ''),
      tone: state === 'stopped' ? 'dim' : 'plain',
    },
  ]
  if (ordinal !== undefined) spans.push({ text: ` ·${ordinal}`, tone: 'dim' })
  if (item === undefined) return spans
  const note = isMap(item) && isOpen(state) ? mapNote(branch) : noteOf(item, options.now)
  if (note !== '') spans.push({ text: `  ${note}`, tone: noteTone(state) })
  const time = wasAt && item.kind !== 'scope' ? 'was running' : timeOf(item, state, options.now)
  const spent = joined(time, usageText(item.usage))
  if (spent !== '') spans.push({ text: `  ${spent}`, tone: 'dim' })
  return spans
}

function symbolOf(item: TimelineItem | undefined, state: State, options: TreeOptions): readonly [string, Tone] {
  if (state === 'running') return [options.spinner, 'ask']
  if (item?.kind === 'question' && state === 'waiting') return ['?', 'ask']
  if (item?.kind === 'checkpoint') return ['◆', 'dim']
  if (item?.kind === 'event') return ['•', 'dim']
  return SYMBOLS[state]
}

function noteTone(state: State): Tone {
  return state === 'failed' ? 'bad' : state === 'retrying' ? 'warn' : 'dim'
}

function noteOf(item: TimelineItem, now: number): string {
  const tried = item.attempt > 1 || item.status === 'retrying' ? `attempt ${item.attempt}` : ''
  const error = item.status === 'completed' ? '' : errorLine(item.error)
  switch (item.kind) {
    case 'question':
      return item.status === 'waiting'
        ? brief(item.text ?? '', 100)
        : joined(brief(item.text ?? '', 60), answered(item))
    case 'timer':
      return item.status === 'waiting' ? `wakes ${left(item.until, now)}` : ''
    case 'signal':
      return item.status === 'waiting' ? `for the signal ${item.text ?? ''}` : answered(item)
    case 'scope':
      return item.size === undefined ? (item.text ?? '') : `${item.text ?? ''} of ${item.size}`
    case 'child':
      return joined(item.child ?? '', error)
    case 'event':
    case 'checkpoint':
      return joined(item.text ?? '', item.output === undefined ? '' : brief(item.output, 60))
    default:
      return joined(tried, error, item.until === undefined ? '' : `again ${left(item.until, now)}`)
  }
}

function mapNote({ item, below }: Branch): string {
  const done = [...below.values()].filter((one) => !isOpen(stateOf(one))).length
  return `map of ${item?.size ?? below.size}, ${done} done`
}

function answered(item: TimelineItem): string {
  return item.status === 'completed' ? `→ ${brief(item.output, 60)}` : ''
}

function left(until: number | undefined, now: number): string {
  return until === undefined ? '' : until <= now ? 'now' : `in ${showDuration(until - now)}`
}

function timeOf(item: TimelineItem, state: State, now: number): string {
  if (item.kind === 'event' || item.kind === 'checkpoint' || item.kind === 'scope') return ''
  const end = item.status === 'running' && state === 'running' ? now : item.ended
  return end === undefined ? '' : showDuration(Math.max(0, end - item.started))
}

/** As many lines as there is room for: what is over and lies furthest back goes first. */
export function fitLines(lines: readonly TreeLine[], most: number): Line[] {
  if (lines.length <= most) return lines.map(({ line }) => line)
  let over = lines.length - Math.max(1, most) + 1
  const kept: Line[] = []
  let dropped = 0
  for (const { line, over: done } of lines) {
    if (done && over > 0) {
      over -= 1
      dropped += 1
    } else kept.push(line)
  }
  const room = Math.max(0, most - 1)
  const hidden = dropped + Math.max(0, kept.length - room)
  return [[{ text: `  … ${hidden} more`, tone: 'dim' }], ...kept.slice(Math.max(0, kept.length - room))]
}
