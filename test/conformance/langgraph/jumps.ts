/** Commands: a node that says where to go. */
import { expect } from 'vitest'
import { END, START, channel, goto, stateGraph } from 'nerve/state'
import { rejection } from '../../behaviour/stage.ts'
import { asked, reply, stepsOf, type Case } from './case.ts'

const foo = { foo: channel<string>() }
const log = { log: channel.concat<string>() }
const says = (text: string) => () => ({ log: [text] })

export const jumps: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: should support a simple edgeless graph',
    idea: 'a node changes the state and says where to go, without an edge; the ways that it listed are drawn',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('edgeless', foo)
        .node('a', ({ foo: text }) => goto(text === 'foo' ? 'b' : 'c', { foo: 'a' }), { to: ['b', 'c'] })
        .node('b', ({ foo: text }) => ({ foo: `${text}|b` }))
        .node('c', ({ foo: text }) => ({ foo: `${text}|c` }))
        .edge(START, 'a')
        .compile()
      expect(await app.invoke(host, { foo: 'foo' })).toEqual({ foo: 'a|b' })
      expect(await app.invoke(host, { foo: '' })).toEqual({ foo: 'a|c' })
      const goes = app.outline().edges?.filter(({ label }) => label === 'goto')
      expect(goes?.map(({ from, to }) => `${from}>${to}`)).toEqual(['a>b', 'a>c'])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: fork and update task results',
    idea: 'where a node says to go is added to where its edges lead',
    verdict: 'differs',
    reason:
      'goto leads instead of the edges, so that one place says what comes next. In their test the node runs twice, once by the edge and once by the command.',
    async run({ host }) {
      const app = stateGraph('instead', log)
        .node('one', () => goto('two', { log: ['one'] }))
        .node('two', says('two'))
        .node('three', says('three'))
        .edge(START, 'one')
        .edge('one', 'three')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['one', 'two'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: can goto an interrupt',
    idea: 'a node can go to the end; a run that ended is sent to another node from outside',
    verdict: 'differs',
    reason:
      'A run that has ended stays as it is. Going on elsewhere is a new run that shares what was before: updateState, as if some node had just run.',
    async run({ host }) {
      const app = stateGraph('from-outside', log)
        .node('router', () => goto(END, { log: ['router'] }))
        .node('before-asking', () => undefined)
        .wait('ask', 'interrupt', { into: (answer: string) => ({ log: [`interrupt: ${answer}`] }) })
        .edge(START, 'router')
        .edge('before-asking', 'ask')
        .compile()
      const run = await host.start(app, { log: ['input'] })
      expect(await run.result()).toEqual({ log: ['input', 'router'] })
      const other = await app.updateState(host, run.id, { log: ['update'] }, { asNode: 'before-asking' })
      await reply(host, other, 'interrupt', 'resume')
      expect(await other.result()).toEqual({ log: ['input', 'router', 'update', 'interrupt: resume'] })
      expect(await (await host.handle(run.id)).result()).toEqual({ log: ['input', 'router'] })
    },
  },
  {
    theirs: 'pregel/io.mapCommand.test.ts: should handle Command with goto (array of strings and Send objects)',
    idea: 'a node goes to several nodes at once',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('to-many', log)
        .node('hub', () => goto(['left', 'right', 'left'], { log: ['hub'] }))
        .node('left', says('left'))
        .node('right', says('right'))
        .edge(START, 'hub')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['hub', 'left', 'right'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: test_parent_command',
    idea: 'a node of an inner graph changes the state of the graph around it',
    verdict: 'differs',
    reason:
      'An inner graph does not know where it is used. It gives an output, and the node that holds it says in update what that means for the state around it.',
    async run({ host }) {
      const inner = stateGraph('inner-update', { user: channel({ default: () => '' }) })
        .node('tool', () => ({ user: 'Meow' }))
        .edge(START, 'tool')
        .compile()
      const app = stateGraph('parent-update', { userName: channel({ default: () => '' }) })
        .node('alice', inner, { input: () => ({}), update: ({ user }) => ({ userName: user }) })
        .edge(START, 'alice')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ userName: 'Meow' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should handle Command.PARENT as described in the docs',
    idea: 'a node of an inner graph sends the graph around it to another node',
    verdict: 'differs',
    reason:
      'The way in the outer graph is said in the outer graph, where it is typed and drawn: update returns goto, depending on what the inner graph gave.',
    async run({ host }) {
      const inner = stateGraph('inner-goto', { to: channel<'b' | 'c'>() })
        .node('a', ({ to }) => ({ to }))
        .edge(START, 'a')
        .compile({ returns: ({ to }) => to })
      const app = stateGraph('parent-goto', { ...foo, to: channel<'b' | 'c'>() })
        .node('sub', inner, { input: ({ to }) => ({ to }), update: (to) => goto(to, { foo: 'a' }), to: ['b', 'c'] })
        .node('b', ({ foo: text }) => ({ foo: `${text}|b` }))
        .node('c', ({ foo: text }) => ({ foo: `${text}|c` }))
        .edge(START, 'sub')
        .compile({ returns: (state) => state.foo })
      expect(await app.invoke(host, { foo: '', to: 'b' })).toBe('a|b')
      expect(await app.invoke(host, { foo: '', to: 'c' })).toBe('a|c')
    },
  },
  {
    theirs: 'tests/pregel.test.ts: test_parent_command from grandchild graph',
    idea: 'a node two graphs deep sends the graph in between to another node',
    verdict: 'differs',
    reason: 'As one graph deep: each graph hands its output to the one around it, and that one decides.',
    async run({ host }) {
      const grandchild = stateGraph('grandchild', log)
        .node('tool', says('grandkid'))
        .edge(START, 'tool')
        .compile({ returns: ({ log: lines }) => ({ lines, next: 'robert' as const }) })
      const child = stateGraph('child', { ...log, name: channel({ default: () => '' }) })
        .node('bob', grandchild, {
          input: () => ({}),
          update: ({ lines, next }) => goto(next, { log: lines, name: 'jeffrey' }),
        })
        .node('robert', ({ name }) => ({ log: [`robert after ${name}`] }))
        .edge(START, 'bob')
        .compile()
      const app = stateGraph('grandparent', log)
        .node('alice', child, { input: () => ({}), update: ({ log: lines }) => ({ log: lines }) })
        .edge(START, 'alice')
        .compile()
      const run = await host.start(app, { log: ['hello'] })
      expect(await run.result()).toEqual({ log: ['hello', 'grandkid', 'robert after jeffrey'] })
      expect(await stepsOf(host, run.id)).toEqual(['alice/bob/tool', 'alice/robert'])
    },
  },
  {
    theirs: 'tests/python_port/graph_structure.test.ts: should handle multiple updates from root node',
    idea: 'a node returns several commands',
    verdict: 'differs',
    reason: 'One node, one result: goto takes one update and a list of targets, which says the same.',
    async run({ host }) {
      const app = stateGraph('one-result', log)
        .node('a', () => goto(['b', 'c'], { log: ['a1', 'a2'] }))
        .node('b', says('b'))
        .node('c', says('c'))
        .edge(START, 'a')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['a1', 'a2', 'b', 'c'] })
    },
  },
  {
    theirs: 'pregel/io.mapCommand.test.ts: should throw error for invalid goto value',
    idea: 'a node that goes where it cannot go is found out',
    verdict: 'same',
    async run({ host }) {
      const app = (name: string, to: string) =>
        stateGraph(name, log)
          .node('a', () => goto(to) as never, { to: ['b', END] })
          .node('b', says('b'))
          .node('c', says('c'))
          .edge(START, 'a')
          .compile()
      expect((await rejection(app('to-nowhere', 'nowhere').invoke(host, {}))).message).toMatch(
        /not a node\. Nodes: a, b, c/u,
      )
      expect((await rejection(app('not-listed', 'c').invoke(host, {}))).message).toMatch(/option 'to' does not list/u)
      expect(await app('listed-end', END).invoke(host, {})).toEqual({ log: [] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: test_command_with_static_breakpoints',
    idea: 'a run that stopped before a node goes on with another state',
    verdict: 'differs',
    reason:
      'A state is changed in a fork: the run with the change and the run without it are both there, and both can be replayed.',
    async run({ host }) {
      const app = stateGraph('stopped', foo)
        .wait('before', 'go on?')
        .node('node1', ({ foo: text }) => ({ foo: `${text}|node-1` }))
        .node('node2', ({ foo: text }) => ({ foo: `${text}|node-2` }))
        .edge(START, 'before')
        .edge('before', 'node1')
        .edge('node1', 'node2')
        .compile()
      const run = await host.start(app, { foo: 'abc' })
      expect(await asked(host, run.id)).toEqual(['go on?'])
      const changed = await app.updateState(host, run.id, { foo: 'def' }, { asNode: 'before' })
      expect(await changed.result()).toEqual({ foo: 'def|node-1|node-2' })
      await reply(host, run, 'go on?', 'yes')
      expect(await run.result()).toEqual({ foo: 'abc|node-1|node-2' })
    },
  },
  {
    theirs:
      'tests/zod_state.test.ts: StateGraph with Zod schemas: Command.update with Zod schema .default() fields: should not overwrite state with schema defaults when Command.update omits fields (zod v3)',
    idea: 'channels that a command does not name stay as they are, also those with a default',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('omitted', { ...foo, level: channel({ default: () => 'low' }) })
        .node('a', () => goto('b', { foo: 'changed' }))
        .node('b', () => undefined)
        .edge(START, 'a')
        .compile()
      expect(await app.invoke(host, { foo: '', level: 'high' })).toEqual({ foo: 'changed', level: 'high' })
    },
  },
  {
    theirs:
      'tests/constants.test.ts: _deserializeCommandSendObjectGraph: converts serialized Command to Command objects',
    idea: 'a command that was stored and read again is still one',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('plain-data', log)
        .node('a', () => JSON.parse(JSON.stringify(goto('b', { log: ['a'] }))) as never)
        .node('b', says('b'))
        .edge(START, 'a')
        .compile()
      expect(await app.invoke(host, {})).toEqual({ log: ['a', 'b'] })
    },
  },
]
