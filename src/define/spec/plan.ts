/**
 * Plans: steps that a model writes while the run goes on. A plan is data. It is checked against the nodes that it was
 * offered, all problems at once, before any of it runs; it can name nothing else, and it can hold no code.
 */
import { NerveError } from '../../base/nerve-error.ts'
import type { AnyRunnable, Context, Names } from '../../engine/definition.ts'
import { executionOf, isNode, named } from '../../engine/run-node.ts'
import { agentLoopForm } from '../agent-loop.ts'
import { checkLimit, controlNode, given, runPart, type ControlForm, type ControlNode } from '../control/control.ts'
import type { Part } from '../control/fit.ts'
import { CONTROL_FORMS } from '../control/forms.ts'
import { readPlan, type SpecGraph } from './read-spec.ts'
import { problemText } from './spec-text.ts'
import { entriesOf } from './step-entries.ts'

const MAX_STEPS = 100
const MAX_CHARACTERS = 200_000
const FORMS: readonly ControlForm[] = [...CONTROL_FORMS, agentLoopForm]

export interface PlanFromOptions {
  /** The name of the graph (default `plan`). */
  readonly name?: string
  /** How many steps it may have, in all (default 100). */
  readonly maxSteps?: number
}

/**
 * The graph of a plan: `{ steps, output? }` or a list of steps, as data or as JSON text. It can use the nodes that are
 * given, and no others.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { planFrom } from 'nerve/spec'
 *
 * const read = defineNode('read', (page: string) => page.length)
 * const plan = planFrom('[{"id": "first", "node": "read", "input": "page 1"}]', [read])
 * ```
 */
export function planFrom(
  plan: unknown,
  nodes: Names | readonly AnyRunnable[],
  options: PlanFromOptions = {},
): SpecGraph {
  const made = tryPlan(plan, isNames(nodes) ? nodes : namesOf(nodes), options)
  if ('graph' in made) return made.graph
  const { problems } = made
  throw new NerveError('bad-definition', `The plan has ${problems.length} problems: ${problems.join(' ')}`, {
    data: { problems },
  })
}

type Tried = { readonly graph: SpecGraph } | { readonly problems: readonly string[] }

function tryPlan(plan: unknown, names: Names, { name = 'plan', maxSteps = MAX_STEPS }: PlanFromOptions): Tried {
  const data = typeof plan === 'string' ? parsed(plan) : { value: plan }
  if ('problem' in data) return { problems: [data.problem] }
  const count = countSteps(data.value)
  if (count > maxSteps) return { problems: [`it has ${count} steps, and may have ${maxSteps}.`] }
  const read = readPlan(data.value, { forms: FORMS, names, name })
  return 'graph' in read ? read : { problems: read.problems.map(problemText) }
}

/** Models like to put JSON into a fence. */
function parsed(text: string): { readonly value: unknown } | { readonly problem: string } {
  if (text.length > MAX_CHARACTERS) return { problem: `it is longer than ${MAX_CHARACTERS} characters.` }
  const bare = /^\s*```(?:json)?\s*\n([^]*?)\n?\s*```\s*$/u.exec(text)?.[1] ?? text
  try {
    return { value: JSON.parse(bare) as unknown }
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}.` }
  }
}

/** Steps at any depth: of graphs in it as well. */
function countSteps(plan: unknown): number {
  const inside = (data: unknown): number => {
    if (typeof data !== 'object' || data === null) return 0
    const own = Array.isArray(data) ? 0 : entriesOf((data as { readonly steps?: unknown }).steps).length
    return Object.values(data).reduce((sum: number, one) => sum + inside(one), own)
  }
  return inside(Array.isArray(plan) ? { steps: plan } : plan)
}

function isNames(nodes: Names | readonly AnyRunnable[]): nodes is Names {
  return !Array.isArray(nodes)
}

function namesOf(nodes: readonly AnyRunnable[]): Names {
  return new Map(nodes.map((node) => [isNode(node) ? node.id : node.name, node]))
}

/** A node that a plan may use, as a planner is told of it. */
export interface OfferedNode {
  readonly name: string
  readonly kind: string
  readonly description?: string
}

/** What a planner gets. */
export interface PlanRequest<Input = unknown> {
  readonly input: Input
  readonly nodes: readonly OfferedNode[]
  /** From 1. */
  readonly attempt: number
  /** What was wrong with the plan before, and that plan. */
  readonly problems: readonly string[]
  readonly plan?: unknown
}

export interface PlanOptions {
  readonly id?: string
  /** Gets a PlanRequest and returns a plan: `{ steps, output? }` or a list of steps, as data or as JSON text. */
  readonly planner: Part
  /** What the plan may use. */
  readonly nodes: readonly Part[]
  /** How often the planner may try, each time told what was wrong (default 1). */
  readonly attempts?: number
  /** How many steps a plan may have, in all (default 100). */
  readonly maxSteps?: number
}

/**
 * Lets a node plan, and runs the plan: a graph that is made while the run goes on. Its expressions see the same `input`.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { planNode, type PlanRequest } from 'nerve/spec'
 *
 * const read = defineNode('read', (page: string) => page.length)
 * const planner = defineNode('planner', ({ input }: PlanRequest<string[]>) =>
 *   input.map((page, at) => ({ id: `page-${at}`, node: 'read', input: page })))
 * export default planNode({ id: 'reading', planner, nodes: [read], attempts: 3 })
 * ```
 */
export function planNode(options: PlanOptions): ControlNode<unknown, unknown> {
  const { id = 'plan', planner, nodes, attempts = 1, maxSteps = MAX_STEPS } = options
  return controlNode({
    kind: 'plan',
    id,
    parts: { planner, ...Object.fromEntries(list(nodes).map((node) => [`may use ${nameOf(node)}`, node])) },
    always: [planner],
    note: 'its steps are planned when it runs',
    problems: [
      ...checkLimit(attempts, 'attempts'),
      ...checkLimit(maxSteps, 'maxSteps'),
      ...(list(nodes).length === 0 ? ['nodes are missing: give those that a plan may use.'] : []),
    ],
    async run(ctx, input) {
      const offered = offer(ctx, nodes)
      let problems: readonly string[] = []
      let plan: unknown
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        const request: PlanRequest = {
          input,
          nodes: [...offered].map(([name, node]) => described(name, node)),
          attempt,
          problems,
          ...(attempt === 1 ? {} : { plan }),
        }
        plan = await ctx.scope(String(attempt), () => runPart<unknown>(ctx, planner, request))
        const tried = tryPlan(plan, offered, { name: 'steps', maxSteps })
        if ('graph' in tried) return ctx.run(tried.graph, input, { label: 'steps' })
        problems = tried.problems
        ctx.emit('plan-rejected', { node: id, attempt, problems })
      }
      throw new NerveError('bad-output', `The plan of '${id}' cannot be run: ${problems.join(' ')}`, {
        data: { problems },
      })
    },
    write: (write) => ({
      plan: write.node(planner),
      nodes: nodes.map((node) => write.node(node)),
      ...given({ attempts: options.attempts, maxSteps: options.maxSteps }),
    }),
    copy: (name, swap) =>
      planNode({ ...options, id: name, planner: swap(planner), nodes: nodes.map((node) => swap(node)) }),
  })
}

function offer(ctx: Context, nodes: readonly Part[]): ReadonlyMap<string, AnyRunnable> {
  return new Map(nodes.map((node) => [nameOf(node), typeof node === 'string' ? named(executionOf(ctx), node) : node]))
}

function described(name: string, node: AnyRunnable): OfferedNode {
  const description = isNode(node) ? node.info().description : node.options.description
  return { name, kind: node.kind, ...given({ description }) }
}

function nameOf(node: Part): string {
  if (typeof node === 'string') return node
  return isNode(node) ? node.id : node.name
}

function list(nodes: readonly Part[]): readonly Part[] {
  return Array.isArray(nodes) ? (nodes as readonly Part[]) : []
}

export const planForm: ControlForm = {
  kind: 'plan',
  fields: {
    plan: { $ref: '#/$defs/node' },
    nodes: { type: 'array', minItems: 1, items: { $ref: '#/$defs/node' } },
    attempts: { type: 'integer', minimum: 1 },
    maxSteps: { type: 'integer', minimum: 1 },
  },
  required: ['plan', 'nodes'],
  read: ({ id, plan, nodes, attempts, maxSteps }, reader) =>
    planNode({
      ...given({
        id: id as string | undefined,
        attempts: attempts as number | undefined,
        maxSteps: maxSteps as number | undefined,
      }),
      planner: reader.node(plan),
      nodes: (nodes as readonly unknown[]).map((node) => reader.node(node)),
    }),
}
