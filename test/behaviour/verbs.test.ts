/** pause, resume, interrupt, cancel: what they do to a run, and what it then says of itself. */
import { describe, expect, it } from 'vitest'
import { workflow, type Context, type Schema } from 'nerve'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

describe('pause', () => {
  it('starts nothing new, lets what runs end, and resume goes on', async () => {
    const { host } = await openStage()
    const first = gate<string>()
    const ran: string[] = []
    const two = workflow('two', async (ctx) => {
      await ctx.step('first', () => first.promise)
      ran.push('between')
      return ctx.step('second', () => ran.push('second'))
    })
    const run = await host.start(two)
    await run.pause({ by: 'ada' })
    expect((await host.run(run.id)).status).toBe('paused')
    first.resolve('done')
    expect(await run.rest()).toBe('paused')
    await until(() => ran.length === 1)
    await quiet()
    expect(ran).toEqual(['between'])
    await run.resume()
    expect(await run.result()).toBe(2)
    const types = (await host.journal(run.id)).map(({ event }) => event.type)
    expect(types.filter((type) => type === 'run-paused' || type === 'run-resumed')).toEqual([
      'run-paused',
      'run-resumed',
    ])
  })

  it('holds children too, and a paused run is not woken by its time', async () => {
    const { host, clock } = await openStage()
    let ran = 0
    const child = workflow('child', async (ctx) => {
      await ctx.sleep('1h')
      return ctx.step('work', () => (ran += 1))
    })
    const run = await host.start(workflow('parent', (ctx) => ctx.child(child, undefined)))
    await run.rest()
    await run.pause()
    clock.advance(2 * 3_600_000)
    await quiet()
    expect(ran).toBe(0)
    await run.resume()
    expect(await timePasses(clock, run.result())).toBe(1)
  })

  it('survives the host', async () => {
    const first = await openStage()
    const definition = workflow('paused', async (ctx) => {
      await ctx.waitFor('go')
      return ctx.step('work', () => 'done')
    })
    const run = await first.host.start(definition)
    await run.rest()
    await run.pause()
    await first.host.close()
    const { host } = await openStage({ store: first.store, definitions: [definition] })
    const again = await host.handle(run.id)
    expect(await again.rest()).toBe('paused')
    await again.signal('go')
    expect((await host.run(run.id)).status).toBe('paused')
    await again.resume()
    expect(await again.result()).toBe('done')
  })

  it('of a run that nobody drives needs no code', async () => {
    const first = await openStage()
    const definition = workflow('away', (ctx) => ctx.waitFor('go'))
    const run = await first.host.start(definition)
    await run.rest()
    await first.host.close()
    const { host } = await openStage({ store: first.store })
    const again = await host.handle(run.id)
    await again.pause()
    expect((await host.run(run.id)).status).toBe('paused')
    expect((await rejection(again.resume())).code).toBe('definition-missing')
    host.register(definition)
    await again.resume()
    await again.signal('go', 1)
    expect(await again.result()).toBe(1)
  })
})

describe('rest', () => {
  it('does not come while the code waits for something that is not durable', async () => {
    const { host } = await openStage()
    const file = gate<string>()
    const run = await host.start(
      workflow('reading', async (ctx) => {
        await ctx.step('first', () => 1)
        const text = await file.promise
        return ctx.ask(text)
      }),
    )
    const rested = run.rest()
    await quiet(30)
    file.resolve('Well?')
    expect(await rested).toBe('waiting')
    expect((await host.inbox())[0]?.prompt).toBe('Well?')
  })
})

describe('interrupt', () => {
  it('stops what runs, counts as an attempt, and lets the policy decide', async () => {
    const { host, clock } = await openStage()
    const calls: number[] = []
    const stubborn = workflow('stubborn', (ctx) =>
      ctx.step(
        'work',
        ({ attempt, signal }) => {
          calls.push(attempt)
          return attempt === 2
            ? 'second'
            : new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
        },
        { attempts: 2 },
      ),
    )
    const run = await host.start(stubborn)
    await until(() => calls.length === 1)
    await run.interrupt({ by: 'ada' })
    expect(await timePasses(clock, run.result())).toBe('second')
    expect(calls).toEqual([1, 2])
    const failed = (await host.journal(run.id)).find(({ event }) => event.type === 'step-failed')
    expect(failed?.event).toMatchObject({ attempt: 1, error: { code: 'interrupted' } })
  })

  it('of a child stops what runs in it and below it, and of the root everything', async () => {
    const { host } = await openStage()
    const stopped: string[] = []
    const hangs = (name: string) => (ctx: Context<unknown>) =>
      ctx.step('work', () => gate().promise).catch(() => void stopped.push(name))
    const below = workflow('below', hangs('below'))
    const middle = workflow('middle', (ctx) => Promise.all([hangs('middle')(ctx), ctx.child(below, undefined)]))
    const beside = workflow('beside', hangs('beside'))
    const top = workflow('top', (ctx) =>
      Promise.all([hangs('top')(ctx), ctx.child(middle, undefined), ctx.child(beside, undefined)]),
    )
    const run = await host.start(top)
    await quiet()
    const child = (await host.runs({ children: true })).find(({ definition }) => definition === 'middle')?.run ?? ''
    await (await host.handle(child)).interrupt()
    await quiet()
    expect(stopped.toSorted()).toEqual(['below', 'middle'])
    await run.interrupt({ path: 'work' })
    await run.result()
    expect(stopped.toSorted()).toEqual(['below', 'beside', 'middle', 'top'])
  })

  it('fails a step that has no attempt left, and only the one at the path', async () => {
    const { host } = await openStage()
    const other = gate<string>()
    const two = workflow('two', (ctx) =>
      Promise.all([
        ctx.step<string>('one', () => gate<string>().promise, { onError: { skip: 'interrupted' } }),
        ctx.step('other', () => other.promise),
      ]),
    )
    const run = await host.start(two)
    await quiet()
    await run.interrupt({ path: 'one' })
    other.resolve('went on')
    expect(await run.result()).toEqual(['interrupted', 'went on'])
  })
})

describe('cancel', () => {
  it('aborts the signals, ends the children, and the run says cancelled', async () => {
    const { host } = await openStage()
    const aborted: string[] = []
    const work = (name: string) => (call: { signal: AbortSignal }) =>
      new Promise<never>((_, reject) =>
        call.signal.addEventListener('abort', () => {
          aborted.push(name)
          reject(new Error('aborted'))
        }),
      )
    const child = workflow('child', (ctx) => ctx.step('work', work('child')))
    const parent = workflow('parent', async (ctx) => {
      ctx.signal.addEventListener('abort', () => aborted.push('ctx'))
      return ctx.all([
        () => ctx.step('work', work('step')),
        () => ctx.child(child, undefined),
        () => ctx.ask('Well?'),
        () => ctx.sleep('1h'),
      ])
    })
    const run = await host.start(parent)
    await until(async () => (await host.runs({ children: true })).length === 2 && (await host.inbox()).length === 1)
    await quiet()
    await run.cancel({ by: 'ada', reason: 'enough' })
    const error = await rejection(run.result())
    expect(error.code).toBe('cancelled')
    expect(aborted.toSorted()).toEqual(['child', 'ctx', 'step'])
    expect((await host.runs({ children: true })).map((row) => row.status)).toEqual(['cancelled', 'cancelled'])
    expect(await host.inbox()).toEqual([])
    const events = (await host.journal(run.id)).map(({ event }) => event)
    expect(events.at(-1)?.type).toBe('run-cancelled')
    expect(events.find((event) => event.type === 'cancel-requested')).toMatchObject({ by: 'ada', reason: 'enough' })
  })

  it('is reported as cancelled, not as failed, whatever the code does about it', async () => {
    const { host } = await openStage()
    const endings = {
      throws: workflow('throws', async (ctx) => {
        await ctx.waitFor('never').catch(() => undefined)
        throw new Error('something else')
      }),
      returns: workflow('returns', async (ctx) => {
        await ctx.waitFor('never').catch(() => undefined)
        return 'fine'
      }),
    }
    for (const definition of Object.values(endings)) {
      const run = await host.start(definition)
      await run.rest()
      await run.cancel()
      expect((await rejection(run.result())).code).toBe('cancelled')
      expect((await host.run(run.id)).status).toBe('cancelled')
    }
  })

  it('that comes while the output is looked at is done', async () => {
    const { host } = await openStage()
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
    const run = await host.start(workflow('slow', { output: slow }, () => 'done'))
    await until(() => looks === 1)
    await run.cancel()
    checked.resolve()
    expect((await rejection(run.result())).code).toBe('cancelled')
  })

  it('starts no step afterwards, and can be told only once', async () => {
    const { host } = await openStage()
    let ran = false
    const run = await host.start(
      workflow('tidy', async (ctx) => {
        await ctx.waitFor('never').catch(() => undefined)
        await ctx.step('tidy', () => (ran = true))
      }),
    )
    await run.rest()
    await run.cancel()
    await rejection(run.result())
    expect(ran).toBe(false)
    expect((await rejection(run.cancel())).code).toBe('run-ended')
  })

  it('works on a run that nobody drives, with its children', async () => {
    const first = await openStage()
    const child = workflow('child', (ctx) => ctx.waitFor('never'))
    const parent = workflow('parent', (ctx) => ctx.child(child, undefined))
    const run = await first.host.start(parent)
    await run.rest()
    await first.host.close()
    const { host } = await openStage({ store: first.store })
    await (await host.handle(run.id)).cancel()
    expect((await host.runs({ children: true })).map((row) => row.status)).toEqual(['cancelled', 'cancelled'])
    expect((await rejection((await host.handle(run.id)).result())).code).toBe('cancelled')
  })
})
