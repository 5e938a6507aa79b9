/** Gate: waiting for a person. */
import { describe, expect, it } from 'vitest'
import { defineNode, workflow, type Schema } from 'nerve'
import { Gate, Loop, Map as MapNode } from 'nerve/control'
import { graph } from 'nerve/graph'
import { events, paths } from './control-stage.ts'
import { openStage, quiet, rejection, timePasses, until, type Stage } from './stage.ts'

async function asked({ host }: Stage, run: string, count = 1): Promise<readonly string[]> {
  await until(async () => (await host.inbox()).filter((one) => one.run === run).length === count, 'the question')
  return (await host.inbox()).filter((one) => one.run === run).map(({ id }) => id)
}

const amount: Schema<number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      Number.isFinite(Number(value)) ? { value: Number(value) } : { issues: [{ message: 'a number is wanted' }] },
  },
}

describe('Gate', () => {
  it('asks to approve or to reject, and the answer is its result', async () => {
    const stage = await openStage()
    const { host } = stage
    const run = await host.start(Gate({ id: 'ship', prompt: 'Ship it?' }))
    const [question] = await asked(stage, run.id)
    expect((await host.inbox())[0]).toMatchObject({ kind: 'gate', prompt: 'Ship it?', choices: ['approve', 'reject'] })
    expect(await run.rest()).toBe('waiting')
    await expect(host.answer(question ?? '', 'maybe')).rejects.toThrow(/not a choice/u)
    await host.answer(question ?? '', 'approve')
    expect(await run.result()).toBe('approve')
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('is explained by its kind alone, when its prompt is made while it runs', () => {
    const flow = graph<string>('flow').step('ask', Gate({ prompt: (text: string) => `Is ${text} right?` }), {
      input: 'a',
    })
    expect(flow.explain()).toBe('flow (graph)\n  ask (gate)')
    expect(flow.mermaid()).toContain('"ask<br/>gate"')
  })

  it('makes its prompt of the input, once', async () => {
    const stage = await openStage()
    const { host } = stage
    let made = 0
    const ask = Gate({
      prompt: (draft: { title: string }, { params }) => {
        made += 1
        return `Publish ${draft.title} in ${String(params['where'])}?`
      },
      choices: ['yes', 'no'],
    })
    const inGraph = graph<{ title: string }>('publish')
      .step('ask', ask, { inputFn: (_, { input }) => input })
      .step(
        'done',
        defineNode('done', (answer: 'yes' | 'no') => `said ${answer}`),
        {
          after: ['ask'],
          inputFn: ({ ask: answer }) => answer,
        },
      )
    const run = await host.start(inGraph, { title: 'Tea' }, { params: { where: 'print' } })
    const [question] = await asked(stage, run.id)
    expect((await host.inbox())[0]?.prompt).toBe('Publish Tea in print?')
    await host.answer(question ?? '', 2)
    expect(await run.result()).toEqual({ ask: 'no', done: 'said no' })
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    expect(made).toBe(1)
    expect(await paths(host, run.id)).toEqual(['ask/prompt', 'done'])
  })

  it('takes a free answer that fits its schema', async () => {
    const stage = await openStage()
    const { host } = stage
    const run = await host.start(Gate({ prompt: 'How many?', schema: amount }))
    const [question] = await asked(stage, run.id)
    await expect(host.answer(question ?? '', 'some')).rejects.toThrow(/a number is wanted/u)
    await host.answer(question ?? '', '12')
    expect(await run.result()).toBe(12)
  })

  it('goes on with a default, fails, or cancels the run when its deadline has passed', async () => {
    const { host, clock } = await openStage()
    const wait = { prompt: 'Quick?', choices: ['now', 'later'], deadline: '2d' } as const
    const began = clock.now()
    const going = await host.start(Gate({ id: 'a', ...wait, onDeadline: { default: 'later' } }))
    expect(await timePasses(clock, going.result())).toBe('later')
    expect(clock.now() - began).toBe(2 * 86_400_000)
    expect(await host.replay(going.id)).toMatchObject({ same: true })
    const failing = await host.start(Gate({ id: 'b', ...wait }))
    expect((await timePasses(clock, rejection(failing.result()))).message).toContain('passed without an answer')
    expect(await host.replay(failing.id)).toMatchObject({ same: true })
    const ending = await host.start(Gate({ id: 'c', ...wait, onDeadline: 'cancel' }))
    expect((await timePasses(clock, rejection(ending.result()))).code).toBe('cancelled')
  })

  it('an answer in time disarms the deadline', async () => {
    const stage = await openStage()
    const { host, clock } = stage
    const run = await host.start(Gate({ prompt: 'Quick?', deadline: '1h', onDeadline: 'cancel' }))
    const [question] = await asked(stage, run.id)
    clock.advance(3_599_000)
    await host.answer(question ?? '', 'reject')
    expect(await run.result()).toBe('reject')
    clock.advance(10_000)
    await quiet()
    expect((await host.run(run.id)).status).toBe('completed')
  })

  it('asks for every item of a map, and in every round of a loop', async () => {
    const stage = await openStage()
    const { host } = stage
    const ask = Gate({ id: 'ask', prompt: (n: number) => `Is ${n} good?`, choices: ['yes', 'no'] })
    const run = await host.start(MapNode({ body: ask }), [1, 2, 3])
    for (const [at, id] of (await asked(stage, run.id, 3)).toReversed().entries())
      await host.answer(id, at === 1 ? 'no' : 'yes')
    expect(await run.result()).toEqual(['yes', 'no', 'yes'])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
    const round = workflow('round', async (ctx, n: number) => ((await ctx.run(ask, n)) === 'yes' ? -n : n + 1))
    const loop = await host.start(Loop({ body: round, until: ({ value }) => value < 0 }), 7)
    for (const answer of ['no', 'no', 'yes']) {
      const [id] = await asked(stage, loop.id)
      await host.answer(id ?? '', answer)
      await quiet()
    }
    expect(await loop.result()).toMatchObject({ value: -9, iterations: 3 })
    expect(await host.replay(loop.id)).toMatchObject({ same: true })
  })

  it('is withdrawn by a cancel', async () => {
    const stage = await openStage()
    const { host } = stage
    const run = await host.start(Gate({ prompt: 'Ever?' }))
    await asked(stage, run.id)
    await run.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
    expect(await host.inbox()).toEqual([])
    expect((await events(host, run.id)).map(({ type }) => type)).toContain('question-withdrawn')
  })

  it('names everything that is wrong with it', () => {
    expect(() =>
      Gate({ prompt: '', choices: ['a', 'a'] as never, schema: amount as never, onDeadline: 'fail' }),
    ).toThrow(
      "gate 'gate': it has no prompt: give a text, or a function that makes one of the input. choices needs at least one, each given once. it has both choices and a schema. Give one of them. it has onDeadline without a deadline.",
    )
  })
})
