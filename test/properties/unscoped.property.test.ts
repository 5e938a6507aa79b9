/** Async programs without scopes: either their labels are refused, or every crash leads to the same results. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { workflow, type Context } from 'nerve'
import { liveOn, openLife } from './life.ts'
import { RecordingStore } from './recording-store.ts'
import { runs, within } from './settings.ts'

type Flow =
  | {
      readonly kind: 'step'
      readonly id: number
      readonly label: string
      readonly hops: number
      readonly turns: number
    }
  | { readonly kind: 'hops'; readonly count: number }
  | { readonly kind: 'turn' }
  | { readonly kind: 'earlier'; readonly which: number }
  | { readonly kind: 'sequence' | 'together' | 'then' | 'function' | 'unawaited'; readonly items: readonly Flow[] }

const { flow } = fc.letrec<{ flow: Flow }>((tie) => ({
  flow: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    fc.record({
      kind: fc.constant('step' as const),
      id: fc.constant(0),
      label: fc.constantFrom('x', 'x', 'y', 'z'),
      hops: fc.nat(6),
      turns: fc.constantFrom(0, 0, 0, 1, 3),
    }),
    fc.record({ kind: fc.constant('hops' as const), count: fc.nat(5) }),
    fc.record({ kind: fc.constant('earlier' as const), which: fc.nat(3) }),
    fc.record({
      kind: fc.constantFrom(
        'sequence' as const,
        'together' as const,
        'then' as const,
        'function' as const,
        'unawaited' as const,
      ),
      items: fc.array(tie('flow'), { minLength: 1, maxLength: 3 }),
    }),
  ),
}))

const flows = fc
  .record({
    kind: fc.constantFrom('sequence' as const, 'together' as const),
    items: fc.array(flow, { minLength: 2, maxLength: 4 }),
  })
  .map((one) => numbered(one, { next: 0 }))

function numbered(one: Flow, ids: { next: number }): Flow {
  if (one.kind === 'step') return { ...one, id: (ids.next += 1) }
  return 'items' in one ? { ...one, items: one.items.map((item) => numbered(item, ids)) } : one
}

/** How slow steps are: another life of the process is faster or slower. */
let pace = 1

class Swapped extends Error {}

async function carryOut(ctx: Context<unknown>, one: Flow, started: Promise<unknown>[]): Promise<void> {
  switch (one.kind) {
    case 'step': {
      const promise = ctx.step(one.label, async () => {
        for (let i = 0; i < one.hops * pace; i += 1) await Promise.resolve()
        for (let i = 0; i < one.turns * pace; i += 1) await turn()
        return one.id
      })
      started.push(promise)
      const got = await promise
      if (got !== one.id) throw new Swapped(`step ${one.id} got the result of step ${got}`)
      return
    }
    case 'hops':
      for (let i = 0; i < one.count; i += 1) await Promise.resolve()
      return
    case 'turn':
      await turn()
      return
    case 'earlier':
      await started[one.which]
      return
    case 'together':
      await Promise.all(one.items.map((item) => carryOut(ctx, item, started)))
      return
    case 'then':
      await one.items.reduce<Promise<unknown>>(
        (before, item) => before.then(() => carryOut(ctx, item, started)),
        Promise.resolve(),
      )
      return
    case 'unawaited': {
      const [first, ...rest] = one.items
      const going = first === undefined ? undefined : carryOut(ctx, first, started)
      going?.catch(() => undefined)
      for (const item of rest) await carryOut(ctx, item, started)
      await going
      return
    }
    case 'function':
      await (async () => {
        for (const item of one.items) await carryOut(ctx, item, started)
      })()
      return
    default:
      for (const item of one.items) await carryOut(ctx, item, started)
  }
}

const unscoped = workflow('unscoped', async (ctx, input: { flow: Flow }) => {
  await carryOut(ctx, input.flow, [])
  return 'right'
})

async function outcome(result: Promise<unknown>): Promise<unknown> {
  return result.catch((error: Error) => (error.cause as { code?: string } | undefined)?.code ?? error.message)
}

function completed(store: RecordingStore, commits = store.commits.length): number {
  const rows = store.commits.slice(0, commits).flatMap((batch) => batch.flatMap((append) => append.rows))
  return rows.filter((row) => row.data.includes('"type":"step-completed"')).length
}

describe('unscoped async programs', () => {
  it('are refused for a label, or keep their results apart after a crash at any commit', async () => {
    let refused = 0
    let right = 0
    const enough = (): boolean => right > 20 && refused > 5
    await fc.assert(
      fc.asyncProperty(
        flows,
        fc.constantFrom(0, 1, 3),
        within(
          9,
          async (one, later) => {
            pace = 1
            const store = new RecordingStore()
            const life = await openLife(store, [unscoped])
            const run = await life.host.start(unscoped, { flow: one })
            const live = await outcome(liveOn(life, run))
            await life.host.close()
            expect(['right', 'label-reused']).toContain(live)
            if (live === 'right') right += 1
            else refused += 1
            pace = later
            for (let cut = 1; cut < store.commits.length; cut += 1) {
              const again = await openLife(await store.crashedAfter(cut), [unscoped])
              const replayed = await outcome(liveOn(again, await again.host.handle(run.id)))
              await again.host.close()
              expect(['right', 'label-reused'], `cut after ${cut}`).toContain(replayed)
              // Steps that run anew may end in another order; what is recorded is handed out in its own.
              if (live === 'right' && completed(store, cut) === completed(store))
                expect(replayed, `cut after ${cut}`).toBe('right')
            }
          },
          enough,
        ),
      ),
      runs(1_500),
    )
    expect(enough(), `${right} right, ${refused} refused`).toBe(true)
  })
})
