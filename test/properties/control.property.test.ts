/** Random trees of control nodes: what they give, what a replay of them gives, and what a crash anywhere leaves. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Handle } from 'nerve'
import type { Entry } from '../../src/journal/events.ts'
import { definitionOf, interpret, ran, trees, type Tree } from './control-tree.ts'
import { liveOn, openLife, type Life } from './life.ts'
import { RecordingStore, storeOf } from './recording-store.ts'
import { runs, within } from './settings.ts'

type End = { readonly value: number } | 'failed'

function expected(tree: Tree, input: number): End {
  try {
    return { value: interpret(tree, input) }
  } catch {
    return 'failed'
  }
}

async function endOf(life: Life, run: Handle<number>): Promise<End> {
  return liveOn(life, run).then(
    (value) => ({ value }),
    (error: { code?: string }) => {
      if (error.code !== 'run-failed') throw error
      return 'failed'
    },
  )
}

describe('random control trees', () => {
  it('give what a plain interpreter gives, and replay to the same', async () => {
    await fc.assert(
      fc.asyncProperty(
        trees(),
        fc.nat(50),
        fc.constantFrom('stop' as const, 'skip' as const),
        within(8, async (tree, input, policy) => {
          const life = await openLife(new RecordingStore())
          const run = await life.host.start(definitionOf(tree, policy), input)
          expect(await endOf(life, run)).toEqual(expected(tree, input))
          expect((await life.host.replay(run.id)).problems).toEqual([])
          await life.host.close()
        }),
      ),
      runs(600),
    )
  })

  it('give the same after a crash at any event, with nothing done twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        trees(),
        fc.nat(50),
        fc.constantFrom('stop' as const, 'skip' as const),
        within(10, async (tree, input, policy) => {
          const definition = definitionOf(tree, policy)
          const life = await openLife(new RecordingStore())
          const run = await life.host.start(definition, input)
          const end = await endOf(life, run)
          const entries = await life.host.journal(run.id)
          await life.host.close()
          for (let cut = 1; cut <= entries.length; cut += 1) {
            const kept = entries.slice(0, cut)
            ran.length = 0
            const next = await openLife(await storeOf(kept), [definition])
            expect(await endOf(next, await next.host.handle(run.id)), `cut after ${cut}`).toEqual(end)
            await next.host.close()
            expect(repeated(kept), `cut after ${cut}`).toEqual([])
          }
        }),
      ),
      runs(300),
    )
  })
})

/** Attempts that ran although the journal had their outcome. */
function repeated(kept: readonly Entry[]): string[] {
  const done = new Set(
    kept.flatMap(({ event }) =>
      event.type === 'step-completed' || event.type === 'step-failed' ? [`${event.path}@${event.attempt}`] : [],
    ),
  )
  return ran.filter((one) => done.has(one))
}
