/** The library, with an agent that needs no model: how each workflow goes, and why Ralph stops. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { defineNode, type Host } from 'nerve'
import { agent, scriptedAgent, type ScriptedAgentOptions, type ScriptedStep } from 'nerve/agents'
import { debate, devCoach, devCoachReview, ralph, type RalphOptions } from 'nerve/library'
import { bash } from 'nerve/nodes'
import { MemoryStore } from 'nerve/testing'
import { openStage, rejection, until } from '../behaviour/stage.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nerve-library-'))
  return () => rmSync(dir, { recursive: true, force: true })
})

function made(id: string, script: ScriptedAgentOptions['script']) {
  const node = agent(id, {
    use: scriptedAgent({ folder: join(dir, 'sessions'), script }),
    cwd: dir,
    permission: 'allow',
  })
  onTestFinished(() => node.stop())
  return node
}

async function answer(host: Host, value: unknown): Promise<string> {
  await until(async () => (await host.inbox()).length === 1, 'a question')
  const [question] = await host.inbox()
  await host.answer(question?.id ?? '', value)
  return question?.prompt ?? ''
}

describe('the developer and the coach', () => {
  const dev = () => made('dev', ({ number }) => [{ write: 'work', text: String(number) }, { say: `draft ${number}` }])
  const coach = (at: number) =>
    made('coach', ({ prompt }) => [
      { say: prompt.includes(`draft ${at}`) ? '**ACCEPTED**' : 'NOT ACCEPTED: make it shorter' },
    ])

  it('goes on in one session until the coach accepts', async () => {
    const { host } = await openStage()
    const run = await host.start(devCoach({ dev: dev(), coach: coach(3) }), 'write it')
    expect(await run.result()).toEqual({ text: 'draft 3', accepted: true, rounds: 3 })
    expect(readFileSync(join(dir, 'work'), 'utf8')).toBe('3')
    expect((await host.replay(run.id)).same).toBe(true)
    const never = await host.start(devCoach({ dev: dev(), coach: coach(0), max: 2, name: 'never' }), 'write it')
    expect(await never.result()).toMatchObject({ accepted: false, rounds: 2 })
  })

  it('has a reviewer, who sends it back to both, and asks a person', async () => {
    const { host } = await openStage()
    const reviewer = made('reviewer', ({ prompt }) => [
      { say: prompt.includes('draft 2') ? 'tests are missing' : 'APPROVED' },
    ])
    const accepts = made('coach', ({ prompt }) => [{ say: /draft [23]/.test(prompt) ? 'ACCEPTED' : 'more' }])
    const definition = devCoachReview({ dev: dev(), coach: accepts, reviewer })
    const run = await host.start(definition, 'write it')
    expect(await answer(host, 'reject')).toBe('The reviewer approved. Merge?\ndraft 3')
    expect(await run.result()).toEqual({ text: 'draft 3', approved: true, merged: false, reviews: 2 })
  })
})

it('a debate: each hears the others, and the judge hears the last round', async () => {
  const { host } = await openStage()
  const heard: string[] = []
  const speaker = (id: string) =>
    defineNode(id, (prompt: string) => {
      heard.push(`${id}: ${[...prompt.matchAll(/^(\w+ says \d)/gm)].map(([said]) => said).join()}`)
      return `${id} says ${heard.filter((one) => one.startsWith(id)).length}`
    })
  const run = await host.start(
    debate({ debaters: { ann: speaker('ann'), ben: speaker('ben') }, judge: speaker('judge') }),
    'tabs or spaces?',
  )
  expect(await run.result()).toEqual({
    verdict: 'judge says 1',
    positions: { ann: 'ann says 2', ben: 'ben says 2' },
    rounds: 2,
  })
  expect(heard).toEqual(['ann: ', 'ben: ', 'ann: ben says 1', 'ben: ann says 1', 'judge: ann says 2,ben says 2'])
  await expect(async () => debate({ debaters: { ann: 'a' }, judge: 'b' })).rejects.toThrow('at least two')
})

describe('Ralph', () => {
  interface Work {
    readonly implement?: (prompt: string) => readonly ScriptedStep[]
    readonly features?: string
    readonly told?: string[]
  }

  /** The tests pass when the file `done` says 2. */
  const test = () => bash('test', { command: 'grep -q 2 done', cwd: dir, check: false, effect: 'repeatable' })
  const fix = (prompt: string): readonly ScriptedStep[] =>
    prompt.includes('## Report on the last try')
      ? [{ write: 'done', text: '2' }, { say: 'fixed' }]
      : [{ write: 'done', text: '1' }, { say: 'tried' }]

  function worker({ implement = fix, features = '[{"id":"a","text":"the first"}]', told = [] }: Work = {}) {
    return made('coder', ({ prompt, number }) => {
      const [heading = ''] = prompt.split('\n')
      told.push(`${number} ${heading}`)
      const spend: ScriptedStep = { usage: { usd: 0.1 } }
      if (heading === '# Features') return [spend, { say: `Here they are:\n\`\`\`json\n${features}\n\`\`\`` }]
      if (heading.startsWith('# Implement')) return [spend, ...implement(prompt)]
      const notes = /different\n(.*)/.exec(prompt)?.[1] ?? ''
      return [spend, { say: `${heading.slice(2)} ${notes}`.trim() }]
    })
  }

  const make = (work: Work = {}, more: Partial<RalphOptions> = {}) =>
    ralph({ agent: worker(work), test: test(), ...more })

  it('ends when the tests pass, each turn in a new session, with a report between two tries', async () => {
    const { host } = await openStage()
    const told: string[] = []
    const run = await host.start(make({ told }), { task: 'make it 2' })
    expect(await answer(host, 'revise')).toBe('Is this what is to be built?\n\nSpec')
    expect(await answer(host, 'shorter')).toBe('What should be different in the spec?')
    expect(await answer(host, 'approve')).toContain('Spec shorter')
    expect(await run.result()).toEqual({
      stopped: 'tests-pass',
      why: 'The tests pass, and every feature is built.',
      turns: 2,
      spec: 'Spec shorter',
      features: [{ id: 'a', text: 'the first', attempts: 2, status: 'passes' }],
    })
    expect(told).toEqual([
      '1 # Research',
      '1 # Spec',
      '1 # Spec',
      '1 # Features',
      '1 # Implement: a',
      '1 # Debug: a',
      '1 # Implement: a',
    ])
    const said = (await host.journal(run.id)).flatMap(({ event }) => (event.type === 'emitted' ? [event] : []))
    expect(said.map(({ name, data }) => [name, (data as { status?: string }).status])).toEqual([
      ['feature', 'open'],
      ['feature', 'open'],
      ['feature', 'passes'],
      ['ralph-stopped', undefined],
    ])
    expect((await host.replay(run.id)).same).toBe(true)
  })

  it('counts what was tried before as built when the tests pass, and merges features by id', async () => {
    const { host } = await openStage()
    const implement = (prompt: string): readonly ScriptedStep[] =>
      prompt.startsWith('# Implement: b') ? [{ write: 'done', text: '2' }] : [{ say: 'no' }]
    const features = '[{"id":"a","text":"old"},{"id":"b","text":"second"},{"id":"a","text":"first"},{"id":3}]'
    const run = await host.start(make({ implement, features }), { task: 'two things', attempts: 1 })
    await answer(host, 'approve')
    expect(await run.result()).toMatchObject({
      stopped: 'tests-pass',
      turns: 2,
      features: [
        { id: 'a', text: 'first', status: 'passes' },
        { id: 'b', status: 'passes' },
      ],
    })
  })

  it.each([
    [{ max: 2 }, 2, 'The bound of 2 turns is reached', 'open'],
    [{ attempts: 3 }, 3, 'Each feature may be tried 3 times', 'failed'],
  ])('ends at its bound: %j', async (bounds, turns, why, status) => {
    const { host } = await openStage()
    const definition = make({ implement: () => [{ say: 'no' }], features: 'none' })
    const run = await host.start(definition, { task: 'impossible', ...bounds })
    await answer(host, 'approve')
    const result = await run.result()
    expect(result).toMatchObject({ stopped: 'bound', turns, features: [{ id: 'task', status, report: 'Debug: task' }] })
    expect(result.why).toContain(why)
  })

  it('tells its agent of tests that do not end, and goes on', async () => {
    const { host } = await openStage()
    const command = 'echo begun; grep -q 2 done || sleep 86400'
    const test = bash('test', { command, cwd: dir, check: false, effect: 'repeatable', timeout: '300ms' })
    const failures: string[] = []
    const implement = (prompt: string): readonly ScriptedStep[] => {
      failures.push(/## How the tests failed last\n([^#]*)/.exec(prompt)?.[1] ?? '')
      return fix(prompt)
    }
    const run = await host.start(make({ implement }, { test }), { task: 'end' })
    await answer(host, 'approve')
    expect(await run.result()).toMatchObject({ stopped: 'tests-pass', turns: 2 })
    expect((await host.run(run.id)).status).toBe('completed')
    expect(failures).toEqual(['', expect.stringMatching(/exit code none\nbegun\n.*did not end within 300 ms/s)])
    expect((await host.replay(run.id)).same).toBe(true)
    const broken = bash('test', { command, cwd: join(dir, 'nowhere'), check: false, effect: 'repeatable' })
    const fails = await host.start(make({}, { test: broken, name: 'broken' }), { task: 'no folder' })
    await answer(host, 'approve')
    expect((await rejection(fails.result())).message).toContain('nowhere')
  })

  it('ends when the spec is rejected', async () => {
    const { host } = await openStage()
    const told: string[] = []
    const run = await host.start(make({ told }), { task: 'no' })
    await answer(host, 'reject')
    expect(await run.result()).toMatchObject({ stopped: 'rejected', turns: 0, features: [] })
    expect(told).toHaveLength(2)
  })

  it('is held when its budget is spent, and goes on with a larger one', async () => {
    const { host } = await openStage()
    const run = await host.start(make(), { task: 'dear' }, { budget: { usd: 0.35 } })
    await answer(host, 'approve')
    await until(async () => (await host.run(run.id)).status === 'exhausted')
    expect(readFileSync(join(dir, 'done'), 'utf8')).toBe('1')
    await run.resume({ budget: { usd: 1 } })
    expect(await run.result()).toMatchObject({ stopped: 'tests-pass', turns: 2 })
    expect((await host.run(run.id)).usage.usd).toBeCloseTo(0.6)
  })

  it('opens a pull request only when it is asked for and the tests pass', async () => {
    const { host } = await openStage()
    const opened: unknown[] = []
    const pullRequest = defineNode('pr', (about: unknown) => opened.push(about))
    const go = async (input: { pullRequest?: boolean; max?: number }) => {
      rmSync(join(dir, 'done'), { force: true })
      const run = await host.start(make({}, { pullRequest }), { task: 'x', ...input })
      await answer(host, 'approve')
      return run.result()
    }
    await go({})
    expect(await go({ pullRequest: true, max: 1 })).toMatchObject({ stopped: 'bound' })
    expect(opened).toEqual([])
    expect(await go({ pullRequest: true })).toMatchObject({ stopped: 'tests-pass', pullRequest: 1 })
    expect(opened).toMatchObject([{ task: 'x', features: [{ id: 'a' }] }])
    const cannot = await host.start(make(), { task: 'x', pullRequest: true })
    expect((await rejection(cannot.result())).message).toContain('nothing here can open a pull request')
  })

  it('goes on after a crash in the middle of a turn: what is done is not done again', async () => {
    const store = new MemoryStore()
    const told: string[] = []
    const implement = (prompt: string): readonly ScriptedStep[] =>
      prompt.startsWith('You were interrupted')
        ? [{ write: 'done', text: '2' }]
        : [{ shell: 'touch began; while [ ! -e never ]; do sleep 0.05; done' }]
    const script = worker({ implement, told })
    const before = await openStage({ store })
    const run = await before.host.start(ralph({ agent: script, test: test() }), { task: 'survive' })
    await answer(before.host, 'approve')
    await until(() => existsSync(join(dir, 'began')))
    await before.host.close()
    writeFileSync(join(dir, 'never'), '')
    await script.stop()
    const again = made('coder', ({ prompt, number }) => {
      told.push(`${number} ${prompt.split('\n').find((line) => line.startsWith('# ')) ?? ''}`)
      return implement(prompt)
    })
    const { host } = await openStage({ store, definitions: [ralph({ agent: again, test: test() })] })
    await host.recover()
    expect(await (await host.handle(run.id)).result()).toMatchObject({ stopped: 'tests-pass', turns: 1 })
    expect(told).toEqual(['1 # Research', '1 # Spec', '1 # Features', '1 # Implement: a', '2 # Implement: a'])
  })

  it.each([
    [{ task: ' ' }, /give a task/],
    [{ task: 'x', max: 0 }, /max is 0/],
  ])('refuses %j', async (input, message) => {
    const { host } = await openStage()
    const run = await host.start(make(), input)
    expect((await rejection(run.result())).message).toMatch(message)
  })
})
