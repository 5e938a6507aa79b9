/** Questions of steps and parked steps, where forks, crashes, plans and other processes meet them. */
import { describe, expect, it } from 'vitest'
import { workflow, type StepCall } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import { gate, openStage, quiet, rejection, timePasses, until, type Stage } from './stage.ts'

async function answer({ host }: Stage, prompt: string, value: unknown): Promise<void> {
  await until(async () => (await host.inbox()).some((one) => one.prompt === prompt), prompt)
  const found = (await host.inbox()).find((one) => one.prompt === prompt)
  await host.answer(found?.id ?? '', value)
}

async function types({ host }: Stage, run: string): Promise<string[]> {
  return (await host.journal(run)).map(({ event }) => event.type)
}

function parks(label: string): (call: StepCall) => unknown {
  return ({ park, answer: given }) => (given === undefined ? park(`${label}?`) : `${label}: ${JSON.stringify(given)}`)
}

describe('what is no question', () => {
  it.each([
    ['a detail that cannot be kept', { detail: { draw: () => 1 } }],
    ['a default that cannot be kept', { deadline: '1d', onDeadline: { default: () => 1 } }],
    ['a default that JSON does not hold', { deadline: '1d', onDeadline: { default: new Date(0) } }],
    ['no duration', { deadline: 'soon', onDeadline: { default: 1 } }],
    ['choices that are no list', { choices: 'yes' }],
    ['choices that are no texts', { choices: [1, 2] }],
  ])('is a failure of the step that parks with it: %s', async (_what, options) => {
    const stage = await openStage()
    const run = await stage.host.start(
      workflow('wrong', (ctx) =>
        ctx.step('park', ({ park }) => park('Well?', options as never), { onError: { skip: 'skipped' } }),
      ),
    )
    expect(await run.result()).toBe('skipped')
    expect(await types(stage, run.id)).toEqual(['run-created', 'step-failed', 'step-skipped', 'run-completed'])
  })
})

describe('an answer', () => {
  it('to what a function asked is not taken for the one that it parks for, also after a crash', async () => {
    const store = new MemoryStore()
    const crash = gate()
    const heard: unknown[] = []
    const deploy = workflow('deploy', (ctx) =>
      ctx.step('deploy', async ({ ask, park, answer: given }) => {
        heard.push(given)
        if (given !== undefined) return ['deployed', given]
        await ask('Run the tests?')
        if (heard.length === 1) await crash.promise
        return park('Deploy?')
      }),
    )
    const before = await openStage({ store, definitions: [deploy] })
    const run = await before.host.start(deploy)
    await answer(before, 'Run the tests?', 'yes')
    await before.host.close()
    const stage = await openStage({ store, definitions: [deploy] })
    await answer(stage, 'Run the tests?', 'yes')
    await answer(stage, 'Deploy?', 'no')
    expect(await (await stage.host.handle(run.id)).result()).toEqual(['deployed', 'no'])
    expect(heard).toEqual([undefined, undefined, 'no'])
  })

  it('is not inherited by a fork, in which the step starts anew', async () => {
    const stage = await openStage()
    const seen: unknown[] = []
    const run = await stage.host.start(
      workflow('halves', (ctx) =>
        ctx.step('work', async ({ answer: given, kept, keep, park }) => {
          seen.push([given, kept])
          if (given === undefined) {
            await keep('session 1')
            park('First?')
          }
          return park('Second?')
        }),
      ),
    )
    await answer(stage, 'First?', 'yes')
    await until(async () => (await stage.host.inbox())[0]?.prompt === 'Second?')
    const fork = await run.fork()
    expect(await fork.rest()).toBe('waiting')
    expect(seen).toEqual([
      [undefined, undefined],
      ['yes', 'session 1'],
      [undefined, undefined],
    ])
    expect((await stage.host.inbox()).find((one) => one.run === fork.id)?.prompt).toBe('First?')
  })

  it('about a lost attempt of a once step is not inherited by a fork: it would run twice unasked', async () => {
    const store = new MemoryStore()
    const never = gate()
    let payments = 0
    const pay = workflow('pay', (ctx) =>
      ctx.step(
        'pay',
        () => {
          payments += 1
          return never.promise
        },
        { effect: 'once' },
      ),
    )
    const one = await openStage({ store, definitions: [pay] })
    const run = await one.host.start(pay)
    await until(() => payments === 1)
    await one.host.close()
    const two = await openStage({ store, definitions: [pay] })
    await until(async () => (await two.host.inbox()).length === 1)
    await two.host.answer((await two.host.inbox())[0]?.id ?? '', 'retry')
    await until(() => payments === 2)
    const fork = await (await two.host.handle(run.id)).fork()
    await until(() => payments === 3)
    await two.host.close()
    const three = await openStage({ store, definitions: [pay] })
    await until(async () => (await three.host.inbox()).length === 2)
    const asked = await three.host.inbox()
    expect(asked.find((one) => one.run === run.id)?.path).toBe('pay/#recovery-2')
    expect(asked.find((one) => one.run === fork.id)?.path).toBe('pay/#recovery-1')
    expect(payments).toBe(3)
  })

  it('that another process posts to a run which ends meanwhile is refused', async () => {
    const asks = workflow('asks', (ctx) => ctx.step('ask', ({ ask }) => ask('Well?', { choices: ['a', 'b'] })))
    const one = await openStage({ definitions: [asks] })
    const two = await openStage({ store: one.store, clock: one.clock, definitions: [asks] })
    const run = await one.host.start(asks)
    await until(async () => (await two.host.inbox()).length === 1)
    const id = (await two.host.inbox())[0]?.id ?? ''
    const [here, there] = await Promise.allSettled([one.host.answer(id, 'b'), two.host.answer(id, 'a')])
    expect(here.status).toBe('fulfilled')
    expect(there).toMatchObject({ status: 'rejected', reason: { code: 'already-answered' } })
    expect(await run.result()).toBe('b')
  })
})

describe('an accepted plan', () => {
  it('drops what a step with another input had kept', async () => {
    const store = new MemoryStore()
    const seen: unknown[] = []
    const versioned = (input: number) =>
      workflow('versioned', (ctx) =>
        ctx.step(
          'work',
          async ({ keep, kept }) => {
            seen.push([input, kept])
            await keep(`of ${input}`)
            if (input === 1) throw new Error('again')
            return 'done'
          },
          { input, attempts: 2, backoff: '1h' },
        ),
      )
    const before = await openStage({ store, definitions: [versioned(1)] })
    const run = await before.host.start(versioned(1))
    await until(async () => (await types(before, run.id)).includes('step-failed'))
    await before.host.close()
    const stage = await openStage({ store, clock: before.clock, definitions: [versioned(2)] })
    const handle = await stage.host.handle(run.id)
    await until(async () => (await stage.host.run(run.id)).status === 'paused')
    await handle.resume({ accept: true })
    expect(await timePasses(stage.clock, handle.result())).toBe('done')
    expect(seen).toEqual([
      [1, undefined],
      [2, undefined],
    ])
  })

  it.each(['parked', 'asked'])('takes back the question of a run that goes on from before it: %s', async (how) => {
    const stage = await openStage({ maxResident: 0 })
    const run = await stage.host.start(
      workflow('again', async (ctx) => {
        await ctx.step('first', () => 1)
        return how === 'parked' ? ctx.step('last', parks('last')) : ctx.ask('last?')
      }),
    )
    await run.rest()
    const [old] = await stage.host.inbox()
    await until(() =>
      run.resume({ from: 'first' }).then(
        () => true,
        () => false,
      ),
    )
    await until(async () => (await stage.host.inbox())[0]?.id !== old?.id)
    await quiet()
    expect(await stage.host.inbox()).toHaveLength(1)
    expect(await rejection(stage.host.answer(old?.id ?? '', 'x'))).toMatchObject({ code: 'run-ended' })
    await answer(stage, 'last?', 'y')
    await run.result()
    expect(await stage.host.inbox()).toEqual([])
  })
})

it('items of a map that park are finished once each, by as many processes as it takes', async () => {
  const store = new MemoryStore()
  const ran: string[] = []
  const many = workflow('many', (ctx) =>
    ctx.map(
      [1, 2, 3, 4],
      async (n) => {
        await ctx.step('before', () => void ran.push(`before ${n}`))
        const said = await ctx.step('ask', parks(`item ${n}`))
        await ctx.step('after', () => void ran.push(`after ${n}`))
        return said
      },
      { concurrency: 2 },
    ),
  )
  let stage = await openStage({ store, definitions: [many], maxResident: 0 })
  const run = await stage.host.start(many)
  for (const n of [2, 1, 4, 3]) {
    await answer(stage, `item ${n}?`, n)
    await quiet(3)
    await stage.host.close()
    stage = await openStage({ store, definitions: [many], maxResident: 0 })
  }
  expect(await (await stage.host.handle(run.id)).result()).toEqual([1, 2, 3, 4].map((n) => `item ${n}: ${n}`))
  expect(ran.toSorted()).toEqual([1, 2, 3, 4].flatMap((n) => [`before ${n}`, `after ${n}`]).toSorted())
  expect((await stage.host.replay(run.id)).same).toBe(true)
})

it('a child that parks is answered although its tree is in memory for a moment only', async () => {
  const stage = await openStage({ maxResident: 0 })
  const child = workflow('child', (ctx) => ctx.step('ask', parks('child')))
  const family = workflow('family', async (ctx) => {
    await ctx.step('before', parks('before'))
    return ctx.race<unknown>([() => ctx.sleep('1m'), () => ctx.child(child, undefined)])
  })
  const run = await stage.host.start(family)
  await answer(stage, 'before?', 1)
  await until(async () => (await stage.host.inbox())[0]?.prompt === 'child?')
  await quiet(30)
  await answer(stage, 'child?', 2)
  expect(await run.result()).toBe('child: 2')
})

it.each(['map', 'child'])('a host closes while a %s waits for its paused run to go on', async (what) => {
  const store = new MemoryStore()
  const child = workflow('child', (ctx) => ctx.step('work', () => 'worked'))
  const held = workflow('held', async (ctx) => {
    await ctx.waitFor('go')
    return what === 'map' ? ctx.map(['one'], (word) => ctx.step('work', () => word)) : ctx.child(child, undefined)
  })
  const definitions = [held, child]
  const before = await openStage({ store, definitions })
  const run = await before.host.start(held)
  await run.rest()
  await run.pause()
  await run.signal('go')
  await quiet()
  await before.host.close()
  const stage = await openStage({ store, definitions })
  const handle = await stage.host.handle(run.id)
  await handle.resume()
  expect(await handle.result()).toEqual(what === 'map' ? ['one'] : 'worked')
})
