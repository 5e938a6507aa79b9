/** Runs that wait cost rows, not memory: they are parked, and an answer, a signal or their time loads them again. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { workflow, type Schema } from 'nerve'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

describe('parked runs', () => {
  it('of a hundred, one is answered and only that one goes on', async () => {
    let begun = 0
    const asking = workflow('asking', async (ctx, name: string) => {
      begun += 1
      const first = await ctx.step('first', () => `${name} asks`)
      const answer = await ctx.ask(`Well, ${name}?`)
      return ctx.step('second', () => `${first}, you said ${answer}`)
    })
    const { host, problems } = await openStage({ maxResident: 4 })
    const runs = await Promise.all(Array.from({ length: 100 }, (_, index) => host.start(asking, `run ${index}`)))
    await Promise.all(runs.map((run) => run.rest()))
    expect(begun).toBe(100)
    const inbox = await host.inbox()
    expect(inbox).toHaveLength(100)
    const wanted = inbox.find((one) => one.prompt === 'Well, run 42?')
    await host.answer(wanted?.id ?? '', 'yes')
    expect(await runs[42]?.result()).toBe('run 42 asks, you said yes')
    expect(begun).toBe(101)
    expect(await host.inbox()).toHaveLength(99)
    expect((await host.runs({ status: ['waiting'] })).length).toBe(99)
    expect(problems).toEqual([])
  })

  it.each(['alone', 'beside another command'])('take an answer that a schema looks at for long, %s', async (how) => {
    const looking = gate()
    const validate = async (value: unknown) => {
      await looking.promise
      return { value }
    }
    const slow: Schema<unknown> = { '~standard': { version: 1, vendor: 'slow', validate } }
    const asking = workflow('asking', (ctx) => ctx.ask('Well?', { schema: slow }))
    const { host } = await openStage({ maxResident: 0 })
    const run = await host.start(asking)
    await run.rest()
    await until(async () => (await host.run(run.id)).owner === undefined, 'it is parked')
    const [question] = await host.inbox()
    const answered = host.answer(question?.id ?? '', 'yes').catch((error: unknown) => error)
    await until(async () => (await host.run(run.id)).owner === host.id, 'it is in memory')
    if (how !== 'alone') await run.signal('other')
    await quiet()
    looking.resolve()
    expect(await answered).toBeUndefined()
    expect(await run.result()).toBe('yes')
  })

  it('are woken by their time, each at its own', async () => {
    const woken: number[] = []
    const sleeping = workflow('sleeping', async (ctx, hours: number) => {
      await ctx.sleep(hours * 3_600_000)
      await ctx.step('wake', () => woken.push(hours))
      return hours
    })
    const { host, clock, problems } = await openStage({ maxResident: 0 })
    const runs = await Promise.all(Array.from({ length: 30 }, (_, index) => host.start(sleeping, index + 1)))
    await Promise.all(runs.map((run) => run.rest()))
    await quiet()
    clock.advance(10 * 3_600_000)
    await until(() => woken.length === 10, 'ten runs awake')
    await quiet()
    expect(woken.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    clock.advance(20 * 3_600_000)
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(
      Array.from({ length: 30 }, (_, index) => index + 1),
    )
    expect(problems).toEqual([])
  })

  it('are woken although another one that is due cannot be', async () => {
    const napping = (name: string, hours: number) =>
      workflow(name, async (ctx) => {
        await ctx.sleep(hours * 3_600_000)
        return 'awake'
      })
    const first = await openStage({ maxResident: 0 })
    const lost = await first.host.start(napping('lost', 1))
    const kept = await first.host.start(napping('kept', 2))
    await Promise.all([lost.rest(), kept.rest()])
    await quiet()
    await first.host.close()
    const { host, clock, problems } = await openStage({
      store: first.store,
      clock: first.clock,
      definitions: [napping('kept', 2)],
      maxResident: 0,
    })
    clock.advance(3_600_000)
    await until(() => problems.length > 0, 'the run that has no definition to be told of')
    expect(await timePasses(clock, (await host.handle(kept.id)).result())).toBe('awake')
    expect((await host.run(lost.id)).status).toBe('waiting')
  })

  it('take signals, and keep those that come while nobody drives them', async () => {
    const waiting = workflow('waiting', async (ctx) => [await ctx.waitFor('one'), await ctx.waitFor('two')])
    const { host } = await openStage({ maxResident: 0 })
    const run = await host.start(waiting)
    await run.rest()
    await quiet()
    await run.signal('two', 2)
    await run.rest()
    await quiet()
    await run.signal('one', 1)
    expect(await run.result()).toEqual([1, 2])
  })

  it('expire their questions', async () => {
    const late = workflow('late', (ctx) => ctx.ask('Well?', { deadline: '1h', onDeadline: { default: 'nobody' } }))
    const { host, clock } = await openStage({ maxResident: 0 })
    const run = await host.start(late)
    await run.rest()
    await quiet()
    clock.advance(3_600_000)
    expect(await run.result()).toBe('nobody')
  })

  it('with children wait together, and the child takes its answer', async () => {
    const child = workflow('child', (ctx, name: string) => ctx.ask(`Well, ${name}?`))
    const parent = workflow('parent', (ctx) => ctx.map(['a', 'b'], (name) => ctx.child(child, name)))
    const { host } = await openStage({ maxResident: 0, definitions: [parent, child] })
    const run = await host.start(parent)
    expect(await run.rest()).toBe('waiting')
    await quiet()
    for (const prompt of ['Well, b?', 'Well, a?']) {
      const question = (await host.inbox()).find((one) => one.prompt === prompt)
      await host.answer(question?.id ?? '', `re ${prompt}`)
      await quiet()
    }
    expect(await run.result()).toEqual(['re Well, a?', 're Well, b?'])
  })

  describe('whose child asks', () => {
    /** The child is opened when the code of its parent comes to it, which may read files on its way. */
    async function parkedParent(goesOn: () => Promise<void> | 'elsewhere') {
      let begun = 0
      const child = workflow('child', (ctx) => ctx.ask('Well?'))
      const parent = workflow('parent', async (ctx) => {
        begun += 1
        const way = begun === 1 ? undefined : goesOn()
        if (way === 'elsewhere') return way
        await way
        return ctx.child(child, undefined)
      })
      const { host } = await openStage({ maxResident: 0, definitions: [parent, child] })
      const run = await host.start(parent)
      await run.rest()
      await until(async () => (await host.run(run.id)).owner === undefined, 'it is parked')
      const [question] = await host.inbox()
      return { host, run, question: question?.id ?? '' }
    }

    it('are answered, however long it takes to read what they did', async () => {
      const reading = gate()
      const { host, run, question } = await parkedParent(() => reading.promise)
      onTestFinished(() => void vi.useRealTimers())
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const failed = host.answer(question, 'yes').then(
        () => undefined,
        (error: unknown) => error,
      )
      await vi.advanceTimersByTimeAsync(5_000)
      reading.resolve()
      await vi.advanceTimersByTimeAsync(100)
      expect(await failed).toBeUndefined()
      expect(await run.result()).toBe('yes')
    })

    it('say that their code has changed, where it has', async () => {
      const { host, question } = await parkedParent(() => 'elsewhere')
      expect((await rejection(host.answer(question, 'yes'))).code).toBe('diverged')
    })
  })
})
