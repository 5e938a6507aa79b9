/** Retention, export and import, and forks. */
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { openStage, rejection, timePasses, until } from './stage.ts'

const child = workflow('child', (ctx, n: number) => ctx.step('work', () => n * 10))
const family = workflow('family', async (ctx, n: number) => {
  const first = await ctx.child(child, n)
  const answer = await ctx.ask('Well?')
  return ctx.step('last', () => [first, answer, 'x'.repeat(10_000)])
})

async function familyRun(answer = true) {
  const stage = await openStage({ definitions: [family, child] })
  const run = await stage.host.start(family, 4)
  await run.rest()
  if (answer) {
    await run.answer((await stage.host.inbox())[0]?.id ?? '', 'yes')
    await run.result()
  }
  return { ...stage, run }
}

describe('gc', () => {
  it('removes what ended long enough ago, with its children, and nothing else', async () => {
    const { host, clock, run } = await familyRun()
    const waiting = await host.start(family, 1)
    await waiting.rest()
    clock.advance(10 * 86_400_000)
    const recent = await host.start(workflow('recent', () => 1))
    await recent.result()
    expect((await host.gc({ olderThan: '30d' })).removed).toEqual([])
    const { removed } = await host.gc({ olderThan: '9d' })
    expect(removed).toHaveLength(2)
    expect(removed).toContain(run.id)
    expect((await rejection(host.run(run.id))).code).toBe('not-found')
    expect((await host.runs({ children: true })).map((row) => row.definition).toSorted()).toEqual([
      'child',
      'family',
      'recent',
    ])
    await waiting.answer((await host.inbox())[0]?.id ?? '', 'kept')
    expect((await waiting.result()).slice(0, 2)).toEqual([10, 'kept'])
    expect((await rejection(host.gc({ olderThan: 'soon' }))).code).toBe('bad-duration')
  })
})

describe('export and import', () => {
  it('carry a finished run with its children to another store, to the letter', async () => {
    const { host, run } = await familyRun()
    const text = await host.export(run.id)
    const other = await openStage({ definitions: [family, child] })
    const imported = await other.host.import(text)
    expect(imported.id).toBe(run.id)
    expect(await other.host.export(run.id)).toBe(text)
    expect(await imported.result()).toEqual(await run.result())
    expect(await other.host.journal(run.id)).toEqual(await host.journal(run.id))
    expect((await other.host.replay(run.id)).same).toBe(true)
    expect((await rejection(other.host.import(text))).code).toBe('bad-file')
  })

  it('carry a run that waits: it is paused there, and goes on when resumed', async () => {
    const { host, run } = await familyRun(false)
    const other = await openStage({ definitions: [family, child] })
    const imported = await other.host.import(await host.export(run.id))
    expect(await imported.rest()).toBe('paused')
    await imported.resume()
    await imported.rest()
    await imported.answer((await other.host.inbox())[0]?.id ?? '', 'there')
    expect(((await imported.result()) as unknown[]).slice(0, 2)).toEqual([40, 'there'])
  })

  it('refuse what is no export, and change nothing', async () => {
    const { host, run } = await familyRun()
    const text = await host.export(run.id)
    const lines = text.trimEnd().split('\n')
    const wrong: Readonly<Record<string, string>> = {
      empty: '',
      'no json': 'hello',
      'another file': '{"name":"x"}\n',
      'a broken line': [...lines.slice(0, 3), '{oops', ...lines.slice(3)].join('\n'),
      'a line missing': lines.toSpliced(2, 1).join('\n'),
      'an unknown event': lines
        .map((line, index) => (index === 3 ? line.replace(/"type":"[a-z-]+"/, '"type":"brand-new"') : line))
        .join('\n'),
      'no beginning': [lines[0], ...lines.slice(2)].join('\n'),
    }
    const other = await openStage()
    for (const [what, file] of Object.entries(wrong)) {
      expect((await rejection(other.host.import(file))).code, what).toBe('bad-file')
      expect(await other.host.runs({ children: true }), what).toEqual([])
    }
    const foreign: Readonly<Record<string, (created: Record<string, unknown>) => Record<string, unknown>>> = {
      'a root of its own': ({ run, event, ...rest }) => ({ ...rest, run, event: { ...(event as object), root: run } }),
      'a parent that is not there': ({ event, ...rest }) => ({
        ...rest,
        event: { ...(event as object), parent: { run: '0000000000000000', path: 'x' } },
      }),
      'an id that is no id': (line) => ({ ...line, run: 'a\nid: 9' }),
    }
    for (const [what, change] of Object.entries(foreign)) {
      const [header, root, ...rest] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      const child = rest.find(({ event }) => (event as { type: string }).type === 'run-created')!
      const rootLines = rest.slice(0, rest.indexOf(child))
      const file = [header, root, ...rootLines, change(child)].map((line) => JSON.stringify(line)).join('\n')
      expect((await rejection(other.host.import(file))).code, what).toBe('bad-file')
      expect(await other.host.runs({ children: true }), what).toEqual([])
    }
    const newer = text.replace('"format":1', '"format":99')
    expect((await rejection(other.host.import(newer))).code).toBe('store-newer')
  })
})

describe('a fork', () => {
  const ran: string[] = []
  const steps = workflow('steps', async (ctx, input: string) => {
    const say = (label: string, text: string): Promise<string> =>
      ctx.step(label, () => {
        ran.push(label)
        return text
      })
    const a = await say('a', `${input}a`)
    const b = await say('b', `${a}b`)
    return say('c', `${b}c`)
  })

  async function original() {
    const stage = await openStage()
    const run = await stage.host.start(steps, '>')
    await run.result()
    ran.length = 0
    return { ...stage, run }
  }

  it('runs again from a path on, and leaves the original as it is', async () => {
    const { host, run } = await original()
    const before = await host.export(run.id)
    const fork = await run.fork({ at: 'b' })
    expect(await fork.result()).toBe('>abc')
    expect(ran).toEqual(['b', 'c'])
    expect(await host.run(fork.id)).toMatchObject({ forkedFrom: run.id, root: fork.id })
    expect(await host.export(run.id)).toBe(before)
  })

  it('goes on with another result, another input, or from a sequence number', async () => {
    const { host, run } = await original()
    expect(await (await run.fork({ set: { a: 'other ' } })).result()).toBe('other bc')
    expect(ran.splice(0)).toEqual(['b', 'c'])
    expect(await (await run.fork({ set: { c: 'the end' } })).result()).toBe('the end')
    expect(ran.splice(0)).toEqual([])
    expect(await (await run.fork({ at: 'a', input: '<' })).result()).toBe('<abc')
    expect(ran.splice(0)).toEqual(['a', 'b', 'c'])
    const seq = (await host.journal(run.id)).find(
      ({ event }) => event.type === 'step-completed' && event.path === 'b',
    )?.seq
    expect(await (await run.fork({ at: seq ?? 0 })).result()).toBe('>abc')
    expect(ran.splice(0)).toEqual(['c'])
    expect(await (await run.fork()).result()).toBe('>abc')
    expect(ran).toEqual([])
  })

  it('takes over how long a step took, and is not taken for a run whose process died', async () => {
    const { host, clock } = await openStage()
    const slow = workflow('slow', async (ctx) => {
      await ctx.step('first', () => clock.advance(70))
      await ctx.step('risky', () => Promise.reject(new Error('broken')), { onError: { skip: 'ill' } })
      return ctx.step('last', () => 1)
    })
    const run = await host.start(slow)
    await run.result()
    clock.advance(60_000)
    const forked = await run.fork({ at: 'last', set: { risky: 'well' } })
    await forked.result()
    const events = await host.journal(forked.id)
    expect(events.map(({ event }) => event.type)).not.toContain('run-recovered')
    const spent = events.flatMap(({ event, time }) =>
      event.type === 'step-completed' ? [[event.path, time - event.started]] : [],
    )
    expect(spent).toEqual([
      ['first', 70],
      ['risky', 0],
      ['last', 0],
    ])
  })

  it('is refused where there is nothing', async () => {
    const { run } = await original()
    expect((await rejection(run.fork({ at: 'nowhere' }))).code).toBe('not-found')
    expect((await rejection(run.fork({ at: 99 }))).code).toBe('bad-option')
    expect((await rejection(run.fork({ at: 'a', set: { c: 1 } }))).code).toBe('not-found')
    expect((await rejection(run.fork({ input: () => 1 }))).code).toBe('bad-value')
  })

  it('asks open questions anew, keeps answers and signals, and has the raised budget', async () => {
    const { host, clock } = await openStage()
    const talk = workflow('talk', { budget: { steps: 1 } }, async (ctx) => {
      const name = await ctx.ask('Name?')
      const signal = await ctx.waitFor('go')
      await ctx.step('one', () => 1)
      await ctx.step('two', () => 2)
      return [name, signal, await ctx.ask('Sure?')]
    })
    const run = await host.start(talk)
    await run.signal('go', 'now')
    await run.rest()
    await run.answer((await host.inbox())[0]?.id ?? '', 'Ada')
    await rejection(run.result())
    await run.resume({ budget: { steps: 5 } })
    await run.rest()
    const fork = await run.fork()
    expect(await timePasses(clock, fork.rest())).toBe('waiting')
    const question = (await host.inbox()).find((one) => one.run === fork.id)
    expect(question?.prompt).toBe('Sure?')
    await fork.answer(question?.id ?? '', 'yes')
    expect(await fork.result()).toEqual(['Ada', 'now', 'yes'])
    expect((await host.run(run.id)).status).toBe('waiting')
  })

  it('gives every signal and message once, as the original did', async () => {
    const { host } = await openStage()
    const listening = workflow('listening', async (ctx) => {
      const name = await ctx.ask('Name?')
      const first = await ctx.waitFor('go')
      const early = await ctx.messages()
      await ctx.waitFor('hold')
      return [name, first, early, await ctx.waitFor('go'), await ctx.messages()]
    })
    const run = await host.start(listening)
    await run.rest()
    for (const n of [1, 2]) await run.signal('go', n)
    await run.signal('message', 'one')
    await run.answer((await host.inbox())[0]?.id ?? '', 'Ada')
    await until(async () => (await host.run(run.id)).signals[0] === 'hold')
    await run.signal('message', 'two')
    const fork = await run.fork()
    await fork.signal('hold')
    expect(await fork.result()).toEqual(['Ada', 1, ['one'], 2, ['two']])
  })
})

describe('the journal', () => {
  it('keeps what a step returned, whatever the code does to it afterwards', async () => {
    const { host } = await openStage()
    const definition = workflow('changing', async (ctx) => {
      const flat = await ctx.step('flat', () => ({ count: 1, name: 'a' }))
      const deep = await ctx.step('deep', () => ({ list: [1] }))
      flat.count = 7
      deep.list.push(2)
      await ctx.step('last', () => 1)
    })
    const run = await host.start(definition)
    await run.result()
    const outputs: unknown[] = []
    for await (const event of run.events()) if ('output' in event) outputs.push(event.output)
    expect(outputs).toEqual([{ count: 1, name: 'a' }, { list: [1] }, 1])
  })
})
