/** Every example runs, in this process and from the command line. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createHost, type Host } from 'nerve'
import { createGateway, scripted } from 'nerve/gateway'
import { expectRun } from 'nerve/testing'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import abFork from '../../examples/ab-fork.ts'
import approval from '../../examples/approval.ts'
import atomic from '../../examples/atomic.ts'
import debate from '../../examples/debate.ts'
import devCoachReviewGraph from '../../examples/dev-coach-review-graph.ts'
import devCoachReview from '../../examples/dev-coach-review.ts'
import parallelReview from '../../examples/parallel-review.ts'
import publish from '../../examples/publish.ts'
import researchAgent from '../../examples/research-agent.ts'
import resume from '../../examples/resume.ts'
import { modelFor } from '../../examples/team/model.ts'
import { ROOT } from './pages.ts'

// Whoever runs the tests may have keys: these are not for the examples.
vi.hoisted(() => (process.env['NERVE_MODEL'] = 'scripted'))

/** The examples, an input for each, and how `nerve run` ends with nobody to ask. */
const EXAMPLES = [
  { name: 'ab-fork.ts', input: 'sales', exits: 0 },
  { name: 'approval.ts', input: { goal: 'ship' }, exits: 3 },
  { name: 'atomic.ts', input: { task: 'a login page' }, exits: 3 },
  { name: 'debate.ts', input: 'Tests?', exits: 0 },
  { name: 'dev-coach-review-graph.ts', input: 'add a login', exits: 3 },
  { name: 'dev-coach-review.ts', input: 'add a login', exits: 3 },
  { name: 'parallel-review.ts', input: { files: ['a.ts', 'b.ts'] }, exits: 0 },
  { name: 'publish.ts', input: { topic: 'moss' }, exits: 3 },
  { name: 'research-agent.ts', input: 'tea', exits: 3 },
  { name: 'resume.ts', input: { rounds: 2, pause: 1 }, exits: 0 },
]

let host: Host

beforeEach(async () => {
  host = await createHost({ store: 'memory' })
})

afterEach(() => host.close())

describe('the examples', () => {
  it('are all tested here, and say how to run them', () => {
    const files = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts'))
    expect(files.toSorted()).toEqual(EXAMPLES.map(({ name }) => name))
    for (const name of files) {
      const text = readFileSync(join(ROOT, 'examples', name), 'utf8')
      expect(text).toContain(` nerve run examples/${name}`)
    }
  })

  it('publish.ts publishes when somebody says so', async () => {
    const run = await host.start(publish, { topic: 'moss' })
    expect(await run.rest()).toBe('waiting')
    await answerOldest('publish')
    expect(await run.result()).toEqual({
      text: 'An essay made of what the library has on moss and what the archive has on moss.',
      answer: 'publish',
    })
    const published = (await host.journal(run.id)).filter(({ event }) => 'path' in event && event.path === 'publish')
    expect(published.map(({ event }) => event.type)).toEqual(['step-started', 'step-completed'])
  })

  it('dev-coach-review: the async function and the control nodes do the same', async () => {
    const wanted = { draft: 'draft 6 of add a login', rounds: 2, merged: true }
    const said: unknown[][] = []
    for (const definition of [devCoachReview, devCoachReviewGraph]) {
      const run = await host.start(definition, 'add a login')
      expect(await run.rest()).toBe('waiting')
      await answerOldest('approve')
      expect(await run.result()).toEqual(wanted)
      expect(await host.replay(run.id)).toMatchObject({ same: true })
      said.push(await saidBy(run.id))
    }
    expect(said[0]).toHaveLength(14)
    expect(said[1]).toEqual(said[0])
  })

  it('atomic.ts goes from a task to a pull request, past a person and a feature that fails', async () => {
    const run = await host.start(atomic, { task: 'a login page' })
    for (const answer of ['revise', 'approve']) {
      expect(await run.rest()).toBe('waiting')
      await answerOldest(answer)
    }
    const state = await run.result()
    expect(state.spec).toBe('How to build a login page. Shorter.')
    expect(state.log).toEqual([
      'form: passes',
      'check: fails',
      'check: passes',
      'captcha: fails',
      'captcha: fails',
      'captcha: fails',
    ])
    expect(state.pullRequest).toBe('a login page: form, check')
    const told = (await host.journal(run.id)).flatMap(({ event }) => (event.type === 'emitted' ? [event.name] : []))
    expect(told).toEqual(['human_input_required', 'human_input_required', 'debug_report_generated'])
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('research-agent.ts searches until it is enough', async () => {
    const run = await host.start(researchAgent, 'budget')
    expect(await run.rest()).toBe('waiting')
    await answerOldest('approve')
    const output = { approved: true, answer: 'What the guide says about budget, in short.', searches: 2 }
    await run.result()
    const { steps } = await expectRun(host, run, {
      output,
      steps: { 'searcher/model': 4, 'searcher/tools/1/search_guide': 2, 'evaluator/model': 2, 'writer/model': 1 },
      questions: ['The research is done. Approve?'],
      emitted: ['phase'],
      usage: { calls: 7 },
    })
    const found = steps.find(({ path }) => path === 'searcher/tools/1/search_guide')?.output
    expect(found).toMatchObject({ text: expect.stringMatching(/^[a-z-]+\.md: .*budget/i) })
  })

  it('debate.ts: two conversations, which remember, and a judge', async () => {
    for (const name of ['first', 'second']) {
      const run = await host.start(debate, `The ${name} question?`)
      const { winner, said } = await run.result()
      expect(winner).toBe('for')
      expect(said).toEqual([1, 2].flatMap((n) => [`for: Yes, for reason ${n}.`, `against: No, for reason ${n}.`]))
      await expectRun(host, run, { steps: { 'for/model': 2, 'against/model': 2, 'judge/model': 1 } })
    }
  })

  it('that have models ask a real one when there is a key, or the one that is named', () => {
    const scriptOnly = { rules: [] }
    expect(modelFor(scriptOnly, {})).toMatchObject({ modelId: 'scripted' })
    expect(modelFor(scriptOnly, { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: 'k' })).toMatch(/^openai:/)
    expect(modelFor(scriptOnly, { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' })).toMatch(/^anthropic:/)
    expect(modelFor(scriptOnly, { ANTHROPIC_API_KEY: 'k', NERVE_MODEL: 'scripted' })).toMatchObject({
      provider: 'nerve',
    })
    expect(modelFor(scriptOnly, { NERVE_MODEL: 'google:gemini-3-pro' })).toBe('google:gemini-3-pro')
  })

  it('debate.ts asks a provider over the network when there is a key', async () => {
    const gateway = await createGateway({
      backend: scripted(({ json }) => ({ say: json === undefined ? 'Perhaps.' : '{"winner":"against","why":"Hm."}' })),
    })
    onTestFinished(() => gateway.close())
    const env = { NERVE_MODEL: '', ANTHROPIC_API_KEY: gateway.token().token, ANTHROPIC_BASE_URL: `${gateway.url}/v1` }
    const { code, out } = await nerveRun('debate.ts', 'Tests?', env)
    expect(code, out).toBe(0)
    expect(out).toContain('against: Perhaps.')
    expect(gateway.log.recent).toHaveLength(5)
    expect(new Set(gateway.log.recent.map(({ format }) => format))).toEqual(new Set(['anthropic']))
  })

  it('ab-fork.ts: copies know what the original had heard, and nothing of each other', async () => {
    const run = await host.start(abFork, 'sales')
    expect((await run.result()).compare).toBe(
      'careful: look at the sales | change little\nbold: look at the sales | change much',
    )
    expect(await host.replay(run.id)).toMatchObject({ same: true })
  })

  it('parallel-review.ts keeps the order and counts the calls', async () => {
    const run = await host.start(parallelReview, { files: ['a.ts', 'b.ts', 'c.ts'] })
    const { reviews, calls } = await run.result()
    expect(reviews.map(({ verdict }) => verdict)).toEqual(['fine', 'look again', 'fine'])
    expect(calls).toBe(6)
  })

  it('approval.ts revises with the notes that were sent', async () => {
    const run = await host.start(approval, { goal: 'ship' })
    await run.rest()
    await run.signal('message', '2. test it')
    await answerOldest('reject')
    await expect.poll(async () => (await host.inbox()).length).toBe(1)
    await answerOldest('approve')
    expect(await run.result()).toEqual({ plan: '1. think about how to ship\n2. test it', decision: 'approve' })
  })

  it('approval.ts lets a signal go past the gate', async () => {
    const run = await host.start(approval, { goal: 'ship' })
    await run.rest()
    await run.signal('override', 'the boss')
    expect((await run.result()).decision).toBe('override by the boss')
    expect(await host.inbox()).toEqual([])
  })

  it('resume.ts runs its rounds', async () => {
    const run = await host.start(resume, { rounds: 3, pause: 1 })
    expect((await run.result()).sum).toBe(6)
  })

  it.each(EXAMPLES)('$name runs with nerve run', async ({ name, input, exits }) => {
    const { code, out } = await nerveRun(name, input)
    expect(code, out).toBe(exits)
  })

  it('replay to the same results', async () => {
    const run = await host.start(parallelReview, { files: ['x.ts'] })
    await run.result()
    expect((await host.replay(run.id)).problems).toEqual([])
  })
})

/** `nerve run` of an example in an empty folder, with nobody to ask. */
async function nerveRun(
  name: string,
  input: unknown,
  env: NodeJS.ProcessEnv = {},
): Promise<{ readonly code: number; readonly out: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'nerve-example-'))
  const cli = ['--conditions=nerve-source', join(ROOT, 'src/surfaces/cli/main.ts'), 'run', join(ROOT, 'examples', name)]
  const call = promisify(execFile)(process.execPath, [...cli, '--dir', dir, '--input', JSON.stringify(input)], {
    cwd: dir,
    env: { ...process.env, ...env },
  })
  call.child.stdin?.end()
  try {
    return await call.then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout + stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, out: stdout + stderr }),
    )
  } finally {
    rmSync(dir, { recursive: true })
  }
}

async function answerOldest(value: string): Promise<void> {
  const [question] = await host.inbox()
  if (question === undefined) throw new Error('no question is open')
  await host.answer(question.id, value)
}

/** What the nodes of the team said, in order. */
async function saidBy(run: string): Promise<unknown[]> {
  return (await host.journal(run)).flatMap(({ event }) =>
    event.type === 'step-completed' && /(^|\/)(dev|coach|reviewer)(#\d+)?$/.test(event.path) ? [event.output] : [],
  )
}
