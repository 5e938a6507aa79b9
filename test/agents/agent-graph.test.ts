/** Coding agents as the agents of a graph: what they are told, when they are stuck, messages, permissions, cancel, a crash. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { workflow } from 'nerve'
import {
  agent,
  agentGraph,
  agentStates,
  cancelAgent,
  scriptedAgent,
  sendToAgent,
  type AgentNodeOptions,
  type ScriptedAgentOptions,
} from 'nerve/agents'
import { MemoryStore } from 'nerve/testing'
import { openStage, until } from '../behaviour/stage.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-agents-'))
  return () => rmSync(dir, { recursive: true, force: true })
})

function made(id: string, script: ScriptedAgentOptions['script'], options: Partial<AgentNodeOptions> = {}) {
  const use = scriptedAgent({ folder: join(dir, 'sessions'), script })
  const node = agent(id, { use, cwd: dir, permission: 'allow', ...options })
  onTestFinished(() => node.stop())
  return node
}

describe('coding agents in a graph', () => {
  it('are told their target and what the others have done', async () => {
    const { host } = await openStage()
    const told: string[] = []
    const say = (name: string) =>
      made(name, ({ prompt }) => {
        told.push(prompt)
        return [{ write: name, text: name }, { say: `${name} is done` }]
      })
    const team = agentGraph<{ file: string }>('team')
      .agent('fix', { bundle: say('fixer'), targetFn: (_, { input }) => `Fix ${input.file}.` })
      .agent('docs', { bundle: say('writer'), target: 'Document it.' })
      .agent('review', { bundle: say('reviewer'), prompt: ({ upstream }) => `Review: ${Object.keys(upstream).join()}` })
      .after(['fix', 'docs'])
      .run('review')
    const run = await host.start(team, { file: 'a.ts' })
    const { fix, review } = await run.result()
    expect([fix.text, review.text]).toEqual(['fixer is done', 'reviewer is done'])
    expect(told[0]).toMatch(/^Fix a\.ts\.\n\nIf you cannot go on .* BLOCKED:/)
    expect(told[2]).toBe('Review: fix,docs')
    const plain = agentGraph('plain').agent('sum', { bundle: say('sum'), target: { sum: [1, 2] } })
    await (await host.start(plain)).result()
    expect(told[3]).toContain('"sum": [')
    expect(existsSync(join(dir, 'reviewer'))).toBe(true)
    expect((await host.replay(run.id)).same).toBe(true)
    expect(told).toHaveLength(4)
  })

  it('are blocked when they say so, and go on in their session with the answer', async () => {
    const { host } = await openStage()
    const node = made('namer', ({ prompt, number }) =>
      number === 1 ? [{ say: 'I looked.\nBLOCKED: What should it be called?' }] : [{ say: `${number}: ${prompt}` }],
    )
    const team = agentGraph('team').agent('name', { bundle: node, target: 'Rename tmp2.' })
    const run = await host.start(team)
    await run.rest()
    const states = async () => agentStates(team, await host.journal(run.id))['name']
    expect(await states()).toMatchObject({ state: 'blocked', reason: 'What should it be called?' })
    const [question] = await host.inbox()
    expect(question?.prompt).toBe('What should it be called?')
    await host.answer(question?.id ?? '', 'total')
    expect((await run.result()).name.text).toMatch(/^2: You asked a person. The answer is: total/)
    expect(await states()).toMatchObject({ state: 'completed', turn: 2 })
  })

  it('hear messages in their next turn', async () => {
    const { host } = await openStage()
    const node = made('coder', ({ prompt, number }) =>
      number === 1
        ? [{ shell: 'touch began; while [ ! -e go ]; do sleep 0.02; done' }, { say: 'one' }]
        : [{ say: prompt }],
    )
    const run = await host.start(agentGraph('team').agent('coder', { bundle: node, target: 'Work.' }))
    await until(() => existsSync(join(dir, 'began')))
    await sendToAgent(run, 'coder', 'mind the tests')
    writeFileSync(join(dir, 'go'), '')
    expect((await run.result()).coder.text).toContain('There are messages for you:\n- mind the tests')
  })

  it('are blocked on a permission, and one alone can be cancelled in the middle of a tool', async () => {
    const { host } = await openStage()
    const asks = made('asks', () => [{ shell: 'echo hi > asked' }, { say: 'asked' }], { permission: 'ask' })
    const works = made('works', () => [{ shell: 'touch busy; sleep 86400' }])
    const team = agentGraph('team', { errorPolicy: 'continue' })
      .agent('asks', { bundle: asks, target: 'a' })
      .agent('works', { bundle: works, target: 'b' })
    const run = await host.start(team)
    await until(async () => existsSync(join(dir, 'busy')) && (await host.inbox()).length === 1)
    const states = agentStates(team, await host.journal(run.id))
    expect(states).toMatchObject({
      asks: { state: 'blocked', reason: 'May asks use shell? echo hi > asked' },
      works: { state: 'running' },
    })
    await cancelAgent(run, 'works', { reason: 'too slow' })
    await until(async () => agentStates(team, await host.journal(run.id))['works']?.state === 'cancelled')
    const [question] = await host.inbox()
    await host.answer(question?.id ?? '', 'allow')
    expect(await run.result()).toMatchObject({ asks: { text: 'asked' } })
    expect(readFileSync(join(dir, 'asked'), 'utf8')).toBe('hi\n')
  })

  it('go on in their session after a crash between two turns', async () => {
    const store = new MemoryStore()
    const script: ScriptedAgentOptions['script'] = ({ number, before }) =>
      number === 1 ? [{ say: 'BLOCKED: Which one?' }] : [{ say: `turn ${number}, after ${before.length}` }]
    const team = (node: ReturnType<typeof made>) => agentGraph('team').agent('one', { bundle: node, target: 'Choose.' })
    const first = made('one', script)
    const before = await openStage({ store })
    const run = await before.host.start(team(first))
    await run.rest()
    await before.host.close()
    await first.stop()
    const { host } = await openStage({ store, definitions: [team(made('one', script))] })
    const [question] = await host.inbox()
    await host.answer(question?.id ?? '', 'this')
    expect(await (await host.handle(run.id)).result()).toMatchObject({ one: { text: 'turn 2, after 1' } })
  })
})

it('an agent takes a prompt in a new session, or in an earlier one', async () => {
  const { host } = await openStage()
  const node = made('coder', ({ number }) => [{ say: String(number) }])
  const flow = workflow('flow', async (ctx) => {
    const one = await ctx.run(node, 'a')
    const two = await ctx.run(node, { prompt: 'b', session: 'new' })
    const three = await ctx.run(node, { prompt: 'c', session: one.session })
    return [one, two, three].map(({ text, session }) => [text, session.id === one.session.id])
  })
  const run = await host.start(flow)
  expect(await run.result()).toEqual([
    ['1', true],
    ['1', false],
    ['2', true],
  ])
})
