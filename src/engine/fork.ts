/** Forking: a new run that shares what a run did before a place, and goes on from there with changes. */
import { failpoint } from '../base/failpoint.ts'
import { newId } from '../base/ids.ts'
import { NerveError } from '../base/nerve-error.ts'
import type { Actor, Entry, JournalEvent, RunCreated } from '../journal/events.ts'
import { isBeside, isOutcome, outcomesOf, withoutEnd, type PlacedEvent } from '../journal/outcomes.ts'
import type { AnyDefinition } from './definition.ts'
import type { Engine } from './engine.ts'
import { checkInput } from './start.ts'

export interface ForkOptions extends Actor {
  /** Where to go on from: the step at this path runs again. A sequence number keeps everything up to it. */
  readonly at?: string | number
  /** Replaces recorded results: what was recorded after the last of them is dropped, unless `at` says otherwise. */
  readonly set?: Readonly<Record<string, unknown>>
  readonly input?: unknown
  readonly params?: Readonly<Record<string, unknown>>
}

/** Writes the forked run and returns its id. It is driven by `engine.take`. */
export async function forkRun(
  engine: Engine,
  run: string,
  definition: AnyDefinition,
  options: ForkOptions,
): Promise<string> {
  const { entries } = await engine.stored(run)
  const first = entries[0]
  if (first === undefined || first.event.type !== 'run-created')
    throw new NerveError('not-found', `There is no run ${run}.`)
  const cut = cutAt(entries, run, options)
  const now = engine.clock.now()
  const kept = changed(keptEntries(entries, cut), options.set ?? {}).map((entry) => retimed(entry, now))
  const id = newId(now)
  const { parent: _parent, forkedFrom: _forked, by: _by, via: _via, ...created } = first.event
  const { by, via } = options
  const at = typeof options.at === 'string' ? { path: options.at } : {}
  const event: RunCreated = {
    ...created,
    root: id,
    depth: 0,
    forkedFrom: { run, seq: cut, kept: kept.length, ...at },
    ...(by === undefined ? {} : { by }),
    ...(via === undefined ? {} : { via }),
    ...('input' in options ? { input: await checkInput(definition, options.input, engine.names(definition)) } : {}),
    ...(options.params === undefined ? {} : { params: { ...created.params, ...options.params } }),
  }
  failpoint('fork-before')
  const execution = await engine.createRun(definition, id, event, kept)
  await engine.park(restingTree(execution))
  return id
}

function restingTree(execution: Awaited<ReturnType<Engine['createRun']>>) {
  const { tree } = execution
  tree.idle = true
  return tree
}

/** The sequence number up to which the journal is kept. */
function cutAt(entries: readonly Entry[], run: string, options: ForkOptions): number {
  const { at, set } = options
  if (typeof at === 'number') {
    if (Number.isInteger(at) && at >= 1 && at <= entries.length) return at
    throw new NerveError('bad-option', `Run ${run} has events 1 to ${entries.length}; it cannot be forked at ${at}.`)
  }
  if (at !== undefined) return firstAt(entries, run, at) - 1
  const paths = Object.keys(set ?? {})
  if (paths.length === 0) return entries.length
  return Math.max(...paths.map((path) => outcomeAt(entries, run, path)))
}

function firstAt(entries: readonly Entry[], run: string, path: string): number {
  const found = entries.find(
    ({ event }) => 'path' in event && (event.path === path || event.path?.startsWith(`${path}/`)),
  )
  if (found !== undefined) return found.seq
  throw noSuchPath(entries, run, path)
}

function outcomeAt(entries: readonly Entry[], run: string, path: string): number {
  const found = entries.findLast(({ event }) => 'path' in event && event.path === path && isOutcome(event))
  if (found !== undefined) return found.seq
  throw noSuchPath(entries, run, path)
}

function noSuchPath(entries: readonly Entry[], run: string, path: string): NerveError {
  const known = [...outcomesOf(entries).at.keys()].slice(0, 20).join(', ')
  return new NerveError(
    'not-found',
    `Run ${run} has nothing at the path '${path}'. It has: ${known === '' ? 'no steps yet' : known}.`,
  )
}

/** What a fork inherits: outcomes and unread signals. Whatever was open starts anew in the fork. */
function keptEntries(entries: readonly Entry[], cut: number): Entry[] {
  const before = withoutEnd(entries.slice(0, cut))
  const last = outcomesOf(before).at
  const kept = (event: JournalEvent): boolean => {
    if (event.type === 'signal-received' || event.type === 'plan-accepted') return true
    if (!isOutcome(event)) return false
    const placed = event as PlacedEvent
    // Answers about an attempt belong to it: the fork makes its own, and asks about it.
    if (isBeside(placed.path)) return false
    return last.get(placed.path) === placed || (placed.type === 'scope-opened' && last.has(placed.path))
  }
  const chosen = before.filter(({ event }) => kept(event))
  // Signals are known by their sequence numbers, which change with what is left out.
  const moved = new Map(chosen.map((entry, index) => [entry.seq, index + 2]))
  return chosen.map((entry) => ({ ...entry, event: renumbered(entry.event, moved) }))
}

function renumbered(event: JournalEvent, moved: ReadonlyMap<number, number>): JournalEvent {
  const to = (seq: number): number => moved.get(seq) ?? seq
  if (event.type === 'signal-taken') return { ...event, signal: to(event.signal) }
  if (event.type === 'messages-taken') return { ...event, signals: event.signals.map(to) }
  return event
}

/** What is taken over has the time of the fork; how long it took stays. */
function retimed(entry: Entry, now: number): Entry {
  const { event, time } = entry
  return 'started' in event ? { ...entry, event: { ...event, started: now - (time - event.started) } } : entry
}

function changed(entries: Entry[], set: Readonly<Record<string, unknown>>): Entry[] {
  const missing = Object.keys(set).filter(
    (path) => !entries.some(({ event }) => 'path' in event && event.path === path),
  )
  if (missing.length > 0)
    throw new NerveError(
      'not-found',
      `Nothing to replace at ${missing.map((path) => `'${path}'`).join(', ')}: it lies after the place of the fork, or does not exist.`,
    )
  return entries.map((entry) => {
    const { event } = entry
    if (!('path' in event) || event.path === undefined || !Object.hasOwn(set, event.path)) return entry
    return { ...entry, event: withValue(event as PlacedEvent, set[event.path], entry.time) }
  })
}

function withValue(event: PlacedEvent, value: unknown, time: number): JournalEvent {
  const { path } = event
  const after = event.after === undefined ? {} : { after: event.after }
  switch (event.type) {
    case 'step-completed':
      return { ...event, output: value }
    case 'step-failed':
    case 'step-skipped':
      return { type: 'step-completed', path, ...after, attempt: 1, started: time, output: value }
    case 'question-answered':
      return { ...event, value, by: 'fork' }
    case 'value-recorded':
    case 'signal-taken':
      return { ...event, value }
    case 'child-ended': {
      const { error: _error, ...rest } = event
      return { ...rest, status: 'completed', output: value }
    }
    default:
      throw new NerveError('bad-option', `What is recorded at '${path}' (${event.type}) has no value to replace.`)
  }
}
