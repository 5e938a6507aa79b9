/** The steps of a graph as data, and everything about them that can be known without running them. */
import type { AnyRunnable, Names, Policy } from '../engine/definition.ts'
import { isDefinition, isNode } from '../engine/run-node.ts'
import { isLabel } from '../engine/scope.ts'

/** What functions of a step are told besides the results they come after. */
export interface StepFacts<Input = unknown> {
  /** The graph's own input. */
  readonly input: Input
  readonly params: Readonly<Record<string, unknown>>
  /** Why steps before this one failed, by their ids; for steps that handle failures. */
  readonly errors: Readonly<Record<string, unknown>>
}

export type Upstream = Readonly<Record<string, unknown>>

export interface GraphStep {
  readonly id: string
  readonly node: AnyRunnable | string
  readonly after: readonly string[]
  readonly input?: unknown
  readonly inputFn?: (upstream: never, facts: never) => unknown
  readonly when?: (upstream: never, facts: never) => boolean | Promise<boolean>
  readonly policy?: Policy
  readonly parser?: (output: never) => unknown
  /** It runs also when a step before it failed. */
  readonly handles?: boolean
  /** For steps written as data: how input and condition were written. */
  readonly written?: Readonly<Record<string, unknown>>
}

/** Steps by their position: `before[i]` and `next[i]` are positions too. */
export interface Layout {
  readonly position: ReadonlyMap<string, number>
  readonly before: readonly (readonly number[])[]
  readonly next: readonly (readonly number[])[]
}

const NONE: readonly number[] = []

/** The ids without repetitions. Most steps come after one or two, and then there is nothing to make. */
export function onceEach(ids: readonly string[]): readonly string[] {
  if (ids.length < 2 || (ids.length === 2 && ids[0] !== ids[1])) return ids
  return [...new Set(ids)]
}

export function layOut(steps: readonly GraphStep[]): Layout {
  const position = new Map<string, number>()
  for (let at = 0; at < steps.length; at += 1) {
    const { id } = steps[at] as GraphStep
    if (!position.has(id)) position.set(id, at)
  }
  const before: (readonly number[])[] = []
  const next: (readonly number[])[] = steps.map(() => NONE)
  for (let at = 0; at < steps.length; at += 1) {
    const { after } = steps[at] as GraphStep
    const found: number[] = []
    for (const id of onceEach(after)) {
      const from = position.get(id)
      if (from === undefined || from === at) continue
      found.push(from)
      const there = next[from] as number[]
      if (there.length === 0) next[from] = [at]
      else there.push(at)
    }
    before.push(found)
  }
  return { position, before, next }
}

/** Positions in an order in which each comes after what it depends on; shorter than the graph when there is a cycle. */
export function sortSteps({ before, next }: Layout): number[] {
  const missing = before.map((list) => list.length)
  const order: number[] = []
  for (let at = 0; at < missing.length; at += 1) if (missing[at] === 0) order.push(at)
  for (let read = 0; read < order.length; read += 1) {
    for (const one of next[order[read] as number] ?? NONE) {
      const left = (missing[one] as number) - 1
      missing[one] = left
      if (left === 0) order.push(one)
    }
  }
  return order
}

/** What the steps run that have no condition, and come after none that may be left out for one. */
export function unconditional(steps: readonly GraphStep[]): readonly (AnyRunnable | string)[] {
  // Nodes run nothing else, and most steps have one.
  if (steps.every(({ node }) => isNode(node))) return []
  const layout = layOut(steps)
  const runs: boolean[] = []
  for (const at of sortSteps(layout)) {
    const { when, handles } = steps[at] as GraphStep
    const before = layout.before[at] ?? NONE
    const isReached = handles === true || before.length === 0 || before.some((one) => runs[one])
    runs[at] = when === undefined && isReached
  }
  return steps.flatMap(({ node }, at) => (runs[at] === true && !isNode(node) ? [node] : []))
}

/** Every problem of the steps, each said so that it can be mended. */
export function checkSteps(steps: readonly GraphStep[], registered: Names | undefined): string[] {
  const problems: string[] = []
  const names = registered === undefined ? undefined : withMade(steps, registered)
  if (steps.length === 0) problems.push('it has no steps. Add one: step(id, node).')
  const layout = layOut(steps)
  for (let at = 0; at < steps.length; at += 1) {
    const step = steps[at] as GraphStep
    checkId(step.id, layout.position.get(step.id) !== at, problems)
    checkOwner(step.id, layout, problems)
    checkAfter(step, layout, problems)
    checkNode(step, names, problems)
    if (step.input !== undefined && step.inputFn !== undefined)
      problems.push(`step '${step.id}' has both input and inputFn. Give one of them.`)
  }
  const order = sortSteps(layout)
  if (order.length < steps.length) problems.push(cycleProblem(steps, layout, order))
  else problems.push(...overlaps({ steps, layout, order, names }))
  return problems
}

/** Every problem of steps that are to be added to those that are there. */
export function checkAdded(steps: readonly GraphStep[], has: (id: string) => boolean, names: Names): string[] {
  if (steps.length === 0) return []
  const more = new Set(steps.map(({ id }) => id))
  const problems: string[] = []
  for (const { id, after } of steps) {
    if (has(id)) problems.push(`it already has a step '${id}'.`)
    for (const one of after)
      if (!more.has(one) && !has(one)) problems.push(`step '${id}' comes after '${one}', which it does not have.`)
    const owner = ownerOf(id)
    if (owner !== undefined && has(owner)) problems.push(spokenFor(id, owner))
  }
  const among = steps.map((step) => ({ ...step, after: step.after.filter((one) => more.has(one)) }))
  return [...problems, ...checkSteps(among, names)]
}

/** What a step does beside its node has a label made of its id: its condition, and what is said and tried again of it. */
const MARKS = '?!+'
const AGAIN = ['~retry', '~fallback']

/** For an id that is the label of what another step does beside its node: the id of that step, if there is one. */
export function ownerOf(id: string): string | undefined {
  if (id === '') return undefined
  if (MARKS.includes(id.charAt(id.length - 1))) return id.slice(0, -1)
  const at = id.lastIndexOf('~')
  return at > 0 && AGAIN.includes(id.slice(at)) ? id.slice(0, at) : undefined
}

function checkOwner(id: string, { position }: Layout, problems: string[]): void {
  const owner = typeof id === 'string' ? ownerOf(id) : undefined
  if (owner !== undefined && position.has(owner)) problems.push(spokenFor(id, owner))
}

function spokenFor(id: string, owner: string): string {
  return `the id '${id}' is used for what step '${owner}' does beside its node. Choose another.`
}

/** The names that steps can refer to: those that are known before, and those that other steps make. */
function withMade(steps: readonly GraphStep[], names: Names): Names {
  const made = new Map<string, AnyRunnable>()
  for (const { node } of steps) {
    const makes = typeof node === 'object' && node !== null && 'makes' in node ? node.makes : undefined
    for (const [name, standIn] of makes?.() ?? []) made.set(name, standIn)
  }
  if (made.size === 0) return names
  return { get: (name) => made.get(name) ?? names.get(name), keys: () => [...made.keys(), ...names.keys()] }
}

function checkId(id: string, again: boolean, problems: string[]): void {
  if (typeof id !== 'string' || id.trim() === '') problems.push('a step has an empty id.')
  else if (!isLabel(id) || id === '__proto__')
    problems.push(
      `${JSON.stringify(id)} is not an id for a step: use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  else if (again) problems.push(`two steps have the id '${id}'.`)
}

function checkAfter({ id, after }: GraphStep, { position }: Layout, problems: string[]): void {
  for (const one of after) {
    if (one === id) problems.push(`step '${id}' comes after itself.`)
    else if (!position.has(one)) problems.push(`step '${id}' comes after '${one}', which is not a step of this graph.`)
  }
}

function checkNode({ id, node }: GraphStep, names: Names | undefined, problems: string[]): void {
  const found = typeof node === 'string' ? names?.get(node) : node
  if (typeof node === 'string' && names !== undefined && found === undefined)
    problems.push(`step '${id}' refers to the node '${node}', which is not known here.`)
  else if (typeof node !== 'string' && !isNode(node) && !isDefinition(node))
    problems.push(`step '${id}' has no node: give a node, a definition, or the name of one.`)
  else if (typeof node !== 'string' && isDefinition(node) && names !== undefined)
    for (const problem of node.check?.(names) ?? []) problems.push(`in step '${id}': ${problem}`)
}

function cycleProblem(steps: readonly GraphStep[], layout: Layout, order: readonly number[]): string {
  const cycle = cycleOf(steps, layout, order).map((id) => `'${id}'`)
  return `these steps wait for each other in a cycle: ${cycle.join(' → ')}.`
}

/** What is left when no more steps can be sorted lies on a cycle or behind one: walking back ends up on it. */
export function cycleOf(steps: readonly GraphStep[], { before }: Layout, order: readonly number[]): string[] {
  const sorted = new Set(order)
  let at = steps.findIndex((_, index) => !sorted.has(index))
  const seen = new Map<number, number>()
  const walked: number[] = []
  while (!seen.has(at)) {
    seen.set(at, walked.length)
    walked.push(at)
    at = (before[at] ?? NONE).find((one) => !sorted.has(one)) as number
  }
  return [...walked.slice(seen.get(at)), at].toReversed().map((one) => (steps[one] as GraphStep).id)
}

interface Sorted {
  readonly steps: readonly GraphStep[]
  readonly layout: Layout
  readonly order: readonly number[]
  readonly names: Names | undefined
}

function overlaps(sorted: Sorted): string[] {
  return overlapsOf(sorted).map(
    ({ first, second, node }) =>
      `steps '${first}' and '${second}' could use the persistent node '${node}' at the same time. Put one after the other, or fork the node.`,
  )
}

export interface Overlap {
  readonly first: string
  readonly second: string
  readonly node: string
}

/** One persistent node does one thing at a time: steps that use it must be in an order. */
export function overlapsOf({ steps, layout, order, names }: Sorted): Overlap[] {
  const users = new Map<AnyRunnable, number[]>()
  for (const at of order) {
    const { node: used } = steps[at] as GraphStep
    // Most nodes keep nothing, and this is asked for every step of large graphs.
    if (typeof used !== 'string' && isNode(used) && !used.persistent) continue
    for (const node of persistentIn(used, names)) {
      const known = users.get(node)
      if (known === undefined) users.set(node, [at])
      else if (known.at(-1) !== at) known.push(at)
    }
  }
  const found: Overlap[] = []
  for (const [node, used] of users) {
    for (let index = 1; index < used.length; index += 1) {
      const [a, b] = [used[index - 1] as number, used[index] as number]
      if (reaches(layout, a, b)) continue
      const [first, second] = [(steps[a] as GraphStep).id, (steps[b] as GraphStep).id]
      found.push({ first, second, node: isNode(node) ? node.id : node.name })
    }
  }
  return found
}

/** The persistent nodes that run when this runs. */
export function persistentIn(
  node: AnyRunnable | string,
  names: Names | undefined,
  found = new Set<AnyRunnable>(),
  seen = new Set<AnyRunnable>(),
): Set<AnyRunnable> {
  const one = typeof node === 'string' ? names?.get(node) : node
  if (one === undefined || seen.has(one)) return found
  if (isNode(one)) {
    if (one.persistent) found.add(one)
    return found
  }
  if (one.inner === undefined) return found
  seen.add(one)
  for (const inside of one.inner()) persistentIn(inside, names, found, seen)
  return found
}

/** True when a way leads from one step to another. */
export function reaches({ next }: Layout, from: number, to: number): boolean {
  const seen = new Set<number>([from])
  const queue = [from]
  for (let read = 0; read < queue.length; read += 1) {
    for (const one of next[queue[read] as number] ?? NONE) {
      if (one === to) return true
      if (seen.has(one)) continue
      seen.add(one)
      queue.push(one)
    }
  }
  return false
}
