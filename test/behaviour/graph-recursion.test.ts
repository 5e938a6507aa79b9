/** A definition that runs itself by its name needs a condition on the way; without one it is refused before it starts. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { agentLoop } from 'nerve/agents'
import { Branch, Loop, Map as Each, Parallel, Race, Subgraph, While } from 'nerve/control'
import { graph } from 'nerve/graph'
import { fromSpec, planNode } from 'nerve/spec'
import { recursionIn } from '../../src/engine/recursion.ts'
import type { AnyDefinition, AnyRunnable } from '../../src/engine/definition.ts'
import { openStage } from './stage.ts'

const work = defineNode('work', (given: unknown) => given)
const yes = (): boolean => true
const names = (...all: readonly AnyRunnable[]): ReadonlyMap<string, AnyRunnable> =>
  new Map(all.map((one) => ['execute' in one ? one.id : one.name, one]))
const problem = (...way: readonly string[]) =>
  `it would run for ever, with no condition on the way: ${way.map((name) => `'${name}'`).join(' → ')}. Give one of its steps a condition (when).`
const one = () => graph('one')

describe('for ever', () => {
  const endless: Readonly<Record<string, () => AnyDefinition>> = {
    'a step': () => one().ref('again', 'one'),
    'a step after others': () =>
      one()
        .step('first', work)
        .ref('again', 'one', { after: ['first'] }),
    'a step after one with a condition and one without': () =>
      one()
        .step('may', work, { when: yes })
        .step('first', work)
        .ref('again', 'one', { after: ['may', 'first'] }),
    'a step that handles what comes before it': () =>
      one()
        .step('may', work, { when: yes })
        .ref('again', 'one', { after: ['may'], handles: true }),
    'a loop, which goes round once at least': () => one().step('in', Loop({ body: 'one', until: yes })),
    'branches that are all waited for': () => one().step('in', Parallel({ branches: ['one', work] })),
    'a subgraph': () => one().step('in', Subgraph({ body: 'one' })),
    'the decision of an agent loop': () => one().step('in', agentLoop({ decide: 'one', act: work })),
    'a planner': () => one().step('in', planNode({ planner: 'one', nodes: [work] })),
  }
  it.each(Object.entries(endless))('%s', (_what, make) => {
    const [cycle = ''] = recursionIn(make(), names(work))
    expect(cycle).toMatch(/^it would run for ever.*: 'one' → (?:'[a-z-]+' → )?'one'\. Give/)
  })

  it('is said with every name on the way, also where it begins behind the first', () => {
    const two = graph('two').ref('on', 'three')
    const three = graph('three').ref('back', 'two')
    expect(recursionIn(two, names(two, three))).toEqual([problem('two', 'three', 'two')])
    expect(recursionIn(one().ref('in', 'two'), names(two, three))).toEqual([problem('two', 'three', 'two')])
    expect(recursionIn(one().step('in', two), names(two, three))).toEqual([problem('two', 'three', 'two')])
  })
})

describe('comes to an end', () => {
  const fine: Readonly<Record<string, () => AnyDefinition>> = {
    'a step with a condition': () => one().ref('again', 'one', { when: yes }),
    'a step after one with a condition': () =>
      one()
        .step('may', work, { when: yes })
        .ref('again', 'one', { after: ['may'] }),
    'what is run while something holds': () => one().step('in', While({ condition: yes, body: 'one' })),
    'one of two': () => one().step('in', Branch({ condition: yes, then: 'one', else: work })),
    'each of a list, which may be empty': () => one().step('in', Each({ body: 'one' })),
    'branches of which one ends the others': () => one().step('in', Race({ branches: ['one', work] })),
    'the same twice': () => one().ref('a', 'part').ref('b', 'part'),
    'a node of the same name': () => graph('work').ref('a', 'work'),
    'a name that nothing has': () => one().ref('later', 'two'),
    'a function, of which nothing is known': () => workflow('one', async (ctx) => ctx.run('one')),
  }
  it.each(Object.entries(fine))('%s', (_what, make) => {
    expect(recursionIn(make(), names(work, graph('part').step('a', work)))).toEqual([])
  })
})

it('is a problem of a graph and of a spec, and leaves no run behind', async () => {
  const again = one().step('first', work).ref('again', 'one')
  expect(again.validate()).toEqual([problem('one', 'one')])
  expect(() => fromSpec({ nerve: 1, name: 'one', steps: { again: { node: 'one' } } })).toThrow(problem('one', 'one'))
  const { host } = await openStage()
  await expect(host.start(again)).rejects.toMatchObject({
    code: 'bad-definition',
    data: { problems: [problem('one', 'one')] },
  })
  expect(await host.runs()).toEqual([])
})
