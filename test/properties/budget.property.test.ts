/** Budgets: when every step sets aside what it spends, no event of the journal finds more spent than allowed. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { workflow, type Context } from 'nerve'
import type { Budget, Dimension, JournalEvent, Usage } from '../../src/journal/events.ts'
import { decodeEvent } from '../../src/journal/codec.ts'
import { liveOn, openLife } from './life.ts'
import { RecordingStore } from './recording-store.ts'
import { runs, within } from './settings.ts'

interface Job {
  readonly reserve: Usage
  readonly share: number
  readonly fails: number
  readonly late: boolean
}
type Plan =
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'all' | 'sequence' | 'child'; readonly items: readonly Plan[] }

const amount = fc.record({
  usd: fc.integer({ min: 0, max: 8 }).map((n) => n / 8),
  tokens: fc.nat(50),
  calls: fc.nat(2),
})
const job = fc.record({
  reserve: amount,
  share: fc.constantFrom(0, 0.5, 1),
  fails: fc.constantFrom(0, 0, 1),
  late: fc.boolean(),
})
const { plan } = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    fc.record({ kind: fc.constant('job' as const), job }),
    fc.record({
      kind: fc.constantFrom('all' as const, 'sequence' as const, 'child' as const),
      items: fc.array(tie('plan'), { minLength: 1, maxLength: 4 }),
    }),
  ),
}))
const budget = fc.record(
  { usd: fc.integer({ min: 0, max: 24 }).map((n) => n / 8), tokens: fc.nat(150), calls: fc.nat(8), steps: fc.nat(8) },
  { requiredKeys: [] },
)

let done = 0

async function carryOut(ctx: Context<unknown>, one: Plan): Promise<number> {
  if (one.kind === 'job') return runJob(ctx, one.job)
  if (one.kind === 'child') return ctx.child(spendChild, { items: one.items })
  if (one.kind === 'all')
    return (await ctx.all(one.items.map((item) => () => carryOut(ctx, item)))).reduce((a, b) => a + b, 0)
  let sum = 0
  for (const item of one.items) sum += await carryOut(ctx, item)
  return sum
}

function runJob(ctx: Context<unknown>, { reserve, share, fails, late }: Job): Promise<number> {
  return ctx.step(
    'job',
    async (call) => {
      await Promise.resolve()
      if (late) call.reserve(reserve)
      call.usage(scaled(reserve, share))
      await Promise.resolve()
      if (call.attempt <= fails) throw new Error('again')
      done += 1
      return 1
    },
    { attempts: fails + 1, backoff: 1, ...(late ? {} : { reserve }) },
  )
}

const spendChild = workflow('spend-child', (ctx, input: { items: readonly Plan[] }) =>
  carryOut(ctx, { kind: 'all', items: input.items }),
)
const spend = workflow('spend', (ctx, input: { plan: Plan }) => carryOut(ctx, input.plan))

function scaled(usage: Usage, share: number): Usage {
  return { usd: (usage.usd ?? 0) * share, tokens: (usage.tokens ?? 0) * share, calls: (usage.calls ?? 0) * share }
}

const count = (one: Plan): number => (one.kind === 'job' ? 1 : one.items.reduce((sum, item) => sum + count(item), 0))

/** Every event of the tree, in the order in which they were committed. */
function* committed(store: RecordingStore): Iterable<JournalEvent> {
  for (const batch of store.commits) for (const append of batch) for (const row of append.rows) yield decodeEvent(row)
}

/** The first event after which more was spent than the budget of then allowed. */
function overspent(store: RecordingStore, first: Budget): string | undefined {
  const spent: Record<Dimension, number> = { usd: 0, tokens: 0, calls: 0, steps: 0, seconds: 0 }
  let limits = first
  for (const event of committed(store)) {
    if (event.type === 'budget-raised') limits = { ...limits, ...event.budget }
    if (event.type !== 'step-completed' && event.type !== 'step-failed' && event.type !== 'step-stopped') continue
    spent.steps += 1
    for (const [dimension, used] of Object.entries(event.usage ?? {}))
      if (dimension in spent) spent[dimension as Dimension] += used as number
    for (const [dimension, limit] of Object.entries(limits)) {
      if (spent[dimension as Dimension] > (limit as number) + 1e-9)
        return `${dimension} ${spent[dimension as Dimension]} > ${String(limit)} at ${event.path}`
    }
  }
  return undefined
}

describe('a budget', () => {
  it('is never exceeded, and a run that has spent it goes on when it is raised', async () => {
    let exhausted = 0
    await fc.assert(
      fc.asyncProperty(
        plan,
        budget,
        within(
          6,
          async (one, limits) => {
            done = 0
            const store = new RecordingStore()
            const life = await openLife(store, [spend, spendChild])
            const run = await life.host.start(spend, { plan: one }, { budget: limits })
            let raised: Budget = limits
            for (let round = 0; ; round += 1) {
              const result = await liveOn(life, run).catch((error: { code?: string }) => error.code)
              if (typeof result === 'number') {
                expect(result).toBe(count(one))
                break
              }
              expect(result).toBe('budget-exhausted')
              expect((await life.host.run(run.id)).status).toBe('exhausted')
              exhausted += 1
              if (round > 60) throw new Error('it is never enough')
              raised = Object.fromEntries(
                Object.entries(raised).map(([dimension, limit]) => [dimension, limit * 1.5 + 10]),
              )
              await run.resume({ budget: raised })
            }
            expect(overspent(store, limits)).toBeUndefined()
            expect(done).toBe(count(one))
            await life.host.close()
          },
          () => exhausted > 10,
        ),
      ),
      runs(1_000),
    )
    expect(exhausted).toBeGreaterThan(10)
  })
})
