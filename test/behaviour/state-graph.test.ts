import { describe, expect, it } from 'vitest'
import { END, START, channel, goto, send, stateGraph } from 'nerve/state'
import { emitted, expectSame, paths } from './journal-views.ts'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

const counting = stateGraph('counting', { count: channel({ default: () => 0 }), seen: channel.concat<number>() })
  .node('add', ({ count }) => ({ count: count + 1, seen: [count] }))
  .edge(START, 'add')
  .edges('add', ({ count }) => (count < 3 ? 'add' : END), ['add', END])
  .compile()

describe('a state graph', () => {
  it('runs nodes along its edges, and keeps their updates in its state', async () => {
    const { host } = await openStage()
    const run = await host.start(counting, {})
    expect(await run.result()).toEqual({ count: 3, seen: [0, 1, 2] })
    expect(await paths(host, run.id)).toEqual(['add', 'add?', 'add#2', 'add?#2', 'add#3', 'add?#3'])
    await expectSame(host, run.id)
  })

  it('puts the input into the state through the reducers', async () => {
    const { host } = await openStage()
    expect(await counting.invoke(host, { count: 2, seen: [9] })).toEqual({ count: 3, seen: [9, 2] })
    expect(await rejection(host.start(counting, { nothing: 1 } as never))).toMatchObject({ code: 'bad-input' })
    expect(await rejection(host.start(counting, { seen: 1 } as never))).toMatchObject({ code: 'bad-input' })
    expect(await rejection(host.start(counting, 7 as never))).toMatchObject({ code: 'bad-input' })
    expect(await host.runs()).toHaveLength(1)
  })

  it('runs the nodes of a step side by side on the same state, and merges in the order in which they were declared', async () => {
    const { host } = await openStage()
    const gates = { a: gate(), b: gate(), c: gate() }
    const started: string[] = []
    const work = (id: 'a' | 'b' | 'c') => async (state: { readonly log: readonly string[] }) => {
      started.push(`${id} saw ${state.log.length}`)
      await gates[id].promise
      return { log: [id] }
    }
    const fan = stateGraph('fan', { log: channel.concat<string>() })
      .node('first', () => ({ log: ['first'] }))
      .node('c', work('c'))
      .node('a', work('a'))
      .node('b', work('b'))
      .node('last', ({ log }) => ({ log: [`last saw ${log.length}`] }))
      .edge(START, 'first')
      .edge('first', 'a')
      .edge('first', 'b')
      .edge('first', 'c')
      .edge('a', 'last')
      .edge('b', 'last')
      .edge('c', 'last')
      .compile()
    const run = await host.start(fan, {})
    await until(() => started.length === 3)
    gates.b.resolve()
    await quiet()
    gates.a.resolve()
    await quiet()
    gates.c.resolve()
    expect(await run.result()).toEqual({ log: ['first', 'c', 'a', 'b', 'last saw 4'] })
    expect(started).toEqual(['c saw 1', 'a saw 1', 'b saw 1'])
    await expectSame(host, run.id)
  })

  it('has reducers that replace, add, merge, merge by id, and what an author writes', async () => {
    const { host } = await openStage()
    interface Feature {
      readonly id: string
      readonly passes: boolean
    }
    const reducers = stateGraph('reducers', {
      topic: channel<string>(),
      maybe: channel<string | undefined>(),
      notes: channel.concat<string>(),
      meta: channel.merge<{ author: string; pages: number }>(),
      full: channel.merge({ default: () => ({ a: 1, b: 2 }) }),
      features: channel.mergeById<Feature>('id', { default: () => [{ id: 'x', passes: false }] }),
      sum: channel({ default: () => 10, reducer: (a: number, b: number) => a + b }),
    })
      .node('one', () => ({
        topic: 'new',
        notes: ['one'],
        meta: { author: 'one' },
        features: [
          { id: 'y', passes: false },
          { id: 'x', passes: true },
        ],
        sum: 1,
      }))
      .node('two', () => ({
        maybe: 'set',
        notes: ['two', 'three'],
        meta: { pages: 3 },
        full: { b: 3 },
        features: [{ id: 'y', passes: true }],
        sum: 2,
      }))
      .edge(START, 'one')
      .edge(START, 'two')
      .compile()
    const run = await host.start(reducers, { topic: 'old' })
    expect(await run.result()).toEqual({
      topic: 'new',
      maybe: 'set',
      notes: ['one', 'two', 'three'],
      meta: { author: 'one', pages: 3 },
      full: { a: 1, b: 3 },
      features: [
        { id: 'x', passes: true },
        { id: 'y', passes: true },
      ],
      sum: 13,
    })
    await expectSame(host, run.id)
  })

  it('takes a field that is undefined as not there, as a replay does', async () => {
    const { host } = await openStage()
    const quietly = stateGraph('quietly', { text: channel({ default: () => 'kept' }) })
      .node('nothing', () => ({ text: undefined }) as never)
      .edge(START, 'nothing')
      .compile()
    const run = await host.start(quietly, {})
    expect(await run.result()).toEqual({ text: 'kept' })
    await expectSame(host, run.id)
  })

  it('does not let nodes change the state they are given', async () => {
    const { host } = await openStage()
    const rude = stateGraph('rude', { text: channel({ default: () => 'kept' }) })
      .node('rude', (state) => {
        ;(state as { text: string }).text = 'changed'
      })
      .edge(START, 'rude')
      .compile()
    expect((await rejection(rude.invoke(host, {}))).message).toMatch(/read only/u)
  })

  it('runs a node once when several edges lead to it, and waits at a join for all', async () => {
    const { host } = await openStage()
    const joined = stateGraph('joined', { log: channel.concat<string>() })
      .node('short', () => ({ log: ['short'] }))
      .node('long', () => ({ log: ['long'] }))
      .node('longer', () => ({ log: ['longer'] }))
      .node('either', () => ({ log: ['either'] }))
      .node('both', () => ({ log: ['both'] }))
      .edge(START, 'short')
      .edge(START, 'long')
      .edge('long', 'longer')
      .edge('short', 'either')
      .edge('longer', 'either')
      .edge(['short', 'longer'], 'both')
      .compile()
    const run = await host.start(joined, {})
    expect(await run.result()).toEqual({ log: ['short', 'long', 'longer', 'either', 'either', 'both'] })
    expect(await paths(host, run.id)).toEqual(['short', 'long', 'longer', 'either', 'either#2', 'both'])
    await expectSame(host, run.id)
  })
})

describe('where a node goes', () => {
  it('goes to one or many, with an update, instead of along its edges', async () => {
    const { host } = await openStage()
    const jumping = stateGraph('jumping', { log: channel.concat<string>(), jumps: channel({ default: () => 0 }) })
      .node('hub', ({ jumps }) => {
        if (jumps === 0) return goto('left', { jumps: 1, log: ['to left'] })
        if (jumps === 1) return goto(['left', 'right'], { jumps: 2, log: ['to both'] })
        if (jumps === 2) return { jumps: 3 }
        return goto(END)
      })
      .node('left', () => goto('hub', { log: ['left'] }))
      .node('right', () => ({ log: ['right'] }))
      .node('along', () => ({ log: ['along'] }))
      .edge(START, 'hub')
      .edge('hub', 'along')
      .edge('along', 'hub')
      .compile()
    const run = await host.start(jumping, {})
    expect(await run.result()).toEqual({
      jumps: 3,
      log: ['to left', 'left', 'to both', 'left', 'right', 'along'],
    })
    await expectSame(host, run.id)
  })

  it('fans out over items, each a step of its own, and comes together again', async () => {
    const { host } = await openStage()
    const fan = stateGraph('fan', { topics: channel<readonly string[]>(), notes: channel.concat<string>() })
      .node('plan', ({ topics }) => topics.map((topic) => send('read', topic)))
      .each('read', (topic: string, state) => ({ notes: [`${topic} of ${state.topics.length}`] }))
      .node('write', ({ notes }) => ({ notes: [`${notes.length} notes`] }))
      .edge(START, 'plan')
      .edge('plan', 'write')
      .edge('read', 'write')
      .compile()
    const run = await host.start(fan, { topics: ['a', 'b', 'c'] })
    expect((await run.result()).notes).toEqual(['a of 3', 'b of 3', 'c of 3', '3 notes'])
    expect(await paths(host, run.id)).toEqual(['plan', 'read/0', 'read/1', 'read/2', 'write'])
    await expectSame(host, run.id)
    // Nothing to send: along the edges.
    expect((await fan.invoke(host, { topics: [] })).notes).toEqual(['0 notes'])
  })

  it('fans out from a router, and merges in order however the items end', async () => {
    const { host } = await openStage()
    const gates = [gate(), gate(), gate()]
    const fan = stateGraph('fan', { notes: channel.concat<string>() })
      .node('plan', () => undefined)
      .each('read', async (item: number) => {
        await gates[item]?.promise
        return { notes: [`note ${item}`] }
      })
      .edge(START, 'plan')
      .edges('plan', () => [0, 1, 2].map((item) => send('read', item)), ['read'])
      .compile()
    const run = await host.start(fan, {})
    for (const index of [2, 0, 1]) {
      await quiet()
      gates[index]?.resolve()
    }
    expect(await run.result()).toEqual({ notes: ['note 0', 'note 1', 'note 2'] })
    await expectSame(host, run.id)
  })

  it('decides by named ways and by several routers, and records what was decided', async () => {
    const { host } = await openStage()
    let asked = 0
    const routed = stateGraph('routed', { log: channel.concat<string>() })
      .node('a', () => ({ log: ['a'] }))
      .node('b', () => ({ log: ['b'] }))
      .node('c', () => ({ log: ['c'] }))
      .edges(START, async () => (asked++ === 0 ? 'first' : 'never'), { first: 'a', never: END })
      .edges('a', () => ['yes'] as const, { yes: 'b', no: END })
      .edges('a', () => 'c', ['c', END])
      .compile()
    const run = await host.start(routed, {})
    expect(await run.result()).toEqual({ log: ['a', 'b', 'c'] })
    expect(await paths(host, run.id)).toEqual(['START?', 'a', 'a?', 'a-2?', 'b', 'c'])
    await expectSame(host, run.id)
    expect(asked).toBe(1)
  })

  it('fails at the node when it goes where it cannot go or updates what is not there', async () => {
    const { host } = await openStage()
    const wrong = (name: string, result: unknown) =>
      stateGraph(name, { text: channel({ default: () => '' }), list: channel.concat<string>() })
        .node('bad', () => result as never)
        .node('other', () => undefined)
        .each('items', (_item: string) => undefined)
        .edge(START, 'bad')
        .compile()
    const cases: [unknown, RegExp][] = [
      [{ txt: 1 }, /'txt' is not a channel. Channels: text, list/u],
      [{ list: 'one' }, /'list' takes a list/u],
      [goto('nowhere'), /'nowhere', which is not a node. Nodes: bad, other, items/u],
      [goto('items'), /runs once for each item. Send it some/u],
      [[send('other', 1)], /not made for items/u],
      [[send(END, 1)], /'END', which is not a node/u],
      [7, /Node 'bad' returned 7/u],
      [[7], /Node 'bad' returned \[7\]/u],
    ]
    for (const [index, [result, message]] of cases.entries()) {
      const run = await host.start(wrong(`wrong-${index}`, result), {})
      const error = await rejection(run.result())
      expect(error.message).toMatch(message)
      expect(error.data).toMatchObject({ step: 'bad' })
    }
  })

  it('retries a node by its policy, and fails with the run when none is left', async () => {
    const { host, clock } = await openStage()
    let tries = 0
    const flaky = stateGraph('flaky', { text: channel({ default: () => '' }) })
      .node(
        'try',
        () => {
          tries += 1
          if (tries < 3) throw new Error('not yet')
          return { text: `after ${tries}` }
        },
        { policy: { attempts: 3 } },
      )
      .edge(START, 'try')
      .compile()
    const run = await host.start(flaky, {})
    expect(await timePasses(clock, run.result())).toEqual({ text: 'after 3' })
    await expectSame(host, run.id)
    tries = -9
    const failing = await host.start(flaky, {})
    expect((await rejection(timePasses(clock, failing.result()))).message).toMatch(/failed at step 'try': not yet/u)
  })

  it('stops after maxSteps, loudly', async () => {
    const { host } = await openStage()
    const endless = (options: { maxSteps?: number; onLimit?: 'stop' }) =>
      stateGraph('endless', { count: channel({ default: () => 0, reducer: (a: number, b: number) => a + b }) })
        .node('again', () => ({ count: 1 }))
        .edge(START, 'again')
        .edge('again', 'again')
        .compile(options)
    const run = await host.start(endless({}), {})
    expect(await rejection(run.result())).toMatchObject({ cause: { code: 'limit-reached' } })
    expect(await emitted(host, run.id)).toEqual([['limit-reached', { node: 'endless', iterations: 100 }]])
    await expectSame(host, run.id)
    const short = await host.start(endless({ maxSteps: 3, onLimit: 'stop' }), {})
    expect(await short.result()).toEqual({ count: 3 })
    expect(await emitted(host, short.id)).toEqual([['limit-reached', { node: 'endless', iterations: 3 }]])
  })

  it('runs no more than maxParallel at a time', async () => {
    const { host } = await openStage()
    let running = 0
    let most = 0
    const busy = async (): Promise<void> => {
      running += 1
      most = Math.max(most, running)
      await quiet(2)
      running -= 1
    }
    const wide = stateGraph('wide', { log: channel.concat<number>() })
      .node('plan', () => goto([...Array.from({ length: 9 }, (_, n) => send('item', n)), 'beside']))
      .each('item', async (n: number) => {
        await busy()
        return { log: [n] }
      })
      .node('beside', busy)
      .edge(START, 'plan')
      .compile({ maxParallel: 3 })
    const run = await host.start(wide, {})
    expect(await run.result()).toEqual({ log: [0, 1, 2, 3, 4, 5, 6, 7, 8] })
    expect(most).toBe(3)
    await expectSame(host, run.id)
  })

  it('does not count who waits for a person against maxParallel', async () => {
    const { host } = await openStage()
    const beside = stateGraph('beside', { log: channel.concat<string>() })
      .wait('ask', 'Well?', { into: (answer) => ({ log: [answer] }) })
      .node('a', () => ({ log: ['a'] }))
      .node('b', () => ({ log: ['b'] }))
      .edge(START, 'ask')
      .edge(START, 'a')
      .edge(START, 'b')
      .compile({ maxParallel: 1 })
    const run = await host.start(beside, {})
    expect(await run.rest()).toBe('waiting')
    expect(await paths(host, run.id)).toEqual(['a', 'b'])
    const [question] = await host.inbox()
    await run.answer(question?.id ?? '', 'fine')
    expect(await run.result()).toEqual({ log: ['fine', 'a', 'b'] })
    await expectSame(host, run.id)
  })

  it('takes a join that is said twice as one', async () => {
    const { host } = await openStage()
    const joined = stateGraph('joined', { log: channel.concat<string>(), n: channel({ default: () => 0 }) })
      .node('a', ({ n }) => ({ log: ['a'], n: n + 1 }))
      .node('b', () => ({ log: ['b'] }))
      .node('c', ({ n }) => (n < 2 ? goto('a', { log: ['c'] }) : { log: ['c again'] }))
      .edge(START, 'a')
      .edge(START, 'b')
      .edge(['a', 'b'], 'c')
      .edge(['a', 'b'], 'c')
      .compile()
    expect((await joined.invoke(host, {})).log).toEqual(['a', 'b', 'c', 'a'])
  })

  it('says whose reducer failed', async () => {
    const { host } = await openStage()
    const broken = stateGraph('broken', {
      sum: channel<number>({
        default: () => 0,
        reducer: () => {
          throw new Error('cannot add')
        },
      }),
    })
      .node('a', () => ({ sum: 1 }))
      .edge(START, 'a')
      .compile()
    expect((await rejection(broken.invoke(host, {}))).message).toMatch(
      /The reducer of channel 'sum' failed.*cannot add/u,
    )
  })

  it('fails when a router chooses what it cannot', async () => {
    const { host } = await openStage()
    const lost = (chosen: unknown) =>
      stateGraph('lost', { n: channel({ default: () => 0 }) })
        .node('a', () => undefined)
        .each('items', (_item: number) => undefined)
        .edge(START, 'a')
        .edges('a', () => chosen as never, ['a', 'items', END])
        .compile()
    for (const chosen of ['nowhere', 'items', [send('a', 1)], undefined, [7]])
      expect((await rejection(lost(chosen).invoke(host, {}))).message).toMatch(
        /the router from 'a' chose .*It can choose: a, send\('items', item\), END/u,
      )
  })
})
