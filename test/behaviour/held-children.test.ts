/** The children of a run that is held (paused, or its budget is spent) go no further than it, and are shown so. */
import { MemoryStore } from 'nerve/testing'
import { describe, expect, it } from 'vitest'
import { workflow, type Host } from 'nerve'
import { gate, openStage, until } from './stage.ts'

/** The child is at its first step, until the gate opens. */
function family() {
  const first = gate()
  const child = workflow('child', async (ctx) => {
    await ctx.step('first', () => first.promise)
    await ctx.step('second', ({ usage }) => usage({ calls: 2 }), { reserve: { calls: 2 } })
  })
  return { first, child, parent: workflow('parent', (ctx) => ctx.child(child, undefined)) }
}

async function childOf(host: Host, run: string) {
  return (await host.runs({ children: true })).find(({ parent }) => parent === run)
}

describe('a child of a held run', () => {
  it.each([
    { why: 'paused', budget: undefined },
    { why: 'exhausted', budget: { calls: 1 } },
  ] as const)('is $why as its root is, driven or not, and goes on with it', async ({ why, budget }) => {
    const store = new MemoryStore()
    const { first, child, parent } = family()
    const { host } = await openStage({ store })
    const run = await host.start(parent, undefined, budget === undefined ? {} : { budget })
    await until(async () => (await childOf(host, run.id))?.status === 'running')
    if (why === 'paused') await run.pause()
    first.resolve()
    expect(await run.rest()).toBe(why)
    const { run: id = '' } = (await childOf(host, run.id)) ?? {}
    expect(await host.run(id)).toMatchObject({ status: why, owner: host.id })
    expect(await (await host.handle(id)).rest()).toBe(why)
    expect((await host.runs({ status: [why], children: true })).map((row) => row.run).toSorted()).toEqual(
      [run.id, id].toSorted(),
    )
    expect((await host.runs({ status: [why] })).map((row) => row.run)).toEqual([run.id])
    expect(await host.runs({ status: ['running', 'queued', 'crashed'], children: true })).toEqual([])
    await host.close()

    const { host: next } = await openStage({ store, definitions: [child, parent] })
    const left = await next.run(id)
    expect({ status: left.status, owner: left.owner }).toEqual({ status: why, owner: undefined })
    expect(await (await next.handle(id)).rest()).toBe(why)
    const again = await next.handle(run.id)
    await again.resume({ budget: { calls: 9 } })
    await again.result()
    expect((await next.run(id)).status).toBe('completed')
  })

  it('is at rest when its last step has ended, and not before', async () => {
    const { first, parent } = family()
    const { host } = await openStage()
    const run = await host.start(parent)
    await until(async () => (await childOf(host, run.id))?.status === 'running')
    await run.pause()
    const { run: id = '' } = (await childOf(host, run.id)) ?? {}
    let rested = false
    const resting = (await host.handle(id)).rest().then((status) => ((rested = true), status))
    await until(async () => (await host.journal(id)).some(({ event }) => event.type === 'step-started'))
    expect(rested).toBe(false)
    first.resolve()
    expect(await resting).toBe('paused')
  })
})
