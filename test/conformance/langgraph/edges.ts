/** Edges, choices, joins, and what is found out before anything runs. */
import { expect } from 'vitest'
import { END, START, channel, stateGraph } from 'nerve/state'
import { gate, quiet, rejection } from '../../behaviour/stage.ts'
import { stepsOf, type Case } from './case.ts'

const log = { log: channel.concat<string>() }
/** A node that says that it was there. */
const says = (text: string) => () => ({ log: [text] })

/** Two ways of different length from 'rewrite', with nodes for what may come after them. */
const fanOut = (name: string) =>
  stateGraph(name, { query: channel<string>(), docs: channel.concat<string>(), answers: channel.concat<string>() })
    .node('rewrite', ({ query }) => ({ query: `query: ${query}` }))
    .node('analyze', ({ query }) => ({ query: `analyzed: ${query}` }))
    .node('retrieve-1', () => ({ docs: ['doc1', 'doc2'] }))
    .node('retrieve-2', () => ({ docs: ['doc3', 'doc4'] }))
    .node('qa', ({ docs }) => ({ answers: [docs.toSorted().join()] }))
    .edge(START, 'rewrite')
    .edge('analyze', 'retrieve-1')

export const edges: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: can invoke graph with a single process',
    idea: 'a graph of one node',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('one-node', { value: channel<number>() })
        .node('add', ({ value }) => ({ value: value + 1 }))
        .edge(START, 'add')
        .edge('add', END)
        .compile()
      expect(await app.invoke(host, { value: 2 })).toEqual({ value: 3 })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should invoke two processes and get correct output',
    idea: 'each node sees what those before it made',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('two-nodes', { value: channel<number>() })
        .node('one', ({ value }) => ({ value: value + 1 }))
        .node('two', ({ value }) => ({ value: value * 10 }))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      const run = await host.start(app, { value: 2 })
      expect(await run.result()).toEqual({ value: 30 })
      expect(await stepsOf(host, run.id)).toEqual(['one', 'two'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should finish executing without output',
    idea: 'a graph ends when nothing is left to run, with or without an edge to the end',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('no-end', log)
        .node('one', () => undefined)
        .node('two', () => ({}))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: [] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph start branch then end',
    idea: 'a choice may come first',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('first-choice', { market: channel<string>(), ...log })
        .node('slow', says('slow'))
        .node('fast', says('fast'))
        .edges(START, ({ market }) => (market === 'DE' ? 'slow' : 'fast'), ['slow', 'fast'])
        .compile()
      expect((await app.invoke(host, { market: 'DE', log: ['value'] })).log).toEqual(['value', 'slow'])
      expect((await app.invoke(host, { market: 'US', log: ['value'] })).log).toEqual(['value', 'fast'])
    },
  },
  {
    theirs: 'tests/python_port/graph_structure.test.ts: should handle conditional entrypoint graphs with state',
    idea: 'a choice may name its ways, apart from the nodes that they lead to',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('named-ways', { input: channel<string>(), ...log })
        .node('left', says('left'))
        .node('right', says('right'))
        .edges(START, ({ input }) => (input === 'what is weather in sf' ? 'weather' : 'other'), {
          weather: 'right',
          other: 'left',
        })
        .edges('right', async ({ log: trail }) => (trail.length > 0 ? 'done' : 'again'), { done: END, again: 'right' })
        .compile()
      expect((await app.invoke(host, { input: 'what is weather in sf' })).log).toEqual(['right'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: Conditional edges is optional',
    idea: 'a choice need not say where it may lead',
    verdict: 'differs',
    reason:
      'A choice lists its targets. So the graph can be drawn and checked before it runs, and a router that says something else fails instead of ending the run early.',
    async run({ host }) {
      const app = stateGraph('listed', log)
        .node('one', says('one'))
        .node('two', says('two'))
        .edge(START, 'one')
        .edges('one', () => 'three' as never, ['two', END])
        .compile()
      const error = await rejection(app.invoke(host, {}))
      expect(error.message).toMatch(/router from 'one' chose "three"\. It can choose: two, END/u)
    },
  },
  {
    theirs:
      'tests/python_port/graph_structure.test.ts: should test in-one-fan-out with waiting edge and multiple conditional edges',
    idea: 'a choice may lead to several nodes at once',
    verdict: 'same',
    async run({ host }) {
      const app = fanOut('choice-of-many')
        .edges('rewrite', () => ['analyze', 'retrieve-2'] as const, ['analyze', 'retrieve-2'])
        .edge(['retrieve-1', 'retrieve-2'], 'qa')
        .compile()
      const run = await host.start(app, { query: 'sf' })
      expect((await run.result()).answers).toEqual(['doc1,doc2,doc3,doc4'])
    },
  },
  {
    theirs: 'tests/errors.test.ts: Should throw errors in conditional edges',
    idea: 'an error in a choice fails the run',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('bad-choice', log)
        .node('init', says('init'))
        .node('x', says('x'))
        .edge(START, 'init')
        .edges(
          'init',
          () => {
            throw new Error('no idea')
          },
          ['x', END],
        )
        .compile()
      expect((await rejection(app.invoke(host, {}))).message).toMatch(/no idea/u)
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should process two inputs to two outputs validly',
    idea: 'nodes of one step run side by side on the same state, and their updates come together',
    verdict: 'same',
    async run({ host }) {
      const gates = { one: gate(), two: gate() }
      const app = stateGraph('side-by-side', log)
        .node('one', async (state) => {
          await gates.one.promise
          return { log: [`one saw ${state.log.length}`] }
        })
        .node('two', async (state) => {
          await gates.two.promise
          return { log: [`two saw ${state.log.length}`] }
        })
        .edge(START, 'one')
        .edge(START, 'two')
        .compile()
      const run = await host.start(app, {})
      gates.two.resolve()
      await quiet()
      gates.one.resolve()
      expect(await run.result()).toEqual({ log: ['one saw 0', 'two saw 0'] })
    },
  },
  {
    theirs:
      'tests/pregel.test.ts: _localRead: should return the channel value after applying writes when fresh is true',
    idea: 'a choice behind a node sees the state with the update of that node, and not those of the nodes beside it',
    verdict: 'differs',
    reason:
      'There is one state between two steps, and a choice is made on it: with the updates of all nodes of the step. Then what it decides can be explained by a state that everybody can read.',
    async run({ host }) {
      const app = stateGraph('one-state', log)
        .node('a', says('a'))
        .node('b', says('b'))
        .node('saw-both', says('saw both'))
        .node('saw-one', says('saw one'))
        .edge(START, 'a')
        .edge(START, 'b')
        .edges('a', (state) => (state.log.length === 2 ? 'saw-both' : 'saw-one'), ['saw-both', 'saw-one'])
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['a', 'b', 'saw both'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: In one fan out state graph waiting edge',
    idea: 'an edge from several nodes waits for all of them, also when their ways have different lengths',
    verdict: 'same',
    async run({ host }) {
      const app = fanOut('waiting-edge')
        .edge('rewrite', 'analyze')
        .edge('rewrite', 'retrieve-2')
        .edge(['retrieve-1', 'retrieve-2'], 'qa')
        .edge('qa', END)
        .compile()
      const run = await host.start(app, { query: 'sf' })
      expect(await run.result()).toEqual({
        query: 'analyzed: query: sf',
        docs: ['doc3', 'doc4', 'doc1', 'doc2'],
        answers: ['doc1,doc2,doc3,doc4'],
      })
    },
  },
  {
    theirs: 'tests/python_port/graph_structure.test.ts: should test in-one-fan-out with waiting edge plus regular edge',
    idea: 'a node that has been there before is still waited for by the join that leads to it',
    verdict: 'same',
    async run({ host }) {
      const app = fanOut('waiting-and-regular')
        .edge('rewrite', 'analyze')
        .edge('rewrite', 'retrieve-2')
        .edge(['retrieve-1', 'retrieve-2'], 'qa')
        .edge('rewrite', 'qa')
        .compile()
      expect((await app.invoke(host, { query: 'sf' })).answers).toEqual(['', 'doc1,doc2,doc3,doc4'])
    },
  },
  {
    theirs:
      'tests/python_port/graph_structure.test.ts: should test in-one-fan-out with waiting edge and multiple iterations',
    idea: 'a join in a loop waits for all of them in every iteration',
    verdict: 'same',
    async run({ host }) {
      const app = fanOut('join-in-a-loop')
        .node('decide', () => undefined)
        .edge('rewrite', 'analyze')
        .edge('rewrite', 'retrieve-2')
        .edge(['retrieve-1', 'retrieve-2'], 'decide')
        // Said twice, it is still one: nothing of it is left over for the next iteration.
        .edge(['retrieve-1', 'retrieve-2'], 'decide')
        .edges('decide', ({ query }) => (query.split('analyzed').length > 2 ? 'qa' : 'rewrite'), ['qa', 'rewrite'])
        .compile()
      const run = await host.start(app, { query: 'sf' })
      expect(await run.result()).toMatchObject({
        query: 'analyzed: query: analyzed: query: sf',
        answers: ['doc1,doc1,doc2,doc2,doc3,doc3,doc4,doc4'],
      })
      expect((await stepsOf(host, run.id)).filter((path) => path.startsWith('decide'))).toEqual([
        'decide',
        'decide?',
        'decide#2',
        'decide?#2',
      ])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: in_one_fan_out_state_graph_defer_node',
    idea: 'a node can be put off until nothing else is left to run',
    verdict: 'not-ours',
    reason:
      'When a node runs would depend on everything else in the graph, also on what is added later. Whoever waits says for whom: an edge from a list of nodes.',
    async run({ host }) {
      const app = fanOut('instead-of-defer')
        .edge('rewrite', 'analyze')
        .edge('rewrite', 'retrieve-2')
        .edge(['analyze', 'retrieve-1', 'retrieve-2'], 'qa')
        .compile()
      expect((await app.invoke(host, { query: 'sf' })).answers).toEqual(['doc1,doc2,doc3,doc4'])
    },
  },
  {
    theirs: 'tests/python_port/graph_structure.test.ts: should handle conditional edges after send',
    idea: 'a node to which several nodes of one step lead runs once',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('once', log)
        .node('a', says('a'))
        .node('b', says('b'))
        .node('c', says('c'))
        .edge(START, 'a')
        .edge(START, 'b')
        .edge('a', 'c')
        .edge('b', 'c')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['a', 'b', 'c'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: add sequence: should work with dictionary',
    idea: 'nodes one after the other, without saying every edge',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('sequence', log)
        .start()
        .then('step1', says('step1'))
        .then('step2', says('step2'))
        .end()
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['step1', 'step2'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: add sequence: should work with mixed nodes and sequences',
    idea: 'sequences and choices together',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('mixed', log)
        .start()
        .then('a', says('a'))
        .then('b', says('b'))
        .if(({ log: trail }) => trail[0] === 'a')
        .then('d', says('d'))
        .then('e', says('e'))
        .else()
        .then('c', says('c'))
        .endif()
        .end()
        .compile()
      expect((await app.invoke(host, {})).log).toEqual(['a', 'b', 'd', 'e'])
      expect((await app.invoke(host, { log: ['start'] })).log).toEqual(['start', 'a', 'b', 'c'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: add sequence: should raise error if duplicate step names',
    idea: 'two nodes of one name, and a sequence of none, are errors',
    verdict: 'same',
    async run() {
      const twice = stateGraph('twice', log)
        .start()
        .then('foo', says('1'))
        .then('foo' as never, says('2'))
        .end()
      expect(() => (twice as { compile(): unknown }).compile()).toThrow(/have the id 'foo'/u)
      expect(() => stateGraph('none', log).start().end().compile()).toThrow(/it has no nodes/u)
    },
  },
]
