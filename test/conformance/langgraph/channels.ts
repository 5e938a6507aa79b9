/** Channels: what a part of the state begins with, and how updates go into it. */
import { expect } from 'vitest'
import { START, channel, goto, send, stateGraph } from 'nerve/state'
import type { Case } from './case.ts'

export const channels: readonly Case[] = [
  {
    theirs: 'tests/channels.test.ts: LastValue: should handle last value correctly',
    idea: 'a channel without a reducer keeps the last value',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('last-value', { text: channel<string>() })
        .node('a', () => ({ text: 'one' }))
        .node('b', ({ text }) => ({ text: `${text}, two` }))
        .edge(START, 'a')
        .edge('a', 'b')
        .compile()
      expect(await app.invoke(host, { text: 'zero' })).toEqual({ text: 'one, two' })
    },
  },
  {
    theirs: "tests/channels.test.ts: LastValue: should handle '%s'",
    idea: '0, the empty text, false and null are values like any other',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('falsy', { value: channel<unknown>({ default: () => 'full' }), next: channel<unknown>() })
        .node('set', ({ next }) => ({ value: next }))
        .edge(START, 'set')
        .compile()
      for (const next of [0, '', false, null]) expect((await app.invoke(host, { next })).value).toBe(next)
    },
  },
  {
    theirs: 'tests/pregel.test.ts: persist a falsy value',
    idea: 'such values are also there when the state is read again later',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('falsy-kept', {
        number: channel<number>(),
        flag: channel<boolean>(),
        text: channel<string>(),
      })
        .node('same', ({ number, flag, text }) => ({ number, flag, text }))
        .edge(START, 'same')
        .compile()
      const run = await host.start(app, { number: 0, flag: false, text: '' })
      await run.result()
      expect((await app.getState(host, run.id)).state).toEqual({ number: 0, flag: false, text: '' })
    },
  },
  {
    theirs:
      'tests/channels.test.ts: LastValue: with initialValueFactory: should initialize with default value from factory',
    idea: 'a channel begins with what its factory makes, until something else goes into it',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('default', {
        kept: channel({ default: () => ({ foo: 'bar', count: 42 }) }),
        given: channel({ default: () => 'default' }),
        changed: channel({ default: () => 0 }),
      })
        .node('change', () => ({ changed: 1 }))
        .edge(START, 'change')
        .compile()
      expect(await app.invoke(host, { given: 'input' })).toEqual({
        kept: { foo: 'bar', count: 42 },
        given: 'input',
        changed: 1,
      })
    },
  },
  {
    theirs:
      'tests/channels.test.ts: LastValue: with initialValueFactory: should work with function that returns different values',
    idea: 'a factory may give something new each time',
    verdict: 'differs',
    reason:
      'A state is not stored: it is made again from the results of the steps, so a default must be the same every time. What is new in each run is made by a node, and then it is in the journal.',
    async run({ host }) {
      let made = 0
      const app = stateGraph('fresh', { ticket: channel<number>(), used: channel<number>() })
        .node('draw', () => ({ ticket: ++made }))
        .node('use', ({ ticket }) => ({ used: ticket }))
        .edge(START, 'draw')
        .edge('draw', 'use')
        .compile()
      const run = await host.start(app, { ticket: 0, used: 0 })
      expect(await run.result()).toEqual({ ticket: 1, used: 1 })
      expect((await app.getState(host, run.id)).state).toEqual({ ticket: 1, used: 1 })
      expect(made).toBe(1)
    },
  },
  {
    theirs: 'tests/errors.test.ts: StateGraph concurrent state value update fails',
    idea: 'two nodes of one step that write to a channel without a reducer are an error',
    verdict: 'differs',
    reason:
      'Updates of one step go in by the order in which the nodes were declared, whichever ended first. So the last value is the same in every run, and it need not be an error to have two.',
    async run({ host }) {
      const app = stateGraph('both-write', { market: channel<string>() })
        .node('foo', () => ({ market: 'slow' }))
        .node('bar', () => ({ market: 'fast' }))
        .edge(START, 'bar')
        .edge(START, 'foo')
        .compile()
      expect(await app.invoke(host, { market: 'DE' })).toEqual({ market: 'fast' })
    },
  },
  {
    theirs: 'tests/channels.test.ts: AnyValue: should handle any value correctly',
    idea: 'a channel that takes several values in one step, and keeps one',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('any-value', { value: channel<number>() })
        .node('plan', () => [send('set', 1), send('set', 2), send('set', 3)])
        .each('set', (value: number) => ({ value }))
        .edge(START, 'plan')
        .compile()
      expect(await app.invoke(host, { value: 0 })).toEqual({ value: 3 })
    },
  },
  {
    theirs: 'tests/channels.test.ts: BinaryOperatorAggregate: should handle binary operator aggregation correctly',
    idea: 'a reducer is given the current value and each update, in order',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('reducer', {
        total: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }),
        trail: channel({ default: () => '', reducer: (a: string, b: string) => `(${a}${b})` }),
      })
        .node('plan', () => [1, 2, 3].map((n) => send('add', n)))
        .each('add', (n: number) => ({ total: n, trail: String(n) }))
        .node('more', () => ({ total: 4, trail: '4' }))
        .edge(START, 'plan')
        .edge('add', 'more')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ total: 10, trail: '((((1)2)3)4)' })
    },
  },
  {
    theirs: 'tests/graph.test.ts: State: should allow reducers with different argument types',
    idea: 'an update may have another type than the value, and the input goes through the reducer too',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('argument-types', {
        values: channel<readonly string[], string | readonly string[]>({
          default: () => [],
          reducer: (left, right) => left.concat(right),
        }),
      })
        .node('add', () => ({ values: 'hi!' }))
        .edge(START, 'add')
        .compile()
      expect(await app.invoke(host, { values: ['hello'] })).toEqual({ values: ['hello', 'hi!'] })
    },
  },
  {
    theirs: 'tests/channels.test.ts: Topic with accumulate: true: should accumulate updates and get operations',
    idea: 'a list that every update is added to',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('topic', { items: channel.concat<string>() })
        .node('one', () => ({ items: ['a', 'b'] }))
        .node('two', () => ({ items: ['b', 'c'] }))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ items: ['a', 'b', 'b', 'c'] })
    },
  },
  {
    theirs:
      'tests/channels.test.ts: Topic with accumulate and unique: true: should handle unique and accumulate updates',
    idea: 'a list that has each value once',
    verdict: 'differs',
    reason:
      'There is no word for it: a list of things with an id is channel.mergeById, and for plain values a reducer says it in one line.',
    async run({ host }) {
      const app = stateGraph('unique', {
        words: channel({
          default: (): readonly string[] => [],
          reducer: (had: readonly string[], more: readonly string[]) => [...new Set([...had, ...more])],
        }),
      })
        .node('one', () => ({ words: ['a', 'b'] }))
        .node('two', () => ({ words: ['b', 'c'] }))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ words: ['a', 'b', 'c'] })
    },
  },
  {
    theirs: 'tests/channels.test.ts: Topic: should handle updates and get operations',
    idea: 'a channel that holds what was written in the step before, and nothing after that',
    verdict: 'differs',
    reason:
      'A channel keeps its value until an update changes it. What is meant for the next step only is not state: it is sent to the node that needs it, as an item.',
    async run({ host }) {
      const app = stateGraph('for-the-next-step', { log: channel.concat<string>() })
        .node('a', () => [send('read', 'for b')])
        .each('read', (note: string) => goto('after', { log: [note] }))
        .node('after', (state) => ({ log: [Object.keys(state).join()] }))
        .edge(START, 'a')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['for b', 'log'] })
    },
  },
  {
    theirs: 'tests/channels.test.ts: EphemeralValue with guard: false: should handle ephemeral value correctly',
    idea: 'a value that is forgotten after one step',
    verdict: 'not-ours',
    reason: 'The same as for a topic that forgets: a value for one step is an item that is sent, and needs no channel.',
  },
  {
    theirs:
      'tests/channels.test.ts: UntrackedValueChannel: checkpoint behavior: should return undefined when checkpointing',
    idea: 'a value that is in the state and never stored',
    verdict: 'not-ours',
    reason:
      'Everything in a state can be made again from the journal; a value that is lost at a restart would make the next step something else. Clients and connections belong to nodes, not to the state.',
  },
  {
    theirs:
      'tests/channels.test.ts: BinaryOperatorAggregate: with Overwrite: should bypass the reducer when Overwrite is used',
    idea: 'an update can put something in the place of a value that has a reducer',
    verdict: 'differs',
    reason:
      'What an update means is said by the reducer alone. One that can start anew has an update for it, and its type says so to everybody who writes to the channel.',
    async run({ host }) {
      type Change = { readonly add: string } | { readonly set: readonly string[] }
      const app = stateGraph('overwrite', {
        items: channel<readonly string[], Change>({
          default: () => [],
          reducer: (had, change) => ('set' in change ? change.set : [...had, change.add]),
        }),
      })
        .node('a', () => ({ items: { add: 'a' } }))
        .node('b', () => ({ items: { set: ['replaced'] } }))
        .node('c', () => ({ items: { add: 'c' } }))
        .edge(START, 'a')
        .edge('a', 'b')
        .edge('b', 'c')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ items: ['replaced', 'c'] })
    },
  },
  {
    theirs:
      'tests/channels.test.ts: BinaryOperatorAggregate: with Overwrite: should throw on multiple Overwrite values in the same step',
    idea: 'two nodes that both start a channel anew in one step are an error',
    verdict: 'not-ours',
    reason: 'There is no overwriting beside the reducer, and updates of one step have an order: the later one counts.',
  },
]
