/** Everything that is wrong with an agent graph and can be known without running it. */
import type { AnyRunnable, Names } from '../../engine/definition.ts'
import { isDefinition, isNode } from '../../engine/run-node.ts'
import { isLabel } from '../../engine/scope.ts'
import {
  cycleOf,
  layOut,
  overlapsOf,
  ownerOf,
  reaches,
  sortSteps,
  type GraphStep,
  type Layout,
} from '../graph-steps.ts'

export interface AgentOrder {
  readonly before: string
  readonly then: string
  /** How it was said. */
  readonly said: string
}

export interface AgentFacts {
  /** One for each agent, in the order in which they were given; its node is what the agent runs. */
  readonly steps: readonly GraphStep[]
  readonly orders: readonly AgentOrder[]
  /** Agents that are to run beside each other. */
  readonly apart: readonly (readonly string[])[]
}

export function checkAgents({ steps, orders, apart }: AgentFacts, names: Names | undefined): string[] {
  const problems: string[] = []
  if (steps.length === 0) problems.push('it has no agents. Add one: agent(name, { bundle, target }).')
  const layout = layOut(steps)
  const known = (name: string): boolean => layout.position.has(name)
  for (const [at, step] of steps.entries()) {
    checkName(step.id, layout.position.get(step.id) !== at, problems)
    const owner = ownerOf(step.id)
    if (owner !== undefined && known(owner))
      problems.push(`the name '${step.id}' is used for what is said of agent '${owner}'. Choose another.`)
    checkBundle(step.id, step.node, names, problems)
    if (step.input !== undefined && step.inputFn !== undefined)
      problems.push(`agent '${step.id}' has both target and targetFn. Give one of them.`)
  }
  for (const { before, then, said } of orders) {
    for (const name of [before, then])
      if (!known(name)) problems.push(`${said} names '${name}', which is no agent of this graph.`)
    if (before === then) problems.push(`agent '${then}' comes after itself.`)
  }
  for (const name of new Set(apart.flat()))
    if (!known(name)) problems.push(`runParallel names '${name}', which is no agent of this graph.`)
  const sorted = sortSteps(layout)
  if (sorted.length < steps.length) problems.push(inCycle(cycleOf(steps, layout, sorted)))
  else problems.push(...ordered(apart, layout), ...together(steps, layout, sorted, names))
  return [...new Set(problems)]
}

function checkName(name: string, again: boolean, problems: string[]): void {
  if (!isLabel(name) || name.trim() === '' || name === '__proto__' || name === '+')
    problems.push(
      `${JSON.stringify(name)} is not a name for an agent: use 1 to 200 characters without '/', '#' and line breaks.`,
    )
  else if (again) problems.push(`two agents have the name '${name}'.`)
}

function checkBundle(name: string, node: AnyRunnable | string, names: Names | undefined, problems: string[]): void {
  if (typeof node === 'string') {
    if (names !== undefined && names.get(node) === undefined)
      problems.push(`agent '${name}' has the bundle '${node}', which is not known here.`)
  } else if (isDefinition(node)) {
    for (const problem of names === undefined ? [] : (node.check?.(names) ?? []))
      problems.push(`in agent '${name}': ${problem}`)
  } else if (!isNode(node))
    problems.push(`agent '${name}' has no bundle: give a node, a definition, or the name of one.`)
}

function inCycle(names: readonly string[]): string {
  return `these agents wait for each other in a cycle: ${names.map((name) => `'${name}'`).join(' → ')}.`
}

/** Agents that were said to run in parallel, and cannot. */
function ordered(apart: AgentFacts['apart'], layout: Layout): string[] {
  const problems: string[] = []
  for (const group of apart) {
    for (const one of group) {
      for (const other of group) {
        const [from, to] = [layout.position.get(one), layout.position.get(other)]
        if (from === undefined || to === undefined || from === to || !reaches(layout, from, to)) continue
        problems.push(`agents '${one}' and '${other}' are to run in parallel, and '${other}' comes after '${one}'.`)
      }
    }
  }
  return problems
}

function together(
  steps: readonly GraphStep[],
  layout: Layout,
  order: readonly number[],
  names: Names | undefined,
): string[] {
  return overlapsOf({ steps, layout, order, names }).map(
    ({ first, second, node }) =>
      `agents '${first}' and '${second}' could use the persistent node '${node}' at the same time. Put one after the other, or fork the node.`,
  )
}
