/**
 * Paths. Every durable call gets its path here, from structure and never from timing: its label, plus an ordinal when
 * the label was used before in the same scope.
 *
 * Ordinals follow the order of the calls, and delivery.ts makes a replay call in the same order as the live run. Still a
 * label that two flows of one scope use at the same time would be numbered by who is faster, so it is an error. A call
 * knows what it comes after in two ways: from async context, the last call of its own flow, and from delivery, the call
 * whose result set the code going. Where the two are the same, the flow waited for that one call: then a label may be
 * used again only along its line of calls, or beside the earlier use in the same drain. Where they differ, the flow
 * waited for more (a function that made calls, several promises): then everything delivered by then lies before it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { NerveError } from '../base/nerve-error.ts'
import type { ErrorPolicy } from '../journal/events.ts'
import { afterStretch, type Drains } from './drain.ts'

/** A line of calls in one scope, each after the one before. */
interface Line {
  readonly parent: Line | undefined
  /** The position in the parent line that this line branched off from. */
  readonly from: number
  /** For a line that begins where flows came together: how many calls the scope had made by then. */
  readonly joined: number | undefined
  last: number
  /** The drain of the last position, and the place that it was reached from. */
  drain: number
  tip: Place | undefined
}

interface Use {
  readonly label: string
  count: number
  /** The latest call with this label. */
  place: Place
}

/** A part of a run in which labels are counted on their own: the run itself, or a branch of all, map or race. */
export interface Scope {
  readonly prefix: string
  readonly parent: Scope | undefined
  readonly drains: Drains
  /** The first label used, and the others: most branches use one. */
  first: Use | undefined
  others: Map<string, Use> | undefined
  /** How many calls were made in it. */
  calls: number
  /** The call whose result was delivered last, and the drain that it began. */
  cause: Place | undefined
  causeDrain: number
  /** Why the scope was stopped: calls in it are refused. */
  stopped: unknown
  /** What a failed step means here, when the definition that runs in it says so. */
  errorPolicy: ErrorPolicy | undefined
  /** True when something in it keeps state in memory that a replay has to build again. */
  keeps: boolean
  /** True for a branch of a race that has not won: a replay may leave it out. */
  raced: boolean
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
  /** The line that branched off here last. */
  branch: Line | undefined
  /** The number of the call in its scope. */
  readonly order: number
  /** True when the author's code has its result. */
  delivered: boolean
}

/** Where a step's function runs: no durable call can be made there. */
export interface Inside {
  readonly owner: object
  readonly inStep: string
}

export const here = new AsyncLocalStorage<Place | Inside>()

export interface ScopePlace {
  readonly owner: object
  readonly drains: Drains
  readonly parent: Scope | undefined
}

export function openScope(prefix: string, { owner, drains, parent }: ScopePlace): Place {
  const scope: Scope = {
    prefix,
    parent,
    drains,
    first: undefined,
    others: undefined,
    calls: 0,
    cause: undefined,
    causeDrain: -1,
    stopped: undefined,
    errorPolicy: undefined,
    keeps: false,
    raced: false,
  }
  const root: Place = {
    owner,
    path: '',
    scope,
    line: newLine(undefined, 0, undefined),
    position: 0,
    after: undefined,
    open: false,
    before: undefined,
    branch: undefined,
    order: 0,
    delivered: true,
  }
  return root
}

function newLine(parent: Line | undefined, from: number, joined: number | undefined): Line {
  return { parent, from, joined, last: 0, drain: -1, tip: undefined }
}

/** Calls of this stretch: mostly one. */
let lastOpened: Place | undefined
let others: Place[] = []

function closeOpened(): void {
  if (lastOpened !== undefined) close(lastOpened)
  lastOpened = undefined
  if (others.length === 0) return
  for (const place of others) close(place)
  others = []
}

function close(place: Place): void {
  place.open = false
  place.before = undefined
}

/** Gives a call its place. It is the one that later calls of this flow come after once it is in their context. */
export function placeOf(root: Place, label: string): Place {
  const current = here.getStore()
  const found = current !== undefined && current.owner === root.owner ? current : root
  if ('inStep' in found) throw nestedCall(found.inStep, label)
  const { scope } = found
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent)
    if (at.stopped !== undefined) throw at.stopped
  // Only code that has not waited since still sees a call open: then this one is made beside it.
  const beside = found.open ? found.before : undefined
  const { now } = scope.drains
  const caused = scope.causeDrain === now ? scope.cause : undefined
  const before = beside ?? caused ?? found
  const line = beside === undefined ? advance(before, now, before !== found) : found.line
  scope.calls += 1
  const after = before.path === '' ? undefined : before.path
  const place: Place = {
    owner: root.owner,
    path: '',
    scope,
    line,
    position: beside === undefined ? line.last : found.position,
    after,
    open: true,
    before,
    branch: undefined,
    order: scope.calls,
    delivered: false,
  }
  ;(place as { path: string }).path = number(place, label)
  if (lastOpened === undefined) afterStretch(closeOpened)
  else others.push(lastOpened)
  lastOpened = place
  return place
}

/** Why calls in a scope are refused: it or one around it was stopped. */
export function stoppedBy(scope: Scope): unknown {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent)
    if (at.stopped !== undefined) return at.stopped
  return undefined
}

export function isStopped(scope: Scope): boolean {
  return stoppedBy(scope) !== undefined
}

/** What a failed step in this scope means: as the innermost definition around it that says so. */
export function errorPolicyIn(scope: Scope): ErrorPolicy | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent)
    if (at.errorPolicy !== undefined) return at.errorPolicy
  return undefined
}

/** True when `inner` is `outer` or a scope inside it. */
export function isWithin(inner: Scope, outer: Scope): boolean {
  for (let scope: Scope | undefined = inner; scope !== undefined; scope = scope.parent) if (scope === outer) return true
  return false
}

/**
 * The line whose last position is the next one after a place. Calls made from one place in one drain share it. `joined`
 * says that the flow waited for more than the call it comes after.
 */
function advance(before: Place, now: number, joined: boolean): Line {
  const { line, position, branch } = before
  if (position + 1 === line.last && line.drain === now && line.tip === before) return line
  if (branch !== undefined && branch.last === 1 && branch.drain === now && branch.tip === before) return branch
  const straight = position === line.last && !joined
  const on = straight ? line : newLine(joined ? undefined : line, position, joined ? before.scope.calls : undefined)
  if (!straight) before.branch = on
  on.last += 1
  on.drain = now
  on.tip = before
  return on
}

function number(place: Place, label: string): string {
  const { scope } = place
  const use = scope.first?.label === label ? scope.first : scope.others?.get(label)
  if (use === undefined) {
    if (!isLabel(label)) throw badLabel(label)
    const first: Use = { label, count: 1, place }
    if (scope.first === undefined) scope.first = first
    else (scope.others ??= new Map()).set(label, first)
    return scope.prefix + label
  }
  if (!comesAfter(place, use.place)) throw reusedLabel(scope.prefix + label)
  use.count += 1
  use.place = place
  return `${scope.prefix}${label}#${use.count}`
}

function comesAfter(place: Place, earlier: Place): boolean {
  let line: Line | undefined = place.line
  let reached = place.position
  while (line !== undefined && line !== earlier.line) {
    if (line.joined !== undefined) return earlier.delivered && earlier.order <= line.joined
    reached = line.from
    line = line.parent
  }
  return line !== undefined && earlier.position <= reached
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
