/**
 * Running something that is not written in place: a node becomes one step, a definition runs in a scope of the same run.
 * Both are given by value or by name. There is no other way for one definition to run another in its own journal.
 */
import { milliseconds, type Duration } from '../base/duration.ts'
import { NerveError, errorData } from '../base/nerve-error.ts'
import { parseWith } from '../base/schema.ts'
import { nodeScope, race } from './branches.ts'
import type { AnyDefinition, AnyNode, AnyRunnable, Context, Names, Policy, RunOptions, StepCall } from './definition.ts'
import type { Execution } from './execution.ts'
import { backoffDelay, checkStepOptions, isHopeless } from './policy.ts'
import { here, isLabel, isStopped, isWithin, type Scope } from './scope.ts'
import { step } from './step.ts'
import { after, sleep } from './waits.ts'

/** Where a context keeps its run, for the parts of Nerve that build on it. */
export const EXECUTION: unique symbol = Symbol('execution')

export function executionOf(ctx: Context): Execution {
  const found = (ctx as { readonly [EXECUTION]?: Execution })[EXECUTION]
  if (found === undefined) throw new NerveError('bad-option', 'This is not the ctx of a run.')
  return found
}

interface Running {
  readonly node: unknown
  readonly input: unknown
  readonly options: RunOptions
}

export function runNode(execution: Execution, context: Context, running: Running): Promise<unknown> {
  const { input, options } = running
  const node = typeof running.node === 'string' ? named(execution, running.node) : running.node
  if (isNode(node)) {
    const { label = node.id, params: _params, parser = parserOf(node), ...policy } = options
    const merged = { ...node.policy, ...policy, ...(input === undefined ? {} : { input }) }
    // What it knew of an earlier step has to be known again, also of steps in finished items of maps.
    if (node.recall !== undefined) keepState(context)
    return step(execution, label, (call) => parsed(executeNode(node, input, call), parser), merged, node)
  }
  if (isDefinition(node)) return inline(execution, context, { definition: node, input, options })
  throw new NerveError(
    'bad-definition',
    'run needs a node or a definition, or the name of one: ctx.run(node, input, options?).',
  )
}

export function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && typeof (value as { execute?: unknown }).execute === 'function'
}

export function isDefinition(value: unknown): value is AnyDefinition {
  if (typeof value !== 'object' || value === null) return false
  const { kind, name, run, options } = value as Record<string, unknown>
  return (
    typeof run === 'function' && typeof kind === 'string' && typeof name === 'string' && typeof options === 'object'
  )
}

/** What a name stands for in this run. */
export function named(execution: Execution, name: string): AnyRunnable {
  const found = execution.made?.get(name) ?? execution.names.get(name)
  if (found !== undefined) return found
  const known = [...execution.names.keys(), ...(execution.made?.keys() ?? [])]
  throw new NerveError(
    'unknown-node',
    `There is no node or definition '${name}' here. ${known.length === 0 ? 'None is registered: host.register(…).' : `Known: ${known.join(', ')}.`}`,
    { retry: 'never', data: { name } },
  )
}

/** What is meant: itself, or what a name stands for in this run. */
export function runnableOf(ctx: Context, node: AnyRunnable | string): AnyRunnable {
  return typeof node === 'string' ? named(executionOf(ctx), node) : node
}

/** What this run may refer to by name. */
export function namesOf(ctx: Context): Names {
  const execution = executionOf(ctx)
  return {
    get: (name) => execution.made?.get(name) ?? execution.names.get(name),
    keys: () => new Set([...execution.names.keys(), ...(execution.made?.keys() ?? [])]),
  }
}

/** Makes something known to this run only (a fork of a node). A replay makes it again. */
export function adopt(ctx: Context, name: string, made: AnyRunnable): void {
  const execution = executionOf(ctx)
  execution.made ??= new Map()
  execution.made.set(name, made)
}

/** Says in the journal that a step is not run, and why. */
export function skipStep(ctx: Context, label: string, reason: string): void {
  const execution = executionOf(ctx)
  const place = execution.enter(label)
  place.delivered = true
  if (execution.take(place.path, 'step') !== undefined) return
  const error = errorData(new NerveError('skipped', reason))
  execution.append({ type: 'step-skipped', path: place.path, ...after(place), error })
}

/**
 * Says in the journal that something failed, when no step in it has said so already: a definition that threw by itself,
 * an input that cannot be kept. For forms that go on after a failure.
 */
export function recordFailure(ctx: Context, label: string, thrown: unknown): void {
  const execution = executionOf(ctx)
  if (execution.tree.blamed(thrown) !== undefined) return
  const place = execution.enter(label)
  place.delivered = true
  if (execution.take(place.path, 'step') !== undefined) return
  const started = execution.clock.now()
  const error = errorData(thrown)
  execution.append({ type: 'step-failed', path: place.path, ...after(place), attempt: 1, error, final: true, started })
}

/** Tells, from then on, whether the part of the run that asks for it was stopped: then nothing in it can go on. */
export function stopWatch(ctx: Context): () => boolean {
  const execution = executionOf(ctx)
  const scope = scopeHere() ?? execution.root.scope
  return () => execution.closed !== undefined || isStopped(scope)
}

/** The path of the part of the run that asks: of the definition or the branch that its code is in; '' for the run. */
export function pathHere(): string {
  return (scopeHere()?.prefix ?? '').slice(0, -1)
}

/** A part of a run in which something keeps state in memory. */
export interface StatePart {
  /** The same object for all parts of one run. */
  readonly run: object
  /** True when a replay that comes to `other` has been through this part: it may be left out when it lost a race. */
  precedes(other: StatePart): boolean
  /** True when a replay goes through this part, whatever comes after it. */
  readonly certain: boolean
  readonly scope: object
}

/**
 * Says that what runs here keeps state in memory that a replay has to build again: items of maps around it are then run
 * again, over their recorded steps.
 */
export function keepState(ctx: Context): StatePart {
  const run = executionOf(ctx)
  const scope = scopeHere() ?? run.root.scope
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) at.keeps = true
  const precedes = (other: object): boolean => {
    for (let at: Scope | undefined = scope; at !== undefined; at = at.parent)
      if (at.raced && !isWithin(other as Scope, at)) return false
    return true
  }
  return {
    run,
    scope,
    precedes: (other) => precedes(other.scope),
    get certain() {
      return precedes(run.root.scope)
    },
  }
}

function scopeHere(): Scope | undefined {
  const place = here.getStore()
  return place === undefined || 'inStep' in place ? undefined : place.scope
}

function parserOf(node: AnyNode): RunOptions['parser'] {
  return node.parser === undefined ? undefined : (output: unknown) => node.parser?.(output)
}

function parsed(output: unknown, parser: RunOptions['parser']): unknown {
  if (parser === undefined) return output
  const parse = parser as (output: unknown) => unknown
  return output instanceof Promise ? output.then(parse) : parse(output)
}

const busy = new WeakMap<AnyNode, Promise<void>>()

/** Nodes in the care of something that is executed in their place. */
const carers = new WeakMap<AnyNode, AnyNode>()

/**
 * From now on `carer` is executed wherever `node` would be: the two are one in all steps, whichever of them a definition
 * holds. Taken back by what this returns. What one of them is doing, the other waits for.
 */
export function careFor(node: AnyNode, carer: AnyNode): () => void {
  if (carers.has(node)) throw new NerveError('bad-option', `Node '${node.id}' is in the care of something else.`)
  carers.set(node, carer)
  handOver(node, carer)
  return () => {
    if (carers.get(node) !== carer) return
    carers.delete(node)
    handOver(carer, node)
  }
}

function handOver(from: AnyNode, to: AnyNode): void {
  const before = busy.get(from)
  if (before !== undefined) busy.set(to, before)
}

/** A persistent node does one thing at a time, in whatever runs and steps it is used. */
export function executeNode(used: AnyNode, input: unknown, call: StepCall): unknown {
  const node = carers.get(used) ?? used
  if (!node.persistent) return node.execute(input, call)
  const before = busy.get(node) ?? Promise.resolve()
  const result = before.then(() => {
    call.signal.throwIfAborted()
    return node.execute(input, call) as unknown
  })
  busy.set(
    node,
    result.then(
      () => undefined,
      () => undefined,
    ),
  )
  return result
}

interface Inlining {
  readonly definition: AnyDefinition
  readonly input: unknown
  readonly options: RunOptions
}

async function inline(execution: Execution, context: Context, inlining: Inlining): Promise<unknown> {
  const { definition, options } = inlining
  const label = options.label ?? (isLabel(definition.name) ? definition.name : definition.kind)
  const { label: _label, params: _params, parser: _parser, ...policy } = options
  checkStepOptions(label, policy)
  if (definition.options.budget !== undefined)
    throw new NerveError(
      'bad-option',
      `'${definition.name}' has a budget of its own, which needs a run of its own: ctx.child(definition, input).`,
    )
  if (definition.options.durability === 'power' && !execution.patient)
    throw new NerveError(
      'bad-option',
      `'${definition.name}' wants durability 'power', which its run does not have. Start the run with it.`,
    )
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await timed(execution, { label, node: definition.kind, timeout: options.timeout }, () =>
        enter(context, inlining),
      )
    } catch (error) {
      // Stopped from outside: no policy of the definition can help, and nothing may start again.
      const over = execution.closed !== undefined || isStopped(execution.root.scope)
      if (over || (error as { code?: unknown } | undefined)?.code === 'skipped') throw error
      if (attempt < (options.attempts ?? 1) && !isHopeless(error)) {
        const wait = backoffDelay(options.backoff, attempt)
        await sleep(execution, execution.enter(`${label}~retry`), () => execution.clock.now() + wait)
        continue
      }
      return instead(execution, label, options, error)
    }
  }
}

async function enter(context: Context, { definition, input, options }: Inlining): Promise<unknown> {
  const { options: own, name } = definition
  const scope = scopeHere()
  if (own.errorPolicy !== undefined && scope !== undefined) scope.errorPolicy = own.errorPolicy
  const checked: unknown =
    own.input === undefined
      ? input
      : await parseWith(own.input, input, { code: 'bad-input', what: `The input of '${name}'` })
  const inner = derive(context, { input: checked, params: { ...own.params, ...context.params, ...options.params } })
  const output: unknown = await parsed(await definition.run(inner, checked), options.parser)
  if (own.output === undefined) return output
  return parseWith(own.output, output, { code: 'bad-output', what: `The output of '${name}'` })
}

/** The same context with other members laid over it. */
export function derive<Input>(context: Context, over: Partial<Context<Input>>): Context<Input> {
  return Object.assign(Object.create(context) as Context<Input>, over)
}

interface Timed {
  readonly label: string
  readonly node: string
  readonly timeout: Duration | undefined
}

function timed(execution: Execution, { label, node, timeout }: Timed, run: () => Promise<unknown>): Promise<unknown> {
  if (timeout === undefined) return nodeScope(execution, { label, node }, run)
  const ms = milliseconds(timeout, 'timeout')
  const late = async (): Promise<never> => {
    await sleep(execution, execution.enter('timeout'), () => execution.clock.now() + ms)
    throw new NerveError('timeout', `'${label}' did not end within ${timeout}.`, { retry: 'later' })
  }
  return race(execution, [run, late], { label })
}

async function instead(
  execution: Execution,
  label: string,
  { onError = 'fail' }: Policy,
  error: unknown,
): Promise<unknown> {
  if (onError === 'fail') throw error
  if ('skip' in onError) return onError.skip
  const { fallback } = onError
  return step(execution, `${label}~fallback`, (call) => fallback(call, error))
}
