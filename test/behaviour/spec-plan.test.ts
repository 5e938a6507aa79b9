/** Plans: steps that a model writes while the run goes on. */
import { describe, expect, it } from 'vitest'
import { defineNode, isNerveError, workflow } from 'nerve'
import { graph } from 'nerve/graph'
import { planFrom, planNode, type PlanRequest } from 'nerve/spec'
import { events, paths } from './control-stage.ts'
import { openStage, rejection } from './stage.ts'

const read = defineNode('read', (page: string) => page.length, { description: 'reads a page' })
const total = defineNode('total', (sizes: readonly number[]) => sizes.reduce((a, b) => a + b, 0))

/** A model that says these things, one after the other. */
function scripted(...said: readonly unknown[]) {
  const asked: PlanRequest[] = []
  const planner = defineNode('planner', (request: PlanRequest) => {
    asked.push(request)
    return said[asked.length - 1]
  })
  return { planner, asked }
}

const GOOD = {
  steps: [
    { id: 'one', node: 'read', input: '${{ input.first }}' },
    { id: 'two', node: 'read', input: 'second' },
    { id: 'sum', node: 'total', after: ['one', 'two'], input: ['${{ results.one }}', '${{ results.two }}'] },
  ],
  output: 'results.sum',
}

describe('planFrom', () => {
  it.each([
    ['data', GOOD],
    ['text', JSON.stringify(GOOD)],
    ['text in a fence', `\n\`\`\`json\n${JSON.stringify(GOOD, undefined, 2)}\n\`\`\`\n`],
  ])('makes a graph of %s', async (_, plan) => {
    const { host } = await openStage()
    const run = await host.start(planFrom(plan, [read, total]), { first: 'a' })
    expect(await run.result()).toBe(7)
  })

  it('takes a list of steps, and control nodes', async () => {
    const { host } = await openStage()
    const plan = [{ id: 'all', kind: 'map', do: 'read', input: ['a', 'bb'] }]
    expect(await (await host.start(planFrom(plan, new Map([['read', read]])))).result()).toEqual({ all: [1, 2] })
  })

  it('names every problem at once', () => {
    const bad = {
      nodes: './evil.ts',
      steps: [
        { id: 'a', node: 'raed' },
        { id: 'b', node: 'rm -rf', after: ['z'] },
        { id: 'c', plan: 'read', nodes: ['read'] },
      ],
    }
    try {
      planFrom(bad, [read])
      expect.unreachable()
    } catch (error) {
      expect(isNerveError(error, 'bad-definition')).toBe(true)
      expect((error as { data: { problems: unknown } }).data.problems).toEqual([
        "steps.0.node: there is no node 'raed'. Did you mean 'read'?",
        "steps.1.after: there is no step 'z'.",
        "steps.1.node: there is no node 'rm -rf'. Known: read.",
        expect.stringContaining('steps.2: has nothing to run'),
        'nodes: is not a field here. Known: steps, output.',
      ])
    }
    for (const plan of ['no JSON', '', 'null', '5', '{"steps": 5}', '[]', undefined, 5, () => 1])
      expect(() => planFrom(plan, [read]), String(plan)).toThrow(/The plan has \d+ problem/u)
  })

  it('bounds how much a plan can be', () => {
    const steps = Array.from({ length: 60 }, (_, n) => ({ id: `s${n}`, node: 'read', input: 'x' }))
    const nested = [
      { id: 'a', graph: { steps } },
      { id: 'b', graph: { steps } },
    ]
    expect(() => planFrom(nested, [read])).toThrow(/it has 122 steps, and may have 100/u)
    expect(planFrom(nested, [read], { maxSteps: 122, name: 'big' }).name).toBe('big')
    expect(() => planFrom(`"${'x'.repeat(200_001)}"`, [read])).toThrow(/longer than/u)
  })
})

describe('planNode', () => {
  it('plans, checks and runs, and a replay runs the same plan', async () => {
    const { host } = await openStage()
    const { planner, asked } = scripted(GOOD)
    const outer = graph<{ first: string }>('outer').step('planned', planNode({ planner, nodes: [read, total] }), {
      inputFn: (_, { input }) => input,
    })
    const run = await host.start(outer, { first: 'abc' })
    expect(await run.result()).toEqual({ planned: 9 })
    expect(asked).toEqual([
      {
        input: { first: 'abc' },
        nodes: [
          { name: 'read', kind: 'function', description: 'reads a page' },
          { name: 'total', kind: 'function' },
        ],
        attempt: 1,
        problems: [],
      },
    ])
    expect(await paths(host, run.id)).toEqual([
      'planned/1/planner',
      'planned/steps/one',
      'planned/steps/two',
      'planned/steps/sum',
    ])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    expect(asked).toHaveLength(1)
  })

  it('hands problems back to the planner, as often as it may try', async () => {
    const { host } = await openStage({ definitions: [read] })
    const { planner, asked } = scripted(
      'not JSON',
      [{ id: 'a', node: 'raed' }],
      [{ id: 'a', node: 'read', input: 'xy' }],
    )
    const run = await host.start(planNode({ id: 'tries', planner, nodes: ['read'], attempts: 3 }), 'task')
    expect(await run.result()).toEqual({ a: 2 })
    expect(asked.map(({ attempt, problems, plan }) => [attempt, problems.length, plan])).toEqual([
      [1, 0, undefined],
      [2, 1, 'not JSON'],
      [3, 1, [{ id: 'a', node: 'raed' }]],
    ])
    expect(asked[2]?.problems).toEqual(["steps.0.node: there is no node 'raed'. Did you mean 'read'?"])
    const told = (await events(host, run.id)).filter((event) => event.type === 'emitted')
    expect(told).toMatchObject([{ name: 'plan-rejected' }, { name: 'plan-rejected' }])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('a plan that cannot be run fails, and nothing of it has run', async () => {
    const { host } = await openStage()
    const ran: string[] = []
    const note = defineNode('note', (text: string) => void ran.push(text))
    const { planner } = scripted([
      { id: 'a', node: 'note', input: 'a' },
      { id: 'b', node: 'secret' },
    ])
    const error = await rejection((await host.start(planNode({ planner, nodes: [note] }))).result())
    expect(error.message).toContain("cannot be run: steps.1.node: there is no node 'secret'")
    expect(ran).toEqual([])
  })

  it('is usable in a workflow, and says what it is before it runs', async () => {
    const { host } = await openStage()
    const { planner } = scripted([{ id: 'a', node: 'read', input: 'xyz' }])
    const plan = planNode({ planner, nodes: [read] })
    const outer = workflow('outer', (ctx) => ctx.run(plan, 'x'))
    expect(await (await host.start(outer)).result()).toEqual({ a: 3 })
    expect(plan.outline()).toMatchObject({ kind: 'plan', parts: [{ id: 'planner' }, { id: 'may use read' }] })
    expect(() => planNode({ planner, nodes: [], attempts: 0 })).toThrow(/attempts is 0.*nodes are missing/u)
    const unknown = await rejection(host.start(planNode({ planner, nodes: ['nobody'] })))
    expect(unknown.message).toContain("'nobody', which is not known here")
  })
})
