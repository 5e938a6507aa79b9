import { describe, expect, it } from 'vitest'
import { defineNode, workflow } from 'nerve'
import { graph } from 'nerve/graph'
import { START, channel, goto, raise, send, stateGraph } from 'nerve/state'
import { emitted, expectSame, paths } from './journal-views.ts'
import { openStage, timePasses, until } from './stage.ts'

describe('what a node can be', () => {
  const shout = defineNode('shout', (text: string) => text.toUpperCase())

  it('is a node, a definition with a state of its own, or a name', async () => {
    const { host } = await openStage({ definitions: [shout] })
    const inner = stateGraph('inner', { words: channel.concat<string>() })
      .node('split', ({ words }) => ({ words: [`${words.length} words`] }))
      .edge(START, 'split')
      .compile({ returns: ({ words }) => words.join(' ') })
    const dag = graph<string>('dag').step('loud', shout, { inputFn: (_, { input }) => input })
    const outer = stateGraph('outer', { text: channel<string>(), log: channel.concat<string>() })
      .node('leaf', shout, { input: ({ text }) => text, update: (loud) => ({ text: loud }) })
      .node('sub', inner, {
        input: ({ text }) => ({ words: text.split(' ') }),
        update: (output, { text }) => ({ log: [output, text] }),
      })
      .node('dag', dag, { input: ({ text }) => text, update: ({ loud }) => ({ log: [loud] }) })
      .node('named', 'shout', { input: () => 'by name', update: (output) => ({ log: [String(output)] }) })
      .edge(START, 'leaf')
      .edge('leaf', 'sub')
      .edge('leaf', 'dag')
      .edge('sub', 'named')
      .compile()
    const run = await host.start(outer, { text: 'two words' })
    expect((await run.result()).log).toEqual(['TWO WORDS 2 words', 'TWO WORDS', 'TWO WORDS', 'BY NAME'])
    expect((await paths(host, run.id)).toSorted()).toEqual(['dag/loud', 'leaf', 'named', 'sub/split'])
    await expectSame(host, run.id)
  })

  it('takes items into a node', async () => {
    const { host } = await openStage()
    const fan = stateGraph('fan', { log: channel.concat<string>() })
      .node('plan', () => [send('loud', 'a'), send('loud', 'b')])
      .each('loud', shout, { update: (output) => ({ log: [output] }) })
      .edge(START, 'plan')
      .compile()
    const run = await host.start(fan, {})
    expect(await run.result()).toEqual({ log: ['A', 'B'] })
    await expectSame(host, run.id)
  })

  it('retries a definition in a scope of its own', async () => {
    const { host, clock } = await openStage()
    let tries = 0
    const flaky = workflow('flaky', async (ctx) => {
      await ctx.step('try', () => {
        tries += 1
        if (tries < 3) throw new Error('not yet')
      })
      return tries
    })
    const outer = stateGraph('outer', { tries: channel({ default: () => 0 }) })
      .node('sub', flaky, { update: (output) => ({ tries: output }), policy: { attempts: 3 } })
      .edge(START, 'sub')
      .compile()
    const run = await host.start(outer, {})
    expect(await timePasses(clock, run.result())).toEqual({ tries: 3 })
    await expectSame(host, run.id)
  })

  it('asks a person and goes on with the answer in its state', async () => {
    const { host } = await openStage()
    const asking = stateGraph('asking', { spec: channel<string>(), approved: channel({ default: () => false }) })
      .node('write', ({ spec }) => ({ spec: `${spec}!` }))
      .wait('review', ({ spec }) => `Is '${spec}' right?`, {
        choices: ['yes', 'no'],
        into: (answer) => (answer === 'yes' ? { approved: true } : goto('write')),
      })
      .edge(START, 'write')
      .edge('write', 'review')
      .compile()
    const run = await host.start(asking, { spec: 'a' })
    expect(await run.rest()).toBe('waiting')
    const [first] = await host.inbox()
    expect(first).toMatchObject({ prompt: "Is 'a!' right?", choices: ['yes', 'no'] })
    await run.answer(first?.id ?? '', 'no')
    await until(async () => (await host.inbox())[0]?.prompt === "Is 'a!!' right?")
    const [second] = await host.inbox()
    await run.answer(second?.id ?? '', 'yes')
    expect(await run.result()).toEqual({ spec: 'a!!', approved: true })
    expect(await emitted(host, run.id)).toEqual([
      ['human_input_required', { node: 'review', prompt: "Is 'a!' right?" }],
      ['human_input_required', { node: 'review', prompt: "Is 'a!!' right?" }],
    ])
    await expectSame(host, run.id)
  })

  it('tells the outside what it wants to, in the order of the nodes', async () => {
    const { host } = await openStage()
    const model = defineNode('model', (_input: undefined, call) => {
      call.usage({ tokens: 10, window: 0.7 })
      return 'said'
    })
    const telling = stateGraph('telling', { log: channel.concat<string>() })
      .node('debug', () =>
        raise({ log: ['looked'] }, { type: 'debug_report_generated', report: { errorSummary: 'a null' } }),
      )
      .node('small', (_state, call) => {
        call.usage({ window: 0.5 })
      })
      .node('big', async (_state, call) => {
        call.usage({ window: 0.6 })
        return raise(goto('model', { log: ['big'] }), { type: 'checkpoint', label: 'half' })
      })
      .node('model', model, { update: (text) => ({ log: [text] }) })
      .edge(START, 'big')
      .edge(START, 'small')
      .edge(START, 'debug')
      .compile()
    const run = await host.start(telling, {})
    expect(await run.result()).toEqual({ log: ['looked', 'big', 'said'] })
    expect(await emitted(host, run.id)).toEqual([
      ['debug_report_generated', { node: 'debug', report: { errorSummary: 'a null' } }],
      ['checkpoint', { node: 'big', label: 'half' }],
      ['context_window_warning', { node: 'big', usage: 0.6 }],
      ['context_window_warning', { node: 'model', usage: 0.7 }],
    ])
    await expectSame(host, run.id)
  })

  it('goes on with what a policy says instead of a failure', async () => {
    const { host } = await openStage()
    const fails = (): never => {
      throw new Error('no')
    }
    const skips = defineNode<undefined, string>('skips', fails, { policy: { onError: { skip: 'skipped' } } })
    const falls = defineNode<undefined, string>('falls', fails, {
      policy: { onError: { fallback: async () => 'fallen back' } },
    })
    const careful = stateGraph('careful', { log: channel.concat<string>() })
      .node('function', fails, { policy: { onError: { skip: { log: ['instead'] } } } })
      .node('skips', skips, { update: (text) => ({ log: [text] }) })
      .node('falls', falls, { update: (text) => ({ log: [text] }) })
      .node('own', skips, {
        update: (text) => ({ log: [text] }),
        policy: { onError: { fallback: () => ({ log: ['own'] }) } },
      })
      .node('definition', workflow('broken', fails), {
        update: () => ({}),
        policy: { onError: { skip: { log: ['not run'] } } },
      })
      .edge(START, 'function')
      .edge(START, 'skips')
      .edge(START, 'falls')
      .edge(START, 'own')
      .edge(START, 'definition')
      .compile()
    const run = await host.start(careful, {})
    expect((await run.result()).log).toEqual(['instead', 'skipped', 'fallen back', 'own', 'not run'])
    await expectSame(host, run.id)
  })

  it('fails the graph also in a run that goes on after failures', async () => {
    const { host } = await openStage()
    const failing = stateGraph('failing', { log: channel.concat<string>() })
      .node('a', () => {
        throw new Error('no')
      })
      .node('b', () => ({ log: ['b'] }))
      .edge(START, 'a')
      .edge('a', 'b')
      .compile()
    const outer = workflow('outer', { errorPolicy: 'continue' }, async (ctx) => {
      const ended = await ctx.run(failing, {}).then(
        ({ log }) => log.join(),
        (error: Error) => error.message,
      )
      return ended
    })
    expect(await (await host.start(outer)).result()).toBe('no')
  })
})
