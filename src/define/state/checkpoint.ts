/** Checkpoints: a state graph between two steps, as plain data that can be kept elsewhere and resumed from. */
import { NerveError, errorData, errorFrom, type ErrorData } from '../../base/nerve-error.ts'
import { initialState, updateProblem, type Values } from './channel.ts'
import type { Plan } from './plan.ts'
import type { Position } from './position.ts'

export interface Checkpoint<State = Values> {
  /** Unique in its run. */
  readonly id: string
  readonly run: string
  /** The name of the state graph. */
  readonly definition: string
  /** How many steps had ended. */
  readonly step: number
  /** The nodes that ran in the last of them. */
  readonly nodes: readonly string[]
  readonly state: State
  /** The nodes that run next; none: the graph has ended. */
  readonly next: readonly string[]
  /** What else they need: the items sent to them, the errors that they handle, and how far joins and loops are. */
  readonly pending?: Pending
  readonly time: number
}

export interface Pending {
  readonly items?: Readonly<Record<string, readonly unknown[]>>
  readonly errors?: Readonly<Record<string, ErrorData>>
  readonly joins?: Readonly<Record<string, readonly string[]>>
  readonly loops?: Readonly<Record<string, number>>
}

/** A checkpoint without what makes it large. */
export type CheckpointInfo = Omit<Checkpoint, 'state' | 'pending'>

/** Keeps checkpoints. What it is given is plain data as journals keep it; what it gives back must be the same. */
export interface Saver {
  /** Saves one. Saving it again replaces it. */
  save(checkpoint: Checkpoint): Promise<void>
  /** The one with this id, or the latest; undefined when there is none. */
  load(run: string, id?: string): Promise<Checkpoint | undefined>
  /** All of a run, the earliest first. */
  list(run: string): Promise<readonly CheckpointInfo[]>
  /** Removes one, or all of a run. */
  delete(run: string, id?: string): Promise<void>
}

/** The part of a checkpoint that says how to go on. */
export function pendingOf(plan: Plan, { active, joins, loops }: Position): Pending | undefined {
  const items: Record<string, readonly unknown[]> = {}
  const errors: Record<string, ErrorData> = {}
  for (const [id, subjects] of active) {
    const takes = plan.nodes.get(id)?.takes
    if (takes === 'item') items[id] = subjects
    if (takes === 'error') errors[id] = errorData(subjects[0])
  }
  const open = [...joins].filter(([, seen]) => seen.size > 0)
  const pending = {
    ...(Object.keys(items).length === 0 ? {} : { items }),
    ...(Object.keys(errors).length === 0 ? {} : { errors }),
    ...(open.length === 0 ? {} : { joins: Object.fromEntries(open.map(([id, seen]) => [id, [...seen]])) }),
    ...(loops.size === 0 ? {} : { loops: Object.fromEntries(loops) }),
  }
  return Object.keys(pending).length === 0 ? undefined : pending
}

export type Resumable = Pick<Checkpoint, 'step' | 'state' | 'next' | 'pending'>

/** Where a run goes on from, or an error that says what in the checkpoint does not fit the graph. */
export function positionFrom(plan: Plan, checkpoint: Resumable): Position {
  const { step, state, next, pending = {} } = checkpoint
  const problems = resumeProblems(plan, checkpoint)
  if (problems.length > 0)
    throw new NerveError('bad-input', `The checkpoint does not fit state graph '${plan.name}': ${problems.join(' ')}`, {
      data: { problems },
    })
  const { items = {}, errors = {}, joins = {}, loops = {} } = pending
  const subjects = (id: string): readonly unknown[] => {
    const error = errors[id]
    return error === undefined ? (items[id] ?? []) : [errorFrom(error)]
  }
  return {
    step,
    // A channel that was added since begins with its default.
    state: Object.freeze({ ...initialState(plan.channels), ...state }),
    active: new Map(next.map((id) => [id, [...subjects(id)]])),
    joins: new Map(Object.entries(joins).map(([id, seen]) => [id, new Set(seen)])),
    loops: new Map(Object.entries(loops)),
  }
}

function resumeProblems(plan: Plan, { step, state, next, pending }: Resumable): string[] {
  const problems: string[] = []
  if (!Number.isInteger(step) || step < 0) problems.push(`step is ${String(step)}; it must be a whole number from 0.`)
  if (typeof state !== 'object' || state === null || Array.isArray(state)) problems.push('state is not an object.')
  else {
    const wrong = updateProblem(plan.channels, state)
    if (wrong !== undefined) problems.push(`state: ${wrong}`)
  }
  if (!Array.isArray(next)) return [...problems, 'next is not a list of nodes.']
  for (const id of next as readonly string[]) {
    const node = plan.nodes.get(id)
    if (node === undefined)
      problems.push(`next: there is no node '${id}'. Nodes: ${[...plan.nodes.keys()].join(', ')}.`)
    else if (node.takes === 'item' && !Array.isArray(pending?.items?.[id]))
      problems.push(`next: node '${id}' runs once for each item, and pending.items has none for it.`)
    else if (node.takes === 'error' && pending?.errors?.[id] === undefined)
      problems.push(`next: node '${id}' handles an error, and pending.errors has none for it.`)
  }
  return problems
}
