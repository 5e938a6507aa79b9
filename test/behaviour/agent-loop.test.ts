/** Decide, act, observe. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { agentLoop, type AgentState } from 'nerve/agents'
import { graph } from 'nerve/graph'
import { everywhere, events, paths } from './control-stage.ts'
import { openStage, rejection } from './stage.ts'

const decide = defineNode('decide', ({ input, history }: AgentState<{ goal: number }>) => {
  const found = history.at(-1)?.observation as number | undefined
  return (found ?? 0) >= input.goal
    ? { done: true as const, result: `reached ${found}` }
    : { done: false as const, add: history.length + 1, to: found ?? 0 }
})
const act = defineNode('act', ({ add, to }: { add: number; to: number }) => add + to)
const observe = defineNode('observe', ({ result }: { result: number }) => result * 10)

describe('agentLoop', () => {
  it('goes round until decide says that it is done, the same everywhere', async () => {
    const { host } = await openStage()
    const agent = agentLoop({ id: 'agent', decide, act, observe })
    expect(await everywhere(host, agent, { goal: 100 })).toEqual({
      result: 'reached 120',
      iterations: 3,
      ended: 'done',
      history: [
        { decision: { done: false, add: 1, to: 0 }, result: 1, observation: 10 },
        { decision: { done: false, add: 2, to: 10 }, result: 12, observation: 120 },
      ],
    })
    const run = await host.start(agent, { goal: 100 })
    const result = await run.result()
    expectTypeOf(result.result).toEqualTypeOf<string | undefined>()
    expect(await paths(host, run.id)).toEqual([
      '1/decide',
      '1/act',
      '1/observe',
      '2/decide',
      '2/act',
      '2/observe',
      '3/decide',
    ])
  })

  it('without observe, the next decision sees the result itself', async () => {
    const { host } = await openStage()
    const run = await host.start(agentLoop({ decide, act }), { goal: 3 })
    expect(await run.result()).toMatchObject({ result: 'reached 3', iterations: 3 })
  })

  it('is cut off where it says, and tells so in the result and in the journal', async () => {
    const { host } = await openStage()
    const run = await host.start(agentLoop({ id: 'agent', decide, act, maxIterations: 2 }), { goal: 1_000 })
    expect(await run.result()).toMatchObject({ result: undefined, iterations: 2, ended: 'limit' })
    const told = (await events(host, run.id)).filter((event) => event.type === 'emitted')
    expect(told).toMatchObject([{ name: 'limit-reached', data: { node: 'agent', iterations: 2 } }])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('takes anything that runs: definitions, and nodes by name', async () => {
    const { host } = await openStage({ definitions: [act] })
    const think = workflow('think', async (ctx, state: AgentState<{ goal: number }>) => {
      await ctx.step('ponder', () => state.iteration)
      return state.iteration > 1 ? { done: true as const, result: state.history.length } : { add: 1, to: 1 }
    })
    const look = graph<{ result: number }>('look').step(
      'seen',
      defineNode('seen', (n: number) => n),
      {
        inputFn: (_, { input }) => input.result,
      },
    )
    const run = await host.start(agentLoop({ decide: think, act: 'act', observe: look }), { goal: 1 })
    expect(await run.result()).toMatchObject({ result: 1, history: [{ observation: { seen: 2 } }] })
    expect(await paths(host, run.id)).toEqual(['1/decide/ponder', '1/act', '1/observe/seen', '2/decide/ponder'])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    const unknown = await rejection(host.start(agentLoop({ decide: think, act: 'nobody' }), { goal: 1 }))
    expect(unknown.message).toContain("'nobody', which is not known here")
    expect(() => agentLoop({ decide, act, maxIterations: 0 })).toThrow(/maxIterations is 0/u)
  })
})
