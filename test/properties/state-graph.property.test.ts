/** Random state graphs with nodes side by side: what they give, and what any part of their journal says of the state. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHost, type Host } from 'nerve'
import { SimulatedClock } from 'nerve/testing'
import { liveOn, openLife } from './life.ts'
import { build, expectedStates, graphs, type GraphSpec } from './random-state-graph.ts'
import { RecordingStore, storeOf } from './recording-store.ts'
import { runs, within } from './settings.ts'

async function looking<Value>(store: RecordingStore, look: (host: Host) => Promise<Value>): Promise<Value> {
  const host = await createHost({ store, clock: new SimulatedClock(), recover: false, wake: false })
  try {
    return await look(host)
  } finally {
    await host.close()
  }
}

async function lived(spec: GraphSpec) {
  const graph = build(spec)
  const store = new RecordingStore()
  const life = await openLife(store, [graph])
  const run = await life.host.start(graph, {})
  const end = await liveOn(life, run)
  const states = (await graph.history(life.host, run.id)).map(({ state }) => state)
  const entries = await life.host.journal(run.id)
  await life.host.close()
  return { graph, run: run.id, end, states, entries }
}

describe('random state graphs', () => {
  it('give what a plain reading of the rules gives, and any part of the journal the same states up to there', async () => {
    await fc.assert(
      fc.asyncProperty(
        graphs,
        within(8, async (spec) => {
          const { graph, run, end, states, entries } = await lived(spec)
          const expected = expectedStates(spec)
          expect(states).toEqual(expected)
          expect(end).toEqual(expected.at(-1))
          let known = 0
          for (let cut = 1; cut <= entries.length; cut += 1) {
            const store = await storeOf(entries.slice(0, cut))
            const seen = await looking(store, (host) => graph.history(host, run))
            expect(
              seen.map(({ state }) => state),
              `cut after ${cut}`,
            ).toEqual(expected.slice(0, seen.length))
            expect(seen.length, `cut after ${cut}`).toBeGreaterThanOrEqual(known)
            known = seen.length
          }
          expect(known).toBe(expected.length)
        }),
      ),
      runs(400),
    )
  })

  it('reach the same state after a crash at any event', async () => {
    await fc.assert(
      fc.asyncProperty(
        graphs,
        within(8, async (spec) => {
          const { graph, run, end, entries } = await lived(spec)
          for (let cut = 1; cut <= entries.length; cut += 1) {
            const life = await openLife(await storeOf(entries.slice(0, cut)), [graph])
            const again = await liveOn(life, await life.host.handle(run))
            await life.host.close()
            expect(again, `cut after ${cut}`).toEqual(end)
          }
        }),
      ),
      runs(400),
    )
  })
})
