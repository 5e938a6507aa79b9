/** Two hosts over one store: one drives a run, the other may ask it for everything. */
import { describe, expect, it } from 'vitest'
import { workflow, type RunFilter, type Schema } from 'nerve'
import { gate, openStage, quiet, rejection, until } from './stage.ts'

const asking = workflow('asking', async (ctx) => {
  const answer = await ctx.ask('Well?', { choices: ['yes', 'no'] })
  return `${answer} ${String(await ctx.waitFor('go'))}`
})

async function twoHosts() {
  const one = await openStage({ definitions: [asking] })
  const two = await openStage({ store: one.store, clock: one.clock, definitions: [asking] })
  return { one: one.host, two: two.host, problems: [...one.problems, ...two.problems] }
}

describe('a host that does not drive a run', () => {
  it('answers, signals and hears of its end through the one that does', async () => {
    const { one, two, problems } = await twoHosts()
    const run = await one.start(asking)
    await run.rest()
    const other = await two.handle(run.id)
    const result = other.result()
    const question = (await two.inbox())[0]?.id ?? ''
    expect((await rejection(other.answer(question, 'maybe'))).code).toBe('answer-rejected')
    await other.answer(question, 'yes', { by: 'bob' })
    expect((await rejection(other.answer(question, 'no'))).message).toContain('by bob')
    await other.signal('go', 'now')
    expect(await run.result()).toBe('yes now')
    expect(await result).toBe('yes now')
    expect(problems).toEqual([])
  })

  it('pauses, resumes and cancels it', async () => {
    const { one, two } = await twoHosts()
    const run = await one.start(asking)
    await run.rest()
    const other = await two.handle(run.id)
    await other.pause()
    expect((await one.run(run.id)).status).toBe('paused')
    await other.resume()
    await until(async () => (await one.run(run.id)).status === 'waiting')
    await other.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
  })

  it('is not kept waiting by a command that takes its time, of another run or of this one', async () => {
    const checked = gate()
    let looks = 0
    const slow: Schema<string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: async (value) => {
          looks += 1
          await checked.promise
          return { value: String(value) }
        },
      },
    }
    const asks = workflow('asks', (ctx) => ctx.ask('Well?', { schema: slow }))
    const one = await openStage({ definitions: [asks] })
    const two = await openStage({ store: one.store, clock: one.clock, recover: false })
    const [first, second] = [await one.host.start(asks), await one.host.start(asks)]
    await Promise.all([first.rest(), second.rest()])
    const question = (await one.host.run(first.id)).questions[0]?.id ?? ''
    const answered = two.host.answer(question, 'yes')
    await until(() => looks === 1)
    await (await two.host.handle(second.id)).cancel()
    await (await two.host.handle(first.id)).pause()
    expect((await one.host.run(first.id)).status).toBe('paused')
    checked.resolve()
    await answered
    expect(await first.result()).toBe('yes')
    expect([looks, one.problems]).toEqual([1, []])
  })

  it('hears that it rests, whatever it rests in', async () => {
    const works = [gate(), gate(), gate()]
    let next = 0
    const child = workflow('child', (ctx) => ctx.ask('Well?'))
    const resting = workflow('resting', { budget: { steps: 2 } }, async (ctx) => {
      await ctx.step('first', () => works[(next += 1) - 1]?.promise)
      await ctx.child(child, undefined)
      await ctx.step('second', () => works[(next += 1) - 1]?.promise)
      await ctx.step('third', () => 1)
    })
    const one = await openStage({ definitions: [resting, child] })
    const two = await openStage({ store: one.store, clock: one.clock, recover: false })
    const run = await one.host.start(resting)
    await until(() => next === 1)
    const other = await two.host.handle(run.id)
    const first = other.rest()
    works[0]?.resolve()
    expect(await first).toBe('waiting')
    // Also when it has long been at rest.
    expect(await other.rest()).toBe('waiting')
    const result = rejection(other.result())
    await one.host.answer((await one.host.inbox())[0]?.id ?? '', 'yes')
    await until(() => next === 2)
    await run.pause()
    let rested: string | undefined
    const second = other.rest().then((status) => (rested = status))
    await quiet()
    expect(rested).toBeUndefined()
    works[1]?.resolve()
    expect(await second).toBe('paused')
    await run.resume()
    expect((await result).code).toBe('budget-exhausted')
    expect(await other.rest()).toBe('exhausted')
  })

  it('does not take it: a step runs in one of them only', async () => {
    const hold = gate<string>()
    let ran = 0
    const slow = workflow('slow', (ctx) =>
      ctx.step('work', () => {
        ran += 1
        return hold.promise
      }),
    )
    const one = await openStage({ definitions: [slow] })
    const run = await one.host.start(slow)
    await until(() => ran === 1)
    const two = await openStage({ store: one.store, clock: one.clock, definitions: [slow] })
    expect(two.host.recovered.recovered).toEqual([])
    expect((await two.host.recover()).recovered).toEqual([])
    expect((await two.host.run(run.id)).status).toBe('running')
    hold.resolve('done')
    expect(await run.result()).toBe('done')
    expect(ran).toBe(1)
  })

  it('takes it when the other one, elsewhere, died a moment ago and stays silent', async () => {
    const ran: string[] = []
    const slow = (by: string, work: () => Promise<string>) =>
      workflow('slow', (ctx) =>
        ctx.step('work', () => {
          ran.push(by)
          return work()
        }),
      )
    const one = await openStage()
    const run = await one.host.start(slow('one', () => gate<string>().promise))
    await until(() => ran.length === 1)
    const [record] = await one.store.hosts()
    await one.store.beat({ ...(record as NonNullable<typeof record>), machine: 'elsewhere' })
    const two = await openStage({
      store: one.store,
      clock: one.clock,
      definitions: [slow('two', () => Promise.resolve('done'))],
    })
    expect(two.host.recovered.recovered).toEqual([])
    one.clock.advance(29_000)
    await quiet()
    expect(ran).toEqual(['one'])
    one.clock.advance(1_000)
    expect(await (await two.host.handle(run.id)).result()).toBe('done')
    expect(ran).toEqual(['one', 'two'])
    expect(two.problems).toEqual([])
  })

  it('takes it when the other one closes', async () => {
    const { one, two } = await twoHosts()
    const run = await one.start(asking)
    await run.rest()
    await one.close()
    const other = await two.handle(run.id)
    await other.answer((await two.inbox())[0]?.id ?? '', 'no')
    await other.signal('go', 'later')
    expect(await other.result()).toBe('no later')
  })

  it('lists runs by the status that it shows them with, however many others are stored alike', async () => {
    const hold = gate()
    const slow = workflow('slow', (ctx) => ctx.step('work', () => hold.promise))
    const one = await openStage({ definitions: [slow] })
    const left = await one.host.start(slow)
    await until(async () => (await one.host.run(left.id)).status === 'running')
    await one.host.close({ grace: 0 })
    // It does not know the definition, so it takes nothing up.
    const two = await openStage({ store: one.store, clock: one.clock })
    const three = await openStage({ store: one.store, clock: one.clock, definitions: [slow], recover: false })
    const driven = await Promise.all([1, 2, 3].map(() => three.host.start(slow)))
    const listed = async (filter: RunFilter): Promise<string[]> =>
      (await two.host.runs(filter)).map(({ run }) => run).toSorted()
    expect((await two.host.run(left.id)).status).toBe('queued')
    expect(await listed({ status: ['queued'] })).toEqual([left.id])
    expect(await listed({ status: ['queued'], limit: 1 })).toEqual([left.id])
    expect(await listed({ status: ['running'] })).toEqual(driven.map(({ id }) => id).toSorted())
    expect(await listed({ status: ['running', 'queued'], limit: 4 })).toHaveLength(4)
    expect(await listed({ status: ['crashed'] })).toEqual([])
    hold.resolve()
  })
})
