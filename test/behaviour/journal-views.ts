/** What tests of state graphs look at in a journal. */
import { expect } from 'vitest'
import type { Host } from 'nerve'

/** The paths at which something ended, in order. */
export async function paths(host: Host, run: string): Promise<string[]> {
  return (await host.journal(run)).flatMap(({ event }) =>
    event.type === 'step-completed' || event.type === 'question-answered' ? [event.path] : [],
  )
}

export async function emitted(host: Host, run: string): Promise<[string, unknown][]> {
  return (await host.journal(run)).flatMap(({ event }) =>
    event.type === 'emitted' ? [[event.name, event.data] as [string, unknown]] : [],
  )
}

/** Every finished run must replay to the same end. */
export async function expectSame(host: Host, run: string): Promise<void> {
  expect(await host.replay(run)).toMatchObject({ same: true, problems: [] })
}
