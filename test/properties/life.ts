/** One life of a process: a host over a store, driven until a run ends by somebody who answers everything. */
import { setImmediate as turn } from 'node:timers/promises'
import { createHost, type Handle, type Host } from 'nerve'
import { SimulatedClock } from 'nerve/testing'
import type { AnyDefinition } from '../../src/engine/definition.ts'
import type { RecordingStore } from './recording-store.ts'
import { childProgram, program } from './program.ts'

const QUIET_TURNS = 8
const PATIENCE_MS = Number(process.env['NERVE_PATIENCE'] ?? 4_000)

export interface Life {
  readonly host: Host
  readonly clock: SimulatedClock
  readonly store: RecordingStore
}

export async function openLife(store: RecordingStore, definitions: readonly AnyDefinition[] = []): Promise<Life> {
  const clock = new SimulatedClock()
  const host = await createHost({
    store,
    clock,
    definitions: [program, childProgram, ...definitions],
    onProblem: (error) => {
      throw error
    },
  })
  return { host, clock, store }
}

/** The result of a run, whatever it waits for on the way. */
export async function liveOn<Output>(life: Life, run: Handle<Output>): Promise<Output> {
  let settled = false
  const result = run.result()
  const done = (): void => {
    settled = true
  }
  result.then(done, done)
  const deadline = performance.now() + PATIENCE_MS
  while (!settled) {
    await quietly(life, () => settled)
    if (settled) break
    if (performance.now() > deadline) throw new Error(`run ${run.id} does not go on`)
    if (await answerAll(life, run.id)) continue
    const { next } = life.clock
    if (next !== undefined) life.clock.advance(Math.max(0, next - life.clock.now()))
  }
  return result
}

/** Waits until nothing has been committed for some turns of the event loop. */
async function quietly({ store }: Life, over: () => boolean): Promise<void> {
  let seen = store.commits.length
  for (let left = QUIET_TURNS; left > 0 && !over(); left -= 1) {
    await turn()
    if (store.commits.length === seen) continue
    seen = store.commits.length
    left = QUIET_TURNS
  }
}

/** Answers one open question or wait of the tree; false when there is none. */
async function answerAll({ host, store }: Life, root: string): Promise<boolean> {
  for (const { head } of await store.heads({ root })) {
    const question = head.questions[0]
    if (question !== undefined) {
      await host.answer(question.id, JSON.parse(question.prompt))
      return true
    }
    const signal = head.signals.find((name) => name !== 'never')
    if (signal !== undefined) {
      await (await host.handle(head.run)).signal(signal, `for ${signal}`)
      return true
    }
  }
  return false
}
