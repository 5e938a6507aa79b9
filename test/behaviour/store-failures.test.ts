/** A store that cannot write, starts that fail, and input that is only text. */
import { describe, expect, it } from 'vitest'
import { workflow, type Schema } from 'nerve'
import { MemoryStore, SimulatedClock } from 'nerve/testing'
import type { Append, AppendResult, OwnedHead } from '../../src/journal/port.ts'
import { gate, openStage, quiet, rejection, until } from './stage.ts'

/** Fails to write when the test says so. */
class FailingStore extends MemoryStore {
  fails: (append: Append) => boolean = () => false
  finds = true

  override async find(id: string): Promise<OwnedHead | undefined> {
    if (!this.finds) throw new Error('the disk is gone')
    return super.find(id)
  }

  override append(batch: readonly Append[]): readonly AppendResult[] | Promise<readonly AppendResult[]> {
    if (batch.some((append) => this.fails(append))) return Promise.reject(new Error('the disk is full'))
    return super.append(batch)
  }
}

function types(append: Append): string[] {
  return append.rows.map((row) => (JSON.parse(row.data) as { type: string }).type)
}

describe('a store that fails to write', () => {
  it('fails the run: nothing goes on over what is not stored, and it can be resumed', async () => {
    const store = new FailingStore()
    const { host } = await openStage({ store })
    const ran: string[] = []
    const chain = workflow('chain', async (ctx) => {
      await ctx.step('first', () => ran.push('first'))
      await ctx.step('second', () => ran.push('second'))
      return ctx.step('third', () => ran.push('third'))
    })
    let seen = 0
    store.fails = (append) => types(append).includes('step-completed') && (seen += 1) > 1
    const run = await host.start(chain)
    const error = await rejection(run.result())
    expect(error).toMatchObject({ code: 'store-failed' })
    expect(error.message).toContain('the disk is full')
    await quiet()
    expect(ran).toEqual(['first', 'second'])
    store.fails = () => false
    await run.resume()
    expect(await run.result()).toBe(4)
    expect(ran).toEqual(['first', 'second', 'second', 'third'])
  })

  it('is told to onProblem, and the host takes the run up again when it can', async () => {
    const store = new FailingStore()
    const { host, clock, problems } = await openStage({ store })
    const works = [gate(), gate(), gate()]
    let began = 0
    const chain = workflow('chain', async (ctx) => {
      for (const work of works) {
        began += 1
        await ctx.step('work', () => work.promise)
      }
      return 'done'
    })
    const run = await host.start(chain)
    await until(() => began === 1)
    works[0]?.resolve()
    await until(() => began === 2)
    store.fails = () => true
    works[1]?.resolve()
    await until(() => problems.length === 1, 'a word of it')
    expect(problems[0]).toMatchObject({ code: 'store-failed', data: { run: run.id } })
    expect((problems[0] as Error).message).toContain('the disk is full')
    // Nothing is taken up that cannot be written.
    store.finds = false
    clock.advance(10_000)
    await quiet()
    expect(began).toBe(2)
    store.finds = true
    store.fails = () => false
    clock.advance(10_000)
    await until(() => began > 3)
    works[2]?.resolve()
    expect(await run.result()).toBe('done')
    expect(clock.pending).toBe(0)
  })

  it.each(['paused', 'without wake'])('leaves a run that is %s', async (how) => {
    const store = new FailingStore()
    const { host, clock, problems } = await openStage({ store, wake: how !== 'without wake' })
    const work = gate()
    let began = 0
    const chain = workflow('chain', async (ctx) => {
      began += 1
      await ctx.step('work', () => work.promise)
      await ctx.step('next', () => 1)
    })
    const run = await host.start(chain)
    await until(() => began === 1)
    if (how === 'paused') await run.pause()
    store.fails = () => true
    work.resolve()
    await until(() => problems.length === 1)
    store.fails = () => false
    clock.advance(60_000)
    await quiet()
    expect(began).toBe(1)
  })

  it('says nothing of a start that failed to anybody but its caller', async () => {
    const store = new FailingStore()
    const { host, clock, problems } = await openStage({ store })
    store.fails = () => true
    expect((await rejection(host.start(workflow('any', () => 1)))).code).toBe('store-failed')
    await quiet()
    expect([problems, clock.pending]).toEqual([[], 0])
  })

  it('fails one run and not the others of the same commit', async () => {
    const store = new FailingStore()
    const { host } = await openStage({ store })
    const definition = workflow('work', (ctx, name: string) => ctx.step('work', () => name))
    store.fails = (append) =>
      append.rows.some((row) => row.data.includes('"unlucky"') && row.data.includes('step-completed'))
    const runs = await Promise.all(['lucky', 'unlucky', 'lucky'].map((name) => host.start(definition, name)))
    const results = await Promise.allSettled(runs.map((run) => run.result()))
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it.each([
    ['the same host', 'what it did next'],
    ['the next host', 'what it did next'],
    ['the same host', 'anything'],
    ['the next host', 'anything'],
  ])('%s goes on with a run that was answered and could not write %s', async (who, what) => {
    const store = new FailingStore()
    const clock = new SimulatedClock()
    const asks = workflow('asks', async (ctx) => {
      const answer = await ctx.ask('Well?')
      return ctx.step('say', () => `said ${answer}`)
    })
    const { host } = await openStage({ store, clock, definitions: [asks] })
    const run = await host.start(asks)
    await run.rest()
    let failed = false
    store.fails = (append) => {
      failed ||= types(append).includes('step-completed')
      return failed && (what === 'anything' || append.rows.length > 0)
    }
    const result = rejection(run.result())
    await host.answer((await host.run(run.id)).questions[0]?.id ?? '', 'yes')
    expect(await result).toMatchObject({ code: 'store-failed' })
    await quiet()
    if (what !== 'anything') expect(await host.run(run.id)).toMatchObject({ status: 'queued', questions: [] })
    store.fails = () => false
    if (who === 'the next host') await host.close()
    const next = who === 'the next host' ? (await openStage({ store, clock, definitions: [asks] })).host : host
    await next.recover()
    await until(async () => (await next.run(run.id)).status === 'completed', 'it goes on')
  })

  it('fails whoever waits for a command to be done', async () => {
    const store = new FailingStore()
    const { host } = await openStage({ store })
    const definition = workflow('waiting', (ctx) => ctx.ask('Well?'))
    const commands = {
      signal: (id: string) => host.handle(id).then((run) => run.signal('go')),
      answer: async (id: string) => host.answer((await host.run(id)).questions[0]?.id ?? '', 'x'),
      pause: (id: string) => host.handle(id).then((run) => run.pause()),
      cancel: (id: string) => host.handle(id).then((run) => run.cancel()),
    }
    for (const [name, command] of Object.entries(commands)) {
      store.fails = () => false
      const run = await host.start(definition)
      await run.rest()
      store.fails = () => true
      const error = await Promise.race([rejection(command(run.id)), quiet(200).then(() => `${name} hangs`)])
      expect(error).toMatchObject({ code: 'store-failed' })
    }
  })
})

describe('a start that fails', () => {
  const picky: Schema<number> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => (typeof value === 'number' ? { value } : { issues: [{ message: 'not a number' }] }),
    },
  }
  const counting = workflow('counting', { input: picky }, (_ctx, input) => input)
  const any = workflow('any', (_ctx, input: unknown) => input)

  it('leaves no id behind, whatever was wrong', async () => {
    const store = new FailingStore()
    const { host } = await openStage({ store })
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const starts = {
      'bad-input': () => host.start(counting, 'text' as never),
      'bad-value': () => host.start(any, { deep: { fn: () => 1 } }),
      'bad-value ': () => host.start(any, cycle),
      'bad-option': () => host.start(any, 1, { budget: { usd: -1 } }),
      'bad-option ': () => host.start(any, 1, { budget: { euros: 1 } as never }),
      'bad-option  ': () => host.start(any, 1, { budget: { usd: Infinity } }),
      'bad-value  ': () => host.start(any, 1, { params: { when: new Date() } }),
      'bad-value   ': () => host.start(any, 1, { params: { big: 1n } }),
      'bad-definition': () => host.start({} as never),
    }
    for (const [code, start] of Object.entries(starts)) {
      expect((await rejection(start())).code, code).toBe(code.trim())
    }
    store.fails = () => true
    expect((await rejection(host.start(any, 1))).code).toBe('store-failed')
    store.fails = () => false
    expect(await host.runs({ children: true })).toEqual([])
    const good = await host.start(any, 1)
    expect(await good.result()).toBe(1)
    await until(async () => (await host.runs()).length === 1)
  })
})

describe('an input', () => {
  it('with braces, dollars, quotes and JSON in it is just text', async () => {
    const { host } = await openStage()
    const echo = workflow('echo', async (ctx, input: string) => ctx.step('say', () => `say: ${input}`, { input }))
    const texts = [
      '{"a": {"b": [1, 2]}}',
      '{{input}} ${input} {0} %s $& $1 $$',
      '}{][)(',
      '{"$nerve":"date","v":0}',
      '</script><b>\\"\u0000\u2028',
      '#label/with/slashes#2',
    ]
    for (const text of texts) {
      const run = await host.start(echo, text)
      expect(await run.result()).toBe(`say: ${text}`)
      const entries = await host.journal(run.id)
      expect(entries[0]?.event).toMatchObject({ input: text })
      expect((await host.replay(run.id)).same).toBe(true)
    }
  })

  it('that looks like a tagged value comes back as it was', async () => {
    const { host } = await openStage()
    const echo = workflow('echo', async (ctx, input: unknown) => ctx.step('say', () => input))
    const inputs = [
      { $nerve: 'date', v: 1 },
      { $nerve: 'nothing we know' },
      JSON.parse('{"__proto__":{"x":1},"toJSON":2}') as unknown,
    ]
    for (const input of inputs) {
      const run = await host.start(echo, input)
      await run.result()
      const entries = await host.journal(run.id)
      const [first, , last] = [entries[0]?.event, undefined, entries.at(-1)?.event]
      expect((first as { input?: unknown }).input).toEqual(input)
      expect((last as { output?: unknown }).output).toEqual(input)
    }
  })
})
