/** A host in memory under simulated time, closed when its test ends, and ways to wait that never sleep. */
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { createHost, type Host, type HostOptions } from 'nerve'
import { MemoryStore, SimulatedClock } from 'nerve/testing'
import type { JournalStore } from '../../src/journal/port.ts'

export interface Stage {
  readonly host: Host
  readonly store: JournalStore
  readonly clock: SimulatedClock
  /** What nobody else heard of. */
  readonly problems: unknown[]
}

export async function openStage(
  options: Omit<HostOptions, 'store' | 'clock'> & {
    readonly store?: JournalStore
    readonly clock?: SimulatedClock
  } = {},
): Promise<Stage> {
  const { store = new MemoryStore(), clock = new SimulatedClock(), ...more } = options
  const problems: unknown[] = []
  const host = await createHost({ onProblem: (error) => problems.push(error), ...more, store, clock })
  onTestFinished(() => host.close())
  return { host, store, clock, problems }
}

const PATIENCE_MS = 8_000

/** Polls, one turn of the event loop at a time, until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>, what = 'the condition'): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true within ${PATIENCE_MS} ms`)
    await turn()
  }
}

/** Lets everything that is ready to happen happen. */
export async function quiet(turns = 12): Promise<void> {
  for (let i = 0; i < turns; i += 1) await turn()
}

/** Moves simulated time from timer to timer until the promise settles. */
export async function timePasses<Value>(clock: SimulatedClock, promise: Promise<Value>): Promise<Value> {
  let settled = false
  const done = (): void => {
    settled = true
  }
  promise.then(done, done)
  const deadline = performance.now() + PATIENCE_MS
  while (!settled) {
    await quiet()
    if (settled) break
    if (performance.now() > deadline) throw new Error(`nothing happened within ${PATIENCE_MS} ms`)
    if (clock.next !== undefined) clock.advance(Math.max(0, clock.next - clock.now()))
  }
  return promise
}

/** The error that a promise rejects with. */
export async function rejection(
  promise: Promise<unknown>,
): Promise<Error & { code?: string; data?: Record<string, unknown> }> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('it did not reject')
}

/** A promise that a test settles. */
export function gate<Value = void>(): PromiseWithResolvers<Value> {
  return Promise.withResolvers<Value>()
}
