import { AssertionError } from 'node:assert'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHost, workflow, type Host } from 'nerve'
import type { JournalEvent } from '../journal/events.ts'
import { MemoryStore, expectRun, runFacts, type WantedRun } from './index.ts'

const essay = workflow('essay', { budget: { calls: 9 } }, async (ctx) => {
  for (let round = 1; round <= 2; round += 1) await ctx.step('write', ({ usage }) => usage({ calls: 1 }))
  await ctx.step(
    'send',
    ({ attempt }) => {
      if (attempt === 1) throw new Error('away')
      return 'sent'
    },
    { attempts: 2, backoff: 1 },
  )
  ctx.emit('phase', { name: 'asking' })
  return ctx.ask('Is it good enough?')
})

async function opened(store = new MemoryStore()): Promise<Host> {
  const host = await createHost({ store, definitions: [essay] })
  onTestFinished(() => host.close())
  return host
}

async function finished(): Promise<{ readonly host: Host; readonly id: string }> {
  const host = await opened()
  const run = await host.start(essay)
  await run.rest()
  for (const { id } of await host.inbox()) await host.answer(id, 'yes')
  await run.result()
  return { host, id: run.id }
}

const problemsOf = (host: Host, id: string, wanted: WantedRun): Promise<string> =>
  expectRun(host, id, wanted).then(
    () => 'none',
    (error: Error) => {
      expect(error).toBeInstanceOf(AssertionError)
      return error.message
    },
  )

describe('expectRun', () => {
  it('says nothing when all is as wanted, and gives what the run did', async () => {
    const { host, id } = await finished()
    const facts = await expectRun(host, id, {
      output: 'yes',
      steps: { write: 2, 'write#2': 1, send: 2, other: 0 },
      questions: [/good enough/],
      emitted: ['phase'],
      usage: { calls: 2 },
    })
    await expectRun(host, { id }, { steps: ['send', 'write', 'write#2'], questions: ['Is it good'] })
    expect(facts.questions).toMatchObject([{ kind: 'ask', answered: true, answer: 'yes' }])
    expect(facts.steps.map(({ path, times }) => `${path} ${times}`)).toEqual(['write 1', 'write#2 1', 'send 2'])
  })

  it.each<[WantedRun, string]>([
    [{ status: 'failed' }, 'status: wanted failed, is completed'],
    [{ error: 'bad-input' }, 'error: wanted bad-input, is none'],
    [{ output: 'no' }, "output: wanted 'no', is 'yes'"],
    [{ output: undefined }, "output: wanted undefined, is 'yes'"],
    [{ steps: { write: 1 } }, 'step write: wanted to run once, ran 2 times'],
    [
      { steps: { 'send#2': 1 } },
      'step send#2: wanted to run once, ran never\n- the steps that ran: write, write#2, send (2 times)',
    ],
    [{ steps: ['write'] }, "steps that completed: wanted [ 'write' ], are [ 'send', 'write', 'write#2' ]"],
    [{ questions: [] }, "questions: wanted [], asked [ 'Is it good enough?' ]"],
    [{ questions: [/bad/] }, 'questions: wanted [ /bad/ ]'],
    [{ emitted: [] }, "emitted: wanted [], are [ 'phase' ]"],
    [{ usage: { calls: 3, usd: 1 } }, 'usage.calls: wanted 3, is 2\n- usage.usd: wanted 1, is 0'],
  ])('%o: %s', async (wanted, said) => {
    const { host, id } = await finished()
    expect(await problemsOf(host, id, wanted)).toContain(said)
  })

  it('tells what a run waits for, and why one failed', async () => {
    const host = await opened()
    const run = await host.start(essay)
    await run.rest()
    expect(await problemsOf(host, run.id, {})).toMatch(/is waiting\. It waits for an answer to 'Is it good enough\?'/)
    expect(await problemsOf(host, run.id, { status: 'waiting', replays: true })).toBe('none')
    const broken = workflow('broken', (ctx) => ctx.step('cut', () => Promise.reject(new Error('blunt'))))
    const failed = await host.start(broken)
    await failed.rest()
    expect(await problemsOf(host, failed.id, {})).toMatch(/status: wanted completed, is failed: [a-z-]+: .*blunt/)
  })

  it('finds code that is no longer what was recorded', async () => {
    const store = new MemoryStore()
    const first = await createHost({ store })
    const run = await first.start(workflow('changing', (ctx) => ctx.step('one', () => 1)))
    await run.result()
    await first.close()
    const changed = workflow('changing', (ctx) => ctx.step('two', () => 1))
    const host = await createHost({ store, definitions: [changed] })
    onTestFinished(() => host.close())
    expect(await problemsOf(host, run.id, {})).toContain('replay: the code does not do what is recorded')
    expect(await problemsOf(host, run.id, { replays: false })).toBe('none')
  })
})

describe('runFacts', () => {
  const begun = { type: 'step-started', path: 'a', attempt: 1 } as const
  const done = { type: 'step-completed', path: 'a', attempt: 1, started: 0, output: 1 } as const
  const timesOf = (...events: readonly JournalEvent[]): number | undefined =>
    runFacts(events.map((event, seq) => ({ run: 'r', seq, time: 0, event }))).steps[0]?.times

  it('counts what a process that died had begun', () => {
    expect(timesOf(begun, begun, done)).toBe(2)
  })

  it('does not count a step that goes on after its question as another', () => {
    const stopped = { type: 'step-stopped', path: 'a', attempt: 1, reason: 'question' } as const
    expect(timesOf(begun, stopped, begun, done)).toBe(1)
    expect(timesOf(stopped, begun, begun, done)).toBe(2)
  })
})
