/** Random graphs: what they give, in which order, and what a crash anywhere leaves of it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHost, type Handle } from 'nerve'
import { SimulatedClock } from 'nerve/testing'
import type { AnyDefinition } from '../../src/engine/definition.ts'
import type { Entry } from '../../src/journal/events.ts'
import { liveOn, type Life } from './life.ts'
import {
  buildGraph,
  expectedOf,
  expectedRuns,
  namedNodes,
  newProcess,
  randomGraphs,
  type Ran,
  type RandomGraph,
} from './random-graph.ts'
import { RecordingStore, storeOf } from './recording-store.ts'
import { runs, within } from './settings.ts'

async function openGraphLife(store: RecordingStore, definition: AnyDefinition): Promise<Life> {
  const clock = new SimulatedClock()
  const onProblem = (error: unknown): never => {
    throw error
  }
  const host = await createHost({ store, clock, definitions: [definition, ...namedNodes], onProblem })
  return { host, clock, store }
}

/** The results, or undefined when the run failed as it must. */
async function outcome(life: Life, run: Handle): Promise<unknown> {
  try {
    return await liveOn(life, run)
  } catch (error) {
    if (/as it must/u.test((error as Error).message)) return undefined
    throw error
  }
}

interface Lived {
  readonly run: string
  readonly entries: readonly Entry[]
}

async function live(one: RandomGraph, ran: Ran): Promise<Lived> {
  const definition = buildGraph(one)
  const life = await openGraphLife(new RecordingStore(), definition)
  const run = await life.host.start(definition)
  const expected = expectedOf(one)
  expect(await outcome(life, run)).toEqual(expected)
  expect(ran.wrong).toEqual([])
  expect(ran.most).toBeLessThanOrEqual(one.maxParallel)
  if (expected !== undefined) expect(counted(ran.paths)).toEqual(expectedRuns(one))
  const replayed = await life.host.replay(run.id)
  expect(replayed.problems).toEqual([])
  const entries = await life.host.journal(run.id)
  await life.host.close()
  return { run: run.id, entries }
}

/** How often each step ran, whatever it runs in: `s3`, `s3/0/work`, `s3#2/work` are all `s3`. */
function counted(paths: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const id = /^[^/#]+/u.exec(path)?.[0] ?? path
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return new Map([...counts].toSorted(([a], [b]) => Number(a.slice(1)) - Number(b.slice(1))))
}

function done(kept: readonly Entry[]): Set<string> {
  return new Set(
    kept.flatMap(({ event }) =>
      event.type === 'step-completed' || (event.type === 'step-failed' && event.final) ? [event.path] : [],
    ),
  )
}

describe('random graphs', () => {
  it('run each step once, after what it comes after, never above maxParallel, and give what an interpreter gives', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomGraphs(16),
        within(6, async (one) => {
          await live(one, newProcess(1))
        }),
      ),
      runs(1_000),
    )
  })

  it('give the same after a crash at any event, with nothing done twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomGraphs(),
        fc.constantFrom(0, 1, 4),
        within(9, async (one, speed) => {
          const { entries, run } = await live(one, newProcess(1))
          for (let cut = 1; cut <= entries.length; cut += 1) {
            const kept = entries.slice(0, cut)
            const ran = newProcess(speed)
            const life = await openGraphLife(await storeOf(kept), buildGraph(one))
            expect(await outcome(life, await life.host.handle(run)), `cut after ${cut}`).toEqual(expectedOf(one))
            await life.host.close()
            const before = done(kept)
            expect(
              ran.paths.filter((path) => before.has(path)),
              `cut after ${cut}`,
            ).toEqual([])
            expect(ran.most).toBeLessThanOrEqual(one.maxParallel)
          }
        }),
      ),
      runs(400),
    )
  })
})
