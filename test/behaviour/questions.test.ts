/** Questions: many at once, answered once, by number or label, with deadlines. */
import { describe, expect, it } from 'vitest'
import { workflow, type Schema } from 'nerve'
import { openStage, rejection, until, type Stage } from './stage.ts'

const publish = workflow('publish', async (ctx) => {
  const answer = await ctx.ask('Publish this?', { choices: ['Publish', 'Revise', '3'] })
  return `you said ${answer}`
})

const positive: Schema<number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      Number(value) > 0 ? { value: Number(value) } : { issues: [{ message: 'must be above 0', path: ['amount'] }] },
  },
}

async function questionId({ host }: Stage, prompt: string): Promise<string> {
  await until(async () => (await host.inbox()).some((one) => one.prompt === prompt), `the question ${prompt}`)
  return (await host.inbox()).find((one) => one.prompt === prompt)?.id ?? ''
}

describe('a question', () => {
  for (const [given, taken] of [
    ['Publish', 'Publish'],
    ['  revise ', 'Revise'],
    ['1', 'Publish'],
    [2, 'Revise'],
    ['3', '3'],
  ] as const) {
    it(`takes ${JSON.stringify(given)} for ${taken}`, async () => {
      const stage = await openStage()
      const run = await stage.host.start(publish)
      expect(await run.rest()).toBe('waiting')
      await run.answer(await questionId(stage, 'Publish this?'), given)
      expect(await run.result()).toBe(`you said ${taken}`)
    })
  }

  it('refuses what is no choice, says what is, and stays open', async () => {
    const stage = await openStage()
    const run = await stage.host.start(publish)
    const id = await questionId(stage, 'Publish this?')
    for (const wrong of ['no', '0', '4', '', undefined, { choice: 'Publish' }, ['Publish']]) {
      const error = await rejection(run.answer(id, wrong))
      expect(error).toMatchObject({ code: 'answer-rejected', data: { choices: ['Publish', 'Revise', '3'] } })
    }
    await run.answer(id, 'Publish')
    expect(await run.result()).toBe('you said Publish')
  })

  it('keeps the first valid answer, and tells the second who was first', async () => {
    const stage = await openStage()
    const run = await stage.host.start(publish)
    const id = await questionId(stage, 'Publish this?')
    const both = await Promise.allSettled([
      run.answer(id, 'Revise', { by: 'ada', via: 'cli' }),
      run.answer(id, 'Publish', { by: 'bob' }),
    ])
    expect(both[0].status).toBe('fulfilled')
    expect((both[1] as PromiseRejectedResult).reason).toMatchObject({
      code: 'already-answered',
      data: { by: 'ada', via: 'cli' },
    })
    expect(await run.result()).toBe('you said Revise')
    const late = await rejection(stage.host.answer(id, 'Publish'))
    expect(late).toMatchObject({ code: 'already-answered', data: { value: 'Revise' } })
    expect(late.message).toContain('by ada via cli')
    const answered = (await stage.host.journal(run.id)).filter(({ event }) => event.type === 'question-answered')
    expect(answered).toHaveLength(1)
  })

  it('with choices and a schema takes a choice, or an object that fits', async () => {
    const reason: Schema<{ deny: string }> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          typeof (value as { deny?: unknown }).deny === 'string'
            ? { value: value as { deny: string } }
            : { issues: [{ message: 'must be text', path: ['deny'] }] },
      },
    }
    const both = workflow('both', (ctx) => ctx.ask('May I?', { choices: ['allow', 'deny'], schema: reason }))
    for (const [given, taken] of [
      ['2', 'deny'],
      [{ deny: 'no' }, { deny: 'no' }],
    ] as const) {
      const stage = await openStage()
      const run = await stage.host.start(both)
      const id = await questionId(stage, 'May I?')
      for (const wrong of [{ deny: 1 }, 'perhaps', null])
        expect(await rejection(run.answer(id, wrong))).toMatchObject({ code: 'answer-rejected' })
      await run.answer(id, given)
      expect(await run.result()).toEqual(taken)
    }
  })

  it('checks a free answer with its schema and gives back what the schema made of it', async () => {
    const stage = await openStage()
    const asking = workflow('asking', (ctx) => ctx.ask('How much?', { schema: positive }))
    const run = await stage.host.start(asking)
    const id = await questionId(stage, 'How much?')
    const error = await rejection(run.answer(id, '-1'))
    expect(error.code).toBe('answer-rejected')
    expect(error.message).toContain('amount: must be above 0')
    await run.answer(id, '12')
    expect(await run.result()).toBe(12)
  })

  it('survives an answer that a journal cannot keep', async () => {
    const stage = await openStage()
    const run = await stage.host.start(workflow('asking', (ctx) => ctx.ask<string, unknown>('Well?')))
    const id = await questionId(stage, 'Well?')
    expect((await rejection(run.answer(id, () => 'a function'))).code).toBe('bad-value')
    await run.answer(id, new Map([['kept', 1n]]))
    expect(await run.result()).toEqual(new Map([['kept', 1n]]))
  })

  it('says plainly that there is no such question', async () => {
    const stage = await openStage()
    const run = await stage.host.start(publish)
    await run.rest()
    expect((await rejection(run.answer(`${run.id}-99`, 'x'))).code).toBe('not-found')
    expect((await rejection(stage.host.answer('nonsense', 'x'))).code).toBe('not-found')
    expect((await rejection(stage.host.answer('no-1', 'x'))).code).toBe('not-found')
  })

  it('is refused when it makes no sense', async () => {
    const { host } = await openStage()
    const senseless = [
      workflow('none', (ctx) => ctx.ask('')),
      workflow('empty', (ctx) => ctx.ask('Which?', { choices: [] })),
      workflow('twice', (ctx) => ctx.ask('Which?', { choices: ['a', 'a'] })),
      workflow('deadline', (ctx) => ctx.ask('Which?', { onDeadline: 'fail' })),
    ]
    for (const one of senseless)
      expect((await rejection((await host.start(one)).result())).cause).toMatchObject({ code: 'bad-option' })
  })
})

describe('two open questions in one run', () => {
  const two = workflow('two', (ctx) => Promise.all([ctx.ask('First?'), ctx.ask('Second?'), ctx.gate('Third?')]))

  for (const order of [
    ['First?', 'Second?', 'Third?'],
    ['Third?', 'Second?', 'First?'],
    ['Second?', 'First?', 'Third?'],
  ]) {
    it(`are answered in the order ${order.join(' ')}`, async () => {
      const stage = await openStage()
      const run = await stage.host.start(two)
      expect(await run.rest()).toBe('waiting')
      expect((await stage.host.inbox()).map((one) => one.prompt)).toEqual(['First?', 'Second?', 'Third?'])
      for (const prompt of order)
        await run.answer(await questionId(stage, prompt), prompt === 'Third?' ? 'approve' : `re ${prompt}`)
      expect(await run.result()).toEqual(['re First?', 're Second?', 'approve'])
    })
  }
})

describe('a deadline', () => {
  it('gives the default, and says that nobody answered', async () => {
    const { host, clock } = await openStage()
    const run = await host.start(
      workflow('late', (ctx) =>
        ctx.ask('Publish?', { choices: ['publish', 'revise'], deadline: '2d', onDeadline: { default: 'revise' } }),
      ),
    )
    expect(await run.rest()).toBe('waiting')
    clock.advance(2 * 86_400_000 - 1)
    expect((await host.inbox()).length).toBe(1)
    clock.advance(1)
    expect(await run.result()).toBe('revise')
    const answered = (await host.journal(run.id)).find(({ event }) => event.type === 'question-answered')
    expect(answered?.event).toMatchObject({ by: 'deadline', value: 'revise' })
  })

  it('fails the question', async () => {
    const { host, clock } = await openStage()
    for (const options of [{ deadline: '1h' }, { deadline: '1h', onDeadline: 'fail' as const }]) {
      const run = await host.start(workflow('late', (ctx) => ctx.ask('Publish?', options)))
      await run.rest()
      const id = (await host.inbox())[0]?.id ?? ''
      clock.advance(3_600_000)
      expect((await rejection(run.result())).cause).toMatchObject({ code: 'deadline-passed' })
      expect((await rejection(run.answer(id, 'x'))).code).toBe('run-ended')
    }
  })

  it('cancels the run', async () => {
    const { host, clock } = await openStage()
    const run = await host.start(
      workflow('late', (ctx) => ctx.ask('Publish?', { deadline: 1_000, onDeadline: 'cancel' })),
    )
    await run.rest()
    clock.advance(1_000)
    expect((await rejection(run.result())).code).toBe('cancelled')
    expect((await host.run(run.id)).status).toBe('cancelled')
  })

  it('does not come after an answer', async () => {
    const stage = await openStage()
    const { host, clock } = stage
    const run = await host.start(
      workflow('early', async (ctx) => {
        const answer = await ctx.ask('Publish?', { deadline: '1h' })
        await ctx.sleep('2h')
        return answer
      }),
    )
    await run.rest()
    await run.answer(await questionId(stage, 'Publish?'), 'yes')
    await run.rest()
    clock.advance(3 * 3_600_000)
    expect(await run.result()).toBe('yes')
  })
})

it('an answered question is not in the inbox of whoever answered it', async () => {
  const { host } = await openStage()
  const asks = workflow('asks', async (ctx) => [await ctx.ask('First?'), await ctx.ask('Second?')])
  const run = await host.start(asks)
  for (const prompt of ['First?', 'Second?']) {
    await run.rest()
    const [question, ...others] = await host.inbox()
    expect([question?.prompt, others]).toEqual([prompt, []])
    await run.answer(question?.id ?? '', 'yes')
    expect((await host.inbox()).map((one) => one.id)).not.toContain(question?.id)
    expect((await host.run(run.id)).status).not.toBe(prompt === 'First?' ? 'none' : 'waiting')
  }
  expect(await run.result()).toEqual(['yes', 'yes'])
})
