/** What a step was given, in the journal, for whoever looks at the run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { defineNode, workflow, type Host } from 'nerve'
import { agent, scriptedAgent } from 'nerve/agents'
import { graph } from 'nerve/graph'
import { llm, tool } from 'nerve/models'
import { bash } from 'nerve/nodes'
import { scriptedModel } from 'nerve/testing'
import type { StepStarted } from '../../src/journal/events.ts'
import { openStage, timePasses } from './stage.ts'

async function started(host: Host, run: string): Promise<StepStarted[]> {
  const entries = await host.journal(run)
  return entries.flatMap(({ event }) => (event.type === 'step-started' ? [event] : []))
}

const given = (events: readonly StepStarted[]) => events.map(({ path, node, input }) => [path, node?.kind, input])

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'nerve-input-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

describe('the input of a step', () => {
  it('is in the journal when the step says so, also of one that ends at once, and else only its fingerprint', async () => {
    const { host } = await openStage()
    const run = await host.start(
      workflow('inputs', async (ctx) => {
        await ctx.step('silent', async () => 1, { input: 'kept to itself' })
        await ctx.step('told', () => 2, { input: { topic: 'moss' }, recordInput: true })
        await ctx.step('nothing', () => 3, { recordInput: true })
      }),
    )
    await run.result()
    expect(given(await started(host, run.id))).toEqual([
      ['told', undefined, { topic: 'moss' }],
      ['nothing', undefined, undefined],
    ])
  })

  it('is there once, whatever comes after the first attempt', async () => {
    const { host, clock } = await openStage()
    const run = await host.start(
      workflow('again', (ctx) =>
        ctx.step(
          'flaky',
          ({ attempt }) => {
            if (attempt < 3) throw new Error('not yet')
          },
          { attempts: 3, backoff: '1s', input: 'x', recordInput: true },
        ),
      ),
    )
    await timePasses(clock, run.result())
    expect(given(await started(host, run.id))).toEqual([
      ['flaky', undefined, 'x'],
      ['flaky', undefined, undefined],
      ['flaky', undefined, undefined],
    ])
  })

  it('says of an error what it says, and not where in which file it was made', async () => {
    const { host } = await openStage()
    const input = { why: new Error('no luck', { cause: new Error('below') }) }
    const run = await host.start(workflow('unlucky', (ctx) => ctx.step('call', () => 1, { input, recordInput: true })))
    await run.result()
    const [event] = await started(host, run.id)
    const cause = { name: 'Error', message: 'below' }
    expect(event?.input).toEqual({ why: { name: 'Error', message: 'no luck', cause } })
  })

  it('has no secrets in it, and no end of text', async () => {
    const { host } = await openStage()
    const run = await host.start(
      workflow('secret', (ctx) =>
        ctx.step('call', () => 1, {
          input: { headers: { authorization: 'Bearer abcdefghijklmnop' }, text: 'x'.repeat(100_000) },
          recordInput: true,
        }),
      ),
    )
    await run.result()
    const [event] = await started(host, run.id)
    expect(event?.input).toEqual({
      headers: { authorization: '[redacted]' },
      text: `${'x'.repeat(65_536)}… (34464 more characters)`,
    })
    expect((await host.replay(run.id)).same).toBe(true)
  })

  it('is refused when it is neither true nor false', async () => {
    const { host } = await openStage()
    const run = await host.start(
      workflow('wrong', (ctx) => ctx.step('call', () => 1, { recordInput: 'yes' as unknown as boolean })),
    )
    await expect(run.result()).rejects.toThrow(/recordInput is "yes"; give true or false/)
  })
})

describe('what nodes are told', () => {
  it('is in the journal of agents and commands, with the node, and of a function only when its policy says so', async () => {
    const { host } = await openStage()
    const cwd = folder()
    const use = scriptedAgent({ folder: join(cwd, '.sessions'), script: () => [{ say: 'done' }] })
    const coder = agent('coder', { use, cwd })
    onTestFinished(() => coder.stop())
    const shout = defineNode('shout', async (text: string) => text.toUpperCase())
    const work = graph<string>('work')
      .step('draft', coder, { inputFn: (_, { input }) => `Write about ${input}.` })
      .step('count', bash('wc', { command: 'wc -c' }), { after: ['draft'], inputFn: ({ draft }) => draft.text })
      .step('plain', shout, { after: ['count'], input: 'a' })
      .step('loud', shout, { after: ['count'], input: 'b', policy: { recordInput: true } })
      .step('quiet', coder, { after: ['loud'], input: 'Tidy up.', policy: { recordInput: false } })
    const run = await host.start(work, 'moss')
    await run.result()
    expect(given((await started(host, run.id)).filter(({ attempt }) => attempt === 1))).toEqual([
      ['draft', 'agent', 'Write about moss.'],
      ['count', 'bash', 'done'],
      ['loud', 'function', 'b'],
      ['quiet', undefined, undefined],
    ])
  })

  it('is in the journal of models once: what their tools gave is there already', async () => {
    const { host } = await openStage()
    const look = tool(() => 'green', {
      name: 'look',
      description: 'Looks.',
      input: { type: 'object', properties: {} },
    })
    const model = scriptedModel({
      rules: [{ steps: [{ call: { tool: 'look', input: {} } }, { say: 'It is {{last}}.' }] }],
    })
    const run = await host.start(llm('ask', { model, tools: [look] }), 'Which colour?')
    expect(await run.result()).toBe('It is green.')
    // A call that ends at once has no such event unless it says what it was given.
    const told = (await started(host, run.id)).filter(({ input }) => input !== undefined)
    expect(told.map(({ path, input }) => [path, input])).toEqual([
      ['model', [{ role: 'user', content: 'Which colour?' }]],
    ])
  })
})
