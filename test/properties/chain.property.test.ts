/** Random chains of state graphs, with loops, branches, waits and handlers. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNerveError } from 'nerve'
import { liveOn, openLife, type Life } from './life.ts'
import { buildChain, chains, expectedOf, mended, type Expected } from './random-chain.ts'
import { RecordingStore, storeOf } from './recording-store.ts'
import { runs, within } from './settings.ts'

async function ending(life: Life, run: Parameters<typeof liveOn>[1]): Promise<Expected> {
  try {
    return { state: (await liveOn(life, run)) as never }
  } catch (error) {
    if (!isNerveError(error, 'run-failed')) throw error
    return { error: (error.cause as Error).message }
  }
}

/** Two branches may both fail, and then the run fails with the error of the one that was first. */
function expectEnd(end: Expected, expected: Expected): void {
  if ('error' in expected) expect(end).toHaveProperty('error')
  else expect(end).toEqual(expected)
}

describe('random chains', () => {
  it('give what a plain interpreter gives, replay, and give the same after a crash at any event', async () => {
    await fc.assert(
      fc.asyncProperty(
        chains,
        within(10, async (spec) => {
          const parts = mended(spec)
          const chain = buildChain(parts)
          const life = await openLife(new RecordingStore(), [chain])
          const run = await life.host.start(chain, {})
          const end = await ending(life, run)
          expectEnd(end, expectedOf(parts))
          expect(await life.host.replay(run.id)).toMatchObject({ same: true })
          const entries = await life.host.journal(run.id)
          await life.host.close()
          const stride = Math.ceil(entries.length / 40)
          for (let cut = 1; cut <= entries.length; cut += stride) {
            const again = await openLife(await storeOf(entries.slice(0, cut)), [chain])
            expectEnd(await ending(again, await again.host.handle(run.id)), end)
            await again.host.close()
          }
        }),
      ),
      runs(300),
    )
  })
})
