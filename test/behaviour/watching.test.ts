/** Watching runs: subscriptions with wildcards, events from a cursor, live parts, and lists. */
import { describe, expect, it } from 'vitest'
import { workflow, type FeedItem, type Heard } from 'nerve'
import { gate, openStage, quiet, until } from './stage.ts'

const work = workflow('work', async (ctx) => {
  await ctx.step('review', ({ emit }) => {
    emit('text-delta', 'Hel')
    emit('text-delta', 'lo')
    return 1
  })
  ctx.emit('halfway', { percent: 50 })
  await ctx.all([() => ctx.step('a', () => 1), () => ctx.step('b', () => 2)], { label: 'group' })
  return ctx.ask('Well?')
})

describe('subscribe', () => {
  it('hears what its pattern says, and nothing else', async () => {
    const { host } = await openStage()
    const heard: Record<string, string[]> = {}
    const listen = (name: string, wanted: Parameters<typeof host.subscribe>[0]): void => {
      heard[name] = []
      host.subscribe(wanted, (one: Heard) =>
        heard[name]?.push(`${one.type}${'path' in one && one.path !== undefined ? ` ${one.path}` : ''}`),
      )
    }
    const other = await host.start(workflow('other', (ctx) => ctx.step('noise', () => 1)))
    await other.result()
    listen('all', {})
    listen('steps', { type: 'step-*' })
    listen('group', { type: 'step-completed', path: 'group/**' })
    listen('one level', { type: 'step-completed', path: 'group/*' })
    listen('live', { live: true })
    listen('durable', { live: false, type: 'text-*' })
    listen('no run', { run: 'nobody' })
    listen('no run like that', { run: 'zzz*' })
    const run = await host.start(work)
    listen('this run', { run: run.id, type: 'question-*' })
    listen('runs like this', { run: `${run.id.slice(0, 12)}*`, type: 'question-asked' })
    await run.rest()
    expect(heard['steps']).toEqual(['step-completed review', 'step-completed group/0/a', 'step-completed group/1/b'])
    expect(heard['group']).toEqual(['step-completed group/0/a', 'step-completed group/1/b'])
    expect(heard['one level']).toEqual([])
    expect(heard['live']).toEqual(['text-delta review', 'text-delta review'])
    expect(heard['durable']).toEqual([])
    expect(heard['no run']).toEqual([])
    expect(heard['no run like that']).toEqual([])
    expect(heard['this run']).toEqual(['question-asked ask'])
    expect(heard['runs like this']).toEqual(['question-asked ask'])
    expect(heard['all']?.filter((one) => one.startsWith('run-created'))).toHaveLength(1)
  })

  it('is not hurt by a listener that throws, and stops when told', async () => {
    const { host, problems } = await openStage()
    const heard: string[] = []
    host.subscribe({ type: 'step-completed' }, () => {
      throw new Error('a broken listener')
    })
    const stop = host.subscribe({ type: 'step-completed' }, ({ type }) => heard.push(type))
    const steps = workflow('steps', (ctx) => ctx.step('a', () => 1))
    await (await host.start(steps)).result()
    stop()
    await (await host.start(steps)).result()
    expect(heard).toEqual(['step-completed'])
    expect(problems.map((error) => (error as Error).message)).toEqual(['a broken listener', 'a broken listener'])
  })
})

describe('events', () => {
  it('begin at the beginning or at a cursor, follow, and end with the run', async () => {
    const { host } = await openStage()
    const run = await host.start(work)
    await run.rest()
    const seen: FeedItem[] = []
    const following = (async () => {
      for await (const item of run.events()) seen.push(item)
    })()
    await until(() => seen.at(-1)?.type === 'question-asked')
    await run.answer((await host.inbox())[0]?.id ?? '', 'yes')
    await following
    const all = await host.journal(run.id)
    expect(seen.map((item) => 'seq' in item && item.seq)).toEqual(all.map((entry) => entry.seq))
    expect(seen.at(-1)?.type).toBe('run-completed')
    const rest: unknown[] = []
    for await (const item of run.events({ after: all.length - 2 })) rest.push('seq' in item && item.seq)
    expect(rest).toEqual([all.length - 1, all.length])
  })

  it('of an ended run end at once, also from its end', async () => {
    const { host } = await openStage()
    const run = await host.start(workflow('short', () => 1))
    await run.result()
    const last = (await host.journal(run.id)).length
    for (const after of [last, last + 5]) {
      const rest: unknown[] = []
      const read = (async () => {
        for await (const item of run.events({ after })) rest.push(item)
        return 'ended'
      })()
      expect(await Promise.race([read, quiet(300).then(() => 'hangs')])).toBe('ended')
      expect(rest).toEqual([])
    }
  })

  it('stop at the end of what is there when told to look once, or by a signal', async () => {
    const { host } = await openStage()
    const run = await host.start(work)
    await run.rest()
    const once: string[] = []
    for await (const item of run.events({ once: true })) once.push(item.type)
    expect(once.at(-1)).toBe('question-asked')
    const stop = new AbortController()
    const followed: string[] = []
    const following = (async () => {
      for await (const item of run.events({ signal: stop.signal })) followed.push(item.type)
    })()
    await until(() => followed.length === once.length)
    stop.abort()
    await following
    expect(followed).toEqual(once)
  })

  it('carry live parts when asked to', async () => {
    const { host } = await openStage()
    const go = gate<void>()
    const talking = workflow('talking', (ctx) =>
      ctx.step('talk', async ({ emit }) => {
        await go.promise
        emit('text-delta', { text: 'hi' })
        return 1
      }),
    )
    const run = await host.start(talking)
    const parts: unknown[] = []
    const following = (async () => {
      for await (const item of run.events({ live: true })) if ('live' in item) parts.push({ ...item })
    })()
    await quiet()
    go.resolve()
    await following
    expect(parts).toEqual([{ live: true, run: run.id, path: 'talk', type: 'text-delta', data: { text: 'hi' } }])
  })
})

describe('the lists', () => {
  it('show what a run has done and spent while its next step takes long', async () => {
    const { host } = await openStage()
    const over = gate()
    const run = await host.start(
      workflow('long', async (ctx) => {
        for (let i = 0; i < 10; i += 1) await ctx.step('quick', ({ usage }) => usage({ usd: 1 }))
        await ctx.step('long', () => over.promise)
      }),
    )
    await until(async () => (await host.run(run.id)).steps === 10, 'the list shows ten steps')
    expect(await host.run(run.id)).toMatchObject({ status: 'running', usage: { usd: 10 } })
    over.resolve()
    await run.result()
    expect(await host.run(run.id)).toMatchObject({ status: 'completed', steps: 11 })
  })

  it('show runs and questions as they are', async () => {
    const { host } = await openStage()
    const child = workflow('child', (ctx) => ctx.ask('Inner?'))
    const parent = workflow('parent', (ctx) =>
      ctx.all([() => ctx.child(child, undefined), () => ctx.gate('Outer?', { detail: { a: 1 } })]),
    )
    const done = await host.start(workflow('done', () => 1))
    await done.result()
    const run = await host.start(parent)
    expect(await run.rest()).toBe('waiting')
    await until(async () => (await host.run(run.id)).status === 'waiting')
    expect((await host.runs()).map(({ definition, status }) => [definition, status])).toEqual([
      ['parent', 'waiting'],
      ['done', 'completed'],
    ])
    expect((await host.runs({ children: true })).map((row) => row.definition).toSorted()).toEqual([
      'child',
      'done',
      'parent',
    ])
    expect((await host.runs({ status: ['completed'] })).map((row) => row.run)).toEqual([done.id])
    expect((await host.runs({ definition: 'parent', limit: 1 })).length).toBe(1)
    expect((await host.runs({ limit: 2 })).map((row) => row.definition)).toEqual(['parent', 'done'])
    const inbox = await host.inbox()
    expect(inbox.map(({ prompt, kind, definition }) => `${prompt} ${kind} ${definition}`).toSorted()).toEqual([
      'Inner? ask child',
      'Outer? gate parent',
    ])
    expect(inbox.find((one) => one.kind === 'gate')).toMatchObject({ choices: ['approve', 'reject'], detail: { a: 1 } })
    expect((await host.run(run.id.slice(0, 14))).run).toBe(run.id)
  })
})
