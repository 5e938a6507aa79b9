/** Watching a run while it works. */
import { expect } from 'vitest'
import { END, START, channel, stateGraph } from 'nerve/state'
import { gate, rejection, until } from '../../behaviour/stage.ts'
import { gather, type Case } from './case.ts'

const log = { log: channel.concat<string>() }
const says = (line: string) => () => ({ log: [line] })

export const streams: readonly Case[] = [
  {
    theirs:
      'tests/pregel.stream.test.ts: streamEvents version v3: values mode: emits values events matching state snapshots',
    idea: 'a stream gives the state with the input in it, and after each step',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('values', {
        value: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }),
      })
        .node('add', () => ({ value: 1 }))
        .edge(START, 'add')
        .edges('add', ({ value }) => (value < 4 ? 'add' : END), ['add', END])
        .compile()
      const seen = await gather(app.stream(host, { value: 1 }))
      expect(seen.map(({ state }) => state.value)).toEqual([1, 2, 3, 4])
    },
  },
  {
    theirs:
      'tests/pregel.stream.test.ts: streamEvents version v3: updates mode: emits updates events for each node execution',
    idea: 'a stream gives what each node returned, under its name',
    verdict: 'differs',
    reason:
      'What nodes returned are the results of steps, and those are in the events of the run, for every form of definition: there is no second kind of stream for them.',
    async run({ host }) {
      const app = stateGraph('updates', log)
        .node('one', says('1'))
        .node('two', says('2'))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      const run = await host.start(app, {})
      const updates = (await gather(run.events())).flatMap((item) =>
        item.type === 'step-completed' && 'output' in item ? [[item.path, item.output]] : [],
      )
      expect(updates).toEqual([
        ['one', { log: ['1'] }],
        ['two', { log: ['2'] }],
      ])
    },
  },
  {
    theirs:
      'tests/pregel.stream.test.ts: streamEvents version v3: custom mode: emits custom events written via config.writer',
    idea: 'a node sends parts of its own to those who watch',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('custom', log)
        .node('writes', (_state, { emit }) => {
          emit('custom', { key: 'value' })
          return { log: ['done'] }
        })
        .edge(START, 'writes')
        .compile()
      const heard: unknown[] = []
      const stop = host.subscribe({}, (one) => void ('data' in one && heard.push(one.data)))
      await app.invoke(host, {})
      await until(() => heard.length > 0)
      stop()
      expect(heard).toContainEqual({ key: 'value' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: streams updates as soon as they are available',
    idea: 'what has happened is streamed at once, not when the run has ended',
    verdict: 'same',
    async run({ host }) {
      const held = gate()
      const app = stateGraph('at-once', log)
        .node('fast', says('fast'))
        .node('slow', async () => {
          await held.promise
          return { log: ['slow'] }
        })
        .edge(START, 'fast')
        .edge('fast', 'slow')
        .compile()
      const stream = app.stream(host, {})
      const first = await stream.next()
      const second = await stream.next()
      expect([first.value?.state.log, second.value?.state.log]).toEqual([[], ['fast']])
      held.resolve()
      expect((await gather(stream)).map(({ state }) => state.log.length)).toEqual([2])
    },
  },
  {
    theirs:
      'tests/pregel.stream.test.ts: streamEvents version v3: subgraphs: emits events with nested namespaces for subgraph nodes',
    idea: 'what happens inside a graph inside is streamed too, with its place',
    verdict: 'differs',
    reason:
      'The states are those of the graph that was started. What happens inside is in the events of the run, whose paths say where.',
    async run({ host }) {
      const inner = stateGraph('inside', log)
        .node('x', says('x'))
        .node('y', says('y'))
        .edge(START, 'x')
        .edge('x', 'y')
        .compile()
      const app = stateGraph('around', log)
        .node('sub', inner, { input: () => ({}), update: (state) => state })
        .edge(START, 'sub')
        .compile()
      const seen = await gather(app.stream(host, {}))
      expect(seen.map(({ nodes }) => nodes)).toEqual([[], ['sub']])
      const run = await host.handle(seen[0]?.run ?? '')
      const places = (await gather(run.events())).flatMap((item) => (item.type === 'step-completed' ? [item.path] : []))
      expect(places).toEqual(['sub/x', 'sub/y'])
    },
  },
  {
    theirs:
      'tests/pregel.stream.test.ts: streamEvents version v3: all modes together: events have monotonically increasing seq numbers',
    idea: 'events have numbers, from which a reader goes on',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('numbered', log)
        .node('a', says('a'))
        .node('b', says('b'))
        .edge(START, 'a')
        .edge('a', 'b')
        .compile()
      const run = await host.start(app, {})
      await run.result()
      const all = (await gather(run.events())).flatMap((item) => ('seq' in item ? [item.seq] : []))
      expect(all).toEqual(all.map((_, index) => index + 1))
    },
  },
  {
    theirs: 'tests/python_port/interrupt.test.ts: should handle cancellation of stream',
    idea: 'leaving a stream stops the run',
    verdict: 'differs',
    reason: 'Who watches leaves freely; the run does not care. To stop it there is cancel.',
    async run({ host }) {
      const held = gate()
      const app = stateGraph('left-alone', log)
        .node('one', says('one'))
        .node('two', async () => {
          await held.promise
          return { log: ['two'] }
        })
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      let id = ''
      for await (const { run, nodes } of app.stream(host, {})) {
        id = run
        if (nodes.includes('one')) break
      }
      held.resolve()
      expect(await (await host.handle(id)).result()).toEqual({ log: ['one', 'two'] })
    },
  },
  {
    theirs: 'tests/func.test.ts: task and entrypoint decorators: propagates errors thrown from tasks',
    idea: 'a failure comes out of the stream, after the states before it',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('streamed-failure', log)
        .node('fine', says('fine'))
        .node('bad', () => {
          throw new Error('test error')
        })
        .edge(START, 'fine')
        .edge('fine', 'bad')
        .compile()
      const seen: string[][] = []
      const watch = async () => {
        for await (const { nodes } of app.stream(host, {})) seen.push([...nodes])
      }
      expect((await rejection(watch())).message).toMatch(/test error/u)
      expect(seen).toEqual([[], ['fine']])
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: Supports automatic streaming with streamMode messages',
    idea: 'the tokens of a model that a node calls are streamed by themselves',
    verdict: 'not-ours',
    reason:
      'Nothing is done behind the back of a node. A node for a model sends its text as live parts, and every form of definition streams them in the same way.',
    async run({ host }) {
      const app = stateGraph('tokens', log)
        .node('model', (_state, { emit }) => {
          for (const word of ['foo', 'bar']) emit('text-delta', word)
          return { log: ['foobar'] }
        })
        .edge(START, 'model')
        .compile()
      const words: unknown[] = []
      const stop = host.subscribe({}, (one) => void ('data' in one && words.push(one.data)))
      await app.invoke(host, {})
      await until(() => words.length > 1)
      stop()
      expect(words.join('')).toBe('foobar')
    },
  },
  {
    theirs:
      'tests/pregel.stream.test.ts: streamEvents version v3: extensions (user-supplied transformers): merges transformer projections into run.extensions',
    idea: 'a stream is given functions that change what goes through it',
    verdict: 'not-ours',
    reason:
      'A stream is an async iterable, and the language can change those. What everybody should see in another form is a projection of the journal.',
  },
]
