/** Reading states again, changing them, and going back. */
import { expect } from 'vitest'
import { END, START, channel, stateGraph } from 'nerve/state'
import { quiet, rejection } from '../../behaviour/stage.ts'
import { asked, forkBeforeFailure, reply, stepsOf, type Case } from './case.ts'

const value = { value: channel.concat<string>() }

/** 'a', then 'b'; what ran is in `called`. */
function twoNodes(name: string) {
  const called: string[] = []
  const says = (line: string) => () => {
    called.push(line)
    return { value: [line] }
  }
  const app = stateGraph(name, value)
    .node('a', says('a'))
    .node('b', says('b'))
    .edge(START, 'a')
    .edge('a', 'b')
    .compile()
  return { app, called }
}

/** 'a', a question, 'b'. */
const asking = (name: string) =>
  stateGraph(name, value)
    .node('a', () => ({ value: ['a'] }))
    .wait('ask', 'What is your input?', { into: (answer: string) => ({ value: [`human:${answer}`] }) })
    .node('b', () => ({ value: ['b'] }))
    .edge(START, 'a')
    .edge('a', 'ask')
    .edge('ask', 'b')
    .compile()

export const history: readonly Case[] = [
  {
    theirs:
      'tests/time_travel_extended.test.ts: Append-only checkpoint history: should preserve original checkpoints when replay creates branch',
    idea: 'every state of a run can be read again, with what ran and what comes next',
    verdict: 'differs',
    reason:
      'The same states, but the earliest first, and step 0 is the state with the input in it: there is no state before the input, because a run has no thread that was there before it.',
    async run({ host }) {
      const { app, called } = twoNodes('states')
      const run = await host.start(app, { value: ['in'] })
      await run.result()
      expect(await app.history(host, run.id)).toEqual([
        { run: run.id, step: 0, nodes: [], state: { value: ['in'] }, next: ['a'] },
        { run: run.id, step: 1, nodes: ['a'], state: { value: ['in', 'a'] }, next: ['b'] },
        { run: run.id, step: 2, nodes: ['b'], state: { value: ['in', 'a', 'b'] }, next: [] },
      ])
      expect(called).toEqual(['a', 'b'])
    },
  },
  {
    theirs: 'tests/time_travel_extended.test.ts: Replay and fork basics: should rerun nodes after checkpoint on replay',
    idea: 'going back to a state runs what comes after it again, and nothing before it',
    verdict: 'same',
    async run({ host }) {
      const { app, called } = twoNodes('reruns')
      const run = await host.start(app, {})
      await run.result()
      called.length = 0
      const again = await app.updateState(host, run.id, {}, { at: 1 })
      expect(await again.result()).toEqual({ value: ['a', 'b'] })
      expect(called).toEqual(['b'])
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Replay and fork basics: should no-op when replaying from final checkpoint',
    idea: 'going back to the last state runs nothing',
    verdict: 'same',
    async run({ host }) {
      const { app, called } = twoNodes('last-state')
      const run = await host.start(app, {})
      await run.result()
      called.length = 0
      expect(await (await app.updateState(host, run.id, {})).result()).toEqual({ value: ['a', 'b'] })
      expect(called).toEqual([])
    },
  },
  {
    theirs: 'tests/time_travel_extended.test.ts: Replay and fork basics: should rerun with modified state on fork',
    idea: 'a state is changed, through the reducers, and the run goes on from there',
    verdict: 'same',
    async run({ host }) {
      const { app, called } = twoNodes('modified')
      const run = await host.start(app, {})
      await run.result()
      called.length = 0
      const other = await app.updateState(host, run.id, { value: ['x'] }, { at: 1 })
      expect(await other.result()).toEqual({ value: ['a', 'x', 'b'] })
      expect(called).toEqual(['b'])
      expect((await host.run(other.id)).forkedFrom).toBe(run.id)
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Replay and fork basics: should create independent branches from multiple forks',
    idea: 'several branches off one state know nothing of each other, and the first run stays as it was',
    verdict: 'same',
    async run({ host }) {
      const { app } = twoNodes('branches')
      const run = await host.start(app, {})
      await run.result()
      const before = await host.export(run.id)
      const one = await app.updateState(host, run.id, { value: ['fork1'] }, { at: 1 })
      const two = await app.updateState(host, run.id, { value: ['fork2'] }, { at: 1 })
      expect(await one.result()).toEqual({ value: ['a', 'fork1', 'b'] })
      expect(await two.result()).toEqual({ value: ['a', 'fork2', 'b'] })
      const three = await app.updateState(host, one.id, { value: ['fork3'] }, { at: 1 })
      expect(await three.result()).toEqual({ value: ['a', 'fork1', 'fork3', 'b'] })
      expect(await host.export(run.id)).toBe(before)
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Interrupt replay and fork: should re-fire interrupt on fork from before interrupt',
    idea: 'a branch from before a question asks it again',
    verdict: 'same',
    async run({ host }) {
      const app = asking('asks-again')
      const run = await host.start(app, {})
      await reply(host, run, 'What is your input?', 'hello')
      expect(await run.result()).toEqual({ value: ['a', 'human:hello', 'b'] })
      const other = await app.updateState(host, run.id, { value: ['forked'] }, { at: 1 })
      await reply(host, other, 'What is your input?', 'world')
      expect(await other.result()).toEqual({ value: ['a', 'forked', 'human:world', 'b'] })
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Interrupt replay and fork: should re-fire interrupt on fork from interrupt checkpoint',
    idea: 'a branch off a run that waits asks too; the answer to one does not answer the other',
    verdict: 'same',
    async run({ host }) {
      const app = asking('both-wait')
      const run = await host.start(app, {})
      await asked(host, run.id)
      const other = await app.updateState(host, run.id, { value: ['forked'] })
      await reply(host, other, 'What is your input?', 'different')
      expect(await other.result()).toEqual({ value: ['a', 'forked', 'human:different', 'b'] })
      expect(await asked(host, run.id)).toEqual(['What is your input?'])
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Interrupt replay and fork: should fork from between sequential interrupts preserving first answer',
    idea: 'a branch from between two questions keeps the first answer',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('in-between', value)
        .wait('one', 'First?', { into: (answer: string) => ({ value: [`i1:${answer}`] }) })
        .wait('two', 'Second?', { into: (answer: string) => ({ value: [`i2:${answer}`] }) })
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      const run = await host.start(app, {})
      await reply(host, run, 'First?', 'ans1')
      await reply(host, run, 'Second?', 'ans2')
      await run.result()
      const other = await app.updateState(host, run.id, { value: ['mid'] }, { at: 1 })
      expect(await asked(host, other.id)).toEqual(['Second?'])
      await reply(host, other, 'Second?', 'new')
      expect(await other.result()).toEqual({ value: ['i1:ans1', 'mid', 'i2:new'] })
    },
  },
  {
    theirs:
      'tests/time_travel_extended.test.ts: Subgraph without interrupt: should fork parent checkpoint before subgraph with modified state',
    idea: 'a branch from before a graph inside runs that graph again, on the changed state',
    verdict: 'same',
    async run({ host }) {
      const inner = stateGraph('inner-again', value)
        .node('first', (state) => ({ value: [`first saw ${state.value.length}`] }))
        .node('second', () => ({ value: ['second'] }))
        .edge(START, 'first')
        .edge('first', 'second')
        .compile()
      const app = stateGraph('outer-again', value)
        .node('a', () => ({ value: ['a'] }))
        .node('sub', inner, { input: (state) => state, update: (state) => ({ value: state.value.slice(-2) }) })
        .edge(START, 'a')
        .edge('a', 'sub')
        .compile()
      const run = await host.start(app, {})
      expect(await run.result()).toEqual({ value: ['a', 'first saw 1', 'second'] })
      const other = await app.updateState(host, run.id, { value: ['x'] }, { at: 1 })
      expect(await other.result()).toEqual({ value: ['a', 'x', 'first saw 2', 'second'] })
    },
  },
  {
    theirs:
      'tests/time_travel.test.ts: Time Travel Tests: PR #7115: Direct-to-subgraph time travel: should time travel to subgraph checkpoint at second interrupt',
    idea: 'one goes back to a place inside a graph inside',
    verdict: 'differs',
    reason:
      'updateState is for the steps of the graph whose run it is. Inside, one goes back by path, as in any run: everything before the path is kept, on every level.',
    async run({ host }) {
      const called: string[] = []
      const says = (line: string) => () => {
        called.push(line)
        return { value: [line] }
      }
      const inner = stateGraph('by-path-inner', value)
        .node('x', says('x'))
        .node('y', says('y'))
        .edge(START, 'x')
        .edge('x', 'y')
        .compile()
      const app = stateGraph('by-path', value)
        .node('a', says('a'))
        .node('sub', inner, { input: () => ({}), update: (state) => state })
        .edge(START, 'a')
        .edge('a', 'sub')
        .compile()
      const run = await host.start(app, {})
      await run.result()
      called.length = 0
      const other = await run.fork({ at: 'sub/y' })
      expect(await other.result()).toEqual({ value: ['a', 'x', 'y'] })
      expect(called).toEqual(['y'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: fork and update task results',
    idea: 'the result of one node is replaced, and what comes after it runs again',
    verdict: 'same',
    async run({ host }) {
      const { app, called } = twoNodes('replaced')
      const run = await host.start(app, { value: ['start'] })
      await run.result()
      called.length = 0
      const other = await run.fork({ set: { a: { value: ['one*'] } } })
      expect(await other.result()).toEqual({ value: ['start', 'one*', 'b'] })
      expect(called).toEqual(['b'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: can interrupt then update state with asNode of __end__',
    idea: 'a run that waits is ended from outside by an update as if the graph had ended',
    verdict: 'differs',
    reason:
      'Ending a run is a verb of its own, cancel, and the journal says who did it. An update as a node goes on behind that node, and ends where nothing comes after it.',
    async run({ host }) {
      const app = asking('as-node')
      const run = await host.start(app, {})
      await asked(host, run.id)
      const other = await app.updateState(host, run.id, { value: ['done by hand'] }, { asNode: 'b' })
      expect(await other.result()).toEqual({ value: ['a', 'done by hand'] })
      expect(await rejection(app.updateState(host, run.id, {}, { asNode: END }))).toMatchObject({ code: 'bad-option' })
      await run.cancel({ by: 'ada' })
      expect(await host.inbox()).toEqual([])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should handle bulk state updates',
    idea: 'several updates of several nodes are made at once, without running anything',
    verdict: 'differs',
    reason:
      'One update at a time, each a fork of the one before: what was changed by hand can be told from what was run. A run that never ran is started from a checkpoint instead.',
    async run({ host }) {
      const { app } = twoNodes('step-by-step')
      const run = await host.start(app, {})
      await run.result()
      const one = await app.updateState(host, run.id, { value: ['updated'] }, { at: 0, asNode: 'a' })
      expect(await one.result()).toEqual({ value: ['updated', 'b'] })
      const two = await app.updateState(host, one.id, { value: ['new'] }, { at: 0, asNode: 'b' })
      expect(await two.result()).toEqual({ value: ['updated', 'new'] })
      expect(await stepsOf(host, two.id)).toEqual([])
    },
  },
  {
    theirs: 'tests/errors.test.ts: StateGraph bad return type',
    idea: 'an update from outside that does not fit is refused, and leaves nothing behind',
    verdict: 'same',
    async run({ host }) {
      const { app } = twoNodes('refused')
      const run = await host.start(app, {})
      await run.result()
      const refused = [
        app.updateState(host, run.id, { invalid: 'foo' } as never),
        app.updateState(host, run.id, { value: 'no list' } as never),
        app.updateState(host, run.id, {}, { asNode: 'nobody' }),
        app.updateState(host, run.id, {}, { at: 7 }),
      ]
      for (const one of refused) expect(await rejection(one)).toMatchObject({ code: 'bad-option' })
      expect(await host.runs()).toHaveLength(1)
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should handle checkpoints correctly',
    idea: 'calls with the same thread go on with the state that the last one left',
    verdict: 'differs',
    reason:
      'A run has one input and one end; there is no thread that outlives it. Going on with a new input is a new run that begins with the state of the last one, and it says so.',
    async run({ host }) {
      const app = stateGraph('totals', {
        total: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }),
        input: channel<number>(),
      })
        .node('add', ({ input }) => ({ total: input }))
        .edge(START, 'add')
        .compile()
      const first = await host.start(app, { input: 2 })
      const { total } = await first.result()
      expect(total).toBe(2)
      expect(await app.invoke(host, { total, input: 3 })).toEqual({ total: 5, input: 3 })
      expect(await app.invoke(host, { input: 5 })).toEqual({ total: 5, input: 5 })
    },
  },
  {
    theirs:
      'tests/concurrent-thread-isolation.test.ts: concurrent thread isolation: concurrent invokes keep checkpoint state isolated on a singleton graph',
    idea: 'runs of one graph at the same time do not see each other',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('isolated', { customer: channel<string>(), ...value })
        .node('agent', async ({ customer }) => {
          await quiet(2)
          return { value: [`call ${customer}`] }
        })
        .node('tools', ({ customer }) => ({ value: [`recorded ${customer}`] }))
        .edge(START, 'agent')
        .edge('agent', 'tools')
        .compile()
      const runs = await Promise.all(['a', 'b', 'c', 'd'].map((customer) => host.start(app, { customer })))
      for (const [index, run] of runs.entries()) {
        const customer = 'abcd'[index] ?? ''
        expect((await run.result()).value).toEqual([`call ${customer}`, `recorded ${customer}`])
        expect((await app.getState(host, run.id)).state.customer).toBe(customer)
      }
    },
  },
  {
    theirs: 'tests/python_port/checkpoint.test.ts: should recover from checkpoints after failures with async nodes',
    idea: 'a failed run shows its last state and what failed; it goes on from there with another state',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('recovers-from', { steps: channel.concat<string>(), attempt: channel<number>() })
        .node('node1', ({ attempt }) => {
          if (attempt === 1) throw new Error('Simulated failure')
          return { steps: ['node1'] }
        })
        .node('node2', () => ({ steps: ['node2'] }))
        .edge(START, 'node1')
        .edge('node1', 'node2')
        .compile()
      const run = await host.start(app, { steps: ['start'], attempt: 1 })
      expect((await rejection(run.result())).message).toMatch(/at step 'node1': Simulated failure/u)
      expect(await app.getState(host, run.id)).toMatchObject({
        state: { steps: ['start'], attempt: 1 },
        next: ['node1'],
      })
      const other = await app.updateState(host, run.id, { attempt: 2 })
      expect(await other.result()).toEqual({ steps: ['start', 'node1', 'node2'], attempt: 2 })
      expect((await rejection((await forkBeforeFailure(host, run)).result())).message).toMatch(/Simulated failure/u)
    },
  },
  {
    theirs:
      'tests/python_port/checkpoint.test.ts: should test that running from a checkpoint ID retains previous writes',
    idea: 'a branch off the middle of a loop goes the same way up to there',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('middle-of-a-loop', {
        n: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }),
      })
        .node('one', () => ({ n: 1 }))
        .node('two', () => ({ n: 2 }))
        .edge(START, 'one')
        .edges('one', ({ n }) => (n > 8 ? END : 'two'), ['two', END])
        .edges('two', ({ n }) => (n > 8 ? END : 'one'), ['one', END])
        .compile()
      const run = await host.start(app, {})
      expect(await run.result()).toEqual({ n: 9 })
      const states = await app.history(host, run.id)
      for (const { step, state } of states) {
        const other = await app.updateState(host, run.id, { n: 0 }, { at: step })
        expect(await other.result()).toEqual({ n: 9 })
        expect((await app.history(host, other.id))[step]?.state).toEqual(state)
      }
    },
  },
]
