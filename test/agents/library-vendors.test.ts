/** The library and agent graphs with the agents of vendors themselves, on a scripted model on loopback. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Host } from 'nerve'
import { agent, agentGraph, agentStates } from 'nerve/agents'
import { createGateway, scripted, type Gateway, type ScriptFunction, type ScriptStep } from 'nerve/gateway'
import { devCoachReview, ralph } from 'nerve/library'
import { bash } from 'nerve/nodes'
import { openStage, until } from '../behaviour/stage.ts'
import { agentNamed, missing, ROOT, type AgentName } from './under-test.ts'

const SUM = 'export const sum = (a, b) => a'
const RIGHT = `${SUM} + b`
const WRONG = `${SUM} * b`
const TEST = `import { test } from 'node:test'
import { equal } from 'node:assert'
import { sum } from './sum.mjs'
test('adds', () => equal(sum(2, 3), 5))
`

/** By a command, because not every agent writes over a file that is there. */
const write = (text: string): ScriptStep => ({ call: { sh: `echo '${text}' > sum.mjs` } })

/** What the model does, by what it is told: the first entry whose words are in it. Each has a step for each reply. */
const SAID: readonly (readonly [words: string, ...steps: ScriptStep[]])[] = [
  ['# Research', { say: 'There are sum.mjs and its test.' }],
  ['# Spec', { say: 'sum(a, b) adds.' }],
  ['# Features', { say: '[{ "id": "sum", "text": "sum adds" }]' }],
  ['## Report on the last try', write(RIGHT), { say: 'It adds now.' }],
  ['# Implement', write(WRONG), { say: 'It should add.' }],
  ['# Debug', { say: 'It multiplies.' }],
  ['The answer is: add', write(RIGHT), { say: 'fixed' }],
  ['What fix has done', { say: 'reviewed' }],
  ['Ask before you fix', { say: 'BLOCKED: Add or multiply?' }],
  ['Address this', write(RIGHT), { say: 'second draft' }],
  ['Make sum add', write(WRONG), { say: 'first draft' }],
]

const follow: ScriptFunction = ({ tools }, { user, step, last }) => {
  if (tools.length === 0) return { say: 'A title' }
  if (user.includes('Review the work')) {
    if (step === 0) return { call: { sh: 'node --test' } }
    return { say: last.includes('pass 1') ? 'APPROVED' : 'The test fails.' }
  }
  if (user.includes('A developer was told'))
    return { say: user.includes('second draft') ? 'ACCEPTED' : 'It multiplies. It should add.' }
  const [, ...steps] = SAID.find(([words]) => user.includes(words)) ?? ['']
  return steps[step] ?? { say: 'nothing to do' }
}

const USED = ['codex', 'copilot'] as const satisfies readonly AgentName[]
const lacking = USED.flatMap((name) => missing(agentNamed(name)) ?? [])
if (lacking.length > 0) console.warn(`SKIPPED: the library on real agents: ${lacking.join('; ')}`)

describe('with real agents', { timeout: 120_000, skip: lacking.length > 0 }, () => {
  let gateway: Gateway
  let home = ''

  beforeAll(async () => {
    mkdirSync(join(ROOT, 'coverage'), { recursive: true })
    home = mkdtempSync(join(ROOT, 'coverage', 'library-'))
    gateway = await createGateway({ backend: scripted(follow) })
  })

  afterAll(async () => {
    await gateway.close()
    rmSync(home, { recursive: true, force: true })
  })

  function folder(): string {
    const cwd = mkdtempSync(join(home, 'work-'))
    writeFileSync(join(cwd, 'sum.mjs'), `${SUM} - b\n`)
    writeFileSync(join(cwd, 'sum.test.mjs'), TEST)
    return cwd
  }

  function made(id: string, name: AgentName, cwd: string) {
    const { adapter, env, model } = agentNamed(name)
    const place = { home: join(home, id), gateway: { url: gateway.url, token: '' } }
    mkdirSync(place.home, { recursive: true })
    const node = agent(id, {
      use: adapter,
      cwd,
      env: env(place),
      gateway,
      permission: 'allow',
      ...(model === undefined ? {} : { model }),
    })
    onTestFinished(() => node.stop())
    return node
  }

  const sumIn = (cwd: string): string => readFileSync(join(cwd, 'sum.mjs'), 'utf8').trim()

  it.each(USED)('Ralph works with %s until the tests pass', async (name) => {
    const { host } = await openStage()
    const cwd = folder()
    const test = bash('test', { command: 'node --test', cwd, check: false, effect: 'repeatable' })
    const run = await host.start(ralph({ agent: made(`ralph-${name}`, name, cwd), test }), { task: 'Make sum right.' })
    await answer(host, 'approve')
    expect(await run.result()).toMatchObject({
      stopped: 'tests-pass',
      turns: 2,
      features: [{ id: 'sum', status: 'passes', attempts: 2 }],
    })
    expect(sumIn(cwd)).toBe(RIGHT)
    expect((await host.run(run.id)).usage.tokens).toBeGreaterThan(0)
  })

  it('dev-coach-review: Codex develops, Copilot coaches, Codex reviews', async () => {
    const { host } = await openStage()
    const cwd = folder()
    const [dev, coach, reviewer] = [made('dev', 'codex', cwd), made('coach', 'copilot', cwd), made('rev', 'codex', cwd)]
    const run = await host.start(devCoachReview({ dev, coach, reviewer }), 'Make sum add.')
    await answer(host, 'approve')
    expect(await run.result()).toEqual({ text: 'second draft', approved: true, merged: true, reviews: 1 })
    expect(sumIn(cwd)).toBe(RIGHT)
  })

  it('an agent graph: one is blocked and answered, the other hears what it did', async () => {
    const { host } = await openStage()
    const cwd = folder()
    const team = agentGraph('team')
      .agent('fix', { bundle: made('fixer', 'codex', cwd), target: 'Ask before you fix sum.mjs.' })
      .agent('check', { bundle: made('checker', 'copilot', cwd), target: 'Look at it.' })
      .after('fix')
      .run('check')
    const run = await host.start(team)
    await until(async () => (await host.inbox()).length === 1)
    expect(agentStates(team, await host.journal(run.id))['fix']).toMatchObject({
      state: 'blocked',
      reason: 'Add or multiply?',
    })
    await answer(host, 'add')
    expect(await run.result()).toMatchObject({ fix: { text: 'fixed' }, check: { text: 'reviewed' } })
    expect(sumIn(cwd)).toBe(RIGHT)
  })
})

async function answer(host: Host, value: string): Promise<void> {
  const patience = Date.now() + 60_000
  while ((await host.inbox()).length === 0 && Date.now() < patience) await new Promise((next) => setTimeout(next, 20))
  const [question] = await host.inbox()
  await host.answer(question?.id ?? '', value)
}
