/** Resuming and replaying over code that has changed: nothing is guessed. */
import { describe, expect, it } from 'vitest'
import { workflow, type Context } from 'nerve'
import { openStage, rejection, until } from './stage.ts'

type Body = (ctx: Context<unknown>, ran: string[]) => Promise<unknown>

const step = (ctx: Context<unknown>, ran: string[], label: string, input?: unknown): Promise<string> =>
  ctx.step(
    label,
    () => {
      ran.push(label)
      return `${label} done`
    },
    input === undefined ? {} : { input },
  )

const OLD: Body = async (ctx, ran) => {
  const a = await step(ctx, ran, 'a', { version: 1 })
  const b = await step(ctx, ran, 'b')
  const c = await step(ctx, ran, 'c')
  const answer = await ctx.ask('Go on?')
  return [a, b, c, answer]
}

/** A run of the old code that waits, found by a host that has the new code. */
async function edited(body: Body) {
  const ran: string[] = []
  const old = workflow('edited', (ctx) => OLD(ctx, ran))
  const first = await openStage()
  const started = await first.host.start(old)
  await started.rest()
  await first.host.close()
  ran.length = 0
  const changed = workflow('edited', (ctx) => body(ctx, ran))
  const { host } = await openStage({ store: first.store, definitions: [changed] })
  const run = await host.handle(started.id)
  const question = (await host.inbox())[0]?.id ?? ''
  return { host, run, ran, question }
}

describe('resume over changed code', () => {
  it('goes on when the code does the same, in other words', async () => {
    const { run, question, ran } = await edited(async (ctx, now) => {
      const results = [await step(ctx, now, 'a', { version: 1 }), await step(ctx, now, 'b'), await step(ctx, now, 'c')]
      return [...results, await ctx.ask('Go on?'), 'new ending']
    })
    await run.answer(question, 'yes')
    expect(await run.result()).toEqual(['a done', 'b done', 'c done', 'yes', 'new ending'])
    expect(ran).toEqual([])
  })

  it('goes on when a step was added where the journal ends, and runs it', async () => {
    const { run, question, ran } = await edited(async (ctx, now) => {
      const old = await OLD(ctx, now)
      return [old, await step(ctx, now, 'd')]
    })
    await run.answer(question, 'yes')
    expect(await run.result()).toEqual([['a done', 'b done', 'c done', 'yes'], 'd done'])
    expect(ran).toEqual(['d'])
  })

  it('stops when the input of a recorded step has changed, shows the plan, and runs it again when told', async () => {
    const { host, run, question, ran } = await edited(async (ctx, now) => {
      const a = await step(ctx, now, 'a', { version: 2 })
      return [a, await step(ctx, now, 'b'), await step(ctx, now, 'c'), await ctx.ask('Go on?')]
    })
    expect(await host.plan(run.id)).toMatchObject({ rerun: ['a'] })
    const error = await rejection(run.answer(question, 'yes'))
    expect(error.code).toBe('diverged')
    await until(async () => (await host.run(run.id)).status === 'paused')
    expect(ran).toEqual([])
    expect((await rejection(run.resume())).code).toBe('diverged')
    await run.resume({ accept: true, by: 'ada' })
    await run.rest()
    // What came after it may depend on it, so nothing after it is kept.
    expect(ran).toEqual(['a', 'b', 'c'])
    await run.answer((await host.inbox()).at(-1)?.id ?? '', 'yes')
    expect(await run.result()).toEqual(['a done', 'b done', 'c done', 'yes'])
    expect((await host.journal(run.id)).find(({ event }) => event.type === 'plan-accepted')?.event).toMatchObject({
      forget: ['a'],
      by: 'ada',
    })
  })

  it('stops when a recorded step is not reached, and ignores it when told', async () => {
    const { host, run, question, ran } = await edited(async (ctx, now) => {
      const a = await step(ctx, now, 'a', { version: 1 })
      return [a, await step(ctx, now, 'c'), await ctx.ask('Go on?')]
    })
    expect(await host.plan(run.id)).toEqual({ keep: 3, rerun: [], unknown: ['b'] })
    expect((await rejection(run.answer(question, 'yes'))).code).toBe('diverged')
    await run.resume({ accept: true })
    await run.answer(question, 'yes')
    expect(await run.result()).toEqual(['a done', 'c done', 'yes'])
    expect(ran).toEqual([])
  })

  it('stops when a step was put in between, since what follows was not reached by it', async () => {
    const { host, run, ran } = await edited(async (ctx, now) => {
      const a = await step(ctx, now, 'a', { version: 1 })
      const between = await step(ctx, now, 'between')
      return [a, between, await step(ctx, now, 'b'), await step(ctx, now, 'c'), await ctx.ask('Go on?')]
    })
    const plan = await host.plan(run.id)
    expect(plan).toMatchObject({ keep: 1, rerun: [] })
    expect(plan.unknown.toSorted()).toEqual(['ask', 'b', 'c'])
    expect(ran).toEqual([])
    await run.resume({ accept: true })
    await run.rest()
    expect(ran).toContain('between')
  })

  it('stops when a step has become something else', async () => {
    const { host, run, question } = await edited(async (ctx, now) => {
      const a = await step(ctx, now, 'a', { version: 1 })
      await ctx.sleep('1h', { label: 'b' })
      return [a, await step(ctx, now, 'c'), await ctx.ask('Go on?')]
    })
    expect((await host.plan(run.id)).rerun).toEqual(['b'])
    expect((await rejection(run.answer(question, 'yes'))).code).toBe('diverged')
  })

  it('forgets everything from a path on when told', async () => {
    const { run, ran, host } = await edited(OLD)
    await run.resume({ from: 'b' })
    await run.rest()
    expect(ran).toEqual(['b', 'c'])
    await run.answer((await host.inbox())[0]?.id ?? '', 'again')
    expect(await run.result()).toEqual(['a done', 'b done', 'c done', 'again'])
    expect((await rejection(run.resume({ from: 'nowhere' }))).code).toMatch(/not-found|run-ended/)
  })

  it('goes on by itself when the code is put back', async () => {
    const { host, run, question, ran } = await edited(async (ctx, now) => [await step(ctx, now, 'other')])
    expect((await rejection(run.answer(question, 'yes'))).code).toBe('diverged')
    host.register(workflow('edited', (ctx) => OLD(ctx, ran)))
    await run.resume()
    await run.rest()
    await run.answer(question, 'yes')
    expect(await run.result()).toEqual(['a done', 'b done', 'c done', 'yes'])
    expect(ran).toEqual([])
  })
})

describe('the replay of a finished run', () => {
  async function finished(body: Body) {
    const ran: string[] = []
    const { host } = await openStage()
    const run = await host.start(workflow('finished', (ctx) => body(ctx, ran)))
    await run.result().catch(() => undefined)
    ran.length = 0
    const replay = (other: Body) =>
      host.replay(
        run.id,
        workflow('finished', (ctx) => other(ctx, ran)),
      )
    return { replay, ran }
  }
  const good: Body = async (ctx, ran) => [await step(ctx, ran, 'a', 1), await step(ctx, ran, 'b'), ctx.now() > 0]

  it('says that the code does the same, and has no effects', async () => {
    const { replay, ran } = await finished(good)
    expect(await replay(good)).toMatchObject({ same: true, problems: [], plan: { keep: 3, rerun: [], unknown: [] } })
    expect(ran).toEqual([])
  })

  const changes: Readonly<Record<string, readonly [Body, RegExp]>> = {
    'another result': [
      async (ctx, ran) => [...((await good(ctx, ran)) as unknown[]), 'more'],
      /the result was .* and now is/,
    ],
    'another input': [
      async (ctx, ran) => [await step(ctx, ran, 'a', 2), await step(ctx, ran, 'b'), ctx.now() > 0],
      /the input changed at: a/,
    ],
    'a step less': [
      async (ctx, ran) => [await step(ctx, ran, 'a', 1), 'b done', ctx.now() > 0],
      /recorded but not reached: b/,
    ],
    'a step more': [
      async (ctx, ran) => [await good(ctx, ran), await step(ctx, ran, 'c')],
      /reached but not recorded: c/,
    ],
    'an error': [
      async (ctx, ran) => {
        await good(ctx, ran)
        throw new Error('new trouble')
      },
      /completed, and now fails: new trouble/,
    ],
  }
  for (const [what, [body, problem]] of Object.entries(changes)) {
    it(`tells of ${what}`, async () => {
      const { replay, ran } = await finished(good)
      const { same, problems } = await replay(body)
      expect(same).toBe(false)
      expect(problems.join('\n')).toMatch(problem)
      expect(ran).toEqual([])
    })
  }

  it('of a failed run expects the failure', async () => {
    const failing: Body = async (ctx) => ctx.step('a', () => Promise.reject(new Error('broken')))
    const { replay } = await finished(failing)
    expect((await replay(failing)).problems).toEqual([])
    const { problems } = await replay((ctx) =>
      ctx.step('a', () => Promise.reject(new Error('broken'))).catch(() => 'fine'),
    )
    expect(problems.join()).toMatch(/failed \(broken\), and now completes/)
  })
})
