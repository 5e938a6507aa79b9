/** Runs one node of a state graph, as a step or a scope of the run. What it gives is read by whoever merges it. */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, Context, Policy, StepCall } from '../../engine/definition.ts'
import { executeNode, isNode, runnableOf } from '../../engine/run-node.ts'
import type { Usage } from '../../journal/events.ts'
import { updateProblem, type Values } from './channel.ts'
import { NO_EDITS, PARAM } from './position.ts'
import { STRICT, type Plan, type PlanNode, type Subject, type Work } from './plan.ts'
import { END, isSend, raise, readResult, type Settled } from './result.ts'
import type { Slots } from './slots.ts'

/** What the nodes of one step have in common. */
export interface Setting {
  readonly ctx: Context
  readonly plan: Plan
  readonly state: Values
  readonly slots: Slots
  /** From which share of a context window on there is a warning. */
  readonly window: number
  /** What stands for a node in a copy of the graph. */
  readonly swap: ReadonlyMap<AnyRunnable | string, AnyRunnable> | undefined
  /** Runs a branch: its updates in order, and its state at the end. */
  readonly branch: (plan: Plan, state: Values) => Promise<Branch>
}

export interface Branch {
  readonly updates: readonly Values[]
  readonly state: Values
}

/** Everything that a node returned: one result, or one for each of its items or of the updates of its branches. */
export async function runNode(at: Setting, node: PlanNode, subjects: readonly Subject[]): Promise<readonly unknown[]> {
  const { ctx, slots } = at
  const { work, id } = node
  if (work.type === 'parallel') return runBranches(at, node, work)
  if (node.takes !== 'item') return [await runOne(at, node, { work, subject: subjects[0], label: id })]
  return ctx.scope(id, () =>
    Promise.all(
      subjects.map((subject, index) => slots.take(() => runOne(at, node, { work, subject, label: String(index) }))),
    ),
  )
}

interface Turn {
  readonly work: Exclude<Work, { type: 'parallel' }>
  readonly subject: Subject
  readonly label: string
}

function runOne(at: Setting, node: PlanNode, turn: Turn): Promise<unknown> {
  const { ctx, state } = at
  const { work, subject, label } = turn
  switch (work.type) {
    case 'function':
      return ctx.step(label, (call) => finish(at, node, work.run(subject, state, call), call), node.policy)
    case 'node':
      return runRunnable(at, node, { ...turn, work })
    case 'wait': {
      const prompt = typeof work.prompt === 'string' ? work.prompt : work.prompt(state)
      ctx.emit('human_input_required', { node: node.id, prompt })
      return ctx
        .ask(prompt, { ...work.ask, label })
        .then((answer) => checked(at.plan, node, work.into?.(answer, state)))
    }
  }
}

type NodeWork = Extract<Work, { type: 'node' }>
type NodeTurn = Turn & { readonly work: NodeWork }

function runRunnable(at: Setting, node: PlanNode, { work, subject, label }: NodeTurn): Promise<unknown> {
  const { ctx, state, swap } = at
  const { policy } = node
  let input: unknown
  try {
    input = work.input(subject, state)
  } catch (error) {
    return ctx.step(label, () => Promise.reject(error), STRICT)
  }
  const found = runnableOf(ctx, swap?.get(work.node) ?? work.node)
  const update = (output: unknown): unknown => work.update(output, state)
  if (isNode(found)) {
    const run = (call: StepCall): unknown =>
      after(executeNode(found, input, call), (output) => finish(at, node, update(output), call))
    const own = { ...STRICT, ...mappedPolicy(found.policy ?? {}, update), ...policy }
    return ctx.step(label, run, input === undefined ? own : { ...own, input })
  }
  const parser = (output: unknown): unknown => checked(at.plan, node, update(output))
  const params = PARAM in ctx.params ? { params: NO_EDITS } : {}
  const run = (): Promise<unknown> => ctx.run(found, input, { ...policy, ...params, label, parser } as never)
  // Its attempts are numbered: in a scope of their own, the path of the node says how often it was its turn.
  return (policy.attempts ?? 1) > 1 ? ctx.scope(label, run) : run()
}

/** What a node itself does about failures gives outputs, and a step of a state graph keeps updates. */
function mappedPolicy(policy: Policy, update: (output: unknown) => unknown): Policy {
  const { onError } = policy
  if (onError === undefined || onError === 'fail') return policy
  if ('skip' in onError) return { ...policy, onError: { skip: update(onError.skip) } }
  return { ...policy, onError: { fallback: (call, error) => after(onError.fallback(call, error), update) } }
}

/** What a step keeps of what its function returned: checked, and with a warning when a context window is filling up. */
function finish(at: Setting, node: PlanNode, result: unknown, call: StepCall): unknown {
  return after(result, (value) => {
    checked(at.plan, node, value)
    const usage = (call as StepCall & { readonly spent?: Usage }).spent?.window ?? 0
    return usage >= at.window ? raise(value, { type: 'context_window_warning', usage }) : value
  })
}

/** The result, if the graph can go on from it. */
function checked(plan: Plan, node: PlanNode, result: unknown): unknown {
  checkSettled(plan, node, readResult(node.id, result))
  return result
}

export function checkSettled(plan: Plan, node: PlanNode, { update, targets }: Settled): void {
  const problem = update === undefined ? undefined : updateProblem(plan.channels, update)
  if (problem !== undefined) throw badOutput(node, `returned an update that does not fit: ${problem}`)
  for (const target of targets ?? []) {
    const id = isSend(target) ? target['nerve:send'] : target
    const found = plan.nodes.get(id)
    if (id === END && !isSend(target)) continue
    if (found === undefined)
      throw badOutput(node, `goes to '${id}', which is not a node. Nodes: ${[...plan.nodes.keys()].join(', ')}.`)
    if (found.takes === 'error') throw badOutput(node, `goes to '${id}', which only handles errors.`)
    if (isSend(target) !== (found.takes === 'item'))
      throw badOutput(
        node,
        isSend(target)
          ? `sends an item to '${id}', which is not made for items. Make it with each(id, (item, state) => …).`
          : `goes to '${id}', which runs once for each item. Send it some: send('${id}', item).`,
      )
    if (node.to !== undefined && !node.to.includes(id))
      throw badOutput(node, `goes to '${id}', which its option 'to' does not list.`)
  }
}

function badOutput(node: PlanNode, what: string): NerveError {
  return new NerveError('bad-output', `Node '${node.id}' ${what}`, { data: { node: node.id } })
}

type ParallelWork = Extract<Work, { type: 'parallel' }>

async function runBranches(at: Setting, node: PlanNode, work: ParallelWork): Promise<readonly unknown[]> {
  const { ctx, state } = at
  const label = node.id
  const names = Object.keys(work.branches)
  const runs = Object.values(work.branches).map((plan) => () => at.branch(plan, state))
  const ended = new Map<string, Branch>()
  if (work.mode === 'all') {
    const all = await ctx.all(runs, { label })
    for (const [index, name] of names.entries()) ended.set(name, all[index] as Branch)
  } else {
    const named = names.map((name, index) => async () => ({
      name,
      branch: await (runs[index] as () => Promise<Branch>)(),
    }))
    const won = await ctx.race(named, { label, until: work.mode === 'any' ? 'success' : 'settled' })
    ended.set(won.name, won.branch)
  }
  if (work.merge === undefined) return [...ended.values()].flatMap(({ updates }) => updates)
  const states = Object.fromEntries([...ended].map(([name, branch]) => [name, branch.state]))
  return [checked(at.plan, node, work.merge(states, state))]
}

function after(value: unknown, then: (value: unknown) => unknown): unknown {
  return isPromise(value) ? value.then(then) : then(value)
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
