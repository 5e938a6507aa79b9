/**
 * Paths. Every durable call gets its path here, from structure and never from timing: its label, plus an ordinal when
 * the label was used before in the same scope.
 *
 * Why ordinals are safe: a call knows which call it came after, through async context. Calls form lines; a call that
 * comes after the last call of a line extends it, and calls made by one stretch of code that runs without waiting share
 * a position. A label may be used again only by a call that comes after the earlier use, or beside it. Any other reuse
 * (two flows that both waited, were it for one microtask) could be numbered differently on replay, where nothing takes
 * time, so it is an error: results are never swapped silently.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { NerveError } from '../base/nerve-error.ts'

/** A line of calls in one scope, each after the one before. */
interface Line {
  readonly parent: Line | undefined
  /** The position in the parent line that this line branched off from. */
  readonly from: number
  last: number
}

interface Use {
  readonly label: string
  count: number
  line: Line
  position: number
}

/** A part of a run in which labels are counted on their own: the run itself, or a branch of all, map or race. */
export interface Scope {
  readonly prefix: string
  readonly parent: Scope | undefined
  /** The first label used, and the others: most branches use one. */
  first: Use | undefined
  others: Map<string, Use> | undefined
  /** Why the scope was stopped: calls in it are refused. */
  stopped: unknown
}

/** Where a durable call is: its path, and what later calls in the same flow come after. */
export interface Place {
  readonly owner: object
  readonly path: string
  readonly scope: Scope
  readonly line: Line
  readonly position: number
  /** The path of the call this one came after. */
  readonly after: string | undefined
  /** Calls made before the author's code goes on are beside this one, not after it. */
  open: boolean
  before: Place | undefined
  /** Set inside a step's function, where no durable call can be made. */
  readonly inStep: string | undefined
}

export const here = new AsyncLocalStorage<Place>()

export function openScope(owner: object, prefix: string, parent: Scope | undefined): Place {
  const scope: Scope = { prefix, parent, first: undefined, others: undefined, stopped: undefined }
  const line: Line = { parent: undefined, from: 0, last: 0 }
  return {
    owner,
    path: '',
    scope,
    line,
    position: 0,
    after: undefined,
    open: false,
    before: undefined,
    inStep: undefined,
  }
}

/** The place that a step's function runs in. */
export function insideStep(place: Place): Place {
  return { ...place, open: false, before: undefined, inStep: place.path }
}

const opened: Place[] = []

function closeOpened(): void {
  for (const place of opened) {
    place.open = false
    place.before = undefined
  }
  opened.length = 0
}

/** Gives a call its place, and makes it the one that later calls of this flow come after. */
export function enter(root: Place, label: string): Place {
  const current = here.getStore()
  const found = current !== undefined && current.owner === root.owner ? current : root
  if (found.inStep !== undefined) throw nestedCall(found.inStep, label)
  // Only code that has not waited since still sees a call open: then this one is made beside it.
  const beside = found.open ? found.before : undefined
  const before = beside ?? found
  const { scope } = before
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent)
    if (at.stopped !== undefined) throw at.stopped
  const { line, position } = beside === undefined ? advance(before) : found
  const path = number(scope, label, line, position)
  const after = before.path === '' ? undefined : before.path
  const place: Place = {
    owner: root.owner,
    path,
    scope,
    line,
    position,
    after,
    open: true,
    before,
    inStep: undefined,
  }
  if (opened.push(place) === 1) queueMicrotask(closeOpened)
  here.enterWith(place)
  return place
}

/** True when `inner` is `outer` or a scope inside it. */
export function isWithin(inner: Scope, outer: Scope): boolean {
  for (let scope: Scope | undefined = inner; scope !== undefined; scope = scope.parent) if (scope === outer) return true
  return false
}

function advance({ line, position }: Place): { readonly line: Line; readonly position: number } {
  if (position < line.last) return { line: { parent: line, from: position, last: 1 }, position: 1 }
  line.last += 1
  return { line, position: line.last }
}

function number(scope: Scope, label: string, line: Line, position: number): string {
  const use = scope.first?.label === label ? scope.first : scope.others?.get(label)
  if (use === undefined) {
    if (!isLabel(label)) throw badLabel(label)
    const first: Use = { label, count: 1, line, position }
    if (scope.first === undefined) scope.first = first
    else (scope.others ??= new Map()).set(label, first)
    return scope.prefix + label
  }
  if (!comesAfter(line, position, use)) throw reusedLabel(scope.prefix + label)
  use.count += 1
  use.line = line
  use.position = position
  return `${scope.prefix}${label}#${use.count}`
}

function comesAfter(line: Line, position: number, use: Use): boolean {
  let at: Line | undefined = line
  let reached = position
  while (at !== undefined && at !== use.line) {
    reached = at.from
    at = at.parent
  }
  return at !== undefined && use.position <= reached
}

const RESERVED = /[/#\n\r]/

export function isLabel(label: unknown): label is string {
  return typeof label === 'string' && label !== '' && label.length <= 200 && !RESERVED.test(label)
}

function badLabel(label: unknown): NerveError {
  return new NerveError(
    'bad-label',
    `${JSON.stringify(label)} is not a label. Use 1 to 200 characters without '/', '#' and line breaks.`,
  )
}

function reusedLabel(path: string): NerveError {
  return new NerveError(
    'label-reused',
    `The label of '${path}' is in use in another branch that runs at the same time, so a replay could not tell the two apart. ` +
      'Give each branch its own label, or start the branches with ctx.all, ctx.map or ctx.race, which keep them apart.',
    { data: { path } },
  )
}

function nestedCall(step: string, label: string): NerveError {
  return new NerveError(
    'nested-call',
    `ctx was used ('${label}') inside the function of step '${step}'. A step is recorded as a whole, so nothing inside it can be durable by itself. ` +
      'Move the call out of the step, or use ctx.child.',
    { data: { step, label } },
  )
}
