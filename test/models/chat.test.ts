/** Chats: conversations that go on, whichever run they are in. */
import { join } from 'node:path'
import { statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { workflow } from 'nerve'
import { Fork } from 'nerve/control'
import { graph } from 'nerve/graph'
import { chat, llm, textOf, tool, type Chat, type ChatMessage } from 'nerve/models'
import { createSession } from 'nerve/sessions'
import { emitted, expectSame, paths } from '../behaviour/journal-views.ts'
import { openSession, temporary } from '../behaviour/session-stage.ts'
import { gate, openStage, quiet, rejection, until } from '../behaviour/stage.ts'
import { lastUser, scriptedModel, type Asked, type Said } from './scripted-model.ts'

/** Says what it was told, and how many messages it has seen. */
const echo = () => scriptedModel((asked) => `${lastUser(asked).text} (${asked.prompt.length})`)
const said = (messages: readonly ChatMessage[]): string[] => messages.map((one) => `${one.role}: ${textOf(one)}`)

describe('chat', () => {
  it('goes on where the last turn ended, in one run and in the next', async () => {
    const { host } = await openStage()
    const helper = chat('helper', { model: echo(), system: 'Be kind.' })
    const two = workflow('two', async (ctx) => [await ctx.run(helper, 'a'), await ctx.run(helper, 'b')])
    const first = await host.start(two)
    expect(await first.result()).toEqual(['a (2)', 'b (4)'])
    const second = await host.start(helper, 'c')
    expect(await second.result()).toBe('c (6)')
    expect(said(helper.messages)).toEqual([
      'user: a',
      'assistant: a (2)',
      'user: b',
      'assistant: b (4)',
      'user: c',
      'assistant: c (6)',
    ])
    expect(helper.info()).toEqual({ id: 'helper', model: 'test:scripted', messages: 6, tokens: 110, busy: false })
    await expectSame(host, first.id)
    await expectSame(host, second.id)
    // A replay changes nothing.
    expect(helper.messages.length).toBe(6)
  })

  it('stores only what is new', async () => {
    const { host } = await openStage()
    const helper = chat('helper', { model: echo() })
    const many = workflow('many', async (ctx) => {
      for (let i = 0; i < 4; i += 1) await ctx.run(helper, `turn ${i}`)
    })
    await (await host.start(helper, 'before')).result()
    const run = await host.start(many)
    await run.result()
    const started = (await host.journal(run.id)).flatMap(({ event }) =>
      event.type === 'step-completed' && event.path.endsWith('/conversation') ? [event.output] : [],
    ) as { add?: unknown[] }[]
    expect(started.map(({ add = [] }) => add.length)).toEqual([2, 0, 0, 0])
    const sizes = (await host.journal(run.id)).map((entry) => JSON.stringify(entry).length)
    expect(Math.max(...sizes.slice(-6))).toBeLessThan(1_000)
  })

  it('a turn that fails leaves the conversation as it was', async () => {
    const { host } = await openStage()
    const model = scriptedModel((asked) =>
      lastUser(asked).text === 'bad' ? { text: '', finish: 'content-filter' } : `${asked.prompt.length}`,
    )
    const helper = chat('helper', { model })
    await (await host.start(helper, 'a')).result()
    await rejection((await host.start(helper, 'bad')).result())
    expect(await (await host.start(helper, 'b')).result()).toBe('3')
    expect(helper.info()).toMatchObject({ messages: 4, busy: false })
  })

  it('does one thing at a time, whoever asks', async () => {
    const { host } = await openStage()
    const open = gate()
    const model = scriptedModel(async (asked): Promise<Said> => {
      if (lastUser(asked).text === 'a') await open.promise
      return { text: `${asked.prompt.length}` }
    })
    const helper = chat('helper', { model })
    const first = await host.start(helper, 'a')
    await until(() => model.asked.length === 1)
    expect(helper.info().busy).toBe(true)
    expect(() => helper.clear()).toThrow(/in the middle of a turn/)
    const second = await host.start(helper, 'b')
    const beside = await host.start(
      workflow('beside', (ctx) => ctx.all([() => ctx.run(helper, 'c'), () => ctx.run(helper, 'd')])),
    )
    await quiet()
    expect(model.asked.length).toBe(1)
    open.resolve()
    expect(await first.result()).toBe('1')
    await Promise.all([second.result(), beside.result()])
    expect(helper.messages.length).toBe(8)
    expect(model.asked.map(({ prompt }) => prompt.length)).toEqual([1, 3, 5, 7])
    await expectSame(host, beside.id)
  })

  it('a turn that was cancelled holds up nobody', async () => {
    const { host } = await openStage()
    const model = scriptedModel(async (asked): Promise<Said> => {
      if (lastUser(asked).text === 'a') await gate().promise
      return { text: `${asked.prompt.length}` }
    })
    const helper = chat('helper', { model })
    const first = await host.start(helper, 'a')
    await until(() => model.asked.length === 1)
    const second = await host.start(helper, 'b')
    await first.cancel()
    expect(await second.result()).toBe('1')
  })

  it('cannot be its own tool', async () => {
    const { host } = await openStage()
    const model = scriptedModel((asked) =>
      lastUser(asked).replies === 0
        ? { calls: [{ tool: 'self', input: { input: 'x' } }] }
        : JSON.stringify(asked.prompt.at(-1)),
    )
    const self = tool('helper', { name: 'self', description: 'Itself.', input: { type: 'string' } })
    const helper = chat('helper', { model, tools: [self] })
    host.register(helper)
    expect(await (await host.start(helper, 'go')).result()).toMatch(/uses itself as a tool/)
  })

  it('two steps of a graph that could use it at once are a mistake', async () => {
    const { host } = await openStage()
    const helper = chat('helper', { model: echo() })
    const both = graph<string>('both').step('one', helper, { input: 'a' }).step('two', helper, { input: 'b' })
    expect((await rejection(host.start(both, 'x'))).message).toMatch(
      /'one' and 'two' could use the persistent node 'helper.conversation' at the same time/,
    )
  })

  it('is in a session: send continues it, its conversation is a node with a history', async () => {
    const { host } = await openStage()
    const dir = temporary()
    const helper = chat('helper', { model: echo() })
    const session = await openSession(host, { nodes: [helper], dir })
    expect(await session.send('helper', 'a')).toBe('a (1)')
    expect(await session.send('helper', 'b')).toBe('b (3)')
    expect(session.list().map(({ name, kind, within }) => [name, kind, within])).toEqual([
      ['helper.conversation', 'conversation', 'helper'],
      ['helper', 'chat', undefined],
    ])
    const { entries } = await session.history('helper.conversation')
    expect(entries.filter(({ operation }) => operation === 'send').map(({ input }) => input)).toEqual([
      [{ role: 'user', content: 'a' }],
      [{ role: 'user', content: 'b' }],
    ])
    const copy = await session.fork('helper')
    expect(await session.send(copy, 'c')).toBe('c (5)')
    expect(helper.messages.length).toBe(4)
    expect(session.forks()[0]).toMatchObject({
      name: 'helper.conversation',
      forks: [{ forkedFrom: 'helper.conversation' }],
    })
    await session.node('helper.conversation').reset()
    expect(await session.send('helper', 'd')).toBe('d (1)')
    await rejection(session.send('helper.conversation', 'x'))
  })

  it('is forked deeply, at its end or at a message, with its lineage', async () => {
    const { host } = await openStage()
    const helper = chat('helper', { model: echo() })
    for (const text of ['a', 'b', 'c']) await (await host.start(helper, text)).result()
    const whole = helper.fork('whole')
    const early = helper.fork('early', { at: 2 })
    const byId = helper.fork('by-id', { at: helper.messages[3]?.id ?? '' })
    expect(whole.messages).toEqual(helper.messages)
    expect(whole.messages[0]).not.toBe(helper.messages[0])
    expect(said(early.messages)).toEqual(['user: a', 'assistant: a (1)'])
    expect(byId.messages.length).toBe(4)
    expect(early.info()).toMatchObject({
      forkedFrom: 'helper',
      forkedMessages: 2,
      forkedAt: expect.any(Number) as number,
    })
    expect(await (await host.start(early, 'd')).result()).toBe('d (3)')
    expect(helper.messages.length).toBe(6)
    expect(() => helper.fork('no', { at: 7 })).toThrow(/has no message 7; it has 6/)
    expect(() => helper.fork('no', { at: 'x' })).toThrow(/has no message "x"/)
  })

  it('is forked in a run by a control node', async () => {
    const { host } = await openStage()
    const helper = chat('helper', { model: echo() })
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(helper, 'a')
      const { node } = await ctx.run(Fork({ from: helper, to: 'other-{run_id}' }))
      return [await ctx.run(helper, 'b'), await ctx.run(node, 'c')]
    })
    const run = await host.start(flow)
    expect(await run.result()).toEqual(['b (3)', 'c (3)'])
    expect(helper.messages.length).toBe(4)
    await expectSame(host, run.id)
  })

  it('goes on with a copy of its own in a run that was forked', async () => {
    const { host } = await openStage()
    const helper = chat('helper', { model: echo() })
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(helper, 'a')
      return ctx.run(helper, 'b')
    })
    const run = await host.start(flow)
    expect(await run.result()).toBe('b (3)')
    await (await host.start(helper, 'c')).result()
    const forked = await run.fork({ at: 'helper#2/conversation' })
    expect(await forked.result()).toBe('b (3)')
    expect(helper.messages.length).toBe(6)
  })

  it('is saved, loaded and cleared', async () => {
    const { host } = await openStage()
    const file = join(temporary(), 'deep', 'talk.json')
    const helper = chat('helper', { model: echo() })
    await (
      await host.start(helper, [
        { type: 'text', text: 'look' },
        { type: 'image', image: new Uint8Array([1, 2]), mediaType: 'image/png' },
      ])
    ).result()
    await helper.save(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const other = chat('other', { model: echo() })
    await other.load(file)
    expect(other.messages).toEqual(helper.messages)
    helper.clear()
    expect(await (await host.start(helper, 'b')).result()).toBe('b (1)')
    expect(await (await host.start(other, 'b')).result()).toBe('b (3)')
    await expect(other.load(`${file}x`)).rejects.toMatchObject({ code: 'bad-file' })
  })

  it('keeps its conversation in a file, when it has one', async () => {
    const { host } = await openStage()
    const file = join(temporary(), 'talk.json')
    await (await host.start(chat('helper', { model: echo(), file }), 'a')).result()
    const again = chat('helper', { model: echo(), file })
    expect(await (await host.start(again, 'b')).result()).toBe('b (3)')
    const cleared = chat('helper', { model: echo(), file })
    cleared.clear()
    expect(await (await host.start(cleared, 'c')).result()).toBe('c (1)')
  })

  it('tells when its window is filling up, and makes room', async () => {
    const { host } = await openStage()
    const model = scriptedModel((asked: Asked): Said => {
      const { text } = lastUser(asked)
      if (text.startsWith('Summarise')) return { text: 'They counted.' }
      return { text: `${asked.prompt.length}`, usage: { input: asked.prompt.length * 100, output: 0 } }
    })
    const helper = chat('helper', { model, contextWindow: 1_000, keepMessages: 3 })
    const flow = workflow('flow', async (ctx) => {
      for (const text of ['1', '2', '3', '4', '5']) await ctx.run(helper, text)
    })
    const run = await host.start(flow)
    await run.result()
    // After the fourth turn the model took 700 tokens of 1,000.
    expect(await emitted(host, run.id)).toEqual([
      ['context-window', { node: 'helper', tokens: 700, window: 1_000, share: 0.7 }],
    ])
    expect(said(helper.messages)).toEqual([
      'user: The conversation so far, in short:\n\nThey counted.',
      'user: 4',
      'assistant: 7',
      'user: 5',
      'assistant: 4',
    ])
    expect((await paths(host, run.id)).filter((path) => path.endsWith('compact'))).toEqual(['helper#5/compact'])
    const asked = lastUser(model.asked[4] as Asked).text
    expect(asked).toContain('user: 1')
    expect(asked).not.toContain('user: 4')
    await expectSame(host, run.id)
  })

  it('makes room in the middle of a turn, and leaves what tools gave with what asked for them', async () => {
    const { host } = await openStage()
    const model = scriptedModel((asked: Asked): Said => {
      const { text, replies } = lastUser(asked)
      if (text.startsWith('Summarise')) return { text: 'It looked.' }
      const used = asked.prompt.length * 100
      const goesOn = !text.startsWith('The conversation') && replies < 4
      return {
        ...(goesOn ? { calls: [{ tool: 'look', input: {} }] } : { text: 'done' }),
        usage: { input: used, output: 0 },
      }
    })
    const look = tool(() => 'seen', { name: 'look', description: 'Looks.', input: { type: 'object' } })
    const helper = chat('helper', { model, tools: [look], contextWindow: 1_000, threshold: 0.5, keepMessages: 1 })
    const run = await host.start(helper, 'go')
    expect(await run.result()).toBe('done')
    expect(helper.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(said(helper.messages)[0]).toContain('It looked.')
    await expectSame(host, run.id)
    expect(await (await host.start(helper, 'again')).result()).toBeDefined()
  })

  it('makes room as it is told, or not at all; without a summary it goes on', async () => {
    const { host } = await openStage()
    const model = scriptedModel((asked) => ({ text: 'ok', usage: { input: asked.prompt.length * 100, output: 0 } }))
    const options = { model, contextWindow: 400, keepMessages: 1 }
    const talk = async (helper: Chat): Promise<Chat> => {
      for (const text of ['1', '2', '3']) await (await host.start(helper, text)).result()
      return helper
    }
    expect((await talk(chat('off', { ...options, compact: 'off' }))).messages.length).toBe(6)
    const fails = chat('fails', {
      ...options,
      policy: { attempts: 1 },
      compact: () => {
        throw new Error('no')
      },
    })
    expect((await talk(fails)).messages.length).toBe(6)
    const own = await talk(chat('own', { ...options, compact: (old) => `${old.length} messages` }))
    expect(said(own.messages)[0]).toBe('user: The conversation so far, in short:\n\n4 messages')
  })

  it('can be a tool of another model', async () => {
    const { host } = await openStage()
    const expert = chat('expert', { model: echo(), description: 'Knows.' })
    const model = scriptedModel((asked) => {
      const { replies } = lastUser(asked)
      return replies < 2
        ? { calls: [{ tool: 'expert', input: { input: `q${replies}` } }] }
        : JSON.stringify(asked.prompt.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])))
    })
    const run = await host.start(llm('ask', { model, tools: [tool(expert, { input: { type: 'string' } })] }), 'go')
    const text = await run.result()
    expect(text).toContain('q0 (1)')
    expect(text).toContain('q1 (3)')
    await expectSame(host, run.id)
  })

  it('gives up its place in a session that is closed', async () => {
    const { host } = await openStage()
    const helper = chat('helper', { model: echo() })
    const session = await createSession(host, { name: 'one', nodes: [helper] })
    await session.send('helper', 'a')
    await session.close()
    expect(await (await host.start(helper, 'b')).result()).toBe('b (3)')
  })
})
