/** Questions that a step's function asks: in the inbox like all others, and gone with the attempt that asked. */
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import type { OpenQuestion } from '../../src/journal/port.ts'
import { gate, openStage, quiet, rejection, timePasses, until, type Stage } from './stage.ts'

const careful = workflow('careful', (ctx) =>
  ctx.step('delete', async ({ ask }) => {
    const answer = await ask('Delete it?', { kind: 'permission', choices: ['yes', 'no'], detail: { tool: 'rm' } })
    return answer === 'yes' ? 'deleted' : 'kept'
  }),
)

async function open({ host }: Stage, count = 1): Promise<readonly OpenQuestion[]> {
  await until(async () => (await host.inbox()).length === count, `${count} open questions`)
  return host.inbox()
}

async function types({ host }: Stage, run: string): Promise<string[]> {
  return (await host.journal(run)).map(({ event }) => event.type)
}

describe('a question of a step', () => {
  it('is in the inbox with its kind and detail; the run waits, and goes on with the answer', async () => {
    const stage = await openStage()
    const run = await stage.host.start(careful)
    const [question] = await open(stage)
    expect(question).toMatchObject({
      kind: 'permission',
      prompt: 'Delete it?',
      choices: ['yes', 'no'],
      detail: { tool: 'rm' },
      attempt: 1,
      path: 'delete/#ask-1-1',
    })
    expect((await stage.host.run(run.id)).status).toBe('waiting')
    expect(await rejection(stage.host.answer(question?.id ?? '', 'perhaps'))).toMatchObject({ code: 'answer-rejected' })
    await stage.host.answer(question?.id ?? '', '1', { by: 'ada' })
    expect(await run.result()).toBe('deleted')
    expect(await types(stage, run.id)).toEqual([
      'run-created',
      'step-started',
      'question-asked',
      'question-answered',
      'step-completed',
      'run-completed',
    ])
    expect((await stage.host.replay(run.id)).same).toBe(true)
  })

  it('leaves the inbox when its signal aborts: it was answered in another way', async () => {
    const stage = await openStage()
    const elsewhere = new AbortController()
    const run = await stage.host.start(
      workflow('two-ways', (ctx) =>
        ctx.step('ask', async ({ ask }) => {
          const answer = ask('Here or there?', { signal: elsewhere.signal })
          return answer.catch((error: unknown) => `there: ${(error as Error).message}`)
        }),
      ),
    )
    const [question] = await open(stage)
    elsewhere.abort(new Error('said at the screen'))
    expect(await run.result()).toBe('there: said at the screen')
    expect(await stage.host.inbox()).toEqual([])
    expect(await rejection(stage.host.answer(question?.id ?? '', 'x'))).toMatchObject({ code: 'run-ended' })
    expect((await stage.host.replay(run.id)).same).toBe(true)
  })

  it.each(['answered', 'withdrawn'])(
    'is gone from the inbox once it is %s, also while its function works on',
    async (how) => {
      const stage = await openStage()
      const elsewhere = new AbortController()
      const work = gate()
      const run = await stage.host.start(
        workflow('busy', (ctx) =>
          ctx.step('ask', async ({ ask }) => {
            await ask('Here or there?', { signal: elsewhere.signal }).catch(() => undefined)
            await work.promise
          }),
        ),
      )
      const [question] = await open(stage)
      if (how === 'answered') await stage.host.answer(question?.id ?? '', 'here')
      else elsewhere.abort(new Error('there'))
      await until(async () => (await stage.host.inbox()).length === 0, 'an empty inbox')
      expect((await stage.host.run(run.id)).status).toBe('running')
      work.resolve()
      await run.result()
    },
  )

  it('takes beside its choices what it says it does, and says what that is', async () => {
    const stage = await openStage()
    const free = { type: 'object', required: ['because'], description: 'Say yes, no or {"because": "why"}.' }
    const run = await stage.host.start(
      workflow('free', (ctx) =>
        ctx.step('ask', ({ ask }) => ask<string, unknown>('Delete it?', { choices: ['yes', 'no'], free })),
      ),
    )
    const [question] = await open(stage)
    expect(question).toMatchObject({ free })
    for (const value of ['perhaps', { why: 'not' }, ['yes']]) {
      const refused = await rejection(stage.host.answer(question?.id ?? '', value))
      expect(refused).toMatchObject({ code: 'answer-rejected' })
      expect(refused.message).toBe(`The answer to 'Delete it?' was not taken. Say yes, no or {"because": "why"}.`)
    }
    await stage.host.answer(question?.id ?? '', { because: 'it is old' })
    expect(await run.result()).toEqual({ because: 'it is old' })
  })

  it('leaves the inbox with the attempt that asked, and the next one asks again', async () => {
    const stage = await openStage()
    const heard: unknown[] = []
    const run = await stage.host.start(
      workflow('impatient', (ctx) =>
        ctx.step(
          'ask',
          ({ ask, attempt }) =>
            ask(`Attempt ${attempt}?`).catch((error: unknown) => {
              heard.push((error as { code?: string }).code)
              throw error
            }),
          { timeout: '1m', attempts: 2, backoff: '1s' },
        ),
      ),
    )
    const [first] = await open(stage)
    stage.clock.advance(60_000)
    await until(async () => (await stage.host.inbox()).length === 0)
    expect(heard).toEqual(['timeout'])
    stage.clock.advance(2_000)
    const [second] = await open(stage)
    expect([first?.prompt, second?.prompt]).toEqual(['Attempt 1?', 'Attempt 2?'])
    await stage.host.answer(second?.id ?? '', 'fine')
    expect(await run.result()).toBe('fine')
  })

  it('that nobody waited for is withdrawn when the step ends', async () => {
    const stage = await openStage()
    const run = await stage.host.start(
      workflow('forgetful', (ctx) =>
        ctx.step('ask', async ({ ask }) => {
          void ask('Never mind?').catch(() => undefined)
          return 'done'
        }),
      ),
    )
    expect(await run.result()).toBe('done')
    expect(await stage.host.inbox()).toEqual([])
    expect(await types(stage, run.id)).toContain('question-withdrawn')
  })

  it('ends with the run when it is cancelled', async () => {
    const stage = await openStage()
    const run = await stage.host.start(careful)
    await open(stage)
    await run.cancel()
    expect(await rejection(run.result())).toMatchObject({ code: 'cancelled' })
    expect(await stage.host.inbox()).toEqual([])
  })

  it('takes the default at its deadline', async () => {
    const stage = await openStage()
    const run = await stage.host.start(
      workflow('late', (ctx) =>
        ctx.step('ask', ({ ask }) => ask('Soon?', { deadline: '1h', onDeadline: { default: 'too late' } })),
      ),
    )
    await open(stage)
    expect(await timePasses(stage.clock, run.result())).toBe('too late')
  })

  it('is one of many: each gets its own answer, and a busy step beside it keeps the run running', async () => {
    const stage = await openStage()
    const busy = gate<string>()
    const run = await stage.host.start(
      workflow('many', (ctx) =>
        ctx.all([
          () => ctx.step('pair', ({ ask }) => Promise.all([ask('a?'), ask('b?')])),
          () => ctx.step('work', () => busy.promise),
        ]),
      ),
    )
    const [a, b] = await open(stage, 2)
    expect((await stage.host.run(run.id)).status).toBe('running')
    await stage.host.answer(b?.id ?? '', 'B')
    await stage.host.answer(a?.id ?? '', 'A')
    busy.resolve('worked')
    expect(await run.result()).toEqual([['A', 'B'], 'worked'])
  })

  it('refuses what is no question, and asks nothing after its step has ended', async () => {
    const stage = await openStage()
    let late: ((prompt: string) => Promise<unknown>) | undefined
    const run = await stage.host.start(
      workflow('wrong', (ctx) =>
        ctx.step('ask', async ({ ask }) => {
          late = ask
          const wrong = [ask(''), ask('x', { choices: [] }), ask('x', { free: 'anything' as never })]
          return Promise.all(wrong.map(async (one) => (await rejection(one)).message))
        }),
      ),
    )
    expect(await run.result()).toEqual([
      'A question needs a text to ask.',
      "The question 'x' needs at least one choice, each given once.",
      "The question 'x' has free that is not a JSON Schema: give plain JSON.",
    ])
    expect(await rejection(late?.('Still there?') ?? Promise.resolve())).toMatchObject({ code: 'interrupted' })
  })
})

it('costs no time of the budget until it is answered', async () => {
  const stage = await openStage()
  const { clock, host } = stage
  const works = (ms: number) => new Promise<void>((resolve) => clock.at(clock.now() + ms, resolve))
  const run = await host.start(
    workflow('timed', { budget: { seconds: 10 } }, (ctx) =>
      ctx.step('ask', async ({ ask }) => {
        await works(2_000)
        const answer = await ask('Go on?')
        await works(3_000)
        return answer
      }),
    ),
  )
  await quiet()
  clock.advance(2_000)
  const [question] = await open(stage)
  clock.advance(24 * 3_600_000)
  await quiet()
  expect((await host.run(run.id)).status).toBe('waiting')
  await host.answer(question?.id ?? '', 'yes')
  await quiet()
  clock.advance(3_000)
  expect(await run.result()).toBe('yes')
  expect((await host.run(run.id)).usage.seconds).toBe(5)
})

it('of a process that died is withdrawn when the run is recovered, and asked again', async () => {
  const store = new MemoryStore()
  const before = await openStage({ store, definitions: [careful] })
  const run = await before.host.start(careful)
  const [lost] = await open(before)
  // As after a kill: nothing more is written, and what was open stays in the journal.
  await before.host.close()
  const stage = await openStage({ store, definitions: [careful] })
  await stage.host.recover()
  await until(async () => (await stage.host.inbox())[0]?.id !== lost?.id && (await stage.host.inbox()).length === 1)
  expect(await rejection(stage.host.answer(lost?.id ?? '', 'yes'))).toMatchObject({
    code: 'run-ended',
    message: expect.stringContaining(`nerve resume ${run.id}`) as string,
  })
  const [again] = await stage.host.inbox()
  await stage.host.answer(again?.id ?? '', 'no')
  expect(await stage.host.handle(run.id).then((handle) => handle.result())).toBe('kept')
})
