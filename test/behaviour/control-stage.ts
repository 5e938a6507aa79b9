/** What the tests of control nodes share: every node is tried alone, in a graph and in a workflow, and replayed. */
import { expect } from 'vitest'
import { workflow, type Host, type JournalEvent } from 'nerve'
import { graph } from 'nerve/graph'
import type { AnyDefinition } from '../../src/engine/definition.ts'

/** Runs a definition and gives its result; a replay of the run must be the same. */
export async function ran(host: Host, definition: AnyDefinition, input?: unknown): Promise<unknown> {
  const run = await host.start(definition, input)
  const result: unknown = await run.result()
  expect((await host.replay(run.id)).problems).toEqual([])
  return result
}

/** The one result that a control node gives alone, as a step of a graph, and in a workflow. */
export async function everywhere(host: Host, node: AnyDefinition, input?: unknown): Promise<unknown> {
  const alone = await ran(host, node, input)
  const inGraph = graph(`graph of ${node.name}`)
    .step('one', node, { inputFn: (_: unknown, facts: { input: unknown }) => facts.input })
    .returns((results) => (results as { one: unknown }).one)
  const inWorkflow = workflow(`workflow of ${node.name}`, (ctx, given: unknown) => ctx.run(node, given))
  expect(await ran(host, inGraph, input)).toEqual(alone)
  expect(await ran(host, inWorkflow, input)).toEqual(alone)
  return alone
}

export async function events(host: Host, run: string): Promise<readonly JournalEvent[]> {
  return (await host.journal(run)).map(({ event }) => event)
}

/** The paths of the steps that completed, in order. */
export async function paths(host: Host, run: string): Promise<readonly string[]> {
  return (await events(host, run)).flatMap((event) =>
    event.type === 'step-completed' && event.kind === undefined ? [event.path] : [],
  )
}

/** Work that never ends by itself. */
export function untilStopped(signal: AbortSignal, stopped?: () => void): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => {
      stopped?.()
      reject(signal.reason as Error)
    }),
  )
}
