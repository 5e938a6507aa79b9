/** Building graphs, and what is found out before anything runs. */
import { expect } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { START, channel, stateGraph } from 'nerve/state'
import { quiet } from '../../behaviour/stage.ts'
import type { Case } from './case.ts'

const log = { log: channel.concat<string>() }
const says = (text: string) => () => ({ log: [text] })

export const building: readonly Case[] = [
  {
    theirs: 'tests/graph.test.ts: State: should add multiple nodes in parallel using array syntax',
    idea: 'several nodes are added with one call',
    verdict: 'not-ours',
    reason:
      'One call for each node keeps the ids in the type of the graph, with what each of them takes; that is what makes wrong edges not compile.',
  },
  {
    theirs: 'tests/pregel.validate.test.ts: validateGraph: should throw an error if a node is named __interrupt__',
    idea: 'what is wrong with a graph is said before it runs: names with a meaning of their own, unknown nodes, no beginning',
    verdict: 'same',
    async run() {
      const bad = stateGraph('bad', log)
        .node('END', says('x'))
        .node('a', says('a'))
        .edge('a', 'nowhere' as never)
        .edge('lost' as never, 'a')
      let message = ''
      try {
        bad.compile()
      } catch (error) {
        ;({ message } = error as Error)
      }
      expect(message).toMatch(/cannot have the id 'END'/u)
      expect(message).toMatch(/leads to 'nowhere', which is not a node/u)
      expect(message).toMatch(/comes from 'lost', which is not a node/u)
      expect(message).toMatch(/nothing comes first/u)
    },
  },
  {
    theirs: 'tests/pregel.validate.test.ts: validateGraph: should throw an error if a node is not the correct type',
    idea: 'what is put in as a node must be one',
    verdict: 'same',
    async run() {
      const bad = stateGraph('not-a-node', log)
        .node('a', 7 as never)
        .edge(START, 'a')
      expect(() => (bad as unknown as { compile(): unknown }).compile()).toThrow(
        /node 'a' is not a function of the state, a node, a definition/u,
      )
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should be able to invoke a single node on a graph',
    idea: 'a node of a graph can be run without the graph',
    verdict: 'differs',
    reason:
      'A compiled graph does not hand out its nodes. What should also run alone is a node or a definition of its own, which any graph can hold.',
    async run({ host }) {
      const shout = defineNode('shout', (text: string) => text.toUpperCase())
      const app = stateGraph('holds-it', { text: channel<string>() })
        .node('loud', shout, { input: ({ text }) => text, update: (text) => ({ text }) })
        .edge(START, 'loud')
        .compile()
      const alone = workflow('alone', (ctx, text: string) => ctx.run(shout, text))
      expect(await app.invoke(host, { text: 'a' })).toEqual({ text: 'A' })
      expect(await (await host.start(alone, 'b')).result()).toBe('B')
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should allow custom configuration values',
    idea: 'nodes are given the configuration of the call beside the state',
    verdict: 'differs',
    reason:
      'What a node depends on is in its state, where a replay and a fork find it. What belongs to the process (clients, keys) is closed over by the function, or lives in a node.',
    async run({ host }) {
      const app = stateGraph('configured', { hello: channel<string>(), config: channel<{ readonly foo: string }>() })
        .node('a', ({ config }) => ({ hello: config.foo }))
        .edge(START, 'a')
        .compile({ returns: ({ hello }) => hello })
      expect(await app.invoke(host, { hello: 'there', config: { foo: 'bar' } })).toBe('bar')
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should process batch with two processes and delays',
    idea: 'many runs of one graph at the same time',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('batch', { value: channel<number>() })
        .node('one', async ({ value }) => {
          await quiet(5 - value)
          return { value: value + 1 }
        })
        .node('two', ({ value }) => ({ value: value + 1 }))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      const results = await Promise.all([3, 2, 1, 3, 5].map((value) => app.invoke(host, { value })))
      expect(results.map(({ value }) => value)).toEqual([5, 4, 3, 5, 7])
    },
  },
]
