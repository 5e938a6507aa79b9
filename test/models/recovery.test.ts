/** What a process that died left of models at work, taken up by the next one. Chats are made anew, as in a new process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, workflow, type Definition } from 'nerve'
import { chat, llm, textOf, tool, type Chat } from 'nerve/models'
import { openStage, timePasses } from '../behaviour/stage.ts'
import { temporary } from '../behaviour/session-stage.ts'
import { RecordingStore } from '../properties/recording-store.ts'
import { killedLoop } from './killed-loop.ts'
import { lastUser, scriptedModel, toolResults, type Asked } from './scripted-model.ts'

const WORKER = fileURLToPath(new URL('killed-worker.ts', import.meta.url))

/** A chat that uses a tool twice at once in every turn, and what was called. */
function stage() {
  const log: string[] = []
  const model = scriptedModel((asked: Asked) => {
    const { text, replies } = lastUser(asked)
    log.push(`model ${text} ${replies}`)
    if (replies === 0) return { calls: [1, 2].map((n) => ({ tool: 'look', input: { at: `${text}${n}` } })) }
    return `${toolResults(asked).join(' ')} of ${asked.prompt.length}`
  })
  const look = tool(
    ({ at }: { at: string }) => {
      log.push(`look ${at}`)
      return `<${at}>`
    },
    {
      name: 'look',
      description: 'Looks.',
      input: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
    },
  )
  return { log, helper: chat('helper', { model, tools: [look] }) }
}

const texts = ({ messages }: Chat): string[] => messages.map(textOf).filter((text) => text !== '')

/** Runs a definition, then crashes it after each of its commits; what was done before the crash is not done again. */
async function crashEverywhere(make: (helper: Chat) => Definition<undefined>): Promise<number> {
  const store = new RecordingStore()
  const first = stage()
  const whole = await openStage({ store })
  const run = await whole.host.start(make(first.helper), undefined)
  const result = await timePasses(whole.clock, run.result())
  const all = first.log.toSorted()
  const journal = await whole.host.journal(run.id)
  await whole.host.close()
  for (let count = 1; count < store.commits.length; count += 1) {
    const left = await store.crashedAfter(count)
    const rows = store.commits.slice(0, count).flatMap((batch) => batch.flatMap(({ rows: some }) => some)).length
    const done = journal.slice(0, rows).flatMap(({ event }) => (event.type === 'step-completed' ? [event.path] : []))
    const doneCalls = done.filter((path) => /\/(model|look)(#\d+)?$/.test(path)).length
    const again = stage()
    const { host, clock } = await openStage({ store: left, definitions: [make(again.helper)] })
    expect(await timePasses(clock, (await host.handle(run.id)).result())).toEqual(result)
    expect(again.log.length, `after commit ${count}`).toBe(all.length - doneCalls)
    expect(texts(again.helper), `after commit ${count}`).toEqual(texts(first.helper))
    await host.close()
  }
  return store.commits.length
}

describe('after a crash at any moment', () => {
  it('finished calls of the model and of tools are not made again, and the conversation is whole', async () => {
    const crashes = await crashEverywhere((helper) =>
      workflow('talk', async (ctx) => [await ctx.run(helper, 'a'), await ctx.run(helper, 'b')]),
    )
    expect(crashes).toBeGreaterThan(8)
  })

  it('also in items of a map', async () => {
    const crashes = await crashEverywhere((helper) =>
      workflow('talk', async (ctx) => [
        await ctx.map(['a', 'b'], (text) => ctx.run(helper, text), { concurrency: 1 }),
        await ctx.run(helper, 'c'),
      ]),
    )
    expect(crashes).toBeGreaterThan(8)
  })

  it('also in branches of races, of which losers are left out', async () => {
    const crashes = await crashEverywhere((helper) =>
      workflow('talk', async (ctx) => {
        const raced = await ctx.race([
          () => ctx.run(helper, 'a'),
          async () => {
            await ctx.sleep('1h')
            return 'late'
          },
        ])
        const timed = await ctx.run(helper, 'b', { timeout: '1h' })
        return [raced, timed, await ctx.run(helper, 'c')]
      }),
    )
    expect(crashes).toBeGreaterThan(8)
  })
})

describe('a branch that lost', () => {
  it('may have said something, which later turns see, also in the next process', async () => {
    const store = new RecordingStore()
    const make = (): Definition<undefined> => {
      const helper = chat('helper', {
        model: scriptedModel((asked) => `${lastUser(asked).text} ${asked.prompt.length}`),
      })
      return workflow('flow', async (ctx) => {
        await ctx.race([
          () => ctx.waitFor('go'),
          async () => {
            await ctx.run(helper, 'loser')
            ctx.emit('said')
            return ctx.waitFor('never')
          },
        ])
        const after = await ctx.run(helper, 'after')
        await ctx.waitFor('on')
        return [after, await ctx.run(helper, 'last')]
      })
    }
    const first = await openStage({ store })
    const run = await first.host.start(make(), undefined)
    await run.rest()
    await run.signal('go')
    await run.rest()
    await first.host.close()
    const second = await openStage({ store, definitions: [make()] })
    const handle = await second.host.handle(run.id)
    await handle.signal('on')
    expect(await handle.result()).toEqual(['after 3', 'last 5'])
    expect(await second.host.replay(run.id)).toMatchObject({ same: true, problems: [] })
  })
})

describe('a run that is loaded again', () => {
  it('changes nothing in a conversation that has gone on without it', async () => {
    const store = new RecordingStore()
    const model = scriptedModel((asked) => `${lastUser(asked).text} ${asked.prompt.length}`)
    const helper = chat('helper', { model })
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(helper, 'a')
      await ctx.waitFor('on')
      return ctx.run(helper, 'c')
    })
    const first = await openStage({ store, definitions: [flow] })
    const run = await first.host.start(flow)
    await run.rest()
    await (await first.host.start(helper, 'b')).result()
    await first.host.close()
    // The same process, and so the same chat.
    const second = await openStage({ store, definitions: [flow] })
    const handle = await second.host.handle(run.id)
    await handle.signal('on')
    expect(await handle.result()).toBe('c 5')
    expect(texts(helper)).toEqual(['a', 'a 1', 'b', 'b 3', 'c', 'c 5'])
  })
})

describe('kill -9', () => {
  it('in the middle of a tool loop: nothing that had ended is paid for or run again', async () => {
    const dir = temporary()
    const child = spawn(
      process.execPath,
      ['--conditions=nerve-source', '--disable-warning=ExperimentalWarning', WORKER, dir],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    expect(String(line)).toBe('in the second tool\n')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const log = (): string[] => readFileSync(join(dir, 'log'), 'utf8').trim().split('\n')
    expect(log()).toEqual(['model 0', 'tool 1', 'model 1', 'tool 2'])

    const host = await createHost({ dir, definitions: [killedLoop(dir, false)] })
    onTestFinished(() => host.close())
    const [run = ''] = host.recovered.recovered
    expect(await (await host.handle(run)).result()).toBe('1 and 2')
    // Only the tool that was in flight ran again, and the model answered.
    expect(log().slice(4)).toEqual(['tool 2', 'model 2'])
    expect((await host.run(run)).usage).toMatchObject({ calls: 3, tokens: 330 })
  })
})

describe('a model that is asked while a run is resumed', () => {
  it('is not asked with another prompt under an old answer', async () => {
    const store = new RecordingStore()
    const ask = (prompt: string) =>
      workflow('flow', async (ctx) => {
        await ctx.run(llm('ask', { model: scriptedModel(() => 'yes') }), prompt)
        return ctx.ask('More?')
      })
    const first = await openStage({ store })
    const run = await first.host.start(ask('a'))
    await run.rest()
    await first.host.close()
    const second = await openStage({ store, definitions: [ask('b')] })
    expect(await second.host.plan(run.id)).toMatchObject({ rerun: ['ask/model'] })
  })
})
