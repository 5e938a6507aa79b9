/** Runs as text and as forks; and the live state, which is the fold of the journal at any time. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHost } from 'nerve'
import { MemoryStore, SimulatedClock } from 'nerve/testing'
import { Engine } from '../../src/engine/engine.ts'
import type { Execution } from '../../src/engine/execution.ts'
import { foldAll } from '../../src/journal/fold.ts'
import { headOf } from '../../src/journal/head.ts'
import { timelineOf } from '../../src/projections/timeline.ts'
import { liveOn, openLife } from './life.ts'
import { childProgram, expected, newLife, program, programs } from './program.ts'
import { RecordingStore } from './recording-store.ts'
import { runs, within } from './settings.ts'

describe('an export', () => {
  it('imported elsewhere is the same run, and exports to the same text', async () => {
    await fc.assert(
      fc.asyncProperty(
        programs(),
        within(4, async (body) => {
          newLife()
          const life = await openLife(new RecordingStore())
          const run = await life.host.start(program, { body })
          await liveOn(life, run)
          const text = await life.host.export(run.id)
          const other = await createHost({ store: new MemoryStore(), definitions: [program, childProgram] })
          const imported = await other.import(text)
          expect(await other.export(run.id)).toBe(text)
          expect(await imported.result()).toEqual(expected(body))
          const replayed = await other.replay(run.id)
          expect(replayed.problems).toEqual([])
          expect(replayed.same).toBe(true)
          await Promise.all([life.host.close(), other.close()])
        }),
      ),
      runs(200),
    )
  })
})

describe('a fork', () => {
  it('at any path with nothing changed gives the same result', async () => {
    await fc.assert(
      fc.asyncProperty(
        programs({ maxItems: 2 }),
        within(5, async (body) => {
          newLife()
          const life = await openLife(new RecordingStore())
          const run = await life.host.start(program, { body })
          await liveOn(life, run)
          const paths = new Set(
            (await life.host.journal(run.id)).flatMap(({ event }) =>
              'path' in event && event.path !== undefined ? [event.path] : [],
            ),
          )
          for (const at of paths) {
            const fork = await run.fork({ at })
            expect(await liveOn(life, fork), `forked at ${at}`).toEqual(expected(body))
            const timeline = timelineOf(await life.host.journal(fork.id))
            expect([...timeline.items.values()].every((item) => item.status !== 'running')).toBe(true)
          }
          await life.host.close()
        }),
      ),
      runs(120),
    )
  })
})

describe('the live state', () => {
  it('is at every quiet moment the fold of the journal, and so is the head that lists show', async () => {
    await fc.assert(
      fc.asyncProperty(
        programs(),
        within(4, async (body) => {
          newLife()
          const store = new RecordingStore()
          const clock = new SimulatedClock()
          const definitions = new Map([program, childProgram].map((one) => [one.name, one] as const))
          const engine = new Engine({
            store,
            clock,
            durability: 'process',
            resolve: (name) => Promise.resolve(definitions.get(name)),
            names: () => definitions,
            onProblem: (error) => {
              throw error
            },
          })
          const root = await engine.start(program, { input: { body } })
          const seen = new Set<Execution>([root])
          for (let round = 0; root.state.end === undefined && round < 200; round += 1) {
            for (let i = 0; i < 8; i += 1) await turn()
            await engine.committer.drained()
            for (const execution of engine.live(root.run)?.executions.values() ?? []) seen.add(execution)
            for (const execution of seen) await expectFold(engine, execution)
            goOn(seen, clock)
          }
          for (const execution of seen) await expectFold(engine, execution)
          await engine.close()
        }),
      ),
      runs(200),
    )
  })
})

async function expectFold(engine: Engine, execution: Execution): Promise<void> {
  const { entries } = await engine.stored(execution.run)
  const { state } = execution
  expect(foldAll(execution.run, entries)).toEqual(state)
  const stored = (await engine.store.find(execution.run))?.head
  // The time of the last change is written with the next head; a run with open children may be at rest or not.
  const { updated: _updated, status: _status, usage: _usage, steps: _steps, ...head } = headOf(state)
  expect(stored).toMatchObject(head)
}

/** Answers whatever is open, or lets time pass. */
function goOn(seen: ReadonlySet<Execution>, clock: SimulatedClock): void {
  for (const execution of seen) {
    for (const wait of [...execution.waits.values()]) {
      if (wait.question !== undefined) return void wait.question.accept(JSON.parse(wait.question.asked.prompt), {})
      if (wait.signal !== undefined && wait.signal.name !== 'never') {
        const { name } = wait.signal
        const seq = execution.state.seq + 1
        execution.append({ type: 'signal-received', name, value: `for ${name}` })
        return wait.signal.take(seq, `for ${name}`)
      }
    }
  }
  if (clock.next !== undefined) clock.advance(Math.max(0, clock.next - clock.now()))
}
