/** Two hosts over one store: one drives a run, the other may ask it for everything. */
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { gate, openStage, rejection, until } from './stage.ts'

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
})
