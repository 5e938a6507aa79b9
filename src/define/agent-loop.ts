/** The loop that agents are made of, as a control node: decide, act, observe, until there is nothing left to do. */
import type { InputOf, OutputOf } from '../engine/definition.ts'
import {
  MAX_ITERATIONS,
  checkLimit,
  controlNode,
  given,
  limitReached,
  runPart,
  type ControlForm,
  type ControlNode,
} from './control/control.ts'
import type { Part } from './control/fit.ts'

/** One time round. */
export interface AgentTurn {
  readonly decision: unknown
  /** What `act` gave. */
  readonly result: unknown
  /** What `observe` made of it; without one, the result. */
  readonly observation: unknown
}

/** What `decide` gets. */
export interface AgentState<Input = unknown> {
  readonly input: Input
  /** From 1. */
  readonly iteration: number
  readonly history: readonly AgentTurn[]
}

export interface AgentLoopResult<Result = unknown> {
  /** What `decide` said when it was done; undefined when the loop was cut off. */
  readonly result: Result | undefined
  readonly iterations: number
  readonly ended: 'done' | 'limit'
  readonly history: readonly AgentTurn[]
}

export interface AgentLoopOptions<Decide> {
  readonly id?: string
  /** Gets the state; returns `{ done: true, result }`, or what to do next, in any form that `act` takes. */
  readonly decide: Decide
  /** Gets the decision. */
  readonly act: Part
  /** Gets `{ decision, result }`; what it returns is the observation that the next decision sees. */
  readonly observe?: Part
  /** Where it is cut off (default 100). The result says so, and the journal. */
  readonly maxIterations?: number
}

type Wanted<Decide> = InputOf<Decide> extends AgentState<infer Input> ? Input : unknown
type Done<Decide> =
  Extract<OutputOf<Decide>, { readonly done: true }> extends { readonly result: infer Result } ? Result : unknown

/**
 * Decides, acts and observes, again and again, until `decide` says that it is done. Each of the three is a step of its own.
 *
 * ```ts
 * import { defineNode } from 'nerve'
 * import { agentLoop, type AgentState } from 'nerve/agents'
 *
 * const decide = defineNode('decide', ({ input, history }: AgentState<string>) =>
 *   history.length === 2 ? { done: true as const, result: history.length } : { done: false as const, look: input })
 * const act = defineNode('act', ({ look }: { look: string }) => `${look}!`)
 * export default agentLoop({ id: 'agent', decide, act, maxIterations: 10 })
 * ```
 */
export function agentLoop<Decide extends Part>(
  options: AgentLoopOptions<Decide>,
): ControlNode<Wanted<Decide>, AgentLoopResult<Done<Decide>>> {
  const { id = 'agent-loop', act, observe, maxIterations = MAX_ITERATIONS } = options
  const decide: Part = options.decide
  return controlNode<Wanted<Decide>, AgentLoopResult<Done<Decide>>>({
    kind: 'agent-loop',
    id,
    parts: { decide, act, ...(observe === undefined ? {} : { observe }) },
    always: [decide],
    note: `at most ${maxIterations} times`,
    edges: edgesOf(observe !== undefined),
    problems: checkLimit(maxIterations),
    async run(ctx, input) {
      const history: AgentTurn[] = []
      for (let iteration = 1; iteration <= maxIterations; iteration += 1) {
        const state: AgentState = { input, iteration, history: [...history] }
        const done = await ctx.scope(String(iteration), async () => {
          const decision = await runPart<unknown>(ctx, decide, state, { label: 'decide' })
          if (isDone(decision)) return decision
          const result = await runPart<unknown>(ctx, act, decision, { label: 'act' })
          const observation =
            observe === undefined
              ? result
              : await runPart<unknown>(ctx, observe, { decision, result }, { label: 'observe' })
          history.push({ decision, result, observation })
          return undefined
        })
        if (done !== undefined)
          return { result: done.result as Done<Decide>, iterations: iteration, ended: 'done', history }
      }
      limitReached(ctx, id, maxIterations)
      return { result: undefined, iterations: maxIterations, ended: 'limit', history }
    },
    write: (write) => ({
      decide: write.node(decide),
      act: write.node(act),
      ...(observe === undefined ? {} : { observe: write.node(observe) }),
      ...given({ maxIterations: options.maxIterations }),
    }),
    copy: (name, swap) =>
      agentLoop<Decide>({
        ...options,
        id: name,
        decide: swap(options.decide),
        act: swap(act),
        ...(observe === undefined ? {} : { observe: swap(observe) }),
      }),
  })
}

function isDone(decision: unknown): decision is { readonly done: true; readonly result?: unknown } {
  return typeof decision === 'object' && decision !== null && 'done' in decision && decision.done === true
}

function edgesOf(observes: boolean): readonly { from: string; to: string; label?: string }[] {
  const back = { to: 'decide', label: 'until it is done' }
  return observes
    ? [
        { from: 'decide', to: 'act' },
        { from: 'act', to: 'observe' },
        { from: 'observe', ...back },
      ]
    : [
        { from: 'decide', to: 'act' },
        { from: 'act', ...back },
      ]
}

export const agentLoopForm: ControlForm = {
  kind: 'agent-loop',
  fields: {
    decide: { $ref: '#/$defs/node' },
    act: { $ref: '#/$defs/node' },
    observe: { $ref: '#/$defs/node' },
    maxIterations: { type: 'integer', minimum: 1 },
  },
  required: ['decide', 'act'],
  read: ({ id, decide, act, observe, maxIterations }, reader) =>
    agentLoop<Part>({
      ...given({ id: id as string | undefined, maxIterations: maxIterations as number | undefined }),
      decide: reader.node(decide),
      act: reader.node(act),
      ...(observe === undefined ? {} : { observe: reader.node(observe) }),
    }),
}
