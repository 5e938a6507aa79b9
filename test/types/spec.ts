/** Specs, expressions and ready patterns: what compiles, and what it gives. */
import { defineNode } from 'nerve'
import { agentLoop, type AgentLoopResult, type AgentState } from 'nerve/agents'
import { While, type ControlNode } from 'nerve/control'
import { graph } from 'nerve/graph'
import { expr, fromSpec, jsonSchema, planNode, template, toSpec, type Spec, type SpecGraph } from 'nerve/spec'
import type { Equal } from './equal.ts'

const add = defineNode('add', (n: number) => n + 1)

// An expression is taken wherever a function is, with the type that is wanted there.
const made = graph('typed', { input: jsonSchema<{ n: number }>({ type: 'object' }) })
  .step('a', add, { inputFn: expr('input.n'), when: expr('input.n > 1') })
  .step('b', add, { after: ['a'], inputFn: template('${{ results.a }}') })
  .step('c', While({ condition: expr('value < 9'), body: add }), { after: ['b'], inputFn: ({ b }) => b })
  .returns(expr<string>('string(results.c.value)'))
export const output: Equal<Awaited<ReturnType<typeof made.run>>, string> = true

// @ts-expect-error -- it gives a text where a number is wanted
graph('wrong').step('a', add, { inputFn: expr<string>('input') })

export const spec: Equal<ReturnType<typeof toSpec>, Spec> = true
export const written: Spec = toSpec(made)
const again = fromSpec(written)
export const read: Equal<typeof again, SpecGraph> = true

// What a loop of an agent takes and gives follows from `decide`.
const decide = defineNode('decide', (state: AgentState<{ goal: string }>) =>
  state.iteration > 2 ? { done: true as const, result: 5 } : { done: false as const, look: state.input.goal },
)
const agent = agentLoop({ decide, act: add })
export const loops: Equal<typeof agent, ControlNode<{ goal: string }, AgentLoopResult<number>>> = true

// @ts-expect-error -- decide is missing
agentLoop({ act: add })
// @ts-expect-error -- a plan needs the nodes that it may use
planNode({ planner: add })
