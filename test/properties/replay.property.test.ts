/** Random programs: what they give, what a crash anywhere leaves of it, and what the journal says of the state. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/journal/events.ts'
import { liveOn, openLife } from './life.ts'
import { expected, expectedRuns, newLife, program, programs, type Program } from './program.ts'
import { RecordingStore, storeOf } from './recording-store.ts'
import { runs, within } from './settings.ts'

interface Lived {
  readonly store: RecordingStore
  readonly run: string
  readonly entries: readonly Entry[]
}

async function live(body: Program): Promise<Lived> {
  const store = new RecordingStore()
  const life = await openLife(store)
  const effects = newLife()
  const run = await life.host.start(program, { body })
  expect(await liveOn(life, run)).toEqual(expected(body))
  expect(countsOf(effects.ran)).toEqual(sorted(expectedRuns(body)))
  const entries = await life.host.journal(run.id)
  await life.host.close()
  return { store, run: run.id, entries }
}

/** Recovers a cut-off store with a new host, and says what ran. */
async function recover(
  store: RecordingStore,
  run: string,
): Promise<{ readonly result: unknown; readonly ran: string[] }> {
  const before = newLife()
  const life = await openLife(store)
  const result = await liveOn(life, await life.host.handle(run))
  await life.host.close()
  return { result, ran: before.ran }
}

describe('random programs', () => {
  it('give what a plain interpreter gives, and after a crash at any event the same, with nothing done twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        programs({ children: false }),
        within(6, async (body) => {
          const { entries, run } = await live(body)
          for (let cut = 1; cut <= entries.length; cut += 1) {
            const kept = entries.slice(0, cut)
            const { result, ran } = await recover(await storeOf(kept), run)
            expect(result, `cut after ${cut}`).toEqual(expected(body))
            expect(repeated(kept, ran), `cut after ${cut}`).toEqual([])
          }
        }),
      ),
      runs(400),
    )
  })

  it('with child runs reach the same result after a crash at any commit, with nothing done twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        programs({ maxItems: 2 }),
        within(6, async (body) => {
          const { store, run } = await live(body)
          for (let cut = 1; cut <= store.commits.length; cut += 1) {
            const { result, ran } = await recover(await store.crashedAfter(cut), run)
            expect(result, `cut after commit ${cut}`).toEqual(expected(body))
            const kept = store.commits.slice(0, cut).flatMap((batch) => batch.flatMap((append) => append.rows))
            const done = kept.map((row) => JSON.parse(row.data) as { type: string; output?: string })
            expect(
              ran.filter((id) => done.some((event) => event.type === 'step-completed' && event.output === id)),
            ).toEqual([])
          }
        }),
      ),
      runs(400),
    )
  })
})

/** Steps that ran although the journal had their outcome. */
function repeated(kept: readonly Entry[], ran: readonly string[]): string[] {
  const done = new Set<unknown>()
  for (const { event } of kept) {
    if (event.type === 'step-completed' && event.kind === undefined) done.add(event.output)
    if (event.type !== 'step-failed' || !event.final) continue
    const id = /^\S+/.exec(event.error.message)?.[0] ?? ''
    done.add(id)
    if (event.handled !== 'fallback') done.add(`${id}-instead`)
  }
  return ran.filter((id) => done.has(id))
}

function countsOf(ran: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const id of ran) counts.set(id, (counts.get(id) ?? 0) + 1)
  return sorted(counts)
}

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))
}
