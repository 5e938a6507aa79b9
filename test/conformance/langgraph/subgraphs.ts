/** Graphs inside graphs. */
import { expect } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { graph } from 'nerve/graph'
import { END, START, channel, goto, send, stateGraph } from 'nerve/state'
import { asked, reply, stepsOf, type Case } from './case.ts'

const log = { log: channel.concat<string>() }
const text = { text: channel<string>() }
const says = (line: string) => () => ({ log: [line] })

export const subgraphs: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: StateGraph: can invoke a nested graph',
    idea: 'a graph is a node of another one, and channels of the same name are shared by themselves',
    verdict: 'differs',
    reason:
      'A graph is held with input and update, which say what goes in and what comes out. Then a graph can be used wherever its types fit, and renaming a channel in one does not change the other.',
    async run({ host }) {
      const inner = stateGraph('nested', { key: channel<string>(), other: channel({ default: () => '' }) })
        .node('up', ({ key }) => ({ key: `${key} there`, other: key }))
        .edge(START, 'up')
        .compile()
      const app = stateGraph('nests', { key: channel<string>(), never: channel({ default: () => 'mine' }) })
        .node('inner', inner, { input: ({ key }) => ({ key }), update: ({ key }) => ({ key }) })
        .node('side', ({ key }) => ({ key: `${key} and back again` }))
        .edge(START, 'inner')
        .edge('inner', 'side')
        .compile()
      const run = await host.start(app, { key: 'my value' })
      expect(await run.result()).toEqual({ key: 'my value there and back again', never: 'mine' })
      expect(await stepsOf(host, run.id)).toEqual(['inner/up', 'side'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: Can have three graphs with different keys',
    idea: 'graphs with other channels are held by mapping the state',
    verdict: 'same',
    async run({ host }) {
      const three = stateGraph('three', { two: channel<string>(), three: channel({ default: () => '' }) })
        .node('returns', (state) => ({ three: `${state.two} three` }))
        .edge(START, 'returns')
        .compile({ returns: (state) => state.three })
      const two = stateGraph('two', { one: channel<string>(), two: channel({ default: () => '' }) })
        .node('one', (state) => ({ two: `${state.one} two` }))
        .node('three', three, { input: (state) => ({ two: state.two }), update: (output) => ({ two: output }) })
        .edge(START, 'one')
        .edge('one', 'three')
        .compile({ returns: (state) => state.two })
      const one = stateGraph('one', { one: channel<string>() })
        .node('two', two, { input: (state) => state, update: (output) => ({ one: output }) })
        .edge(START, 'two')
        .compile()
      expect(await one.invoke(host, { one: 'one' })).toEqual({ one: 'one two three' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: nested graph state',
    idea: 'while a graph inside runs, the state around it is as it was before it',
    verdict: 'same',
    async run({ host }) {
      const inner = stateGraph('stops', text)
        .node('inner1', (state) => ({ text: `${state.text} here` }))
        .wait('stop', 'inner?')
        .node('inner2', (state) => ({ text: `${state.text} and there` }))
        .edge(START, 'inner1')
        .edge('inner1', 'stop')
        .edge('stop', 'inner2')
        .compile()
      const app = stateGraph('outside', text)
        .node('outer1', (state) => ({ text: `hi ${state.text}` }))
        .node('inner', inner, { input: (state) => state, update: (state) => state })
        .node('outer2', (state) => ({ text: `${state.text} and back again` }))
        .edge(START, 'outer1')
        .edge('outer1', 'inner')
        .edge('inner', 'outer2')
        .compile()
      const run = await host.start(app, { text: 'my value' })
      await asked(host, run.id)
      expect(await app.getState(host, run.id)).toMatchObject({ state: { text: 'hi my value' }, next: ['inner'] })
      await reply(host, run, 'inner?', 'yes')
      await run.result()
      expect((await app.history(host, run.id)).map(({ state }) => state.text)).toEqual([
        'my value',
        'hi my value',
        'hi my value here and there',
        'hi my value here and there and back again',
      ])
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Observability: should return subgraph state from getState with subgraphs option',
    idea: 'the state of a graph inside can be read while it runs',
    verdict: 'not-ours',
    reason:
      'A graph inside is no run of its own: its steps are in the journal of the run, under the path of the node. Who wants to look at its states gives it a saver, or starts it as a child run.',
    async run({ host }) {
      const child = stateGraph('own-run', log)
        .node('a', says('a'))
        .node('b', says('b'))
        .edge(START, 'a')
        .edge('a', 'b')
        .compile()
      const starts = workflow('starts-it', (ctx) => ctx.child(child, {}))
      const app = stateGraph('looks', log)
        .node('sub', starts, { update: (state) => ({ log: state.log }) })
        .edge(START, 'sub')
        .compile()
      host.register(child)
      const run = await host.start(app, {})
      expect(await run.result()).toEqual({ log: ['a', 'b'] })
      const own = (await host.runs({ root: run.id, children: true })).find(({ definition }) => definition === 'own-run')
      expect((await child.history(host, own?.run ?? '')).map(({ state }) => state.log.length)).toEqual([0, 1, 2])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: send to nested graphs',
    idea: 'items are sent to a graph; each has a state of its own',
    verdict: 'same',
    async run({ host }) {
      const joke = stateGraph('joke-graph', { subject: channel<string>(), joke: channel({ default: () => '' }) })
        .node('edit', ({ subject }) => ({ subject: `${subject} - hohoho` }))
        .node('generate', ({ subject }) => ({ joke: `Joke about ${subject}` }))
        .edge(START, 'edit')
        .edge('edit', 'generate')
        .compile({ returns: (state) => state.joke })
      const app = stateGraph('sends-to-graphs', {
        subjects: channel<readonly string[]>(),
        jokes: channel.concat<string>(),
      })
        .each('joke', joke, { update: (one) => ({ jokes: [one] }) })
        .edges(START, ({ subjects }) => subjects.map((subject) => send('joke', { subject })), ['joke'])
        .compile()
      const run = await host.start(app, { subjects: ['cats', 'dogs'] })
      expect((await run.result()).jokes).toEqual(['Joke about cats - hohoho', 'Joke about dogs - hohoho'])
      expect((await stepsOf(host, run.id)).toSorted()).toEqual([
        'START?',
        'joke/0/edit',
        'joke/0/generate',
        'joke/1/edit',
        'joke/1/generate',
      ])
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Nested and parallel subgraph state on replay: should load correct state for parallel sibling subgraphs on replay',
    idea: 'the same graph runs at two places side by side, each with a state of its own',
    verdict: 'same',
    async run({ host }) {
      const inner = stateGraph('sibling', { name: channel<string>(), ...log })
        .node('first', ({ name }) => ({ log: [`${name} first`] }))
        .node('second', ({ name }) => ({ log: [`${name} second`] }))
        .edge(START, 'first')
        .edge('first', 'second')
        .compile({ returns: (state) => state.log })
      const app = stateGraph('siblings', log)
        .node('left', inner, { input: () => ({ name: 'left' }), update: (lines) => ({ log: lines }) })
        .node('right', inner, { input: () => ({ name: 'right' }), update: (lines) => ({ log: lines }) })
        .edge(START, 'left')
        .edge(START, 'right')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['left first', 'left second', 'right first', 'right second'] })
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Stateful subgraph replay: should start stateless subgraph fresh on parent replay',
    idea: 'a graph in a loop begins with a fresh state in every iteration',
    verdict: 'same',
    async run({ host }) {
      const inner = stateGraph('fresh-inner', { trail: channel.concat<string>() })
        .node('step', ({ trail }) => ({ trail: [`saw ${trail.length}`] }))
        .edge(START, 'step')
        .compile({ returns: (state) => state.trail })
      const app = stateGraph('loops-a-graph', { results: channel.concat<string>() })
        .node('sub', inner, { input: () => ({}), update: (results) => ({ results }) })
        .edge(START, 'sub')
        .edges('sub', ({ results }) => (results.length < 2 ? 'sub' : END), ['sub', END])
        .compile()
      const run = await host.start(app, {})
      expect(await run.result()).toEqual({ results: ['saw 0', 'saw 0'] })
      expect((await stepsOf(host, run.id)).filter((path) => path.includes('/'))).toEqual(['sub/step', 'sub#2/step'])
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Nested and parallel subgraph state on replay: should load subgraph state correctly when subgraph runs in a loop',
    idea: 'a graph that is compiled so keeps its state from one call to the next, and across runs of a thread',
    verdict: 'not-ours',
    reason:
      'Hidden state beside the state is what makes a run hard to repeat. What a graph should remember is a channel of the graph around it, which gives it in and takes it out.',
    async run({ host }) {
      const inner = stateGraph('remembers', { trail: channel.concat<string>() })
        .node('step', ({ trail }) => ({ trail: [`saw ${trail.length}`] }))
        .edge(START, 'step')
        .compile()
      const app = stateGraph('keeps-for-it', { memory: channel({ default: (): readonly string[] => [] }) })
        .node('sub', inner, {
          input: ({ memory }) => ({ trail: memory }),
          update: ({ trail }) => ({ memory: trail }),
        })
        .edge(START, 'sub')
        .edges('sub', ({ memory }) => (memory.length < 3 ? 'sub' : END), ['sub', END])
        .compile()
      expect(await app.invoke(host, {})).toEqual({ memory: ['saw 0', 'saw 1', 'saw 2'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: invoke join then call other pregel',
    idea: 'a node calls a graph several times in its own code',
    verdict: 'differs',
    reason:
      'A function of a node is one step, and has nothing to run others with. Code that runs graphs is a workflow, held as a node: every call has a path of its own.',
    async run({ host }) {
      const addOne = stateGraph('add-one-graph', { value: channel<number>() })
        .node('add', ({ value }) => ({ value: value + 1 }))
        .edge(START, 'add')
        .compile({ returns: ({ value }) => value })
      const every = workflow('every', (ctx, values: readonly number[]) =>
        ctx.map(values, (value) => ctx.run(addOne, { value }), { label: 'each' }),
      )
      const app = stateGraph('sums', { values: channel<readonly number[]>(), sum: channel({ default: () => 0 }) })
        .node('ten', ({ values }) => ({ values: values.map((value) => value + 10) }))
        .node('every', every, { input: ({ values }) => values, update: (values) => ({ values }) })
        .node('sum', ({ values }) => ({ sum: values.reduce((a, b) => a + b, 0) }))
        .edge(START, 'ten')
        .edge('ten', 'every')
        .edge('every', 'sum')
        .compile({ returns: ({ sum }) => sum })
      expect(await Promise.all(Array.from({ length: 10 }, () => app.invoke(host, { values: [2, 3] })))).toEqual(
        Array(10).fill(27),
      )
    },
  },
  {
    theirs:
      'tests/func.test.ts: task and entrypoint decorators: interrupt handling: can call a StateGraph from a task, with interrupt in parent graph',
    idea: 'graphs and plain async functions call each other',
    verdict: 'same',
    async run({ host }) {
      const shout = defineNode('shout-loud', (line: string) => line.toUpperCase())
      const dag = graph<string>('dag-inside').step('loud', shout, { inputFn: (_, { input }) => input })
      const inner = stateGraph('in-a-workflow', text)
        .node('dag', dag, { input: (state) => state.text, update: ({ loud }) => ({ text: loud }) })
        .wait('ask', ({ text: now }) => `${now}?`, {
          into: (answer: string, state) => ({ text: `${state.text} ${answer}` }),
        })
        .edge(START, 'dag')
        .edge('dag', 'ask')
        .compile({ returns: (state) => state.text })
      const outer = workflow('calls-a-graph', async (ctx, line: string) => {
        const first = await ctx.run(inner, { text: line })
        return ctx.step('after', () => `${first}!`)
      })
      const run = await host.start(outer, 'hello')
      await reply(host, run, 'HELLO?', 'world')
      expect(await run.result()).toBe('HELLO world!')
      expect(await stepsOf(host, run.id)).toEqual(['in-a-workflow/dag/loud', 'after'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should handle non-overlapping parent command updates',
    idea: 'what a graph inside changed and where it sends the graph around it come together with the edges there',
    verdict: 'differs',
    reason:
      'What comes out of a graph inside is one update, made by the node that holds it; a goto in it leads instead of the edges of that node.',
    async run({ host }) {
      const unique = channel({
        default: (): readonly string[] => [],
        reducer: (had: readonly string[], more: readonly string[]) => [...new Set([...had, ...more])],
      })
      const inner = stateGraph('goes-on', { strings: unique })
        .node('sub-1', () => goto('sub-2', { strings: ['bar'] }))
        .node('sub-2', () => undefined)
        .edge(START, 'sub-1')
        .compile({ returns: ({ strings }) => strings })
      const app = stateGraph('goes-on-around', { strings: unique })
        .node('node-1', () => goto('node-2', { strings: ['foo'] }))
        .node('node-2', inner, { input: (state) => state, update: (strings) => goto('node-3', { strings }) })
        .node('node-3', () => ({ strings: ['baz'] }))
        .edge(START, 'node-1')
        .edge('node-2', 'node-3')
        .compile()
      const run = await host.start(app, {})
      expect(await run.result()).toEqual({ strings: ['foo', 'bar', 'baz'] })
      expect(await stepsOf(host, run.id)).toEqual(['node-1', 'node-2/sub-1', 'node-2/sub-2', 'node-3'])
    },
  },
]
