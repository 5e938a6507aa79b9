/** Steps that wait for a person without being held: the call ends, and the answer calls the function again. */
import { describe, expect, it } from 'vitest'
import { workflow, type StepCall } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import { openStage, rejection, timePasses, until, type Stage } from './stage.ts'

/** Wants two permissions, one after the other, and says how it was called. */
function careful(calls: unknown[], options: object = {}) {
  const work = ({ attempt, resumed, answer, kept, park }: StepCall): unknown => {
    calls.push([attempt, resumed, answer])
    if (answer === undefined) park('Delete a?', { kind: 'permission', choices: ['yes', 'no'], detail: { tool: 'rm' } })
    if (answer === 'yes') park('Delete b?', { choices: ['sure', 'no'], free: { type: 'object' } })
    return { answer, kept }
  }
  return workflow('careful', (ctx) => ctx.step('delete', work, options))
}

async function answer({ host }: Stage, prompt: string, value: unknown): Promise<void> {
  await until(async () => (await host.inbox()).some((one) => one.prompt === prompt), prompt)
  const found = (await host.inbox()).find((one) => one.prompt === prompt)
  await host.answer(found?.id ?? '', value)
}

describe('a parked step', () => {
  it('asks, is not in memory until the answer comes, and goes on in the same attempt', async () => {
    const calls: unknown[] = []
    const stage = await openStage({ maxResident: 0 })
    const run = await stage.host.start(careful(calls))
    expect(await run.rest()).toBe('waiting')
    expect(await stage.host.inbox()).toMatchObject([
      { prompt: 'Delete a?', kind: 'permission', choices: ['yes', 'no'], detail: { tool: 'rm' }, attempt: 1 },
    ])
    await answer(stage, 'Delete a?', 'yes')
    await answer(stage, 'Delete b?', { only: 'half' })
    expect(await run.result()).toEqual({ answer: { only: 'half' } })
    expect(calls).toEqual([
      [1, false, undefined],
      [1, true, 'yes'],
      [1, true, { only: 'half' }],
    ])
    expect((await stage.host.replay(run.id)).same).toBe(true)
    expect(calls).toHaveLength(3)
  })

  it('takes only choices where nothing else is wanted, and waits for one', async () => {
    const stage = await openStage()
    const run = await stage.host.start(careful([]))
    expect(await rejection(answer(stage, 'Delete a?', { only: 'half' }))).toMatchObject({ code: 'answer-rejected' })
    await answer(stage, 'Delete a?', 'no')
    expect(await run.result()).toEqual({ answer: 'no' })
  })

  it('takes beside its choices what it says in the journal, in every process', async () => {
    const store = new MemoryStore()
    const free = {
      anyOf: [
        { type: 'string', minLength: 2 },
        { type: 'array', items: { enum: ['a', 'b'] } },
      ],
    }
    const pick = workflow('pick', (ctx) =>
      ctx.step('pick', ({ answer: given, park }) => given ?? park('Which?', { choices: ['a', 'b'], free })),
    )
    const before = await openStage({ store, definitions: [pick] })
    const runs = [await before.host.start(pick), await before.host.start(pick), await before.host.start(pick)]
    for (const run of runs) await run.rest()
    await before.host.close()
    const { host } = await openStage({ store, definitions: [pick] })
    const asked = await host.inbox()
    expect(asked[0]).toMatchObject({ choices: ['a', 'b'], free })
    for (const [index, value] of [2, 'neither', ['b', 'a']].entries()) {
      const id = asked.find(({ run }) => run === runs[index]?.id)?.id ?? ''
      const refused = await rejection(host.answer(id, ['c']))
      expect(refused).toMatchObject({ code: 'answer-rejected' })
      expect(refused.message).toContain("The answer to 'Which?' was not taken.")
      await host.answer(id, value)
    }
    const results = []
    for (const { id } of runs) results.push(await (await host.handle(id)).result())
    expect(results).toEqual(['b', 'neither', ['b', 'a']])
  })

  it.each(['repeatable', 'resumable', 'once'] as const)('outlives its process when it is %s', async (effect) => {
    const calls: unknown[] = []
    const store = new MemoryStore()
    const definitions = [careful(calls, { effect })]
    const before = await openStage({ store, definitions })
    const run = await before.host.start(definitions[0] as never)
    await answer(before, 'Delete a?', 'yes')
    await run.rest()
    await before.host.close()
    const stage = await openStage({ store, definitions })
    await answer(stage, 'Delete b?', 2)
    expect(await (await stage.host.handle(run.id)).result()).toEqual({ answer: 'no' })
    expect(calls.at(-1)).toEqual([1, true, 'no'])
    expect(await stage.host.inbox()).toEqual([])
  })

  it('has its own deadline', async () => {
    const stage = await openStage()
    const waits = workflow('waits', (ctx) =>
      ctx.step('wait', ({ answer: given, park }) => {
        if (given === undefined) park('Soon?', { deadline: '2d', onDeadline: { default: 'late' } })
        return given
      }),
    )
    expect(await timePasses(stage.clock, (await stage.host.start(waits)).result())).toBe('late')
    const wrong = workflow('wrong', (ctx) => ctx.step('wait', ({ park }) => park('Soon?', { deadline: '2d' })))
    expect(await rejection((await stage.host.start(wrong)).result())).toMatchObject({
      message: expect.stringContaining("needs onDeadline: a default, or 'cancel'") as string,
    })
  })

  it('spends neither attempts nor time, and what it kept is still there', async () => {
    const stage = await openStage()
    const keeps = workflow('keeps', { budget: { seconds: 1 } }, (ctx) =>
      ctx.step('wait', async ({ answer: given, keep, kept, park, attempt }) => {
        if (given === undefined) {
          await keep('session 7')
          park('Go on?')
        }
        return [given, kept, attempt]
      }),
    )
    const run = await stage.host.start(keeps)
    await run.rest()
    stage.clock.advance(7 * 24 * 3_600_000)
    await answer(stage, 'Go on?', 'yes')
    expect(await run.result()).toEqual(['yes', 'session 7', 1])
  })

  it('keeps what the answer is about in the same commit as its question', async () => {
    const stage = await openStage()
    const keeps = workflow('keeps', (ctx) =>
      ctx.step('wait', ({ answer: given, kept, park }) => {
        if (given === undefined) park('First?', { keep: { about: 'first' } })
        if (given === 'one') park('Second?', { keep: { about: 'second' } })
        return [given, kept]
      }),
    )
    const run = await stage.host.start(keeps)
    await answer(stage, 'First?', 'one')
    await answer(stage, 'Second?', 'two')
    expect(await run.result()).toEqual(['two', { about: 'second' }])
    const wrong = workflow('wrong', (ctx) => ctx.step('wait', ({ park }) => park('Now?', { keep: () => 1 })))
    expect((await rejection((await stage.host.start(wrong)).result())).message).toContain("what is kept with 'Now?'")
  })

  it('ends with its run, and with its branch', async () => {
    const stage = await openStage()
    const run = await stage.host.start(careful([]))
    await run.rest()
    await run.cancel()
    expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
    const racing = workflow('racing', (ctx) =>
      ctx.race<unknown>([
        () => ctx.step('wait', ({ park }) => park('Never?')),
        async () => {
          await ctx.waitFor('go')
          return 'other'
        },
      ]),
    )
    const race = await stage.host.start(racing)
    await race.rest()
    await race.signal('go')
    expect(await race.result()).toBe('other')
    expect(await stage.host.inbox()).toEqual([])
    expect((await stage.host.replay(race.id)).same).toBe(true)
  })
})
