/** What nodes and callers put into a state, and what they get out of it. */
import { expect } from 'vitest'
import { END, START, channel, goto, stateGraph } from 'nerve/state'
import { rejection } from '../../behaviour/stage.ts'
import { reply, type Case } from './case.ts'

export const updates: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should allow undefined values returned in a node update',
    idea: 'undefined in an update empties a channel without a reducer',
    verdict: 'differs',
    reason:
      'JSON has no undefined: an update with it and one without it are the same in a journal, so they mean the same, namely nothing. A channel is emptied with null.',
    async run({ host }) {
      const app = stateGraph('wiped', {
        test: channel<string | null>({ default: () => null }),
        field: channel({ default: () => '', reducer: (had: string, next: string) => had + next }),
      })
        .node('update', () => ({ test: 'test', field: 'kept' }))
        .node('say-nothing', () => ({ test: undefined, field: undefined }) as never)
        .node('wipe', ({ test }) => ({ test: test === 'test' ? null : 'lost' }))
        .edge(START, 'update')
        .edge('update', 'say-nothing')
        .edge('say-nothing', 'wipe')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ test: null, field: 'kept' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should handle node schemas with custom output',
    idea: 'fields of an update that are no channels are dropped',
    verdict: 'differs',
    reason:
      'A misspelt channel must not be silent: it does not compile, and when the type was cast away the step fails and names the channels.',
    async run({ host }) {
      const app = stateGraph('misspelt', { hello: channel<string>() })
        .node('b', () => ({ hello: 'again', now: 123 }) as never)
        .edge(START, 'b')
        .compile()
      const error = await rejection(app.invoke(host, { hello: 'there' }))
      expect(error.message).toMatch(/at step 'b'.*'now' is not a channel\. Channels: hello/u)
    },
  },
  {
    theirs: 'tests/errors.test.ts: StateGraph bad return type',
    idea: 'a node that returns something that is no update fails',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('bad-return', { text: channel<string>() })
        .node('foo', () => 123 as never)
        .edge(START, 'foo')
        .compile()
      const error = await rejection(app.invoke(host, { text: '' }))
      expect(error.message).toMatch(/Node 'foo' returned 123\. Return an update of the state/u)
      expect(error.cause).toMatchObject({ code: 'bad-output' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: Conditional edges is optional',
    idea: 'a node may change the state that it was given',
    verdict: 'differs',
    reason:
      'A state is read only. A change that is not returned would not be in the journal, and the run would be another one after a restart.',
    async run({ host }) {
      const app = stateGraph('in-place', { value: channel<number>() })
        .node('rude', (state) => {
          ;(state as { value: number }).value = 1
        })
        .edge(START, 'rude')
        .compile()
      expect((await rejection(app.invoke(host, { value: 0 }))).message).toMatch(/read only/u)
    },
  },
  {
    theirs: 'tests/graph.test.ts: State: should validate a new node key correctly ',
    idea: 'a node cannot have the name of a channel',
    verdict: 'differs',
    reason:
      'Nodes and channels live in different places here: a node is a path in the journal, a channel is a field of the state.',
    async run({ host }) {
      const app = stateGraph('same-name', { plan: channel<string>() })
        .node('plan', ({ plan }) => ({ plan: `${plan}!` }))
        .edge(START, 'plan')
        .compile()
      expect(await app.invoke(host, { plan: 'go' })).toEqual({ plan: 'go!' })
    },
  },
  {
    theirs:
      'tests/delta_channel.test.ts: DeltaChannel end-to-end via StateGraph: does not store the full value in non-snapshot checkpoint blobs',
    idea: 'what is stored grows with the updates, not with the value times the steps',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('delta', { log: channel.concat<string>() })
        .node('add', ({ log }) => ({ log: [`entry ${log.length} ${'x'.repeat(100)}`] }))
        .edge(START, 'add')
        .edges('add', ({ log }) => (log.length < 50 ? 'add' : END), ['add', END])
        .compile({ returns: ({ log }) => log.length })
      const run = await host.start(app, {})
      expect(await run.result()).toBe(50)
      const text = await host.export(run.id)
      expect(text.split('entry 0 ').length - 1).toBe(1)
      expect((await app.getState(host, run.id)).state.log).toHaveLength(50)
    },
  },
  {
    theirs: 'graph/messages_reducer.test.ts: should update existing message',
    idea: 'an item with a known id takes the place of the old one; a new one comes last',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('by-id', { messages: channel.mergeById<{ id: string; text: string }>('id') })
        .node('say', () => ({
          messages: [
            { id: '2', text: 'edited' },
            { id: '3', text: 'c' },
          ],
        }))
        .edge(START, 'say')
        .compile()
      const input = [
        { id: '1', text: 'a' },
        { id: '2', text: 'b' },
      ]
      expect((await app.invoke(host, { messages: input })).messages.map(({ text }) => text)).toEqual([
        'a',
        'edited',
        'c',
      ])
    },
  },
  {
    theirs: 'graph/messages_reducer.test.ts: should assign missing IDs',
    idea: 'an item without an id is given one',
    verdict: 'not-ours',
    reason:
      'A reducer must be pure, and a new id is not. Whoever makes a message gives it its id: in a node, where it is recorded.',
  },
  {
    theirs: 'graph/messages_reducer.test.ts: should remove message',
    idea: 'an update can remove items',
    verdict: 'not-ours',
    reason:
      'channel.mergeById only adds and replaces. A list that also shrinks has a reducer of its own, with an update that says what goes.',
    async run({ host }) {
      type Change = { readonly add: string } | { readonly drop: string }
      const app = stateGraph('removing', {
        names: channel<readonly string[], Change>({
          default: () => ['a', 'b'],
          reducer: (had, change) =>
            'drop' in change ? had.filter((one) => one !== change.drop) : [...had, change.add],
        }),
      })
        .node('tidy', () => ({ names: { drop: 'a' } }))
        .edge(START, 'tidy')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ names: ['b'] })
    },
  },
  {
    theirs:
      'tests/zod_state.test.ts: StateGraph with Zod schemas: should validate Zod node updates against state schema constraints',
    idea: 'the schema of the state checks every update of a node',
    verdict: 'not-ours',
    reason:
      'A schema guards the door of a graph: its input. Inside, updates are checked by the compiler, and at run time for the channel and its kind (a list, an object), which is what a replay depends on.',
    async run({ host }) {
      const app = stateGraph('kinds', { list: channel.concat<string>() })
        .node('bad', () => ({ list: 'one' }) as never)
        .edge(START, 'bad')
        .compile()
      expect((await rejection(app.invoke(host, {}))).message).toMatch(/'list' takes a list/u)
    },
  },
  {
    theirs:
      'tests/zod_state.test.ts: StateGraph with Zod schemas: should validate Zod Command updates against state schema constraints',
    idea: 'an update that comes with a command, or with an answer, is checked like any other',
    verdict: 'same',
    async run({ host }) {
      const command = stateGraph('bad-command', { list: channel.concat<string>() })
        .node('a', () => goto(END, { list: 'one' }) as never)
        .edge(START, 'a')
        .compile()
      expect((await rejection(command.invoke(host, {}))).message).toMatch(/'list' takes a list/u)
      const answer = stateGraph('bad-answer', { list: channel.concat<string>() })
        .start()
        .wait('which?', { into: (list: string) => ({ list }) as never })
        .catch((error) => ({ list: [error.message] }))
        .end()
        .compile()
      const run = await host.start(answer, {})
      await reply(host, run, 'which?', 'one')
      expect((await run.result()).list[0]).toMatch(/'list' takes a list/u)
    },
  },
  {
    theirs: 'graph/state.test.ts: StateGraph: input validation with mixed schemas: validates input zod object',
    idea: 'a schema checks the input before anything runs',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('checked-input', { count: channel<number>() })
        .node('add', ({ count }) => ({ count: count + 1 }))
        .edge(START, 'add')
        .compile({
          input: {
            '~standard': {
              version: 1,
              vendor: 'test',
              validate: (value) =>
                (value as { count: number }).count > 0 ? { value } : { issues: [{ message: 'count is too small' }] },
            },
          },
        })
      expect(await app.invoke(host, { count: 1 })).toEqual({ count: 2 })
      expect(await rejection(host.start(app, { count: 0 }))).toMatchObject({ code: 'bad-input' })
      expect(await host.runs()).toHaveLength(1)
    },
  },
  {
    theirs: 'graph/state.test.ts: StateGraph: graph functionality: outputs only fields from output schema',
    idea: 'a graph may give a part of its state, or something made of it',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('returns', {
        secret: channel({ default: () => '' }),
        answer: channel({ default: () => '' }),
      })
        .node('think', () => ({ secret: 'how', answer: 'what' }))
        .edge(START, 'think')
        .compile({ returns: ({ answer }) => ({ answer }) })
      expect(await app.invoke(host, {})).toEqual({ answer: 'what' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should allow private state passing between nodes',
    idea: 'nodes can share a channel that others do not see',
    verdict: 'differs',
    reason:
      'Every node of a graph sees the whole state. What only some nodes should see goes into a graph of their own, or is sent as an item; what callers should not see is left out by returns.',
    async run({ host }) {
      const app = stateGraph('private', { hello: channel<string>(), secret: channel({ default: () => '' }) })
        .node('a', () => ({ secret: 'secret' }))
        .node('b', ({ secret }) => ({ hello: secret === 'secret' ? 'again' : 'lost' }))
        .edge(START, 'a')
        .edge('a', 'b')
        .compile({ returns: ({ hello }) => ({ hello }) })
      expect(await app.invoke(host, { hello: 'there' })).toEqual({ hello: 'again' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: multiple writes to the same channel from same node',
    idea: 'one node may write to one channel several times in one step',
    verdict: 'differs',
    reason:
      'A node returns one update: its result is one thing in the journal. Channels that take many things take a list of them.',
    async run({ host }) {
      const app = stateGraph('several-writes', { foo: channel.concat<string>() })
        .node('one', () => ({ foo: ['one.0', 'one.1'] }))
        .node('two', () => ({ foo: ['two'] }))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      expect(await app.invoke(host, { foo: ['input'] })).toEqual({ foo: ['input', 'one.0', 'one.1', 'two'] })
    },
  },
]
