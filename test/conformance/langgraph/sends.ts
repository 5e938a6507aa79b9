/** Loops and their bounds, and fanning out over items. */
import { expect } from 'vitest'
import { END, START, channel, goto, send, stateGraph } from 'nerve/state'
import { gate, quiet, rejection, until } from '../../behaviour/stage.ts'
import { emittedBy, forkBeforeFailure, stepsOf, type Case } from './case.ts'

const items = { items: channel.concat<string>() }
const says = (text: string) => () => ({ items: [text] })

export const loops: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: StateGraph: multiple stream mode',
    idea: 'a choice that leads back makes a loop',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('loop', { value: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }) })
        .node('add-one', () => ({ value: 1 }))
        .edge(START, 'add-one')
        .edges('add-one', ({ value }) => (value < 6 ? 'add-one' : END), ['add-one', END])
        .compile()
      expect(await app.invoke(host, { value: 1 })).toEqual({ value: 6 })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should pass recursion limit set via .withConfig',
    idea: 'a graph that goes on for too many steps fails',
    verdict: 'differs',
    reason:
      'The bound belongs to the graph (maxSteps, default 100), not to the call: a resume and a replay must meet the same one. Reaching it is an event in the journal, and onLimit may say that it ends there.',
    async run({ host }) {
      const builder = (name: string) =>
        stateGraph(name, { prop: channel({ default: () => '' }) })
          .node('first', () => ({ prop: 'foo' }))
          .node('second', () => ({}))
          .edge(START, 'first')
          .edge('first', 'second')
      expect(await builder('enough').compile({ maxSteps: 2 }).invoke(host, {})).toEqual({ prop: 'foo' })
      const failing = await host.start(builder('too-few').compile({ maxSteps: 1 }), {})
      expect((await rejection(failing.result())).cause).toMatchObject({ code: 'limit-reached' })
      expect(await emittedBy(host, failing.id)).toEqual([['limit-reached', { node: 'too-few', iterations: 1 }]])
      expect(await builder('ends').compile({ maxSteps: 1, onLimit: 'stop' }).invoke(host, {})).toEqual({ prop: 'foo' })
    },
  },
]

export const sends: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: StateGraph: Allow map reduce flows',
    idea: 'a choice makes one execution of a node for each item; their updates come together in the order of the items',
    verdict: 'same',
    async run({ host }) {
      const gates = new Map(['cats', 'dogs'].map((subject) => [subject, gate()]))
      const app = stateGraph('jokes', { subjects: channel<readonly string[]>(), jokes: channel.concat<string>() })
        .each('joke', async (subject: string) => {
          await gates.get(subject)?.promise
          return { jokes: [`Joke about ${subject}`] }
        })
        .edges(START, ({ subjects }) => subjects.map((subject) => send('joke', subject)), ['joke'])
        .compile()
      const run = await host.start(app, { subjects: ['cats', 'dogs'] })
      gates.get('dogs')?.resolve()
      await quiet()
      gates.get('cats')?.resolve()
      expect((await run.result()).jokes).toEqual(['Joke about cats', 'Joke about dogs'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should allow a conditional edge after a send',
    idea: 'what comes after the items runs once, when all of them have ended',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('after-a-send', items)
        .node('1', says('1'))
        .each('2', (item: string) => ({ items: [`2|${item}`] }))
        .node('3', says('3'))
        .edge(START, '1')
        .edges('1', () => [send('2', 'a'), send('2', 'b')], ['2'])
        .edges('2', () => '3', ['3'])
        .compile()
      expect(await app.invoke(host, { items: ['0'] })).toEqual({ items: ['0', '1', '2|a', '2|b', '3'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: test_concurrent_emit_sends',
    idea: 'several nodes of one step may send to the same node, beside other nodes',
    verdict: 'differs',
    reason:
      'All items run, in the order of the nodes that sent them. But updates of one step go in by the order in which the nodes were declared; theirs puts nodes without an item first.',
    async run({ host }) {
      const app = stateGraph('concurrent-sends', items)
        .node('1', says('1'))
        .node('1.1', says('1.1'))
        .each('2', (item: number) => ({ items: [`2|${item}`] }))
        .node('3', says('3'))
        .node('3.1', says('3.1'))
        .edge(START, '1')
        .edge(START, '1.1')
        .edges('1', () => [send('2', 1), send('2', 2), '3.1'], ['2', '3.1'])
        .edges('1.1', () => [send('2', 3), send('2', 4)], ['2'])
        .edges('2', () => '3', ['3'])
        .compile()
      expect((await app.invoke(host, { items: ['0'] })).items).toEqual([
        ...['0', '1', '1.1'],
        ...['2|1', '2|2', '2|3', '2|4', '3.1'],
        '3',
      ])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should handle send sequences correctly',
    idea: 'a node that was sent an item may send items in turn, also to itself',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('send-sequence', items)
        .node('1', says('1'))
        .each('2', (depth: number) => {
          const update = { items: [`2|${depth}`] }
          return depth > 0 ? goto([send('2', depth - 1)], update) : goto('3', update)
        })
        .node('3', says('3'))
        .edge(START, '1')
        .edges('1', () => [send('2', 2), send('2', 1)], ['2'])
        .compile()
      const run = await host.start(app, { items: ['0'] })
      expect((await run.result()).items).toEqual(['0', '1', '2|2', '2|1', '2|1', '2|0', '2|0', '3', '3'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: batch update as input (map-reduce)',
    idea: 'a node may send items and change the state at once',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('map-reduce', { foo: channel<string>(), tasks: channel.concat<number>() })
        .node('agent', () => ({ foo: 'agent' }))
        .node('map', () =>
          goto(
            [0, 1, 2].map((index) => send('task', index)),
            { foo: 'map' },
          ),
        )
        .each('task', (index: number) => ({ tasks: [index] }))
        .edge(START, 'agent')
        .edge('agent', 'map')
        .compile()
      const run = await host.start(app, { foo: 'input' })
      expect(await run.result()).toEqual({ foo: 'map', tasks: [0, 1, 2] })
      expect(await stepsOf(host, run.id)).toEqual(['agent', 'map', 'task/0', 'task/1', 'task/2'])
    },
  },
  {
    theirs: 'tests/python_port/graph_structure.test.ts: should handle maximum concurrency limits',
    idea: 'no more than so many items run at a time, and the order of the results stays',
    verdict: 'same',
    async run({ host }) {
      let running = 0
      let most = 0
      const builder = (name: string) =>
        stateGraph(name, { items: channel.concat<number>() })
          .each('2', async (item: number) => {
            running += 1
            most = Math.max(most, running)
            await quiet(1)
            running -= 1
            return { items: [item] }
          })
          .node('3', () => ({ items: [-1] }))
          .edges(START, () => Array.from({ length: 100 }, (_, index) => send('2', index)), ['2'])
          .edge('2', '3')
      const expected = [...Array.from({ length: 100 }, (_, index) => index), -1]
      expect(await builder('unlimited').compile().invoke(host, {})).toEqual({ items: expected })
      expect(most).toBe(100)
      most = 0
      expect(await builder('ten').compile({ maxParallel: 10 }).invoke(host, {})).toEqual({ items: expected })
      expect(most).toBe(10)
    },
  },
  {
    theirs: 'tests/python_port/graph_structure.test.ts: should deduplicate sends on resume',
    idea: 'after a failure among many items, only those that had not ended run again',
    verdict: 'differs',
    reason:
      'The same items are kept. But a run that failed has ended for good, so one goes on by forking it where it failed, or by a policy or a person before it fails.',
    async run({ host }) {
      const ran: string[] = []
      let broken = true
      const app = stateGraph('flaky-items', items)
        .each('2', async (item: string) => {
          ran.push(item)
          if (item !== 'flaky') return { items: [item] }
          await until(() => ran.length >= 3)
          await quiet()
          if (broken) throw new Error('Bahh')
          return { items: ['fixed'] }
        })
        .edges(START, () => [send('2', 'a'), send('2', 'flaky'), send('2', 'c')], ['2'])
        .compile()
      const run = await host.start(app, {})
      expect((await rejection(run.result())).message).toMatch(/at step '2\/1': Bahh/u)
      broken = false
      const again = await forkBeforeFailure(host, run)
      expect(await again.result()).toEqual({ items: ['a', 'fixed', 'c'] })
      expect(ran).toEqual(['a', 'flaky', 'c', 'flaky'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: State graph packets',
    idea: 'what is sent stands in the place of the state',
    verdict: 'differs',
    reason:
      'A node for items says so when it is made (each), and is given both: the item, with its type, and the state. A wrong item does not compile.',
    async run({ host }) {
      const app = stateGraph('item-and-state', { topics: channel<readonly string[]>(), ...items })
        .each('read', (topic: string, { topics }) => ({ items: [`${topic} of ${topics.length}`] }))
        .edges(START, ({ topics }) => topics.map((topic) => send('read', topic)), ['read'])
        .compile()
      expect((await app.invoke(host, { topics: ['a', 'b'] })).items).toEqual(['a of 2', 'b of 2'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should handle partial pending checkpoint',
    idea: 'a choice may send items and name nodes in one list',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('both-kinds', items)
        .each('one', (item: string) => ({ items: [`one ${item}`] }))
        .node('two', says('two'))
        .edges(START, () => ['two', send('one', 'x')], ['one', 'two'])
        .compile()
      expect(await app.invoke(host, {})).toEqual({ items: ['one x', 'two'] })
    },
  },
  {
    theirs: 'tests/constants.test.ts: _deserializeCommandSendObjectGraph: preserves non-plain objects in Send args',
    idea: 'objects of any class may be sent',
    verdict: 'differs',
    reason:
      'What is sent is recorded, and is there again after a restart: plain data, dates, maps, sets, bytes, errors. Anything else fails where it is sent, by name, instead of coming back as something else.',
    async run({ host }) {
      class Money {
        readonly cents = 5
      }
      const app = (name: string, item: unknown) =>
        stateGraph(name, items)
          .node('plan', () => [send('read', item)])
          .each('read', (given: unknown) => ({ items: [given instanceof Map ? String(given.get('a')) : 'lost'] }))
          .edge(START, 'plan')
          .compile()
      expect(await app('send-map', new Map([['a', 1]])).invoke(host, {})).toEqual({ items: ['1'] })
      expect((await rejection(app('send-class', new Money()).invoke(host, {}))).message).toMatch(/Money/u)
    },
  },
  {
    theirs:
      "tests/timeout.test.ts: Send timeout (end-to-end): overrides the target node's timeout for a specific pushed task",
    idea: 'a single item may have a timeout of its own',
    verdict: 'not-ours',
    reason:
      'How a step is run is said once, at its node. Items that need another policy are sent to another node, which may have the same function.',
    async run({ host }) {
      const read = (item: string) => ({ items: [item] })
      const app = stateGraph('two-policies', items)
        .each('quick', read, { policy: { timeout: '1s' } })
        .each('slow', read, { policy: { timeout: '1h' } })
        .edges(START, () => [send('quick', 'a'), send('slow', 'b')], ['quick', 'slow'])
        .compile()
      expect(await app.invoke(host, {})).toEqual({ items: ['a', 'b'] })
    },
  },
]
