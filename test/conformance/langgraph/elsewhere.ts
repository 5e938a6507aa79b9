/** What their tests cover around the graph: the functional form, drawing, facts about a step, and things that are not here. */
import { expect } from 'vitest'
import { workflow } from 'nerve'
import { END, START, channel, stateGraph } from 'nerve/state'
import { timePasses } from '../../behaviour/stage.ts'
import { reply, type Case } from './case.ts'

const log = { log: channel.concat<string>() }
const says = (line: string) => () => ({ log: [line] })

export const elsewhere: readonly Case[] = [
  {
    theirs: 'tests/func.test.ts: task and entrypoint decorators: basic task and entrypoint',
    idea: 'an async function whose calls are kept, with a question in it',
    verdict: 'same',
    async run({ host }) {
      let calls = 0
      const mapper = workflow('mapper', async (ctx, numbers: readonly number[]) => {
        const mapped = await ctx.map(numbers, (n) =>
          ctx.step('double', () => {
            calls += 1
            return `${n}${n}`
          }),
        )
        const answer = await ctx.ask('question')
        return mapped.map((one) => one + answer)
      })
      const run = await host.start(mapper, [0, 1])
      await reply(host, run, 'question', 'answer')
      expect(await run.result()).toEqual(['00answer', '11answer'])
      expect(calls).toBe(2)
    },
  },
  {
    theirs: 'tests/func.test.ts: task and entrypoint decorators: persistence: stores previous returned value in state',
    idea: 'a function is given what it returned the last time on this thread',
    verdict: 'not-ours',
    reason:
      'There are no threads that outlive a run. What one run needs of another is its input, and then a replay of it needs nothing else.',
  },
  {
    theirs: 'tests/diagrams.test.ts: graph with multiple sinks',
    idea: 'a graph is drawn before it runs: beginnings, choices, ends, and graphs inside',
    verdict: 'same',
    async run() {
      const inner = stateGraph('inner', log).node('x', says('x')).edge(START, 'x').compile()
      const app = stateGraph('drawn', log)
        .node('inner1', says('1'))
        .node('inner2', inner, { input: () => ({}), update: (state) => state })
        .node('inner3', says('3'))
        .edge(START, 'inner1')
        .edges('inner1', () => 'yes', { yes: 'inner2', no: 'inner3' })
        .edge('inner2', END)
        .compile()
      const arrows = app.outline().edges?.map(({ from, to, label }) => `${from} ${label ?? ''}> ${to}`)
      expect(arrows).toEqual([
        'START > inner1',
        'inner1 yes> inner2',
        'inner1 no> inner3',
        'inner2 > END',
        'inner3 > END',
      ])
      expect(app.mermaid()).toMatch(/^flowchart TD[^]*subgraph [^]*x<br\/>function/u)
    },
  },
  {
    theirs: 'tests/execution_info.test.ts: should increment nodeAttempt on retry',
    idea: 'a node knows its place, its attempt, and a key that is the same for every attempt',
    verdict: 'same',
    async run({ host, clock }) {
      const seen: { path: string; attempt: number; key: string }[] = []
      const app = stateGraph('knows-its-place', log)
        .node(
          'work',
          (_state, { path, attempt, key }) => {
            seen.push({ path, attempt, key })
            if (attempt === 1) throw new Error('once more')
            return {}
          },
          { policy: { attempts: 2 } },
        )
        .edge(START, 'work')
        .compile()
      const run = await host.start(app, {})
      await timePasses(clock, run.result())
      expect(seen.map(({ path, attempt }) => [path, attempt])).toEqual([
        ['work', 1],
        ['work', 2],
      ])
      expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
    },
  },
  {
    theirs: 'tests/pregel.test-d.ts: state graph annotation',
    idea: 'wrong states, updates and targets do not compile',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('typed', { count: channel<number>(), ...log })
        // @ts-expect-error -- Not a number.
        .node('bad-value', () => ({ count: 'one' }))
        // @ts-expect-error -- Not a channel.
        .node('bad-channel', () => ({ cuont: 1 }))
        .node('good', ({ count }) => ({ count: count + 1 }))
        .edge(START, 'good')
        // @ts-expect-error -- Not a node.
        .edges('good', () => 'nowhere', ['good', END])
      void app
      const works = stateGraph('typed-well', { count: channel<number>() })
        .node('good', ({ count }) => ({ count: count + 1 }))
        .edge(START, 'good')
        .compile()
      const { count }: { count: number } = await works.invoke(host, { count: 1 })
      // @ts-expect-error -- The input needs what has no default.
      const missing = (): unknown => works.invoke(host, {})
      void missing
      expect(count).toBe(2)
    },
  },
  {
    theirs:
      'tests/pregel.test.ts: Managed Values (context) can be passed through state: Can write and read to the store inside nodes',
    idea: 'nodes are given a store that is shared by all threads',
    verdict: 'not-ours',
    reason:
      'A graph has its state and nothing else. Memory that agents share is a workspace (files and keys), which nodes hold and which is not a part of graphs.',
  },
  {
    theirs: 'tests/prebuilt.test.ts: createReactAgent with prompt/state modifier',
    idea: 'a ready graph of a model, tools and messages',
    verdict: 'not-ours',
    reason:
      'Models, messages and tools belong to nodes and agents, which any definition can hold; a state graph knows none of them. The ready loop (decide, act, observe) is agentLoop.',
  },
  {
    theirs: 'pregel/messages.test.ts: StreamMessagesHandler',
    idea: 'messages of models are collected, given ids, and streamed',
    verdict: 'not-ours',
    reason: 'As for ready agents: what a model says are live parts and results of its node, in every form alike.',
  },
  {
    theirs: 'tests/remote.test.ts: RemoteGraph',
    idea: 'a graph that runs on a server is used like one that runs here',
    verdict: 'not-ours',
    reason:
      'Where a run runs is the business of hosts: the same commands reach a run in this process and in another one.',
  },
  {
    theirs: 'tests/tracing.test.ts: stream events for a multi-node graph',
    idea: 'callbacks trace what runs',
    verdict: 'not-ours',
    reason: 'A trace is made from the journal afterwards, or while it grows; nothing has to be called back for it.',
  },
]
