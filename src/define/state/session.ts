/**
 * Looking at runs of a state graph and branching off them. Nothing is kept for this: a state is made again by replaying
 * the run over a variant of the graph that says what it sees.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyDefinition, AnyRunnable } from '../../engine/definition.ts'
import type { ForkOptions } from '../../engine/fork.ts'
import type { Replayed } from '../../engine/replay.ts'
import type { StartOptions } from '../../engine/start.ts'
import type { Entry } from '../../journal/events.ts'
import { updateProblem, type Values } from './channel.ts'
import { positionFrom, type Saver } from './checkpoint.ts'
import type { CompiledGraph } from './compiled.ts'
import { toldBy, toldParams, type Edit } from './position.ts'
import type { Observed } from './run.ts'

export interface StateRunHandle {
  readonly id: string
  result(): Promise<unknown>
  fork(options?: ForkOptions): Promise<StateRunHandle>
}

/** A handle as the host gives it, with the type of the graph's output. */
export type RunOf<One, Output> = Omit<One, 'result' | 'fork'> & {
  result(): Promise<Output>
  fork(options?: ForkOptions): Promise<RunOf<One, Output>>
}

/** What state graphs need of a host. */
export interface StateHost<One extends StateRunHandle = StateRunHandle> {
  start(definition: AnyDefinition, input?: unknown, options?: Omit<StartOptions, 'input'>): Promise<One>
  handle(run: string): Promise<One>
  register(...more: readonly AnyRunnable[]): void
  run(run: string): Promise<{ readonly run: string; readonly definition: string }>
  journal(run: string): Promise<readonly Entry[]>
  replay(run: string, definition?: AnyDefinition): Promise<Replayed>
}

/** The state of a run after a step; step 0 is before the first. */
export interface StateStep<State = Values> extends Observed<State> {
  readonly run: string
}

export interface UpdateStateOptions {
  /** After which step (default: the last that ended). 0 is before the first. */
  readonly at?: number
  /** As if this node had made the update: what comes after it runs next. */
  readonly asNode?: string
}

export async function invokeGraph(graph: CompiledGraph, host: StateHost, input: unknown): Promise<unknown> {
  return (await host.start(graph as AnyDefinition, input)).result()
}

export async function* streamStates(
  graph: CompiledGraph,
  host: StateHost,
  input: unknown,
): AsyncGenerator<StateStep, void> {
  const seen: Observed[] = []
  let wake = Promise.withResolvers<void>()
  let over = false
  let whole = false
  const observe = (one: Observed): void => {
    seen.push(one)
    wake.resolve()
  }
  const ended = (): void => {
    whole = true
  }
  const run = await startVariant(graph, host, { variation: { observe, ended }, input })
  const result = run.result()
  const settle = (): void => {
    over = true
    wake.resolve()
  }
  result.then(settle, settle)
  let next = 0
  for (;;) {
    for (; next < seen.length; next += 1) yield { run: run.id, ...(seen[next] as Observed) }
    if (over) break
    await wake.promise
    wake = Promise.withResolvers()
  }
  // A run that rested for long may have gone on without this variant of it.
  const last = seen.at(-1)?.step ?? -1
  if (!whole) for (const one of await historyOf(graph, host, run.id)) if (one.step > last) yield one
  await result
}

interface Starting {
  readonly variation: Parameters<CompiledGraph['varied']>[0]
  readonly input?: unknown
  readonly params?: Readonly<Record<string, unknown>>
}

/** Starts a variant, and leaves the graph itself known under the name. */
async function startVariant<One extends StateRunHandle>(
  graph: CompiledGraph,
  host: StateHost<One>,
  { variation, input, params }: Starting,
): Promise<One> {
  host.register(graph as AnyDefinition)
  const run = await host.start(graph.varied(variation) as AnyDefinition, input, params === undefined ? {} : { params })
  host.register(graph as AnyDefinition)
  return run
}

export async function historyOf(graph: CompiledGraph, host: StateHost, run: string): Promise<readonly StateStep[]> {
  const row = await host.run(run)
  mustBeOf(graph, row.run, row.definition)
  const seen: StateStep[] = []
  const observe = (one: Observed): void => void seen.push({ run: row.run, ...one })
  const { same, problems } = await host.replay(row.run, graph.varied({ observe }) as AnyDefinition)
  if (same) return seen
  throw new NerveError(
    'diverged',
    `The states of run ${row.run} cannot be made again, because '${graph.name}' has changed since: ${problems.join('; ')}`,
  )
}

interface Updating extends UpdateStateOptions {
  readonly update: Values
}

export async function updateGraph<One extends StateRunHandle>(
  graph: CompiledGraph,
  host: StateHost<One>,
  run: string,
  { update, at, asNode }: Updating,
): Promise<One> {
  const seen = await historyOf(graph, host, run)
  const first = seen[0] as StateStep
  const step = at ?? (seen.at(-1) as StateStep).step
  const { plan } = graph
  const problem = updateProblem(plan.channels, update)
  if (problem !== undefined) throw new NerveError('bad-option', `updateState: ${problem}`)
  if (asNode !== undefined && !plan.nodes.has(asNode))
    throw new NerveError(
      'bad-option',
      `updateState: there is no node '${asNode}'. Nodes: ${[...plan.nodes.keys()].join(', ')}.`,
    )
  const index = seen.findIndex((one) => one.step === step)
  if (index === -1)
    throw new NerveError(
      'bad-option',
      `updateState: run ${first.run} has the steps ${first.step} to ${seen.at(-1)?.step}, and not ${step}.`,
    )
  const entries = await host.journal(first.run)
  const [created] = entries
  const told = toldBy(created?.event.type === 'run-created' ? (created.event.params ?? {}) : {})
  const edit: Edit = { step, update, ...(asNode === undefined ? {} : { asNode }) }
  const edits = [...(told.edits ?? []).filter((one) => one.step <= step), edit]
  const handle = await host.handle(first.run)
  host.register(graph as AnyDefinition)
  const cut = endOf(seen.slice(0, index + 1), entries)
  return (await handle.fork({ at: cut, params: toldParams({ ...told, edits }) })) as One
}

/** The sequence number of the last event of these steps. */
function endOf(steps: readonly StateStep[], entries: readonly Entry[]): number {
  const turns = new Map<string, number>()
  const inside = new Set<string>()
  for (const { nodes } of steps) {
    for (const id of nodes) {
      const turn = (turns.get(id) ?? 0) + 1
      turns.set(id, turn)
      inside.add(turn === 1 ? id : `${id}#${turn}`)
    }
  }
  const last = entries.findLast(({ event }) => 'path' in event && inside.has((event.path ?? '').split('/')[0] ?? ''))
  return last?.seq ?? 1
}

interface Resuming {
  readonly saver: Saver
  readonly run: string
  readonly id: string | undefined
}

export async function resumeGraph<One extends StateRunHandle>(
  graph: CompiledGraph,
  host: StateHost<One>,
  { saver, run, id }: Resuming,
): Promise<One> {
  const found = await saver.load(run, id)
  if (found === undefined)
    throw new NerveError('not-found', `The saver has no checkpoint${id === undefined ? '' : ` ${id}`} of run ${run}.`)
  mustBeOf(graph, run, found.definition)
  const { step, state, next, pending } = found
  const from = { step, state, next, ...(pending === undefined ? {} : { pending }) }
  // Before a run exists: a checkpoint that does not fit leaves nothing behind.
  positionFrom(graph.plan, from)
  return startVariant(graph, host, { variation: { withoutInput: true }, params: toldParams({ from }) })
}

function mustBeOf(graph: CompiledGraph, run: string, definition: string): void {
  if (definition === graph.name) return
  throw new NerveError('bad-option', `Run ${run} is a run of '${definition}', not of state graph '${graph.name}'.`)
}
