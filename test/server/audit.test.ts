/** Who did what can be told afterwards, from the journals alone. */
import { expect, it, onTestFinished } from 'vitest'
import { createHost, workflow, type Host } from 'nerve'
import { createService, type Caller } from 'nerve/server'
import { SimulatedClock } from 'nerve/testing'
import { auditTrail, type AuditRow } from '../../src/host/contract/audit-calls.ts'

const asking = workflow('asking', async (ctx) => {
  const answer = await ctx.ask('Publish?', { label: 'publish', choices: ['yes', 'no'] })
  await ctx.waitFor('go', { label: 'go' })
  return answer
})
const parent = workflow('parent', (ctx) => ctx.child(asking, undefined))
const costly = workflow('costly', { budget: { steps: 1 } }, async (ctx) => {
  for (let i = 0; i < 2; i += 1) await ctx.step(`step-${i}`, () => i)
})
const secretive = workflow('secretive', (ctx) => ctx.waitFor('key'))

const as = (by: string, via = 'http'): Caller => ({ scope: 'control', local: false, by, via })

async function stage(): Promise<{ readonly host: Host; readonly ask: ReturnType<typeof asker> }> {
  const clock = new SimulatedClock()
  const host = await createHost({ store: 'memory', clock, definitions: [asking, parent, costly, secretive] })
  onTestFinished(() => host.close())
  return { host, ask: asker(host, clock) }
}

/** Each call has its own moment: what happens to different runs in one moment has no order. */
function asker(host: Host, clock: SimulatedClock) {
  const service = createService(host)
  return async <Output = AuditRow[]>(name: string, input: object, by = 'ada'): Promise<Output> => {
    clock.advance(1)
    return (await service.call(name, input, as(by))) as Output
  }
}

const told = (rows: readonly AuditRow[]): string[] => rows.toReversed().map(({ by, action }) => `${by} ${action}`)

it('tells everything that was done to a run and its children, and by whom', async () => {
  const { host, ask } = await stage()
  const { run } = await ask<{ run: string }>('runs.start', { definition: 'parent' }, 'starter')
  await ask('runs.wait', { run, until: 'rest' })
  const [question] = await host.inbox()
  await ask('runs.pause', { run }, 'pauser')
  await ask('runs.resume', { run }, 'resumer')
  await ask('runs.interrupt', { run }, 'interrupter')
  await ask('questions.answer', { question: question?.id, value: 'yes' }, 'answerer')
  await ask('signals.send', { run: question?.run, name: 'other', value: { amount: 12 } }, 'sender')
  await ask('runs.cancel', { run, reason: 'no need' }, 'canceller')
  const rows = await ask('audit', { run })
  expect(told(rows)).toEqual([
    'starter started',
    'pauser paused',
    'resumer resumed',
    'interrupter interrupted',
    'answerer answered',
    'sender signalled',
    'canceller cancelled',
  ])
  const answered = rows.find(({ action }) => action === 'answered')
  expect(answered).toEqual({
    id: expect.stringMatching(`^${question?.run}:\\d+$`),
    time: expect.any(Number),
    run: question?.run,
    definition: 'asking',
    action: 'answered',
    by: 'answerer',
    via: 'http',
    question: question?.id,
    prompt: 'Publish?',
    value: 'yes',
  })
  expect(rows.find(({ action }) => action === 'signalled')).toMatchObject({ signal: 'other', value: '{"amount":12}' })
  expect(rows[0]).toMatchObject({ reason: 'no need', run })
  expect(told(await ask('audit', { run: question?.run ?? '' }))).toEqual(['answerer answered', 'sender signalled'])
})

it('tells what a fork has taken over of the other run alone, and who raised a budget', async () => {
  const { host, ask } = await stage()
  const { run } = await ask<{ run: string }>('runs.start', { definition: 'asking' }, 'one')
  await ask('runs.wait', { run, until: 'rest' })
  await ask('questions.answer', { question: (await host.inbox())[0]?.id, value: 'no' }, 'one')
  await ask('runs.wait', { run, until: 'rest' })
  const fork = await ask<{ run: string }>('runs.fork', { run }, 'two')
  await ask('signals.send', { run: fork.run, name: 'go' }, 'two')
  const rows = await ask('audit', { run: fork.run })
  expect(told(rows)).toEqual(['two forked', 'two signalled'])
  expect(rows.at(-1)).toMatchObject({ from: run })
  expect(told(await ask('audit', { run }))).toEqual(['one started', 'one answered'])
  const spent = await ask<{ run: string }>('runs.start', { definition: 'costly' }, 'one')
  await ask('runs.wait', { run: spent.run, until: 'rest' })
  await ask('runs.resume', { run: spent.run, budget: { steps: 5 } }, 'two')
  expect(told(await ask('audit', { run: spent.run }))).toEqual(['one started', 'two budget-raised'])
})

it('shows values as short text without secrets', async () => {
  const { ask } = await stage()
  const { run } = await ask<{ run: string }>('runs.start', { definition: 'secretive' })
  const value = { apiKey: 'something', text: `sk-${'a1'.repeat(20)} ${'x'.repeat(10_000)}` }
  await ask('signals.send', { run, name: 'key', value })
  const [row] = await ask('audit', { run })
  expect(row?.value).toMatch(/^\{"apiKey":"\[redacted\]","text":"\[redacted\] x+… \(\d+ more characters\)/)
  expect(row?.value?.length).toBeLessThan(260)
})

it('reads no more journals than it needs, and goes on page by page', async () => {
  const clock = new SimulatedClock()
  const host = await createHost({ store: 'memory', clock, definitions: [secretive] })
  onTestFinished(() => host.close())
  const first = await host.start(secretive, undefined, { by: 'ada', via: 'cli' })
  for (let i = 0; i < 40; i += 1) {
    clock.advance(1)
    await host.start(secretive, undefined, { by: `user-${i}` })
  }
  await expect.poll(async () => (await host.runs()).every(({ status }) => status === 'waiting')).toBe(true)
  // The oldest run has the newest entry: a signal that it does not wait for.
  clock.advance(1)
  await first.signal('other', 1, { by: 'last' })
  let read = 0
  const counting: Pick<Host, 'runs' | 'run' | 'journal'> = {
    runs: (filter) => host.runs(filter),
    run: (run) => host.run(run),
    journal: (run) => {
      read += 1
      return host.journal(run)
    },
  }
  const newest = await auditTrail(counting, { limit: 5 })
  expect(newest.map(({ by }) => by)).toEqual(['last', 'user-39', 'user-38', 'user-37', 'user-36'])
  expect(read).toBeLessThan(15)
  const all = await auditTrail(host, { limit: 1_000 })
  expect(all).toHaveLength(42)
  const paged: AuditRow[] = []
  for (let after: string | undefined; ; after = paged.at(-1)?.id) {
    const page = await auditTrail(host, { limit: 5, after })
    paged.push(...page)
    if (page.length < 5) break
  }
  expect(paged).toEqual(all)
  await expect(auditTrail(host, { after: 'nope:1' })).rejects.toMatchObject({ code: 'bad-input' })
})
