/** An attempt that is stopped has some time to come to its end: what it says of what it spent by then counts. */
import { describe, expect, it } from 'vitest'
import { workflow, type Host, type StepCall } from 'nerve'
import { RecordingStore } from '../properties/recording-store.ts'
import { gate, openStage, quiet, rejection, timePasses, until } from './stage.ts'

const LAST_WORDS_MS = 5_000

/** Says what it spent when it has heard that it is stopped, after so long. */
function dying({
  clock,
  after = 1_000,
}: {
  clock: { now(): number; at(at: number, call: () => void): void }
  after?: number
}) {
  return (call: StepCall): Promise<string> =>
    new Promise((_, reject) => {
      call.signal.addEventListener('abort', () =>
        clock.at(clock.now() + after, () => {
          call.usage({ usd: 4 })
          reject(call.signal.reason as Error)
        }),
      )
    })
}

async function eventsOf(host: Host, run: string): Promise<string[]> {
  return (await host.journal(run)).map(({ event }) => {
    const usd = 'usage' in event && event.usage?.usd !== undefined ? ` ${event.usage.usd} usd` : ''
    return `${event.type}${'path' in event ? ` ${event.path}` : ''}${usd}`
  })
}

describe('an attempt that ran out of time', () => {
  it('is charged before the next one starts, which a budget may refuse', async () => {
    const { host, clock } = await openStage()
    const started: number[] = []
    const retrying = workflow('retrying', { budget: { usd: 5 } }, (ctx) =>
      ctx.step(
        'work',
        (call) => {
          started.push(clock.now())
          return dying({ clock })(call)
        },
        { timeout: '10s', attempts: 4, backoff: '1s' },
      ),
    )
    const run = await host.start(retrying)
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('budget-exhausted')
    expect(started).toHaveLength(2)
    expect((started[1] ?? 0) - (started[0] ?? 0)).toBe(12_000)
    expect((await host.run(run.id)).usage).toMatchObject({ usd: 8, steps: 2 })
  })

  it('is waited for only so long, and not at all when it could not know', async () => {
    const { host, clock } = await openStage()
    const late = workflow('late', async (ctx) => {
      const began = clock.now()
      await ctx.step<string>('deaf', () => gate<string>().promise, { timeout: '1s', onError: { skip: '' } })
      const deaf = clock.now() - began
      await ctx.step('slow', dying({ clock, after: 9_000 }), { timeout: '1s', onError: { skip: '' } })
      return [deaf, clock.now() - began - deaf]
    })
    const run = await host.start(late)
    expect(await timePasses(clock, run.result())).toEqual([1_000, 1_000 + LAST_WORDS_MS])
    expect((await host.run(run.id)).usage.usd).toBeUndefined()
  })
})

describe('a loser of a race', () => {
  it('holds up nobody but the end of the run, and is charged', async () => {
    const { host, clock } = await openStage()
    let wonAt = 0
    const racing = workflow('racing', async (ctx) => {
      const won = await ctx.race<string>([
        () => ctx.step('loser', dying({ clock })),
        () => ctx.step('winner', () => 'won'),
      ])
      wonAt = clock.now()
      return won
    })
    const began = clock.now()
    const run = await host.start(racing)
    expect(await timePasses(clock, run.result())).toBe('won')
    expect([wonAt - began, clock.now() - began]).toEqual([0, 1_000])
    expect(await eventsOf(host, run.id)).toEqual([
      'run-created',
      'scope-opened race',
      'step-completed race/1/winner',
      'step-started race/0/loser',
      'race-decided race',
      'step-stopped race/0/loser 4 usd',
      'run-completed',
    ])
    expect((await host.run(run.id)).usage.usd).toBe(4)
    expect((await host.replay(run.id)).same).toBe(true)
  })

  it('whose process dies meanwhile is over for the next one', async () => {
    const store = new RecordingStore()
    const { host, clock } = await openStage({ store })
    let losers = 0
    const racing = workflow('racing', async (ctx) => {
      const loser = (call: StepCall): Promise<string> => {
        losers += 1
        return dying({ clock })(call)
      }
      await ctx.race([() => ctx.step('loser', loser), () => ctx.sleep('1s')])
      return ctx.step('next', () => 'went on')
    })
    const run = await host.start(racing)
    await until(() => losers === 1)
    clock.advance(1_000)
    await until(async () => (await eventsOf(host, run.id)).includes('race-decided race'))
    await quiet()
    const next = await openStage({ store: await store.crashedAfter(store.commits.length), definitions: [racing] })
    expect(await (await next.host.handle(run.id)).result()).toBe('went on')
    expect(losers).toBe(1)
  })
})

describe('what runs beside code that throws', () => {
  it('is charged before the run fails, here and in children, and nothing starts meanwhile', async () => {
    const { host, clock } = await openStage()
    const child = workflow('child', (ctx) => ctx.step('pay', dying({ clock })))
    const file = gate()
    const heard: string[] = []
    let started = 0
    const failing = workflow('failing', async (ctx) => {
      void ctx.step('own', dying({ clock, after: 2_000 }))
      ctx.child(child, undefined).then(
        () => heard.push('its result'),
        () => heard.push('its error'),
      )
      const beside = async (): Promise<void> => {
        await file.promise
        await ctx.step('new', () => (started += 1))
      }
      void beside()
      await ctx.sleep('1m')
      throw new Error('no')
    })
    const run = await host.start(failing)
    const failed = rejection(timePasses(clock, run.result()))
    await until(() => clock.pending === 2 && clock.next !== undefined && clock.next - clock.now() < 60_000)
    file.resolve()
    expect((await failed).code).toBe('run-failed')
    expect((await host.run(run.id)).usage.usd).toBe(8)
    expect((await eventsOf(host, run.id)).slice(-3)).toEqual([
      'step-stopped own 4 usd',
      'child-ended child 4 usd',
      'run-failed',
    ])
    expect((await host.replay(run.id)).plan.unknown).toEqual([])
    expect([started, heard]).toEqual([0, []])
  })
})

describe('cancel', () => {
  it('is acknowledged at once, and the run ends when its steps have', async () => {
    const { host, clock } = await openStage()
    const run = await host.start(workflow('working', (ctx) => ctx.step('work', dying({ clock }))))
    await quiet()
    const before = clock.now()
    await run.cancel()
    expect(clock.now()).toBe(before)
    expect((await rejection(timePasses(clock, run.result()))).code).toBe('cancelled')
    expect(clock.now() - before).toBe(1_000)
    expect((await host.run(run.id)).usage.usd).toBe(4)
  })

  it('does not wait for a step that cannot know of it', async () => {
    const { host, clock } = await openStage()
    const run = await host.start(workflow('deaf', (ctx) => ctx.step('work', () => gate().promise)))
    await quiet()
    await run.cancel()
    expect((await rejection(run.result())).code).toBe('cancelled')
    expect(clock.pending).toBe(0)
  })
})

describe('a host that closes', () => {
  it('waits for nobody', async () => {
    const { host, clock } = await openStage()
    const racing = workflow('racing', async (ctx) => {
      await ctx.race([() => ctx.step('loser', dying({ clock })), () => ctx.step('winner', () => 'won')])
    })
    const run = await host.start(racing)
    const result = rejection(run.result())
    await quiet()
    await host.close()
    expect((await result).code).toBe('host-closed')
    expect(clock.next === undefined || clock.next - clock.now() <= 1_000).toBe(true)
  })
})
