/**
 * A state graph as data: its nodes, and where one goes from each. The graph form and the chain both become this, and the
 * run knows nothing else. A plan is never changed once it is made.
 */
import type { AnyRunnable, AskOptions, Policy, StepCall } from '../../engine/definition.ts'
import type { AnyChannel, Values } from './channel.ts'

export interface Plan {
  readonly name: string
  readonly channels: ReadonlyMap<string, AnyChannel>
  /** In the order in which they were declared: updates of one step are merged in it. */
  readonly nodes: ReadonlyMap<string, PlanNode>
  readonly entry: readonly Exit[]
}

export interface PlanNode {
  readonly id: string
  readonly index: number
  /** What it is given besides the state: nothing, each of the items sent to it, or the error that it handles. */
  readonly takes: 'nothing' | 'item' | 'error'
  readonly work: Work
  readonly policy: Policy
  /** Where its goto may lead, when its author said so. */
  readonly to?: readonly string[]
  readonly exits: Exit[]
  /** The node that handles its failure. */
  handler?: string
}

/** A failure is the graph's to handle, also in a run that otherwise goes on after failures. */
export const STRICT: Policy = { onError: 'fail' }

export type Subject = unknown

export type Work =
  | {
      readonly type: 'function'
      readonly run: (subject: Subject, state: Values, call: StepCall) => unknown
    }
  | {
      readonly type: 'node'
      readonly node: AnyRunnable | string
      readonly input: (subject: Subject, state: Values) => unknown
      readonly update: (output: unknown, state: Values) => unknown
    }
  | {
      readonly type: 'wait'
      readonly prompt: string | ((state: Values) => string)
      readonly ask: AskOptions<string, unknown>
      readonly into?: (answer: unknown, state: Values) => unknown
    }
  | {
      readonly type: 'parallel'
      readonly branches: Readonly<Record<string, Plan>>
      readonly mode: 'all' | 'first' | 'any'
      readonly merge?: (ended: Readonly<Record<string, Values>>, before: Values) => unknown
    }

/** A way out of a node. */
export type Exit =
  | { readonly type: 'to'; readonly node: string }
  | { readonly type: 'send'; readonly node: string; readonly item: unknown }
  /** Leads on when each of the nodes it comes from has come this way. */
  | { readonly type: 'join'; readonly from: string; readonly join: Join }
  | { readonly type: 'route'; readonly route: Route }
  /** `again`: from the end of an iteration. Else the loop begins. */
  | { readonly type: 'loop'; readonly loop: Loop; readonly again: boolean }

export interface Join {
  readonly id: string
  readonly from: readonly string[]
  readonly to: string
}

/** A decision between ways. What it decides is recorded under `<id>?`. */
export interface Route {
  readonly id: string
  readonly choose: (state: Values) => unknown
  readonly exits: (chosen: unknown) => readonly Exit[]
  /** The ways, for those who look. */
  readonly ways: readonly { readonly label: string; readonly exits: readonly Exit[] }[]
  /** True when it has a place of its own in a drawing. */
  readonly shown: boolean
  handler?: string
}

export interface Loop {
  readonly id: string
  readonly until: (state: Values, facts: LoopFacts) => unknown
  readonly max: number
  /** What reaching `max` means: it goes on behind the loop, or it fails. */
  readonly onMax: 'go on' | 'fail'
  body: readonly Exit[]
  after: readonly Exit[]
  handler?: string
}

export interface LoopFacts {
  /** How many iterations have ended. */
  readonly iteration: number
}

/** Everything that a plan runs, also in its branches. */
export function runnablesIn(plan: Plan): readonly (AnyRunnable | string)[] {
  const found = new Set<AnyRunnable | string>()
  for (const { work } of plan.nodes.values()) {
    if (work.type === 'node') found.add(work.node)
    if (work.type === 'parallel')
      for (const branch of Object.values(work.branches)) for (const one of runnablesIn(branch)) found.add(one)
  }
  return [...found]
}
