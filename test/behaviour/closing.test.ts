/** A host that ends: what runs may finish, and what is left goes on with the next host. */
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import { gate, openStage, quiet, rejection, until } from './stage.ts'

/** Longer than a test may take: a host that waits for it fails the test. */
const LONG = { grace: '1h' } as const

const asking = workflow('asking', (ctx) => ctx.ask('Well?'))

describe('what a host leaves when it ends', () => {
  it('is taken up where a branch had more to do and a child of the run waits', async () => {
    const [first, ran] = [gate(), [] as string[]]
    const both = workflow('both', (ctx) =>
      ctx.all([
        () => ctx.child(asking, undefined),
        async () => {
          await ctx.step('one', () => first.promise)
          await ctx.step('two', () => void ran.push('two'))
        },
      ]),
    )
    const store = new MemoryStore()
    const { host } = await openStage({ store })
    const run = await host.start(both)
    await until(async () => (await host.inbox()).length === 1)
    const closed = host.close(LONG)
    await quiet()
    first.resolve()
    await closed
    expect(ran).toEqual([])
    const { host: next } = await openStage({ store, definitions: [both, asking] })
    expect(next.recovered.recovered).toEqual([run.id])
    await until(() => ran.length === 1)
  })

  it('is paused and nobody has it, where its code has changed and the host is closed as soon as somebody is told', async () => {
    /** As a file is: what is closed cannot be written to. */
    class Closable extends MemoryStore {
      closed = false
      override async release(root: string, host: string): Promise<void> {
        await turn()
        if (this.closed) throw new Error('the store is closed')
        return super.release(root, host)
      }
      override async close(): Promise<void> {
        this.closed = true
      }
    }
    const store = new Closable()
    const code = (label: string) =>
      workflow('changed', async (ctx) => [await ctx.step(label, () => 1), await ctx.ask('Well?')])
    const { host: before } = await openStage({ store })
    const run = await before.start(code('one'))
    await run.rest()
    const [question] = await before.inbox()
    await before.close()
    store.closed = false
    const { host, problems } = await openStage({ store, definitions: [code('other')] })
    expect((await rejection(host.answer(question?.id ?? '', 'yes'))).message).toMatch(/has changed/u)
    await host.close()
    await quiet()
    expect(problems).toEqual([])
    const [left] = await store.heads({})
    expect({ status: left?.head.status, owner: left?.owner }).toEqual({ status: 'paused', owner: undefined })
  })

  it('is taken up where a child of the run was at work that had waited before', async () => {
    const ran: string[] = []
    const child = workflow('child', async (ctx) => {
      await ctx.ask('Well?')
      await ctx.step('work', () => {
        ran.push('work')
        return ran.length === 1 ? gate().promise : undefined
      })
    })
    const parent = workflow('parent', (ctx) => ctx.child(child, undefined))
    const store = new MemoryStore()
    const { host } = await openStage({ store })
    const run = await host.start(parent)
    await run.rest()
    await host.answer((await host.inbox())[0]?.id ?? '', 'yes')
    await until(() => ran.length === 1)
    await quiet()
    await host.close()
    const { host: next } = await openStage({ store, definitions: [parent, child] })
    expect(next.recovered.recovered).toEqual([run.id])
    await (await next.handle(run.id)).result()
    expect(ran).toEqual(['work', 'work'])
  })

  it('is taken up where more runs come to rest than stay in memory', async () => {
    const [first, ran] = [gate(), new Set<string>()]
    const both = workflow('both', (ctx, name: string) =>
      ctx.all([
        () => ctx.ask('Well?'),
        async () => {
          await ctx.step('one', () => first.promise)
          await ctx.step('two', () => void ran.add(name))
        },
      ]),
    )
    const store = new MemoryStore()
    const { host } = await openStage({ store, maxResident: 1 })
    const names = ['a', 'b', 'c', 'd']
    for (const name of names) await host.start(both, name)
    await until(async () => (await host.inbox()).length === names.length)
    const closed = host.close(LONG)
    await quiet()
    first.resolve()
    await closed
    expect([...ran]).toEqual([])
    await openStage({ store, definitions: [both] })
    await until(() => ran.size === names.length)
  })
})

describe('a host that is closed with a grace', () => {
  const slow = workflow('slow', (ctx) => ctx.step('one', () => gate().promise))

  it('ends at once when it is closed again without one, and both hear of the end', async () => {
    const { host } = await openStage()
    await host.start(slow)
    const closed = host.close(LONG)
    await quiet()
    await host.close()
    await expect(closed).resolves.toBeUndefined()
  })

  it('ends after the shorter one of two', async () => {
    const { host } = await openStage()
    await host.start(slow)
    const closed = host.close(LONG)
    await quiet()
    await host.close({ grace: 1 })
    await expect(closed).resolves.toBeUndefined()
  })

  it('does not wait for an attempt that would be held back', async () => {
    let ran = 0
    const failing = workflow('failing', (ctx) =>
      ctx.step(
        'one',
        () => {
          ran += 1
          if (ran === 1) throw new Error('no luck')
          return ran
        },
        { attempts: 2, backoff: '2h' },
      ),
    )
    const store = new MemoryStore()
    const { host, clock } = await openStage({ store })
    const run = await host.start(failing)
    await until(() => ran === 1)
    await host.close(LONG)
    const { host: next } = await openStage({ store, clock, definitions: [failing] })
    const result = (await next.handle(run.id)).result()
    await quiet()
    clock.advance(7_200_000)
    expect(await result).toBe(2)
  })

  it('starts nothing that was asked for before and is not there yet', async () => {
    const [checked, hold, ran] = [gate(), gate(), [] as string[]]
    const store = new MemoryStore()
    const held = workflow('held', (ctx) => ctx.step('one', () => hold.promise))
    const validate = (value: unknown) => checked.promise.then(() => ({ value }))
    const input = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const parsed = workflow('parsed', { input }, (ctx) => ctx.step('one', () => void ran.push('parsed')))
    const { host } = await openStage({ store })
    await host.start(held)
    const start = rejection(host.start(parsed))
    await quiet()
    const closed = host.close(LONG)
    await quiet()
    checked.resolve()
    expect((await start).code).toBe('host-closed')
    hold.resolve()
    await closed
    expect(ran).toEqual([])
    expect((await store.heads({})).length).toBe(1)
  })
})
