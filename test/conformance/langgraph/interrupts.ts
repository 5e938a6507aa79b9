/** Interrupts: a run that waits for a person, and goes on with what the person said. */
import { expect } from 'vitest'
import { workflow } from 'nerve'
import { END, START, channel, goto, send, stateGraph } from 'nerve/state'
import { gate, openStage, quiet, rejection, until } from '../../behaviour/stage.ts'
import { asked, gather, reply, type Case } from './case.ts'

const log = { log: channel.concat<string>() }
const says = (text: string) => () => ({ log: [text] })

export const interrupts: readonly Case[] = [
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should handle dynamic interrupt',
    idea: 'a run stops to ask, depending on its state, and the answer goes into the state',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('dynamic', { market: channel<string>(), ...log })
        .wait('ask', 'Just because...', { into: (answer: string) => ({ log: [answer] }) })
        .node('fine', says('all good'))
        .edges(START, ({ market }) => (market === 'DE' ? 'ask' : 'fine'), ['ask', 'fine'])
        .compile()
      expect((await app.invoke(host, { market: 'US' })).log).toEqual(['all good'])
      const run = await host.start(app, { market: 'DE', log: ['value'] })
      expect(await run.rest()).toBe('waiting')
      expect(await app.getState(host, run.id)).toMatchObject({ state: { log: ['value'] }, next: ['ask'] })
      await reply(host, run, 'Just because...', 'my answer')
      expect((await run.result()).log).toEqual(['value', 'my answer'])
      expect(await app.getState(host, run.id)).toMatchObject({ next: [] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should fail fast when interrupt is called without a checkpointer',
    idea: 'asking without a place to keep the run is an error',
    verdict: 'differs',
    reason:
      'There is no run without a journal, so there is nothing to forget: a question in a graph that was compiled with no options waits, and survives a restart.',
    async run({ host }) {
      const app = stateGraph('no-saver', log).wait('one', 'well?').edge(START, 'one').compile()
      const run = await host.start(app, {})
      await reply(host, run, 'well?', 'yes')
      expect(await run.result()).toEqual({ log: [] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: can throw a node interrupt multiple times in a single node',
    idea: 'one node asks twice; after each answer its function begins anew and comes to the next question',
    verdict: 'differs',
    reason:
      'A function that asks is a workflow, held as a node. It goes on where it waits: what it did before a question is a step with a result, and is not done again after the answer.',
    async run({ host }) {
      let prepared = 0
      const both = workflow('ask-both', async (ctx) => {
        await ctx.step('prepare', () => (prepared += 1))
        const first = await ctx.ask('1?', { label: 'first' })
        return `${first} ${await ctx.ask('2?', { label: 'second' })}`
      })
      const app = stateGraph('asks-twice', { key: channel<string>() })
        .node('one', both, { update: (answers, { key }) => ({ key: key + answers }) })
        .edge(START, 'one')
        .compile()
      const run = await host.start(app, { key: 'DE ' })
      await reply(host, run, '1?', 'answer 1')
      await reply(host, run, '2?', 'answer 2')
      expect(await run.result()).toEqual({ key: 'DE answer 1 answer 2' })
      expect(prepared).toBe(1)
    },
  },
  {
    theirs: 'tests/pregel.test.ts: resume multiple interrupts',
    idea: 'many questions are open at once, and each is answered by its id, in any order',
    verdict: 'same',
    async run({ host }) {
      const child = stateGraph('one-question', { prompt: channel<string>(), answer: channel({ default: () => '' }) })
        .wait('ask', ({ prompt }) => prompt, { into: (answer: string) => ({ answer }) })
        .edge(START, 'ask')
        .compile({ returns: ({ answer }) => answer })
      const app = stateGraph('five-questions', {
        prompts: channel<readonly string[]>(),
        answers: channel.concat<string>(),
      })
        .each('child', child, { update: (answer) => ({ answers: [answer] }) })
        .node('cleanup', ({ answers, prompts }) => {
          expect(answers).toHaveLength(prompts.length)
        })
        .edges(START, ({ prompts }) => prompts.map((prompt) => send('child', { prompt })), ['child'])
        .edge('child', 'cleanup')
        .compile()
      const prompts = ['a', 'b', 'c', 'd', 'e']
      const run = await host.start(app, { prompts })
      expect((await asked(host, run.id, 5)).toSorted()).toEqual(prompts)
      for (const prompt of ['d', 'a', 'e', 'b', 'c']) await reply(host, run, prompt, `response: ${prompt}`)
      expect((await run.result()).answers).toEqual(prompts.map((prompt) => `response: ${prompt}`))
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should not cancel node on other node interrupted',
    idea: 'a node beside one that waits goes on, and does not run again after the answer',
    verdict: 'same',
    async run({ host }) {
      const held = gate()
      let calls = 0
      const app = stateGraph('beside', log)
        .node('agent', async () => {
          calls += 1
          await held.promise
          return { log: ['again'] }
        })
        .wait('bad', 'I am bad', { into: (answer: string) => ({ log: [answer] }) })
        .edges(START, () => ['agent', 'bad'], ['agent', 'bad'])
        .compile()
      const run = await host.start(app, { log: ['world'] })
      await asked(host, run.id)
      held.resolve()
      expect(await run.rest()).toBe('waiting')
      await reply(host, run, 'I am bad', 'okay')
      expect(await run.result()).toEqual({ log: ['world', 'again', 'okay'] })
      expect(calls).toBe(1)
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: should handle partial pending checkpoint',
    idea: 'while one node of a step waits, the state already shows the update of another one that has ended',
    verdict: 'differs',
    reason:
      'A state is what is between two steps. A half one would show updates in an order in which they may not go in. What has ended is in the journal, and is not run again.',
    async run({ host }) {
      const app = stateGraph('half-a-step', log)
        .node('one', says('one'))
        .wait('two', 'Just because...')
        .edge(START, 'one')
        .edge(START, 'two')
        .compile()
      const run = await host.start(app, { log: ['value'] })
      await run.rest()
      expect(await app.getState(host, run.id)).toMatchObject({
        step: 0,
        state: { log: ['value'] },
        next: ['one', 'two'],
      })
      expect((await host.journal(run.id)).some(({ event }) => event.type === 'step-completed')).toBe(true)
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should interrupt and resume with Command inside a subgraph',
    idea: 'a graph inside a graph asks, and goes on with the answer',
    verdict: 'same',
    async run({ host }) {
      const inner = stateGraph('asks-inside', log)
        .wait('one', '<INTERRUPTED>', { into: (answer: string) => ({ log: [answer] }) })
        .edge(START, 'one')
        .compile()
      const app = stateGraph('around-it', log)
        .node('one', () => undefined)
        .node('sub', inner, { input: () => ({}), update: (output) => ({ log: output.log }) })
        .node('two', ({ log: lines }) => ({ log: [`${lines.length} line`] }))
        .edge(START, 'one')
        .edge('one', 'sub')
        .edge('sub', 'two')
        .compile()
      const run = await host.start(app, {})
      await reply(host, run, '<INTERRUPTED>', '<RESUMED>')
      expect(await run.result()).toEqual({ log: ['<RESUMED>', '1 line'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: doubly nested graph interrupts',
    idea: 'a run stops two graphs deep, and goes on from there',
    verdict: 'same',
    async run({ host }) {
      const text = { text: channel<string>() }
      const add = (more: string) => (state: { readonly text: string }) => ({ text: state.text + more })
      const grandchild = stateGraph('deep-grandchild', text)
        .node('g1', add(' here'))
        .wait('stop', 'go on?')
        .node('g2', add(' and there'))
        .edge(START, 'g1')
        .edge('g1', 'stop')
        .edge('stop', 'g2')
        .compile()
      const child = stateGraph('deep-child', text)
        .node('c', grandchild, { input: (state) => state, update: (state) => state })
        .edge(START, 'c')
        .compile()
      const app = stateGraph('deep', text)
        .node('p1', (state) => ({ text: `hi ${state.text}` }))
        .node('child', child, { input: (state) => state, update: (state) => state })
        .node('p2', add(' and back again'))
        .edge(START, 'p1')
        .edge('p1', 'child')
        .edge('child', 'p2')
        .compile()
      const run = await host.start(app, { text: 'my value' })
      await asked(host, run.id)
      expect(await app.getState(host, run.id)).toMatchObject({ state: { text: 'hi my value' }, next: ['child'] })
      await reply(host, run, 'go on?', 'yes')
      expect(await run.result()).toEqual({ text: 'hi my value here and there and back again' })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should invoke two processes with input/output and interrupt',
    idea: 'a graph is compiled with nodes before or after which it stops',
    verdict: 'not-ours',
    reason:
      'Stopping for a person is a part of the graph, and has a question that says why: wait. To stop a run at any place and look at it, there is pause, which needs nothing in the graph.',
    async run({ host }) {
      const held = gate()
      const app = stateGraph('paused', log)
        .node('one', async () => {
          await held.promise
          return { log: ['one'] }
        })
        .node('two', says('two'))
        .edge(START, 'one')
        .edge('one', 'two')
        .compile()
      const run = await host.start(app, {})
      await run.pause()
      held.resolve()
      expect(await run.rest()).toBe('paused')
      expect(await app.getState(host, run.id)).toMatchObject({ state: { log: ['one'] }, next: ['two'] })
      await run.resume()
      expect(await run.result()).toEqual({ log: ['one', 'two'] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: StateGraph: Should log a warning if a NodeInterrupt is thrown in a conditional edge',
    idea: 'asking in a choice is a mistake, and is warned of',
    verdict: 'not-ours',
    reason: 'A router is given the state and nothing to ask with, so the mistake cannot be made.',
  },
  {
    theirs:
      'tests/func.test.ts: task and entrypoint decorators: persistence: can handle falsy return values from tasks',
    idea: 'false, 0, the empty text and null are answers too',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('falsy-answers', { got: channel<unknown>({ default: () => 'nothing' }) })
        .wait('ask', 'well?', { into: (got: unknown) => ({ got }) })
        .edge(START, 'ask')
        .compile()
      for (const value of [false, 0, '', null]) {
        const run = await host.start(app, {})
        await reply(host, run, 'well?', value)
        expect(await run.result()).toEqual({ got: value })
      }
    },
  },
  {
    theirs:
      'tests/func.test.ts: task and entrypoint decorators: interrupt handling: handles multiple interrupts in an imperative style',
    idea: 'a loop asks again in every iteration',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('asks-in-a-loop', { values: channel.concat<number>() })
        .wait('ask', ({ values }) => `number ${values.length}?`, {
          into: (answer: number) => goto('ask-more', { values: [answer] }),
        })
        .node('ask-more', ({ values }) => goto(values.length < 3 ? 'ask' : END))
        .edge(START, 'ask')
        .compile()
      const run = await host.start(app, {})
      for (const [index, value] of [7, 8, 9].entries()) await reply(host, run, `number ${index}?`, value)
      expect(await run.result()).toEqual({ values: [7, 8, 9] })
    },
  },
  {
    theirs: 'tests/pregel.test.ts: should throw when resuming without a checkpointer',
    idea: 'resuming what does not wait is an error',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('answered-once', log).wait('ask', 'well?').edge(START, 'ask').compile()
      const run = await host.start(app, {})
      await run.rest()
      const [question] = await host.inbox()
      await run.answer(question?.id ?? '', 'first')
      await run.result()
      expect(await rejection(run.answer(question?.id ?? '', 'second'))).toMatchObject({ code: 'already-answered' })
    },
  },
  {
    theirs: 'tests/python_port/interrupt.test.ts: should not cancel node task when another node is interrupted',
    idea: 'calling again without an answer changes nothing: the run still waits',
    verdict: 'same',
    async run({ host }) {
      let calls = 0
      const app = stateGraph('still-waits', log)
        .node('agent', () => ({ log: [`call ${(calls += 1)}`] }))
        .wait('bad', 'I am bad', { into: (answer: string) => ({ log: [answer] }) })
        .edge(START, 'agent')
        .edge('agent', 'bad')
        .compile()
      const run = await host.start(app, {})
      await run.rest()
      await host.recover()
      expect(await run.rest()).toBe('waiting')
      expect(await asked(host, run.id)).toEqual(['I am bad'])
      await reply(host, run, 'I am bad', 'okay')
      expect(await run.result()).toEqual({ log: ['call 1', 'okay'] })
    },
  },
  {
    theirs:
      'tests/pregel.stream.test.ts: streamEvents version v3: interrupts: sets run.interrupted and run.interrupts when interrupt() is called',
    idea: 'a stream ends when the run asks, and a new one begins with the answer',
    verdict: 'differs',
    reason:
      'A stream is of a run, not of a call: it goes on when somebody has answered, and ends with the run. Who does not want to wait leaves it, and the run does not care.',
    async run({ host }) {
      const app = stateGraph('streamed-question', log)
        .node('before', says('before'))
        .wait('ask', 'well?', { into: (answer: string) => ({ log: [answer] }) })
        .edge(START, 'before')
        .edge('before', 'ask')
        .compile()
      const seen = gather(app.stream(host, {}))
      await until(async () => (await host.inbox()).length === 1)
      const [question] = await host.inbox()
      await host.answer(question?.id ?? '', 'yes')
      expect((await seen).map(({ nodes, next }) => [nodes, next])).toEqual([
        [[], ['before']],
        [['before'], ['ask']],
        [['ask'], []],
      ])
    },
  },
  {
    theirs: 'tests/node_error_handler.test.ts: Node-level error handlers: does not swallow a concurrent interrupt()',
    idea: 'what handles failures does not take a question for one',
    verdict: 'same',
    async run({ host }) {
      const app = stateGraph('not-a-failure', log)
        .start()
        .wait('need human input', { into: (answer: string) => ({ log: [answer] }) })
        .catch(says('handled'))
        .end()
        .compile()
      const run = await host.start(app, {})
      await reply(host, run, 'need human input', 'from a human')
      expect(await run.result()).toEqual({ log: ['from a human'] })
    },
  },
  {
    theirs: 'tests/python_port/interrupt.test.ts: should handle dynamic interrupts with state graphs',
    idea: 'a question is not an error: a node that asks is not tried again because of it',
    verdict: 'same',
    async run({ host }) {
      let begun = 0
      const asking = workflow('asks-with-retries', async (ctx) => {
        await ctx.step('begin', () => (begun += 1))
        return ctx.ask('well?')
      })
      const app = stateGraph('no-retry', log)
        .node('ask', asking, { update: (answer) => ({ log: [answer] }), policy: { attempts: 5 } })
        .edge(START, 'ask')
        .compile()
      const run = await host.start(app, {})
      await reply(host, run, 'well?', 'yes')
      expect(await run.result()).toEqual({ log: ['yes'] })
      expect(begun).toBe(1)
    },
  },
  {
    theirs: 'tests/func.test.ts: task and entrypoint decorators: interrupt handling: can interrupt the entrypoint',
    idea: 'a run that waits is taken up by another process, which is given the answer',
    verdict: 'same',
    async run({ host, store, clock }) {
      const app = stateGraph('elsewhere', log)
        .node('before', says('before'))
        .wait('ask', 'well?', { into: (answer: string) => ({ log: [answer] }) })
        .edge(START, 'before')
        .edge('before', 'ask')
        .compile()
      const { id } = await host.start(app, {})
      await (await host.handle(id)).rest()
      await quiet()
      await host.close()
      const other = await openStage({ store, clock, definitions: [app] })
      const run = await other.host.handle(id)
      await reply(other.host, run, 'well?', 'from there')
      expect(await run.result()).toEqual({ log: ['before', 'from there'] })
      expect(await other.host.replay(id)).toMatchObject({ same: true })
    },
  },
]
