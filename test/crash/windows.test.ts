/** Windows between two things that must look like one, opened by hand: a store that waits, refuses or is shared. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { createHost, isNerveError, workflow, type Handle, type Host, type HostOptions, type JournalStore } from 'nerve'
import { MemoryStore } from 'nerve/testing'
import { Ownership } from '../../src/engine/ownership.ts'
import { systemClock } from '../../src/base/clock.ts'
import { encodeEvent } from '../../src/journal/codec.ts'
import type { RunCreated } from '../../src/journal/events.ts'
import { fold } from '../../src/journal/fold.ts'
import { emptyState } from '../../src/journal/run-state.ts'
import { headOf } from '../../src/journal/head.ts'
import type { Append, AppendResult } from '../../src/journal/port.ts'
import { openSqliteStore } from '../../src/stores/sqlite-store.ts'
import { scratch } from './kill.ts'
import { until } from './shape.ts'

const clean: (() => void | Promise<void>)[] = []

afterEach(async () => {
  for (const undo of clean.splice(0).toReversed()) await undo()
})

async function hostOn(store: NonNullable<HostOptions['store']>, options: HostOptions = {}): Promise<Host> {
  const host = await createHost({ store, onProblem: () => undefined, ...options })
  clean.push(() => host.close().catch(() => undefined))
  return host
}

type Write = (batch: readonly Append[]) => readonly AppendResult[] | Promise<readonly AppendResult[]>

/** A store whose appends go through a hand of the test. */
function handled(append: (batch: readonly Append[], write: Write) => ReturnType<Write>): JournalStore {
  const store = new MemoryStore()
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') return (batch: readonly Append[]) => append(batch, (some) => target.append(some))
      const found: unknown = Reflect.get(target, name)
      return typeof found === 'function' ? (found.bind(target) as unknown) : found
    },
  })
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => (isNerveError(error) ? error.code : String(error)),
  )
}

const asking = workflow('asking', (ctx) => ctx.ask('Go on?'))

describe('a command', () => {
  const commands: Readonly<Record<string, (run: Handle, question: string) => Promise<void>>> = {
    answer: (run, question) => run.answer(question, 'yes'),
    signal: (run) => run.signal('hello'),
    pause: (run) => run.pause(),
    cancel: (run) => run.cancel(),
    interrupt: (run) => run.interrupt(),
  }
  test.each(Object.keys(commands))('%s is not acknowledged when its commit failed', async (name) => {
    let full = false
    const store = handled((batch, write) => (full ? Promise.reject(new Error('disk full')) : write(batch)))
    const host = await hostOn(store)
    const run = await host.start(asking)
    await run.rest()
    const [asked] = await host.inbox()
    const before = (await host.journal(run.id)).length
    full = true
    expect(await codeOf(commands[name]!(run, asked!.id))).toBe('store-failed')
    full = false
    expect(await host.journal(run.id)).toHaveLength(before)
  })

  test('and another one at the same time on a parked run both have an end', async () => {
    const host = await hostOn(new MemoryStore(), { maxResident: 0, definitions: [asking] })
    for (let round = 0; round < 20; round += 1) {
      const run = await host.start(asking)
      await run.rest()
      const [asked] = (await host.inbox()).filter((one) => one.run === run.id)
      const ends = await Promise.all([
        codeOf(run.answer(asked!.id, 'yes')),
        codeOf(round % 2 === 0 ? run.cancel() : run.pause()),
        codeOf(run.signal('hello')),
        codeOf(run.pause()),
      ])
      expect(ends.filter((end) => !['done', 'run-ended', 'already-answered'].includes(end))).toEqual([])
      expect(ends).toContain('done')
      const types = (await host.journal(run.id)).map(({ event }) => event.type)
      expect(types.includes('question-answered')).toBe(ends[0] === 'done')
      if (types.includes('run-paused')) await run.resume().catch(() => undefined)
      const goesOn = ends[0] === 'done' && !types.includes('cancel-requested')
      expect(goesOn ? await run.result() : 'yes').toBe('yes')
    }
  })
})

describe('a step that must run once', () => {
  test('does not start when its run was cancelled while the journal was told of it', async () => {
    const opened = Promise.withResolvers<void>()
    let reached = false
    const store = handled(async (batch, write) => {
      if (batch.some((one) => one.rows.some((row) => row.data.includes('"once"')))) {
        reached = true
        await opened.promise
      }
      return write(batch)
    })
    let executed = 0
    const paying = workflow('paying', (ctx) => ctx.step('pay', () => (executed += 1), { effect: 'once' }))
    const host = await hostOn(store)
    const run = await host.start(paying)
    await until(() => Promise.resolve(reached ? true : undefined))
    const cancelled = run.cancel()
    await turn()
    opened.resolve()
    await cancelled
    expect(await codeOf(run.result())).toBe('cancelled')
    expect(executed).toBe(0)
  })

  test('does not start in a branch that lost its race meanwhile', async () => {
    const opened = Promise.withResolvers<void>()
    let announced = false
    const store = handled(async (batch, write) => {
      const results = await write(batch)
      if (batch.some((one) => one.rows.some((row) => row.data.includes('"once"')))) {
        announced = true
        await opened.promise
      }
      return results
    })
    let executed = 0
    const racing = workflow('racing', (ctx) =>
      ctx.race([
        () => ctx.step('pay', () => (executed += 1), { effect: 'once' }),
        async () => {
          await until(() => Promise.resolve(announced ? true : undefined))
          setImmediate(opened.resolve)
          return -1
        },
      ]),
    )
    const host = await hostOn(store)
    const run = await host.start(racing)
    expect(await run.result()).toBe(-1)
    expect(executed).toBe(0)
  })
})

describe('a race', () => {
  test('whose decision died with its process is decided again, however far the losers had come', async () => {
    const STEPS = 40
    let done = 0
    const racing = workflow('racing', (ctx) =>
      ctx.race([
        () => ctx.step('short', () => until(() => Promise.resolve(done >= STEPS ? 7 : undefined))),
        async () => {
          for (let i = 0; i < STEPS; i += 1) await ctx.step('chain', () => (done += 1))
          return ctx.step(
            'long',
            (call) => new Promise<number>((_, reject) => call.signal.addEventListener('abort', reject)),
          )
        },
      ]),
    )
    const first = await hostOn(new MemoryStore())
    const run = await first.start(racing)
    expect(await run.result()).toBe(7)
    const lines = (await first.export(run.id)).split('\n')
    const decided = lines.findIndex((line) => line.includes('"race-decided"'))
    expect(decided).toBeGreaterThan(STEPS)
    const second = await hostOn(new MemoryStore(), { definitions: [racing] })
    const again = await second.import(lines.slice(0, decided).join('\n'))
    await again.resume()
    expect(await again.result()).toBe(7)
    const journal = await second.journal(run.id)
    expect(journal.filter(({ event }) => event.type === 'race-decided')).toHaveLength(1)
  })
})

describe('a group of branches', () => {
  test.each([0, 5])('fails on replay with the failure that came first (after %i steps)', async (before) => {
    const asker = workflow('asker', (ctx) => ctx.ask('Never answered?'))
    const failing = workflow('failing', async (ctx) => {
      const told = await ctx
        .all([
          () => ctx.child(asker, undefined),
          async () => {
            for (let i = 0; i < before; i += 1) await ctx.step('before', () => turn(i))
            await ctx.step('breaks', async () => {
              await turn()
              throw new Error('the first')
            })
          },
          () => ctx.child(asker, undefined),
        ])
        .catch((error: Error) => error.message)
      await ctx.sleep(20)
      return ctx.step('told', () => told)
    })
    const first = await hostOn(new MemoryStore())
    const run = await first.start(failing)
    expect(await run.result()).toBe('the first')
    const lines = (await first.export(run.id)).split('\n')
    const cut = lines.filter((line) => !/"path":"told"|"run-completed"/.test(line))
    expect(cut.filter((line) => line.includes('"child-ended"'))).toHaveLength(2)
    const second = await hostOn(new MemoryStore(), { definitions: [failing, asker] })
    const again = await second.import(cut.join('\n'))
    await again.resume()
    expect(await again.result()).toBe('the first')
  })
})

describe('a child', () => {
  const leaf = workflow('leaf', (ctx) => ctx.step('only', () => 1))
  const parent = workflow('parent', (ctx) => ctx.child(leaf, undefined))

  test('is created in the same commit as its parent says so, or not at all', async () => {
    const store = handled((batch, write) =>
      batch.some((one) => one.create !== undefined && one.head?.parent !== undefined)
        ? Promise.reject(new Error('disk full'))
        : write(batch),
    )
    const host = await hostOn(store)
    const run = await host.start(parent)
    expect(await codeOf(run.result())).toBe('store-failed')
    expect((await host.journal(run.id)).map(({ event }) => event.type)).toEqual(['run-created'])
  })

  test.each(['memory', 'sqlite'])('cannot be created by an owner whose tree was taken (%s)', async (kind) => {
    const { dir, remove } = scratch()
    clean.push(remove)
    const store = kind === 'memory' ? new MemoryStore() : await openSqliteStore({ file: `${dir}/nerve.db` })
    clean.push(() => store.close())
    await store.append([creation('root', 'root')], 'process')
    expect(await store.claim('root', 'thief', () => true)).toBe(2)
    expect(await store.append([creation('child', 'root')], 'process')).toEqual(['fenced'])
    expect(await store.find('child')).toBeUndefined()
    expect(await store.read('child', 0, 10)).toEqual([])
  })
})

function creation(run: string, root: string): Append {
  const created: RunCreated = { type: 'run-created', format: 1, definition: 'some', root, depth: run === root ? 0 : 1 }
  const state = emptyState(run)
  fold(state, 1, 1, created)
  return { run, epoch: 1, rows: [encodeEvent(created, 1, 1)], head: headOf(state), create: { host: 'first' } }
}

describe('a claim', () => {
  test('does not take a run from a host that came after the living were counted', async () => {
    const store: JournalStore = new MemoryStore()
    await store.append([creation('root', 'root')], 'process')
    const first = new Ownership('first-comer', store, systemClock)
    clean.push(() => first.close())
    const late: JournalStore = new Proxy(store, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name)
        if (name !== 'claim') return typeof found === 'function' ? (found.bind(target) as unknown) : found
        return async (...given: Parameters<JournalStore['claim']>) => {
          expect(await first.claim('root')).toBe(2)
          return target.claim(...given)
        }
      },
    })
    const second = new Ownership('second-comer', late, systemClock)
    clean.push(() => second.close())
    expect(await second.claim('root')).toBeUndefined()
    expect((await store.find('root'))?.owner).toEqual({ host: 'first-comer', epoch: 2 })
  })
})

describe('a command that was posted', () => {
  test('is taken back only while nobody else has the run', async () => {
    const store: JournalStore = new MemoryStore()
    await store.append([creation('root', 'root')], 'process')
    const command = await store.post({ root: 'root', run: 'root', body: '{}' })
    await store.claim('root', 'second', () => true)
    expect(await store.withdraw(command, 'first')).toBe(false)
    expect(await store.withdraw(command, 'second')).toBe(true)
    await store.settle(command, '{}')
    expect(await store.result(command)).toContain('withdrawn')
  })
})

describe('a host that is closed in the middle', () => {
  test('leaves a run with an open question and work beside it to the next one', async () => {
    const { dir, remove } = scratch()
    clean.push(remove)
    const done: number[] = []
    const both = workflow('both', (ctx) =>
      ctx.all([
        () => ctx.ask('Go on?'),
        async () => {
          for (let i = 0; i < 6; i += 1) await ctx.step('beside', () => turn(done.push(i)))
        },
      ]),
    )
    const first = await createHost({ dir })
    const run = await first.start(both)
    await until(() => Promise.resolve(done.length >= 3 ? true : undefined))
    await first.close()
    const second = await createHost({ dir, definitions: [both] })
    clean.push(() => second.close())
    const count = async (): Promise<number> =>
      (await second.journal(run.id)).filter(({ event }) => event.type === 'step-completed').length
    expect(await until(async () => ((await count()) === 6 ? 6 : undefined))).toBe(6)
  })
})
