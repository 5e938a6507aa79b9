/**
 * A node can return further steps for the graph that it runs in. They are a part of its result, so they are in the
 * journal and a replay adds them again.
 */
import type { Expansion } from './graph-run.ts'
import type { GraphStep } from './graph-steps.ts'

const TAG = 'nerve:steps'

/** A step as plain data: its node is a name. */
export interface StepData {
  readonly id: string
  readonly node: string
  readonly after?: readonly string[]
  readonly input?: unknown
}

/**
 * What a node returns to add steps to the graph that it runs in. `output` is its own result.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { withSteps } from 'nerve/graph'
 *
 * const plan = defineNode('plan', (topics: string[]) =>
 *   withSteps(topics.length, topics.map((topic) => ({ id: `read-${topic}`, node: 'read', input: topic }))))
 * ```
 */
export function withSteps<Output>(output: Output, steps: readonly StepData[]): Output {
  return { [TAG]: steps, output } as Output
}

export function expansionOf(value: unknown): Expansion | undefined {
  if (typeof value !== 'object' || value === null || !(TAG in value)) return undefined
  const { [TAG]: steps, output } = value as unknown as { [TAG]: readonly StepData[]; output: unknown }
  return { output, steps: steps.map((step): GraphStep => ({ ...step, after: step.after ?? [] })) }
}
