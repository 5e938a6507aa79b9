/** A slip of the hand in an option is told of when it runs: types are erased there, and what is not known would do nothing. */
import { expect, it } from 'vitest'
import { createHost, defineNode, workflow, type Context } from 'nerve'
import { Gate, Map as Each } from 'nerve/control'
import { graph } from 'nerve/graph'
import { openStage, rejection } from './stage.ts'

const square = workflow('square', async (ctx, n: number) => ctx.step('square', () => n * n))
const node = defineNode('node', () => 1)
const slip = { retries: 3 } as object

const calls: Readonly<Record<string, (ctx: Context) => Promise<unknown>>> = {
  'Step .+': (ctx) => ctx.step('write', () => 1, slip),
  "Step 'node'": (ctx) => ctx.run(node, undefined, slip),
  "Step 'square'": (ctx) => ctx.run(square, 1, slip),
  'ctx\\.ask': (ctx) => ctx.ask('Go on?', slip),
  'ctx\\.gate': (ctx) => ctx.gate('Go on?', slip),
  'ctx\\.waitFor': (ctx) => ctx.waitFor('go', slip),
  'ctx\\.all': (ctx) => ctx.all([], slip),
  'ctx\\.map': (ctx) => ctx.map([], () => 1, slip),
  'ctx\\.race': (ctx) => ctx.race([() => 1], slip),
  'ctx\\.child': (ctx) => ctx.child(square, 1, slip),
}

it.each(Object.entries(calls))('%s', async (what, call) => {
  const { host } = await openStage()
  const run = await host.start(workflow('slips', call))
  const { message } = await rejection(run.result())
  expect(message).toMatch(new RegExp(`${what} has no option 'retries'\\. Known: .*\\w`))
})

it('the policy of a node, and of a step of a graph', async () => {
  const { host } = await openStage()
  const careless = defineNode('careless', () => 1, { policy: slip })
  for (const flow of [graph('one').step('a', careless), graph('two').step('a', node, { policy: slip })]) {
    const run = await host.start(flow)
    expect((await rejection(run.result())).message).toMatch(/Step '.+' has no option 'retries'/)
  }
})

it('a graph, its steps, nodes and control nodes, before anything runs', () => {
  const made: Readonly<Record<string, () => unknown>> = {
    "Graph 'flow' has no option 'maxParalel'. Did you mean 'maxParallel'?": () =>
      graph('flow', { maxParalel: 2 } as object),
    "Step 'b' has no option 'dependsOn'.": () => graph('flow').step('b', node, { dependsOn: ['a'] } as object),
    'Step \'b\': after is "a"; give a list of ids.': () => graph('flow').step('b', node, { after: 'a' } as object),
    "Node 'wait' has no option 'timeout'.": () => defineNode('wait', () => 1, { timeout: '1s' } as object),
    "Map has no option 'concurency'. Did you mean 'concurrency'?": () =>
      Each({ body: node, ...({ concurency: 2 } as object) }),
    "Gate has no option 'choice'. Did you mean 'choices'?": () =>
      Gate({ prompt: 'Go on?', ...({ choice: ['a'] } as object) }),
  }
  for (const [message, make] of Object.entries(made)) expect(make, message).toThrow(message)
})

it('a host, and what it starts', async () => {
  expect(await rejection(createHost({ store: 'memory', ...slip }))).toMatchObject({
    code: 'bad-option',
    message: expect.stringContaining("createHost has no option 'retries'"),
  })
  const { host } = await openStage()
  expect(await rejection(host.start(square, 2, slip))).toMatchObject({
    code: 'bad-option',
    message: expect.stringContaining("start has no option 'retries'"),
  })
  expect(await rejection(host.start(undefined as never))).toMatchObject({ code: 'bad-definition' })
  expect(await host.runs()).toEqual([])
})
