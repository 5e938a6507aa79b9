/** Looking at runs of state graphs, and branching off them. */
import { describe, expect, it } from 'vitest'
import { createHost, defineNode, workflow, type Node } from 'nerve'
import { START, channel, goto, send, stateGraph, type StateStep } from 'nerve/state'
import { MemoryStore, SimulatedClock } from 'nerve/testing'
import { gate, openStage, quiet, rejection, until } from './stage.ts'

const steps = stateGraph('steps', { count: channel({ default: () => 0 }), log: channel.concat<string>() })
  .node('a', ({ count }) => ({ count: count + 1, log: ['a'] }))
  .node('b', ({ count }) => ({ count: count * 10, log: ['b'] }))
  .node('c', ({ count }) => ({ log: [`c saw ${count}`] }))
  .edge(START, 'a')
  .edge('a', 'b')
  .edges('b', ({ count }) => (count < 100 ? 'a' : 'c'), ['a', 'c'])
  .compile()

const STATES = [
  { step: 0, nodes: [], state: { count: 0, log: [] }, next: ['a'] },
  { step: 1, nodes: ['a'], state: { count: 1, log: ['a'] }, next: ['b'] },
  { step: 2, nodes: ['b'], state: { count: 10, log: ['a', 'b'] }, next: ['a'] },
  { step: 3, nodes: ['a'], state: { count: 11, log: ['a', 'b', 'a'] }, next: ['b'] },
  { step: 4, nodes: ['b'], state: { count: 110, log: ['a', 'b', 'a', 'b'] }, next: ['c'] },
  { step: 5, nodes: ['c'], state: { count: 110, log: ['a', 'b', 'a', 'b', 'c saw 110'] }, next: [] },
]

async function gathered<State>(stream: AsyncIterable<StateStep<State>>): Promise<StateStep<State>[]> {
  const seen: StateStep<State>[] = []
  for await (const one of stream) seen.push(one)
  return seen
}

describe('the states of a run', () => {
  it('are made again from its journal, by any host that knows the graph', async () => {
    const store = new MemoryStore()
    const { host } = await openStage({ store })
    const run = await host.start(steps, {})
    await run.result()
    const expected = STATES.map((one) => ({ run: run.id, ...one }))
    expect(await steps.history(host, run.id)).toEqual(expected)
    expect(await steps.getState(host, run.id.slice(0, 12))).toEqual(expected.at(-1))
    const other = await createHost({ store, clock: new SimulatedClock(), recover: false })
    expect(await steps.history(other, run.id)).toEqual(expected)
  })

  it('are known while a run works or waits', async () => {
    const { host } = await openStage()
    const going = gate()
    const waiting = stateGraph('waiting', { log: channel.concat<string>() })
      .start()
      .then('first', () => ({ log: ['first'] }))
      .then('slow', async () => {
        await going.promise
        return { log: ['slow'] }
      })
      .wait('Go on?', { into: (answer) => ({ log: [answer] }) })
      .end()
      .compile()
    const run = await host.start(waiting, {})
    await until(async () => (await host.journal(run.id)).some(({ event }) => event.type === 'step-completed'))
    expect(await waiting.getState(host, run.id)).toMatchObject({ step: 1, state: { log: ['first'] }, next: ['slow'] })
    going.resolve()
    expect(await run.rest()).toBe('waiting')
    expect(await waiting.getState(host, run.id)).toMatchObject({
      step: 2,
      state: { log: ['first', 'slow'] },
      next: ['wait'],
    })
    const [question] = await host.inbox()
    await run.answer(question?.id ?? '', 'yes')
    expect(await run.result()).toEqual({ log: ['first', 'slow', 'yes'] })
    expect(await waiting.history(host, run.id)).toHaveLength(4)
  })

  it('are known of a run that failed, and are refused for what is not a run of the graph', async () => {
    const { host } = await openStage()
    const failing = stateGraph('failing', { log: channel.concat<string>() })
      .start()
      .then('a', () => ({ log: ['a'] }))
      .then('b', () => {
        throw new Error('no')
      })
      .end()
      .compile()
    const run = await host.start(failing, {})
    await rejection(run.result())
    expect(await failing.getState(host, run.id)).toMatchObject({ step: 1, state: { log: ['a'] }, next: ['b'] })
    const other = await host.start(workflow('other', () => 1))
    await other.result()
    expect((await rejection(failing.getState(host, other.id))).message).toMatch(/is a run of 'other', not of/u)
    const changed = stateGraph('failing', { log: channel.concat<string>() })
      .start()
      .then('x', () => undefined)
      .end()
      .compile()
    expect(await rejection(changed.history(host, run.id))).toMatchObject({ code: 'diverged' })
  })

  it('are streamed as they come', async () => {
    const { host } = await openStage()
    const seen = await gathered(steps.stream(host, {}))
    const run = seen[0]?.run ?? ''
    expect(seen).toEqual(STATES.map((one) => ({ run, ...one })))
    expect(await host.replay(run)).toMatchObject({ same: true })
    expect(host.registry.names.get('steps')).toBe(steps)
  })

  it('are streamed up to a failure, which is thrown', async () => {
    const { host } = await openStage()
    const failing = stateGraph('failing', { log: channel.concat<string>() })
      .start()
      .then('a', () => ({ log: ['a'] }))
      .then('b', () => {
        throw new Error('no')
      })
      .end()
      .compile()
    const seen: string[] = []
    const all = async (): Promise<void> => {
      for await (const { nodes } of failing.stream(host, {})) seen.push(nodes.join())
    }
    expect((await rejection(all())).message).toMatch(/failed at step 'b': no/u)
    expect(seen).toEqual(['', 'a'])
  })

  it('are streamed also when the run has left the memory while it waited', async () => {
    const { host } = await openStage({ maxResident: 0 })
    const waiting = stateGraph('waiting', { log: channel.concat<string>() })
      .start()
      .then('a', () => ({ log: ['a'] }))
      .wait('Go on?', { into: (answer) => ({ log: [answer] }) })
      .then('b', () => ({ log: ['b'] }))
      .end()
      .compile()
    const seen: (readonly string[])[] = []
    const all = (async () => {
      for await (const { state } of waiting.stream(host, {})) seen.push(state.log)
    })()
    await until(async () => (await host.inbox()).length === 1)
    await quiet()
    const [question] = await host.inbox()
    await host.answer(question?.id ?? '', 'yes')
    await all
    expect(seen).toEqual([[], ['a'], ['a', 'yes'], ['a', 'yes', 'b']])
  })
})

describe('updateState', () => {
  it('forks a run with another state from its last step on', async () => {
    const { host } = await openStage()
    const run = await host.start(steps, {})
    await run.result()
    const more = await steps.updateState(host, run.id, { log: ['by hand'] })
    expect((await more.result()).log).toEqual(['a', 'b', 'a', 'b', 'c saw 110', 'by hand'])
    expect(more.id).not.toBe(run.id)
    expect((await run.result()).log).not.toContain('by hand')
    expect((await host.run(more.id)).forkedFrom).toBe(run.id)
    expect(await host.replay(more.id)).toMatchObject({ same: true })
  })

  it('goes on from any step, with what it decided from there on decided anew', async () => {
    const { host } = await openStage()
    const run = await host.start(steps, {})
    await run.result()
    const ends: unknown[] = []
    for (const at of [0, 1, 2, 3, 4]) {
      const fork = await steps.updateState(host, run.id, { count: 500 }, { at })
      ends.push(await fork.result())
      expect(await host.replay(fork.id)).toMatchObject({ same: true })
      const history = await steps.history(host, fork.id)
      expect(history[at]).toMatchObject({ step: at, state: { count: 500 } })
    }
    expect(ends).toEqual([
      { count: 5010, log: ['a', 'b', 'c saw 5010'] },
      { count: 5000, log: ['a', 'b', 'c saw 5000'] },
      { count: 500, log: ['a', 'b', 'c saw 500'] },
      { count: 5000, log: ['a', 'b', 'a', 'b', 'c saw 5000'] },
      { count: 500, log: ['a', 'b', 'a', 'b', 'c saw 500'] },
    ])
  })

  it('does not run again what ran before, and can be done again and again', async () => {
    const { host } = await openStage()
    const ran: string[] = []
    const counted = stateGraph('counted', { n: channel({ default: () => 0 }) })
      .node('a', ({ n }) => {
        ran.push('a')
        return { n: n + 1 }
      })
      .node('b', ({ n }) => {
        ran.push('b')
        return { n: n + 1 }
      })
      .edge(START, 'a')
      .edge('a', 'b')
      .compile()
    const run = await host.start(counted, {})
    await run.result()
    const first = await counted.updateState(host, run.id, { n: 10 }, { at: 1 })
    expect(await first.result()).toEqual({ n: 11 })
    const second = await counted.updateState(host, first.id, { n: 20 }, { at: 2 })
    expect(await second.result()).toEqual({ n: 20 })
    expect((await counted.history(host, second.id)).map(({ state }) => state.n)).toEqual([0, 10, 20])
    const third = await counted.updateState(host, second.id, { n: 5 }, { at: 0 })
    expect(await third.result()).toEqual({ n: 7 })
    expect(ran).toEqual(['a', 'b', 'b', 'a', 'b'])
  })

  it('goes on as if another node had made the update', async () => {
    const { host } = await openStage()
    const run = await host.start(steps, {})
    await run.result()
    const fork = await steps.updateState(host, run.id, { count: 7 }, { at: 1, asNode: 'b' })
    expect((await fork.result()).log).toEqual(['a', 'a', 'b', 'a', 'b', 'c saw 810'])
    const end = await steps.updateState(host, run.id, { count: 7 }, { asNode: 'c' })
    expect(await end.result()).toMatchObject({ count: 7 })
  })

  it('goes on from a run that waits, with items, definitions and values that JSON has not', async () => {
    const { host, clock } = await openStage()
    let tries = 0
    const flaky = workflow('flaky', (ctx) =>
      ctx.step('try', () => {
        tries += 1
        if (tries === 1) throw new Error('not yet')
        return tries
      }),
    )
    const rich = stateGraph('rich', { log: channel.concat<string>(), when: channel({ default: () => new Date(0) }) })
      .node('plan', () => [send('item', 'x'), send('item', 'y')])
      .each(
        'item',
        defineNode('item', (item: string) => item),
        { update: (item) => ({ log: [item] }) },
      )
      .node('sub', flaky, { update: (output) => ({ log: [`sub ${output}`] }), policy: { attempts: 2, backoff: 1 } })
      .wait('ask', 'Again?', {
        into: (answer, { when }) => (answer === 'yes' ? goto('sub') : { log: [`${answer} at ${when.getTime()}`] }),
      })
      .edge(START, 'plan')
      .edge('item', 'sub')
      .edge('sub', 'ask')
      .compile()
    const answering = async (run: { readonly id: string }, value: string): Promise<void> => {
      await until(async () => {
        if (clock.next !== undefined) clock.advance(clock.next - clock.now())
        return (await host.inbox()).some((row) => row.run === run.id)
      })
      const question = (await host.inbox()).find((row) => row.run === run.id)
      await host.answer(question?.id ?? '', value)
    }
    const run = await host.start(rich, {})
    await answering(run, 'yes')
    await until(async () => (await rich.getState(host, run.id)).step === 5)
    const fork = await rich.updateState(host, run.id, { when: new Date(9) }, { at: 4 })
    expect((await rich.getState(host, fork.id)).state.when).toEqual(new Date(9))
    await answering(fork, 'no')
    expect((await fork.result()).log).toEqual(['x', 'y', 'sub 2', 'sub 4', 'no at 9'])
    expect(await host.replay(fork.id)).toMatchObject({ same: true })
  })

  it('refuses what does not fit, and makes no run of it', async () => {
    const { host } = await openStage()
    const run = await host.start(steps, {})
    await run.result()
    const tried = async (update: object, options?: object): Promise<string> =>
      (await rejection(steps.updateState(host, run.id, update, options))).message
    expect(await tried({ cnt: 1 })).toMatch(/'cnt' is not a channel/u)
    expect(await tried({ log: 1 })).toMatch(/'log' takes a list/u)
    expect(await tried({}, { asNode: 'z' })).toMatch(/no node 'z'/u)
    expect(await tried({}, { at: 6 })).toMatch(/has the steps 0 to 5, and not 6/u)
    expect(await host.runs()).toHaveLength(1)
  })

  it('changes only the graph whose run it is, not one inside it', async () => {
    const { host } = await openStage()
    const inner = stateGraph('inner', { n: channel({ default: () => 0 }) })
      .node('add', ({ n }) => ({ n: n + 1 }))
      .edge(START, 'add')
      .compile()
    const outer = stateGraph('outer', { n: channel({ default: () => 0 }) })
      .node('sub', inner, { input: ({ n }) => ({ n }), update: ({ n }) => ({ n }) })
      .edge(START, 'sub')
      .compile()
    const run = await host.start(outer, {})
    await run.result()
    const fork = await outer.updateState(host, run.id, { n: 40 }, { at: 0 })
    expect(await fork.result()).toEqual({ n: 41 })
  })
})

describe('a compiled graph', () => {
  it('can be looked at without running it', () => {
    const shown = stateGraph('shown', { n: channel({ default: () => 0 }) })
      .start()
      .then('a', () => ({ n: 1 }))
      .loop({ until: ({ n }) => n > 3 }, (body) => body.then('b', () => ({ n: 2 })))
      .wait('Fine?')
      .catch(() => undefined)
      .end()
      .compile()
    expect(shown.explain()).toBe(`shown (state-graph)
  START (start)
  a (function)
  loop (choice)
  b (function)
  wait (question, Fine?)
  catch (function)
  END (end)
  START → a
  a → loop
  loop → b when again
  loop → wait when until
  a → catch when error
  b → loop
  b → catch when error
  wait → END
  wait → catch when error
  catch → END`)
    expect(shown.mermaid()).toContain('flowchart TD')
    expect(shown.inner()).toEqual([])
  })

  it('forks with copies of the persistent nodes in it', async () => {
    const { host } = await openStage()
    const chat = (id: string): Node<string, number> => {
      const said: string[] = []
      return defineNode(id, (text: string) => said.push(text), { persistent: true, fork: (name) => chat(name) })
    }
    const talk = stateGraph('talk', { n: channel({ default: () => 0 }) })
      .node('say', chat('chat'), { input: ({ n }) => `n is ${n}`, update: (n) => ({ n }) })
      .edge(START, 'say')
      .compile()
    const copy = talk.fork('talk-2')
    expect(await talk.invoke(host, {})).toEqual({ n: 1 })
    expect(await talk.invoke(host, {})).toEqual({ n: 2 })
    expect(await copy.invoke(host, {})).toEqual({ n: 1 })
    expect(copy.name).toBe('talk-2')
  })

  it('names every problem at once', () => {
    const build = (): unknown =>
      stateGraph('wrong', { n: channel({ default: () => 0 }) })
        .node('a/b', () => undefined)
        .node('END', () => undefined)
        .each('items', (_item: number) => undefined)
        .edge('nowhere' as never, 'elsewhere' as never)
        .edge('items', 'items' as never)
        .edges('items', 7 as never, [])
        .compile({ maxSteps: 0, maxParallel: 0, windowWarning: 2, saver: {} as never })
    expect(build).toThrow(
      [
        "\"a/b\" is not an id for a node: use 1 to 200 characters without '/', '#' and line breaks.",
        "a node cannot have the id 'END': it has a meaning of its own.",
        "the edge to 'elsewhere' leads to 'elsewhere', which is not a node.",
        "the edge to 'elsewhere' comes from 'nowhere', which is not a node.",
        "the edge to 'items' leads to 'items', which runs once for each item: send it some instead.",
        "the choice behind 'items': the router is not a function of the state.",
        "the choice behind 'items': no targets are given. List them: edges(from, router, ['a', END]).",
        "nothing comes first. Say what: edge(START, 'a/b').",
        'maxSteps is 0; give a whole number from 1.',
        'maxParallel is 0; give a number from 1.',
        'windowWarning is 2; give a share above 0 and up to 1.',
        'saver is not a saver.',
      ].join(' '),
    )
    expect(() => stateGraph('none', {})).toThrow(/has no channels/u)
    expect(() => stateGraph('odd', { n: 1 as never })).toThrow(/'n' is not a channel/u)
    expect(() => stateGraph('a/b', { n: channel<number>() })).toThrow(/is not a name for a state graph/u)
    expect(() => stateGraph('empty', { n: channel<number>() }).compile()).toThrow(/it has no nodes/u)
  })

  it('refuses names that nobody knows before it starts', async () => {
    const { host } = await openStage()
    const lost = stateGraph('lost', { n: channel({ default: () => 0 }) })
      .start()
      .parallel({ branches: { one: (branch) => branch.then('a', 'nobody', { update: () => ({ n: 1 }) }) } })
      .end()
      .compile()
    expect((await rejection(host.start(lost, {}))).message).toMatch(
      /in branch 'one' of 'parallel': node 'a' refers to the node 'nobody', which is not known here/u,
    )
    expect(await host.runs()).toEqual([])
  })
})
